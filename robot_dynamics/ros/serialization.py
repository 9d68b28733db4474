# SPDX-License-Identifier: Apache-2.0
"""Serialized messages of streams: joint states read, and torques and matrices written, as bytes.

A message object of a JointState takes longer to build than the terms that are computed from it,
mostly for names that stay the same. With message objects in their place `dynamics_node` takes 1.6
times the median latency of a node that only publishes the same messages; as bytes 1.1 times
(`python -m benchmarks.nodes`, 7 joints at 1 kHz).

A writer serializes a message once and overwrites its numbers. Where they are follows from the type
of the message and the OMG Common Data Representation as ROS 2 uses it (XCDR1): every number is
aligned to its size, counted from behind the four bytes that name the encoding; a sequence begins
with its length, and so does a string, which ends with a zero byte.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.joint_reading import JointDataError
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.ros.messages import (
    MalformedMessage,
    decode,
    matrix_label,
    nanoseconds,
)

BEGIN = 4  # bytes at the beginning of a serialized message, which name the encoding
LITTLE_ENDIAN = b'\0\1'  # the encoding of all middlewares on all processors that ROS 2 runs on
STAMP, LENGTH = struct.Struct('<iI'), struct.Struct('<I')
NAMES = BEGIN + STAMP.size  # from here: the frame, the number of names, the names
QUANTITIES = ('position', 'velocity', 'effort')
LABEL = BEGIN + 2 * LENGTH.size  # of a matrix: behind the number of dimensions and its own length


class JointStateWriter:
    """A JointState that is serialized once, and whose numbers are overwritten."""

    def __init__(self, joint_names: tuple[str, ...], frame_id: str, quantities: tuple[str, ...]):
        """Serialize a message.

        Args:
            joint_names: its names.
            frame_id: never empty: rviz shows efforts with one (joint_state_broadcaster 4.42.1).
            quantities: which of position, velocity and effort it carries.
        """
        message = JointState(name=list(joint_names))
        message.header.frame_id = frame_id
        n = len(joint_names)
        for quantity in quantities:
            setattr(message, quantity, [0.0] * n)
        data = bytes(serialize_message(message))
        _, place = _names(data)
        begins = {}
        for quantity in QUANTITIES:
            begins[quantity], _, place = _sequence(data, place)
        # rmw_fastrtps_cpp 8.4 leaves bytes behind the end if a sequence is empty: readers of
        # recordings reject them.
        self._bytes = bytearray(data[:place])
        self._views = [
            np.frombuffer(self._bytes, count=n, offset=begins[quantity])
            for quantity in QUANTITIES
            if quantity in quantities
        ]

    def fill(self, stamp: int, *values: Array) -> bytes:
        """Return the serialized message with these values (n,), in the order of the quantities."""
        STAMP.pack_into(self._bytes, BEGIN, *divmod(stamp, SECOND))
        for view, value in zip(self._views, values, strict=True):
            view[:] = value
        return bytes(self._bytes)


def joint_state_writer(
    model: RobotModel, frame_prefix: str, quantities: tuple[str, ...] = ('effort',)
) -> JointStateWriter:
    """Return the writer of quantities of a robot's joints, in the frame of its root link."""
    return JointStateWriter(model.joint_names, frame_prefix + model.link_names[0], quantities)


class MatrixWriter:
    """A Float64MultiArray that is serialized once, and whose numbers and stamp are overwritten."""

    def __init__(self, n: int, columns: str = 'columns'):
        """Write matrices (n, n); `columns` is the label of their second dimension."""
        self._n, self._columns = n, columns
        self._stamp = -1
        self._label = memoryview(b'')

    def fill(self, stamp: int, matrix: Array) -> bytes:
        """Return the serialized message with this matrix (n, n)."""
        if stamp != self._stamp:
            self._stamp = stamp
            self._write(f'rows; stamp {stamp // SECOND}.{stamp % SECOND:09d}')
        self._view[:] = matrix
        return bytes(self._bytes)

    def _write(self, label: str) -> None:
        if len(label) != len(self._label):  # the seconds have one more digit
            self._serialize(label)
        self._label[:] = label.encode()

    def _serialize(self, label: str) -> None:
        n = self._n
        message = Float64MultiArray(data=[0.0] * (n * n))
        message.layout.dim = [
            MultiArrayDimension(label=label, size=n, stride=n * n),
            MultiArrayDimension(label=self._columns, size=n, stride=n),
        ]
        self._bytes = bytearray(serialize_message(message))
        self._label = memoryview(self._bytes)[LABEL : LABEL + len(label)]
        # The numbers are the end of the message.
        self._view = np.frombuffer(self._bytes, offset=len(self._bytes) - 8 * n * n).reshape(n, n)


