"""An MCAP file of ROS 2 messages on a disk that may be full at any time. No ROS here.

The file grows by whole chunks: one that does not fit is taken back, so that the file never ends in
the middle of one. Some space is kept in reserve beside the file. When the disk is full it is given
back, and suffices for the last chunk and the index: the file is complete up to there, and standard
tools read it. Only if not even that is granted the file ends without an index, behind a whole
chunk; `mcap recover` adds one.

Source: MCAP format specification, https://mcap.dev/spec
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from robot_dynamics.errors import RobotDynamicsError

CHUNK = 128 * 1024  # bytes, uncompressed
RESERVE = 1024 * 1024  # bytes
INDEX = 512  # bytes at most that a chunk adds to the index
PROFILE, ENCODING, SCHEMA_ENCODING = 'ros2', 'cdr', 'ros2msg'


class RecordingError(RobotDynamicsError, OSError):
    """A recording cannot be made, or not go on."""


class WholePieces:
    """A new file that is written in whole pieces, or not at all."""

    def __init__(self, path: Path):
        """Make the file. Raises OSError, and FileExistsError if it is there."""
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        self._pending = bytearray()
        self.size = 0  # bytes that are in the file

    def write(self, data: bytes) -> int:
        """Take bytes; they go to the file with the next flush."""
        self._pending += data
        return len(data)

    def tell(self) -> int:
        """Return where the next byte goes."""
        return self.size + len(self._pending)

    def flush(self) -> None:
        """Write what was taken. Raises OSError, and then all of it is still to be written."""
        data, at = bytes(self._pending), self.size
        try:
            while data:
                written = self._pwrite(data, at)
                data, at = data[written:], at + written
        except OSError:
            os.ftruncate(self._file, self.size)
            raise
        self.size = at
        self._pending.clear()

    def close(self) -> None:
        """Let the disk have it, and close the file; what was not flushed is lost."""
        try:
            os.fsync(self._file)
        finally:
            os.close(self._file)

    def _pwrite(self, data: bytes, at: int) -> int:
        return os.pwrite(self._file, data, at)


class Reserve:
    """Disk space that is kept free beside a file: by one without a name, gone with the process."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._file: IO[bytes] | None = None
        self.size = 0

    def grow(self, size: int) -> None:
        """Keep so many bytes free. Raises OSError if there are not so many."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  (stays open)
        os.posix_fallocate(self._file.fileno(), 0, size)
        self.size = size

    def release(self) -> None:
        """Give the space back."""
        if self._file is not None:
            self._file.close()
            self._file = None


class RunFile:
    """A file of messages, complete whenever it is closed, and as complete as can be if not.

    Attributes:
        path: of the file.
        messages: that are in the file for good.
        failure: why the file ended before it was closed; empty if it did not.
    """

    def __init__(self, path: Path, metadata: dict[str, str]):
        """Begin a new file.

        Raises:
            RecordingError: it cannot be written, is there already, or the package mcap is not.
        """
        try:
            from mcap.writer import CompressionType, Writer
        except ImportError as error:
            raise RecordingError(
                'recording needs the Python package mcap: pip install mcap'
            ) from error
        self.path = path
        self.messages, self._taken, self._chunks = 0, 0, 0
        self.failure = ''
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._reserve = Reserve(path.parent)
        try:
            self._disk = WholePieces(path)
        except OSError as error:
            raise RecordingError(f'{path}: {error.strerror}; nothing is recorded') from error
        try:
            self._reserve.grow(RESERVE)
            # Little more than copying: the loop that simulates waits for it.
            self._writer = Writer(self._disk, CHUNK, compression=CompressionType.LZ4)
            self._writer.start(PROFILE, 'robot_dynamics')
            self._writer.add_metadata('robot_dynamics', metadata)
            self._disk.flush()
        except OSError as error:
            self._reserve.release()
            self._disk.close()
            path.unlink()
            raise RecordingError(f'{path}: {error.strerror}; nothing is recorded') from error

    def add(
        self, topic: str, type_name: str, schema: Callable[[], str], data: bytes, time: int
    ) -> None:
        """Take a message in; it is in the file once its chunk is full, or flushed.

        Args:
            topic: its full name.
            type_name: as sensor_msgs/msg/JointState.
            schema: returns the text of its definition.
            data: CDR.
            time: ns.
        """
        if self.failure:
            return
        if topic not in self._channels:
            self._channels[topic] = self._writer.register_channel(
                topic, ENCODING, self._schema(type_name, schema)
            )
        self._writer.add_message(self._channels[topic], time, data, time)
        self._taken += 1
        if self._disk.tell() > self._disk.size:  # a chunk was full
            self._attempt(self._disk.flush)

    def flush(self) -> None:
        """Put all messages into the file."""
        if not self.failure and self._taken > self.messages:
            self._attempt(self._writer.flush)

    def close(self) -> None:
        """End the file."""
        if not self.failure:
            self._end()

    def _schema(self, type_name: str, schema: Callable[[], str]) -> int:
        if type_name not in self._schemas:
            self._schemas[type_name] = self._writer.register_schema(
                type_name, SCHEMA_ENCODING, schema().encode()
            )
        return self._schemas[type_name]

    def _attempt(self, write: Callable[[], None]) -> None:
        """Write a chunk, and keep enough in reserve for the index; else end the file."""
        try:
            write()
            self.messages = self._taken
            self._chunks += 1
            if self._chunks * INDEX + 2 * CHUNK > self._reserve.size:
                self._reserve.grow(2 * self._reserve.size)
        except OSError as error:
            self.failure = error.strerror or str(error)
            self._end()

    def _end(self) -> None:
        """Write what is left, and the index, with the help of the reserve."""
        self._reserve.release()
        try:
            self._disk.flush()
            self._writer.finish()
            self._disk.flush()
            self.messages = self._taken
        except OSError as error:
            self.failure = f'{error.strerror}, not even for its index'
        try:
            self._disk.close()
        except OSError as error:
            self.failure = f'the disk did not take it: {error.strerror}'
