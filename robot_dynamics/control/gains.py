"""PD gains for any robot: every joint gets about the same frequency, whatever mass it moves.

    kp_i = w^2 m_i,    kd_i = 2 zeta w m_i,    m_i = sqrt( M_ii / (M^-1)_ii )

A joint feels the inertia M_ii while the others stand still and 1/(M^-1)_ii while they are free; in
an arm the two differ by up to a factor of a hundred, and m_i is their geometric mean. As the
torque is held over a time step h, feedback on velocities is stable and well damped only as long
as h lambda_max(M^-1 Kd) is well below 1, which bounds w.

Source: Siciliano et al., Robotics: Modelling, Planning and Control (2009), section 8.3.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.feedforward import Gains
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ShapeError
from robot_dynamics.spatial import Array
from robot_dynamics.stepping import checked_time_step

FREQUENCY = 40.0  # rad/s, the stiffest feedback there is
DAMPING = 1.0  # zeta
PER_STEP = 0.5  # largest h lambda_max(M^-1 Kd)


def pd_gains(arm: Dynamics, q: Array, time_step: float) -> Gains:
    """Return gains that keep the robot stable along a motion.

    Args:
        arm: the robot.
        q: (m, n) positions along the motion.
        time_step: h, s.

    Raises:
        ShapeError: q is not (m, n).
        ValueError: the time step is not positive and finite.
    """
    if np.ndim(q) != 2 or np.shape(q)[1] != arm.model.n:
        raise ShapeError(f'q has shape {np.shape(q)}; it must be (m, {arm.model.n})')
    h = checked_time_step(time_step)
    M = arm.mass_matrix(q)
    M_inverse = np.linalg.inv(M)
    locked, free = _diagonal(M).mean(axis=0), 1 / _diagonal(M_inverse).max(axis=0)
    m = np.sqrt(locked * free)
    # The eigenvalues of M^-1 diag(m) are those of the symmetric m^1/2 M^-1 m^1/2.
    root = np.sqrt(m)
    coupling = float(np.linalg.eigvalsh(root[:, None] * M_inverse * root).max())
    # h lambda_max(M^-1 Kd) = 2 zeta w h lambda_max(M^-1 diag(m))
    w = min(FREQUENCY, PER_STEP / (2 * DAMPING * h * coupling))
    return Gains(kp=w**2 * m, kd=2 * DAMPING * w * m)


def _diagonal(M: Array) -> Array:
    return np.diagonal(M, axis1=-2, axis2=-1)
