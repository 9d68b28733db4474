"""Simulation step with friction, under torques held over the step.

Explicit Euler and Runge-Kutta evaluate friction like any other torque; where it could reverse a
joint within a step, the joint chatters. Semi-implicit Euler evaluates friction at the end of the
step instead: with its secant slope, friction(qd) = S qd,

    (M + h S) qdd = tau - C qd - g - S qd,

which brakes a joint and never reverses it for any S, at almost no cost. For viscous friction S is
constant, and this is backward Euler.

Sources: Lynch and Park, draft section 9.5; Hairer and Wanner, Solving Ordinary Differential
Equations II (1996), section IV.3 (stiff damping).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from robot_dynamics.algorithms.forward_dynamics import forward_dynamics
from robot_dynamics.algorithms.friction import COULOMB_SPEED, friction_torque
from robot_dynamics.algorithms.integrators import INTEGRATORS, column, semi_implicit_euler
from robot_dynamics.algorithms.vectors import Scalar, Vector, is_zero
from robot_dynamics.model.canonical import CanonicalTree

# Square of a negligible speed: it avoids 0/0 in the secant slope at standstill, and changes the
# slope elsewhere by less than a rounding error.
STANDSTILL = 1e-20


class State(NamedTuple):
    """Joint positions (n) and velocities (n): scalars, or arrays with more axes before these."""

    q: Any
    qd: Any


class Friction(NamedTuple):
    """Coefficients of the friction of each joint, as `friction_torque` takes them."""

    viscous: Sequence[Scalar]  # n, N m s/rad or N s/m
    coulomb: Sequence[Scalar]  # n, N m or N


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
    method = INTEGRATORS[integrator]

    def a(q: Vector, qd: Vector) -> Any:
        if method is semi_implicit_euler:
            return column(braked_acceleration(tree, friction, q, qd, tau, h))
        return column(driven_acceleration(tree, friction, q, qd, tau))

    return State(*map(list, method(a, column(q), column(qd), h)))


def driven_acceleration(
    tree: CanonicalTree, friction: Friction, q: Vector, qd: Vector, tau: Vector
) -> list[Scalar]:
    """Return qdd (n) with the friction of the present velocities."""
    lost = friction_torque(*friction, qd)
    return forward_dynamics(tree, q, qd, [t - f for t, f in zip(tau, lost, strict=True)])


def braked_acceleration(
    tree: CanonicalTree, friction: Friction, q: Vector, qd: Vector, tau: Vector, h: Scalar
) -> list[Scalar]:
    """Return qdd (n) with the friction of the velocities qd + h qdd."""
    if all(map(is_zero, (*friction.viscous, *friction.coulomb))):
        return forward_dynamics(tree, q, qd, tau)
    # (M + h S) qdd = tau - C qd - g - S qd:  h S acts like additional rotor inertia
    slope = friction_slope(friction, qd)
    rotors = [B + h * s for B, s in zip(tree.reflected_inertia, slope, strict=True)]
    braked: CanonicalTree = replace(tree, reflected_inertia=tuple(rotors))
    return driven_acceleration(braked, friction, q, qd, tau)


def friction_slope(friction: Friction, qd: Vector) -> list[Scalar]:
    """Return S (n) with friction(qd) = S qd, largest at standstill."""
    return [
        # f / v,   and  F_v + F_s / v_0  where v = 0
        b if is_zero(c) else (f * v + (b + c / COULOMB_SPEED) * STANDSTILL) / (v * v + STANDSTILL)
        for b, c, f, v in zip(*friction, friction_torque(*friction, qd), qd, strict=True)
    ]
