# SPDX-License-Identifier: Apache-2.0
"""Constrained particles and virtual work: the origin of the Euler–Lagrange equations.

External forces f_i and constraint forces f_i^a act on k particles. Their positions follow from n
independent coordinates, r_i = r_i(q), so virtual displacements are dr_i = sum_j dr_i/dq_j dq_j
with any dq, and constraint forces do no work in them. d'Alembert's principle adds the inertial
force -m_i a_i to each particle and gives

    sum_i (f_i - m_i a_i) . dr_i = 0        for every dq,

without the constraint forces. Sorted by dq_j, with K = 1/2 sum_i m_i rd_i . rd_i,

    d/dt dK/dqd_j - dK/dq_j = psi_j,        psi_j = sum_i f_i . dr_i/dq_j.

The inputs are r_i(q), the masses and the potential P(q); M, C, g and the constraint forces follow.
A rigid body is a set of particles at fixed distances; in the plane, two particles of half its mass
at the distance sqrt(I/m) on either side of the centre of mass are equivalent to it.

The functions r and P are written with NumPy's sin, cos and arithmetic. Their first and second
derivatives are exact: they are evaluated on hyper-dual numbers (`SecondOrder`).

Velocity constraints A(q) qd = 0 need not be integrable (nonholonomic). The principle holds for
them as well, in the virtual displacements with A(q) dq = 0: see `constrained_acceleration`.

Source: Spong, Hutchinson and Vidyasagar, section 6.1, (6.15)-(6.45).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.common.errors import ShapeError, SingularityError
from robot_dynamics.common.spatial import Array


def _nothing(q: Array) -> Any:
    return 0.0


@dataclass(frozen=True)
class Particles:
    """Particles whose positions follow from n generalized coordinates q (n,). (6.19)."""

    masses: Sequence[float]  # (k,) kg
    positions: Callable[[Array], Any]  # r(q): q (n,) to (k, 3) or (k, 2), m
    potential: Callable[[Array], Any] = _nothing  # P(q), a scalar, J


def inverse_dynamics(system: Particles, q: Array, qd: Array, qdd: Array) -> Array:
    """Return tau (n,), the generalized forces that produce the given motion. (6.45).

        tau = d/dt dL/dqd - dL/dq = M(q) qdd + C(q, qd) qd + g(q)

    Args:
        system: the particles.
        q: (n,) generalized coordinates.
        qd: (n,) their velocities.
        qdd: (n,) their accelerations.

    Raises:
        ShapeError: q, qd and qdd differ in length, or the numbers of positions and masses differ.
    """
    if not np.shape(q) == np.shape(qd) == np.shape(qdd):
        raise ShapeError(
            f'q, qd and qdd have shapes {np.shape(q)}, {np.shape(qd)} and {np.shape(qdd)}; '
            'expected equal shapes'
        )
    # sum_i m_i a_i . dr_i/dq_j + dP/dq_j
    a = accelerations(system, q, qd, qdd)
    inertial = generalized_forces(system, q, np.asarray(system.masses)[:, None] * a)
    return inertial + gravity_torque(system, q)


# -- kinematics of the particles ----------------------------------------------------------------


def displacements(system: Particles, q: Array) -> Array:
    """Return dr_i/dq_j (k, 3, n): virtual displacements are this times any dq (n,). (6.22)."""
    # The first derivatives of r(q + e_j), one coordinate at a time.
    columns = [_derivatives(system.positions, q, j, j)[0] for j in range(len(q))]
    partials = np.stack(columns, axis=-1)
    if len(partials) != len(system.masses):
        raise ShapeError(
            f'positions(q) gives {len(partials)} particles and masses has {len(system.masses)}; '
            'expected one mass per particle'
        )
    return partials


def second_displacements(system: Particles, q: Array) -> Array:
    """Return d2r_i/dq_j dq_l (k, 3, n, n), symmetric in j and l."""
    n = len(q)
    rows = [[_derivatives(system.positions, q, j, l)[1] for l in range(n)] for j in range(n)]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def accelerations(system: Particles, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the accelerations (k, 3) of the particles in a motion of the coordinates."""
    # a_i = sum_j dr_i/dq_j qdd_j + sum_jl d2r_i/dq_j dq_l qd_j qd_l
    return np.asarray(displacements(system, q) @ qdd + second_displacements(system, q) @ qd @ qd)


