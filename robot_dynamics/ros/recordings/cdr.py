"""A message as bytes, the same for the same message. No ROS here.

`rclpy.serialization.serialize_message` leaves whatever was in memory between and behind the
fields. Subscribers never see it, but in a file equal messages would be unequal, and strict readers
refuse what is behind the last field. So recordings are encoded here, padded with zeros.

Source: OMG Common Data Representation as ROS 2 uses it (XCDR1, little-endian): every number is
aligned to its size, counted from behind the four bytes that name the encoding; a sequence begins
with its length, and so does a string, which ends with a zero byte.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

LITTLE_ENDIAN = b'\0\1\0\0'
NUMBERS = {
    'boolean': '?',
    'int8': 'b',
    'uint8': 'B',
    'int16': 'h',
    'uint16': 'H',
    'int32': 'i',
    'uint32': 'I',
    'int64': 'q',
    'uint64': 'Q',
    'float': 'f',
    'double': 'd',
}

Write = Callable[[bytearray, Any], None]


def serialized(message: Any) -> bytes:
    """Return a message in CDR. Fixed-size arrays are not known: NotImplementedError."""
    body = bytearray()
    _write_message(body, message)
    return LITTLE_ENDIAN + bytes(body)


def _write_message(body: bytearray, message: Any) -> None:
    for name, write in _fields(type(message)):
        write(body, getattr(message, name))


@cache
def _fields(message_type: type) -> list[tuple[str, Write]]:
    """Return the name of each field, and what writes it."""
    return [
        (name, _writer(kind, f'{message_type.__name__}.{name}'))
        for name, kind in message_type.get_fields_and_field_types().items()
    ]


def _writer(kind: str, what: str) -> Write:
    """Return what writes a value of a type as rosidl names it; `what` it is for."""
    if kind.startswith('sequence<') and '[' not in kind:
        item = kind.removeprefix('sequence<').rstrip('>').split(',')[0]
        return _numbers(NUMBERS[item]) if item in NUMBERS else _sequence(_writer(item, what))
    if kind in NUMBERS:
        return _number(NUMBERS[kind])
    if kind == 'octet':
        return _write_octet
    if kind == 'string':
        return _write_string
    if '/' in kind and '[' not in kind:
        return _write_message
    raise NotImplementedError(f'{what} of type {kind}')


def _align(body: bytearray, size: int) -> None:
    body.extend(bytes(-len(body) % size))


def _number(code: str) -> Write:
    pack, size = struct.Struct(f'<{code}').pack, struct.calcsize(code)

    def write(body: bytearray, value: Any) -> None:
        _align(body, size)
        body.extend(pack(value))

    return write


_write_length = _number('I')


def _numbers(code: str) -> Write:
    size = struct.calcsize(code)

    def write(body: bytearray, values: Any) -> None:
        _write_length(body, len(values))
        if len(values):
            _align(body, size)
            body.extend(struct.pack(f'<{len(values)}{code}', *values))

    return write


def _sequence(write_item: Write) -> Write:
    def write(body: bytearray, values: Any) -> None:
        _write_length(body, len(values))
        for value in values:
            write_item(body, value)

    return write


def _write_octet(body: bytearray, value: bytes) -> None:
    body.extend(value)


def _write_string(body: bytearray, text: str) -> None:
    data = text.encode()
    _write_length(body, len(data) + 1)
    body.extend(data)
    body.append(0)
