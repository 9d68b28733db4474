# SPDX-License-Identifier: Apache-2.0
"""Simulation step with friction, under torques held over the step.

Dry friction is held over the step: at its mean p / h, for impulses p that belong to the velocities
v' of the end of a step of semi-implicit Euler (`friction_step`),

    (M + h F_v) v' + p = M v + h (tau - C v - g),    p_j = p_j(v'_j).

In that step v' is the result; the other integrators make theirs under the torques tau - p / h, and
evaluate viscous friction like any other torque. Dry friction neither exceeds its level nor
reverses a joint, for a step of any length.

Sources: Lynch and Park, draft section 9.5; Hairer and Wanner, Solving Ordinary Differential
Equations II (1996), section IV.3 (stiff damping).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from robot_dynamics.common.scalars import Scalar, is_zero
from robot_dynamics.core.algorithms.crba import crba
from robot_dynamics.core.algorithms.forward_dynamics import fill_in, forward_dynamics
from robot_dynamics.core.algorithms.friction_step import FrictionStep, slowed_velocity
from robot_dynamics.core.algorithms.integrators import INTEGRATORS, column, semi_implicit_euler
from robot_dynamics.core.algorithms.rnea import bias_torque
from robot_dynamics.core.algorithms.vectors import Vector, inner
from robot_dynamics.core.friction.coulomb import Friction
from robot_dynamics.core.friction.impulses import DryFriction
from robot_dynamics.core.model.canonical import CanonicalTree


class State(NamedTuple):
    """Joint positions (n) and velocities (n): scalars, or arrays with more axes before these."""

    q: Any
    qd: Any


def simulation_step(
    tree: CanonicalTree,
    friction: Friction,
    integrator: str,
    q: Vector,
    qd: Vector,
    tau: Vector,
    h: Scalar,
) -> State:
    """Return the state after a time step h.

    Args:
        tree: the robot.
        friction: of its joints.
        integrator: a name of `INTEGRATORS`.
        q: (n) joint positions, rad or m.
        qd: (n) joint velocities.
        tau: (n) torques of the motors.
        h: the step, s.
    """
    method = INTEGRATORS[integrator].step
    if not all(map(is_zero, friction.coulomb)):
        dry = DryFriction(friction.coulomb)
        slowed = held_friction(tree, friction.viscous, dry, q, qd, tau, h)
        if method is semi_implicit_euler:
            # q' = q + h v'
            return State([x + h * y for x, y in zip(q, slowed.v, strict=True)], slowed.v)
        # tau - p / h
        tau = [t - x / h for t, x in zip(tau, slowed.p, strict=True)]
    elif method is semi_implicit_euler:
        tree = braked_at_end(tree, friction.viscous, h)
    viscous = Friction(friction.viscous, [0.0] * len(friction.viscous))

    def a(q: Vector, qd: Vector) -> Any:
        return column(driven_acceleration(tree, viscous, q, qd, tau))

    return State(*map(list, method(a, column(q), column(qd), h)))


def braked_at_end(tree: CanonicalTree, viscous: Sequence[Scalar], h: Scalar) -> CanonicalTree:
    """Return the tree whose accelerations balance viscous friction (n) at the end of a step."""
    # (M + h F_v) qdd = tau - C qd - g - F_v qd:  h F_v acts like additional rotor inertia
    rotors = [B + h * F for B, F in zip(tree.reflected_inertia, viscous, strict=True)]
    return replace(tree, reflected_inertia=tuple(rotors))


def driven_acceleration(
    tree: CanonicalTree, friction: Friction, q: Vector, qd: Vector, tau: Vector
) -> list[Scalar]:
    """Return qdd (n) with the friction of the present velocities."""
    lost = friction.torque(qd)
    return forward_dynamics(tree, q, qd, [t - f for t, f in zip(tau, lost, strict=True)])


def held_friction(
    tree: CanonicalTree,
    viscous: Sequence[Scalar],
    dry: DryFriction,
    q: Vector,
    qd: Vector,
    tau: Vector,
    h: Scalar,
    s: Vector | None = None,
) -> FrictionStep:
    """Return velocities at the end of a step of semi-implicit Euler, and impulses of friction.

    Arguments as of `simulation_step`, viscous friction F_v (n) and dry friction of n joints; s (n)
    is where the rounds start, see `slowed_velocity`.
    """
    H, b = end_momentum(tree, viscous, q, qd, tau, h)
    return slowed_velocity(H, fill_in(tree), b, lambda s, m: dry.responses(s, m, h), s=s)


def end_momentum(
    tree: CanonicalTree,
    viscous: Sequence[Scalar],
    q: Vector,
    qd: Vector,
    tau: Vector,
    h: Scalar,
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Return H (n, n) and b (n) with H v' = b for the velocities v' after semi-implicit Euler.

    `viscous` (n) is F_v, taken at the end of the step; other arguments as of `simulation_step`.
    """
    M = crba(tree, q)
    # b = M v + h (tau - C v - g),   H = M + h F_v
    b = [
        inner(row, qd) + h * (t - x)
        for row, t, x in zip(M, tau, bias_torque(tree, q, qd), strict=True)
    ]
    H = [list(row) for row in M]
    for j, F in enumerate(viscous):
        H[j][j] = H[j][j] + h * F
    return H, b
