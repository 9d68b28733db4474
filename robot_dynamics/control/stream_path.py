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
from typing import ClassVar

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.control.limits import acceleration_limit, position_limits, velocity_limit
from robot_dynamics.control.stream_programs import StreamPrograms, stream_programs
from robot_dynamics.control.trajectory import Reference
from robot_dynamics.core.algorithms.stream_polyline import BRAKE, Slopes, StreamLimits
from robot_dynamics.core.model.robot_model import RobotModel

ROUNDING = 1e-6  # of the number of segments in a window
INSTANT = 1e-9  # s: times that differ by less are equal
STEP = 0.01  # s, between the corners of a deceleration


def stream_limits(model: RobotModel, *present: Array) -> StreamLimits:
    """Return the limits of a robot, extended to positions (n,) that are beyond them."""
    lower, upper = position_limits(model, present)
    return StreamLimits(lower, upper, velocity_limit(model), acceleration_limit(model))


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
    duration: ClassVar[float] = math.inf

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
        first = np.concatenate([0 * p, 0 * p, p - W * (m1 + m2), m1])
        after, d = stream_programs(len(p)).corner_after, np.array([W])
        second = after(first, m2, d)
        corners = np.stack([first, second, after(second, m2, d)]).reshape(3, 4, -1)
        times = [time - 2 * W, time - W, time]
        return cls(limits, W, start.q, times, corners, time, time, time, 0 * qd)

    # -- the reference ------------------------------------------------------------------------

    def sample(self, t: float) -> Reference:
        """Return the reference at a time [s], which is not before the last corner was added."""
        path = self.until(t)
        W, times, rows, after = path.window, path.times, [], []
        for x in (t, t - W, t - 2 * W):
            i = max(0, bisect_right(times, x) - 1)
            rows.append(i)
            after.append(x - times[i])
        return path._programs.mean_of_mean(
            path.corners.take(rows, axis=0).reshape(-1),
            path.origin,
            np.array(after),
            np.array([W]),
        )

    @property
    def position(self) -> Array:
        """Position (n,) of p at its end."""
        corner = self.corners[-1]
        position: Array = self.origin + corner[2] + corner[3] * (self.end - self.times[-1])
        return position

    @property
    def slope(self) -> Array:
        """Slope (n,) of p at its end."""
        slope: Array = self.corners[-1, 3]
        return slope

    @property
    def _programs(self) -> StreamPrograms:
        return stream_programs(len(self.origin))

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
        whole = t - self.end
        pieces = max(1, math.floor(whole / self.window + ROUNDING))
        slopes = self._next_slopes(goal, rate, whole, whole)
        if pieces == 1 or slopes.excess[0] <= 0:
            return self._goes_on(slopes.towards, t, t, brakes, rate)
        # A corner beyond reach: slopes can change once in each window.
        path, h, begin = self, whole / pieces, self.end
        for k in range(1, pieces + 1):
            slopes = path._next_slopes(goal, rate, h, t - path.end)
            end = t if k == pieces else begin + k * h
            path = path._goes_on(slopes.towards, end, t, brakes, rate)
        return path

    def _next_slopes(self, goal: Array, rate: Array, h: float, left: float) -> Slopes:
        """Return the slopes of a segment of length h [s], of the time that is left to a goal."""
        W = self.window
        first = max(0, bisect_right(self.times, self.end - W) - 1)
        slopes = self.corners[first:, 3]  # of the last W
        return self._programs.next_slopes(
            self.position,
            goal,
            rate,
            np.minimum.reduce(slopes),
            np.maximum.reduce(slopes),
            *self.limits,
            np.array([h, left, W, math.ceil(W / h - ROUNDING)]),
        )

    def pruned(self, now: float) -> StreamPath:
        """Return the path without corners that have no effect from a time [s] on.

        It is counted from the first corner that is left: a joint that rests has exactly the
        velocity 0, of which friction takes the sign.
        """
        first = max(0, bisect_right(self.times, now - 2 * self.window) - 1)
        if not first:
            return self
        times, corners = self.times[first:], self.corners[first:]
        begin, rows = times[0], corners.reshape(len(times), -1)
        counted = self._programs.counted_from(
            rows, rows[0], np.array([[time - begin] for time in times])
        )
        return StreamPath(
            self.limits,
            self.window,
            self.origin + corners[0, 2],
            times,
            counted.reshape(corners.shape),
            self.end,
            self.asked,
            self.brakes,
            self.rate,
        )

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
        low, high, _, _ = self._next_slopes(self.position, w, h, h)
        w = np.minimum(np.maximum(w, low), high)
        return self._goes_on(w, self.end + h, self.asked, self.brakes, self.rate)

    def _goes_on(
        self, w: Array, end: float, asked: float, brakes: float, rate: Array
    ) -> StreamPath:
        """Return the path that goes on to a time `end` [s] with a slope (n,)."""
        times, corners = self.times, self.corners
        if w.tolist() != self.slope.tolist():
            corner = self._programs.corner_after(
                corners[-1].reshape(-1), w, np.array([self.end - times[-1]])
            )
            times = [*times, self.end]
            corners = np.concatenate([corners, corner.reshape(1, 4, -1)])
        return StreamPath(
            self.limits, self.window, self.origin, times, corners, end, asked, brakes, rate
        )
