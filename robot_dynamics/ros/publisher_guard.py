"""Detects that several nodes command `simulator_node`, until it uses `command_guard`."""

from __future__ import annotations

from collections.abc import Collection

# Commands per published state above which two are answering; one gives 1, and jitter little more.
TWO_ANSWER = 1.5
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
