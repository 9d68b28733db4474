"""The verbs that need ROS 2."""

from __future__ import annotations

import argparse
from pathlib import Path

from robot_dynamics.cli.options import new_file, new_picture, number
from robot_dynamics.errors import RobotDynamicsError

DEFAULT_ROBOT = Path('panda')


def add_demo_options(parser: argparse.ArgumentParser) -> None:
    """Ask what `demo` wants to know."""
    parser.add_argument(
        '--robot', type=Path, help='path of a .urdf or .xacro file, or a bundled robot (panda)'
    )
    parser.add_argument(
        '--duration', type=number(0.01, 3600.0), default=10.0, help='of each run, s (10)'
    )
    parser.add_argument('--json', type=new_file, help='write the figures here')
    parser.add_argument(
        '--picture', type=new_picture, default=Path('demo.png'), help='where to draw (demo.png)'
    )
    parser.add_argument(
        '--headless', action='store_true', help='plain lines, for logs and machines without a user'
    )


def demo(options: argparse.Namespace) -> int:
    """Show a simulated arm that follows a trajectory, judged by another engine. Needs ROS 2."""
    _find_ros('the demo')
    from robot_dynamics.nodes.demo.demo import DemoOptions, run

    robot = options.robot or DEFAULT_ROBOT
    chosen = DemoOptions(
        robot, options.duration, options.headless, json=options.json, picture=options.picture
    )
    return int(run(chosen))


def replay(options: argparse.Namespace) -> int:
    """Make a recorded simulation again; exit code 1 if it differs in any bit. Needs ROS 2."""
    _find_ros('replay')
    from robot_dynamics.nodes.recordings.replay import replay_file

    return int(replay_file(options.file))


def _find_ros(what: str) -> None:
    try:
        import rclpy  # noqa: F401
    except ImportError as error:
        raise RosMissing(
            f'{what} needs ROS 2, and rclpy cannot be imported ({error}): source a ROS 2 '
            'distribution, or type ./run demo, which installs one; the other verbs need none'
        ) from error


class RosMissing(RobotDynamicsError, ImportError):  # noqa: N818  (says what it is)
    """ROS 2 is not there."""
