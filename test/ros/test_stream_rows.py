# SPDX-License-Identifier: Apache-2.0
"""Streams of references to a Panda, on the node: limits, lag, accuracy, and steps of torque.

The motion is that of a hand that leads an arm: overlapping movements of 0.35 to 1.2 s with least
jerk. Messages take 3 ms and more; a torque step is over if it would exceed the rate limit, full
effort in 0.1 s.
"""

import numpy as np
import pytest
import tiers
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

pytest.importorskip('rclpy')

from called_nodes import CalledNode

from robot_dynamics.common.resources import bundled_robots
from robot_dynamics.control.limits import acceleration_limit
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import messages
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.urdf.loading import load_urdf

MS, S = 1_000_000, 1_000_000_000
MODEL = load_urdf('panda')
START = np.array([0.0, -0.4, 0.0, -1.8, 0.0, 1.6, 0.7])
SECONDS, TRANSPORT = 6.0, 0.003
V, A = MODEL.velocity_limit, acceleration_limit(MODEL)


def least_jerk(u):
    u = np.clip(u, 0.0, 1.0)
    return 10 * u**3 - 15 * u**4 + 6 * u**5


def led(seed=2):
    """Return positions and velocities (m, n) at times (m,) of a hand's motion."""
    random, moves = np.random.default_rng(seed), []
    for j in range(MODEL.n):
        t = 0.5
        while t < SECONDS - 1.5:
            duration, way = random.uniform(0.35, 1.2), random.uniform(-0.6, 0.6)
            moves.append((j, t, duration, way * min(1.0, duration / 0.8)))
            t += duration * random.uniform(0.15, 1.0)
            t += random.uniform(0.2, 0.8) if random.random() < 0.25 else 0.0  # a pause

    def positions(t):
        q = np.tile(START, (len(t), 1))
        for j, begin, duration, way in moves:
            q[:, j] += way * least_jerk((t - begin) / duration)
        return START + np.tanh(q - START)

    def motion(t):
        t, h = np.atleast_1d(t), 1e-5
        return positions(t), (positions(t + h) - positions(t - h)) / (2 * h)

    return motion


class Played:
    """A node that has answered the states of SECONDS, and the messages of a stream between."""

    def __init__(self, graph, topic, sent, arrives, message, **parameters):
        self.called = CalledNode(
            graph,
            FeedforwardNode,
            description=bundled_robots()['panda'].read_text(),
            silence_timeout=30.0,
            **parameters,
        )
        q, rows, k = START, [], 0
        self.times = np.arange(0.0, SECONDS, 1e-3)
        for t in self.times:
            while k < len(sent) and arrives[k] < t:
                self.called.give(topic, message(sent[k]))
                k += 1
            state = JointState(name=MODEL.joint_names, position=q, velocity=np.zeros(MODEL.n))
            state.header.stamp = messages.time_message(S + round(t * S))
            rows.append(self.called.answer(state)['reference'])
            q = np.array(rows[-1][0])
        self.q, self.qd, self.qdd = np.array(rows).transpose(1, 0, 2)
        self.node = self.called.node
        self.stream = self.node.references.follower.stream
        self.rejected = self.node.health.counts['reference rejected']

    def check_curve(self):
        """One curve within the limits, always."""
        assert (np.abs(self.qd) <= V * (1 + 1e-9)).all()
        assert (np.abs(self.qdd) <= A * (1 + 1e-9)).all()
        speed = np.diff(self.q, axis=0) * 1e3
        assert np.abs(speed - (self.qd[1:] + self.qd[:-1]) / 2).max() < 2e-3

    def over(self, begin=0.0, end=SECONDS):
        """Return the share of states whose step of torque exceeds the rate limit."""
        tau = Dynamics(MODEL).inverse_dynamics(self.q, self.qd, self.qdd)
        steps = np.abs(np.diff(tau, axis=0)) / (MODEL.effort_limit / 0.1 * 1e-3)
        some = (self.times[1:] >= begin) & (self.times[1:] < end)
        return (steps > 1).any(axis=1)[some].mean()

    def lag(self, motion):
        """Return the lag [s] with which the reference is nearest to a motion, and how near."""
        some = (self.times > 1.0) & (self.times < SECONDS - 1.0)
        lags = np.arange(-0.01, 0.3, 0.001)
        errors = [
            np.sqrt(((self.q[some] - motion(self.times[some] - lag)[0]) ** 2).mean())
            for lag in lags
        ]
        return lags[np.argmin(errors)], min(errors)


