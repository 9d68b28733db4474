# SPDX-License-Identifier: Apache-2.0
"""Faults of robot descriptions, and their repairs: see `examination.examine`."""
