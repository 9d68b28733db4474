# SPDX-License-Identifier: Apache-2.0
"""Equation of motion in task coordinates: F = Lambda dV/dt + eta.

From the equation of motion in joint space, M qdd + C qd + g = tau, and a task velocity V = J qd
with one row per task direction, m in all. If J is square and regular, qd = J^-1 V transforms one
into the other. For a redundant arm, m < n, J has many right inverses; the one weighted by the mass
matrix,

    J̄ = M^-1 J^T (J M^-1 J^T)^-1,

is the dynamically consistent one: torques (1 - J^T J̄^T) tau do not accelerate the end effector.
For a square J every right inverse is J^-1, so one formula serves both cases.

The arguments are matrices from any source: M, C and g of a formulation or of `Dynamics`, J and its
derivative of `kinematics`, or some of their rows (three for position alone).

Source: Lynch and Park, draft, section 9.6, (9.90)-(9.99); (9.95) has a misprint: its last term is
b, not J^-T b. The consistent inverse: Khatib, "A unified approach for motion and force control of
robot manipulators: the operational space formulation", IEEE J. Robotics and Automation 3(1), 1987.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.common.errors import ShapeError, SingularityError
from robot_dynamics.common.spatial import Array

# Above this condition number of J, Lambda would keep fewer than four digits.
MAX_CONDITION = 1e6


class TaskDynamics(NamedTuple):
    """Dynamics of an arm with n joints in m task directions."""

    Lambda: Array  # (m, m) task-space inertia matrix
    mu: Array  # (m,) Coriolis and centrifugal part of eta
    p: Array  # (m,) gravity part of eta
    J_bar: Array  # (n, m) dynamically consistent inverse of J
    N: Array  # (n, n) projector onto null-space velocities: N = 1 - J̄ J

    @property
    def eta(self) -> Array:
        """Return eta = mu + p (m,), the force that balances velocity terms and gravity. (9.99)."""
        return np.asarray(self.mu + self.p)


def task_dynamics(
    M: Array,
    C: Array,
    g: Array,
    J: Array,
    Jd: Array,
    qd: Array,
    *,
    max_condition: float = MAX_CONDITION,
) -> TaskDynamics:
    """Return the arm's dynamics in task coordinates.

    Args:
        M: (n, n) mass matrix.
        C: (n, n) Coriolis matrix.
        g: (n,) gravity torque.
        J: (m, n) Jacobian, m <= n.
        Jd: (m, n) its time derivative.
        qd: (n,) joint velocities.
        max_condition: condition number of J up to which a posture counts as regular.

    Raises:
        ShapeError: the shapes are inconsistent.
        SingularityError: J is rank-deficient, or has more rows than columns.
    """
    _check_shapes(J, M=(M, 'nn'), C=(C, 'nn'), g=(g, 'n'), Jd=(Jd, 'mn'), qd=(qd, 'n'))
    J_bar = consistent_inverse(M, J, max_condition=max_condition)
    # Lambda = J^-T M J^-1        (9.98)
    Lambda = J_bar.T @ M @ J_bar
    # eta = J^-T (C qd + g) - Lambda Jd qd        (9.99), with qd for J^-1 V
    mu = J_bar.T @ (C @ qd) - Lambda @ (Jd @ qd)
    p = J_bar.T @ g
    return TaskDynamics(Lambda, mu, p, J_bar, np.eye(len(M)) - J_bar @ J)


def task_force(task: TaskDynamics, Vd: Array) -> Array:
    """Return F (m,), the task force of the acceleration Vd (m,). (9.97)."""
    # F = Lambda Vd + eta
    return np.asarray(task.Lambda @ Vd + task.eta)


def joint_velocity(J: Array, V: Array, *, max_condition: float = MAX_CONDITION) -> Array:
    """Return qd (n,) of the task velocity V (m,). (9.93).

    For a redundant arm, the solution of least norm.

    Raises:
        ShapeError: the shapes of J and V are inconsistent.
        SingularityError: J is rank-deficient, or has more rows than columns.
    """
    _check_shapes(J, V=(V, 'm'))
    # qd = J^-1 V
    return right_pseudo_inverse(J, np.eye(np.shape(J)[1]), max_condition=max_condition) @ V


def joint_acceleration(
    J: Array, Jd: Array, qd: Array, Vd: Array, *, max_condition: float = MAX_CONDITION
) -> Array:
    """Return qdd (n,) of the task acceleration Vd (m,). (9.94).

    With qd and qdd, M(q) qdd + b(q, qd) is the torque of the task motion, (9.95). For a redundant
    arm, the solution of least norm.

    Args:
        J: (m, n) Jacobian, m <= n.
        Jd: (m, n) its time derivative at the joint velocities qd.
        qd: (n,) joint velocities, of `joint_velocity`.
        Vd: (m,) task acceleration.
        max_condition: condition number of J up to which a posture counts as regular.

    Raises:
        ShapeError: the shapes are inconsistent.
        SingularityError: J is rank-deficient, or has more rows than columns.
    """
    _check_shapes(J, Jd=(Jd, 'mn'), qd=(qd, 'n'), Vd=(Vd, 'm'))
    # qdd = J^-1 Vd - J^-1 Jd J^-1 V,   with qd for J^-1 V
    return joint_velocity(J, Vd - Jd @ qd, max_condition=max_condition)


def joint_torque(task: TaskDynamics, J: Array, F: Array, tau_null: Array) -> Array:
    """Return tau (n,) of a task force F (m,), plus tau_null (n,) projected onto the null space."""
    # tau = J^T F + N^T tau_null
    return np.asarray(J.T @ F + task.N.T @ tau_null)


def consistent_inverse(M: Array, J: Array, *, max_condition: float = MAX_CONDITION) -> Array:
    """Return J̄ (n, m), the right pseudo-inverse of J weighted by M: least kinetic energy.

    Raises:
        SingularityError: see `task_dynamics`.
    """
    return right_pseudo_inverse(J, M, max_condition=max_condition)


def right_pseudo_inverse(J: Array, W: Array, *, max_condition: float = MAX_CONDITION) -> Array:
    """Return the (n, m) X with J X = 1 of the least X^T W X; W = 1 gives Moore and Penrose's.

    Raises:
        SingularityError: see `task_dynamics`.
    """
    check_regular(J, max_condition)
    # X = W^-1 J^T (J W^-1 J^T)^-1, through W = U U^T: both factors then have J's condition only
    U = np.linalg.cholesky(W)
    # J W^-1 J^T = B^T B with B = U^-1 J^T = Q R, so X = U^-T Q R^-T
    Q, R = np.linalg.qr(np.linalg.solve(U, J.T))
    return np.linalg.solve(U.T, np.linalg.solve(R, Q.T).T)


def check_regular(J: Array, max_condition: float = MAX_CONDITION) -> None:
    """Raise SingularityError, with the condition number, if J (m, n) is rank-deficient."""
    m, n = J.shape
    if m > n:
        raise SingularityError(
            f'J is ({m}, {n}), which has no right inverse; expected at most {n} rows for an arm '
            f'of {n} joints'
        )
    sigma = np.linalg.svd(J, compute_uv=False)
    condition = sigma[0] / sigma[-1] if sigma[-1] > 0 else np.inf
    if condition > max_condition:
        raise SingularityError(
            f'J ({m}, {n}) is singular in this posture: condition number {condition:.3g}, allowed '
            f'{max_condition:.3g}; smallest singular value {sigma[-1]:.3g}'
        )


def _check_shapes(J: Array, **arguments: tuple[Array, str]) -> None:
    """Raise ShapeError unless arguments, each with its axes, are consistent with J (m, n)."""
    if np.ndim(J) != 2:
        raise ShapeError(f'J has shape {np.shape(J)}; it must be (m, n)')
    sizes = dict(zip('mn', np.shape(J), strict=True))
    for name, (value, axes) in arguments.items():
        shape = tuple(sizes[axis] for axis in axes)
        if np.shape(value) != shape:
            raise ShapeError(
                f'{name} has shape {np.shape(value)}; J is {np.shape(J)}, so it must be {shape}'
            )
