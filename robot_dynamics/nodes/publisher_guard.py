"""One commander per arm: notice when two publishers send commands to the same motors. No ROS here.

`PublisherGuard` is for who is commanded, `RivalGuard` for who commands.

The graph alone cannot say so. A publisher that was killed stays in it until its lease runs out,
so a controller that was restarted is listed twice, under the same name; it must not be locked
out by its own ghost. Two nodes of different names are two commanders. Two of the same name are,
if twice as many commands arrive as states were published to be answered.
"""

from __future__ import annotations

from collections.abc import Collection

# Commands per published state above which two are answering; one gives 1, and jitter little more.
TWO_ANSWER = 1.5
SETTLING = 1.0  # s after switching on, in which whoever is discovered was there before
FEW = 6  # commands: fewer say nothing


class PublisherGuard:
    """Watches one command topic."""

    def __init__(self) -> None:
        self.conflict = ''  # why commands are refused at present
        self._commands = self._states = 0

    def heard(self) -> None:
        """Count a command."""
        self._commands += 1

    def published(self) -> None:
        """Count a state that a commander may answer."""
        self._states += 1

    def look(self, publishers: Collection[str]) -> None:
        """Judge the time since the last look.

        Args:
            publishers: the node name behind every publisher of the topic in the graph.
        """
        names = sorted(set(publishers))
        if len(names) > 1:
            self.conflict = f'{", ".join(names)} all send commands; stop all but one'
        elif len(publishers) < 2:
            self.conflict = ''
        elif self._commands < FEW:
            return  # too few to tell: the verdict stands, and the counting goes on
        elif self._commands > TWO_ANSWER * self._states:
            self.conflict = f'several nodes named {names[0]} send commands; stop all but one'
        else:
            self.conflict = ''
        self._commands = self._states = 0


class RivalGuard:
    """Says whether a commander may begin, seeing who else publishes where it does.

    Whoever was there before has the arm: a commander that is switched on then waits. Discovery
    takes its time, so that a rival found within `SETTLING` seconds is taken to have been there;
    one that comes later is in the wrong, and is complained about by the diagnostics.
    """

    def __init__(self, own_name: str):
        """Begin before the first look; `own_name` is the full name of the commander's node."""
        self._own = own_name
        self._since = 0.0
        self.rivals: list[str] = []
        self.waits = False

    @property
    def conflict(self) -> str:
        """What is wrong, for people; empty if nothing is."""
        if not self.rivals:
            return ''
        which = ', '.join(self.rivals)
        consequence = ': no torque is given until it stops' if self.waits else ''
        return f'{which} commands the same motors{consequence}'

    def switch_on(self, now: float) -> None:
        """Begin at this time, s."""
        self._since, self.waits = now, False

    def look(self, publishers: Collection[str], now: float) -> bool:
        """Judge the present; return whether the way has just become clear.

        Args:
            publishers: the node name behind every publisher of the commands.
            now: s.
        """
        self.rivals = sorted(set(publishers) - {self._own})
        if self.rivals and now - self._since < SETTLING:
            self.waits = True
        freed = self.waits and not self.rivals
        if freed:
            self.switch_on(now)
        return freed
