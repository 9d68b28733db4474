"""Read a recorded run: the robot, the parameters, and what was done with it, step by step."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rclpy.serialization import deserialize_message

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.ros import messages
from robot_dynamics.ros.parameters import snapshot, specs, values
from robot_dynamics.ros.recordings import run_messages
from robot_dynamics.ros.recordings.run_file import RecordingError
from robot_dynamics.ros.recordings.run_messages import DESCRIPTION, PARAMETERS, SEEN, TYPES
from robot_dynamics.ros.simulator_parameters import (
    SimulatorParameters,
    loads,
    plant,
    unloaded_robot,
)
from robot_dynamics.simulation.commands import Plant
from robot_dynamics.simulation.replay import Entry, Seen


class Heard(NamedTuple):
    """A message of the file."""

    topic: str  # as in run_messages
    message: Any
    time: int  # ns


class RecordedRun:
    """A recorded run.

    Attributes:
        parameters: of the simulator, as they were at the beginning.
        model: the robot, without what it carries.
        end: how the file ends: '' as it should, else why it does not.
    """

    def __init__(self, path: Path):
        """Read the beginning of a file.

        Raises:
            RecordingError: it is not the recording of a simulation.
            RobotDynamicsError: the robot, or a parameter, is refused.
        """
        self.path, self.end = path, ''
        self._heard = self._messages()
        first = [heard for _, heard in zip(range(2), self._heard, strict=False)]
        if [heard.topic for heard in first] != [DESCRIPTION, PARAMETERS]:
            raise RecordingError(f'{path} does not begin as the recording of a simulation does')
        self._began = first[0].time
        known = specs(SimulatorParameters)
        given = run_messages.parameter_values(first[1].message)
        self.parameters = snapshot(
            SimulatorParameters, {name: given[name] for name in given if name in known}
        )
        self.model = unloaded_robot(self.parameters, first[0].message.data)
        self.recorded_model = self._metadata.get('model', '')

    def plant(self) -> Plant:
        """Return the arm as it was made, before anything was done with it."""
        return plant(self.parameters, Dynamics(self.model))

    def log(self) -> Iterator[Entry]:
        """Yield what was done and seen. Once: the file is read meanwhile."""
        step = round(self.parameters.time_step * messages.SECOND)
        parameters = self.parameters
        yield from ((0, deed) for deed in loads(parameters))
        for topic, message, time in self._heard:
            steps = (time - self._began) // step
            if topic == SEEN:
                yield steps, Seen(np.array(message.position), np.array(message.velocity))
            elif topic == PARAMETERS:
                parameters = snapshot(
                    SimulatorParameters,
                    {**values(parameters), **run_messages.parameter_values(message)},
                )
                yield from ((steps, deed) for deed in loads(parameters))
            elif topic != DESCRIPTION:
                yield steps, run_messages.deed(topic, message)

    def _messages(self) -> Iterator[Heard]:
        """Yield the messages in the order of the file, as far as it can be read."""
        try:
            from mcap.exceptions import McapError
            from mcap.records import Channel, Message, Metadata
            from mcap.stream_reader import StreamReader
        except ImportError as error:
            raise RecordingError(
                'a recording is read with the Python package mcap: pip install mcap'
            ) from error
        self._metadata: dict[str, str] = {}
        ours: dict[str, str] = {}  # what the table calls a topic, by its name in the file
        topics: dict[int, str] = {}  # by channel
        try:
            with self.path.open('rb') as stream:
                for record in StreamReader(stream, validate_crcs=True).records:
                    if isinstance(record, Metadata):
                        self._metadata.update(record.metadata)
                        ours = {self._metadata.get(topic, ''): topic for topic in TYPES}
                    elif isinstance(record, Channel):
                        topics[record.id] = ours.get(record.topic, '')
                    elif isinstance(record, Message) and topics.get(record.channel_id):
                        topic = topics[record.channel_id]
                        message = deserialize_message(record.data, TYPES[topic])
                        yield Heard(topic, message, record.log_time)
        except (McapError, struct.error, ValueError, RuntimeError) as error:
            self.end = str(error) or type(error).__name__
        except OSError as error:
            raise RecordingError(f'{self.path}: {error.strerror}') from error
