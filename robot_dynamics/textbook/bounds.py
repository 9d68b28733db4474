"""How large and how small the inertia and the energy of a robot get, over its joint range.

For revolute joints there are numbers lambda_m and lambda_M with

    lambda_m 1 <= M(q) <= lambda_M 1        for all q,

on which many stability proofs rest. They are found here by search: the extreme eigenvalues of M at
random postures, then downhill from the best of them, one coordinate at a time with a shrinking
step. What a search finds is attained by the robot, so lambda_m is an upper estimate of the true
bound and lambda_M a lower one; `ceiling` is proved, and lies above every eigenvalue of M.

Source: 000, section 6.5, bounds on the inertia matrix and passivity, (6.114)-(6.121).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array

SAMPLES = 200  # random postures to start from
STARTS = 4  # of them, the best, are improved
FINEST_STEP = 1e-7  # rad or m, where the search ends


class InertiaBounds(NamedTuple):
    """The extreme eigenvalues of M over the joint range, kg m^2 (and kg), and where they are."""

    smallest: float  # lambda_m, found
    largest: float  # lambda_M, found
    ceiling: float  # proved to be >= every eigenvalue of M
    q_smallest: Array  # (n,)
    q_largest: Array  # (n,)


def inertia_bounds(arm: Any, rng: np.random.Generator) -> InertiaBounds:
    """Return the bounds of the inertia matrix over the joint range.

    Args:
        arm: a Dynamics, or a formulation held by `identities.Bound`.
        rng: source of the random postures.

    Raises:
        ModelError: a prismatic joint without limits is carried by a revolute one, which makes
            lambda_M infinite; the message names it.
    """
    model = arm.model
    if endless := [name for name in endless_joints(model) if _lever_grows(model, name)]:
        raise ModelError(
            f'robot {model.name!r}: lambda_M is infinite, since the prismatic joints {endless} '
            'have no limits and are turned by others; give them limits'
        )

    def smallest(q: Array) -> float:
        return float(np.linalg.eigvalsh(arm.mass_matrix(q))[0])

    def minus_largest(q: Array) -> float:
        return -float(np.linalg.eigvalsh(arm.mass_matrix(q))[-1])

    q_smallest, low = minimum(smallest, model, rng)
    q_largest, high = minimum(minus_largest, model, rng)
    return InertiaBounds(low, -high, inertia_ceiling(model), q_smallest, q_largest)


def inertia_ceiling(model: RobotModel) -> float:
    """Return a number that no eigenvalue of M exceeds at any q in the joint range.

    M = sum_i m_i Jv_i^T Jv_i + Jw_i^T I_i Jw_i, and the norm of a matrix is at most the root of
    its summed squares: each revolute joint adds 1 to |Jw_i|^2 and the square of its reach to
    |Jv_i|^2, a prismatic one adds 1 to |Jv_i|^2.
    """
    lower, upper = joint_range(model)
    travel = np.abs(model.S) @ np.maximum(np.abs(lower), np.abs(upper)) + np.abs(model.s0)
    total = 0.0
    for i in range(model.nb):
        Jv2 = Jw2 = 0.0
        reach = float(np.linalg.norm(model.com[i]))
        for j in reversed(model.support(i)):
            Jv2 += reach**2 if model.revolute[j] else 1.0
            Jw2 += 1.0 if model.revolute[j] else 0.0
            # From here to the joint before: the link, and how far the joint slides.
            reach += float(np.linalg.norm(model.placement[j, :3, 3]))
            reach += 0.0 if model.revolute[j] else float(travel[j])
        tensor = float(np.abs(np.linalg.eigvalsh(model.inertia_com[i])).max())
        total += model.mass[i] * Jv2 + tensor * Jw2
    # M = S^T M_body S + diag(rotors)
    scale = float(np.linalg.norm(model.S, 2)) ** 2
    return float(total * scale + model.reflected_inertia.max())


def lowest_potential(arm: Any, rng: np.random.Generator) -> float:
    """Return the least potential energy over the joint range, J.

    Raises:
        ModelError: a prismatic joint without limits can fall for ever; the message names it.
    """
    model = arm.model
    rounding = 1e-12 * model.mass.sum() * np.linalg.norm(model.gravity)
    for name in endless_joints(model):
        k = model.joint_names.index(name)
        if any(abs(arm.gravity_torque(q)[k]) > rounding for q in rng.normal(size=(8, model.n))):
            raise ModelError(
                f'robot {model.name!r}: prismatic joint {name!r} has no limits and feels gravity, '
                'so the potential energy has no lowest value; give it limits'
            )
    return minimum(lambda x: float(arm.potential_energy(x)), model, rng)[1]


def passivity(
    arm: Any, t: Array, q: Array, qd: Array, tau: Array, rng: np.random.Generator
) -> float:
    """Return by how much a run broke  integral of qd^T tau dt >= -beta,  relative to beta.

    beta = H(0) - min P is the energy that the arm can give back at most: what it starts with, less
    the lowest potential energy. The integral is the trapezoidal sum of the samples.

    Args:
        arm: a Dynamics.
        t: (N,) times, s.
        q: (N, n) positions along the run.
        qd: (N, n) velocities.
        tau: (N, n) torques of the motors, friction taken off or not: it only adds to the left.
        rng: for the search of min P.
    """
    start = float(arm.kinetic_energy(q[0], qd[0]) + arm.potential_energy(q[0]))
    beta = start - lowest_potential(arm, rng)
    power = np.einsum('ti,ti->t', qd, tau)
    supplied = np.concatenate([[0.0], np.cumsum(np.diff(t) * (power[1:] + power[:-1]) / 2)])
    size = max(abs(beta), float(np.abs(supplied).max()), np.finfo(float).tiny)
    return max(0.0, -(float(supplied.min()) + beta)) / size


def joint_range(model: RobotModel) -> tuple[Array, Array]:
    """Return lower and upper (n,): the limits, or -pi ... pi where a revolute joint has none."""
    lower = np.where(np.isfinite(model.lower), model.lower, -np.pi)
    upper = np.where(np.isfinite(model.upper), model.upper, np.pi)
    return lower, upper


def endless_joints(model: RobotModel) -> list[str]:
    """Return the coordinates without limits that move a prismatic joint."""
    open_ended = ~(np.isfinite(model.lower) & np.isfinite(model.upper))
    slides = np.any((model.S != 0) & ~model.revolute[:, None], axis=0)
    return [model.joint_names[k] for k in np.flatnonzero(open_ended & slides)]


def _lever_grows(model: RobotModel, name: str) -> bool:
    """Say whether a prismatic joint of this coordinate is carried by a revolute one."""
    moved = np.flatnonzero(model.S[:, model.joint_names.index(name)])
    sliding = [b for b in moved if not model.revolute[b]]
    return any(bool(model.revolute[model.support(int(b))].any()) for b in sliding)


def minimum(
    f: Callable[[Array], float], model: RobotModel, rng: np.random.Generator
) -> tuple[Array, float]:
    """Return where f(q) is least over the joint range, and that value, by search from samples."""
    lower, upper = joint_range(model)
    samples = rng.uniform(lower, upper, (SAMPLES, model.n))
    best = sorted(samples, key=f)[:STARTS]
    found = [_downhill(f, q, lower, upper) for q in best]
    return min(found, key=lambda pair: pair[1])


def _downhill(
    f: Callable[[Array], float], q: Array, lower: Array, upper: Array
) -> tuple[Array, float]:
    """Return a local minimum: try each coordinate both ways, halve the step where none helps."""
    value, step = f(q), 0.3
    moves = np.concatenate([np.eye(len(q)), -np.eye(len(q))])
    while step > FINEST_STEP:
        improved = False
        for move in moves:
            candidate = np.clip(q + step * move, lower, upper)
            if (trial := f(candidate)) < value:
                q, value, improved = candidate, trial, True
        step = step if improved else step / 2
    return q, value
