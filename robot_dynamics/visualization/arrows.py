"""Forces and torques as arrows.

Bodies are the model's moving bodies: links joined by fixed joints are one of them, a payload
belongs to the one that carries it.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.kinematics import com_positions, joint_axes
from robot_dynamics.model.robot_model import RobotModel, check_vector
from robot_dynamics.spatial import Array
from robot_dynamics.visualization.shapes import Arrow


def weight_arrows(model: RobotModel, poses: Array, scale: float) -> dict[str, Arrow]:
    """Return the weight m g of every body that has a mass, at its centre of mass, by body name.

    Args:
        model: the robot.
        poses: (nb, 4, 4) of its bodies, from `kinematics.body_poses`.
        scale: length of the arrows, m per N.
    """
    return {
        name: Arrow(com, com + scale * mass * model.gravity)
        for name, com, mass in zip(
            model.body_names, com_positions(model, poses), model.mass, strict=True
        )
        if mass > 0
    }


def joint_torque_arrows(
    model: RobotModel, poses: Array, tau: Array, scale: float
) -> dict[str, Arrow]:
    """Return the torques tau (n,) along their joints' axes, by joint name.

    A torque that turns the joint in its positive direction points along the axis (right-hand
    rule), as does the force of a joint that slides.

    Args:
        model: the robot.
        poses: (nb, 4, 4) of its bodies, from `kinematics.body_poses`.
        tau: N m or N.
        scale: length of the arrows, m per N m or N.

    Raises:
        ShapeError: tau is not (n,).
    """
    check_vector(model, tau=tau)
    axes = joint_axes(model, poses)
    arrows = {}
    for k, name in enumerate(model.joint_names):
        i = _driven_body(model, k)
        origin = poses[i, :3, 3]
        arrows[name] = Arrow(origin, origin + scale * tau[k] * axes[i])
    return arrows


def _driven_body(model: RobotModel, k: int) -> int:
    """Return the body whose joint is coordinate k itself, not a mimic of it, if there is one."""
    moved = np.flatnonzero(model.S[:, k])
    alone = (np.eye(model.n)[k] == model.S).all(axis=1) & (model.s0 == 0)
    return int(next((i for i in moved if alone[i]), moved[0]))
