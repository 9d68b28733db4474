# SPDX-License-Identifier: Apache-2.0
"""Properties of the equation of motion: bounds of inertia and energy, passivity, absent terms.

Bounds. For revolute joints there are numbers lambda_m and lambda_M with

    lambda_m 1 <= M(q) <= lambda_M 1        for all q,

on which many stability proofs rest. They are found by search: the extreme eigenvalues of M at
random postures, then a descent from the best of them (L-BFGS-B). The values found are
attained, so lambda_m is an upper estimate of the true bound and lambda_M a lower one;
`inertia_ceiling` is proved to lie above every eigenvalue of M.

Absent terms. Kinematic design decides which joints couple: joints on different branches never do,
parallel and intersecting axes remove single terms, an axis along gravity needs no holding torque.
The terms are analytic functions of the state, which are zero at random states only if they are
zero everywhere.

Sources: Spong, Hutchinson and Vidyasagar, section 6.5, passivity and bounds on the inertia matrix,
(6.115)-(6.121); Milićević, Golubović and Slavković, section 2, reasons for zero coefficients D_ij,
h_ikm and c_i.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, minimize

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.states import position_range, without_range

SAMPLES = 200  # random postures of a search
STARTS = 4  # the best of them, from which it descends
ACCURACY: Any = {'ftol': 1e-15, 'gtol': 1e-9}  # where the descent ends
STATES = 12  # random states for absent terms
ROUNDING = 1e-12  # relative to the largest entry


# -- bounds of the inertia matrix ---------------------------------------------------------------


class InertiaBounds(NamedTuple):
    """Extreme eigenvalues of M over the joint range, kg m^2 (and kg), and their postures."""

    smallest: float  # lambda_m, found
    largest: float  # lambda_M, found
    ceiling: float  # proved upper bound of every eigenvalue of M
    q_smallest: Array  # (n,)
    q_largest: Array  # (n,)


def inertia_bounds(arm: Any, rng: np.random.Generator) -> InertiaBounds:
    """Return the bounds of the inertia matrix over the joint range.

    Args:
        arm: a Dynamics, or a formulation bound to a model by `identities.Bound`.
        rng: source of the random postures.

    Raises:
        ModelError: a prismatic joint without limits moves with a revolute one, which makes
            lambda_M infinite; the message names it.
    """
    model = arm.model
    unlimited = [name for name in unlimited_prismatic_joints(model) if _lever_grows(model, name)]
    if unlimited:
        raise ModelError(
            f'robot {model.name!r}: lambda_M is infinite, since the prismatic joints {unlimited} '
            'have no limits and move with revolute ones; give them limits'
        )

    def smallest(q: Array) -> float:
        return float(np.linalg.eigvalsh(arm.mass_matrix(q))[0])

    def minus_largest(q: Array) -> float:
        return -float(np.linalg.eigvalsh(arm.mass_matrix(q))[-1])

    q_smallest, low = minimum(smallest, model, rng)
    q_largest, high = minimum(minus_largest, model, rng)
    return InertiaBounds(low, -high, inertia_ceiling(model), q_smallest, q_largest)


def inertia_ceiling(model: RobotModel) -> float:
    """Return an upper bound of the eigenvalues of M over the joint range.

    M = sum_i m_i Jv_i^T Jv_i + Jw_i^T I_i Jw_i, and the norm of a matrix is at most the root of
    its summed squares: each revolute joint adds 1 to |Jw_i|^2 and the square of its reach to
    |Jv_i|^2, a prismatic one adds 1 to |Jv_i|^2.
    """
    lower, upper = position_range(model)
    travel = np.abs(model.S) @ np.maximum(np.abs(lower), np.abs(upper)) + np.abs(model.s0)
    total = 0.0
    for i in range(model.nb):
        Jv2 = Jw2 = 0.0
        reach = float(np.linalg.norm(model.com[i]))
        for j in reversed(model.support(i)):
            Jv2 += reach**2 if model.revolute[j] else 1.0
            Jw2 += 1.0 if model.revolute[j] else 0.0
            # Distance to the previous joint: the link, and the travel of the joint.
            reach += float(np.linalg.norm(model.placement[j, :3, 3]))
            reach += 0.0 if model.revolute[j] else float(travel[j])
        tensor = float(np.abs(np.linalg.eigvalsh(model.inertia_com[i])).max())
        total += model.mass[i] * Jv2 + tensor * Jw2
    # M = S^T M_body S + diag(rotors)
    scale = float(np.linalg.norm(model.S, 2)) ** 2
    return float(total * scale + model.reflected_inertia.max())


# -- energy and passivity -----------------------------------------------------------------------


def lowest_potential(arm: Any, rng: np.random.Generator) -> float:
    """Return the least potential energy over the joint range, J.

    Args:
        arm: a Dynamics, or a formulation bound to a model by `identities.Bound`.
        rng: source of the random postures from which the search descends.

    Raises:
        ModelError: gravity acts along a prismatic joint without limits; the message names it.
    """
    model = arm.model
    rounding = 1e-12 * model.mass.sum() * np.linalg.norm(model.gravity)
    for name in unlimited_prismatic_joints(model):
        k = model.joint_names.index(name)
        if any(abs(arm.gravity_torque(q)[k]) > rounding for q in rng.normal(size=(8, model.n))):
            raise ModelError(
                f'robot {model.name!r}: prismatic joint {name!r} has no limits and gravity acts '
                'along it, so the potential energy has no lowest value; give it limits'
            )
    return minimum(lambda x: float(arm.potential_energy(x)), model, rng)[1]


def passivity(
    arm: Any, t: Array, q: Array, qd: Array, tau: Array, rng: np.random.Generator
) -> float:
    """Return the violation of  integral of qd^T tau dt >= -beta  in a run, relative to beta.

    beta = H(0) - min P is the largest energy that the arm can return: its energy at the start less
    the lowest potential energy. The integral is the trapezoidal sum of the samples.

    Args:
        arm: a Dynamics.
        t: (N,) times, s.
        q: (N, n) positions along the run.
        qd: (N, n) velocities.
        tau: (N, n) torques of the motors, with or without friction, which only adds to the
            integral.
        rng: for the search of min P.
    """
    start = float(arm.kinetic_energy(q[0], qd[0]) + arm.potential_energy(q[0]))
    beta = start - lowest_potential(arm, rng)
    power = np.einsum('ti,ti->t', qd, tau)
    supplied = np.concatenate([[0.0], np.cumsum(np.diff(t) * (power[1:] + power[:-1]) / 2)])
    size = max(abs(beta), float(np.abs(supplied).max()), np.finfo(float).tiny)
    return max(0.0, -(float(supplied.min()) + beta)) / size


# -- absent terms -------------------------------------------------------------------------------


class StructuralZeros(NamedTuple):
    """Masks, True where a term is absent."""

    M: Array  # (n, n) inertia coupling of joints i and j
    C: Array  # (n, n) Coriolis matrix
    g: Array  # (n,) gravity torque


def structural_zeros(arm: Any, rng: np.random.Generator) -> StructuralZeros:
    """Return the entries of M, C and g that are zero in every state.

    Args:
        arm: a Dynamics, or a formulation bound to a model by `identities.Bound`.
        rng: source of the states.
    """
    model = arm.model
    states = rng.uniform(-np.pi, np.pi, (STATES, 2, model.n))
    M = np.array([arm.mass_matrix(q) for q, _ in states])
    C = np.array([arm.coriolis_matrix(q, qd) for q, qd in states])
    g = np.array([arm.gravity_torque(q) for q, _ in states])
    # Rounding scales with the terms that cancel: inertias for M and C, weights for g.
    inertia = np.abs(M).max()
    weight = model.mass.sum() * np.linalg.norm(model.gravity)
    return StructuralZeros(_absent(M, inertia), _absent(C, inertia), _absent(g, weight))


def _absent(samples: Array, size: float) -> Array:
    return np.asarray(np.all(np.abs(samples) <= ROUNDING * size, axis=0))


# -- search over the joint range ----------------------------------------------------------------


def unlimited_prismatic_joints(model: RobotModel) -> list[str]:
    """Return the coordinates without limits that move a prismatic joint."""
    slides = np.any((model.S != 0) & ~model.revolute[:, None], axis=0)
    return [model.joint_names[k] for k in np.flatnonzero(without_range(model) & slides)]


def _lever_grows(model: RobotModel, name: str) -> bool:
    """Return whether a prismatic joint of this coordinate moves with a revolute one."""
    moved = np.flatnonzero(model.S[:, model.joint_names.index(name)])
    sliding = [b for b in moved if not model.revolute[b]]
    return any(bool(model.revolute[model.support(int(b))].any()) for b in sliding)


def minimum(
    f: Callable[[Array], float], model: RobotModel, rng: np.random.Generator
) -> tuple[Array, float]:
    """Return the posture of the least f(q) over the joint range, and f there, by search."""
    lower, upper = position_range(model)
    samples = rng.uniform(lower, upper, (SAMPLES, model.n))
    best = sorted(samples, key=f)[:STARTS]
    found = [
        minimize(f, q, method='L-BFGS-B', bounds=Bounds(lower, upper), options=ACCURACY)
        for q in best
    ]
    least = min(found, key=lambda result: result.fun)
    return least.x, float(least.fun)
