# SPDX-License-Identifier: Apache-2.0
"""Access to a running ROS graph from the command line: topics are polled, without an executor.

While a client is open, SIGINT, SIGTERM and SIGHUP set a flag: an exception that a signal raises
inside the ROS client library may come out as another one.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.exceptions import InvalidTopicNameException
from rclpy.validate_topic_name import validate_topic_name

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.ros.executable import SIGNALS
from robot_dynamics.ros.namespaces import EXPECTED, is_namespace

POLL = 0.01  # s


class GraphError(RobotDynamicsError):
    """A name is invalid, or no node answers."""


def checked_namespace(namespace: str) -> str:
    """Return a namespace without a slash at its end. Raises GraphError if it is invalid."""
    if not is_namespace(namespace):
        raise GraphError(f'--namespace is {namespace!r}; {EXPECTED}')
    return namespace.rstrip('/')


class GraphClient:
    """A node without an executor, in a context of its own; open as a context manager.

    Attributes:
        node: to create publishers and subscriptions.
        interrupted: whether a signal has been received.
    """

    def __init__(self, name: str, namespace: str = ''):
        """Join the graph. Raises GraphError if the namespace is invalid."""
        namespace = checked_namespace(namespace)
        self._context = Context()
        rclpy.init(context=self._context, args=[])
        self.node: Any = rclpy.create_node(
            name, namespace=namespace, context=self._context, start_parameter_services=False
        )
        self.interrupted = False

    def __enter__(self) -> GraphClient:
        """Note signals from now on."""
        self._handlers = {
            number: signal.signal(number, self._on_signal)
            for number in SIGNALS
            if signal.getsignal(number) is not signal.SIG_IGN  # as by nohup
        }
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the graph."""
        self.node.destroy_node()
        self._context.try_shutdown()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _on_signal(self, *_: object) -> None:
        self.interrupted = True

    def topic(self, option: str, name: str) -> str:
        """Return the full name of the topic of an option. Raises GraphError if it is invalid."""
        try:
            validate_topic_name(name)
            return str(self.node.resolve_topic_name(name))
        except InvalidTopicNameException as error:
            raise GraphError(f'{option} is {name!r}: {" ".join(str(error).split())}') from error

    def wait(self, condition: Callable[[], Any], timeout: float) -> bool:
        """Poll until a condition holds; return whether it does within the timeout [s].

        Raises:
            KeyboardInterrupt: a signal was received.
        """
        end = time.monotonic() + timeout
        while not condition():
            if self.interrupted:
                raise KeyboardInterrupt
            if time.monotonic() > end:
                return False
            time.sleep(POLL)
        return True
