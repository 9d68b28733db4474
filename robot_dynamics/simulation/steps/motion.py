"""Selection of the step of an arm: integrator, contact step or stiff step.

| in this step | made by |
|---|---|
| every joint slides, none meets a stop | the integrator |
| a joint rests, comes to rest, breaks loose or meets a stop | `contact_step` |
| viscous friction could stop a joint, or a spring stop is met | `stiff_step` |
| as the second row, with springs too fast for the step | `stiff_step` |

The step itself shows which row applies: it is repeated by the next method if a joint reversed
against its dry friction or passed a limit.

Smooth dry friction is that of the velocities at the end of a step of semi-implicit Euler
(`Body.slowed`), and held while the integrator makes the step; so is viscous friction that is too
fast for the integrator. With springs too fast for the step, `stiff_step` is used where such
friction does not merely slide.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from robot_dynamics.algorithms.simulation_step import State
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.simulation.joint_models.settings import JointModels
from robot_dynamics.simulation.joint_models.smooth_friction import FrictionPart
from robot_dynamics.simulation.steps.body import RESOLVED, STABLE, Body, Energy, Step, fastest_rate
from robot_dynamics.simulation.steps.contact_step import contact_step
from robot_dynamics.simulation.steps.integrators import (
    IMPLICIT_INTEGRATORS,
    AppliedForce,
)
from robot_dynamics.simulation.steps.stiff_step import StiffStep
from robot_dynamics.spatial import Array

# Share of its largest impulse from which on dry friction slides.
SLIDING = 0.99


class Motion:
    """Steps of one body.

    Attributes:
        body: links, and motors if joints are elastic.
    """

    def __init__(self, body: Body, integrator: str, h: float, joint_models: JointModels):
        """Select the checks of a step. Raises as `Simulator`."""
        b, c = body.friction
        self._integrator, self._h = integrator, h
        self._dry = c > 0
        self._has_friction = bool((b > 0).any() or self._dry.any())
        self._sticks = joint_models.friction == 'stick_slip' and bool(self._dry.any())
        limited = np.isfinite(body.lower).any() or np.isfinite(body.upper).any()
        self._has_stops = joint_models.stops is not None and bool(limited)
        rate = fastest_rate(body, np.diag(b)) if (b > 0).any() else 0.0
        self._overdamped = self._sticks and h * rate >= 1
        stiff = h * rate > STABLE.get(integrator, np.inf)
        # Semi-implicit Euler takes viscous friction at the end of the step, too.
        self._holds_viscous = not self._sticks and (
            stiff or (integrator == 'semi_implicit_euler' and bool(self._dry.any()))
        )
        self._holds = self._holds_viscous or (not self._sticks and bool(self._dry.any()))
        self._stiff_springs = h * body.fastest > RESOLVED
        self._stiff = StiffStep(body, h, joint_models)
        self._yields = self._stiff.yielding is not None
        self._bind(body)

    def carrying(self, load: Callable[[Dynamics], Dynamics]) -> Motion:
        """Return the steps of the arm with the payloads that `load` adds."""
        other = copy.copy(self)
        # Payloads reduce the mobility of joints: the values without them are conservative.
        other._bind(self.body.carrying(load))
        return other

    def warm_up(self, y: Array) -> None:
        """Compile all programs that a step may use."""
        at_rest = y, 0 * y, 0 * y
        self._frictionless(*at_rest)
        self.energy(y, 0 * y)
        if self._has_friction and not self._sticks:
            self.body.slowed(*at_rest, self._h)
        if self._sticks or self._has_stops:
            contact_step(self.body, self._frictionless, self._stiff.limits, *at_rest, self._h)
            self._stiff(self.body, *at_rest)

    def _bind(self, body: Body) -> None:
        self.body = body
        self._plain = _stepper(body, self._integrator, self._evaluated, self._h)
        self._frictionless = (
            _stepper(body, self._integrator, 'none', self._h)
            if self._has_friction
            else self._plain
        )

    @property
    def _evaluated(self) -> FrictionPart:
        return 'none' if self._holds_viscous else 'viscous'

    def energy(self, y: Array, yd: Array) -> Energy:
        """Return the energy; spring stops are springs."""
        energy = self.body.energy(y, yd)
        if self._stiff.yielding is None:
            return energy
        return energy._replace(springs=energy.springs + self._stiff.yielding.energy(y))

    def step(self, y: Array, yd: Array, force: Array) -> State:
        """Return the state after one step under forces (m,)."""
        if not (self._has_friction or self._has_stops):
            return self._plain(y, yd, force)
        at_stop = self._touches(y)
        if not (at_stop or self._overdamped or self._stands(yd)):
            after = self._by_integrator(y, yd, force)
            at_stop = self._passes(after.q)
            if not (at_stop or self._reverses(yd, after.qd)):
                return after
        if not (self._overdamped or self._stiff_springs or (at_stop and self._yields)):
            step = self._plain if self._sticks else self._by_integrator
            after = contact_step(self.body, step, self._stiff.limits, y, yd, force, self._h)
            if not (self._yields and self._passes(after.q)):
                return after
        return self._stiff(self.body, y, yd, force)

    def _stands(self, yd: Array) -> bool:
        return self._sticks and bool(((yd == 0) & self._dry).any())

    def _reverses(self, before: Array, after: Array) -> bool:
        return self._sticks and bool(((before * after <= 0) & self._dry).any())

    def _touches(self, y: Array) -> bool:
        return self._has_stops and bool(((y <= self.body.lower) | (y >= self.body.upper)).any())

    def _passes(self, y: Array) -> bool:
        return self._has_stops and bool(((y < self.body.lower) | (y > self.body.upper)).any())

    def _by_integrator(self, y: Array, yd: Array, force: Array) -> State:
        """Return the state after a step without events."""
        friction = self.body.friction
        if self._sticks:
            return self._plain(y, yd, force - friction.coulomb * np.sign(yd))
        if not self._holds:
            return self._plain(y, yd, force)
        h = self._h
        v, p, *_ = self.body.slowed(y, yd, force, h)
        if self._stiff_springs and (np.abs(p) < SLIDING * h * friction.coulomb).any():
            return self._stiff(self.body, y, yd, force)
        held = p / h + friction.viscous * v if self._holds_viscous else p / h
        return self._plain(y, yd, force - held)


def _stepper(body: Body, integrator: str, evaluated: FrictionPart, h: float) -> Step:
    """Return the step of any integrator with a part of the friction."""
    if integrator not in IMPLICIT_INTEGRATORS:
        return body.stepper(integrator, evaluated, h)
    implicit = IMPLICIT_INTEGRATORS[integrator]
    friction = body.friction.only(evaluated)

    def step(y: Array, yd: Array, force: Array) -> State:
        return implicit(body, y, yd, AppliedForce(force, friction), h)

    return step
