# SPDX-License-Identifier: Apache-2.0
"""Motions that determine the parameters of a robot.

excitation         periodic motions with ramps, and the limits that they keep
excitation_search  optimises them
clearance          keeps links apart, by the capsules of `capsules`
excitation_report  text, JSON, figure and CSV
"""