def reference(stamp, q, qd=None):
    point = JointTrajectoryPoint(positions=q, velocities=[] if qd is None else qd)
    message = JointTrajectory(joint_names=MODEL.joint_names, points=[point])
    message.header.stamp = messages.time_message(stamp)
    return message


IRREGULAR = {'spread': 0.3}
Q = {}
QV = {'velocity': True}
ROWS = [
    # Hz, jitter ms, how, reference_window ms, accuracy mrad, largest share over
    (30, 3, Q, 0, 0.8, 0.01),
    (30, 3, {'noise': 0.002}, 50, 2.0, 0.01),
    (30, 3, {'noise': 0.002}, 0, 2.0, 0.02),
    (30, 3, QV, 0, 1.0, 0.01),
    (50, 2, {'step': 0.0015}, 0, 0.8, 0.01),
    (100, 1, Q, 0, 0.4, 0.01),
    (100, 1, QV, 0, 0.4, 0.01),
    (100, 2, QV | {'lost': 0.05}, 0, 0.6, 0.01),
    (250, 2, {'step': 1e-4}, 0, 0.6, 0.01),
    (50, 1, IRREGULAR, 0, 0.9, 0.01),
    (50, 1, IRREGULAR, 20, 0.9, 0.03),
    (10, 5, Q, 0, 8.0, 0.01),
    (10, 5, QV, 0, 8.0, 0.01),
]
UNSTAMPED = [
    (30, 3, Q, 0, 1.3, 0.01),
    (100, 1, QV, 0, 0.4, 0.01),
    (100, 2, QV | {'lost': 0.05}, 0, 0.8, 0.01),
    (250, 2, {'step': 1e-4}, 0, 0.8, 0.03),
    (50, 1, IRREGULAR, 0, 4.0, 0.03),
]
STAMPED = [(*row, True) for row in ROWS]
CASES = [
    STAMPED[0],
    *tiers.slow_rows([*STAMPED[1:9:2], STAMPED[9], (*UNSTAMPED[3], False)]),
    *tiers.soak_rows([*STAMPED[2:9:2], *STAMPED[10:]]),
    *tiers.soak_rows([(*row, False) for k, row in enumerate(UNSTAMPED) if k != 3]),
]


@pytest.mark.parametrize(
    ('rate', 'jitter', 'how', 'window', 'accuracy', 'share', 'stamped'),
    CASES,
    ids=lambda value: '-'.join(value) if isinstance(value, dict) else str(value),
)
def test_a_stream_becomes_one_curve(graph, rate, jitter, how, window, accuracy, share, stamped):
    random, motion = np.random.default_rng(9), led()
    gaps = 1 + how.get('spread', 0.0) * random.standard_normal(round(SECONDS * rate))
    sent = 0.3 + np.cumsum(np.maximum(gaps, 0.1)) / rate
    sent = sent[(sent < SECONDS) & (random.random(len(sent)) >= how.get('lost', 0.0))]
    late = 1e-3 * jitter * np.abs(random.standard_normal(len(sent)))
    arrives = np.maximum.accumulate(sent + TRANSPORT + late)
    noise = how.get('noise', 0.0) * random.standard_normal((len(sent), MODEL.n))

    def message(t):
        (q,), (qd,) = motion(t)
        q = q + noise[np.searchsorted(sent, t)]
        step = how.get('step', 0.0)
        q = np.round(q / step) * step if step else q
        return reference(round(t * S) + 5 if stamped else 0, q, qd if 'velocity' in how else None)

    played = Played(graph, '/reference', sent, arrives, message, reference_window=window / 1e3)
    played.check_curve()
    assert played.rejected == 0
    lag, error = played.lag(motion)
    clock, W = played.stream.clock, played.node.references.follower.motion.path.window
    predicted = clock.period if 'velocity' in how else 0.0
    # Unstamped messages have the time of their mean arrival; at 10 Hz a mean of curves is late;
    # the period of irregular ones is the median; where one is lost, the next one is waited for.
    later = TRANSPORT + 1e-3 + (0.0 if stamped else 1.5e-3 * jitter)
    later += 6e-3 * (rate == 10) + 2e-3 * ('spread' in how) + 1e-3 * ('lost' in how)
    assert lag <= clock.lateness + W + clock.period - predicted + later
    assert lag <= played.stream.lag + later
    assert error <= 1e-3 * accuracy
    assert played.over(1.0, SECONDS - 1.0) <= share
    assert played.over() <= 0.035  # with the first messages, whose period is not known
