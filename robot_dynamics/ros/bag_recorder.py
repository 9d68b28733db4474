# SPDX-License-Identifier: Apache-2.0
"""Recorder of topics in a rosbag2 folder (MCAP), without ros2cli.

Each topic is recorded from its first publisher on, as bytes, in the type and the quality of
service that its publishers offer. Messages wait in the queue of their subscription until they are
written.

Source: rosbags, https://ternaris.gitlab.io/rosbags, an optional dependency.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.extras import needed
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.common.yaml_text import read_yaml
from robot_dynamics.recordings.bag import METADATA, REPAIR, BagError
from robot_dynamics.ros import messages
from robot_dynamics.ros.graph_client import POLL, GraphClient, GraphError

RECORDER = 'recorder', 'robot-dynamics record'  # in the metadata of its recordings
DEPTH = 10_000  # messages: several seconds of the fastest drivers
SAVED = 0.5  # s, between two times at which the file on the disk is complete
# Records DataEnd (0x0f) and Footer (0x02) without a summary, and the magic bytes.
END = b'\x0f' + (4).to_bytes(8, 'little') + bytes(4)
END += b'\x02' + (20).to_bytes(8, 'little') + bytes(20) + b'\x89MCAP0\r\n'


class RecordedTopic:
    """A topic that is recorded from its first publisher on.

    Attributes:
        name: fully qualified.
        count: of messages written.
        received: time of the last message, of the monotonic clock [s]; 0: none.
    """

    def __init__(self, client: GraphClient, name: str):
        """Record a topic of this full name."""
        self.name, self.count, self.received = name, 0, 0.0
        self._node = client.node
        self._subscription: Any = None
        self._connection: Any = None
        self._profiles: list[QoSProfile] = []  # that the publishers offer
        self._waiting: list[tuple[int, bytes]] = []

    def poll(self) -> int:
        """Take the messages of the queue; return how many are to be written.

        Raises:
            GraphError: its type is not installed, or its publishers disagree on it.
        """
        if self._subscription is None:
            self._subscribe()
        if self._subscription is not None:
            for data, information in messages.queued(self._subscription):
                # Some middleware has no time of reception.
                logged = information['received_timestamp'] or time.time_ns()
                self._waiting.append((logged, data))
                self.received = time.monotonic()
        return len(self._waiting)

    def write(self, bag: Any, types: Any) -> None:
        """Write the messages that were taken. Raises OSError; GraphError for an unknown type."""
        if self._waiting and self._connection is None:
            if self._kind not in types.types:
                raise GraphError(f'{self.name}: its type {self._kind} is unknown to rosbags')
            offered = [_offered(profile) for profile in self._profiles]
            self._connection = bag.add_connection(
                self.name, self._kind, typestore=types, offered_qos_profiles=offered
            )
        for logged, data in self._waiting:
            bag.write(self._connection, logged, data)
        self.count += len(self._waiting)
        self._waiting.clear()

    def _subscribe(self) -> None:
        publishers = self._node.get_publishers_info_by_topic(self.name)
        kinds = {publisher.topic_type for publisher in publishers}
        if not kinds:
            return
        if len(kinds) > 1:
            raise GraphError(f'{self.name}: its publishers have types {", ".join(sorted(kinds))}')
        (self._kind,) = kinds
        package, _, name = self._kind.partition('/msg/')
        try:
            message_type = getattr(import_module(f'{package}.msg'), name)
        except (ImportError, AttributeError) as error:
            raise GraphError(f'{self.name}: its type {self._kind} is not installed') from error
        self._profiles = profiles = [publisher.qos_profile for publisher in publishers]
        reliable = all(p.reliability == ReliabilityPolicy.RELIABLE for p in profiles)
        latched = all(p.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in profiles)
        profile = QoSProfile(
            depth=DEPTH,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=(
                DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
            ),
        )
        self._subscription = self._node.create_subscription(
            message_type, self.name, lambda _: None, profile, raw=True
        )


def _offered(profile: QoSProfile) -> Any:
    """Return a profile as rosbags writes it, with the numbers of rmw that both use.

    With those of a latched topic, ros2 bag play latches it again (rosbag2_transport, player.cpp,
    publisher_qos_for_topic).
    """
    from rosbags import interfaces as rosbags

    times = profile.deadline, profile.lifespan, profile.liveliness_lease_duration
    deadline, lifespan, lease = (
        rosbags.QosTime(*divmod(time.nanoseconds, SECOND)) for time in times
    )
    return rosbags.Qos(
        rosbags.QosHistory(profile.history),
        profile.depth,
        rosbags.QosReliability(profile.reliability),
        rosbags.QosDurability(profile.durability),
        deadline,
        lifespan,
        rosbags.QosLiveliness(profile.liveliness),
        lease,
        profile.avoid_ros_namespace_conventions,
    )


def record(
    client: GraphClient,
    folder: Path,
    topics: Sequence[RecordedTopic],
    *,
    duration: float,
    timeout: float,
    show: Callable[[float], None],
) -> float:
    """Record topics until a signal, or for a duration; return the time recorded [s].

    Args:
        client: whose topics are recorded.
        folder: of the recording, created with the first joint state; another recording in its
            place is replaced.
        topics: the first one has the joint states.
        duration: longest time from the first joint state on, s; it may be infinite.
        timeout: longest wait for that, s.
        show: called with the time recorded [s], about 100 times per second.

    Raises:
        GraphError: there are no joint states, or a type is unknown.
        BagError: the recording cannot be written, or rosbags is not installed.
        KeyboardInterrupt: a signal was received before the first joint state.
    """
    opened, types = _rosbags()
    states = topics[0]
    if not client.wait(lambda: all([topic.poll() for topic in topics][:1]), timeout):
        raise GraphError(
            f'no joint states on {states.name} within {timeout:g} s: start the driver or '
            'simulator_node, or name the topic by --joint-states or --namespace; nothing is '
            'recorded'
        )
    began, elapsed, ended = time.monotonic(), 0.0, False
    with _errors_named(folder):
        _remove(folder)
        with opened(folder) as bag:
            bag.set_custom_data(*RECORDER)
            saved = _Saved(bag)
            while not ended:
                elapsed = time.monotonic() - began
                ended = client.interrupted or elapsed >= duration
                _write_received(topics, bag, types)
                saved.update(elapsed)
                show(elapsed)
                time.sleep(0.0 if ended else POLL)
    return elapsed


def _write_received(topics: Sequence[RecordedTopic], bag: Any, types: Any) -> None:
    """Write the messages of all topics that were received since the last call."""
    for topic in topics:
        topic.poll()
        topic.write(bag, types)


class _Saved:
    """Keeps the file on the disk a complete one, so that it is readable if the recorder is killed.

    An end without a summary follows the last chunk; the next chunk replaces it. rosbags keeps
    messages in memory until a chunk has 1 MiB (0.11.9, storage_mcap.py, McapWriter).
    """

    def __init__(self, bag: Any):
        """Save the file of a recording that was opened."""
        self._storage, self._chunks, self._time = bag.storage, 0, 0.0
        self._write_end()

    def update(self, elapsed: float) -> None:
        """Save it after `SAVED`, and where a chunk replaced the end; `elapsed` [s] is the time."""
        storage = self._storage
        if elapsed - self._time >= SAVED:
            self._time = elapsed
            if any(storage.chunk.msgs.values()):
                storage.close_chunk()
        if len(storage.chunks) != self._chunks:
            self._write_end()

    def _write_end(self) -> None:
        file, self._chunks = self._storage.bio, len(self._storage.chunks)
        at = file.tell()
        file.write(END)
        file.flush()
        file.seek(at)


def check_replaceable(folder: Path) -> list[Path]:
    """Return the files of a recording that may be replaced; none of a folder that is new or empty.

    Raises:
        BagError: the folder holds something else than the files that `record` wrote there,
            according to their metadata, or it is none.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise BagError(
            f'{folder} is a {"link" if folder.is_symlink() else "file"}; expected a folder'
        )
    files, written = sorted(folder.glob('*')), _written(folder)
    for file in files:
        if file.name not in written or file.is_symlink() or not file.is_file():
            raise BagError(
                f'{folder} holds {file.name!r}, which is not of a recording that '
                f'{RECORDER[1]} completed: not replaced'
            )
    return files


