"""Start, run and stop a node: the only exit path of the package's executables.

Signals only set a flag and the executor is turned step by step, so that SIGINT and SIGTERM both
end with exit code 0, after a last word to the motors. What cannot start says why in one line and
exits with 1.
"""

from __future__ import annotations

import gc
import signal
import sys

import rclpy
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.logging import get_logger
from rclpy.signals import SignalHandlerOptions

from robot_dynamics.errors import RobotDynamicsError

# Wrong parameters and descriptions; wrong ROS arguments and parameter files.
CANNOT_START = (
    RobotDynamicsError,
    InvalidParameterTypeException,
    InvalidParameterValueException,
    rclpy_implementation.RCLError,
)
_POLL = 0.1  # s, the longest wait before a signal is seen


def new_executor(context=None):
    """Return the fastest executor there is.

    Its `spin()` must not be used: in some releases it neither delivers nor stops.
    """
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        from rclpy.executors import SingleThreadedExecutor

        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)


def run(node_class, args=None) -> int:
    """Run a node until a signal or its own failure; return the exit code."""
    stop = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda caught, _frame: stop.append(caught))
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        node = node_class()
    except CANNOT_START as error:
        return _failed(node_class.__name__, error)
    node.is_ending = lambda: bool(stop)
    executor = new_executor()
    executor.add_node(node)
    frozen = False
    while not stop and node.failure is None:
        executor.spin_once(timeout_sec=_POLL)
        if node.active and not frozen:
            # What there is now stays: looking through it would take tens of ms of some message.
            gc.collect()
            gc.freeze()
            frozen = True
    failure = node.failure
    node.end()
    executor.shutdown()
    node.destroy_node()
    if failure is not None:
        return _failed(node_class.__name__, failure)
    rclpy.try_shutdown()
    return 0


def _failed(name, error) -> int:
    get_logger(name).error(' '.join(str(error).split()))
    rclpy.try_shutdown()
    return 1


def main(node_class) -> None:
    """Run a node as a console script does."""
    sys.exit(run(node_class))
