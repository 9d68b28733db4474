"""Command log of a simulator node, started and ended on request.

While it runs, the log is flushed once a second: a killed process loses no more than that. An
error of the disk ends the log and is reported; the simulation continues.
"""

from __future__ import annotations

import datetime
from pathlib import Path

from typing_extensions import override

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros import health
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.part import Part
from robot_dynamics.simulation.command_log import CommandLog, CommandLogError
from robot_dynamics.simulation.run_control import Outcome, Result
from robot_dynamics.simulation.scheduling import SimulationLoop

FLUSH_PERIOD = 1.0  # s


class SimulatorRecording(Part):
    """Part of a simulator node: its command log, while it records.

    Attributes:
        failure: error of the last recording, until it is ended or another one is started.
    """

    def __init__(self, node: RobotNode):
        self._node = node
        self._log: CommandLog | None = None
        self.failure = ''
        node.create_steady_timer(FLUSH_PERIOD, self.flush)

    def begin(self, loop: SimulationLoop, urdf: str | bytes) -> Outcome:
        """Start a log of a loop, and of its URDF, in the file of the parameter record_to."""
        if self._log is not None:
            return Outcome(Result.ALREADY, f'is recording already: {self._log.path}')
        parameters, model = self._node.parameters, self._node.base.model
        if loop.plant.has_hidden_state:
            return Outcome(
                Result.NOT_NOW,
                'drives with a delay, lag or rate limit, friction with a law, or elastic joints '
                'are in motion: start recording after a reset',
            )
        try:
            self._log = CommandLog(
                new_file(parameters.record_to, datetime.datetime.now()),
                loop.plant,
                urdf if isinstance(urdf, str) else urdf.decode(),
                parameters.settings(model),
            )
        except RobotDynamicsError as error:
            self.failure = str(error)
            return Outcome(Result.FAILED, self.failure)
        self.failure = ''
        return Outcome(Result.DONE, f'recording to {self._log.path}')

    def end(self) -> Outcome:
        """End the log."""
        if self._log is None:
            failure, self.failure = self.failure, ''  # reported once
            if failure:
                return Outcome(Result.FAILED, failure)
            return Outcome(Result.ALREADY, 'is not recording')
        log, self._log = self._log, None
        log.close()
        if self._failed(log):
            return Outcome(Result.FAILED, self.failure)
        seconds = log.steps * self._node.parameters.time_step
        return Outcome(Result.DONE, f'{log.records} records, {seconds:.3f} s in {log.path}')

    def add_state(self) -> None:
        """Record the present state."""
        if self._log is not None:
            self._log.add_state()

    def flush(self) -> None:
        """Write to the disk, and drop a log that failed."""
        if self._log is not None:
            self._log.flush()
            if self._failed(self._log):
                self._log = None

    @override
    def status(self) -> Status | None:
        """Return the error of the last recording."""
        return (health.ERROR, self.failure) if self.failure else None

    @override
    def figures(self) -> dict[str, str]:
        """Return the values for the diagnostics."""
        if self._log is None:
            return {}
        return {'recording to': str(self._log.path), 'records on disk': str(self._log.records)}

    def _failed(self, log: CommandLog) -> bool:
        if log.failure:
            self.failure = (
                f'recording ended: {log.failure}; the {log.records} records before that are in '
                f'{log.path}, and the simulation continues'
            )
        return bool(log.failure)


def new_file(record_to: str, now: datetime.datetime) -> Path:
    """Return the file to record to: `record_to`, or a file named by the time in that folder.

    Raises:
        CommandLogError: the file exists, its folder does not, or `record_to` is empty.
    """
    path = Path(record_to).expanduser()
    if not record_to:
        raise CommandLogError('record_to is empty; expected the name of a new file, or a folder')
    if path.is_dir():
        path = path / f'simulation_{now:%Y-%m-%d_%H-%M-%S_%f}.log'
    if path.exists():
        raise CommandLogError(f'{path} exists; record_to must name a new file')
    if not path.parent.is_dir():
        raise CommandLogError(f'{path}: no such folder')
    return path
