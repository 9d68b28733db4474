"""What a reference follows: a motion with its start, a pending trajectory, and how motions end."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from robot_dynamics.control.partial_motion import Combined
from robot_dynamics.control.tolerances import Tolerances
from robot_dynamics.control.trajectory import Reference, Trajectory
from robot_dynamics.control.transitions import Joined, Stop

SECOND = 1e9  # ns
STOPPING = 'stopping'


class Outcome(Enum):
    """How the trajectory that was accepted last has ended."""

    SUCCEEDED = 'succeeded'
    CANCELLED = 'cancelled'  # stopped, or replaced by a stream
    REJECTED = 'rejected at its start'
    DROPPED = 'dropped'  # the arm was elsewhere, or time went back
    PATH_VIOLATED = 'path tolerance violated'
    GOAL_VIOLATED = 'goal tolerance violated'


class Phase(Enum):
    """What the reference does."""

    HOLDING = 'holding'
    FOLLOWING = 'following'
    STOPPING = 'stopping'


class Streamed(NamedTuple):
    """A single reference of a stream; it holds until the next one."""

    reference: Reference
    duration: float = float('inf')

    def sample(self, t: float) -> Reference:
        """Return the reference, at any time t [s]."""
        return self.reference


class Motion(NamedTuple):
    """A path, its start, and its name; a hold has none."""

    path: Trajectory | Joined | Stop | Combined | Streamed
    start: int  # ns
    name: str = ''
    tolerances: Tolerances | None = None  # of a trajectory

    def sample(self, stamp: int) -> Reference:
        """Return the reference at a time [ns], not before the start."""
        return self.path.sample((stamp - self.start) / SECOND)

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
        elapsed, duration = (stamp - self.start) / SECOND, self.path.duration
        return min(1.0, max(0.0, elapsed / duration)) if duration > 0 else 1.0


class Pending(NamedTuple):
    """A trajectory that was accepted, and the time at which it starts; None: the next state."""

    trajectory: Trajectory
    start: int | None  # ns
    tolerances: Tolerances

    @property
    def name(self) -> str:
        """Description for status and log."""
        return f'a trajectory of {self.trajectory.duration:g} s'
