# SPDX-License-Identifier: Apache-2.0
"""Batches of arms that differ in payload, friction and start.

`batch` simulates them, `perturbations` defines the differences, `tracking` is a control law along
a trajectory, `progress` displays progress; `monte_carlo` is a study made of these.
"""
