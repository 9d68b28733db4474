"""Keep what a simulation does in a file, so that it can be made again: see run_messages.py."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

from robot_dynamics.ros import messages
from robot_dynamics.ros.recordings import run_messages
from robot_dynamics.ros.recordings.cdr import serialized
from robot_dynamics.ros.recordings.run_file import RecordingError, RunFile
from robot_dynamics.ros.recordings.run_messages import TYPES, Written
from robot_dynamics.simulation.commands import Deed, Load, Place, no_journal
from robot_dynamics.simulation.scheduling import SimulationLoop


def new_file(record_to: str, now: datetime.datetime) -> Path:
    """Return the file to record to: that one, or one named after the time in that folder.

    Raises RecordingError if it is there already, or its folder is not.
    """
    path = Path(record_to).expanduser()
    if not record_to:
        raise RecordingError('record_to is empty; it must name a new file or a folder')
    if path.is_dir():
        path = path / f'simulation_{now:%Y-%m-%d_%H-%M-%S_%f}.mcap'
    if path.exists():
        raise RecordingError(f'{path} is there already; record_to must name a new file')
    if not path.parent.is_dir():
        raise RecordingError(f'{path}: no such folder')
    return path


class RunRecorder:
    """Records a loop from now on; `file` is where."""

    def __init__(
        self,
        path: Path,
        loop: SimulationLoop,
        description: str,
        parameters: dict[str, Any],
        *,
        node: str,
        resolve: Callable[[str], str],
    ):
        """Begin a file with all that brings another simulator into the present state.

        Args:
            path: of a new file.
            loop: to record.
            description: the URDF.
            parameters: of the node, by name.
            node: its full name.
            resolve: returns the full name of a topic.

        Raises:
            RecordingError: the file cannot be written.
        """
        model = loop.plant.simulator.arm.model
        self._loop, self._names, self._node = loop, model.joint_names, node
        self._step = round(loop.options.time_step * messages.SECOND)
        self._began = messages.SECOND * int(datetime.datetime.now().timestamp())
        self._base = loop.plant.steps
        self._topics = {topic: resolve(topic) for topic in TYPES}
        self._types = {topic: run_messages.type_name(kind) for topic, kind in TYPES.items()}
        self._last_seen = -1
        about = {'model': model.fingerprint(), 'machine': platform.machine()}
        self.file = RunFile(path, about | self._topics)
        self._put(run_messages.described(description))
        self.parameters(parameters, new=True)
        loop.plant.begin_journal(self._note)
        self.seen()
        self.file.flush()

    @property
    def seconds(self) -> float:
        """Simulated time that was recorded, s."""
        return (self._loop.plant.steps - self._base) * self._step / messages.SECOND

    def seen(self) -> None:
        """Keep the present state, unless it was kept."""
        plant = self._loop.plant
        if plant.steps != self._last_seen:
            self._last_seen = plant.steps
            self._put(run_messages.seen(plant, self._names, self._loop.stamp))

    def parameters(self, values: dict[str, Any], *, new: bool = False) -> None:
        """Keep parameters: all of them, or those that change now."""
        event = run_messages.parameter_event(self._node, values, self._loop.stamp, new=new)
        self._put(Written(run_messages.PARAMETERS, event))

    def close(self) -> None:
        """Keep the present state, and end the file."""
        self._loop.plant.journal = no_journal
        self.seen()
        self.file.close()

    def _note(self, _steps: int, deed: Deed) -> None:
        if isinstance(deed, Place):
            self._last_seen = -1
        if not isinstance(deed, Load):  # that is told by parameters
            self._put(run_messages.written(deed, self._names, self._loop.stamp))

    def _put(self, written: Written) -> None:
        topic, message = written
        time = self._began + (self._loop.plant.steps - self._base) * self._step
        self.file.add(
            self._topics[topic],
            self._types[topic],
            lambda: run_messages.definition(self._types[topic].replace('/msg/', '/')),
            serialized(message),
            time,
        )
