# SPDX-License-Identifier: Apache-2.0
"""Conversion of robot descriptions, URDF or xacro, to a RobotModel."""
