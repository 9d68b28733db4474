# SPDX-License-Identifier: Apache-2.0
"""Publishes joint states at a constant rate and measures the time to the complete outputs.

Outputs are received as bytes: decoding a message takes longer than the measured times.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import rclpy
from numpy.typing import NDArray
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from benchmarks.node_echo import MATRICES, TORQUES
from benchmarks.node_process import NodeDied, NodeProcess
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.ros.executable import new_executor
from robot_dynamics.ros.serialization import JointStateWriter

DEPTH = 100
PATIENCE = 30.0  # s, for the discovery of a node
STRAGGLERS = 1.0  # s, after the last state, for late outputs
FREQUENCY = 2.0  # rad/s, of the joints


# -- stamps in serialized messages (CDR, little endian, four bytes of header) ---------------------


def torque_stamp(message: bytes) -> int:
    """Return the stamp [ns] of a serialized JointState: its first field."""
    seconds, nanoseconds = struct.unpack_from('<iI', message, 4)
    return int(seconds) * SECOND + int(nanoseconds)


def matrix_stamp(message: bytes) -> int:
    """Return the stamp [ns] of a serialized matrix: in the label of its first dimension."""
    # The number of dimensions, then the length of the label with its final zero.
    (length,) = struct.unpack_from('<I', message, 8)
    label = message[12 : 12 + length - 1].decode()
    seconds, fraction = label.rpartition(' ')[2].split('.')
    return int(seconds) * SECOND + int(fraction)


class Answer(NamedTuple):
    """An output of a node."""

    topic: str  # below the namespace of the node
    kind: Any
    read: Callable[[bytes], int]  # returns its stamp, ns


OF_DYNAMICS = (
    *(Answer(f'dynamics_node/{name}', Float64MultiArray, matrix_stamp) for name in MATRICES),
    *(Answer(f'dynamics_node/{name}', JointState, torque_stamp) for name in TORQUES),
)
ANSWERS = len(OF_DYNAMICS)


@dataclass(frozen=True, eq=False)
class Block:
    """A sequence of joint states sent to one node, and its outputs."""

    node: str
    period: float  # s
    sent: NDArray  # (k,) s, when
    lateness: NDArray  # (k,) s, against the schedule
    latency: NDArray  # (k,) s until the last answer; NaN if one of them is lost
    lost: int  # answers
    cpu: float  # fraction of one processor
    unasked: int = 0  # outputs without a state of this block

    @property
    def answered(self) -> NDArray:
        """Latencies [s] of the states with complete outputs."""
        return self.latency[np.isfinite(self.latency)]

    @property
    def late(self) -> int:
        """Number of states whose outputs were not complete within a period."""
        return len(self.latency) - int((self.answered <= self.period).sum())


class Client:
    """Sends states to nodes, each in its own namespace, and measures the latency."""

    def __init__(
        self,
        joints: tuple[str, ...],
        rate: float,
        reliability: ReliabilityPolicy,
        quantities: tuple[str, ...] = ('position', 'velocity'),
    ):
        self._period = 1 / rate
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node('client', context=self._context)
        self._executor = new_executor(self._context)
        self._executor.add_node(self._node)
        self._state = JointStateWriter(joints, 'base', quantities)
        self._with_effort = 'effort' in quantities
        self._phase = np.arange(len(joints))
        self._in = QoSProfile(
            history=HistoryPolicy.KEEP_LAST, depth=DEPTH, reliability=reliability
        )
        self._out = QoSProfile(
            history=HistoryPolicy.KEEP_LAST, depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE
        )
        self._publishers: dict[str, Any] = {}
        self._subscriptions: dict[str, list[Any]] = {}
        self._next_stamp: dict[str, int] = {}  # ns, of each node; continues from block to block
        self._block: _Running | None = None

    def add(self, node: NodeProcess, answers: Sequence[Answer] = OF_DYNAMICS) -> None:
        """Discover a node, whose name is its namespace."""
        make, name = self._node.create_subscription, node.name
        self._publishers[name] = self._node.create_publisher(
            JointState, f'/{name}/joint_states', self._in
        )
        self._subscriptions[name] = [
            make(
                answer.kind,
                f'/{name}/{answer.topic}',
                partial(self._on_answer, answer.read),
                self._out,
                raw=True,
            )
            for answer in answers
        ]
        deadline = time.monotonic() + PATIENCE
        while not self._is_found(name):
            node.check()
            if time.monotonic() > deadline:
                raise NodeDied(f'{name} was not found within {PATIENCE:g} s')
            self._executor.spin_once(timeout_sec=0.05)

    def _is_found(self, name: str) -> bool:
        answers = [s.topic_name for s in self._subscriptions[name]]
        return self._publishers[name].get_subscription_count() > 0 and all(
            self._node.count_publishers(topic) for topic in answers
        )

    def ask(
        self, node: NodeProcess, count: int, meanwhile: Callable[[int], None] | None = None
    ) -> Block:
        """Send joint states to a node and collect the outputs.

        Args:
            node: the node.
            count: number of states.
            meanwhile: called with the number of each state after it was sent.
        """
        publisher = self._publishers[node.name]
        first = self._next_stamp.get(node.name, SECOND)
        block = self._block = _Running(
            count, first, self._period, len(self._subscriptions[node.name])
        )
        self._next_stamp[node.name] = first + count * block.step
        cpu, begin = node.cpu_seconds(), time.perf_counter()
        for k in range(count):
            due = begin + k * self._period
            message = self._message(block.first + k * block.step)
            self._turn_until(due)
            block.sent[k] = now = time.perf_counter()
            block.lateness[k] = now - due
            publisher.publish(message)
            if meanwhile is not None:
                meanwhile(k)
        self._turn_until(begin + count * self._period)
        used = (node.cpu_seconds() - cpu) / (time.perf_counter() - begin)
        end = time.perf_counter() + STRAGGLERS
        while block.open and time.perf_counter() < end:
            self._executor.spin_once(timeout_sec=0.01)
        node.check()
        return block.result(node.name, used)

    def _message(self, stamp: int) -> bytes:
        phase = FREQUENCY * stamp / SECOND + self._phase
        q, qd = 0.5 * np.sin(phase), 0.5 * FREQUENCY * np.cos(phase)
        return self._state.fill(stamp, q, qd, *([np.sin(phase)] * self._with_effort))

    def _turn_until(self, due: float) -> None:
        while (left := due - time.perf_counter()) > 0:
            self._executor.spin_once(timeout_sec=left)

    def _on_answer(self, read: Callable[[bytes], int], message: bytes) -> None:
        if self._block is not None:
            self._block.take(read(message))

    def close(self) -> None:
        """Shut down the node of the client."""
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()


class _Running:
    """A block whose outputs are being received."""

    def __init__(self, count: int, first: int, period: float, answers: int = ANSWERS):
        self.first, self.step = first, round(period * SECOND)
        self.period = period
        self.sent = np.full(count, np.nan)
        self.lateness = np.zeros(count)
        self.complete = np.full(count, np.nan)
        self.wanted = np.full(count, answers)
        self.open = count * answers
        self.unasked = 0

    def take(self, stamp: int) -> None:
        """Record an output received now."""
        k, remainder = divmod(stamp - self.first, self.step)
        if remainder or not 0 <= k < len(self.wanted) or self.wanted[k] == 0:
            self.unasked += 1
            return
        self.wanted[k] -= 1
        self.open -= 1
        if self.wanted[k] == 0:
            self.complete[k] = time.perf_counter()

    def result(self, node: str, cpu: float) -> Block:
        latency = self.complete - self.sent
        lost = int(self.wanted.sum())
        return Block(node, self.period, self.sent, self.lateness, latency, lost, cpu, self.unasked)
