"""The verbs that need ROS 2."""

from __future__ import annotations

import argparse

from robot_dynamics.cli.demo import require_ros


def replay(options: argparse.Namespace) -> int:
    """Make a recorded simulation again; exit code 1 if it differs in any bit. Needs ROS 2."""
    require_ros('replay')
    from robot_dynamics.ros.recordings.replay import replay_file

    return int(replay_file(options.file))
