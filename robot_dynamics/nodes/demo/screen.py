"""What people see while the demonstration runs: a live line in a terminal, plain lines elsewhere.

No ROS here.
"""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from robot_dynamics.nodes.demo.recording import SECOND, Recording

LIVE_PERIOD = 0.125  # s, between two looks of a person
LINES = 5  # of a log, per run


class Screen(AbstractContextManager):
    """Plain lines."""

    def __init__(self) -> None:
        self._title, self._duration = '', 0.0
        self._part = 0  # of LINES, shown last

    def __exit__(self, *_: object) -> None:
        return None

    def say(self, text: str) -> None:
        """Say something in a line of its own."""
        print(text, flush=True)

    def node(self, name: str, line: str) -> None:
        """Pass on a line of a node."""
        self.say(f'[{name}] {line}')

    def begin(self, title: str, duration: float) -> None:
        """Begin a run of so many seconds."""
        self._title, self._duration, self._part = title, duration, 0

    def progress(self, recording: Recording) -> None:
        """Show how a run goes, from time to time."""
        simulated = recording.q.last / SECOND
        if self.due(simulated):
            self.show(simulated, figures_now(recording))

    def due(self, simulated: float) -> bool:
        """Say whether it is time for another look, at a simulated time [s]."""
        before, self._part = self._part, int(LINES * simulated / self._duration)
        return self._part > before

    def show(self, simulated: float, figures: str) -> None:
        """Show the figures of a moment."""
        self.say(f'{self._title}: {simulated:5.2f} of {self._duration:g} s   {figures}')

    def end(self) -> None:
        """End a run."""

    def table(self, rows: list[tuple[str, str]]) -> None:
        """Show what was found, name by name."""
        width = max(len(name) for name, _ in rows)
        for name, value in rows:
            self.say(f'{name:<{width}}  ' + value.replace('\n', f'\n{"":<{width}}  '))


class LiveScreen(Screen):
    """A progress bar that stays at the bottom, above it what is said."""

    def __init__(self) -> None:
        super().__init__()
        self._looked = 0.0
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self.console = Console(highlight=False)
        self._progress = Progress(
            TextColumn('{task.description:<17}'),
            BarColumn(bar_width=12),
            TextColumn('{task.completed:5.2f} s'),
            TextColumn('{task.fields[figures]}'),
            console=self.console,
            refresh_per_second=1 / LIVE_PERIOD,
        )
        self._task: Any = None

    def __enter__(self) -> LiveScreen:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        """Say something above the bar."""
        self.console.print(text, markup=False, soft_wrap=True)

    def node(self, name: str, line: str) -> None:
        """Pass on a line of a node, less brightly."""
        self.console.print(f'{name:>24} │ {line}', style='dim', markup=False, soft_wrap=True)

    def table(self, rows: list[tuple[str, str]]) -> None:
        """Show what was found, below the finished bars."""
        from rich.table import Table

        self._progress.stop()
        table = Table(show_header=False)
        for row in rows:
            table.add_row(*row)
        self.console.print(table, markup=False)

    def begin(self, title: str, duration: float) -> None:
        """Begin a run of so many seconds."""
        super().begin(title, duration)
        self._task = self._progress.add_task(title, total=duration, figures='')

    def due(self, simulated: float) -> bool:
        """Say whether a person can see that something changed since the last look."""
        now = time.monotonic()
        if now - self._looked < LIVE_PERIOD:
            return False
        self._looked = now
        return True

    def show(self, simulated: float, figures: str) -> None:
        """Move the bar."""
        self._progress.update(self._task, completed=simulated, figures=figures)

    def end(self) -> None:
        """Fill the bar."""
        self._progress.update(self._task, completed=self._duration)


def new_screen(*, headless: bool) -> Screen:
    """Return what suits where the output goes."""
    if headless or not sys.stdout.isatty():
        return Screen()
    try:
        return LiveScreen()
    except ImportError:
        return Screen()  # rich is not installed


def figures_now(recording: Recording) -> str:
    """Return error, torque, residual and real-time factor at this moment."""
    t = np.array([recording.q.last / SECOND])
    error = np.abs(recording.q.tail() - recording.desired(t).q[0]).max()
    torque = np.abs(recording.effort.tail()).max()
    parts = [f'error {error:.1e} rad', f'torque {torque:5.1f} N m']
    if len(recording.residual):
        parts.append(f'residual {np.abs(recording.residual.tail()).max():.0e} N m')
    if recording.wall_time > 0:
        parts.append(f'{recording.simulated / recording.wall_time:.2f} x real time')
    return '  '.join(parts)
