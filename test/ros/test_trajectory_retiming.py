# SPDX-License-Identifier: Apache-2.0
"""feedforward_node with `on_infeasible: retime`: the fastest motion, computed beside the loop."""

import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from called_nodes import CalledNode
from feedforward_view import MS, Q, point, trajectory
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from tiers import slow
from waiting import wait_until

from robot_dynamics.control import retiming_process
from robot_dynamics.control.feasibility import check_feasibility
from robot_dynamics.control.motions import Outcome
from robot_dynamics.control.retiming import retime
from robot_dynamics.core.friction.memory import FrictionWithOffset
from robot_dynamics.ros import messages
from robot_dynamics.ros.motion_status import MotionStatus
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode

NAMES = ('shoulder', 'elbow')
# In the order elbow, shoulder. The shoulder needs 48 N m, of 50 N m; here of 25 N m.
FAST = trajectory(point(0.0, (0.2, 0.1)), point(0.15, (0.6, -0.3)))
SLOW = trajectory(point(0.0, (0.2, 0.1)), point(3.0, (0.6, -0.3)))
CORNER = trajectory(
    *(point(t, q, ()) for t, q in ((0.0, Q[::-1] + 0.01), (0.1, (0.2, 0.5)), (0.2, Q)))
)
HALF = {'on_infeasible': 'retime', 'torque_limit_scale': 0.5, 'ramp_time': 0.0}
DEADLINE = 30.0  # s: the process starts, and compiles


class Driver:
    """A node that gets a joint state every millisecond of its own time, and answers."""

    def __init__(self, graph, statuses, **parameters):
        self.graph, self.statuses = graph, statuses
        self.called = CalledNode(graph, FeedforwardNode, **HALF | parameters)
        self.node, self.stamp, self.answers, self.published = self.called.node, 0, [], []
        self.references, self.follower = self.node.references, self.node.references.follower
        self.references._filled_out = SimpleNamespace(
            get_subscription_count=lambda: 1, publish=self.published.append
        )
        self.step()

    @property
    def status(self):
        return self.statuses[-1]

    @property
    def process(self):
        return self.references.retiming.process

    def step(self, q=Q, qd=(0.0, 0.0)):
        """Give the next joint state; return the answer."""
        self.stamp += MS
        state = JointState(name=NAMES, position=np.asarray(q, dtype=float), velocity=qd)
        state.header.stamp = messages.time_message(self.stamp)
        self.answers.append(self.called.answer(state))
        assert self.answers[-1], 'the state is not answered'
        return self.answers[-1]

    def send(self, message):
        self.called.give('/joint_trajectory', message)

    def until(self, condition, what, q=Q):
        """Give joint states until a condition holds."""
        wait_until(condition, what, DEADLINE, lambda: (self.step(q), time.sleep(1e-3)))

    def idle(self):
        """Wait, without joint states, until the process has done all that was requested."""
        self.references.retiming.thread.submit(lambda: None).result(DEADLINE)

    def expected(self, message=FAST):
        """Return what the library returns for the node's robot, payload, friction and limits."""
        node = self.node
        friction = node.parameters.friction(node.arm.model)
        return retime(
            node.arm,
            messages.trajectory(message).in_order(NAMES),
            node.parameters.torque_limit_scale * node.arm.model.effort_limit,
            friction=FrictionWithOffset(friction, np.array(node.parameters.effort_offset)),
        )

    def set(self, name, value):
        (result,) = self.node.set_parameters([Parameter(name, value=value)])
        assert result.successful, result.reason


@pytest.fixture
def start(graph, monkeypatch):
    """Return what starts a node; its statuses are those that it would publish."""
    statuses, drivers = [], []
    monkeypatch.setattr(MotionStatus, 'publish', lambda _, activity: statuses.append(activity))

    def begun(**parameters):
        drivers.append(Driver(graph, statuses, **parameters))
        return drivers[-1]

    yield begun
    for driver in drivers:
        driver.node.trigger_shutdown()


@pytest.fixture
def driver(start):
    return start()


