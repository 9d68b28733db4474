# SPDX-License-Identifier: Apache-2.0
"""Feed-forward torque of a reference, with PD feedback, as a sum of named parts.

    tau = M(q) qdd_d + C(q, qd) qd + g(q)  + friction(qd_d) + Kp (q_d - q) + Kd (qd_d - qd)
          inertia      coriolis      gravity friction         feedback

The first four compensate the dynamics of the arm, so that feedback corrects model errors only.
Each can be switched off, for drives that supply it themselves: gravity must not be compensated
twice.

Friction is evaluated at the desired velocity. At the measured velocity its compensation would be
positive feedback, as steep as dry friction near standstill: it would amplify every error, and
sensor noise would move an arm at rest.

Source: Spong, Hutchinson and Vidyasagar, section 6.6; Lynch and Park, Modern Robotics (2017),
section 11.4; Siciliano et al., Robotics: Modelling, Planning and Control (2009), section 8.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ShapeError, TrajectoryError
from robot_dynamics.common.settings import GAIN, joint_setting
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.arm_on_moving_base import Arm
from robot_dynamics.control.trajectory import Reference, Trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import coefficients
from robot_dynamics.core.friction.memory import FrictionModel


@dataclass(frozen=True)
class Switches:
    """Parts of the dynamics that the feed-forward torque includes."""

    gravity: bool = True
    coriolis: bool = True
    inertia: bool = True
    friction: bool = True


@dataclass(frozen=True, eq=False)
class Gains:
    """PD gains, (n,) or one number each; zero, the default, gives pure feed-forward.

    Raises:
        ValueError: a gain is negative or not finite.
    """

    kp: Array = joint_setting(0.0, 'Feedback on positions', 'N m/rad or N/m', GAIN)
    kd: Array = joint_setting(0.0, 'Feedback on velocities', 'N m s/rad or N s/m', GAIN)

    def __post_init__(self) -> None:
        for name in ('kp', 'kd'):
            object.__setattr__(self, name, coefficients(name, getattr(self, name)))


EVERYTHING = Switches()
NO_FEEDBACK = Gains()


@dataclass(frozen=True, eq=False)
class FeedForward:
    """A torque and its parts, (..., n) each [N m or N]; a part switched off is zero."""

    gravity: Array
    coriolis: Array
    inertia: Array
    friction: Array
    feedback: Array

    @property
    def tau(self) -> Array:
        """The sum of the parts."""
        return self.gravity + self.coriolis + self.inertia + self.friction + self.feedback


def feedforward(
    arm: Arm,
    reference: Reference,
    q: ArrayLike,
    qd: ArrayLike,
    switches: Switches = EVERYTHING,
    gains: Gains = NO_FEEDBACK,
    friction: FrictionModel | None = None,
) -> FeedForward:
    """Return the torque that moves the arm from its measured state along the reference.

    With q and qd of the reference it is pure feed-forward, independent of measurements.

    Args:
        arm: the dynamics of the robot; `ArmOnMovingBase` if its base moves.
        reference: desired q_d, qd_d, qdd_d, (..., n) each.
        q: (..., n) positions, rad or m.
        qd: (..., n) velocities.
        switches: which parts to include.
        gains: feedback on the error.
        friction: of the joints; that of the model if None.

    Raises:
        ShapeError: an argument does not have n entries per row.
    """
    q, qd = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
    check_shapes(arm, reference, q, qd, gains, friction)
    # Kp (q_d - q) + Kd (qd_d - qd)
    feedback = gains.kp * (reference.q - q) + gains.kd * (reference.qd - qd)
    zero = np.zeros(feedback.shape)

    def part(torque: Array) -> Array:
        return torque if torque.shape == zero.shape else zero + torque

    return FeedForward(
        gravity=part(arm.gravity_torque(q)) if switches.gravity else zero,
        coriolis=part(arm.coriolis_torque(q, qd)) if switches.coriolis else zero,
        inertia=part(inertia_torque(arm, q, reference.qdd)) if switches.inertia else zero,
        friction=part(friction_torque(arm, reference, q, qd, friction))
        if switches.friction
        else zero,
        feedback=feedback,
    )


def friction_torque(
    arm: Arm, reference: Reference, q: Array, qd: Array, friction: FrictionModel | None
) -> Array:
    """Return friction (..., n) at the desired velocity; that of the model if None is given."""
    if friction is None:
        return arm.friction_torque(reference.qd)
    if not friction.uses_load:
        return friction.torque(reference.qd)
    # tau = M(q) qdd_d + C(q, qd) qd + g(q), whatever the switches: the drives transmit all of it
    return friction.torque(reference.qd, arm.inverse_dynamics(q, qd, reference.qdd))


def inertia_torque(arm: Arm, q: Array, qdd: Array) -> Array:
    """Return M(q) qdd (..., n)."""
    return np.asarray((arm.mass_matrix(q) @ qdd[..., None])[..., 0])


def waypoint_efforts(
    arm: Dynamics,
    trajectory: Trajectory,
    switches: Switches = EVERYTHING,
    friction: FrictionModel | None = None,
) -> Array:
    """Return the torque (m, n) at each point of a trajectory, for its `effort` fields.

    A controller that accepts efforts interpolates them and adds its own feedback.

    Args:
        arm: the dynamics of the robot.
        trajectory: m points, joints in the model's order: see `Trajectory.in_order`.
        switches: which parts to include.
        friction: of the joints; that of the model if None.

    Raises:
        TrajectoryError: its joints differ from those of the model, or in order.
    """
    require_order(arm, trajectory)
    reference = trajectory.at_waypoints()
    return feedforward(arm, reference, reference.q, reference.qd, switches, friction=friction).tau


def require_order(arm: Dynamics, trajectory: Trajectory) -> None:
    """Raise TrajectoryError unless a trajectory has the joints of the robot, in order."""
    if trajectory.joint_names != arm.model.joint_names:
        raise TrajectoryError(
            f'the trajectory has the joints {", ".join(trajectory.joint_names)}; they must be '
            f'{", ".join(arm.model.joint_names)}; see `in_order`'
        )


def check_shapes(
    arm: Arm,
    reference: Reference,
    q: Array,
    qd: Array,
    gains: Gains,
    friction: FrictionModel | None = None,
) -> None:
    """Raise ShapeError unless every argument has n entries per row."""
    n = arm.model.n
    for k, row in enumerate((q, qd, *reference)):
        if (shape := np.shape(row))[-1:] != (n,):
            name = ('q', 'qd', 'reference.q', 'reference.qd', 'reference.qdd')[k]
            raise ShapeError(f'{name} has shape {shape}; it must be (..., {n})')
    own = {} if friction is None else friction.coefficients
    for name, value in (('kp', gains.kp), ('kd', gains.kd), *own.items()):
        if value.shape not in ((), (n,)):
            raise ShapeError(f'{name} has shape {value.shape}; it must be one number or ({n},)')
