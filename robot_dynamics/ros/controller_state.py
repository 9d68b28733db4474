"""Adapter to control_msgs/JointTrajectoryControllerState, where control_msgs is installed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from trajectory_msgs.msg import JointTrajectoryPoint

from robot_dynamics.control import Reference
from robot_dynamics.ros import messages
from robot_dynamics.spatial import Array

# Fields for the rows desired, measured and error; Humble has both names, later releases one.
FIELDS = (('reference', 'desired'), ('feedback', 'actual'), ('error',))


def message_type() -> Any:
    """Return JointTrajectoryControllerState; None if control_msgs is not installed."""
    try:
        return import_module('control_msgs.msg').JointTrajectoryControllerState
    except ImportError:
        return None


def filled(
    message: Any,
    joint_names: Sequence[str],
    stamp: int,
    reference: Reference,
    *rows: tuple[Array, ...],
    speed: float = 1.0,
) -> Any:
    """Return a JointTrajectoryControllerState with the state of the joints.

    Args:
        message: an empty one.
        joint_names: n names.
        stamp: ns.
        reference: the desired motion (n,), for its accelerations.
        rows: desired, measured and error; each has positions, velocities and maybe efforts (n,).
        speed: of the trajectory, as a fraction of its own.
    """
    message.header.stamp = messages.time_message(stamp)
    message.joint_names = list(joint_names)
    points = [
        JointTrajectoryPoint(positions=q.tolist(), velocities=qd.tolist()) for q, qd, *_ in rows
    ]
    points[0].accelerations = reference.qdd.tolist()
    for names, point in zip(FIELDS, points, strict=True):
        for name in names:
            if hasattr(message, name):
                setattr(message, name, point)
    if hasattr(message, 'speed_scaling_factor'):
        message.speed_scaling_factor = speed
    if hasattr(message, 'output'):
        message.output = JointTrajectoryPoint(effort=rows[0][2].tolist())
    return message