# -- forces -------------------------------------------------------------------------------------


def generalized_forces(system: Particles, q: Array, forces: Array) -> Array:
    """Return psi (n,) of forces f_i (k, 3) on the particles: psi_j = sum_i f_i . dr_i/dq_j.

    (6.31). Constraint forces have psi = 0: they do no work.
    """
    return np.asarray(np.einsum('ix,ixj->j', forces, displacements(system, q)))


def constraint_forces(
    system: Particles, q: Array, qd: Array, qdd: Array, external: Array
) -> Array:
    """Return the constraint forces f_i^a (k, 3) in a motion.

    Newton: m_i a_i = f_i + f_i^a for each particle. `external` (k, 3) are the forces f_i of the
    motion, gravity included.
    """
    a = accelerations(system, q, qd, qdd)
    return np.asarray(np.asarray(system.masses)[:, None] * a - external)


# -- constraints on the velocities --------------------------------------------------------------


def constrained_acceleration(
    system: Particles, q: Array, qd: Array, psi: Array, A: Callable[[Array], Any]
) -> tuple[Array, Array]:
    """Return qdd (n,) and the multipliers (m,) of a system with constraints A(q) qd = 0.

    Below (6.18): the principle of virtual work remains valid for nonholonomic constraints,
    variational principles do not. For every virtual
    displacement with A dq = 0, (M qdd + C qd + g - psi) . dq = 0, so that

        M qdd + C qd + g = psi + A^T lambda,        A qdd + dA/dt qd = 0.

    Args:
        system: the particles, their coordinates q subject to further constraints.
        q: (n,) generalized coordinates.
        qd: (n,) their velocities; they must satisfy A(q) qd = 0.
        psi: (n,) generalized forces, gravity excluded.
        A: q (n,) to (m, n), written with NumPy's sin, cos and arithmetic as r(q) is.

    Returns:
        qdd, and lambda, of which A^T lambda is the generalized force of the constraints.

    Raises:
        ShapeError: q, qd and psi differ in length, or A(q) does not have n columns.
        SingularityError: rows of A are linearly dependent, or a coordinate moves no mass.
    """
    if np.shape(psi) != np.shape(q):
        raise ShapeError(f'psi has shape {np.shape(psi)}; expected {np.shape(q)}, the shape of q')
    rest = np.zeros(np.shape(q))
    c = np.asarray(psi) - inverse_dynamics(system, q, qd, rest)
    A_q = np.array(A(np.asarray(q, dtype=float)), dtype=float)
    if A_q.ndim != 2 or A_q.shape[1] != len(q):
        raise ShapeError(
            f'A(q) has shape {A_q.shape}; q is ({len(q)},), so it must be (m, {len(q)})'
        )
    # dA/dt = sum_l dA/dq_l qd_l
    Ad = sum(_derivatives(A, q, l, l)[0] * rate for l, rate in enumerate(qd))
    m = len(A_q)
    equations = np.block([[mass_matrix(system, q), -A_q.T], [A_q, np.zeros((m, m))]])
    if np.linalg.cond(equations) > 1 / np.finfo(float).eps:
        raise SingularityError(
            f'the {m} constraints do not determine the acceleration: rows of A(q) are linearly '
            'dependent, or a coordinate moves no mass'
        )
    solution = np.linalg.solve(equations, np.concatenate([c, -Ad @ qd]))
    return solution[: len(q)], solution[len(q) :]


# -- the terms of the equation of motion --------------------------------------------------------


def mass_matrix(system: Particles, q: Array) -> Array:
    """Return M (n, n), so that K = 1/2 qd^T M qd. (6.39)."""
    J = displacements(system, q)
    # M_jl = sum_i m_i dr_i/dq_j . dr_i/dq_l
    return np.asarray(np.einsum('i,ixj,ixl->jl', np.asarray(system.masses), J, J))


def christoffel_symbols(system: Particles, q: Array) -> Array:
    """Return c (n, n, n), c[i, j, k] = c_ijk of (6.63).

    For particles the three derivatives of M in the definition reduce to one sum.
    """
    J, H = displacements(system, q), second_displacements(system, q)
    # c_ijk = sum_p m_p d2r_p/dq_i dq_j . dr_p/dq_k
    return np.asarray(np.einsum('p,pxij,pxk->ijk', np.asarray(system.masses), H, J))


