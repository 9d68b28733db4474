# SPDX-License-Identifier: Apache-2.0
"""A driver for tests of the feed-forward node: joint states out, torques in."""

import numpy as np
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode

MS = 1_000_000
Q = np.array([0.1, 0.2])


def point(seconds, positions, velocities=(0.0, 0.0), **rest):
    whole = int(seconds)
    return JointTrajectoryPoint(
        positions=[float(value) for value in positions],
        velocities=list(velocities),
        time_from_start=Duration(sec=whole, nanosec=round((seconds - whole) * 1e9)),
        **rest,
    )


def trajectory(*points, names=('elbow', 'shoulder'), stamp=0):
    """Return a message; the points are in the order elbow, shoulder."""
    message = JointTrajectory(joint_names=list(names), points=list(points))
    message.header.stamp = messages.time_message(stamp)
    return message


MOVE = (point(0.0, (0.2, 0.1)), point(1.0, (0.6, -0.3)), point(2.0, (0.2, 0.1)))


class Robot:
    """A driver: joint states out, torques in."""

    def __init__(self, graph, remap=(), **parameters):
        """Start the node; soft start and rate limit of its torques are off unless requested.

        Joint states come when a test sends them, so that they are late on a busy machine.
        """
        quiet = {'ramp_time': 0.0, 'max_torque_rate': [0.0], 'silence_timeout': 30.0}
        parameters = quiet | parameters
        self.graph = graph
        self.node = graph.start(FeedforwardNode, remap=remap, **parameters)
        self.torques = graph.listen(JointState, 'feedforward_node/feedforward_torque')
        self.status = graph.listen(DiagnosticStatus, 'feedforward_node/status', qos.LATCHED)
        self.filled = graph.listen(
            JointTrajectory, 'feedforward_node/joint_trajectory_with_effort'
        )
        self.states = graph.publisher(JointState, 'joint_states')
        self.trajectories = graph.publisher(JointTrajectory, 'joint_trajectory')

    def send(self, stamp, q=Q, qd=(0.0, 0.0)):
        message = JointState(
            name=['elbow', 'finger', 'shoulder'],
            position=[float(q[1]), 1.0, float(q[0])],
            velocity=[float(qd[1]), 1.0, float(qd[0])] if qd is not None else [],
        )
        message.header.stamp = messages.time_message(stamp)
        self.states.publish(message)

    def torque(self, stamp, q=Q, qd=(0.0, 0.0)):
        """Return the torque for a state, in the model's order."""
        self.send(stamp, q, qd)
        self.graph.until(lambda: self.answers(stamp), f'the torque for {stamp} ns')
        message = self.answers(stamp)[-1]
        assert message.name == ['shoulder', 'elbow']
        assert message.header.frame_id == 'base'
        return np.array(message.effort)

    def answers(self, stamp):
        return [m for m in self.torques if messages.nanoseconds(m.header.stamp) == stamp]

    def wait_for_status(self, text):
        """Wait until what was published last, or before it with an event, has this text."""
        self.graph.until(
            lambda: self.status and text in sentence(self.status[-1]), f'status {text!r}'
        )

    def wait_for_word(self, word):
        self.graph.until(lambda: self.status and self.status[-1].message == word, f'word {word!r}')

    def wait_for_event(self, text):
        """Wait for a status whose detail has this text; return it."""
        found = []

        def published():
            found[:] = [message for message in self.status if text in detail(message)]
            return found

        self.graph.until(published, f'event {text!r}')
        return found[-1]

    def follow(self, message):
        self.trajectories.publish(message)
        self.graph.until(
            lambda: self.status and self.status[-1].message == 'following',
            'the trajectory being followed',
        )


def values(status):
    return {item.key: item.value for item in status.values}


def detail(status):
    return values(status)['detail']


def sentence(status):
    """Return the event, if there was one, and the motion."""
    return '; '.join(filter(None, [detail(status), values(status)['motion']]))


def close(actual, desired):
    np.testing.assert_allclose(actual, desired, rtol=1e-9, atol=1e-9)
