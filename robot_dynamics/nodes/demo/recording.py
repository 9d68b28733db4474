"""What was heard during one run: states, torques, terms and residuals, as arrays. No ROS here."""

from __future__ import annotations

import math
from array import array
from typing import NamedTuple

import numpy as np

from robot_dynamics.control import Reference, Trajectory
from robot_dynamics.spatial import Array

SECOND = 1e9  # ns
TERMS = ('gravity', 'coriolis', 'inertia', 'friction')


class Piece(NamedTuple):
    """A trajectory that was sent, and the stamp [ns] at which it starts."""

    start: int
    trajectory: Trajectory


class Series:
    """Stamped vectors, appended at high rate and read as arrays."""

    def __init__(self, width: int):
        self._width = width
        self._stamps, self._values = array('q'), array('d')

    def append(self, stamp: int, values: array) -> None:
        """Add the values (width,) at a stamp [ns]."""
        self._stamps.append(stamp)
        self._values.extend(values)

    def __len__(self) -> int:
        return len(self._stamps)

    @property
    def last(self) -> int:
        """The newest stamp [ns], -1 before the first."""
        return self._stamps[-1] if self._stamps else -1

    @property
    def t(self) -> Array:
        """The stamps (k,), s."""
        return np.array(self._stamps) / SECOND

    @property
    def values(self) -> Array:
        """The vectors (k, width)."""
        return np.array(self._values).reshape(-1, self._width)

    def tail(self) -> Array:
        """Return the newest vector (width,)."""
        return np.array(self._values[-self._width :])


class Recording:
    """One run of the robot, as it was heard.

    Attributes:
        q: positions, rad or m.
        qd: velocities.
        effort: torques the drives applied, N m or N.
        terms: by name, what the dynamics node says of each term of the equation of motion.
        residual: our torque minus the other engine's.
        pieces: the trajectories that were sent.
        latencies: s, from a state's departure to that of the torque that answers it.
        newest: stamp of the newest state [ns], -1 before the first; it may lie beyond the end.
        began: wall time at which simulated time was let go, ns.
    """

    def __init__(self, n: int, end: float = math.inf):
        """Record n joints, until this simulated time [s]."""
        self.q, self.qd, self.effort, self.residual = (Series(n) for _ in range(4))
        self.terms = {name: Series(n) for name in TERMS}
        self.pieces: list[Piece] = []
        self.latencies = array('d')
        self.began = self._finished = 0
        self.newest = -1
        self._end = end * SECOND
        self._asked: dict[int, int] = {}

    def heard_state(self, stamp: int, sent: int, q: array, qd: array, effort: array) -> None:
        """Add a state that left at the wall time `sent` [ns]; repetitions do not count."""
        if stamp <= self.newest:
            return
        self.newest = stamp
        if stamp > self._end:
            return
        self._asked[stamp], self._finished = sent, sent
        self.q.append(stamp, q)
        self.qd.append(stamp, qd)
        self.effort.append(stamp, effort)

    def heard_answer(self, series: Series, stamp: int, values: array) -> None:
        """Add to a term or to the residual; what lies ahead is from before the time was reset."""
        if series.last < stamp <= self.q.last:
            series.append(stamp, values)

    def heard_torque(self, stamp: int, sent: int) -> None:
        """Note that the torque for a state left at the wall time `sent` [ns]."""
        asked = self._asked.pop(stamp, None)
        if asked is not None:
            self.latencies.append((sent - asked) / SECOND)

    def desired(self, t: Array) -> Reference:
        """Return what was asked for at the times t (k,) [s] of the joint states."""
        result = self.pieces[0].trajectory.sample(t - self.pieces[0].start / SECOND)
        for start, trajectory in self.pieces[1:]:
            later = t >= start / SECOND
            for rows, newer in zip(result, trajectory.sample(t - start / SECOND), strict=True):
                rows[later] = newer[later]
        return result

    def error(self) -> Array:
        """Return measured minus desired positions (k, n)."""
        return self.q.values - self.desired(self.q.t).q

    @property
    def complete(self) -> bool:
        """Whether time has come to the end, or gone beyond it."""
        return self.newest >= self._end

    @property
    def wall_time(self) -> float:
        """Wall time from the start until the newest state, s."""
        return (self._finished - self.began) / SECOND

    @property
    def simulated(self) -> float:
        """Simulated time since the motion began, until its end at most, s."""
        return (min(self.newest, self._end) - self.pieces[0].start) / SECOND
