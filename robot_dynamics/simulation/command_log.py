"""A file of the commands and states of a simulation, enough to repeat it bit for bit.

The file is one line of JSON (format, URDF, settings) and an array of records of one size, in the
order of the run:

    step    <i8      steps made since the log began
    kind    <i4      one of `Kind`
    frame   <i4      index in the model's frame_names; -1: none
    values  <f8[k]   by kind; the rest is zero; NaN first: None; k = max(2n, 13)

A log of any length takes constant memory: `CHUNK` records are collected, then appended to the
file. If the process is killed, the records since the last `flush` are lost; every whole record
in the file can be read. A log that was closed ends with a record of kind END.
"""

from __future__ import annotations

import enum
import json
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.inertia import Inertial
from robot_dynamics.simulation.commands import (
    Command,
    EffortCommand,
    ExternalWrench,
    Plant,
    SetPayload,
    SetState,
)
from robot_dynamics.simulation.settings import SimulationSettings
from robot_dynamics.spatial import Array

FORMAT = 'robot_dynamics command log 2'
CHUNK = 4096  # records
NONE = np.array([np.nan])
LONGEST_HEADER = 64 * 1024 * 1024  # bytes

Made = TypeVar('Made')


class CommandLogError(RobotDynamicsError, OSError):
    """A command log cannot be written or read."""


class RecordedState(NamedTuple):
    """A state of the recorded motion."""

    q: Array  # (n,) rad or m
    qd: Array  # (n,)


Entry = tuple[int, Command | RecordedState]  # steps before it, and what it is


class Kind(enum.IntEnum):
    """What a record holds, and its values."""

    END = 0  # none: the log was closed
    STATE = 1  # q, qd
    SET_STATE = 2  # q, qd
    EFFORT = 3  # tau
    WRENCH = 4  # moment, force
    PAYLOAD = 5  # mass, com, inertia by rows


def _record(n: int) -> np.dtype:
    return np.dtype(
        [('step', '<i8'), ('kind', '<i4'), ('frame', '<i4'), ('values', '<f8', (max(2 * n, 13),))]
    )


class CommandLog:
    """Appends the commands and states of a plant to a file.

    Attributes:
        path: of the file.
        records: number of records in the file.
        failure: why the log ended before it was closed; empty if it did not.
    """

    def __init__(self, path: Path, plant: Plant, urdf: str, settings: SimulationSettings):
        """Start a log of a plant with the commands that lead a new plant to its present state.

        Args:
            path: of a new file.
            plant: made by `settings` from the robot of the URDF.
            urdf: text of the description.
            settings: of the simulation.

        Raises:
            CommandLogError: the file exists or cannot be written.
        """
        model = plant.simulator.arm.model
        header = {
            'format': FORMAT,
            'machine': platform.machine(),
            'n': model.n,
            'urdf': urdf,
            'settings': asdict(settings),
        }
        self.path, self.records, self.failure = path, 0, ''
        self._plant, self._base, self._state_at = plant, plant.steps, -1
        self._frames = {name: k for k, name in enumerate(model.frame_names)}
        self._buffer, self._count = np.zeros(CHUNK, _record(model.n)), 0
        try:
            self._file = path.open('xb', buffering=0)
        except OSError as error:
            raise CommandLogError(f'{path}: {error.strerror}; nothing is recorded') from error
        self._write(json.dumps(header).encode() + b'\n')
        plant.start_log(self._on_command)
        self.add_state()
        self.flush()
        if self.failure:
            path.unlink(missing_ok=True)
            raise CommandLogError(f'{path}: {self.failure}; nothing is recorded')

    @property
    def steps(self) -> int:
        """Number of steps since the log began."""
        return self._plant.steps - self._base

    def add_state(self) -> None:
        """Add the present state, unless it is in the log."""
        if self._state_at != self.steps:
            self._state_at = self.steps
            self._add(Kind.STATE, values=(self._plant.q, self._plant.qd))

    def flush(self) -> None:
        """Append all collected records to the file; an error of the disk ends the log."""
        if self._count and not self.failure:
            self._write(self._buffer[: self._count].tobytes())
            if not self.failure:
                self.records += self._count
            self._count = 0

    def close(self) -> None:
        """Add the present state and end the log."""
        self._plant.listener = None
        self.add_state()
        self._add(Kind.END)
        self.flush()
        if not self.failure:
            self._file.close()

    def _on_command(self, _steps: int, command: Command) -> None:
        match command:
            case SetState():
                self._state_at = -1
                self._add(Kind.SET_STATE, values=command)
            case EffortCommand(tau):
                self._add(Kind.EFFORT, values=(NONE if tau is None else tau,))
            case ExternalWrench(frame, wrench):
                self._add(Kind.WRENCH, frame, (NONE if wrench is None else wrench,))
            case SetPayload(link, body):
                values: tuple[Array, ...] = (NONE,)
                if body is not None:
                    values = np.array([body.mass]), body.com, body.inertia_com.ravel()
                self._add(Kind.PAYLOAD, link, values)

    def _add(self, kind: Kind, frame: str = '', values: tuple[Array, ...] = ()) -> None:
        if self.failure:
            return
        record = self._buffer[self._count]
        record['step'], record['kind'] = self.steps, kind
        record['frame'] = self._frames.get(frame, -1)
        target, k = record['values'], 0
        for part in values:
            target[k : k + len(part)] = part
            k += len(part)
        target[k:] = 0.0
        self._count += 1
        if self._count == CHUNK:
            self.flush()

    def _write(self, data: bytes) -> None:
        try:
            while data and not self.failure:
                data = data[self._file.write(data) :]
        except OSError as error:
            self.failure = error.strerror or str(error)
            self._plant.listener = None
            self._file.close()


