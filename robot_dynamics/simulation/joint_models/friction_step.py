# SPDX-License-Identifier: Apache-2.0
"""A step of semi-implicit Euler under a friction law of `friction.laws`.

    (M + h F_v) v' + p = M v + h (tau - C v - g),    p_j = h L_j z_j(v')

Load and Stribeck's factor, which make up the level L, are those of the start of the step. The
direction z of sliding is that of its end: tanh(v' / v_0), or with memory

    z = sgn v' + (z_0 - sgn v') exp(-h |v'| / delta).

`algorithms.friction_step` solves the equation: p is at most h L, and v' is unique for a step of
any length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.algorithms.forward_dynamics import fill_in
from robot_dynamics.algorithms.friction_step import Slowed, slowed_velocity
from robot_dynamics.algorithms.payload import with_carrier
from robot_dynamics.algorithms.simulation_step import State, end_momentum
from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.friction.coefficients import JointFriction
from robot_dynamics.friction.coulomb import sliding_direction
from robot_dynamics.friction.impulses import Response, with_memory, without_memory
from robot_dynamics.friction.laws import moved_direction, sliding_level
from robot_dynamics.model.canonical import CanonicalTree
from robot_dynamics.programs import Robot, Scalars
from robot_dynamics.scalars import Scalar
from robot_dynamics.simulation.converged import solved
from robot_dynamics.spatial import Array

PARAMETERS = 10  # of a body: mass, first moments, inertia
COEFFICIENTS = ('viscous', 'coulomb', 'load', 'stribeck', 'presliding')


def step_inputs(friction: JointFriction) -> dict[str, Array]:
    """Return the inputs of `friction_step` that describe the friction."""
    zero = np.zeros_like(friction.presliding)
    values = {name: friction.coefficients.get(name, zero) for name in COEFFICIENTS[:-1]}
    return {**values, 'presliding': friction.presliding}


class SlidingState(NamedTuple):
    """State of an arm whose friction has a direction of sliding; (..., n) each."""

    q: Any  # rad or m
    qd: Any
    z: Any  # direction of sliding, within [-1, 1]
    lost: Any  # friction in the last step, N m or N


class Sliding(NamedTuple):
    """What a friction law remembers between the steps of a simulator; (n,) each."""

    z: Array  # direction of sliding
    lost: Array  # friction in the last step, N m or N


class LawOfFriction:
    """Friction of one arm by a law: solved at the end of each step, then held over it."""

    def __init__(self, friction: JointFriction, time_step: float):
        self._friction, self._h = friction, time_step
        self._inputs = {**step_inputs(friction), 'time_step': np.array([time_step])}
        self._program: tuple[Dynamics, CompiledFunction] | None = None

    def rest(self) -> Sliding:
        """Return the state of an arm that has not moved yet."""
        zero = np.zeros_like(self._friction.presliding)
        return Sliding(zero, zero)

    def torque(self, arm: Dynamics, sliding: Sliding, state: State, force: Array) -> Array:
        """Return the friction (n,) in the step that starts at a state under torques (n,).

        Raises SimulationDiverged if its equation is not solved.
        """
        if self._program is None or self._program[0] is not arm:
            program = friction_solver(arm, self._friction.law.memory)
            self._program = arm, program.bind(**self._inputs)
        solver = self._program[1]
        slowed = solved(lambda s: solver(*state, *sliding, force, s), state.qd)
        # F_v v' + p / h
        return np.asarray(self._inputs['viscous'] * slowed.v + slowed.p / self._h)

    def after(self, sliding: Sliding, lost: Array, dq: Array) -> Sliding:
        """Return the state after a step with this friction and displacement (n,)."""
        if not self._friction.law.memory:
            return Sliding(sliding.z, lost)
        return Sliding(moved_direction(sliding.z, dq, self._friction.presliding), lost)


def friction_step(arm: Dynamics, memory: bool, carrier: str | None = None) -> CompiledFunction:
    """Return the compiled step of an arm under a friction law.

    Its inputs are q, qd, z, lost, tau, the coefficients (n) of `COEFFICIENTS`, and time_step; its
    result is a `SlidingState`. Arms of a batch may have different coefficients.

    Args:
        arm: the robot.
        memory: whether the law has memory.
        carrier: a link whose body's moments (10) are one more input, `carrier`; None: none.
    """

    def step(robot: Robot, *given: Scalars) -> SlidingState:
        tree = robot.tree if carrier is None else with_carrier(robot.tree, carrier, given[-1])
        q, z, viscous, presliding, (h,) = given[0], given[2], given[5], given[9], given[10]
        v, p, _, _ = _slowed(tree, memory, given[:11])
        if memory:
            moved = [
                moved_direction(x, h * y, d) for x, y, d in zip(z, v, presliding, strict=True)
            ]
        else:
            moved = [sliding_direction(y) for y in v]
        return SlidingState(
            [x + h * y for x, y in zip(q, v, strict=True)],
            v,
            moved,
            [F * x + y / h for F, x, y in zip(viscous, v, p, strict=True)],
        )

    more = {} if carrier is None else {'carrier': PARAMETERS}
    kind = 'with' if memory else 'without'
    return arm.programs.compiled(
        f'friction_step {kind} memory, on {carrier!r}',
        step,
        {**_inputs(arm), **more},
        result=SlidingState,
    )


def friction_solver(arm: Dynamics, memory: bool) -> CompiledFunction:
    """Return the compiled rounds that solve for the friction of a step.

    Its inputs are those of `friction_step` and s (n), where the rounds start; its result is
    `Slowed`.
    """

    def solver(robot: Robot, *given: Scalars) -> Slowed:
        return _slowed(robot.tree, memory, given[:-1], given[-1])

    return arm.programs.compiled(
        f'friction_solver {"with" if memory else "without"} memory',
        solver,
        {**_inputs(arm), 's': arm.model.n},
        result=Slowed,
    )


def _inputs(arm: Dynamics) -> dict[str, int]:
    names = ('q', 'qd', 'z', 'lost', 'tau', *COEFFICIENTS)
    return {**dict.fromkeys(names, arm.model.n), 'time_step': 1}


def _slowed(
    tree: CanonicalTree, memory: bool, given: Sequence[Scalars], s: Scalars | None = None
) -> Slowed:
    """Return velocities and impulses at the end of a step; `given` are those of `_inputs`."""
    q, qd, z, lost, tau, viscous, coulomb, load, stribeck, presliding, (h,) = given
    level = [
        sliding_level({'coulomb': c, 'load': k, 'stribeck': x}, v, t - f)
        for c, k, x, t, f, v in zip(coulomb, load, stribeck, tau, lost, qd, strict=True)
    ]

    def law(s: Sequence[Scalar], m: Sequence[Scalar]) -> list[Response]:
        d = [h * L for L in level]
        if not memory:
            return [without_memory(*joint) for joint in zip(s, m, d, strict=True)]
        rates = [h / delta for delta in presliding]
        return [with_memory(*joint) for joint in zip(s, m, d, z, rates, strict=True)]

    H, b = end_momentum(tree, viscous, q, qd, tau, h)
    return slowed_velocity(H, fill_in(tree), b, law, s=s)
