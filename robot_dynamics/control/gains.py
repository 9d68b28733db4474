"""PD gains from the mass matrix, and the stability of velocity feedback in discrete time.

    kp_j = w^2 m_j,    kd_j = 2 zeta w m_j,    m_j = sqrt( M_jj / (M^-1)_jj )

The inertia seen at joint j is M_jj while the others stand still and 1/(M^-1)_jj while they are
free; in an arm the two differ by up to a factor of a hundred, and m_j is their geometric mean.
Every joint gets about the same frequency w, whatever mass it moves.

The torque is held over a time step h. Velocity feedback on a single joint is unstable where its
feedback number kd_j h (M^-1)_jj exceeds 2, and reverses the velocity in every step above 1. For
the whole arm the limit is h lambda_max(M^-1 Kd) < 2, never below the largest feedback number; it
bounds w.

Source: Siciliano et al., Robotics: Modelling, Planning and Control (2009), section 8.3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.feedforward import Gains
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError, ShapeError
from robot_dynamics.spatial import Array
from robot_dynamics.stepping import checked_time_step

FREQUENCY = 40.0  # rad/s, the stiffest feedback there is
DAMPING = 1.0  # zeta
PER_STEP = 0.5  # largest h lambda_max(M^-1 Kd)


class FeedbackNumbers(NamedTuple):
    """How close velocity feedback is to its limit of stability; no units.

    Attributes:
        joints: (n,) largest kd_j h (M^-1)_jj of the postures.
        arm: largest h lambda_max(M^-1 Kd) of the postures; unstable above 2.
    """

    joints: Array
    arm: float


def pd_gains(
    arm: Dynamics, q: ArrayLike, time_step: float, *, frequency: float = FREQUENCY
) -> Gains:
    """Return gains that keep the robot stable along a motion.

    Args:
        arm: the robot, with its rotor inertia.
        q: (n,) a posture, or (m, n) positions along the motion.
        time_step: h, s.
        frequency: w, rad/s; the gains are those of a lower one where h requires it.

    Raises:
        ShapeError: q is not (n,) or (m, n).
        ModelError: a joint moves no mass, or the mass matrix is singular.
        ValueError: the time step or the frequency is not positive and finite.
    """
    h = checked_time_step(time_step)
    if not 0 < frequency < np.inf:
        raise ValueError(f'frequency is {frequency} rad/s; it must be positive and finite')
    M, M_inverse = _mass_matrices(arm, q)
    locked, free = _diagonal(M).mean(axis=0), 1 / _diagonal(M_inverse).max(axis=0)
    m = np.sqrt(locked * free)
    # h lambda_max(M^-1 Kd) = 2 zeta w h lambda_max(M^-1 diag(m))
    w = min(frequency, PER_STEP / (2 * DAMPING * h * _largest_eigenvalue(M_inverse, m)))
    return Gains(kp=w**2 * m, kd=2 * DAMPING * w * m)


def feedback_numbers(
    arm: Dynamics, q: ArrayLike, kd: ArrayLike, time_step: float
) -> FeedbackNumbers:
    """Return how close velocity feedback is to its limit of stability in the worst posture.

    Args:
        arm: the robot, with its rotor inertia.
        q: (n,) or (m, n) postures.
        kd: (n,) or one number, feedback on velocities, N m s/rad or N s/m.
        time_step: h, s.

    Raises:
        ShapeError: q is not (n,) or (m, n), or kd not (n,).
        ModelError: a joint moves no mass, or the mass matrix is singular.
        ValueError: the time step is not positive and finite.
    """
    h, n = checked_time_step(time_step), arm.model.n
    if np.shape(kd) not in ((), (n,)):
        raise ShapeError(f'kd has shape {np.shape(kd)}; it must be ({n},)')
    each = np.broadcast_to(np.asarray(kd, dtype=float), (n,))
    _, M_inverse = _mass_matrices(arm, q)
    return FeedbackNumbers(
        h * each * _diagonal(M_inverse).max(axis=0), h * _largest_eigenvalue(M_inverse, each)
    )


def _mass_matrices(arm: Dynamics, q: ArrayLike) -> tuple[Array, Array]:
    """Return M and M^-1, (m, n, n) each."""
    n = arm.model.n
    if np.ndim(q) not in (1, 2) or np.shape(q)[-1] != n or np.size(q) == 0:
        raise ShapeError(f'q has shape {np.shape(q)}; it must be ({n},) or (m, {n})')
    massless = arm.model.massless_joints()
    if massless:
        raise ModelError(f'no feedback gains suit joints that move no mass: {", ".join(massless)}')
    M = arm.mass_matrix(np.atleast_2d(q))
    try:
        M_inverse = np.linalg.inv(M)
    except np.linalg.LinAlgError:
        M_inverse = np.full_like(M, np.nan)
    if not np.isfinite(M_inverse).all():
        raise ModelError('no feedback gains suit this robot: its mass matrix is singular')
    return M, M_inverse


def _largest_eigenvalue(M_inverse: Array, diagonal: Array) -> float:
    """Return the largest eigenvalue of M^-1 diag(d) of all M^-1 (m, n, n)."""
    largest = float(diagonal.max())
    if largest == 0:
        return 0.0
    # They are those of the symmetric d^1/2 M^-1 d^1/2.
    root = np.sqrt(diagonal / largest)
    return largest * float(np.linalg.eigvalsh(root[:, None] * M_inverse * root).max())


def _diagonal(M: Array) -> Array:
    return np.diagonal(M, axis1=-2, axis2=-1)
