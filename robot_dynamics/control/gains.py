# SPDX-License-Identifier: Apache-2.0
"""PD gains from the mass matrix, and stability of velocity feedback in discrete time.

    kp_j = w^2 m_j,    kd_j = 2 zeta w m_j,    m_j = sqrt( M_jj / (M^-1)_jj )

The apparent inertia of joint j is M_jj with the other joints locked and 1/(M^-1)_jj with the other
joints free; the two differ by up to a factor of a hundred, and m_j is their geometric mean. Every
joint gets about the same natural frequency w.

The torque is held over a time step h. Velocity feedback on a single joint is unstable if its
feedback number kd_j h (M^-1)_jj exceeds 2, and reverses the velocity in every step above 1. For
the whole arm the condition is h lambda_max(M^-1 Kd) < 2, an eigenvalue that is never below the
largest feedback number; it bounds w.

Source: Siciliano et al., Robotics: Modelling, Planning and Control (2009), section 8.3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ModelError, ShapeError
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.feedforward import Gains
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.rollout import checked_time_step

FREQUENCY = 40.0  # rad/s, largest natural frequency
DAMPING = 1.0  # zeta
PER_STEP = 0.5  # largest h lambda_max(M^-1 Kd)


def pd_gains(
    arm: Dynamics, q: ArrayLike, time_step: float, *, frequency: float = FREQUENCY
) -> Gains:
    """Return gains for which the robot is stable along a motion.

    Args:
        arm: the robot, with its rotor inertia.
        q: (n,) a posture, or (m, n) positions along the motion.
        time_step: h, s.
        frequency: w, rad/s; reduced if h requires it.

    Raises:
        ShapeError: q is not (n,) or (m, n).
        ModelError: a joint moves no mass, or the mass matrix is singular.
        ValueError: the time step or the frequency is not positive and finite.
    """
    h = checked_time_step(time_step)
    if not 0 < frequency < np.inf:
        raise ValueError(f'frequency is {frequency} rad/s; it must be positive and finite')
    M = _mass_matrices(arm, q)
    massless = arm.model.massless_joints()
    if massless:
        raise ModelError(f'no feedback gains suit joints that move no mass: {", ".join(massless)}')
    M_inverse = inverse(M)
    locked, free = _diagonal(M).mean(axis=0), 1 / _diagonal(M_inverse).max(axis=0)
    m = np.sqrt(locked * free)
    # h lambda_max(M^-1 Kd) = 2 zeta w h lambda_max(M^-1 diag(m))
    w = min(frequency, PER_STEP / (2 * DAMPING * h * _largest_eigenvalue(M_inverse, m)))
    return Gains(kp=w**2 * m, kd=2 * DAMPING * w * m)


def free_inertias(arm: Dynamics, q: ArrayLike) -> Array:
    """Return the apparent inertia (n,) of each joint with the others free, minimum over postures.

    It is 1 / (M^-1)_jj, and 0 where a joint moves no mass or M is singular. A joint's feedback
    number is h kd_j divided by it.

    Args:
        arm: the robot, with its rotor inertia.
        q: (n,) or (m, n) postures.

    Raises:
        ShapeError: q is not (n,) or (m, n).
    """
    M = _mass_matrices(arm, q)
    names = arm.model.joint_names
    moving = ~np.isin(names, arm.model.massless_joints())
    result = np.zeros(len(names))
    try:
        M_inverse = np.linalg.inv(M[:, moving][:, :, moving])
    except np.linalg.LinAlgError:
        return result
    result[moving] = 1 / _diagonal(M_inverse).max(axis=0)
    return np.where(np.isfinite(result), result, 0.0)


def feedback_eigenvalue(arm: Dynamics, q: ArrayLike, kd: ArrayLike, time_step: float) -> float:
    """Return h lambda_max(M^-1 Kd), maximum over postures; above 2 it is unstable.

    Args:
        arm: the robot, with its rotor inertia.
        q: (n,) or (m, n) postures.
        kd: (n,) feedback on velocities, N m s/rad or N s/m.
        time_step: h, s.

    Raises:
        ShapeError: q is not (n,) or (m, n).
        ModelError: the mass matrix is singular.
        ValueError: the time step is not positive and finite.
    """
    h = checked_time_step(time_step)
    M_inverse = inverse(_mass_matrices(arm, q))
    return h * _largest_eigenvalue(M_inverse, np.asarray(kd, dtype=float))


def _mass_matrices(arm: Dynamics, q: ArrayLike) -> Array:
    """Return M (m, n, n)."""
    n = arm.model.n
    if np.ndim(q) not in (1, 2) or np.shape(q)[-1] != n or np.size(q) == 0:
        raise ShapeError(f'q has shape {np.shape(q)}; it must be ({n},) or (m, {n})')
    M: Array = arm.mass_matrix(np.atleast_2d(q))
    return M


def inverse(M: Array) -> Array:
    """Return M^-1 (..., n, n). Raises ModelError if a mass matrix is singular."""
    try:
        return np.linalg.inv(M)
    except np.linalg.LinAlgError as error:
        raise ModelError(
            'the mass matrix is singular; expected a positive definite one'
        ) from error


def _largest_eigenvalue(M_inverse: Array, diagonal: Array) -> float:
    """Return the largest eigenvalue of M^-1 diag(d) over all M^-1 (m, n, n)."""
    # The symmetric d^1/2 M^-1 d^1/2 has the same eigenvalues.
    root = np.sqrt(diagonal)
    return float(np.linalg.eigvalsh(root[:, None] * M_inverse * root).max())


def _diagonal(M: Array) -> Array:
    return np.diagonal(M, axis1=-2, axis2=-1)
