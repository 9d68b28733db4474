# SPDX-License-Identifier: Apache-2.0
"""Messages of a stream on its path: when each is played, and which are not.

A message is played at T + D, with the time T of its clock. The delay D = max(-W, L + P) is the
least with which the next message arrives before p ends, L its lateness and P the period; points
that are known a window ahead are played at their time, without a lag. A reference with a velocity
v is extrapolated by a fraction lambda of the period, q + lambda P v. So the reference lags by

    D + W,    that is L + W + (1 - lambda) P for single references.

A message that is further than `start_tolerance` from the path is not followed, unless joints could
have moved to it from the message before: then the stream is merely too fast. Messages that are
late, or older than the one before them, are not followed either; the next ones continue the
stream.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.joint_reading import state_bounds
from robot_dynamics.control.limits import (
    TOLERANCE,
    check_distance,
    position_limits,
    range_violations,
    velocity_limit,
)
from robot_dynamics.control.motion_start import WholeTurns
from robot_dynamics.control.spline import Waypoint
from robot_dynamics.control.stream_clock import LARGEST_LATENESS, USUAL_PERIOD, StreamClock
from robot_dynamics.control.stream_path import StreamPath, stream_limits
from robot_dynamics.control.trajectory import Reference
from robot_dynamics.core.algorithms.stream_polyline import StreamLimits
from robot_dynamics.core.model.robot_model import RobotModel

SHORTEST_WINDOW = 0.002  # s, that can be set
LEAST_WINDOW, LEAST_IRREGULAR_WINDOW = 0.02, 0.04  # s
SETTLED = 10  # messages: the window may then be shortened, and later grow alone
GROWTH = 1.2  # of the window, below which it is kept
PAUSE = 1.0  # s without messages, after which a stream has another clock
FIRST_PERIOD = 0.3  # s, that the second message of a stream is waited for
DRIFT = 0.02  # P, largest change of the delay from message to message
STILL = 0.01  # rad/s or m/s, above which velocities of zero are not the stream's
COAST, COAST_TIME = 1.5, 0.02  # P and s, after the last message: then p decelerates


class StreamSettings(NamedTuple):
    """Settings of streams."""

    window: float = 0.0  # W, s; 0: by the period
    prediction: float = 1.0  # lambda, for references with velocities
    timeout: float = 0.1  # s, without messages, after which a stream is over


class Stream:
    """A stream of messages from one sender: decides about each what it does to the path.

    Attributes:
        origin: time 0 of the path, ns.
        is_ahead: whether its messages are windows: points that are known ahead of their time.
        clock: of its messages.
        lag: s, of the reference behind the stream.
        beyond: names the joint that the stream moves faster than its limit; '' if none.
        refused: why the last message was not followed, or ''.
    """

    def __init__(
        self,
        model: RobotModel,
        origin: int,
        settings: StreamSettings,
        tolerance: Array,
        is_ahead: bool,
    ):
        """Wait for the first message; `tolerance` (n,) is how far it may be from the path."""
        self.origin, self.is_ahead = origin, is_ahead
        self.adjust(model, settings, tolerance)
        self.clock = StreamClock(origin, settings.timeout)
        self.lag, self.beyond, self.refused = 0.0, '', ''
        self._window = 0.0  # chosen by the period, s
        self._lateness = 0.0  # s, L with which messages are played
        self._has_velocities = False  # whether velocities are not just zeros
        self._last: tuple[float, Array, Array] | None = None  # T, q, rate of the last message
        self._arrived = 0.0  # s, arrival of the last message

    def begin(self, start: Reference, now: int, q: Array) -> StreamPath:
        """Return the path of a stream that begins at a reference (n,), with measured q (n,)."""
        self.renew(now)
        limits = stream_limits(self._model, start.q, q)
        W = self._settings.window or self._window or USUAL_PERIOD
        return StreamPath.begin(start, self.clock.seconds(now), W, limits)

    def renew(self, now: int) -> None:
        """Begin anew with the message of now [ns]; after a pause with another clock."""
        self._last = None
        if self.clock.seconds(now) - self._arrived > PAUSE:
            self.clock = StreamClock(self.origin, self._settings.timeout)
            self._window, self._has_velocities = 0.0, False

    @property
    def timeout(self) -> float:
        """Time after the last point, s, after which the stream is over."""
        first = FIRST_PERIOD if self.clock.received < 2 else 0.0
        return self._settings.timeout + first

    def adjust(self, model: RobotModel, settings: StreamSettings, tolerance: Array) -> None:
        """Use other settings, from the next message on."""
        self._model, self._settings, self._tolerance = model, settings, tolerance
        self._turns = WholeTurns(model)

    def window(self, spacing: float) -> float:
        """Return W [s] for points that are `spacing` [s] apart, as set or by that."""
        if self._settings.window > 0:
            return self._settings.window
        clock = self.clock
        is_irregular = clock.irregular and clock.received >= 2 * SETTLED and not self.is_ahead
        wanted = max(spacing, LEAST_IRREGULAR_WINDOW if is_irregular else LEAST_WINDOW)
        settles = clock.received == SETTLED and GROWTH * wanted < self._window
        if wanted >= GROWTH * self._window or settles:
            self._window = wanted
        return self._window

    def followed(
        self, path: StreamPath, now: int, point: Waypoint, stamp: int | None
    ) -> StreamPath:
        """Return the path with a single reference more.

        Args:
            path: until now.
            now: ns.
            point: (n,) positions, and maybe velocities.
            stamp: of any clock, ns; None without one.

        Raises:
            TrajectoryError: why it is not followed.
        """
        point = self._checked([point], path)[0]
        T, limits = self.clock.time_of(now, stamp), path.limits
        measured = self._measured_rate(T, point.q)
        given = self._given_rate(point, measured)
        ahead = 0.0 if given is None else self._settings.prediction * self.clock.period
        rate = self._least(measured) if given is None else given
        self._note_speed(measured if given is None else given)
        reliable = np.minimum(np.maximum(rate, -limits.velocity), limits.velocity)
        goal = point.q + ahead * reliable
        is_jump = self._jumps(T, point.q, limits)
        path = self._played(path, now, [T + ahead], ahead, [goal], [reliable], is_jump)
        self._last = T, point.q, measured if given is None else given
        return path

    def followed_window(
        self,
        path: StreamPath,
        now: int,
        times: Array,
        points: Sequence[Waypoint],
        stamp: int | None,
    ) -> StreamPath:
        """Return the path with the points of a window instead of those after now.

        Args:
            path: until now.
            now: ns.
            times: (k,) of the points, s, ascending, since the stamp or since now.
            points: k, (n,) positions.
            stamp: of the joint states' clock, ns; None without one.

        Raises:
            TrajectoryError: why it is not followed.
        """
        points = self._checked(points, path)
        last = float(times[-1])
        if stamp is None:
            T = self.clock.time_of(now, None, last)
        elif (over := (now - stamp) / SECOND - last) > LARGEST_LATENESS:
            raise TrajectoryError(
                f'its last point was {over:.3f} s ago: its stamp is {stamp / SECOND:.3f} s, the '
                f'joint states are at {now / SECOND:.3f} s; are these the same clock?'
            )
        else:
            T = self.clock.absolute(now, stamp, last)
        q = np.array([point.q for point in points])
        rates = np.zeros_like(q)
        if len(q) > 1:
            rates[1:] = np.diff(q, axis=0) / np.diff(times)[:, None]
            rates[0] = rates[1]
        else:
            rates[0] = self._measured_rate(T + last, q[0])
        self._note_speed(rates[np.abs(rates).max(axis=1).argmax()])
        V = path.limits.velocity
        everywhere = np.ones(len(V), dtype=bool)
        corners, reliable = (T + times).tolist(), list(np.clip(rates, -V, V))
        path = self._played(path, now, corners, 0.0, list(q), reliable, everywhere)
        self._last = T + last, q[-1], rates[-1]
        return path

    def _played(
        self,
        path: StreamPath,
        now: int,
        times: list[float],
        ahead: float,
        goals: list[Array],
        rates: list[Array],
        is_jump: Array,
    ) -> StreamPath:
        """Return the path with corners at k points of times T, which must be near to it.

        Args:
            path: until now.
            now: ns.
            times: T of each, s.
            ahead: time by which they are extrapolated, s.
            goals: k positions (n,).
            rates: k velocities (n,) of the stream.
            is_jump: (n,) joints for which nearness is demanded.
        """
        t, P = self.clock.seconds(now), self.clock.period
        self._arrived = t
        spacing = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else P
        W = self.window(spacing)
        if path.window != W:
            path = StreamPath.begin(path.sample(t), t, W, path.limits)
        delay = max(-W, self._delay() - ahead + P)
        if self.is_ahead:
            delay = min(delay, LARGEST_LATENESS)
        corners = [T + delay for T in times]
        path, first, late = self._joined(path, t, corners, spacing)
        corners, goals, rates = corners[first:], goals[first:], rates[first:]
        if late > 0:
            corners[0] += late
            goals[0] = goals[0] + rates[0] * late
        lower, upper, *_ = path.limits
        goals = [np.minimum(np.maximum(goal, lower), upper) for goal in goals]
        if np.count_nonzero(is_jump):
            expected = path.position + rates[0] * (corners[0] - path.end)
            tolerance = np.where(is_jump, self._tolerance, np.inf)
            names = self._model.joint_names
            check_distance(goals[0], expected, tolerance, names, 'the reference is')
        brakes = t + COAST * P + COAST_TIME
        path = path.pruned(t)
        for corner, goal, rate in zip(corners, goals, rates, strict=True):
            path = path.towards(corner, goal, rate, brakes)
        self.lag = delay + W
        return path

    def _joined(
        self, path: StreamPath, t: float, corners: list[float], spacing: float
    ) -> tuple[StreamPath, int, float]:
        """Return the path where corners at some times go on, the first of them, and its delay [s].

        Raises TrajectoryError if all of them are too late.
        """
        near = 0.3 * spacing  # to the corner before
        if self.is_ahead:
            path = path.truncated(min(path.end, max(t, corners[0] - spacing)))
        first = min(bisect_left(corners, path.end + near), len(corners) - 1)
        if path.end + near - corners[first] > spacing:
            path = path.truncated(t)  # what was planned before the period was known
        late = path.end + near - corners[first]
        if late > spacing:
            raise TrajectoryError(f'it arrived {late - near:.3f} s after the time to follow it')
        return path, first, late

    def _delay(self) -> float:
        """Return L [s], which changes slowly: a step of it is one of the velocity."""
        wanted, most = self.clock.lateness, DRIFT * self.clock.period
        if self.clock.received <= SETTLED or self.is_ahead:
            self._lateness = wanted
        self._lateness += min(max(wanted - self._lateness, -most), most)
        return self._lateness

    # -- what a message says ------------------------------------------------------------------

    def _checked(self, points: Sequence[Waypoint], path: StreamPath) -> list[Waypoint]:
        """Return points in the turn of the path, if positions and velocities are possible."""
        model, limits = self._model, path.limits
        lower, upper = position_limits(model, (limits.lower, limits.upper))
        found = []
        for point in points:
            q = self._turns.nearest(point.q, path.position) if self._turns.any else point.q
            reasons = range_violations('position', q, lower, upper, model.joint_names)
            if reasons or not all(map(math.isfinite, q.tolist())):
                raise TrajectoryError('; '.join(reasons) or f'the position is {q}, not finite')
            if point.qd is not None:
                self._check_speed(point.qd)
            found.append(point._replace(q=q))
        return found

    def _check_speed(self, qd: Array) -> None:
        """Raise TrajectoryError if a velocity (n,) is impossible."""
        model = self._model
        most = state_bounds(model).speed
        for name, value, bound in zip(model.joint_names, qd.tolist(), most, strict=True):
            if not abs(value) <= bound:
                raise TrajectoryError(
                    f'the velocity of joint {name!r} is {value:.6g}; expected at most {bound:g}'
                )

    def _measured_rate(self, T: float, q: Array) -> Array:
        """Return the velocity (n,) between the last message and this one; 0 for the first."""
        if self._last is None:
            return np.zeros_like(q)
        time, before, _ = self._last
        rate: Array = (q - before) / max(T - time, 0.3 * self.clock.period)
        return rate

    def _given_rate(self, point: Waypoint, measured: Array) -> Array | None:
        """Return the velocities (n,) of a reference; None where they are missing or just zeros."""
        qd = point.qd
        if qd is None:
            return None
        if qd.any():
            self._has_velocities = True
        elif np.abs(measured).max() > STILL:
            self._has_velocities = False  # many senders fill in zeros
        return qd if self._has_velocities else None

    def _least(self, rate: Array) -> Array:
        """Return the velocities (n,) on which two messages agree: a jump is no velocity."""
        if self._last is None:
            return rate
        before = self._last[2]
        return np.array(
            [
                min(a, b) if a > 0 < b else max(a, b) if a < 0 > b else 0.0
                for a, b in zip(rate.tolist(), before.tolist(), strict=True)
            ]
        )

    def _jumps(self, T: float, q: Array, limits: StreamLimits) -> Array:
        """Return which joints (n,) are further from the last message than they can move."""
        if self._last is None:
            return np.ones(len(q), dtype=bool)
        time, before, _ = self._last
        since = min(T - time, 2 * self.clock.period)
        jumps: Array = np.abs(q - before) > self._tolerance + limits.velocity * since
        return jumps

    def _note_speed(self, rate: Array) -> None:
        """Note the joint that the stream moves faster than its limit, if any."""
        V = velocity_limit(self._model)
        beyond = np.abs(rate) > V * (1 + TOLERANCE)
        self.beyond = ''
        if np.count_nonzero(beyond):
            j = int(np.argmax(np.abs(rate) / V))
            self.beyond = (
                f'joint {self._model.joint_names[j]!r} of the stream moves at {rate[j]:.3g}; its '
                f'limit is {V[j]:g}'
            )
