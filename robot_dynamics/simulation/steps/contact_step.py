"""Step in which joints stick, come to rest, break loose or meet an inelastic stop.

A free step, without dry friction and stops, ends with velocities v. The impulses of friction and
stops change them to v', by the laws of `dry_contact`, in the metric of the mass matrix M at the
middle of the step, in which they dissipate energy:

    1/2 v'^T M v' <= 1/2 v^T M v.

The mass matrix at the end of the step differs: there the energy is off by O(h^2).

If joints at rest merely stay at rest, the integrator keeps nearly all of its accuracy: the
impulses M (v - v') are held over the step as torques, the integrator makes the step with them, and
the remaining velocities of the resting joints, of O(h^2), are removed exactly. A resting joint
keeps its position bit for bit.

If a joint comes to rest, breaks loose or meets a stop, the event lies within the step, where the
integrator cannot resolve it. Then v' is the result, with an error of O(h^2) per event.

Source: Moreau, "Unilateral contact and dry friction in finite freedom dynamics" (1988).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.algorithms.simulation_step import State
from robot_dynamics.simulation.steps.body import Body, Step
from robot_dynamics.simulation.steps.dry_contact import Contact, Pieces, settled, velocity_on
from robot_dynamics.spatial import Array


class Limits(NamedTuple):
    """Dry friction and stops of the joints."""

    dry: Array  # (m,) dry friction, N m or N
    lower: Array  # (m,) inelastic stops, infinite where there are none
    upper: Array  # (m,)

    def velocities(self, y: Array, h: float) -> tuple[Array, Array]:
        """Return the least and the largest velocities (m,) in a step from y: up to the stops.

        A joint beyond a stop may return; no force acts on it.
        """
        return np.minimum((self.lower - y) / h, 0.0), np.maximum((self.upper - y) / h, 0.0)

    def allow(self, y: Array, after: Array) -> bool:
        """Return whether a step from y (m,) leads no joint past a stop, or farther beyond it."""
        lowest, highest = np.minimum(self.lower, y), np.maximum(self.upper, y)
        return bool(((lowest <= after) & (after <= highest)).all())

    def reached(self, y: Array, v: Array, after: Array, h: float) -> Array:
        """Return positions (m,) after a step from y, of joints that met a stop exactly there.

        y + h (limit - y) / h is not always the limit.
        """
        lower, upper = self.velocities(y, h)
        after = np.where(v == lower, np.minimum(self.lower, y), after)
        return np.where(v == upper, np.maximum(self.upper, y), after)


def contact_step(
    body: Body, free_step: Step, limits: Limits, y: Array, yd: Array, force: Array, h: float
) -> State:
    """Return the state after one step.

    Args:
        body: the arm.
        free_step: of an integrator, without dry friction.
        limits: of the coordinates.
        y: (m,) coordinates.
        yd: (m,) velocities.
        force: (m,) of drives and environment.
        h: the step, s.
    """
    free = free_step(y, yd, force)
    M = body.mass_matrix((y + free.q) / 2)
    lower, upper = limits.velocities(y, h)
    v, pieces = settled(Contact(M, M @ free.qd, h * limits.dry, lower, upper), yd)
    held = np.array(pieces.pinned)
    starts_or_stops = np.where(held, (yd != 0) | (v != 0), (yd * v <= 0) & (limits.dry > 0))
    if held.any() and not starts_or_stops.any():
        after = free_step(y, yd, force - M @ (free.qd - v) / h)
        q = np.where(held, y, after.q)
        # The second step moves the other joints too: one of them may reach a stop only now.
        if limits.allow(y, q):
            return State(q, _stopped(body.mass_matrix(after.q), after.qd, held))
    return State(_landed(limits, y, yd, free, v, h), v)


def _landed(limits: Limits, y: Array, yd: Array, free: State, v: Array, h: float) -> Array:
    """Return the positions (m,) after a step with an event."""
    # By the mean of the velocities before and after; exactly to a stop that was met.
    after = limits.reached(y, v, free.q + h / 2 * (v - free.qd), h)
    after = np.where((v == 0) & (yd == 0), y, after)
    after = np.maximum(after, np.minimum(limits.lower, y))
    return np.asarray(np.minimum(after, np.maximum(limits.upper, y)))


def _stopped(M: Array, v: Array, held: Array) -> Array:
    """Return the velocities (m,) after impulses that stop the held joints."""
    zero = np.zeros(len(v))
    pieces = Pieces(held.tolist(), zero.tolist(), zero.tolist())
    return velocity_on(pieces, Contact(M, M @ v, zero, zero, zero))
