# SPDX-License-Identifier: Apache-2.0
"""Path along a stream: a polyline with limited slopes, and its mean over two windows.

The polyline p(t) goes from corner to corner, the points of the stream. The reference is the mean
of its mean, each over a window W,

    q(t) = [S2(t) - 2 S2(t - W) + S2(t - 2 W)] / W^2,    S1 = int p dt,  S2 = int S1 dt,

and its velocity and acceleration are the same differences of S1 and p. So q is twice continuously
differentiable, and |qd| <= V and |qdd| <= A **by construction**: if every slope of p is within V,
and differs from those of the last W by at most A W, then qd is a mean of slopes and

    qdd = 1/W^2 int_(t-W)^t [p'(s) - p'(s - W)] ds,    at most A W / W.

A corner that p cannot reach within these bounds, or from which it could not go on with the
stream's velocity, is approached as by a constant deceleration. Without another corner p goes on
with the stream's velocity until `brakes`, and then decelerates to rest.

The three integrals of p are kept at each corner. Nothing here changes: every method returns
another path.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.control.limits import acceleration_limit, position_limits, velocity_limit
from robot_dynamics.control.trajectory import Reference
from robot_dynamics.core.model.robot_model import RobotModel

BRAKE = 0.7  # of A: deceleration towards a corner beyond reach, and to rest
RESOLUTION = 1e-9  # rad or m: no slope follows from a smaller distance, such as rounding
ROUNDING = 1e-6  # of the number of segments in a window
INSTANT = 1e-9  # s: times that differ by less are equal
STEP = 0.01  # s, between the corners of a deceleration


class StreamLimits(NamedTuple):
    """Limits of the reference: (n,) each."""

    lower: Array
    upper: Array
    velocity: Array  # V
    acceleration: Array  # A

    @classmethod
    def of(cls, model: RobotModel, *present: Array) -> StreamLimits:
        """Return the limits of a robot, extended to positions (n,) that are beyond them."""
        lower, upper = position_limits(model, present)
        return cls(lower, upper, velocity_limit(model), acceleration_limit(model))


@dataclass(frozen=True, eq=False)
class StreamPath:
    """Polyline of n joints, and the reference that follows from it.

    Attributes:
        limits: of the reference.
        window: W, s.
        origin: (n,) position from which p is counted.
        times: (k,) of the corners, s, ascending.
        corners: (k, 4, n) S2, S1, p - origin there, and the slope after it.
        end: s, until when p is determined.
        asked: s, time of the last corner that was asked for.
        brakes: s, from when on p decelerates without another corner.
        rate: (n,) velocity of the stream at the last corner.
    """

    limits: StreamLimits
    window: float
    origin: Array
    times: list[float]
    corners: Array
    end: float
    asked: float
    brakes: float
    rate: Array
    duration: float = float('inf')

    @classmethod
    def begin(
        cls, start: Reference, time: float, window: float, limits: StreamLimits
    ) -> StreamPath:
        """Return the path that has position, velocity and acceleration (n,) of a reference.

        Its history are two slopes, of W each. Accelerations beyond the limits are not kept.
        """
        W, V = window, limits.velocity
        qd = np.clip(start.qd, -V, V)
        # qd = (m1 + m2) / 2, qdd = (m2 - m1) / W, |m| <= V
        change = np.clip(start.qdd, -limits.acceleration, limits.acceleration) * W / 2
        change = np.clip(change, np.abs(qd) - V, V - np.abs(qd))
        m1, m2 = qd - change, qd + change
        # q = p - W (m1 + 5 m2) / 6 at the end of the history
        p = W * (m1 + 5 * m2) / 6
        first = np.stack([0 * p, 0 * p, p - W * (m1 + m2), m1])
        second = _moved(first, W, m2)
        corners = np.stack([first, second, _moved(second, W, m2)])
        times = [time - 2 * W, time - W, time]
        return cls(limits, W, start.q, times, corners, time, time, time, 0 * qd)

    # -- the reference ------------------------------------------------------------------------

    def sample(self, t: float) -> Reference:
        """Return the reference at a time [s], which is not before the last corner was added."""
        path = self.until(t)
        W, rows = path.window, []
        weights: tuple[list[float], ...] = [], [], []
        for k, c in enumerate((1.0, -2.0, 1.0)):
            x = t - k * W
            i = max(0, bisect_right(path.times, x) - 1)
            d = x - path.times[i]
            rows.append(i)
            # S2, S1, p after the time d
            h, c = d * d / 2, c / (W * W)
            weights[0].extend((c, c * d, c * h, c * h * d / 3))
            weights[1].extend((0.0, c, c * d, c * h))
            weights[2].extend((0.0, 0.0, c, c * d))
        n = len(path.origin)
        q, qd, qdd = np.array(weights) @ path.corners.take(rows, axis=0).reshape(12, n)
        return Reference(path.origin + q, qd, qdd)

    @property
    def slope(self) -> Array:
        """Slope (n,) of p at its end."""
        slope: Array = self.corners[-1, 3]
        return slope

    @property
    def position(self) -> Array:
        """Position (n,) of p at its end."""
        _, _, p, w = self.corners[-1]
        position: Array = self.origin + p + w * (self.end - self.times[-1])
        return position

    def rests(self, t: float) -> bool:
        """Return whether the reference is at rest from a time [s] on, without another corner."""
        return not self.slope.any() and self.times[-1] <= t - 2 * self.window

    # -- the polyline -------------------------------------------------------------------------

    def until(self, t: float) -> StreamPath:
        """Return the path with p determined until a time [s]: it goes on, and then brakes."""
        path = self
        while path.end < t - INSTANT:
            if path.end < path.brakes:
                path = path._turned(path.rate, min(t, path.brakes) - path.end)
            elif (slope := path.slope).any():
                most = BRAKE * path.limits.acceleration * STEP
                path = path._turned(slope - np.clip(slope, -most, most), STEP)
            else:
                return replace(path.pruned(t), end=t)
        return path

    def towards(self, t: float, goal: Array, rate: Array, brakes: float) -> StreamPath:
        """Return the path with a corner more.

        Args:
            t: time of the corner, s, after `end`.
            goal: (n,) its position.
            rate: (n,) velocity of the stream there, with which p approaches if it is behind.
            brakes: time from when on p decelerates without another corner, s.
        """
        whole, way = t - self.end, self._way(goal)
        low, high = self._slopes(whole)
        w = way / whole
        if not self._is_beyond(w, low, high, rate).any():
            path = self._goes_on(w, whole)
        else:
            path = self._approaches(whole, goal, rate)
        return replace(path, end=t, asked=t, brakes=brakes, rate=rate)

    def _approaches(self, whole: float, goal: Array, rate: Array) -> StreamPath:
        """Return the path towards a corner beyond reach; slopes can change once in each window."""
        path, pieces = self, max(1, math.floor(whole / self.window + ROUNDING))
        h = whole / pieces
        for left in whole - h * np.arange(pieces):
            way = path._way(goal)
            low, high = path._slopes(h)
            w = way / left
            behind = self._is_beyond(w, low, high, rate)
            w = np.where(behind, rate + path._approach(way - rate * left, h), w)
            path = path._goes_on(np.clip(w, low, high), h)
        return path

    def _is_beyond(self, w: Array, low: Array, high: Array, rate: Array) -> Array:
        """Return which joints (n,) cannot take a slope, or not the stream's velocity after it."""
        most = self.limits.acceleration * self.window
        beyond: Array = (w < low) | (w > high) | (np.abs(w - rate) > most)
        return beyond

    def _way(self, goal: Array) -> Array:
        """Return the way (n,) from the end of p to a position; 0 if it is rounding."""
        way = goal - self.position
        return np.where(np.abs(way) > RESOLUTION, way, 0.0)

    def pruned(self, now: float) -> StreamPath:
        """Return the path without corners that have no effect from a time [s] on.

        It is counted from the first corner that is left: a joint that rests has exactly the
        velocity 0, of which friction takes the sign.
        """
        first = max(0, bisect_right(self.times, now - 2 * self.window) - 1)
        if not first:
            return self
        times, corners = self.times[first:], self.corners[first:].copy()
        past = np.array(times)[:, None] - times[0]
        S2, S1, p = corners[0, :3].copy()
        # Differences over equal windows do not change by a line, and q by p alone.
        corners[:, 0] -= S2 + S1 * past + p * past**2 / 2
        corners[:, 1] -= S1 + p * past
        corners[:, 2] -= p
        return replace(self, origin=self.origin + p, times=times, corners=corners)

    def truncated(self, now: float) -> StreamPath:
        """Return the path whose p is determined until a time [s] alone; `end` is not before it."""
        count = max(1, bisect_right(self.times, now))
        return replace(
            self, times=self.times[:count], corners=self.corners[:count], end=now, asked=now
        )

    def placed(self, joints: Array, q: Array) -> StreamPath:
        """Return the path with some joints (n,) bool at rest, at positions q (n,)."""
        if not joints.any():
            return self
        corners = self.corners.copy()
        past = np.array(self.times)[:, None] - self.times[0]
        p = q[joints] - self.origin[joints]
        corners[:, :, joints] = np.stack(
            [p * past**2 / 2, p * past, p + 0 * past, 0 * p * past], 1
        )
        return replace(self, corners=corners)

    def _turned(self, w: Array, h: float) -> StreamPath:
        """Return the path that goes on for a time h [s], as near to a slope (n,) as allowed."""
        return self._goes_on(np.clip(w, *self._slopes(h)), h)

    def _goes_on(self, w: Array, h: float) -> StreamPath:
        """Return the path that goes on for a time h [s] with a slope (n,)."""
        end = self.end + h
        if np.array_equal(w, self.slope):
            return replace(self, end=end)
        corner = _moved(self.corners[-1], self.end - self.times[-1], w)
        return replace(
            self,
            times=[*self.times, self.end],
            corners=np.concatenate([self.corners, corner[None]]),
            end=end,
        )

    def _slopes(self, h: float) -> tuple[Array, Array]:
        """Return the least and largest slope (n,) of the next segment, of length h [s]."""
        lower, upper, V, A = self.limits
        W, p = self.window, self.position
        first = max(0, bisect_right(self.times, self.end - W) - 1)
        last = self.corners[first:, 3]  # slopes of the last W
        least = np.maximum(last.max(axis=0) - A * W, -V)
        most = np.minimum(last.min(axis=0) + A * W, V)
        low, high = np.clip(self._approach(np.stack([lower - p, upper - p]), h), least, most)
        return low, high

    def _approach(self, way: Array, h: float) -> Array:
        """Return the slope for a time h [s] with which p can still stop after a way (..., n)."""
        # Slopes change by at most A W in the segments that a window touches.
        segments = math.ceil(self.window / h - ROUNDING)
        k = BRAKE * self.limits.acceleration * self.window / (segments * h)
        size = np.abs(way)
        return np.sign(way) * np.minimum(
            np.sqrt((k * h / 2) ** 2 + 2 * k * size) - k * h / 2, size / h
        )


def _moved(corner: Array, d: float, w: Array) -> Array:
    """Return the corner (4, n) a time d [s] after another, with the slope w (n,)."""
    S2, S1, p, m = corner
    return np.stack(
        [
            S2 + S1 * d + p * d**2 / 2 + m * d**3 / 6,
            S1 + p * d + m * d**2 / 2,
            p + m * d,
            w,
        ]
    )
