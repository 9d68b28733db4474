# SPDX-License-Identifier: Apache-2.0
"""Start, run and stop nodes: the exit path of all executables of the package.

Signals set a flag, and the executor makes one step at a time, so that SIGINT, SIGTERM and SIGHUP
end the process with exit code 0, after the last command to the motors. An exception while a joint
state is answered ends it with its traceback and exit code 1, after the last command as well; those
of other callbacks reject their input (lifecycle.py). A node that cannot start logs the reason in
one line and exits with 1.
"""

from __future__ import annotations

import gc
import inspect
import math
import signal
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rclpy
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.logging import get_logger
from rclpy.signals import SignalHandlerOptions

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.parameters import Spec, specs

# Wrong parameters and descriptions; wrong ROS arguments and parameter files.
CANNOT_START = (
    RobotDynamicsError,
    InvalidParameterTypeException,
    InvalidParameterValueException,
    rclpy_implementation.RCLError,
)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_POLL = 0.1  # s, the longest wait before a signal is handled
LONGEST_DELAY = 0.5  # s, in the queue of the executor
LONGEST_QUEUE = 100  # callbacks in that time; fewer are slow callbacks, not a flood
RELIEF = 5.0  # s with an executor that has no queue
WIDTH = 99  # of the help text
ARGUMENTS = '[--help] [--ros-args [-p NAME:=VALUE] [-r FROM:=TO] [--params-file FILE]]'


def new_executor(context: Any = None) -> Any:
    """Return the fastest executor of this distribution.

    Use `spin_once` only: in some releases `spin` delivers no messages and cannot be interrupted.
    """
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)


class NodeExecutor:
    """Runs nodes with the fastest executor, and a queue of bounded length.

    The events executor queues one event for each message received, even if the middleware, which
    keeps the newest few, has dropped that message since. In a flood of messages its memory and the
    delay of every callback would grow without bound. A mark in the queue measures the delay; while
    it is too long an executor without a queue takes over.
    """

    def __init__(self, nodes: Sequence[Any]):
        """Begin with the fastest executor."""
        self._nodes = nodes
        self._marked, self._reached = 0.0, True  # s, when the mark was queued; since reached
        self._callbacks = 0  # since then
        self._relieved_until: float | None = None  # s; None: by the fastest executor
        self._use(new_executor())

    def spin_once(self) -> None:
        """Wait for one callback, at most 0.1 s."""
        self._executor.spin_once(timeout_sec=_POLL)
        now = time.monotonic()
        if self._relieved_until is not None:
            if now >= self._relieved_until:
                self._use(new_executor())
        elif self._reached and now - self._marked > _POLL:
            self._reached, self._marked, self._callbacks = False, now, 0
            self._executor.create_task(self._reach_mark)
        elif not self._reached:
            self._callbacks += 1
            if now - self._marked > LONGEST_DELAY and self._callbacks > LONGEST_QUEUE:
                self._relieve(now)

    def finish(self) -> None:
        """Call what is queued, at most for 0.1 s: answers to clients of services and actions."""
        end = time.monotonic() + _POLL
        for _ in range(2):  # the result of a goal is a task that queues a second one
            mark = self._executor.create_task(lambda: None)
            while not mark.done() and time.monotonic() < end:
                self._executor.spin_once(timeout_sec=_POLL)

    def shutdown(self) -> None:
        """Stop calling callbacks."""
        self._executor.shutdown()

    def _use(self, executor: Any) -> None:
        self._executor = executor
        self._relieved_until = None
        self._marked, self._reached, self._callbacks = 0.0, True, 0
        for node in self._nodes:
            executor.add_node(node)

    def _reach_mark(self) -> None:
        self._reached = True

    def _relieve(self, now: float) -> None:
        for node in self._nodes:
            self._executor.remove_node(node)
            node.health.counts['message floods'] += 1
        self._executor.shutdown()
        self._use(SingleThreadedExecutor())
        self._relieved_until = now + RELIEF
        self._nodes[0].get_logger().warning(
            f'messages arrive faster than they are processed: the queue was {LONGEST_DELAY} s '
            'long; only the newest messages are processed'
        )


def run(node_classes: Sequence[type[Any]], args: list[str] | None = None) -> int:
    """Run nodes until a signal or the failure of one of them; return the exit code.

    An exception while a joint state is processed ends them as well, after their last commands.
    """
    stop: list[int] = []
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as by nohup
            signal.signal(number, lambda caught, _frame: stop.append(caught))
    nodes: list[Any] = []
    executor = None
    try:
        try:
            rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
            RobotNode.companions = node_classes if len(node_classes) > 1 else ()
            for node_class in node_classes:
                nodes.append(node_class())
                nodes[-1].is_ending = lambda: bool(stop)
        except CANNOT_START as error:
            return _failed(node_classes[len(nodes)].__name__, error)
        if len(nodes) > 1:
            for node in nodes:
                node.warn_of_unknown_topics(nodes)
        executor = NodeExecutor(nodes)
        _turn(executor, nodes, stop)
        for node in nodes:
            node.end()
        executor.finish()
    finally:
        for node in nodes:
            node.end()
        if executor is not None:
            executor.shutdown()
        for node in nodes:
            node.destroy_node()
    for node in nodes:
        if node.failure is not None:
            return _failed(type(node).__name__, node.failure)
    rclpy.try_shutdown()
    return 0


def _turn(executor: NodeExecutor, nodes: Sequence[Any], stop: list[int]) -> None:
    frozen = False
    while not stop and all(node.failure is None for node in nodes):
        executor.spin_once()
        if not frozen and all(node.active for node in nodes):
            # Exempt present objects from collection: a full one takes tens of ms.
            gc.collect()
            gc.freeze()
            frozen = True


def _failed(name: str, error: Exception) -> int:
    get_logger(name).error(' '.join(str(error).split()))
    rclpy.try_shutdown()
    return 1


def main(node_class: type[Any]) -> None:
    """Run a node as a console script does, or print its help."""
    if not {'-h', '--help'}.isdisjoint(sys.argv[1:]):
        print(usage(node_class))
        sys.exit(0)
    sys.exit(run([node_class]))


def usage(node_class: type[Any]) -> str:
    """Return the help text of a node: the docstring of its module, and its parameters."""
    module = sys.modules[node_class.__module__]
    name = Path(inspect.getfile(node_class)).stem
    lines = [f'usage: {name} {ARGUMENTS}', '', inspect.getdoc(module) or '', '', 'Parameters']
    indent = ' ' * 8
    for parameter, spec in specs(node_class.table).items():
        lines.append(f'    {parameter} ({_values(spec)})')
        lines += textwrap.wrap(
            spec.description, WIDTH, initial_indent=indent, subsequent_indent=indent
        )
    return '\n'.join(lines)


def _values(spec: Spec) -> str:
    """Return the default of a parameter, its range, and when it may change."""
    default = spec.default
    words = [f'default {str(default).lower() if isinstance(default, bool) else repr(default)}']
    if spec.choices:
        words.append(' or '.join(spec.choices))
    low, high = spec.bounds
    if math.isfinite(low) or math.isfinite(high):
        zero = '0, or ' if spec.smallest else ''
        words.append(f'{zero}{spec.smallest or low:g} to {high:g}')
    if spec.live:
        words.append('may change while running')
    elif spec.description_of_robot:
        words.append('may change while unconfigured')
    return '; '.join(words)
