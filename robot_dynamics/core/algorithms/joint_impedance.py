# SPDX-License-Identifier: Apache-2.0
"""Joint impedance: the torque of springs and dampers between joints and their reference.

    tau = M(q) qdd_d + C(q, qd) qd_d + g(q) + K (q_d - q) + D(q) (qd_d - qd)
    D = 2 (Z K)^1/2 U diag(1 / sqrt(w^2 + w_min^2)) U^T (Z K)^1/2
    K^1/2 M^-1 K^1/2 = U diag(w^2) U^T

K and the damping ratios Z are diagonal; w are the natural frequencies, rad/s. A joint without
stiffness has no damping.

Sources: Albu-Schäffer, Ott, Frese and Hirzinger, "Cartesian impedance control of redundant
robots: recent results with the DLR-light-weight-arms", ICRA 2003 (double diagonalization); Paden
and Panja, Int. J. Control 47 (1988), for the other terms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from robot_dynamics.core.algorithms.cartesian_impedance import DAMPED_FREQUENCY
from robot_dynamics.core.algorithms.coriolis import terms
from robot_dynamics.core.algorithms.forward_dynamics import factorize, fill_in, solve_transposed
from robot_dynamics.core.algorithms.symmetric_eigen import (
    functions_of,
    inverse_root,
    symmetric_eigen,
)
from robot_dynamics.core.algorithms.vectors import Vector, inner
from robot_dynamics.core.model.canonical import CanonicalTree


class JointImpedanceTorque(NamedTuple):
    """Parts of the torque, (n) each [N m or N]."""

    gravity: Any  # g(q)
    coriolis: Any  # C(q, qd) qd_d
    inertia: Any  # M(q) qdd_d
    feedback: Any  # of springs and dampers


def joint_impedance(
    tree: CanonicalTree,
    stiffness: Vector,
    damping_ratio: Vector,
    q_d: Vector,
    qd_d: Vector,
    qdd_d: Vector,
    q: Vector,
    qd: Vector,
) -> JointImpedanceTorque:
    """Return the torque that holds joints on springs at their reference, without friction.

    Args:
        tree: the robot; every joint moves inertia.
        stiffness: (n) diagonal of K, N m/rad or N/m.
        damping_ratio: (n) diagonal of Z.
        q_d: (n) desired positions, rad or m.
        qd_d: (n) desired velocities.
        qdd_d: (n) desired accelerations.
        q: (n) positions.
        qd: (n) velocities.
    """
    M, C, g = terms(tree, q, qd)
    # With M = L^T D L:  K^1/2 M^-1 K^1/2 = Y^T D^-1 Y,  Y = L^-T K^1/2
    factors = factorize(M, fill_in(tree))
    roots = [k**0.5 for k in stiffness]
    Y = [
        solve_transposed(factors, [root * float(i == j) for i in range(len(roots))])
        for j, root in enumerate(roots)
    ]
    weighed = [[d * y for d, y in zip(factors.D_inverse, row, strict=True)] for row in Y]
    B = [[inner(a, b) for b in Y] for a in weighed]
    modes = symmetric_eigen(B)
    # (Z K)^1/2 U diag(1 / sqrt(w^2 + w_min^2)) U^T 2 (Z K)^1/2 (qd_d - qd)
    damped = [root * ratio**0.5 for root, ratio in zip(roots, damping_ratio, strict=True)]
    rates = [2.0 * s * (a - b) for s, a, b in zip(damped, qd_d, qd, strict=True)]
    forces = functions_of(B, modes, inverse_root(modes.values, DAMPED_FREQUENCY**2, rates))
    feedback = [
        k * (to - at) + s * force
        for k, to, at, s, force in zip(stiffness, q_d, q, damped, forces, strict=True)
    ]
    return JointImpedanceTorque(
        g, [inner(row, qd_d) for row in C], [inner(row, qdd_d) for row in M], feedback
    )
