# SPDX-License-Identifier: Apache-2.0
"""Console scripts of the nodes. Without ROS 2 they print what to install."""

from __future__ import annotations

import os
import sys
from functools import partial
from itertools import takewhile

TYPE_CHECKING = False  # as in the package: little is imported before signals are handled
if TYPE_CHECKING:
    from typing import Any

# The name of what needs it, and the error of the import.
ROS_MISSING = (
    '{} needs ROS 2, which cannot be imported ({}): source a ROS 2 distribution, or install its '
    "wheels with pip install '.[ros]'"
)
CANNOT_START = 2  # exit code, that of a command line that cannot be executed
NODES = {
    'dynamics_node': 'DynamicsNode',
    'feedforward_node': 'FeedforwardNode',
    'simulator_node': 'SimulatorNode',
    'pybullet_validator_node': 'PyBulletValidatorNode',
    'momentum_observer_node': 'MomentumObserverNode',
    'markers_node': 'MarkersNode',
    'state_publisher_node': 'StatePublisherNode',
}


def start(node: str) -> None:
    """Run a node of this package and exit with its exit code."""
    _end_at_signals()
    _require_ros(node)
    from robot_dynamics.ros import executable

    executable.main(_node_class(node))


def robot_dynamics_nodes() -> None:
    """Run the nodes that the command line names in one process, with one executor."""
    _end_at_signals()
    names = list(takewhile(lambda word: word != '--ros-args', sys.argv[1:]))
    unknown = [name for name in names if name not in NODES]
    if unknown or not names:
        given = ', '.join(map(repr, unknown)) or 'no node'
        print(
            f'usage: robot_dynamics_nodes NODE ... [--ros-args ...]: {given} given; expected '
            f'some of {", ".join(NODES)}',
            file=sys.stderr,
        )
        sys.exit(CANNOT_START)
    _require_ros('robot_dynamics_nodes')
    from robot_dynamics.ros import executable

    sys.exit(executable.run([_node_class(name) for name in names]))


def _end_at_signals() -> None:
    """End the process at a signal until `executable.run` handles it: with exit code 0, as there.

    An exception inside an import may be replaced by another one.
    """
    import signal

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as by nohup
            signal.signal(number, lambda *_: os._exit(0))


def _node_class(node: str) -> type[Any]:
    from importlib import import_module

    node_class: type[Any] = getattr(import_module(f'robot_dynamics.ros.nodes.{node}'), NODES[node])
    return node_class


def _require_ros(name: str) -> None:
    """Exit unless rclpy can be imported."""
    try:
        import rclpy  # noqa: F401
    except ImportError as error:
        print(ROS_MISSING.format(name, error), file=sys.stderr)
        sys.exit(CANNOT_START)


dynamics_node = partial(start, 'dynamics_node')
feedforward_node = partial(start, 'feedforward_node')
simulator_node = partial(start, 'simulator_node')
pybullet_validator_node = partial(start, 'pybullet_validator_node')
momentum_observer_node = partial(start, 'momentum_observer_node')
markers_node = partial(start, 'markers_node')
state_publisher_node = partial(start, 'state_publisher_node')


if __name__ == '__main__':
    robot_dynamics_nodes()