def test_an_infeasible_trajectory_is_held_until_it_is_retimed_and_then_followed(driver):
    driver.send(FAST)
    assert driver.status.word == 'retiming'
    assert driver.status.motion == 'holding, retiming a trajectory'
    before = len(driver.answers)
    driver.until(lambda: driver.follower.execution.outcome or driver.published, 'the motion')
    # The states meanwhile were answered, by the reference that is held.
    held = driver.answers[before:-1]
    assert len(held) > 20
    assert all(answer['reference'][0] == Q.tolist() for answer in held)
    fastest = driver.expected()
    begin = driver.stamp
    assert driver.status.word == 'following'
    sent = messages.trajectory(driver.published[0]).in_order(NAMES)
    np.testing.assert_array_equal(sent.points, fastest.points)
    np.testing.assert_allclose(sent.times, fastest.times, rtol=0, atol=1e-9)  # whole ns
    while (t := (driver.stamp - begin) / 1e9) < fastest.duration:
        now = driver.answers[-1]['reference']
        np.testing.assert_array_equal(now, np.array(fastest.sample(t)))
        driver.step()
    driver.step()
    assert driver.follower.execution.outcome is Outcome.SUCCEEDED
    assert fastest.duration < 0.3
    limit = 0.5 * driver.node.arm.model.effort_limit
    assert check_feasibility(driver.node.arm, fastest, limit).feasible
    assert driver.node.health.counts['trajectory infeasible'] == 1


def test_a_feasible_trajectory_and_a_window_are_followed_as_they_are(driver):
    driver.send(SLOW)
    driver.step()
    assert driver.follower.doing == 'following a trajectory of 3 s'
    # A window of a stream, and a trajectory that does not end at rest
    points = point(0.0, (0.2, 0.1)), point(0.1, (0.22, 0.08), (4.0, -4.0))
    moving = trajectory(*points, stamp=driver.stamp)
    driver.send(moving)
    driver.step()
    assert driver.follower.doing == 'following a stream of references'
    moving.header.stamp = messages.time_message(0)
    driver.send(moving)
    assert not driver.follower.is_expecting
    assert 'the last point must be at rest' in driver.status.detail


# In 20 ms; to a first point at 0.1 s, and past it; the elbow alone.
OTHER_PATHS = {
    'too fast': trajectory(point(0.0, (0.2, 0.1)), point(0.02, (0.6, -0.3))),
    'from elsewhere': trajectory(
        point(0.1, (0.5, 0.0), (2.0, 1.0)), point(0.2, (0.6, 0.05), (1.0, 0.5)), point(0.3, Q)
    ),
    'partial': trajectory(point(0.0, [0.2], [0.0]), point(0.1, [1.9], [0.0]), names=['elbow']),
}


@pytest.mark.parametrize('path', ['too fast', *slow(['from elsewhere', 'partial'])])
def test_any_path_begins_at_the_reference_and_is_followed_within_the_limits(driver, path):
    message = OTHER_PATHS[path]
    driver.send(message)
    driver.until(lambda: driver.published, 'the motion')
    sent = messages.trajectory(driver.published[0]).in_order(NAMES)
    limit = 0.5 * driver.node.arm.model.effort_limit
    assert check_feasibility(driver.node.arm, sent, limit).feasible
    assert not sent.points[1:, [0, -1]].any()  # from rest to rest
    np.testing.assert_array_equal(sent.points[0, 0], Q)
    given = messages.trajectory(message).completed(NAMES, Q)
    np.testing.assert_allclose(sent.points[0, -1], given.points[0, -1], rtol=0, atol=1e-9)
    distance = np.abs(sent.points[0] - given.points[0, 0]).max(axis=1)
    assert distance.min() < 1e-9  # through the first point
    while driver.follower.execution.outcome is None:
        driver.step(driver.follower.present.q)
    assert driver.follower.execution.outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize('other', ['payload', *slow(['friction', 'effort_offset', 'limit'])])
def test_the_present_payload_friction_and_limit_count(driver, other):
    before = driver.expected().duration
    for name, value in {
        'payload': (('payload.link', 'forearm'), ('payload.mass', 1.0)),
        'friction': (('friction.viscous', [2.0, 1.0]),),
        'effort_offset': (('effort_offset', [3.0, -1.0]),),
        'limit': (('torque_limit_scale', 0.4),),
    }[other]:
        if name == 'payload.link':
            driver.node.trigger_deactivate()
        driver.set(name, value)
        if name == 'payload.link':
            driver.node.trigger_activate()
            driver.step()
    driver.send(FAST)
    driver.until(lambda: driver.published, 'the motion')
    fastest = driver.expected()
    assert abs(fastest.duration / before - 1) > 0.01
    sent = messages.trajectory(driver.published[0]).in_order(NAMES)
    np.testing.assert_array_equal(sent.points, fastest.points)


