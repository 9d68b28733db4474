# SPDX-License-Identifier: Apache-2.0
"""The example for drives in MIT mode: frames, and an arm that the drives move."""

import runpy
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')

from feedforward_view import MS, Q, Robot, point, trajectory
from std_srvs.srv import SetBool

EXAMPLES = Path(__file__).parents[2] / 'examples'
FRAMES = runpy.run_path(str(EXAMPLES / 'mit_frames.py'))
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(EXAMPLES)  # as of a file that is run
    EXAMPLE = runpy.run_path(str(EXAMPLES / 'mit_drives.py'))
NAMES = ('shoulder', 'elbow')
GAINS = {'shoulder': (50.0, 1.0), 'elbow': (20.0, 0.5)}


def resolution(name):
    low, high, bits = FRAMES['FIELDS'][name]
    return (high - low) / (2**bits - 1)


@pytest.fixture
def arm(graph):
    """Return a node, and the drives of its joints."""
    robot = Robot(graph, state_publish_rate=0.0, compensate_friction=False, silence_timeout=30.0)
    drives = {name: EXAMPLE['StandInDrive'](*GAINS[name]) for name in NAMES}
    graph.nodes.append(EXAMPLE['MitDrives'](drives, context=graph.context))
    graph.executor.add_node(graph.nodes[-1])
    graph.until(
        lambda: robot.node.count_subscribers('feedforward_node/desired_state'), 'the drives'
    )
    return robot, [drives[name] for name in NAMES]


def state(robot, drives, stamp, q, qd):
    """Send a joint state, and return the torques of the drives once they have its answer."""
    wanted = robot.node.references.follower

    def answered():
        """Whether the last frames are the answer, and not damping frames."""
        desired = wanted.present.q if robot.node.watch.last.stamp == stamp else np.full(2, np.inf)
        return all(
            abs(drive.desired['q'] - x) < resolution('q') and drive.desired['kp']
            for drive, x in zip(drives, desired, strict=True)
        )

    robot.send(stamp, q, qd)
    robot.graph.until(lambda: robot.node.watch.last and answered(), 'the frames')
    return np.array([drive.torque(*x) for drive, *x in zip(drives, q, qd, strict=True)])


def test_drives_follow_by_their_own_feedback(arm, elbow):
    robot, drives = arm
    end, qd = Q + np.array([0.2, -0.3]), np.zeros(2)
    state(robot, drives, 0, Q, qd)
    q = Q + np.array([0.03, -0.02])  # off the reference
    robot.follow(trajectory(point(0.0, Q), point(0.4, end), names=NAMES))
    for k in range(1, 500):
        tau = state(robot, drives, k * MS, q, qd)
        tau = tau - elbow.friction_torque(qd)
        qd = qd + 1e-3 * elbow.forward_dynamics(q, qd, tau, friction='none')
        q = q + 1e-3 * qd
    assert q == pytest.approx(end, abs=0.01)


def damped(drives):
    """Return whether the last frame of each drive is a damping frame."""
    return all(
        abs(drive.desired[field]) <= resolution(field)
        for drive in drives
        for field in ('kp', 'tau', 'qd')
    )


def test_each_joint_has_its_own_gains(arm):
    robot, drives = arm
    state(robot, drives, 0, Q, np.zeros(2))
    for name, drive in zip(NAMES, drives, strict=True):
        for field, gain in zip(('kp', 'kd'), GAINS[name], strict=True):
            assert abs(drive.desired[field] - gain) <= resolution(field)


def test_a_drive_that_has_never_had_a_desired_state_is_damped(arm, graph):
    _, drives = arm
    graph.until(lambda: all(drive.frames for drive in drives), 'frames')
    assert damped(drives)


@pytest.mark.parametrize('loss', ['the states stop', 'the node is disabled', 'the node ends'])
def test_drives_are_damped_while_the_desired_state_is_lost(arm, graph, loss):
    robot, drives = arm
    state(robot, drives, 0, Q, np.zeros(2))
    assert not damped(drives)
    if loss == 'the node is disabled':
        assert graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=False)).success
        robot.torque(MS)  # the last one
        robot.send(2 * MS)
    if loss == 'the node ends':
        graph.stop(robot.node)
    graph.until(lambda: damped(drives), 'damping frames')
    for name, drive in zip(NAMES, drives, strict=True):
        # Against the motion, in both directions, and no torque at rest.
        assert drive.torque(1.0, 0.0) == pytest.approx(0.0, abs=0.05)
        for speed in (1.0, -1.0):
            expected = -GAINS[name][1] * speed
            assert drive.torque(1.0, speed) == pytest.approx(expected, abs=0.05)
    frames = drives[0].frames
    graph.until(lambda: drives[0].frames > frames, 'more of them')
    assert damped(drives)
    if loss == 'the states stop':
        state(robot, drives, MS, Q, np.zeros(2))
        assert not damped(drives)


@pytest.mark.parametrize(
    'gains', [(0.0, 1.0), (50.0, 0.0), (-1.0, 1.0), (501.0, 1.0), (50.0, 6.0)]
)
def test_gains_that_no_frame_can_have_are_rejected(gains):
    with pytest.raises(ValueError, match='expected 0 to'):
        EXAMPLE['StandInDrive'](*gains)
