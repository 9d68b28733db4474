"""When the next step is due, by a clock that may stop, jump or be looked at too late. No ROS here.

Steps follow a schedule: so many of them since some wall time. A step may begin half a look at the
clock early, so that a timer that wavers around the schedule still makes one step each time. Who is
far behind does not catch up: the schedule starts afresh, as it does when the clock runs backwards.
All times are in seconds.
"""

from __future__ import annotations

LOOK = 1e-3  # s, between two looks at the clock, unless the steps are further apart
LAG = 0.1  # s; further behind than this the schedule starts afresh
LATE = 1.5  # times between two looks, from which on a step counts as late


class Pace:
    """Keeps the schedule.

    Attributes:
        late: steps that began late.
        restarts: how often the schedule was given up, because it was far behind.
        jumps: how often the clock ran backwards.
    """

    def __init__(self, time_step: float, factor: float):
        """Make steps of simulated time `factor` times as fast as the clock; 0: at once."""
        self.late = self.restarts = self.jumps = 0
        self._time_step = time_step
        self._last = -float('inf')  # look at the clock
        self._measured: tuple[float, int] | None = None
        self.choose(factor)

    def choose(self, factor: float) -> None:
        """Go on at another speed."""
        self._period = self._time_step / factor if factor > 0 else 0.0
        self.look = max(self._period, LOOK)
        self._slack = min(self._period, LOOK) / 2
        self.forget()

    def forget(self) -> None:
        """Begin a new schedule with the next step."""
        self._schedule: tuple[float, int] | None = None  # wall time, steps

    def jumped(self, now: float) -> bool:
        """Say whether the clock has run backwards since it was last looked at."""
        backwards, self._last = now < self._last, now
        if backwards:
            self.jumps += 1
            self._measured = None
            self.forget()
        return backwards

    def is_due(self, now: float, steps: int) -> bool:
        """Say whether the step after so many may begin."""
        return now >= self._time_of(steps, now) - self._slack

    def begins(self, now: float, steps: int) -> None:
        """Note that the step after so many begins."""
        late = now - self._time_of(steps, now)
        if self._period:
            self.late += late > LATE * self.look
        if self._schedule is None:
            self._schedule = now, steps
        elif late > LAG:
            self.restarts += bool(self._period)
            self._schedule = now, steps

    def factor(self, now: float, steps: int) -> float:
        """Return simulated time per wall time since the last call, 0 at the first."""
        before, self._measured = self._measured, (now, steps)
        if before is None or now <= before[0]:
            return 0.0
        return (steps - before[1]) * self._time_step / (now - before[0])

    def _time_of(self, steps: int, now: float) -> float:
        if self._schedule is None or not self._period:
            return now
        began, steps_then = self._schedule
        return began + (steps - steps_then) * self._period