DROPPED = {
    'another': (lambda driver: driver.send(SLOW), 'replaced by another trajectory'),
    'another, infeasible': (lambda driver: driver.send(FAST), 'replaced by another trajectory'),
    'stop': (
        lambda driver: driver.graph.call(Trigger, 'feedforward_node/stop'),
        'cancelled: stopped by ~/stop',
    ),
    'without points': (lambda driver: driver.send(trajectory()), 'cancelled: stopped by a'),
    'law': (lambda driver: driver.set('control_law', 'gravity_only'), 'cancelled: control_law'),
    'disabled': (
        lambda driver: driver.graph.call(
            SetBool, 'feedforward_node/enable', SetBool.Request(data=False)
        ),
        'cancelled: disabled',
    ),
    'collision': (lambda driver: driver.follower.collide('pushed'), 'cancelled: pushed'),
    'deactivation': (lambda driver: driver.node.trigger_deactivate(), 'cancelled'),
    'time going back': (lambda driver: setattr(driver, 'stamp', 0), 'dropped: the time'),
}


@pytest.mark.parametrize('event', [*DROPPED][:2] + slow([*DROPPED][2:]))
def test_what_ends_a_motion_drops_a_trajectory_that_is_retimed(driver, event):
    driver.stamp += 10_000 * MS
    driver.step()
    driver.send(FAST)
    execution = driver.follower.execution
    act, ending = DROPPED[event]
    act(driver)
    if event == 'deactivation':
        driver.node.trigger_activate()
    driver.step()
    assert execution.ending.startswith(ending)
    driver.idle()
    for _ in range(3):
        driver.step()
    assert driver.published == [] or event.startswith('another')
    assert not driver.follower.is_expecting
    if event == 'another':
        assert driver.follower.doing == 'following a trajectory of 3 s'
    elif event == 'another, infeasible':
        assert len(driver.published) == 1
        assert driver.follower.doing.startswith('following')
    elif event != 'stream':
        assert not driver.follower.doing.startswith('following')


def test_an_arm_that_has_moved_away_rejects_the_result(driver):
    driver.send(FAST)
    driver.step()
    driver.idle()
    away = Q + np.array([0.0, 0.2])
    driver.step(away)  # by the state before it begins; it is checked again at its start
    driver.step(away)
    assert driver.follower.execution.outcome is Outcome.REJECTED
    assert "joint 'elbow'" in driver.follower.execution.reason
    assert driver.status.word == 'rejected'
    np.testing.assert_allclose(driver.step(away)['reference'][1], 0.0)


@pytest.mark.slow
def test_a_moving_reference_decelerates_and_the_motion_begins_where_it_stops(driver):
    driver.send(SLOW)
    motion = messages.trajectory(SLOW).in_order(NAMES)
    for k in range(1500):
        driver.step(motion.sample(k * 1e-3).q)
    here = driver.follower.present.q
    driver.published.clear()
    driver.send(
        trajectory(point(0.0, here[::-1]), point(0.1, (0.6, -0.3)), point(0.2, (0.2, 0.1)))
    )
    assert driver.status.word == 'stopping'
    driver.idle()  # the result comes before the reference is at rest
    rows = []

    def begun():
        rows.append(driver.step(driver.follower.present.q)['reference'])
        return driver.published

    wait_until(begun, 'the motion', DEADLINE, lambda: time.sleep(1e-3))
    ended = next(k for k, row in enumerate(rows) if not np.any(row[1]))
    assert ended > 200  # ms, not at once
    rest = np.array(rows[ended][0])
    assert (rest != here).all()
    sent = messages.trajectory(driver.published[0]).in_order(NAMES)
    np.testing.assert_array_equal(sent.points[0, 0], rest)
    limit = 0.5 * driver.node.arm.model.effort_limit
    assert check_feasibility(driver.node.arm, sent, limit).feasible
    while driver.follower.execution.outcome is None:
        rows.append(driver.step(driver.follower.present.q)['reference'])
    assert driver.follower.execution.outcome is Outcome.SUCCEEDED
    velocity = np.array(rows)[:, 1]
    assert np.abs(np.diff(velocity, axis=0)).max() < 0.2  # rad/s, 200 rad/s^2


