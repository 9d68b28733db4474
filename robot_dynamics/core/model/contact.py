# SPDX-License-Identifier: Apache-2.0
"""External wrench on the robot, at a named frame.

One sign convention for every formulation: the wrench is exerted by the environment on the robot,
moment first, in base axes, about the origin of a named frame.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.robot_model import RobotModel


class Contact(NamedTuple):
    """An external wrench on one body."""

    body: int  # index of the body it acts on, -1 for none or the base
    p: Array  # (3,) its reference point, in the body's frame, m
    moment: Array  # (3,) about that point, base axes, N m
    force: Array  # (3,) base axes, N


def contact(model: RobotModel, wrench: Any, frame: str | None = None) -> Contact:
    """Return the contact of a wrench at a frame.

    Args:
        model: the robot.
        wrench: (6,) moment [N m] and force [N] of the environment on the robot, in base
            axes, about the frame's origin; None for no contact.
        frame: name of the frame; the model's last one if omitted.

    Raises:
        ShapeError: the wrench does not have 6 entries.
        FrameNotFound: the frame is unknown.
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
