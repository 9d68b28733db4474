# SPDX-License-Identifier: Apache-2.0
"""Friction and stops of the coordinates of an arm, as laws of the velocities at a step's end.

Each coordinate exerts an impulse p that grows with its velocity v at the end of the step. What
else acts on it leaves it the velocity s = v + p / m, of which v is a function:

| law | v(s) |
|---|---|
| friction | `core.friction.impulses` |
| spring stop | beyond its edge, friction of a joint with the additional inertia h (h k + d) |
| inelastic stop | clipped to the velocities that lead up to the stop |

All dissipate, or store what they return at most once, for any motion of the other joints.
`converged.solved_by_arrays` finds v for all coordinates.

Source: Moreau, "Unilateral contact and dry friction in finite freedom dynamics" (1988).
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.common.settings import checked
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.friction.impulses import DryFriction, Response, sticking
from robot_dynamics.simulation.converged import ArrayLaw
from robot_dynamics.simulation.joint_models.selection import JointModels
from robot_dynamics.simulation.joint_models.stops import (
    InelasticStop,
    Pads,
    SpringDamperStop,
    Stops,
    Yielding,
)
from robot_dynamics.simulation.steps.body import Body


class Contacts:
    """Friction and stops of the m coordinates of one body.

    Attributes:
        sticks: (m,) whether friction holds the coordinate at rest.
        lower: (m,) inelastic stops, infinite where there are none.
        upper: (m,)
        yielding: spring-damper stops; None if not selected.
    """

    def __init__(self, body: Body, joint_models: JointModels):
        """Select the laws. Raises ModelError for a wrong stiffness or damping."""
        self.sticks = (body.friction.coulomb > 0) & (joint_models.friction == 'stick_slip')
        unlimited = np.full(len(body.lower), np.inf)
        self._rigid = isinstance(joint_models.stops, InelasticStop)
        self.lower = body.lower if self._rigid else -unlimited
        self.upper = body.upper if self._rigid else unlimited
        self.yielding = _yielding(body, joint_models.stops)

    def at_stop(self, y: Array) -> bool:
        """Return whether a coordinate is at an inelastic stop or beyond."""
        return self._rigid and bool(((y <= self.lower) | (y >= self.upper)).any())

    def past(self, y: Array, after: Array) -> Array:
        """Return which coordinates (m,) a step from y leads past a stop, or farther beyond it."""
        return (after < np.minimum(self.lower, y)) | (after > np.maximum(self.upper, y))

    def overshoot(self, y: Array) -> Array:
        """Return how far coordinates (m,) are beyond their inelastic stops, negative before."""
        return np.asarray(np.maximum(self.lower - y, y - self.upper))

    def met(self, y: Array, past: Array) -> Array:
        """Return y (m,) with one joint at its stop exactly: of some (m,), the farthest."""
        j = int(np.argmax(np.where(past, self.overshoot(y), -np.inf)))
        limit = self.lower[j] if y[j] - self.lower[j] < self.upper[j] - y[j] else self.upper[j]
        return np.where(np.arange(len(y)) == j, limit, y)

    def held_velocities(self, y: Array) -> tuple[Array, Array]:
        """Return the least and the largest velocities (m,) of coordinates that rest at stops."""
        return (
            np.where(y <= self.lower, 0.0, -np.inf),
            np.where(y >= self.upper, 0.0, np.inf),
        )

    def velocities(self, y: Array, h: float) -> tuple[Array, Array]:
        """Return the least and the largest velocities (m,) in a step from y: up to the stops.

        A joint beyond a stop may return; no force acts on it.
        """
        return np.minimum((self.lower - y) / h, 0.0), np.maximum((self.upper - y) / h, 0.0)

    def reached(self, y: Array, v: Array, after: Array, h: float) -> Array:
        """Return positions (m,) after a step from y, of joints that met a stop exactly there.

        y + h (limit - y) / h is not always the limit.
        """
        lower, upper = self.velocities(y, h)
        after = np.where(v == lower, np.minimum(self.lower, y), after)
        return np.where(v == upper, np.maximum(self.upper, y), after)

    def law(
        self,
        dry: DryFriction,
        yd: Array,
        h: float,
        bounds: tuple[Array, Array] | None,
        pads: Pads | None = None,
    ) -> ArrayLaw:
        """Return the law of a step h from velocities yd (m,).

        Args:
            dry: dry friction of the coordinates.
            yd: velocities at the start.
            h: the step, s; 0 for impacts.
            bounds: least and largest velocities at the end (m,) each; None: any.
            pads: impulses of spring stops.
        """
        d = h * dry.level
        if self.sticks.any():
            return responses(lambda s, m: sticking(s, m, d, yd), bounds, pads)
        return responses(lambda s, m: dry.response(s, m, h), bounds, pads)


def responses(
    friction: ArrayLaw, bounds: tuple[Array, Array] | None, pads: Pads | None = None
) -> ArrayLaw:
    """Return the law of friction and stops of m coordinates; arguments as of `Contacts.law`."""

    def response(s: Array, m: Array) -> Response:
        v, p, slope = friction(s, m)
        if pads is not None:
            low, high = v < pads.lower, v > pads.upper
            spring = np.where(low | high, pads.s, 0.0)
            edge = np.where(low, pads.lower, np.where(high, pads.upper, 0.0))
            # (m + s) v + p = m s_j + s edge
            v, _, slope = friction((m * s + spring * edge) / (m + spring), m + spring)
            p, slope = m * (s - v), slope + spring
        if bounds is None:
            return Response(v, p, slope)
        clipped = np.minimum(np.maximum(v, bounds[0]), bounds[1])
        held = clipped != v
        return Response(
            clipped, np.where(held, m * (s - clipped), p), np.where(held, np.inf, slope)
        )

    return response


def _yielding(body: Body, stops: Stops | None) -> Yielding | None:
    if not isinstance(stops, SpringDamperStop):
        return None
    model = body.arm.model
    rest = np.zeros(len(body.lower) - model.n)
    given = checked(stops, model.n, ' of the stops')
    k, d = (np.append(x, rest) for x in (given.stiffness, given.damping))
    return Yielding(k, d, body.lower, body.upper)
