"""The example for drives in MIT mode: frames, and an arm that the drives move."""

import runpy
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')

from feedforward_view import MS, Q, Robot, point, trajectory
from std_srvs.srv import SetBool

EXAMPLES = Path(__file__).parents[2] / 'examples'
EXAMPLE = runpy.run_path(str(EXAMPLES / 'mit_drives.py'))
NAMES = ('shoulder', 'elbow')


def resolution(name):
    low, high, bits = EXAMPLE['FIELDS'][name]
    return (high - low) / (2**bits - 1)


def test_a_frame_has_64_bits_and_its_numbers_return():
    rng = np.random.default_rng(0)
    assert sum(field.bits for field in EXAMPLE['FIELDS'].values()) == 64
    for _ in range(50):
        given = {
            name: rng.uniform(low, high) for name, (low, high, _) in EXAMPLE['FIELDS'].items()
        }
        found = EXAMPLE['unpack'](EXAMPLE['pack'](**given))
        for name, value in given.items():
            assert abs(found[name] - value) <= 0.5001 * resolution(name)
    # Position first, most significant byte first; numbers beyond the range are clamped.
    ends = {'q': 99.0, 'qd': -99.0, 'kp': 0.0, 'kd': 9.0, 'tau': -99.0}
    assert EXAMPLE['pack'](**ends).hex() == 'ffff000000fff000'


@pytest.fixture
def arm(graph):
    """Return a node, and the drives of its joints."""
    robot = Robot(graph, state_publish_rate=0.0, compensate_friction=False, silence_timeout=30.0)
    drives = {name: EXAMPLE['StandInDrive']() for name in NAMES}
    graph.nodes.append(EXAMPLE['MitDrives'](drives, context=graph.context))
    graph.executor.add_node(graph.nodes[-1])
    graph.until(
        lambda: robot.node.count_subscribers('feedforward_node/desired_state'), 'the drives'
    )
    return robot, [drives[name] for name in NAMES]


def state(robot, drives, stamp, q, qd):
    """Send a joint state, and return the torques of the drives once they have its answer."""
    before = drives[0].frames
    robot.send(stamp, q, qd)
    robot.graph.until(lambda: drives[1].frames > before, 'the frames')
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


def test_no_frame_is_sent_while_the_node_is_disabled(arm, graph):
    robot, drives = arm
    state(robot, drives, 0, Q, np.zeros(2))
    assert graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=False)).success
    robot.torque(MS)  # the last one
    robot.send(2 * MS)
    graph.until(lambda: robot.node._state.stamp == 2 * MS, 'the state')
    frames = drives[0].frames
    robot.send(3 * MS)
    graph.drain(0.1)
    assert drives[0].frames == frames
