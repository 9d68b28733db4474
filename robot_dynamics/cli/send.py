# SPDX-License-Identifier: Apache-2.0
"""The verb `send`: a motion to feedforward_node."""

from __future__ import annotations

import argparse
from pathlib import Path

from robot_dynamics.cli.options import add_graph, ros_needed
from robot_dynamics.control.trajectory_file import read_trajectory
from robot_dynamics.simulation.ensembles.progress import progress_bar

NOT_REACHED = 1  # exit code
STEPS = 1000  # of the progress bar


def add_send_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `send`."""
    add = parser.add_argument
    add('motion', type=Path, help='YAML file: one trajectory_msgs/msg/JointTrajectory')
    topics = parser.add_argument_group('the topics')
    add = topics.add_argument
    add('--topic', default='joint_trajectory', help='topic of the trajectories (joint_trajectory)')
    add(
        '--status',
        default='feedforward_node/status',
        help='topic of the status (feedforward_node/status)',
    )
    add_graph(topics, 'an answer of the node')


def send_motion(options: argparse.Namespace) -> int:
    """Send a motion to feedforward_node and print its progress; exit code 1 if it fails.

    A failure is printed with its reason: rejected, a tolerance violated, cancelled, replaced.
    Ctrl-C ends the motion: the arm decelerates and is held. Needs ROS 2.
    """
    with ros_needed('send'):
        from robot_dynamics.ros.graph_client import GraphClient
        from robot_dynamics.ros.motion_sender import MotionSender
    trajectory = read_trajectory(options.motion)
    with GraphClient('robot_dynamics_send', options.namespace) as client:
        topics = client.topic('--topic', options.topic), client.topic('--status', options.status)
        sender = MotionSender(client, *topics, options.timeout)
        with progress_bar(str(options.motion)) as show:
            ending = sender.send(trajectory, lambda done: show(round(STEPS * done), STEPS))
    print(f'{options.motion}: {ending.reason}')
    return 0 if ending.reached else NOT_REACHED
