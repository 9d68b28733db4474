# SPDX-License-Identifier: Apache-2.0
"""Joint kinematics: revolute joints rotate about their axis, prismatic joints slide along it.

This is the only definition of joint motion. A continuous joint is a revolute joint without limits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.common.spatial import Array, axis_rotation


def joint_transform(
    placement: Array, axis: Array, revolute: bool, position: Any
) -> tuple[Array, Array]:
    """Return (R_pi, p_pi), the pose of body i in its parent, at the joint position.

    Args:
        placement: (4, 4) pose of the joint frame in the parent body's frame at position 0.
        axis: (3,) unit vector of the joint, in the joint frame.
        revolute: True for a revolute joint, False for a prismatic one.
        position: rad or m, real or complex.
    """
    R, p = placement[:3, :3], placement[:3, 3]
    if revolute:
        # R_pi = R exp([axis] q)
        return R @ axis_rotation(axis, position), p
    # p_pi = p + R axis q
    return R, p + R @ axis * position


def motion_subspace(axis: Array, revolute: bool) -> Array:
    """Return S (6,), the body-frame twist of the joint at unit speed, angular part first."""
    zero = np.zeros(3)
    return np.concatenate([axis, zero] if revolute else [zero, axis])
