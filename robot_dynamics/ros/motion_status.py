"""Status of the motion on `~/status`: one word of a fixed vocabulary, and what explains it."""

from __future__ import annotations

import math

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from robot_dynamics.ros import health, qos
from robot_dynamics.ros.lifecycle import RobotNode

IDLE, HOLDING, FOLLOWING, STOPPING = 'idle', 'holding', 'following', 'stopping'
REJECTED, WAITING, FAULTED = 'rejected', 'waiting', 'faulted'
LEVELS = {REJECTED: health.WARN, WAITING: health.WARN, FAULTED: health.ERROR}


class MotionStatus:
    """Part of a node: publishes the status of its motion, latched.

    `message` is the word; `values` are `motion`, a sentence for people, `detail`, what has
    happened, `progress`, the fraction of the trajectory's time that is over, and `joint`, the
    joint concerned. What does not apply is empty.
    """

    def __init__(self, node: RobotNode):
        """Create the publisher."""
        self._node = node
        self._publisher = node.create_publisher(DiagnosticStatus, '~/status', qos.LATCHED)

    def publish(
        self, word: str, motion: str, detail: str = '', progress: float = math.nan
    ) -> None:
        """Publish a word of the vocabulary; `detail` may name a joint in quotes."""
        node = self._node
        model = None if node.base is None else node.base.model
        names = () if model is None else model.joint_names
        values = {
            'motion': motion,
            'detail': detail,
            'progress': '' if math.isnan(progress) else f'{progress:.3f}',
            'joint': next((name for name in names if repr(name) in detail), ''),
        }
        self._publisher.publish(
            DiagnosticStatus(
                level=LEVELS.get(word, health.OK),
                name=f'{node.get_fully_qualified_name()}: motion',
                message=word,
                hardware_id='' if model is None else model.name,
                values=[KeyValue(key=key, value=value) for key, value in values.items()],
            )
        )