def matrix_writer(model: RobotModel, frame_prefix: str) -> MatrixWriter:
    """Return the writer of a robot's matrices, with its joints and the frame of its root link."""
    columns = matrix_label(model.joint_names, frame_prefix + model.link_names[0])
    return MatrixWriter(model.n, columns)


class JointStateValues(NamedTuple):
    """The fields of a JointState, named as there."""

    stamp: int  # ns
    name: list[str]
    position: tuple[float, ...]
    velocity: tuple[float, ...]
    effort: tuple[float, ...]


class JointStateDecoder:
    """Decodes serialized joint states; names that stay the same are decoded once."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._head = b''  # the bytes from NAMES to the first length of numbers

    def __call__(self, data: bytes) -> JointStateValues:
        """Return the fields of a serialized JointState; JointDataError if it is none."""
        if not data.startswith(LITTLE_ENDIAN):
            return _by_ros(data)
        try:
            stamp = _stamp(data)
            names, head = self._names, self._head
            if not head or not data.startswith(head, NAMES):
                names, end = _names(data)
                head = data[NAMES:end]
            position, end = _numbers(data, NAMES + len(head))
            velocity, end = _numbers(data, end)
            effort, _ = _numbers(data, end)
        except (struct.error, UnicodeDecodeError) as error:
            raise JointDataError(f'{len(data)} bytes that are no JointState: {error}') from None
        self._names, self._head = names, head
        return JointStateValues(stamp, names, position, velocity, effort)


def _stamp(data: bytes) -> int:
    seconds, rest = STAMP.unpack_from(data, BEGIN)
    if rest >= SECOND:
        raise JointDataError(f'the stamp has {rest} ns; there are less than {SECOND} in a second')
    return int(seconds * SECOND + rest)


def _names(data: bytes) -> tuple[list[str], int]:
    """Return the names, and where they end."""
    _, place = _string(data, NAMES)  # the frame
    place = _aligned(place, LENGTH.size)
    (count,) = LENGTH.unpack_from(data, place)
    names, place = [], place + LENGTH.size
    for _ in range(count):
        name, place = _string(data, place)
        names.append(name)
    return names, _aligned(place, LENGTH.size)


def _string(data: bytes, place: int) -> tuple[str, int]:
    place = _aligned(place, LENGTH.size)
    (length,) = LENGTH.unpack_from(data, place)
    begin, end = place + LENGTH.size, place + LENGTH.size + length
    return data[begin : end - 1].decode(), end


def _numbers(data: bytes, place: int) -> tuple[tuple[float, ...], int]:
    begin, count, end = _sequence(data, place)
    return struct.unpack_from(f'<{count}d', data, begin) if count else (), end


def _sequence(data: bytes, place: int) -> tuple[int, int, int]:
    """Return where the numbers of a sequence begin, how many they are, and where they end."""
    (count,) = LENGTH.unpack_from(data, place)
    begin = place + LENGTH.size
    if count:
        begin = _aligned(begin, 8)
    return begin, count, begin + 8 * count


def _aligned(place: int, size: int) -> int:
    return place + (BEGIN - place) % size


def _by_ros(data: bytes) -> JointStateValues:
    try:
        message = decode(data, JointState)
    except MalformedMessage as error:
        raise JointDataError(str(error)) from None
    numbers = (tuple(values) for values in (message.position, message.velocity, message.effort))
    return JointStateValues(nanoseconds(message.header.stamp), list(message.name), *numbers)
