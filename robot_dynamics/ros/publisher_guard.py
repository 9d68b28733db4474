"""One commander per arm: notice when two publishers send commands to the same motors. No ROS here.

`PublisherGuard` is for who is commanded, `RivalGuard` and `NamesakeGuard` for who commands.

The graph alone cannot say so. A publisher that was killed stays in it until its lease runs out,
so a controller that was restarted is listed twice, under the same name; it must not be locked
out by its own ghost. Two nodes of different names are two commanders. Two of the same name are,
if twice as many commands arrive as states were published to be answered, or, for who would be
the second of them, if somebody answers while it is silent itself.
"""

from __future__ import annotations

import random
from collections.abc import Collection

# Commands per published state above which two are answering; one gives 1, and jitter little more.
TWO_ANSWER = 1.5
# s after switching on, in which whoever is discovered was there before: Fast DDS, left to itself,
# needs up to 3 s to discover it.
SETTLING = 4.0
FEW = 6  # commands: fewer say nothing
SILENCE = 0.5  # s in which a commander that is alive answers a state


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


class NamesakeGuard:
    """Says whether a commander may begin while a publisher of its own name is in the graph.

    That is another node, or the ghost of its own past: a ghost answers no state. So it keeps
    silent and listens. If another node answers, it waits until that is gone. Two that begin
    together listen for different times, by chance; should both have begun all the same, each hears
    two answers to a state, and they try again.
    """

    def __init__(self, own_name: str):
        """Begin before the first look; `own_name` is the full name of the commander's node."""
        self._own = own_name
        self._since = self._began = 0.0
        self._namesakes = self._ghosts = 0
        self._asked: float | None = None  # s, when a state came that nobody has answered since
        self._others = self._answers = self._states = 0
        self.waits = False  # whether this commander keeps silent
        self.listens = False  # whether it has to be told of commands, its own included

    @property
    def conflict(self) -> str:
        """What is wrong, for people; empty if nothing is."""
        if self.waits and self._others:
            return f'another {self._own} commands the same motors: no torque until it stops'
        if not self.waits and self._namesakes > self._ghosts:
            return f'another {self._own} is there for the same motors'
        return ''

    def switch_on(self, now: float) -> None:
        """Begin at this time, s."""
        self._since, self.waits, self.listens, self._ghosts = now, False, False, 0

    def look(self, namesakes: int, now: float) -> None:
        """Judge the present.

        Args:
            namesakes: how many publishers of this name there are beside one's own.
            now: s.
        """
        self._namesakes = namesakes
        self._ghosts = min(self._ghosts, namesakes)
        if not namesakes:
            self.waits = self.listens = False
        elif self.waits:
            return
        elif self._is_unknown(now) or self._two_answer():
            self._wait()
        elif now - self._began > SETTLING:
            self.listens = False

    def _is_unknown(self, now: float) -> bool:
        return self._namesakes > self._ghosts and now - self._since < SETTLING

    def _two_answer(self) -> bool:
        return self._states >= FEW and self._answers > TWO_ANSWER * self._states

    def _wait(self) -> None:
        self.waits = self.listens = True
        self._patience = SILENCE * (1 + random.random())
        self._asked, self._ghosts = None, 0
        self._others = self._answers = self._states = 0

    def asked(self, now: float) -> bool:
        """Return whether a state that has come at this time, s, is to be answered."""
        if self.waits and self._asked is None:
            self._asked = now
        elif self.waits and now - self._asked > self._patience:
            self.waits, self._began, self._ghosts = False, now, self._namesakes
        self._states += not self.waits
        return not self.waits

    def heard(self) -> None:
        """Take notice of a command."""
        if self.waits:
            self._others += 1
            self._asked = None
        else:
            self._answers += 1
