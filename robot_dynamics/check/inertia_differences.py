# SPDX-License-Identifier: Apache-2.0
"""Differences of inertias that joint torques depend on: base parameters.

Mass on the axis of a revolute joint is indistinguishable from mass of the body before it: two
descriptions may count a stator to either. Such differences cancel in every torque.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms import regressor
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.inertia import Inertial, to_parameters
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.states import random_states

# Differences of two descriptions of one body that are rounding.
MASS, COM, TENSOR = 1e-3, 5e-4, 0.02  # relative; m; relative to the norm of the tensor
EFFECT = 2e-4  # of a joint's largest torque: smaller effects are rounding
ROUNDING = 1e-6  # of the largest torque of all joints: a joint with less has none
RANK = 1e-10  # relative, of columns of a regressor
STATES = 32


class InertiaDifference(NamedTuple):
    """A body whose inertia differs.

    Attributes:
        body: its index.
        words: what differs.
        shown: whether a torque depends on it.
        torque: (n,) largest difference of the gravity torques that it makes alone, N m or N.
    """

    body: int
    words: str
    shown: bool
    torque: Array


def inertia_differences(
    A: RobotModel, others: Sequence[Inertial], q: Array
) -> list[InertiaDifference]:
    """Return the bodies of A whose inertias differ from others.

    Args:
        A: a model.
        others: (nb) the inertias of another one in the body frames of A.
        q: (k, n) postures, of the gravity torques.
    """
    tree = canonical_tree(A)
    still, free = np.zeros_like(q.T), replace(tree, gravity=(0.0, 0.0, 0.0))
    states = random_states(A, STATES, np.random.default_rng(1))
    # Y (n, nb, 10, k) at rest, and of motions without gravity
    Y_g = _stacked(regressor(tree, list(q.T), list(still), list(still)), A)
    Y_m = _stacked(regressor(free, *(list(x.T) for x in states)), A)
    pi, pi_b = (
        np.array([to_parameters(body) for body in bodies])
        for bodies in ([A.inertial(i) for i in range(A.nb)], others)
    )
    size_g, size_m = (
        np.maximum(*(np.abs(np.einsum('nbpk,bp->nk', Y, p)).max(axis=1) for p in (pi, pi_b)))
        for Y in (Y_g, Y_m)
    )
    relative = [
        Y / np.maximum(size, ROUNDING * size.max() + 1e-300)[:, None, None, None]
        for Y, size in ((Y_g, size_g), (Y_m, size_m))
    ]
    left = _regrouped(np.concatenate(relative, axis=3), pi_b - pi, A.parent)
    return [
        InertiaDifference(
            i,
            words,
            bool(np.abs(left[i]).max() > EFFECT),
            np.abs(left[i][:, : len(q)]).max(axis=1) * size_g,
        )
        for i, other in enumerate(others)
        if (words := _words(A.inertial(i), other))
    ]


def inertia_differs(a: Inertial, b: Inertial) -> tuple[bool, bool]:
    """Return whether centre of mass and tensor of two bodies differ beyond rounding."""
    if not (a.mass and b.mass):
        return False, False
    return bool(np.linalg.norm(a.com - b.com) > COM), tensor_difference(a, b) > TENSOR


def tensor_difference(a: Inertial, b: Inertial) -> float:
    """Return the difference of the tensors about the centres of mass, relative to the larger."""
    sizes = [float(np.linalg.norm(body.inertia_com)) for body in (a, b)]
    return float(np.linalg.norm(a.inertia_com - b.inertia_com)) / max(*sizes, 1e-300)


def _stacked(Y: list[list[Any]], model: RobotModel) -> Array:
    """Return the regressor of k states as an array (n, nb, 10, k)."""
    rows = np.broadcast_arrays(*(x for row in Y for x in row))
    return np.reshape(rows, (model.n, model.nb, 10, -1))


def _regrouped(Y: Array, difference: Array, parent: Array) -> Array:
    """Return the effects (nb, n, k) of differences of inertias (nb, 10), regrouped.

    An effect that some inertia of the parent has as well is added to that of the parent where this
    makes the latter smaller: sums of what no torque tells apart are base parameters.

    Args:
        Y: (n, nb, 10, k) regressor.
        difference: of the inertial parameters of the bodies.
        parent: (nb,) of the bodies.
    """
    left: Array = np.einsum('nbpk,bp->bnk', Y, difference)
    for i in reversed(range(len(parent))):
        p = int(parent[i])
        if p < 0 or min(np.abs(left[i]).max(), np.abs(left[p]).max()) <= EFFECT:
            continue
        columns = Y[:, p].transpose(0, 2, 1).reshape(-1, 10)
        effect = left[i].ravel()
        rest = effect - columns @ np.linalg.lstsq(columns, effect, rcond=RANK)[0]
        together = left[i] + left[p]
        if np.abs(rest).max() <= EFFECT and np.linalg.norm(together) < np.linalg.norm(left[p]):
            left[p], left[i] = together, 0.0
    return left


def _words(a: Inertial, b: Inertial) -> str:
    """Return what differs between the inertias of two bodies in one frame."""
    words = []
    if abs(a.mass - b.mass) > MASS * max(a.mass, b.mass):
        words.append(f'mass {a.mass:.4g} / {b.mass:.4g} kg')
    com, tensor = inertia_differs(a, b)
    if com:
        words.append(f'centres of mass {1e3 * np.linalg.norm(a.com - b.com):.1f} mm apart')
    if tensor:
        words.append(f'tensors {100 * tensor_difference(a, b):.0f} % apart')
    return ', '.join(words)
