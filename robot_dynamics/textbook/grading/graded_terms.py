# SPDX-License-Identifier: Apache-2.0
"""The three terms of the equation of motion, M(q), h(q, qd) = C(q, qd) qd and g(q).

Each function of a robot's dynamics determines one of them or more, whatever its derivation:

    M           mass_matrix
    h           coriolis_torque; C qd of coriolis_matrix
    M           generalized_momentum p: M e_k = p(q, e_k)
    M, g        hamiltonian H:        M^-1 as of an energy, g = dH(q, 0)/dq
    g           gravity_torque; the gradient of potential_energy
    M           kinetic_energy K:     m_jk = K(e_j + e_k) - K(e_j) - K(e_k)
    M, h, g     inverse_dynamics:     g = tau(q, 0, 0),  h = tau(q, qd, 0) - g,
                                      M e_k = tau(q, 0, e_k) - g
    M, h, g     forward_dynamics a:   M^-1 e_k = a(q, 0, e_k) - a(q, 0, 0),
                                      g = -M a(q, 0, 0),  h = -M (a(q, qd, 0) - a(q, 0, 0))

so that a mistake is found in its term, and in the functions that contain it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.textbook.grading.functions import Function
from robot_dynamics.validation.identities import derivative

VectorFunction = Callable[..., Array]


def _unknown(*_: Array) -> Array:
    return np.array(np.nan)


class Terms(NamedTuple):
    """The terms of one robot; those in task space are NaN where they are not known."""

    M: Callable[[Array], Array]  # q -> (n, n)
    h: Callable[[Array, Array], Array]  # q, qd -> (n,)
    g: Callable[[Array], Array]  # q -> (n,)
    Lambda: Callable[[Array], Array] = _unknown  # q -> (m, m)
    eta: Callable[[Array, Array], Array] = _unknown  # q, qd -> (m,)


class Comparison(NamedTuple):
    """Values of one term in several states, beside the right ones."""

    term: str  # as in Terms; 'F' for friction
    q: Array  # (k, n)
    qd: Array  # (k, n)
    values: Array  # (k, n) or (k, n, n)
    expected: Array
    rounding: float  # what a mistake may leave of the difference

    @property
    def difference(self) -> Array:
        """Values less expected values."""
        return self.values - self.expected


class Source(NamedTuple):
    """A term as one function determines it."""

    function: str
    term: str  # as in Terms
    text: str  # as a reader names it
    value: Callable[[Array, Array], Array]  # of q and qd


def evaluate(terms: Terms, term: str, q: Array, qd: Array) -> Array:
    """Return the value of one of the terms."""
    function: VectorFunction = getattr(terms, term)
    return np.asarray(function(q, qd) if term in ('h', 'eta') else function(q))


def terms_of_inverse_dynamics(tau: VectorFunction, n: int) -> Terms:
    """Return the terms of a function tau(q, qd, qdd)."""
    zero, unit = np.zeros(n), np.eye(n)

    def g(q: Array) -> Array:
        return tau(q, zero, zero)

    def h(q: Array, qd: Array) -> Array:
        return np.asarray(tau(q, qd, zero) - g(q))

    def M(q: Array) -> Array:
        rest = g(q)
        return np.stack([tau(q, zero, e) - rest for e in unit], axis=1)

    return Terms(M, h, g)


def terms_of_forward_dynamics(qdd: VectorFunction, n: int) -> Terms:
    """Return the terms of a function qdd(q, qd, tau).

    M is infinite where the accelerations do not determine it.
    """
    zero, unit = np.zeros(n), np.eye(n)

    def M(q: Array) -> Array:
        falling = qdd(q, zero, zero)
        return inverse(np.stack([qdd(q, zero, e) - falling for e in unit], axis=1))

    def h(q: Array, qd: Array) -> Array:
        return np.asarray(-M(q) @ (qdd(q, qd, zero) - qdd(q, zero, zero)))

    def g(q: Array) -> Array:
        return np.asarray(-M(q) @ qdd(q, zero, zero))

    return Terms(M, h, g)


def inverse(M: Array) -> Array:
    """Return the inverse, infinite if there is none."""
    try:
        return np.linalg.inv(M)
    except np.linalg.LinAlgError:
        return np.full(M.shape, np.inf)


def matrix_of_energy(energy: VectorFunction, q: Array) -> Array:
    """Return M (n, n) of a kinetic energy K(q, qd)."""
    n, unit = len(q), np.eye(len(q))
    single = [energy(q, e) for e in unit]
    M = np.diag(2 * np.array(single))
    for j, k in combinations(range(n), 2):
        M[j, k] = M[k, j] = energy(q, unit[j] + unit[k]) - single[j] - single[k]
    return M


def gradient(f: Callable[[Array], Array], q: Array) -> Array:
    """Return df/dq (..., n) by central differences of eighth order."""

    def along(e: Array) -> Array:
        return np.asarray(derivative(lambda t: f(q + t * e), 1.0))

    columns = [along(e) for e in np.eye(len(q))]
    return np.stack(columns, axis=-1)


def sources(functions: Mapping[str, Function], n: int) -> list[Source]:
    """Return all terms that the functions determine, in the order of `functions`."""
    return [source for name, f in functions.items() for source in _sources_of(name, f, n)]


def _sources_of(name: str, f: Function, n: int) -> list[Source]:
    if name == 'inverse_dynamics':
        return _three_sources(name, terms_of_inverse_dynamics(f, n))
    if name == 'forward_dynamics':
        return _three_sources(name, terms_of_forward_dynamics(f, n))
    if name == 'hamiltonian':
        return _sources_of_hamiltonian(name, f, n)
    if name in ('friction_torque', 'regressor'):
        return []
    return [_only_source(name, f, n)]


def _only_source(name: str, f: Function, n: int) -> Source:
    """Return the term of a function that determines no other."""
    inertia = f'the inertia matrix of {name}'
    found: dict[str, tuple[str, str, VectorFunction]] = {
        'mass_matrix': ('M', name, lambda q, qd: f(q)),
        'coriolis_matrix': ('h', f'C qd of {name}', lambda q, qd: f(q, qd) @ qd),
        'coriolis_torque': ('h', name, f),
        'gravity_torque': ('g', name, lambda q, qd: f(q)),
        'kinetic_energy': ('M', inertia, lambda q, qd: matrix_of_energy(f, q)),
        'generalized_momentum': (
            'M',
            inertia,
            lambda q, qd: np.stack([f(q, x) for x in np.eye(n)], 1),
        ),
        'task_inertia': ('Lambda', name, lambda q, qd: f(q)),
        'task_bias': ('eta', name, f),
        'potential_energy': ('g', f'the gradient of {name}', lambda q, qd: gradient(f, q)),
    }
    return Source(name, *found[name])


def _sources_of_hamiltonian(name: str, H: Function, n: int) -> list[Source]:
    zero = np.zeros(n)

    def M(q: Array, qd: Array) -> Array:
        # H(q, p) - H(q, 0) = 1/2 p^T M^-1 p
        return inverse(matrix_of_energy(lambda x, p: H(x, p) - H(x, zero), q))

    def g(q: Array, qd: Array) -> Array:
        return gradient(lambda x: H(x, zero), q)

    return [
        Source(name, 'M', f'the inertia matrix of {name}', M),
        Source(name, 'g', f'the gradient of {name}', g),
    ]


def _three_sources(name: str, terms: Terms) -> list[Source]:
    """Return M, h and g of a function that determines all three."""
    return [
        Source(name, 'M', f'the inertia matrix of {name}', lambda q, qd: terms.M(q)),
        Source(name, 'h', f'the Coriolis torque of {name}', terms.h),
        Source(name, 'g', f'the gravity torque of {name}', lambda q, qd: terms.g(q)),
    ]


def christoffel(h: Callable[[Array, Array], Array], q: Array) -> Array:
    """Return Gamma (n, n, n) of h_i = sum_jk Gamma_ijk qd_j qd_k, symmetric in j and k."""
    n, unit = len(q), np.eye(len(q))
    Gamma = np.zeros((n, n, n))
    for j in range(n):
        Gamma[:, j, j] = h(q, unit[j])
    for j, k in combinations(range(n), 2):
        both = h(q, unit[j] + unit[k])
        Gamma[:, j, k] = Gamma[:, k, j] = (both - Gamma[:, j, j] - Gamma[:, k, k]) / 2
    return Gamma


def momentum(source: Source, functions: Mapping[str, Function]) -> Callable[[Array, Array], Array]:
    """Return the function M(q) v (n,) of q and v, from a source of M."""
    if source.function == 'inverse_dynamics':
        tau = functions['inverse_dynamics']

        def product(q: Array, v: Array) -> Array:
            zero = np.zeros_like(v)
            return tau(q, zero, v) - tau(q, zero, zero)

        return product
    return lambda q, v: source.value(q, np.zeros_like(v)) @ v


def velocity_torque(product: Callable[[Array, Array], Array], q: Array, qd: Array) -> Array:
    """Return the h (n,) that belongs to an inertia matrix: dM/dt qd - 1/2 d(qd^T M qd)/dq.

    Args:
        product: M(q) v of q and v.
        q: (n,).
        qd: (n,).

    Source: Spong, Hutchinson and Vidyasagar, (6.57)-(6.62).
    """
    speed = float(np.abs(qd).sum())
    rate = derivative(lambda t: product(q + t * qd, qd), speed)
    return np.asarray(rate - gradient(lambda x: np.asarray(qd @ product(x, qd)), q) / 2)
