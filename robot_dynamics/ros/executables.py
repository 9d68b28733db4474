"""Console scripts of the nodes. Without ROS 2 they print what to install."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module

NO_ROS = 2  # exit code, that of a command line that cannot be executed


def start(node: str) -> None:
    """Run a node of this package and exit with its exit code."""
    try:
        import rclpy  # noqa: F401
    except ImportError as error:
        print(
            f'{node} needs ROS 2, and rclpy cannot be imported ({error}): source a ROS 2 '
            "distribution, or install its wheels with pip install '.[ros]'",
            file=sys.stderr,
        )
        sys.exit(NO_ROS)
    import_module(f'robot_dynamics.nodes.{node}').main()


dynamics_node = partial(start, 'dynamics_node')
feedforward_node = partial(start, 'feedforward_node')
simulator_node = partial(start, 'simulator_node')
pybullet_validator_node = partial(start, 'pybullet_validator_node')
markers_node = partial(start, 'markers_node')
state_publisher_node = partial(start, 'state_publisher_node')
