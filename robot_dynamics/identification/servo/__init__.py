# SPDX-License-Identifier: Apache-2.0
"""Identification of position servos from commands and positions, without efforts."""
