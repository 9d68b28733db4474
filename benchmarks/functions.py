# SPDX-License-Identifier: Apache-2.0
"""The eight functions that are measured, and random states."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.compiled_robot import couples_too_many
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.robot_model import RobotModel


class Function(NamedTuple):
    """A method of `Dynamics`."""

    title: str
    inputs: tuple[str, ...]
    results: tuple[str, ...]


FUNCTIONS = {
    'inverse_dynamics': Function('ID', ('q', 'qd', 'qdd'), ('tau',)),
    'mass_matrix': Function('M', ('q',), ('M',)),
    'coriolis_matrix': Function('C', ('q', 'qd'), ('C',)),
    'gravity_torque': Function('g', ('q',), ('g',)),
    'terms': Function('M, C, g', ('q', 'qd'), ('M', 'C', 'g')),
    'forward_dynamics': Function('FD', ('q', 'qd', 'tau'), ('qdd',)),
    'inverse_dynamics_derivatives': Function(
        'dID', ('q', 'qd', 'qdd'), ('dtau_dq', 'dtau_dqd', 'M')
    ),
    'forward_dynamics_derivatives': Function(
        'dFD', ('q', 'qd', 'tau'), ('dqdd_dq', 'dqdd_dqd', 'M_inverse')
    ),
}


def functions_of(model: RobotModel) -> list[str]:
    """Return the functions that the robot has: not all, if joints that follow couple very many."""
    tree = canonical_tree(model)
    return [name for name in FUNCTIONS if not couples_too_many(name, tree)]


class State(NamedTuple):
    """Joint vectors (n,), or (N, n) for N samples."""

    q: Array
    qd: Array
    qdd: Array
    tau: Array

    def of(self, function: str) -> list[Array]:
        """Return the arguments of a function."""
        return [getattr(self, name) for name in FUNCTIONS[function].inputs]

    def ordered(self, order: list[int]) -> State:
        """Return the state with its joints in another order."""
        return State(*(np.ascontiguousarray(x[..., order]) for x in self))


def random_state(model: RobotModel, rng: np.random.Generator, *samples: int) -> State:
    """Return a random state within the limits, or an array of states."""
    shape = (*samples, model.n)
    # Limits beyond half a turn, and missing ones, are replaced by half a turn.
    lower, upper = np.maximum(model.lower, -np.pi), np.minimum(model.upper, np.pi)
    q = lower + (upper - lower) * rng.random(shape)
    qd, qdd, tau = (rng.uniform(-scale, scale, shape) for scale in (1.0, 2.0, 10.0))
    return State(q, qd, qdd, tau)