def _written(folder: Path) -> set[str]:
    """Return the names of the files in a folder that `record` wrote; none where it wrote none."""
    try:
        content = read_yaml(folder / METADATA)['rosbag2_bagfile_information']
        if RECORDER in content['custom_data'].items():
            return {METADATA, *content['relative_file_paths']}
    except (OSError, RobotDynamicsError, LookupError, TypeError, AttributeError):
        pass  # no metadata, or those of something else
    return set()


def _remove(folder: Path) -> None:
    if folder.exists():
        for file in check_replaceable(folder):
            file.unlink()
        folder.rmdir()


def _rosbags() -> tuple[Callable[[Path], Any], Any]:
    """Return a function that opens a new recording, and the message types."""
    with needed('bags', 'recordings are written by rosbags', BagError):
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import Stores, get_typestore
    plugin = StoragePlugin.MCAP
    return (
        lambda folder: Writer(folder, version=Writer.VERSION_LATEST, storage_plugin=plugin),
        get_typestore(Stores.LATEST),
    )


@contextmanager
def _errors_named(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        file = folder / f'{folder.name}.mcap'
        raise BagError(
            f'{folder}: {error.strerror or error}: the recording has ended early; '
            f'{REPAIR[file.suffix].replace("FILE", str(file))}'
        ) from error