class RecordedRun:
    """A command log that is read.

    Attributes:
        urdf: text of the robot's description.
        settings: of the simulation.
        model: the robot, without payloads.
        machine: processor architecture on which it was recorded.
        complete: whether the log was closed; known once `entries` was read to its end.
    """

    def __init__(self, path: Path):
        """Read the beginning of a file.

        Raises:
            CommandLogError: the file cannot be read, or is not a command log.
            RobotDynamicsError: its robot or its settings are invalid.
        """
        self.path, self.complete = path, False
        try:
            with path.open('rb') as stream:
                line = stream.readline(LONGEST_HEADER)
        except OSError as error:
            raise CommandLogError(f'{path}: {error.strerror}') from error
        try:
            header = json.loads(line)
            if header['format'] != FORMAT:
                raise ValueError(header['format'])
            self.urdf, self.machine = str(header['urdf']), str(header['machine'])
            self.settings = SimulationSettings.from_content(header['settings'])
            n = header['n']
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise CommandLogError(
                f'{path}: not a command log of the simulator; expected a file that simulator_node '
                'wrote to record_to'
            ) from error
        self._offset = len(line)
        self.model = self._made(lambda: self.settings.model(self.urdf))
        if self.model.n != n:
            raise CommandLogError(f'{path}: {n} joints recorded; the URDF has {self.model.n}')

    def plant(self) -> Plant:
        """Return the simulated arm before the first command.

        Raises:
            RobotDynamicsError: a setting is invalid.
        """
        return self._made(lambda: self.settings.plant(Dynamics(self.model)))

    def entries(self) -> Iterator[Entry]:
        """Yield commands and states in the order of the run.

        Raises:
            CommandLogError: the file cannot be read, or a record is damaged.
        """
        last, self.complete = 0, False
        for record in self._records():
            step, kind, frame, values = record.item()
            if kind == Kind.END:
                self.complete = True
                return
            if step < last or not -1 <= frame < len(self.model.frame_names):
                raise CommandLogError(f'{self.path}: damaged after {last} steps')
            last = step
            yield step, self._entry(kind, frame, np.array(values), last)

    def _made(self, make: Callable[[], Made]) -> Made:
        try:
            return make()
        except RobotDynamicsError:
            raise
        except (TypeError, ValueError) as error:
            raise CommandLogError(f'{self.path}: invalid settings: {error}') from error

    def _records(self) -> Iterator[np.void]:
        record = _record(self.model.n)
        try:
            with self.path.open('rb') as stream:
                stream.seek(self._offset)
                while data := stream.read(CHUNK * record.itemsize):
                    # A killed process may leave a part of a record at the end.
                    yield from np.frombuffer(data, record, len(data) // record.itemsize)
        except OSError as error:
            raise CommandLogError(f'{self.path}: {error.strerror}') from error

    def _entry(self, kind: int, frame: int, values: Array, last: int) -> Command | RecordedState:
        n = self.model.n
        name = self.model.frame_names[frame] if frame >= 0 else ''
        absent = bool(np.isnan(values[0]))
        match kind:
            case Kind.STATE:
                return RecordedState(values[:n], values[n : 2 * n])
            case Kind.SET_STATE:
                return SetState(values[:n], values[n : 2 * n])
            case Kind.EFFORT:
                return EffortCommand(None if absent else values[:n])
            case Kind.WRENCH:
                return ExternalWrench(name, None if absent else values[:6])
            case Kind.PAYLOAD if absent:
                return SetPayload(name, None)
            case Kind.PAYLOAD:
                inertia = values[4:13].reshape(3, 3)
                return SetPayload(name, Inertial(float(values[0]), values[1:4], inertia))
        raise CommandLogError(f'{self.path}: damaged after {last} steps: record of kind {kind}')
