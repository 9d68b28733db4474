"""The recording of a simulator node: begun and ended on request, and given up if the disk is full.

While it goes on, what was recorded is put on the disk once a second: of a process that is killed
no more than that is lost. The simulation never waits for a disk that cannot take it: it goes on
without being recorded, and says so.
"""

from __future__ import annotations

import datetime
from typing import Any

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.parameters import values
from robot_dynamics.ros.recordings.run_file import RecordingError
from robot_dynamics.ros.recordings.run_recorder import RunRecorder, new_file
from robot_dynamics.ros.simulator_parameters import SimulatorParameters, unloaded_robot
from robot_dynamics.simulation.run_control import Outcome, Result
from robot_dynamics.simulation.scheduling import SimulationLoop
from robot_dynamics.urdf.loading import urdf_text

FLUSH = 1.0  # s


class SimulatorRecording:
    """What a simulator node records, if it does."""

    def __init__(self, node: Any):
        self._node = node
        self._recorder: RunRecorder | None = None
        self._flushed = 0.0
        self.failure = ''  # of the last recording, until somebody ends it or begins another

    def begin(self, loop: SimulationLoop, description: str) -> Outcome:
        """Record a loop from now on, into the file of the parameter record_to.

        Args:
            loop: to record.
            description: its URDF; empty if that is the file of the parameter.
        """
        if self._recorder is not None:
            return Outcome(Result.ALREADY, f'is recording already: {self._recorder.file.path}')
        node, parameters = self._node, self._node.parameters
        if loop.plant.remembers:
            return Outcome(
                Result.NOT_NOW,
                'drives with a memory, or elastic joints, are in motion: begin after a reset',
            )
        try:
            path = new_file(parameters.record_to, datetime.datetime.now())
            self._recorder = RunRecorder(
                path,
                loop,
                _checked(description, parameters, node.base.model.fingerprint()),
                {**values(parameters), 'robot_description': ''},
                node=node.get_fully_qualified_name(),
                resolve=node.resolve_topic_name,
            )
        except RobotDynamicsError as error:
            self.failure = str(error)
            return Outcome(Result.FAILED, self.failure)
        self.failure = ''
        return Outcome(Result.DONE, f'recording to {path}')

    def end(self) -> Outcome:
        """End the file."""
        if self._recorder is None:
            failure, self.failure = self.failure, ''  # who asks is told
            if failure:
                return Outcome(Result.FAILED, failure)
            return Outcome(Result.ALREADY, 'is not recording')
        recorder, self._recorder = self._recorder, None
        recorder.close()
        if self._failed(recorder):
            return Outcome(Result.FAILED, self.failure)
        return Outcome(
            Result.DONE,
            f'{recorder.file.messages} messages, {recorder.seconds:.3f} s in {recorder.file.path}',
        )

    def seen(self) -> None:
        """Keep the present state, which was published."""
        if self._recorder is not None:
            self._recorder.seen()

    def parameters(self, changes: dict[str, Any]) -> None:
        """Keep parameters that change."""
        if self._recorder is not None and changes:
            self._recorder.parameters(changes)

    def look(self, now: float) -> None:
        """Put on the disk what is not, now and then; give up where that fails."""
        recorder = self._recorder
        if recorder is None:
            return
        if now - self._flushed >= FLUSH or now < self._flushed:
            recorder.file.flush()
            self._flushed = now
        if self._failed(recorder):
            self._recorder = None
            recorder.close()

    def figures(self) -> dict[str, str]:
        """Return the values for the diagnostics."""
        if self._recorder is None:
            return {}
        file = self._recorder.file
        return {'recording to': str(file.path), 'messages on disk': str(file.messages)}

    def _failed(self, recorder: RunRecorder) -> bool:
        """Say whether the file could not be written to its end."""
        if recorder.file.failure:
            self.failure = (
                f'recording ended: {recorder.file.failure}; the {recorder.file.messages} messages '
                f'before that are in {recorder.file.path}, and the simulation goes on'
            )
        return bool(recorder.file.failure)


def _checked(description: str, parameters: SimulatorParameters, fingerprint: str) -> str:
    """Return the URDF that is simulated.

    Raises RecordingError if that is a file, and it has changed since.
    """
    if description:
        return description
    contents = urdf_text(parameters.robot_description_file)
    text = contents if isinstance(contents, str) else contents.decode()
    if unloaded_robot(parameters, text).fingerprint() != fingerprint:
        raise RecordingError(
            f'{parameters.robot_description_file} has changed since the simulator read it'
        )
    return text
