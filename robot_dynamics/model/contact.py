"""Where the environment touches the robot: a wrench, and the body that feels it.

One sign and one place for every formulation: the wrench is what the environment exerts on the
robot, angular part first, in axes parallel to the base's, about the origin of a named frame.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.errors import ShapeError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array


class Contact(NamedTuple):
    """A wrench from outside on one body."""

    body: int  # index of the body that feels it, -1 where no torque does
    p: Array  # (3,) the point it refers to, in the body's frame, m
    moment: Array  # (3,) about that point, base axes, N m
    force: Array  # (3,) base axes, N


def contact(model: RobotModel, wrench: Any, frame: str | None = None) -> Contact:
    """Return the contact of a wrench at a frame.

    Args:
        model: the robot.
        wrench: (6,) moment [N m] and force [N] of the environment on the robot, in axes parallel
            to the base's, about the frame's origin. None where nothing touches the robot.
        frame: name of the frame; the model's last one if omitted.

    Raises:
        ShapeError: the wrench does not have 6 entries.
        FrameNotFound: no such frame.
    """
    k = model.frame_index(model.frame_names[-1] if frame is None else frame)
    if wrench is None:
        return Contact(-1, np.zeros(3), np.zeros(3), np.zeros(3))
    F = np.asarray(wrench)
    if F.shape != (6,):
        raise ShapeError(
            f'tip_wrench has shape {F.shape}; it must be (6,): moment first, then force'
        )
    return Contact(int(model.frame_body[k]), model.frame_placement[k][:3, 3], F[:3], F[3:])
