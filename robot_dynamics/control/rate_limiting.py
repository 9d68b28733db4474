"""How often something is done, by the stamps of what asks for it. No ROS here."""

from __future__ import annotations

SECOND = 1_000_000_000  # ns


class Thinning:
    """Lets through so many per second."""

    def __init__(self, rate: float):
        """Let through so many per second of the stamps' time, 0 all."""
        self._period = round(SECOND / rate) if rate > 0 else 0
        self._last: int | None = None

    def is_due(self, stamp: int) -> bool:
        """Return whether it is time at this stamp [ns], and take it for done then.

        Time that runs back (a reset, a bag played again) begins anew.
        """
        if self._last is not None and 0 <= stamp - self._last < self._period:
            return False
        self._last = stamp
        return True
