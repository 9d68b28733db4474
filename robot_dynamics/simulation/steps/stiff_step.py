"""First-order step for friction and stops of any stiffness.

It is semi-implicit Euler, y' = y + h v', with friction and stops evaluated at the velocities v' of
its end, where they cannot reverse a joint, for a step of any length:

    M v' = M v + h (f - C v - g) - h friction(v') + impulses of the stops.

The simulator uses it where viscous friction could stop a joint within a step, and while a joint is
beyond a spring stop. With springs too fast for the step, it is used wherever a joint is at a stop,
sticks, or has friction that could stop it, because corrections of O(h^2) elsewhere would tension
the springs.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.algorithms.simulation_step import State
from robot_dynamics.settings import checked
from robot_dynamics.simulation.joint_models.settings import JointModels
from robot_dynamics.simulation.joint_models.smooth_friction import CONVERGED, MAX_ITERATIONS
from robot_dynamics.simulation.joint_models.stops import (
    InelasticStop,
    Pads,
    SpringDamperStop,
    Stops,
    Yielding,
)
from robot_dynamics.simulation.steps.body import Body, end_momentum
from robot_dynamics.simulation.steps.contact_step import Limits
from robot_dynamics.simulation.steps.dry_contact import Contact, end_velocity
from robot_dynamics.spatial import Array

# Rounds of Newton's method for smooth friction; four or five suffice. With coupled joints it may
# cycle: rounds with the secant slope of friction follow, which converge slowly, but always.
NEWTON = 12


class StiffStep:
    """Steps of one body.

    Attributes:
        limits: stick-slip friction and inelastic stops, if selected.
        yielding: spring-damper stops; None if not selected.
    """

    def __init__(self, body: Body, h: float, joint_models: JointModels):
        """Set the limits. Raises ModelError for a wrong stiffness or damping."""
        self._h = h
        self._sticks = joint_models.friction == 'stick_slip'
        self._nothing, unlimited = np.zeros(len(body.lower)), np.full(len(body.lower), np.inf)
        rigid = isinstance(joint_models.stops, InelasticStop)
        self.limits = Limits(
            body.friction.coulomb if self._sticks else self._nothing,
            body.lower if rigid else -unlimited,
            body.upper if rigid else unlimited,
        )
        self.yielding = _yielding(body, joint_models.stops)

    def __call__(self, body: Body, y: Array, yd: Array, force: Array) -> State:
        """Return the state after one step under forces (m,) and friction."""
        h = self._h
        lower, upper = self.limits.velocities(y, h)
        H, b = end_momentum(body, y, yd, force, h)
        pads = None if self.yielding is None else self.yielding.pads(y, h)
        v = self._velocity(body, Contact(H, b, self._nothing, lower, upper), pads, yd)
        return State(self.limits.reached(y, v, y + h * v, h), v)

    def _velocity(self, body: Body, contact: Contact, pads: Pads | None, v: Array) -> Array:
        """Return the velocities (m,) at the end of the step, friction included."""
        h, H, b, friction = self._h, contact.H, contact.b, body.friction
        if self._sticks:
            H = H + np.diag(h * friction.viscous)
            return against(pads, contact._replace(H=H, dry=h * self.limits.dry), v)
        v = np.clip(v, contact.lower, contact.upper)
        for k in range(NEWTON + MAX_ITERATIONS):
            # friction(v') = friction(v) + slope (v' - v)
            newton = k < NEWTON
            slope = friction.tangent(v) if newton else friction.slope(v)
            rest = h * (slope * v - friction.torque(v))
            after = against(pads, contact._replace(H=H + np.diag(h * slope), b=b + rest), v)
            if np.abs(after - v).max() <= CONVERGED * np.abs(after).max():
                return after
            # From standstill, where friction is steepest, a single joint does not overshoot.
            v = np.where(after * v < 0, 0.0, after) if newton else after
        return v


def against(pads: Pads | None, contact: Contact, v: Array) -> Array:
    """Return the velocities (m,) at the end of the step, from a guess, with spring stops."""
    if pads is None:
        return end_velocity(contact, v)
    m = len(v)
    # Lower stops, then upper. A stop that is not met in the end has no effect.
    met = np.append(v < pads.lower, v > pads.upper)
    while True:
        v = end_velocity(with_pads(pads, met, contact), np.append(v, pads.edges[met]))[:m]
        more = ~met & np.append(v < pads.lower, v > pads.upper)
        if not more.any():
            return v
        met |= more


def with_pads(pads: Pads, met: Array, contact: Contact) -> Contact:
    """Return the balance with one more coordinate for each stop that is met.

    The coordinate is the velocity w of a massless pad with an inelastic stop at its edge; the
    spring between pad and joint takes the momentum s (v - w).
    """
    m, k = len(pads.s), int(met.sum())
    joint = np.flatnonzero(met) % m
    lower, edge = np.flatnonzero(met) < m, pads.edges[met]
    s = pads.s[joint]
    H = np.zeros((m + k, m + k))
    H[:m, :m] = contact.H
    pad = np.arange(m, m + k)
    np.add.at(H, (joint, joint), s)
    H[pad, pad] = s
    H[joint, pad] = H[pad, joint] = -s
    return Contact(
        H,
        np.append(contact.b, np.zeros(k)),
        np.append(contact.dry, np.zeros(k)),
        np.append(contact.lower, np.where(lower, edge, -np.inf)),
        np.append(contact.upper, np.where(lower, np.inf, edge)),
    )


def _yielding(body: Body, stops: Stops | None) -> Yielding | None:
    if not isinstance(stops, SpringDamperStop):
        return None
    model = body.arm.model
    rest = np.zeros(len(body.lower) - model.n)
    given = checked(stops, model.n, ' of the stops')
    k, d = (np.append(x, rest) for x in (given.stiffness, given.damping))
    return Yielding(k, d, body.lower, body.upper)
