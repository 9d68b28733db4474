# SPDX-License-Identifier: Apache-2.0
"""Errors of simulations."""

from __future__ import annotations

from robot_dynamics.common.errors import RobotDynamicsError


class NotFinite(RobotDynamicsError, ValueError):  # noqa: N818  (says what it is)
    """A torque or a state given to the simulator is NaN or infinite."""


class SimulationDiverged(RobotDynamicsError, ArithmeticError):  # noqa: N818  (says what happened)
    """The new state is not finite or has unaccounted energy; the old state is kept."""