def coriolis_matrix(system: Particles, q: Array, qd: Array) -> Array:
    """Return C (n, n) of Christoffel symbols. (6.67)."""
    # C_kj = sum_i c_ijk qd_i
    return np.asarray(np.einsum('ijk,i->kj', christoffel_symbols(system, q), np.asarray(qd)))


def gravity_torque(system: Particles, q: Array) -> Array:
    """Return g (n,) = dP/dq, of gravity and any other potential. (6.44)."""
    return np.array([float(_derivatives(system.potential, q, j, j)[0]) for j in range(len(q))])


# -- exact derivatives --------------------------------------------------------------------------


class SecondOrder:
    """Hyper-dual number x + a e1 + b e2 + c e1 e2, e1^2 = e2^2 = 0, with arithmetic, sin and cos.

    For an argument with a = b = 1 and c = 0 the result of a function holds its derivatives in e1
    and e2, and the mixed second derivative in e1 e2. (Fike and Alonso, "The development of
    hyper-dual
    numbers for exact second-derivative calculations", AIAA 2011-886.)
    """

    def __init__(self, x: float, a: float = 0.0, b: float = 0.0, c: float = 0.0):
        self.x, self.a, self.b, self.c = x, a, b, c

    def chain(self, f: float, df: float, ddf: float) -> SecondOrder:
        """Return f(self), given the value and two derivatives of f at x."""
        # f(x + ...) = f + f' (a e1 + b e2 + c e1 e2) + f'' a b e1 e2
        return SecondOrder(f, df * self.a, df * self.b, df * self.c + ddf * self.a * self.b)

    def __add__(self, other: Any) -> SecondOrder:
        y = _lifted(other)
        if y is None:
            return NotImplemented
        return SecondOrder(self.x + y.x, self.a + y.a, self.b + y.b, self.c + y.c)

    def __mul__(self, other: Any) -> SecondOrder:
        y = _lifted(other)
        if y is None:
            return NotImplemented
        c = self.c * y.x + self.a * y.b + self.b * y.a + self.x * y.c
        return SecondOrder(
            self.x * y.x, self.a * y.x + self.x * y.a, self.b * y.x + self.x * y.b, c
        )

    def __truediv__(self, other: Any) -> SecondOrder:
        y = _lifted(other)
        return NotImplemented if y is None else self * y**-1

    def __pow__(self, k: float) -> SecondOrder:
        x = self.x
        return self.chain(x**k, k * x ** (k - 1), k * (k - 1) * x ** (k - 2) if k != 1 else 0.0)

    def __neg__(self) -> SecondOrder:
        return SecondOrder(-self.x, -self.a, -self.b, -self.c)

    def __sub__(self, other: Any) -> SecondOrder:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> SecondOrder:
        return (-self).__add__(other)

    def __rtruediv__(self, other: Any) -> SecondOrder:
        return (self**-1).__mul__(other)

    __radd__, __rmul__ = __add__, __mul__

    def sin(self) -> SecondOrder:
        """Return the sine; np.sin of an object array calls this."""
        s, c = np.sin(self.x), np.cos(self.x)
        return self.chain(s, c, -s)

    def cos(self) -> SecondOrder:
        """Return the cosine; np.cos calls this."""
        s, c = np.sin(self.x), np.cos(self.x)
        return self.chain(c, -s, -c)

    def sqrt(self) -> SecondOrder:
        """Return the square root; np.sqrt calls this."""
        return self**0.5


def _lifted(value: Any) -> SecondOrder | None:
    """Return a number as a SecondOrder, or None for an array, whose operator takes precedence."""
    if isinstance(value, SecondOrder):
        return value
    return None if isinstance(value, np.ndarray) else SecondOrder(float(value))


def _derivatives(f: Callable[[Array], Any], q: Array, j: int, l: int) -> tuple[Array, Array]:
    """Return df/dq_j and d2f/dq_j dq_l of a function of q (n,), in the shape of f."""
    seeded = np.array(
        [SecondOrder(float(x), float(i == j), float(i == l)) for i, x in enumerate(q)],
        dtype=object,
    )
    value = np.asarray(f(seeded), dtype=object)
    # A number without derivatives does not depend on q.
    results = [_lifted(x) or SecondOrder(0.0) for x in value.ravel()]
    first = np.array([x.a for x in results]).reshape(value.shape)
    return first, np.array([x.c for x in results]).reshape(value.shape)
