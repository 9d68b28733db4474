# SPDX-License-Identifier: Apache-2.0
"""The verb `record`: joint states, commands and robot description to a recording."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robot_dynamics.cli.options import add_graph, new_folder, positive, ros_needed
from robot_dynamics.common.errors import RobotDynamicsError

COMMANDS = (
    *('joint_effort', 'feedforward_node/feedforward_torque', 'effort_controller/commands'),
    *('joint_command', 'position_controller/commands'),
)
PERIOD = {True: 0.5, False: 10.0}  # s, between two lines of progress, on a terminal or not
STOPPED = 1.0  # s without joint states before the end: they have stopped


def add_record_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `record`."""
    add = parser.add_argument
    add('bag', type=new_folder, help='a new rosbag2 folder')
    add('--duration', type=positive, default=math.inf, help='duration, s (until Ctrl-C)')
    add('--force', action='store_true', help='replace a recording in that folder')
    topics = parser.add_argument_group('the topics')
    add = topics.add_argument
    add('--joint-states', default='joint_states', metavar='TOPIC', help='(joint_states)')
    add('--description', default='robot_description', metavar='TOPIC', help='(robot_description)')
    add(
        '--commands',
        nargs='*',
        default=COMMANDS,
        metavar='TOPIC',
        help=f'of those that are published ({", ".join(COMMANDS)})',
    )
    add_graph(topics, 'the first joint state')


def record_topics(options: argparse.Namespace) -> int:
    """Record joint states, commands and robot description to a rosbag2 folder, in MCAP.

    It ends after --duration or by Ctrl-C, with exit code 0; `identify`, `evaluate`, `payload` and
    `view` read it. Needs ROS 2 and rosbags: pip install rosbags, or in a checkout pip install
    '.[bags]'.
    """
    with ros_needed('record'):
        from robot_dynamics.ros.bag_recorder import RecordedTopic, check_replaceable, record
        from robot_dynamics.ros.graph_client import GraphClient
    if options.bag.exists() and not options.force:
        raise RobotDynamicsError(f'{options.bag} exists: name a new folder, or --force')
    check_replaceable(options.bag)
    names = [
        ('--joint-states', options.joint_states),
        ('--description', options.description),
        *(('--commands', topic) for topic in options.commands),
    ]
    with GraphClient('robot_dynamics_record', options.namespace) as client:
        topics = [RecordedTopic(client, client.topic(*name)) for name in names]
        elapsed = record(
            client,
            options.bag,
            topics,
            duration=options.duration,
            timeout=options.timeout,
            show=_Progress(topics),
        )
    _report(options.bag, topics, elapsed)
    return 0


def _report(folder: Path, topics: Sequence[Any], elapsed: float) -> None:
    """Print what was recorded, and warn of what is missing."""
    counts = [f'{topic.count} on {topic.name}' for topic in topics if topic.count]
    print(f'{folder}: {elapsed:.1f} s, messages: {", ".join(counts)}')
    states, description = topics[:2]
    silent = time.monotonic() - states.received
    if silent > STOPPED:
        _warn(f'joint states stopped {silent:.1f} s before the end')
    if not (description.count and description.name.endswith('/robot_description')):
        _warn(f'no robot_description on {description.name}: the verbs that read it need --robot')


def _warn(text: str) -> None:
    print(f'warning: {text}', file=sys.stderr)


class _Progress:
    """Shows the time and the number of joint states on the standard error."""

    def __init__(self, topics: Sequence[Any]) -> None:
        self._states, self._shown = topics[0], 0.0
        self._is_terminal = sys.stderr.isatty()

    def __call__(self, elapsed: float) -> None:
        if elapsed - self._shown >= PERIOD[self._is_terminal]:
            self._shown = elapsed
            text = f'recording: {elapsed:.1f} s, {self._states.count} joint states'
            print(text, end='\r' if self._is_terminal else '\n', file=sys.stderr, flush=True)
