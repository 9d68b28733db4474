# SPDX-License-Identifier: Apache-2.0
"""Selection of the step of an arm.

| in this step | made by |
|---|---|
| every joint slides, none meets a stop | the integrator |
| a joint rests, comes to rest or reverses | the integrator, with friction held over the step |
| a joint meets an inelastic stop | an integrator of order 2 or 4, up to the stop and from there |
| a spring stop is met, or another integrator meets a stop | a step of order 1 |

Friction and stops exert the impulses p that belong to the velocities v' at the end of a step of
semi-implicit Euler (`contacts`),

    H v' + p = b,    H = M + h F_v,    b = M v + h (f - C v - g).

In the step of order 1, v' is the result, for any stiffness. Otherwise the integrator makes the
step under the mean force f - p / h. The velocities of joints that rest, of O(h^2), are then
removed by impulses; a joint that rests throughout keeps its position bit for bit.

In a step with an event, b is the momentum after the integrator's step under the first impulses,
with M of its middle. A joint that slides at v_j and comes to rest or reverses at the share t of
the step has the largest friction d_j / h before, and the rest of p after that instant: relative
to constant friction, all positions change by

    -h/2 t H^-1_:j (d_j sgn v_j - p_j),

and the step is of order 2. So it is with impacts, whose instants divide the step: the impulse
acts in the metric of M at that instant.

With springs too fast for the step, steps in which friction does more than slide, or viscous
friction is too stiff for it, are of order 1, because corrections of O(h^2) elsewhere would tension
the springs.

Source: Moreau, "Unilateral contact and dry friction in finite freedom dynamics" (1988).
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.optimize import brentq

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.friction_step import FrictionStep
from robot_dynamics.core.algorithms.simulation_step import State
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.impulses import DryFriction
from robot_dynamics.simulation.converged import inverse, solved_by_arrays
from robot_dynamics.simulation.joint_models.selection import JointModels
from robot_dynamics.simulation.joint_models.stops import Pads
from robot_dynamics.simulation.steps.body import (
    RESOLVED,
    Body,
    BodyStep,
    Energy,
    FrictionPart,
    damping_of,
    end_momentum,
    fastest_of,
)
from robot_dynamics.simulation.steps.contacts import Contacts
from robot_dynamics.simulation.steps.integrators import (
    IMPLICIT_INTEGRATORS,
    AppliedForce,
    damping_limit,
)

# Share of its largest impulse from which on smooth dry friction slides.
SLIDING = 0.99

# Integrators whose steps are divided at impacts, and whose positions at events are corrected.
HIGHER_ORDER = ('rk4', 'implicit_midpoint', 'discrete_gradient')

# Error of the instant of an impact, as a share of the step.
INSTANT = 1e-12


class BodyMotion:
    """Steps of one body.

    Attributes:
        body: links, and motors if joints are elastic.
    """

    def __init__(self, body: Body, integrator: str, h: float, joint_models: JointModels):
        """Select the checks of a step. Raises as `Simulator`."""
        b, c = body.friction
        self._integrator, self._h = integrator, h
        limited = np.isfinite(body.lower).any() or np.isfinite(body.upper).any()
        self._has_stops = joint_models.stops is not None and bool(limited)
        rate = fastest_of(body, np.diag(b)) if (b > 0).any() else 0.0
        self._contacts, self._dry = Contacts(body, joint_models), DryFriction(c)
        self._sticks = bool(self._contacts.sticks.any())
        self._stiff = h * rate > damping_limit(integrator)
        dry = bool((c > 0).any())
        # Semi-implicit Euler takes viscous friction at the end of the step, too; explicit Euler
        # where joints stick, lest the impulses that keep them at rest exceed dry friction.
        holding = 'explicit_euler' if self._sticks else 'semi_implicit_euler'
        self._holds_viscous = self._stiff or (integrator == holding and dry)
        self._holds = self._holds_viscous or dry
        self._stiff_springs = h * body.fastest > RESOLVED
        self._accurate = integrator in HIGHER_ORDER
        self._bind(body)

    def carrying(self, load: Callable[[Dynamics], Dynamics]) -> BodyMotion:
        """Return the steps of the arm with the payloads that `load` adds."""
        other = copy.copy(self)
        # Payloads reduce the mobility of joints: the values without them are conservative.
        other._bind(self.body.carrying(load))
        return other

    def rubbing(self, dry: DryFriction) -> BodyMotion:
        """Return the steps under other dry friction, which does not stick."""
        other = BodyMotion.__new__(BodyMotion)
        other.__dict__.update(self.__dict__)
        other._dry, other._holds = dry, True
        return other

    def warm_up(self, y: Array) -> None:
        """Compile all programs that a step may use."""
        at_rest = y, 0 * y, 0 * y
        self._plain(*at_rest, self._h)
        self.energy(y, 0 * y)
        if self._holds and not self._sticks:
            self.body.slowed(*at_rest, self._h, self._dry)
        if self._sticks or self._has_stops:
            self.body.mass_matrix(y)
            self.body.terms(y, 0 * y)

    def _bind(self, body: Body) -> None:
        self.body = body
        part: FrictionPart = 'none' if self._holds_viscous else 'viscous'
        self._plain = _stepper(body, self._integrator, part, self._h)

    def energy(self, y: Array, yd: Array) -> Energy:
        """Return the energy; spring stops are springs."""
        energy = self.body.energy(y, yd)
        if self._contacts.yielding is None:
            return energy
        return energy._replace(springs=energy.springs + self._contacts.yielding.energy(y))

    def step(self, y: Array, yd: Array, force: Array) -> State:
        """Return the state after one step under forces (m,)."""
        if not (self._holds or self._has_stops):
            return self._plain(y, yd, force, self._h)
        if not self._has_stops:
            return self._slowed_step(y, yd, force, self._h)
        if self._contacts.yielding is None:
            return self._between_stops(y, yd, force)
        if not self._pressed(y):
            after = self._slowed_step(y, yd, force, self._h)
            if not self._pressed(after.q):
                return after
        return self._first_order_step(y, yd, force, self._h)

    def _pressed(self, y: Array) -> bool:
        return bool(((y <= self.body.lower) | (y >= self.body.upper)).any())

    # -- stops ------------------------------------------------------------------------------

    def _between_stops(self, y: Array, yd: Array, force: Array) -> State:
        """Return the state after one step with inelastic stops."""
        contacts, left = self._contacts, self._h
        for _ in range(len(y) + 1):
            if self._accurate and contacts.at_stop(y):
                yd = self._stopped(y, yd)
            after = self._slowed_step(y, yd, force, left)
            past = contacts.past(y, after.q)
            if not past.any():
                return after
            before = contacts.overshoot(y)
            # A joint that leaves its stop and returns within the step meets it a second time.
            if not self._accurate or (before[past] >= 0).any():
                break

            def overshoot(t: float, y: Array = y, yd: Array = yd, past: Array = past) -> float:
                return float(contacts.overshoot(self._until(t, y, yd, force).q)[past].max())

            t = brentq(overshoot, 0.0, left, xtol=INSTANT * self._h)
            q, yd = self._until(t, y, yd, force)
            y, left = contacts.met(q, past), left - t
            if left <= INSTANT * self._h:
                return State(y, self._stopped(y, yd))
        return self._first_order_step(y, yd, force, left)

    def _until(self, t: float, y: Array, yd: Array, force: Array) -> State:
        """Return the state after t seconds, which may be none."""
        return State(y, yd) if t <= INSTANT * self._h else self._slowed_step(y, yd, force, t)

    def _stopped(self, y: Array, yd: Array) -> Array:
        """Return the velocities (m,) after impacts of joints that are at their stops."""
        bounds = self._contacts.held_velocities(y)
        if (np.clip(yd, *bounds) == yd).all():
            return yd
        W = inverse(self.body.mass_matrix(y))
        return np.asarray(
            solved_by_arrays(W, yd, self._contacts.law(self._dry, yd, 0.0, bounds)).v
        )

    # -- friction ---------------------------------------------------------------------------

    def _slowed_step(self, y: Array, yd: Array, force: Array, h: float) -> State:
        """Return the state after a step in which no joint meets a stop."""
        at_stop = self._contacts.at_stop(y)
        if not at_stop:
            after = self._sliding_step(y, yd, force, h)
            if after is not None:
                return after
        if self._stiff_springs:
            return self._first_order_step(y, yd, force, h)
        bounds = self._contacts.held_velocities(y) if at_stop else None
        sticks = self._contacts.sticks
        middle = y + h / 2 * yd if self._accurate else y
        W, slowed = self._solved(middle, yd, force, h, bounds)
        q, v = self._held_step(y, yd, force, h, slowed)
        rests = (yd == 0) & (slowed.v == 0)
        if self._accurate and (sticks & ~rests & (yd * slowed.v <= 0)).any():
            # b = M v' + p of the step that was made
            W = inverse(self.body.mass_matrix((y + q) / 2))
            law = self._contacts.law(self._dry, yd, h, bounds)
            slowed = solved_by_arrays(W, v + W @ slowed.p, law)
            q, v = self._held_step(y, yd, force, h, slowed)
            q = q - W @ self._late(yd, slowed, 1.0 / W.diagonal(), h)
        held = (slowed.v == 0) & sticks
        if bounds is not None:
            held |= (slowed.v == bounds[0]) | (slowed.v == bounds[1])
        if held.any():
            q = np.where(held & (yd == 0), y, q)
            v = _at_rest(self.body.mass_matrix(q), v, held)
        return State(q, v)

    def _late(self, yd: Array, slowed: FrictionStep, m: Array, h: float) -> Array:
        """Return h/2 t (d sgn v - p) (m,), 0 where friction is constant over the step."""
        d = h * self.body.friction.coulomb
        turns = self._contacts.sticks & (yd != 0) & (yd * slowed.v <= 0)
        # Without its own friction v becomes s; against it the joint rests after the share t.
        speed = m * np.abs(yd)
        braked = speed - m * np.sign(yd) * slowed.s + d
        share = np.divide(speed, braked, out=np.zeros(len(d)), where=turns)
        return np.asarray(h / 2 * share * (d * np.sign(yd) - slowed.p))

    def _sliding_step(self, y: Array, yd: Array, force: Array, h: float) -> State | None:
        """Return the state after a step in which every joint slides; None if one does not."""
        friction = self.body.friction
        if self._sticks:
            sticks = self._contacts.sticks
            if self._holds_viscous or ((yd == 0) & sticks).any():
                return None
            after = self._plain(y, yd, force - friction.coulomb * np.sign(yd), h)
            return None if ((yd * after.qd <= 0) & sticks).any() else after
        if not self._holds:
            return self._plain(y, yd, force, h)
        if self._stiff_springs and self._stiff:
            return None
        slowed = self.body.slowed(y, yd, force, h, self._dry)
        if self._stiff_springs and (np.abs(slowed.p) < SLIDING * h * self._dry.level).any():
            return None
        return self._held_step(y, yd, force, h, slowed)

    def _held_step(
        self, y: Array, yd: Array, force: Array, h: float, slowed: FrictionStep
    ) -> State:
        """Return the state after a step of the integrator, with friction held over it."""
        lost = slowed.p / h
        if self._holds_viscous:
            lost = lost + self.body.friction.viscous * slowed.v
        return self._plain(y, yd, force - lost, h)

    def _solved(
        self,
        y: Array,
        yd: Array,
        force: Array,
        h: float,
        bounds: tuple[Array, Array] | None,
        pads: Pads | None = None,
    ) -> tuple[Array, FrictionStep]:
        """Return H^-1 (m, m), and velocities and impulses at the end of a step."""
        H, b = end_momentum(self.body, y, yd, force, h)
        W = inverse(H)
        return W, solved_by_arrays(W, W @ b, self._contacts.law(self._dry, yd, h, bounds, pads))

    def _first_order_step(self, y: Array, yd: Array, force: Array, h: float) -> State:
        """Return the state after a step of semi-implicit Euler, with stops of any kind."""
        contacts = self._contacts
        pads = None if contacts.yielding is None else contacts.yielding.pads(y, h)
        _, slowed = self._solved(y, yd, force, h, contacts.velocities(y, h), pads)
        return State(contacts.reached(y, slowed.v, y + h * slowed.v, h), slowed.v)


def _at_rest(M: Array, v: Array, held: Array) -> Array:
    """Return the velocities (m,) after impulses that stop the held joints."""
    free = ~held
    after = np.zeros(len(v))
    if free.any():
        # The momentum of the others stays.
        after[free] = dposv(M[free][:, free], (M @ v)[free])[1]
    return after


def _stepper(body: Body, integrator: str, part: FrictionPart, h: float) -> BodyStep:
    """Return the step of any integrator with a part of the friction."""
    if integrator not in IMPLICIT_INTEGRATORS:
        return body.stepper(integrator, part, h)
    implicit, damping = IMPLICIT_INTEGRATORS[integrator], damping_of(body, part)
    return lambda y, yd, force, h: implicit(body, y, yd, AppliedForce(force, damping), h)
