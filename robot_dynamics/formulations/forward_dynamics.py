# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics from inverse dynamics, and Euler integration.

M(q) qdd = tau - b(q, qd) is linear in qdd. Inverse dynamics gives b (with qdd = 0) and M (with
unit accelerations), so the inverse dynamics of any formulation, here an argument, is sufficient.

Source: Lynch and Park, draft, section 9.5: GetJointAccel, and the Euler integration algorithm. The
source counts F_tip from the robot to the environment, this project in the opposite direction.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robot_dynamics.common.errors import ShapeError, SingularityError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.model.robot_model import RobotModel, check_vector

# tau = inverse_dynamics(model, q, qd, qdd)
InverseDynamics = Callable[[RobotModel, Array, Array, Array], Array]


def joint_acceleration(
    model: RobotModel,
    q: Array,
    qd: Array,
    tau: Array,
    *,
    inverse_dynamics: InverseDynamics,
    tip_wrench: Array | None = None,
    tip_frame: str | None = None,
) -> Array:
    """Return the joint accelerations under given torques. GetJointAccel in the source.

    Args:
        model: the robot.
        q: (n,) joint positions, rad or m.
        qd: (n,) joint velocities.
        tau: (n,) joint torques [N m] and forces [N].
        inverse_dynamics: that of any formulation.
        tip_wrench: (6,) moment and force of the environment on the robot, world-aligned at the
            origin of `tip_frame`.
        tip_frame: name of the frame it acts on, the model's last one if omitted.

    Returns:
        (n,) accelerations, rad/s^2 or m/s^2.

    Raises:
        ShapeError: q, qd or tau is not (n,), or the wrench not (6,).
        FrameNotFound: the frame is unknown.
        SingularityError: M(q) is singular.
    """
    check_vector(model, q=q, qd=qd, tau=tau)
    # gamma = b(q, qd), the torques of the motion with qdd = 0
    gamma = inverse_dynamics(model, q, qd, np.zeros(model.n))
    # c = tau - gamma + J^T F
    c = tau - gamma
    if tip_wrench is not None:
        frame = model.frame_names[-1] if tip_frame is None else tip_frame
        c = c + kin.wrench_torque(model, q, tip_wrench, frame)
    # M qdd = c
    try:
        return np.linalg.solve(mass_matrix(model, q, inverse_dynamics=inverse_dynamics), c)
    except np.linalg.LinAlgError as error:
        raise SingularityError(
            f'robot {model.name!r}: the mass matrix is singular, so torques do not determine '
            f'accelerations; joints that move no inertia: {model.massless_joints() or "none"}'
        ) from error


def mass_matrix(model: RobotModel, q: Array, *, inverse_dynamics: InverseDynamics) -> Array:
    """Return M (n, n): column j is the torque of qdd_j = 1 at rest, less that of gravity."""
    rest = np.zeros(model.n)
    g = inverse_dynamics(model, q, rest, rest)
    return np.stack([inverse_dynamics(model, q, rest, e) - g for e in np.eye(model.n)], axis=1)


def euler_integration(
    model: RobotModel,
    q: Array,
    qd: Array,
    tau: Array,
    step: float,
    *,
    inverse_dynamics: InverseDynamics,
    tip_wrench: Array | None = None,
    tip_frame: str | None = None,
) -> tuple[Array, Array]:
    """Return the motion under given torques. Euler integration algorithm of the source.

    The method has order 1 and serves for study; see `simulation` for better integrators.

    Args:
        model: the robot.
        q: (n,) joint positions at the start.
        qd: (n,) joint velocities at the start.
        tau: (N, n) joint torques, held for one step each.
        step: h, s.
        inverse_dynamics: that of any formulation.
        tip_wrench: (N, 6) wrenches on the tip frame, one per step, as in `joint_acceleration`.
        tip_frame: name of that frame, the model's last one if omitted.

    Returns:
        Positions and velocities, both (N + 1, n), at the times 0, h, ..., N h.

    Raises:
        ShapeError: an argument has the wrong shape.
        FrameNotFound: the frame is unknown.
        SingularityError: M(q) is singular in some step.
    """
    check_vector(model, q=q, qd=qd)
    if np.ndim(tau) != 2 or np.shape(tau)[1] != model.n:
        raise ShapeError(f'tau has shape {np.shape(tau)}; it must be (N, {model.n}), N steps')
    N = len(tau)
    if tip_wrench is not None and np.shape(tip_wrench) != (N, 6):
        raise ShapeError(f'tip_wrench has shape {np.shape(tip_wrench)}; it must be ({N}, 6)')

    positions, velocities = [np.asarray(q)], [np.asarray(qd)]
    # The source counts from 1 to N; here k = 0 ... N - 1.
    for k in range(N):
        qdd = joint_acceleration(
            model,
            positions[k],
            velocities[k],
            tau[k],
            inverse_dynamics=inverse_dynamics,
            tip_wrench=None if tip_wrench is None else tip_wrench[k],
            tip_frame=tip_frame,
        )
        # q[k+1] = q[k] + h qd[k]        qd[k+1] = qd[k] + h qdd[k]
        positions.append(positions[k] + step * velocities[k])
        velocities.append(velocities[k] + step * qdd)
    return np.stack(positions), np.stack(velocities)
