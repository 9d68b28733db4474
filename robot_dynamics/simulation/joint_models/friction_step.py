# SPDX-License-Identifier: Apache-2.0
"""A step of semi-implicit Euler under a friction law of `core.friction.laws`.

    (M + h F_v) v' + p = M v + h (tau - C v - g),    p_j = h L_j z_j(v')

Load and Stribeck's factor, which make up the level L, are those of the start of the step. The
direction z of sliding is that of its end: tanh(v' / v_0), or with memory

    z = sgn v' + (z_0 - sgn v') exp(-h |v'| / delta).

`core.algorithms.friction_step` solves the equation: p is at most h L, and v' is unique for a step
of any length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.friction_step import FrictionStep
from robot_dynamics.core.algorithms.payload import with_carrier
from robot_dynamics.core.algorithms.servo_drive import with_drives
from robot_dynamics.core.algorithms.simulation_step import held_friction
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.coulomb import sliding_direction
from robot_dynamics.core.friction.impulses import DryFriction
from robot_dynamics.core.friction.laws import moved_direction, sliding_level
from robot_dynamics.core.model.canonical import CanonicalTree
from robot_dynamics.core.programs import Robot, Scalars

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
    """Friction of n joints by a law, and what it remembers between the steps of a simulator."""

    friction: JointFriction
    z: Array  # (n,) direction of sliding
    lost: Array  # (n,) friction in the last step, N m or N, if it depends on the load

    def dry(self, qd: Array, force: Array) -> DryFriction:
        """Return the dry friction of a step from velocities (n,) under torques (n,)."""
        level = self.friction.sliding_level(qd, force - self.lost)
        if not self.friction.law.memory:
            return DryFriction(level)
        return DryFriction(level, self.z, self.friction.presliding)

    def after(self, force: Array, dq: Array, qd: Array) -> Sliding:
        """Return the state after a step with displacements (n,), at velocities (n,)."""
        friction, z, lost = self
        if friction.law.memory:
            z = moved_direction(z, dq, friction.presliding)
        if friction.uses_load:
            lost = friction.torque(qd, force - lost, z if friction.law.memory else None)
        return Sliding(friction, z, lost)


def friction_step(
    arm: Dynamics, memory: bool, carrier: str | None = None, drives: Sequence[str] = ()
) -> CompiledFunction:
    """Return the compiled step of an arm under a friction law.

    Its inputs are q, qd, z, lost, tau, the coefficients (n) of `COEFFICIENTS`, and time_step; its
    result is a `SlidingState`. Arms of a batch may have different coefficients.

    Args:
        arm: the robot.
        memory: whether the law has memory.
        carrier: a link whose body's moments (10) are one more input, `carrier`; None: none.
        drives: names of further inputs (n) of `with_drives`.
    """
    more = {} if carrier is None else {'carrier': PARAMETERS}
    more |= dict.fromkeys(drives, arm.model.n)

    def step(robot: Robot, *given: Scalars) -> SlidingState:
        values = dict(zip(more, given[11:], strict=True))
        tree = robot.tree
        if carrier is not None:
            tree = with_carrier(tree, carrier, values['carrier'])
        q, z, viscous, presliding, (h,) = given[0], given[2], given[5], given[9], given[10]
        tree, tau = with_drives(tree, q, given[4], values, h)
        v, p, _, _ = _slowed(tree, memory, (*given[:4], tau, *given[5:11]))
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

    kind = 'with' if memory else 'without'
    named = f', {", ".join(drives)} given' if drives else ''
    return arm.programs.compiled(
        f'friction_step {kind} memory, on {carrier!r}{named}',
        step,
        {**_inputs(arm), **more},
        result=SlidingState,
    )


def _inputs(arm: Dynamics) -> dict[str, int]:
    names = ('q', 'qd', 'z', 'lost', 'tau', *COEFFICIENTS)
    return {**dict.fromkeys(names, arm.model.n), 'time_step': 1}


def _slowed(tree: CanonicalTree, memory: bool, given: Sequence[Scalars]) -> FrictionStep:
    """Return velocities and impulses at the end of a step; `given` are those of `_inputs`."""
    q, qd, z, lost, tau, viscous, coulomb, load, stribeck, presliding, (h,) = given
    level = [
        sliding_level({'coulomb': c, 'load': k, 'stribeck': x}, v, t - f)
        for c, k, x, t, f, v in zip(coulomb, load, stribeck, tau, lost, qd, strict=True)
    ]

    dry = DryFriction(level, z, presliding) if memory else DryFriction(level)
    return held_friction(tree, viscous, dry, q, qd, tau, h)
