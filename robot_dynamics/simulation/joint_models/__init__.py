# SPDX-License-Identifier: Apache-2.0
"""Models of joints and drives: actuators, friction, stops, payloads.

`JointModels` in `selection` selects them for a simulator.
"""
