# SPDX-License-Identifier: Apache-2.0
"""Reader of joint states and robot descriptions in rosbag2 recordings.

Supported are folders of `ros2 bag record` in sqlite3 or MCAP, compressed or not; single files of
either; and folders without metadata.yaml, as after a crash of the recorder. The two message types
are the same in all distributions, so recordings without definitions are supported as well.

Source: rosbags, https://ternaris.gitlab.io/rosbags, an optional dependency.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.extras import needed
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.common.yaml_text import read_yaml
from robot_dynamics.recordings.recording import (
    WITHOUT_EFFORTS,
    JointSample,
    Recording,
    by_joint,
)

JOINT_STATE, STRING = 'sensor_msgs/msg/JointState', 'std_msgs/msg/String'
DESCRIPTION = 'robot_description'
REPAIR = {
    '.mcap': 'repair it: mcap recover FILE -o REPAIRED',
    '.db3': 'repair it: sqlite3 FILE .recover | sqlite3 REPAIRED',
}
METADATA = 'metadata.yaml'
FIRST = 20  # messages of a topic in which efforts are searched


class BagError(RobotDynamicsError, OSError):
    """A recording cannot be read, or lacks the requested topics."""


class Bag(NamedTuple):
    """Joint states and description of one robot."""

    topic: str
    samples: list[JointSample]
    description: str  # URDF text; empty if there is none

    def recording(self, joint_names: Sequence[str]) -> Recording:
        """Return the samples by joint. Raises RecordingError as `by_joint`."""
        return by_joint(self.samples, joint_names)


def read_bag(path: str | Path, topic: str = '', description: bool = True) -> Bag:
    """Return the joint states of a recording, and the robot's description if it has one.

    Args:
        path: a folder or a file.
        topic: of the joint states; the only one with positions and efforts if omitted.
        description: read the robot description as well.

    Raises:
        BagError: the recording cannot be read, or not all of it, rosbags is not installed, no
            topic or several have positions and efforts, or several robots are described.
    """
    path = Path(path)
    with bag_contents(path) as contents:
        topic = contents.topic_of_joint_states(path, topic)
        samples = [joint_sample(*one) for one in contents.messages(topic, JOINT_STATE)]
        return Bag(topic, samples, contents.description(path) if description else '')


def joint_sample(logged: int, message: Any) -> JointSample:
    """Return a joint state that was recorded at a time [ns]."""
    return JointSample(
        message.header.stamp.sec * SECOND + message.header.stamp.nanosec,
        logged,
        tuple(message.name),
        message.position,
        message.velocity,
        message.effort,
    )


def same_topic(topic: str, wanted: str) -> bool:
    """Return whether a topic is the one of an option, which may lack the first slash."""
    return topic.lstrip('/') == wanted.lstrip('/')


@contextmanager
def bag_contents(path: Path) -> Iterator[Contents]:
    """Open a recording: a folder or a file. Raises BagError for any error in reading it."""
    with _bag_errors(path), ExitStack() as stack:
        yield Contents([stack.enter_context(_opened(file)) for file in _files(path)])


class Contents:
    """The messages of some types, in one or more files."""

    def __init__(self, readers: Sequence[Any]):
        from rosbags.typesys import Stores, get_typestore

        self._readers = readers
        self._types = get_typestore(Stores.LATEST)

    def topics(self, kind: str) -> list[str]:
        """Return the topics of a type that have messages."""
        return sorted({c.topic for _, c in self._connections(kind) if c.msgcount})

    def messages(self, topic: str, kind: str) -> Iterator[tuple[int, Any]]:
        """Yield (time of recording [ns], message) of a topic.

        Raises:
            BagError: at the end, if the number differs from that in the index; for a type that is
                neither known nor defined in the recording.
        """
        for reader, connection in self._connections(kind):
            if connection.topic == topic:
                self._define(reader, connection)
                count = 0
                for _, logged, data in reader.messages([connection]):
                    yield logged, self._types.deserialize_cdr(data, kind)
                    count += 1
                if count != connection.msgcount:
                    raise BagError(
                        f'{reader.path}: {count} messages on {topic} can be read, its index has '
                        f'{connection.msgcount}: it is damaged; {_repair(reader.path)}'
                    )

    def _define(self, reader: Any, connection: Any) -> None:
        """Register the type of a connection, which is defined in the file."""
        from rosbags.typesys import get_types_from_msg

        kind, definition = connection.msgtype, connection.msgdef.data
        if kind in self._types.fielddefs:
            return
        if not definition:
            raise BagError(
                f'{reader.path}: no definition of {kind}, the type of {connection.topic}; record '
                'in MCAP, which stores definitions'
            )
        types = get_types_from_msg(definition, kind)
        known = self._types.fielddefs
        self._types.register({name: one for name, one in types.items() if name not in known})

    def topic_of_joint_states(self, path: Path, wanted: str) -> str:
        """Return the topic of measured states with efforts. Raises BagError."""
        topics = self.topics(JOINT_STATE)
        listed = ', '.join(topics) or 'none'
        if wanted:
            found = [topic for topic in topics if same_topic(topic, wanted)]
            if not found:
                raise BagError(f'{path}: no joint states on {wanted}; there are {listed}')
            return found[0]
        measured = [topic for topic in topics if self._has_efforts(topic)]
        if not measured:
            raise BagError(
                f'{path}: no joint states with positions and efforts; joint states on: {listed}; '
                f'{WITHOUT_EFFORTS}'
            )
        if len(measured) > 1:
            raise BagError(
                f'{path}: joint states with efforts on {", ".join(measured)}: name one topic'
            )
        return measured[0]

    def description(self, path: Path) -> str:
        """Return the description, '' if there is none. Raises BagError for several."""
        texts = {
            message.data: topic
            for topic in self.topics(STRING)
            if topic.split('/')[-1] == DESCRIPTION
            for _, message in self.messages(topic, STRING)
        }
        if len(texts) > 1:
            raise BagError(
                f'{path}: {len(texts)} robots are described on {", ".join(sorted(texts.values()))}'
                ': name the file of one of them'
            )
        return next(iter(texts), '')

    def _has_efforts(self, topic: str) -> bool:
        first = islice(self.messages(topic, JOINT_STATE), FIRST)
        return any(len(message.position) and len(message.effort) for _, message in first)

    def _connections(self, kind: str) -> Iterator[tuple[Any, Any]]:
        for reader in self._readers:
            for connection in reader.connections:
                if connection.msgtype == kind:
                    yield reader, connection


def _files(path: Path) -> list[Path]:
    """Return the files to open."""
    if path.is_dir() and not (path / METADATA).is_file():
        found = sorted(path.glob('*.mcap')) or sorted(path.glob('*.db3'))
        if not found:
            raise BagError(f'{path}: no recording; there is no {METADATA}, .mcap or .db3 file')
        return [regular(file) for file in found]
    if path.is_dir():
        # Within the bounds of our reader, before that of rosbags, which has none, reads it.
        content = read_yaml(path / METADATA)
        for name in content['rosbag2_bagfile_information']['relative_file_paths']:
            regular(path / name)
        return [path]
    regular(path)
    log = path.with_name(f'{path.name}-wal')
    if log.is_file() and log.stat().st_size:
        raise BagError(
            f'{log} holds messages that are not in {path.name} yet: sqlite3 {path} '
            "'PRAGMA wal_checkpoint(TRUNCATE)' puts them there"
        )
    return [path]


def regular(file: Path) -> Path:
    """Return a regular file; reading a pipe or a device might not end."""
    if not file.exists():
        raise BagError(f'{file}: No such file or directory')
    if not file.is_file():
        raise BagError(f'{file}: not a regular file; expected a recording')
    return file


def _opened(file: Path) -> Any:
    with needed('bags', 'recordings are read by rosbags', BagError):
        from rosbags.rosbag2 import Reader
    return Reader(file)


@contextmanager
def _bag_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except BagError:
        raise
    except Exception as error:  # rosbags raises any exception for damaged bytes
        raise BagError(
            f'{path}: cannot be read ({error or type(error).__name__}); if the recording is '
            f'incomplete, {_repair(path)}'
        ) from error


def _repair(path: Path) -> str:
    return REPAIR.get(path.suffix, 'open the file in it by itself')
