"""Joint states as they come over the network: bytes, of which from one to the next little changes.

To make a message object of a JointState takes longer than all that is computed from it, and most
of that goes into names which are always the same. Here the bytes that hold them are compared with
those of the state before, and only numbers are decoded.

Source: OMG Common Data Representation as ROS 2 uses it (XCDR1): every number is aligned to its
size, counted from behind the four bytes that name the encoding; a sequence begins with its
length, and so does a string, which ends with a zero byte.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from sensor_msgs.msg import JointState

from robot_dynamics.control.joint_state import JointDataError
from robot_dynamics.ros.messages import BEGIN, SECOND, MalformedMessage, decode, nanoseconds

LITTLE_ENDIAN = b'\0\1'  # the encoding of all middlewares on all processors that ROS 2 runs on
STAMP, LENGTH = struct.Struct('<iI'), struct.Struct('<I')
NAMES = BEGIN + STAMP.size  # from here: the frame, the number of names, the names


class JointStateValues(NamedTuple):
    """The fields of a JointState, named as there."""

    stamp: int  # ns
    name: list[str]
    position: tuple[float, ...]
    velocity: tuple[float, ...]
    effort: tuple[float, ...]


class JointStateDecoder:
    """Decodes joint states one after the other."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._head = b''  # the bytes from NAMES to the first length of numbers

    def __call__(self, data: bytes) -> JointStateValues:
        """Return what a serialized JointState says; JointDataError if it is none."""
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
    (count,) = LENGTH.unpack_from(data, place)
    place += LENGTH.size
    if not count:
        return (), place
    place = _aligned(place, 8)
    return struct.unpack_from(f'<{count}d', data, place), place + 8 * count


def _aligned(place: int, size: int) -> int:
    return place + (BEGIN - place) % size


def _by_ros(data: bytes) -> JointStateValues:
    try:
        message = decode(data, JointState)
    except MalformedMessage as error:
        raise JointDataError(str(error)) from None
    numbers = (tuple(values) for values in (message.position, message.velocity, message.effort))
    return JointStateValues(nanoseconds(message.header.stamp), list(message.name), *numbers)
