# SPDX-License-Identifier: Apache-2.0
"""Status of the motion on `~/status`: one word of a fixed vocabulary, and what explains it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticStatus

from robot_dynamics.ros import health, qos
from robot_dynamics.ros.lifecycle import RobotNode

IDLE, HOLDING, FOLLOWING, STOPPING = 'idle', 'holding', 'following', 'stopping'
REJECTED, WAITING, FAULTED = 'rejected', 'waiting', 'faulted'
RETIMING = 'retiming'
LEVELS = {REJECTED: health.WARN, WAITING: health.WARN, FAULTED: health.ERROR}
PROGRESS_PERIOD = 0.2  # s, between two messages during a motion


class NodeActivity(NamedTuple):
    """What a node does at present."""

    word: str  # of the vocabulary
    motion: str  # a sentence for people
    progress: float = math.nan  # fraction of the trajectory's time that is over
    lag: float = math.nan  # s, of the reference behind the stream that is followed
    detail: str = ''  # why it does so; it may name a joint in quotes
    outcome: str = ''  # of the trajectory that was accepted last, once it has ended
    warning: str = ''  # what the motion lacks: at least a WARN


class MotionStatus:
    """Part of a node: publishes the status of its motion, latched.

    `message` is the word; `values` are `motion`, a sentence for people, `detail`, what has
    happened, `progress`, the fraction of the trajectory's time that is over, `lag`, the time [s]
    by which the reference is behind the stream, `joint`, the joint concerned, `outcome`, how the
    trajectory that was accepted last has ended ('succeeded', or another word and the reason). What
    does not apply is empty.
    """

    def __init__(self, node: RobotNode, activity: Callable[[], NodeActivity]):
        """Create the publisher; `activity` returns what the node does at present."""
        self._node, self._activity = node, activity
        self._word, self._reported = '', time.monotonic()
        self._publisher = node.create_publisher(DiagnosticStatus, '~/status', qos.LATCHED)

    def report(self, event: str = '', word: str = '') -> None:
        """Publish after an event, which may have a word of its own and name a joint in quotes."""
        activity = self._activity()
        self._word, self._reported = activity.word, time.monotonic()
        detail = event or activity.detail or activity.warning
        self.publish(activity._replace(word=word or activity.word, detail=detail))

    def update(self, now: float) -> None:
        """Publish if the word has changed, and the progress of a motion; `now` in s."""
        word = self._activity().word
        is_late = now - self._reported > PROGRESS_PERIOD
        if word != self._word or (is_late and word in (FOLLOWING, RETIMING)):
            self.report()

    def publish(self, activity: NodeActivity) -> None:
        """Publish a status."""
        node = self._node
        model = None if node.base is None else node.base.model
        names = () if model is None else model.joint_names
        values = {
            'motion': activity.motion,
            'detail': activity.detail,
            'progress': '' if math.isnan(activity.progress) else f'{activity.progress:.3f}',
            'lag': '' if math.isnan(activity.lag) else f'{activity.lag:.3f}',
            'outcome': activity.outcome,
            'joint': next((name for name in names if repr(name) in activity.detail), ''),
        }
        level = LEVELS.get(activity.word, health.WARN if activity.warning else health.OK)
        name, robot = f'{node.get_fully_qualified_name()}: motion', model.name if model else ''
        self._publisher.publish(health.status_message(level, name, robot, activity.word, values))
