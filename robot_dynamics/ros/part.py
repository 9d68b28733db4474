# SPDX-License-Identifier: Apache-2.0
"""Base of the parts that a node owns: the hooks that the node calls."""

from __future__ import annotations

from typing import Any

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros.health import Status


class Part:
    """An object that does one thing for a node; hooks that it does not override do nothing.

    The node calls each hook on its parts in the order in which they were added, and last on
    itself. A part marks its hooks `@override`, so that mypy finds one that is misspelt.
    """

    def configure(self) -> None:
        """Prepare; a RobotDynamicsError fails the transition."""

    def activate(self) -> None:
        """Start, after `restart`, without state of an earlier activation."""

    def restart(self) -> None:
        """Drop what belongs to the time before: the stamps of joint states begin anew.

        Called before `activate`, and before the first state after a reset of the time.
        """

    def deactivate(self) -> None:
        """Stop, in a safe state."""

    def cleanup(self) -> None:
        """Drop the results of `configure`."""

    def accept(self, parameters: Any) -> None:
        """Reject a change to these parameters by a RobotDynamicsError."""

    def adopt(self, changes: set[str]) -> None:
        """Use changed parameters; `changes` are their names."""

    def check(self, parameters: Any, arm: Dynamics) -> None:
        """Reject parameters that do not fit a robot by a RobotDynamicsError."""

    def prepare(self, arm: Dynamics) -> None:
        """Compile; maybe in another thread, so it changes nothing."""

    def use(self, arm: Dynamics) -> None:
        """Use this robot from now on."""

    def status(self) -> Status | None:
        """Return the fault of the part; None without one."""
        return None

    def figures(self) -> dict[str, str]:
        """Return values for the diagnostics, by name."""
        return {}