@pytest.mark.slow
def test_a_later_start_lets_the_present_motion_end_first(driver):
    short = trajectory(point(0.0, (0.2, 0.1)), point(1.0, (0.3, 0.0)))
    driver.send(short)
    driver.step()
    begin, first = driver.stamp, driver.follower.execution
    driver.send(
        trajectory(point(0.0, (0.3, 0.0)), point(0.15, (0.6, -0.3)), stamp=begin + 1500 * MS)
    )
    assert first.outcome is Outcome.REPLACED
    assert driver.status.word == 'following'
    driver.idle()
    while driver.stamp < begin + 1500 * MS:
        answer = driver.step(driver.follower.present.q)
    np.testing.assert_allclose(answer['reference'][0], [0.0, 0.3], atol=1e-9)
    while driver.follower.execution.outcome is None:
        answer = driver.step(driver.follower.present.q)
    assert driver.follower.execution.outcome is Outcome.SUCCEEDED
    np.testing.assert_allclose(answer['reference'][0], [-0.3, 0.6], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ('others', 'message', 'reason'),
    [
        ({'interpolation': 'linear'}, CORNER, 'point 1, at 0.1 s, is a corner of the path'),
        ({'torque_limit_scale': 0.17}, FAST, 'against gravity and friction in the posture ['),
    ],
)
def test_what_cannot_be_retimed_is_rejected_with_the_reason(start, others, message, reason):
    driver = start(**others)
    driver.send(message)
    driver.until(lambda: driver.follower.execution.outcome, 'the rejection')
    assert driver.follower.execution.outcome is Outcome.NOT_RETIMED
    assert reason in driver.follower.execution.reason
    assert driver.status.word == 'rejected'
    assert driver.follower.execution.reason in driver.status.detail
    assert driver.node.health.counts['trajectory rejected'] == 1


def test_gravity_alone_a_far_start_and_a_past_end_change_nothing(driver):
    driver.send(SLOW)
    driver.step()
    old = trajectory(point(0.0, (0.2, 0.1)), point(0.15, (0.6, -0.3)), stamp=1)
    driver.stamp += 500 * MS
    driver.step(driver.follower.present.q)
    far = trajectory(point(0.0, (0.9, 0.1)), point(0.1, (0.6, -0.3)))
    beyond = trajectory(point(0.0, (0.2, 0.1)), point(0.1, (0.6, -3.3)))
    for message, reason in (
        (old, 'the trajectory ended'),
        (far, 'the trajectory begins'),
        (beyond, 'its limit is -3'),
    ):
        driver.send(message)
        assert reason in driver.status.detail
        assert driver.follower.doing == 'following a trajectory of 3 s'
    driver.set('torque_limit_scale', 0.1)
    driver.send(SLOW)
    assert 'against gravity alone' in driver.status.detail
    assert driver.follower.doing == 'following a trajectory of 3 s'


def test_the_death_of_the_process_rejects_the_trajectory_and_the_next_one_is_retimed(driver):
    driver.idle()
    os.kill(driver.process.pid, signal.SIGSTOP)  # it is not faster than this test
    driver.send(FAST)
    driver.step()
    driver.process.kill()
    driver.until(lambda: driver.follower.execution.outcome, 'the rejection')
    assert driver.follower.execution.ending == 'not retimed: the retiming process ended: signal 9'
    assert driver.status.word == 'rejected'
    assert driver.node.health.counts['trajectory rejected'] == 1
    assert driver.step()['reference'][0] == Q.tolist()
    driver.send(FAST)
    driver.until(lambda: driver.published, 'the motion')


@pytest.mark.slow
def test_a_process_that_does_not_reply_is_ended(driver, monkeypatch):
    driver.idle()
    pid = driver.process.pid
    os.kill(pid, signal.SIGSTOP)
    monkeypatch.setattr(retiming_process, 'TIMEOUT', 0.1)
    driver.send(FAST)
    driver.until(lambda: driver.follower.execution.outcome, 'the rejection')
    assert driver.follower.execution.ending == 'not retimed: retiming takes more than 0.1 s'
    assert not Path(f'/proc/{pid}').exists()


@pytest.mark.slow
def test_the_process_runs_only_where_it_is_needed(start):
    driver = start(on_infeasible='slow_down')
    assert driver.process.pid is None
    driver.set('on_infeasible', 'retime')
    driver.idle()
    pid = driver.process.pid
    assert Path(f'/proc/{pid}').exists()
    driver.set('on_infeasible', 'reject')
    driver.idle()
    assert driver.process.pid is None
    assert not Path(f'/proc/{pid}').exists()
    driver.set('on_infeasible', 'retime')
    driver.idle()
    pid = driver.process.pid
    driver.node.trigger_deactivate()
    assert driver.process.pid == pid
    driver.node.trigger_cleanup()
    driver.idle()
    assert not Path(f'/proc/{pid}').exists()


@pytest.mark.slow
def test_while_disabled_the_retimed_trajectory_is_published_and_not_followed(start):
    driver = start(start_enabled=False)
    driver.send(FAST)
    driver.until(lambda: driver.published, 'the trajectory')
    sent = messages.trajectory(driver.published[0]).in_order(NAMES)
    np.testing.assert_array_equal(sent.points, driver.expected().points)
    driver.step()
    assert driver.follower.doing == 'holding'
    driver.published.clear()
    driver.send(FAST)
    driver.send(SLOW)  # the newer one alone is published
    driver.idle()
    driver.step()
    assert [m.points[-1].time_from_start.sec for m in driver.published] == [3]
