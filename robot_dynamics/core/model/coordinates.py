# SPDX-License-Identifier: Apache-2.0
"""Coordinates of mimic joints and remote drives: linear maps q_body = S q + s0.

Mimic joints, remote drives, parallelograms and gear trains have one description: the joint
positions of the bodies are a linear function of other, usually fewer, coordinates. The principle
of virtual work gives the equations in the new coordinates p, where q = S p + s0:

    qd = S pd,    tau_p = S^T tau,    M_p = S^T M S,    C_p = S^T C S,    g_p = S^T g.

`with_coordinates` describes a robot in new coordinates; the other functions transform single
quantities. They take S as rows of numbers and any scalars, and skip the zeros of S.

Source: Spong, Hutchinson and Vidyasagar, section 6.4, the planar elbow with remotely driven link,
up to (6.99).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.robot_model import RATE_LIMITS, RobotModel

Vector = Sequence[Any]
Matrix = Sequence[Sequence[Any]]


def with_coordinates(
    model: RobotModel,
    S: ArrayLike,
    s0: ArrayLike | None = None,
    *,
    joint_names: Sequence[str] | None = None,
    **settings: ArrayLike,
) -> RobotModel:
    """Return the robot described by coordinates p instead of q = S p + s0.

    Args:
        model: the robot with coordinates q (n).
        S: (n, k) the map; its columns must be linearly independent.
        s0: (n,) its offsets, rad or m; zero if omitted.
        joint_names: (k) names of the new coordinates; p1 ... pk if omitted.
        **settings: (k,) values in the new coordinates of `lower`, `upper`, `velocity_limit` and
            other rates, `effort_limit`, `viscous`, `coulomb` or `reflected_inertia`. Omitted ones
            are transformed, which requires that every q depends on a single p.

    Raises:
        ModelError: a wrong shape, dependent columns, or a limit or friction of the model that has
            no equivalent per coordinate p and is missing from `settings`.
    """
    S_qp = np.asarray(S, dtype=float)
    if S_qp.ndim != 2 or S_qp.shape[0] != model.n or S_qp.shape[1] < 1:
        raise ModelError(f'S has shape {S_qp.shape}; {model.n} joints need ({model.n}, k)')
    k = S_qp.shape[1]
    if np.linalg.matrix_rank(S_qp) < k:
        raise ModelError(f'S = {S_qp.tolist()} has linearly dependent columns; expected rank {k}')
    offset = np.zeros(model.n) if s0 is None else np.asarray(s0, dtype=float)
    if offset.shape != (model.n,):
        raise ModelError(f's0 has shape {offset.shape}; {model.n} joints need ({model.n},)')
    names = tuple(joint_names) if joint_names is not None else tuple(f'p{j + 1}' for j in range(k))
    if len(names) != k:
        raise ModelError(f'joint_names has {len(names)} names; S has {k} columns')
    carried = _carried_over(model, S_qp, offset, settings)
    return replace(
        model,
        joint_names=names,
        # q_body = S_b q + s0_b = S_b S p + S_b s0 + s0_b
        S=model.S @ S_qp,
        s0=model.S @ offset + model.s0,
        home={},
        **carried,
    )


def _carried_over(
    model: RobotModel, S: Array, s0: Array, given: dict[str, ArrayLike]
) -> dict[str, Any]:
    """Return limits, friction and rotor inertia (k,) in the new coordinates."""
    absent = {
        'lower': -np.inf,
        'upper': np.inf,
        **dict.fromkeys(RATE_LIMITS, np.inf),
        'effort_limit': np.inf,
        'viscous': 0.0,
        'coulomb': 0.0,
        'reflected_inertia': 0.0,
    }
    unknown = set(given) - set(absent)
    if unknown:
        raise ModelError(f'unknown settings {sorted(unknown)}; expected {", ".join(absent)}')
    single = (S != 0).sum(axis=1) <= 1
    for name, value in absent.items():
        lost = (getattr(model, name) != value) & ~single
        if name not in given and lost.any():
            joint = model.joint_names[int(np.argmax(lost))]
            raise ModelError(
                f'{name} of joint {joint!r}, {getattr(model, name)[np.argmax(lost)]}, depends on '
                f'several new coordinates: give {name}= in the new ones'
            )
    result: dict[str, Any] = dict(given)
    for name, array in _per_coordinate(model, S, s0).items():
        result.setdefault(name, array)
    return result


def _per_coordinate(model: RobotModel, S: Array, s0: Array) -> dict[str, Array]:
    """Return limits and friction of each new coordinate, from the joints it moves."""
    k = S.shape[1]
    lower, upper = np.full(k, -np.inf), np.full(k, np.inf)
    rates, effort = {name: np.full(k, np.inf) for name in RATE_LIMITS}, np.full(k, np.inf)
    for i, (row, shift, *limits) in enumerate(zip(S, s0, model.lower, model.upper, strict=True)):
        if np.count_nonzero(row) != 1:
            continue
        j = int(np.flatnonzero(row)[0])
        # lower <= r p + shift <= upper
        ends = sorted((limit - shift) / row[j] for limit in limits)
        lower[j], upper[j] = max(lower[j], ends[0]), min(upper[j], ends[1])
        for name, rate in rates.items():
            rate[j] = min(rate[j], getattr(model, name)[i] / abs(row[j]))
    moved = S != 0
    for j in range(k):
        # |tau_p| = |S^T tau| <= sum |r| effort
        effort[j] = np.abs(S[moved[:, j], j]) @ model.effort_limit[moved[:, j]]
    return {
        'lower': lower,
        'upper': upper,
        **rates,
        'effort_limit': effort,
        # diag(S^T B S)
        'reflected_inertia': (S**2).T @ model.reflected_inertia,
        **friction_of_coordinates(S, model.viscous, model.coulomb),
    }


def friction_of_coordinates(S: Array, viscous: Array, coulomb: Array) -> dict[str, Array]:
    """Return coefficients (k,) of coordinates that move joints with coefficients (n,) by S."""
    # diag(S^T F_v S),   |S|^T F_s
    return {'viscous': (S**2).T @ viscous, 'coulomb': np.abs(S).T @ coulomb}


def driven_body(model: RobotModel, k: int) -> int:
    """Return the body whose joint is coordinate k; if there is none, the first that k moves."""
    moved = np.flatnonzero(model.S[:, k])
    alone = (np.eye(model.n)[k] == model.S).all(axis=1) & (model.s0 == 0)
    return int(next((i for i in moved if alone[i]), moved[0]))


# -- transforming quantities ----------------------------------------------------------------


def body_positions(S: Matrix, s0: Vector, q: Vector) -> list[Any]:
    """Return the bodies' joint positions S q + s0 (nb)."""
    return [
        x + offset if offset != 0.0 else x for x, offset in zip(body_rates(S, q), s0, strict=True)
    ]


