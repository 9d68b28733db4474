# SPDX-License-Identifier: Apache-2.0
"""What a reference follows: a motion with its start, a pending trajectory, and how motions end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from robot_dynamics.common.errors import TrajectoryError, TrajectoryOverError
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.partial_motion import Combined
from robot_dynamics.control.stream_path import StreamPath
from robot_dynamics.control.tolerances import Tolerances
from robot_dynamics.control.trajectory import Reference, Trajectory
from robot_dynamics.control.transitions import Joined, Stop, YieldingStop

STOPPING = 'stopping'
STREAMING = 'following a stream of references'
NOT_FINITE = 'the reference is not finite'  # why it is placed where the arm is
FUTURE = 600.0  # s; a trajectory that starts later than this was stamped by another clock


class Outcome(Enum):
    """How a trajectory that was accepted has ended."""

    NONE = ''  # there was none yet
    SUCCEEDED = 'succeeded'
    CANCELLED = 'cancelled'  # stopped, or replaced by a stream
    REPLACED = 'replaced by another trajectory'
    REJECTED = 'rejected at its start'
    NOT_RETIMED = 'not retimed'
    DROPPED = 'dropped'  # the arm was elsewhere, or time went back
    PATH_VIOLATED = 'path tolerance violated'
    GOAL_VIOLATED = 'goal tolerance violated'


@dataclass
class Execution:
    """A trajectory that was accepted, until it has ended.

    Attributes:
        outcome: how it has ended; None before that.
        reason: why it did not succeed, as far as the follower knows.
    """

    outcome: Outcome | None = None
    reason: str = ''

    @property
    def ending(self) -> str:
        """How it has ended, and why; empty before that."""
        if self.outcome is None:
            return ''
        return f'{self.outcome.value}: {self.reason}' if self.reason else self.outcome.value

    def conclude(self, outcome: Outcome, reason: str = '') -> None:
        """Keep how it ended, unless it ended before."""
        if self.outcome is None:
            self.outcome, self.reason = outcome, reason


class Phase(Enum):
    """What the reference does."""

    HOLDING = 'holding'
    FOLLOWING = 'following'
    STOPPING = 'stopping'
    RETIMING = 'retiming'  # it is at rest until an accepted trajectory is computed


class ReferenceMotion(NamedTuple):
    """A path, its start, and its name; a hold has none."""

    path: Trajectory | Joined | Stop | YieldingStop | Combined | StreamPath
    start: int  # ns
    name: str = ''
    tolerances: Tolerances | None = None  # of a trajectory

    def sample(self, stamp: int) -> Reference:
        """Return the reference at a time [ns], not before the start."""
        return self.path.sample(self.elapsed(stamp))

    def elapsed(self, stamp: int) -> float:
        """Return the time of the path at a time [ns], s."""
        return (stamp - self.start) / SECOND

    @property
    def phase(self) -> Phase:
        """What the reference does meanwhile."""
        if not self.name:
            return Phase.HOLDING
        return Phase.STOPPING if self.name == STOPPING else Phase.FOLLOWING

    def progress(self, stamp: int) -> float:
        """Return the fraction of a trajectory's time that is over; NaN for other motions."""
        if self.tolerances is None:
            return float('nan')
        duration = self.path.duration
        return min(1.0, max(0.0, self.elapsed(stamp) / duration)) if duration > 0 else 1.0


class Pending(NamedTuple):
    """A trajectory that was accepted, and the time at which it starts; None: the next state."""

    trajectory: Trajectory
    start: int | None  # ns
    tolerances: Tolerances

    @property
    def name(self) -> str:
        """Description for status and log."""
        return f'a trajectory of {self.trajectory.duration:g} s'

    def is_due(self, now: int) -> bool:
        """Return whether it starts at a time [ns], or has started before."""
        return self.start is None or self.start <= now


def description(
    motion: ReferenceMotion | None, pending: Pending | None, now: int, retiming: bool
) -> str:
    """Return what is followed at a time [ns] and next, for status and log."""
    present = motion.name if motion is not None else ''
    if retiming:
        return f'{present or "holding"}, retiming a trajectory'
    if pending is None:
        return present or 'holding'
    if pending.is_due(now):
        return f'following {pending.name}'
    return f'{present or "holding"}, then {pending.name}'


def check_clock(stamp: int, now: int) -> None:
    """Raise TrajectoryError if a start [ns] is so late that it is by another clock than now."""
    if stamp and (stamp - now) / SECOND > FUTURE:
        raise TrajectoryError(
            f'the trajectory starts in {(stamp - now) / SECOND:.0f} s: its stamp is '
            f'{stamp / SECOND:.3f} s and the joint states are at {now / SECOND:.3f} s; '
            'are these the same clock?'
        )


def elapsed(trajectory: Trajectory, start: int | None, begin: int) -> float:
    """Return the time [s] of a trajectory at which it begins; TrajectoryOverError if it is over.

    Args:
        trajectory: of any joints.
        start: its stamp, ns; None: it starts when it begins.
        begin: ns.
    """
    time = 0.0 if start is None else max(0.0, (begin - start) / SECOND)
    if start is not None and time > trajectory.duration:
        raise TrajectoryOverError(
            f'the trajectory ended {time - trajectory.duration:.3f} s ago: its stamp is '
            f'{start / SECOND:.3f} s and the joint states are at {begin / SECOND:.3f} s'
        )
    return time
