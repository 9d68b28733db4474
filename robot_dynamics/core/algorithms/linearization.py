# SPDX-License-Identifier: Apache-2.0
"""Linear model of the motion: the derivatives of forward dynamics, or of a simulation step.

With the state x = (q, qd), and dx/dt = f(x, tau), or x' = f(x, tau) for the state x' a step later,

    A = df/dx,    B = df/dtau.

The derivatives of a step pass through its integrator. Each joint has a row of its value and of the
derivatives of this value by q, qd and tau at the start of the step; an integrator, which adds and
scales values, does the same with rows.

Dry friction is held over a step, at the mean p / h of its impulse, which belongs to the velocities
v' after semi-implicit Euler (see `simulation_step`): its derivatives are dp/dv at v' times dv'.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.scalars import Scalar, is_zero
from robot_dynamics.core.algorithms.forward_dynamics_derivatives import (
    AccelerationDerivatives,
    acceleration_derivatives,
    forward_dynamics_derivatives,
)
from robot_dynamics.core.algorithms.integrators import INTEGRATORS, column, semi_implicit_euler
from robot_dynamics.core.algorithms.simulation_step import (
    braked_at_end,
    driven_acceleration,
    held_friction,
)
from robot_dynamics.core.algorithms.vectors import Vector, inner, map_traced
from robot_dynamics.core.friction.coulomb import Friction
from robot_dynamics.core.friction.impulses import DryFriction
from robot_dynamics.core.model.canonical import CanonicalTree

# (n, 1 + 3 n) scalars: values of the joints, and their derivatives by q, qd and tau
Rows = Any


class Linearization(NamedTuple):
    """Derivatives by the state (q, qd) and by the torques: scalars, or arrays with more axes."""

    A: Any  # (2 n, 2 n)
    B: Any  # (2 n, n)


def linearization(
    tree: CanonicalTree, friction: Friction, q: Vector, qd: Vector, tau: Vector
) -> Linearization:
    """Return the derivatives of (qd, qdd). Arguments as of `forward_dynamics_derivatives`."""
    by_q, by_qd, by_tau = forward_dynamics_derivatives(tree, friction, q, qd, tau)
    unit, zero = np.eye(tree.n).tolist(), np.zeros((tree.n, tree.n)).tolist()
    A = [[*a, *b] for a, b in zip(zero + by_q, unit + by_qd, strict=True)]
    return Linearization(A, zero + by_tau)


def step_linearization(
    tree: CanonicalTree,
    friction: Friction,
    integrator: str,
    q: Vector,
    qd: Vector,
    tau: Vector,
    h: Scalar,
) -> Linearization:
    """Return the derivatives of the state after a time step. Arguments as of `simulation_step`."""
    method = INTEGRATORS[integrator].step
    Q, V, T = (_seeds(values, place) for place, values in enumerate((q, qd, tau)))
    viscous = Friction(friction.viscous, [0.0] * tree.n)

    def a(Q: Rows, V: Rows) -> Rows:
        q, qd = Q[:, 0], V[:, 0]
        qdd = driven_acceleration(tree, viscous, q, qd, T[:, 0])
        slopes = acceleration_derivatives(tree, q, qd, qdd, friction.viscous)
        return _derived(qdd, slopes, Q, V, T)

    if method is semi_implicit_euler:
        end = _semi_implicit(tree, friction, Q, V, T, h)
        states = method(lambda *_: end, Q, V, h)
    else:
        if not all(map(is_zero, friction.coulomb)):
            T = _less_dry_friction(tree, friction, Q, V, T, h)
        states = method(a, Q, V, h)
    derivatives = np.concatenate(states)[:, 1:].tolist()
    split = 2 * tree.n
    return Linearization(
        [row[:split] for row in derivatives], [row[split:] for row in derivatives]
    )


def _semi_implicit(
    tree: CanonicalTree, friction: Friction, Q: Rows, V: Rows, T: Rows, h: Scalar
) -> Rows:
    """Return the accelerations that balance friction at the velocities after h seconds."""
    (q, qd, tau), v = (X[:, 0] for X in (Q, V, T)), V[:, 0]
    if not all(map(is_zero, friction.coulomb)):
        dry = DryFriction(friction.coulomb)
        v, p, *_ = held_friction(tree, friction.viscous, dry, q, qd, tau, h)
        tau = [t - x / h for t, x in zip(tau, p, strict=True)]
    braked = braked_at_end(tree, friction.viscous, h)
    viscous = Friction(friction.viscous, [0.0] * tree.n)
    qdd = driven_acceleration(braked, viscous, q, qd, tau)
    slopes = acceleration_derivatives(tree, q, qd, qdd, friction.damping(v), h)
    return _derived(qdd, slopes, Q, V, T)


def _less_dry_friction(
    tree: CanonicalTree, friction: Friction, Q: Rows, V: Rows, T: Rows, h: Scalar
) -> Rows:
    """Return the torques less the dry friction that is held over the step."""
    end = V + h * _semi_implicit(tree, friction, Q, V, T, h)
    dry, v = Friction([0.0] * tree.n, friction.coulomb), end[:, 0]
    # p / h = F_s tanh(v' / v_0)
    held = [
        column([p, *(slope * row)])
        for p, slope, row in zip(dry.torque(v), dry.damping(v), end[:, 1:], strict=True)
    ]
    return T - np.stack(held)


def _seeds(values: Vector, place: int) -> Rows:
    """Return rows of values that the step starts from: of q, qd or tau, in this order."""
    n = len(values)
    unit = np.eye(n, 3 * n, place * n).tolist()
    return np.stack([column([x, *row]) for x, row in zip(values, unit, strict=True)])


def _derived(qdd: Vector, slopes: AccelerationDerivatives, Q: Rows, V: Rows, T: Rows) -> Rows:
    """Return rows of accelerations that depend on rows of q, qd and tau."""
    by_all = [[*a, *b, *c] for a, b, c in zip(*slopes, strict=True)]
    columns = np.concatenate([Q, V, T])[:, 1:].T.tolist()
    # dqdd = dqdd/dq dq + dqdd/dqd dqd + dqdd/dtau dtau
    found = map_traced(lambda entries: [inner(row, entries) for row in by_all], columns)
    return np.stack([column(row) for row in zip(qdd, *found, strict=True)])