def body_rates(S: Matrix, qd: Vector) -> list[Any]:
    """Return the bodies' joint velocities S qd (nb); accelerations likewise."""
    return [_combination(row, qd) for row in S]


def generalized_forces(S: Matrix, tau: Vector) -> list[Any]:
    """Return S^T tau (n) of the torques (nb) in the bodies' joints."""
    return [_combination(column, tau) for column in zip(*S, strict=True)]


def generalized_matrix(S: Matrix, M: Matrix) -> list[list[Any]]:
    """Return S^T M S (n, n) of a matrix (nb, nb) between the bodies' joints."""
    moved = [[i for i, s in enumerate(column) if s != 0.0] for column in zip(*S, strict=True)]
    weights = [[S[i][j] for i in bodies] for j, bodies in enumerate(moved)]

    def combined(values: Vector) -> list[Any]:
        pairs = zip(weights, moved, strict=True)
        return [_combination(w, [values[i] for i in bodies]) for w, bodies in pairs]

    # (S^T M) S, row by row
    columns = [combined(column) for column in zip(*M, strict=True)]
    return [combined(row) for row in zip(*columns, strict=True)]


def _combination(weights: Vector, values: Vector) -> Any:
    """Return the sum of weight times value, without the terms of weight 0."""
    total: Any = 0.0
    first = True
    for weight, value in zip(weights, values, strict=True):
        if weight == 0.0:
            continue
        term = value if weight == 1.0 else weight * value
        total = term if first else total + term
        first = False
    return total
