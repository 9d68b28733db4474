# SPDX-License-Identifier: Apache-2.0
"""Control laws: alternatives to feed-forward with PD feedback.

With e = q_d - q, and friction(qd_d) added to each:

    feedforward       tau = M(q) qdd_d + C(q, qd) qd   + g(q) + Kp e + Kd e'       `feedforward.py`
    pd_plus           tau = M(q) qdd_d + C(q, qd) qd_d + g(q) + Kp e + Kd e'
    computed_torque   tau = M(q) (qdd_d + Kp e + Kd e') + C(q, qd) qd + g(q)
    joint_impedance   as pd_plus, with Kp = K and Kd = D(q)
    gravity_only      tau = g(q) - Kd qd

PD+ multiplies C by the desired velocity: the error then obeys M e'' + C e' + Kd e' + Kp e = 0, and
V = 1/2 e'^T M e' + 1/2 e^T Kp e has the derivative -e'^T Kd e', since dM/dt - 2 C is
skew-symmetric. For a constant reference it is PD with gravity compensation. Computed torque gives
linear, decoupled error dynamics, e'' + Kd e' + Kp e = 0, with gains in 1/s^2 and 1/s; it relies on
an accurate M. Gravity compensation alone allows hand guiding.

Joint impedance has a stiffness and the damping ratios of the arm's natural modes; its equations
are in `core.algorithms.joint_impedance`.

Source: Paden and Panja, Int. J. Control 47 (1988), for PD+; Takegaki and Arimoto, ASME J. Dyn.
Syst. 103 (1981), for PD with gravity; Lynch and Park, Modern Robotics (2017), section 11.4.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.arm_on_moving_base import Arm, ArmOnMovingBase
from robot_dynamics.control.feedback_derivatives import FeedbackDerivatives, feedback_derivatives
from robot_dynamics.control.feedforward import (
    EVERYTHING,
    NO_FEEDBACK,
    FeedForward,
    Gains,
    Switches,
    check_shapes,
    feedforward,
    friction_torque,
    inertia_torque,
)
from robot_dynamics.control.trajectory import Reference
from robot_dynamics.core.algorithms import joint_impedance as joint_springs
from robot_dynamics.core.algorithms.dual_numbers import duals, total_slopes
from robot_dynamics.core.compiled_robot import CompiledRobot
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.memory import FrictionModel
from robot_dynamics.core.programs import Robot

MOST_JOINTS = 14  # of joint impedance, whose program grows as n^3: 3 s to compile for 7, 9 for 14

Law = Callable[..., FeedForward]


def pd_plus(
    arm: Arm,
    reference: Reference,
    q: ArrayLike,
    qd: ArrayLike,
    switches: Switches = EVERYTHING,
    gains: Gains = NO_FEEDBACK,
    friction: FrictionModel | None = None,
) -> FeedForward:
    """Return the torque of PD+; arguments and errors are those of `feedforward`."""
    q, qd = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
    others = replace(switches, coriolis=False)
    parts = feedforward(arm, reference, q, qd, others, gains, friction)
    if not switches.coriolis:
        return parts
    # C(q, qd) qd_d
    coriolis = (arm.coriolis_matrix(q, qd) @ reference.qd[..., None])[..., 0]
    return replace(parts, coriolis=coriolis)


def computed_torque(
    arm: Arm,
    reference: Reference,
    q: ArrayLike,
    qd: ArrayLike,
    switches: Switches = EVERYTHING,
    gains: Gains = NO_FEEDBACK,
    friction: FrictionModel | None = None,
) -> FeedForward:
    """Return the torque of computed torque control, whose gains are in 1/s^2 and 1/s.

    Other arguments and errors are those of `feedforward`. The feedback is multiplied by M even if
    the switch `inertia` omits M(q) qdd_d.
    """
    q, qd = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
    parts = feedforward(arm, reference, q, qd, switches, gains, friction)
    # M(q) (Kp e + Kd e')
    return replace(parts, feedback=inertia_torque(arm, q, parts.feedback))


def joint_impedance(
    arm: Arm,
    reference: Reference,
    q: ArrayLike,
    qd: ArrayLike,
    switches: Switches = EVERYTHING,
    gains: Gains = NO_FEEDBACK,
    friction: FrictionModel | None = None,
) -> FeedForward:
    """Return the torque of joint impedance: kp is a stiffness, kd a damping ratio of each joint.

    Other arguments and errors are those of `feedforward`.

    Raises:
        ModelError: a joint moves no inertia, or there are more than MOST_JOINTS.
    """
    obstacle = obstacle_of_impedance(arm)
    if obstacle:
        raise ModelError(obstacle)
    q, qd = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
    check_shapes(arm, reference, q, qd, gains, friction)
    zero = np.zeros(np.broadcast_shapes(q.shape, qd.shape, *(np.shape(x) for x in reference)))
    one = np.ones(arm.model.n)
    given = one * gains.kp, one * gains.kd, *reference, q, qd
    if isinstance(arm, ArmOnMovingBase):
        found = _joint_springs(arm.moving)(*given, arm.motion)
    else:
        found = _joint_springs(arm)(*given)
    return FeedForward(
        gravity=zero + found.gravity if switches.gravity else zero,
        coriolis=found.coriolis if switches.coriolis else zero,
        inertia=found.inertia if switches.inertia else zero,
        friction=zero + friction_torque(arm, reference, q, qd, friction)
        if switches.friction
        else zero,
        feedback=found.feedback,
    )


def joint_impedance_derivatives(
    arm: Dynamics,
    reference: Reference,
    q: ArrayLike,
    qd: ArrayLike,
    gains: Gains,
    *,
    out: tuple[Array, Array] | None = None,
) -> FeedbackDerivatives:
    """Return the derivatives of the torque of `joint_impedance` by q and qd, without friction.

    Arguments and errors are those of `joint_impedance`. The first call compiles another program.

    Args:
        arm: the robot.
        reference: as of `joint_impedance`.
        q: (..., n) positions, rad or m.
        qd: (..., n) velocities.
        gains: stiffness and damping ratios.
        out: two float64 arrays (..., n, n) that receive the results.
    """
    obstacle = obstacle_of_impedance(arm)
    if obstacle:
        raise ModelError(obstacle)
    q, qd = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
    check_shapes(arm, reference, q, qd, gains)
    one = np.ones(arm.model.n)
    arguments = q, qd, one * gains.kp, one * gains.kd, *reference
    return feedback_derivatives(_joint_spring_slopes(arm), arm.model.n, arguments, out)


def obstacle_of_impedance(arm: Arm) -> str:
    """Return why an arm has no joint impedance, or ''."""
    if arm.model.n > MOST_JOINTS:
        return f'the robot has {arm.model.n} joints; joint_impedance has at most {MOST_JOINTS}'
    if arm.joint_without_inertia is not None:
        return (
            f'joint {arm.joint_without_inertia!r} moves no inertia, which joint_impedance divides '
            'by; give the links beyond it a mass, or lock it'
        )
    return ''


@functools.lru_cache(maxsize=4)
def _joint_springs(arm: CompiledRobot) -> Callable[..., joint_springs.JointImpedanceTorque]:
    def law(robot: Robot, *vectors: Any) -> joint_springs.JointImpedanceTorque:
        return joint_springs.joint_impedance(robot.tree, *vectors)

    inputs = dict.fromkeys(
        ('stiffness', 'damping_ratio', 'q_d', 'qd_d', 'qdd_d', 'q', 'qd'), arm.model.n
    )
    result = joint_springs.JointImpedanceTorque
    return arm.programs.compiled('joint_impedance', law, inputs, result=result).call


@functools.lru_cache(maxsize=4)
def _joint_spring_slopes(arm: Dynamics) -> Callable[..., Array]:
    def slopes(robot: Robot, dq: Any, dqd: Any, q: Any, qd: Any, *others: Any) -> Any:
        vectors = *others, duals(q, dq), duals(qd, dqd)
        found = joint_springs.joint_impedance(robot.tree, *vectors)
        return total_slopes(found.gravity, found.coriolis, found.inertia, found.feedback)

    names = 'dq', 'dqd', 'q', 'qd', 'stiffness', 'damping_ratio', 'q_d', 'qd_d', 'qdd_d'
    inputs = dict.fromkeys(names, arm.model.n)
    return arm.programs.compiled('joint_impedance_slopes', slopes, inputs).call


def gravity_only(
    arm: Arm,
    reference: Reference,
    q: ArrayLike,
    qd: ArrayLike,
    switches: Switches = EVERYTHING,
    gains: Gains = NO_FEEDBACK,
    friction: FrictionModel | None = None,
) -> FeedForward:
    """Return gravity compensation with damping, for hand guiding.

    Arguments and errors are those of `feedforward`; reference, friction and kp have no effect.
    """
    q, qd = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
    check_shapes(arm, reference, q, qd, gains)
    zero = np.zeros(np.broadcast_shapes(q.shape, qd.shape))
    return FeedForward(
        gravity=zero + arm.gravity_torque(q) if switches.gravity else zero,
        coriolis=zero,
        inertia=zero,
        friction=zero,
        feedback=zero - gains.kd * qd,
    )


LAWS: dict[str, Law] = {
    'feedforward': feedforward,
    'pd_plus': pd_plus,
    'computed_torque': computed_torque,
    'joint_impedance': joint_impedance,
    'gravity_only': gravity_only,
}


def compile_laws(arm: Arm) -> None:
    """Compile everything that a change of law or friction, or a first trajectory needs."""
    # Batches of the size of a trajectory: small batches use other code.
    still = np.zeros((64, arm.model.n))
    # Trajectories are planned for a fixed base.
    rows = (still[0],) if isinstance(arm, ArmOnMovingBase) else (still, still[0])
    for law in LAWS.values():
        if law is joint_impedance:
            if not obstacle_of_impedance(arm):
                law(arm, Reference(still[0], still[0], still[0]), still[0], still[0])
            continue
        for q in rows:
            law(arm, Reference(q, q, q), q, q)
    for q in rows:
        arm.inverse_dynamics(q, q, q)
