"""A step of semi-implicit Euler under a friction law of `control.friction_laws`.

    M v' = M v + h (tau - C v - g) - h f(v'),    f(v') = b v' + L z'(v')

Load and Stribeck's factor, which make up the level L, are those of the start of the step. The
direction z' of sliding is that of its end: tanh(v' / v_0), or with memory

    z' = sgn v' + (z - sgn v') exp(-h |v'| / delta).

In both cases f grows with v', so that v' is unique for a step of any length, and friction cannot
reverse a joint. f(v') = L z + S(v') v' with a secant slope S >= 0; rounds with the slope of the
last velocities solve the equation (`algorithms.implicit_friction`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.algorithms.friction import COULOMB_SPEED
from robot_dynamics.algorithms.implicit_friction import braked_velocity
from robot_dynamics.algorithms.payload import with_carrier
from robot_dynamics.algorithms.simulation_step import STANDSTILL, State
from robot_dynamics.algorithms.vectors import Scalar
from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.control.friction_laws import (
    PRESLIDING,
    STRIBECK_SPEED,
    JointFriction,
    friction_law,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.programs import Robot, Scalars
from robot_dynamics.simulation.arguments import per_joint, positive_per_joint
from robot_dynamics.spatial import Array

PARAMETERS = 10  # of a body: mass, first moments, inertia
COEFFICIENTS = ('viscous', 'coulomb', 'load', 'stribeck', 'presliding')


@dataclass(frozen=True)
class FrictionSettings:
    """A friction law; one number for all joints, or one each.

    Attributes:
        law: a name of `control.friction_laws.LAWS`.
        viscous: N m s/rad or N s/m; None: that of the model.
        coulomb: N m or N; None: that of the model.
        load: Coulomb friction per transmitted torque, of laws with this term.
        stribeck: additional friction at low speed, N m or N, of laws with this term.
        presliding: delta of laws with memory, rad or m.
    """

    law: str = 'coulomb'
    viscous: ArrayLike | None = None
    coulomb: ArrayLike | None = None
    load: ArrayLike = 0.0
    stribeck: ArrayLike = 0.0
    presliding: ArrayLike = PRESLIDING

    def of(self, model: RobotModel) -> JointFriction:
        """Return the friction of a robot.

        Raises:
            FrictionLawError: an unknown law, or a coefficient that it does not have.
            ModelError: a coefficient is negative, not finite, or neither a number nor (n,).
        """
        law = friction_law(self.law)
        given = {
            'viscous': model.viscous if self.viscous is None else self.viscous,
            'coulomb': model.coulomb if self.coulomb is None else self.coulomb,
            'load': self.load,
            'stribeck': self.stribeck,
        }
        arrays = {name: per_joint(model, name, value) for name, value in given.items()}
        kept = {name: x for name, x in arrays.items() if name in law.terms or x.any()}
        presliding = positive_per_joint(model, 'presliding', self.presliding)
        return JointFriction(law, kept, presliding)


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
        self._friction = friction
        self._inputs = {**step_inputs(friction), 'time_step': np.array([time_step])}
        self._step: tuple[Dynamics, CompiledFunction] | None = None

    def rest(self) -> Sliding:
        """Return the state of an arm that has not moved yet."""
        zero = np.zeros_like(self._friction.presliding)
        return Sliding(zero, zero)

    def torque(self, arm: Dynamics, sliding: Sliding, state: State, force: Array) -> Array:
        """Return the friction (n,) in the step that starts at a state under torques (n,)."""
        if self._step is None or self._step[0] is not arm:
            step = friction_step(arm, self._friction.law.memory)
            self._step = arm, step.bind(**self._inputs)
        lost: Array = self._step[1](*state, *sliding, force).lost
        return lost

    def after(self, sliding: Sliding, lost: Array, dq: Array) -> Sliding:
        """Return the state after a step with this friction and displacement (n,)."""
        memory = self._friction.law.memory
        return Sliding(
            self._friction.moved_direction(sliding.z, dq) if memory else sliding.z, lost
        )


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
        q, qd, z, lost, tau, viscous, coulomb, load, stribeck, presliding, (h,), *moments = given
        tree = robot.tree if carrier is None else with_carrier(robot.tree, carrier, *moments)
        level = [
            c + k * magnitude(t - f) + s * bell(v / STRIBECK_SPEED)
            for c, k, s, t, f, v in zip(coulomb, load, stribeck, tau, lost, qd, strict=True)
        ]
        start = z if memory else [0.0 * x for x in z]  # of z, in f = L start + S v

        def moved(v: Scalars) -> Scalars:
            return moved_direction(z, v, presliding, h) if memory else sliding_direction(v)

        def slope(v: Scalars) -> Scalars:
            steepest = [h / d for d in presliding] if memory else [1 / COULOMB_SPEED] * len(v)
            return [
                b + L * ((after - before) * x + most * STANDSTILL) / (x * x + STANDSTILL)
                for b, L, before, after, x, most in zip(
                    viscous, level, start, moved(v), v, steepest, strict=True
                )
            ]

        held = [L * x for L, x in zip(level, start, strict=True)]
        driving = [t - f for t, f in zip(tau, held, strict=True)]
        braked = braked_velocity(tree, slope, q, qd, driving, qd, h)
        # The slope of the last round: with this friction the momentum balances exactly.
        slid = [s * v for s, v in zip(slope(braked.before), braked.v, strict=True)]
        return SlidingState(
            [x + h * v for x, v in zip(q, braked.v, strict=True)],
            braked.v,
            moved(braked.v),
            [f + x for f, x in zip(held, slid, strict=True)],
        )

    n = arm.model.n
    names = ('q', 'qd', 'z', 'lost', 'tau', *COEFFICIENTS)
    inputs = {**dict.fromkeys(names, n), 'time_step': 1}
    if carrier is not None:
        inputs['carrier'] = PARAMETERS
    return arm.programs.compiled(
        f'friction_step {"with" if memory else "without"} memory, on {carrier!r}',
        step,
        inputs,
        result=SlidingState,
    )


def moved_direction(z: Scalars, v: Scalars, presliding: Scalars, h: Scalar) -> list[Scalar]:
    """Return z (n) after a step with velocities v, see `control.friction_laws.moved_direction`."""
    # With t = tanh(h v / 2 delta):  e = exp(-h |v| / delta) = (1 - |t|) / (1 + |t|),
    # z' = e z + sgn v (1 - e) = ((1 - |t|) z + 2 t) / (1 + |t|)
    turned = [(h * x / (2.0 * d)).tanh() for x, d in zip(v, presliding, strict=True)]
    return [
        ((1.0 - magnitude(t)) * x + 2.0 * t) / (1.0 + magnitude(t))
        for x, t in zip(z, turned, strict=True)
    ]


def sliding_direction(v: Scalars) -> list[Scalar]:
    """Return z (n) without memory."""
    return [(x * (1 / COULOMB_SPEED)).tanh() for x in v]


def bell(x: Scalar) -> Scalar:
    """Return exp(-x^2), by the functions that programs have."""
    t = (0.5 * x * x).tanh()
    return (1.0 - t) / (1.0 + t)


def magnitude(x: Scalar) -> Scalar:
    """Return |x|."""
    return (x * x).sqrt()
