"""Every error this package raises on purpose, in one place.

Each message names the thing, its value and what would be right. Each class is also the matching
builtin, so that `except ValueError` written by someone who never met this package still works.
"""

from __future__ import annotations

from collections.abc import Iterable


class RobotDynamicsError(Exception):
    """Base of all errors of this package."""


class ModelError(RobotDynamicsError, ValueError):
    """The robot description is wrong, or asks for something that has no dynamics here."""


class ShapeError(RobotDynamicsError, ValueError):
    """An array argument has the wrong shape or type."""


class TrajectoryError(RobotDynamicsError, ValueError):
    """A trajectory cannot be followed: its message says which point, and why."""


class LoopNotClosed(RobotDynamicsError, ValueError):  # noqa: N818  (says what is wrong)
    """A posture, velocity or acceleration does not fit the closures of a mechanism with loops."""


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
    """A link's mass or inertia tensor is one that no body can have, or is missing."""
