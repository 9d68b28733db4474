# SPDX-License-Identifier: Apache-2.0
"""Exceptions and warnings of the package.

Each message states what is wrong, the value and what is expected. Each class derives from the
matching built-in exception, so that `except ValueError` also catches it.
"""

from __future__ import annotations

from collections.abc import Iterable


class RobotDynamicsError(Exception):
    """Base of all errors of this package."""


class ModelError(RobotDynamicsError, ValueError):
    """The robot description is wrong, or not supported."""


class ShapeError(RobotDynamicsError, ValueError):
    """An array argument has the wrong shape or type."""


class TrajectoryError(RobotDynamicsError, ValueError):
    """A trajectory is invalid; the message names the point and the reason."""


class JointNamesError(TrajectoryError):
    """A trajectory lacks a joint of the robot, or names one that it does not have."""


class TrajectoryOverError(TrajectoryError):
    """All points of a trajectory lie in the past."""


class LoopNotClosed(RobotDynamicsError, ValueError):  # noqa: N818  (says what is wrong)
    """A posture, velocity or acceleration violates the loop closures of a mechanism."""


class SingularityError(RobotDynamicsError, ArithmeticError):
    """A matrix that has to be inverted is singular in this state."""


class FrameNotFound(RobotDynamicsError, KeyError):  # noqa: N818  (a public name of the design)
    """The model has no frame of that name."""

    def __init__(self, frame: str, known: Iterable[str]):
        self.frame = frame
        super().__init__(f'no frame {frame!r}; the model has {", ".join(known)}')

    def __str__(self) -> str:
        # KeyError would print the message as a quoted key.
        return str(self.args[0])


class InertialWarning(UserWarning):
    """A link's mass or inertia tensor is physically inconsistent or missing."""


class LimitsWarning(UserWarning):
    """A joint has no position, velocity or effort limit; none is applied."""
