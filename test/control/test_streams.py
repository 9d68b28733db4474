# SPDX-License-Identifier: Apache-2.0
"""Streams of references: no step beyond the velocity limit, and joins that are motions."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.control import Reference
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.limits import acceleration_limit
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.urdf.loading import load_urdf

S, MS = 1_000_000_000, 1_000_000
LIMIT = np.array([2.5, 2.0])
MODEL = replace(planar_2r(), lower=np.full(2, -3.0), upper=np.full(2, 3.0), velocity_limit=LIMIT)
rates = pytest.mark.parametrize('rate', [50, 250, 500])
mirrored = pytest.mark.parametrize('side', [1, -1], ids=['', 'mirrored'])
BOTH = np.ones(2)


class Arm:
    """A perfect arm, with states at 1 kHz and a stream of references between them."""

    def __init__(self):
        self.follower = ReferenceFollower(MODEL, np.full(2, 0.1), 0.1)
        self.now, self.rows, self.rejected = 5 * S, [], []
        self.q = np.zeros(2)
        self.state()

    def state(self):
        reference, _ = self.follower.reference(JointReading(self.now, self.q, 0 * self.q, None))
        self.q = reference.q
        self.rows.append(np.stack(reference))
        self.now += MS

    def states(self, count):
        for _ in range(count):
            self.state()

    def send(self, q, qd=(0.0, 0.0), stamp=None):
        """Send a reference, by default with the time of the states; return whether it passed."""
        wanted = Reference(np.array(q), np.array(qd, dtype=float), np.zeros(2))
        try:
            self.follower.follow_reference(wanted, self.now if stamp is None else stamp)
        except TrajectoryError as error:
            self.rejected.append(str(error))
            return False
        return True

    def check(self, first=0):
        """The reference moves as a motion does, within the velocity and acceleration limits."""
        rows = np.array(self.rows[first:])
        steps = np.abs(np.diff(rows, axis=0))
        assert (steps[:, 0] <= LIMIT * 1e-3 * 1.001).all()
        assert (steps[:, 1] <= acceleration_limit(MODEL) * 1e-3 * 1.001).all()


@rates
@mirrored
def test_references_that_alternate_are_rejected_and_never_followed_by_a_step(rate, side):
    arm = Arm()
    passed = []
    for k in range(40):
        passed.append(arm.send(side * 0.045 * (-1) ** k * BOTH))
        arm.states(1000 // rate)
    assert not any(passed[1::2])
    assert "the position of joint 'joint1' changes from" in arm.rejected[0]
    arm.check()


@rates
@mirrored
def test_a_smooth_stream_at_the_velocity_limit_is_followed_as_it_is(rate, side):
    arm, period = Arm(), 1 / rate
    speed = side * 0.99 * LIMIT
    for k in range(-5, rate):
        # It accelerates over a second.
        t = max(k, 0) * period
        assert arm.send(speed * t**2 / 2, speed * t), arm.rejected
        arm.states(1000 // rate)
    assert not arm.rejected
    np.testing.assert_array_equal(arm.q, speed * t**2 / 2)


def begun(period, **how):
    """Return an arm that has joined a stream at rest, at zero."""
    arm = Arm()
    for _ in range(round(0.2 / period)):
        arm.send(np.zeros(2), **how)
        arm.states(round(period * 1e3))
    return arm


@rates
@mirrored
@pytest.mark.parametrize('joint', [0, 1])
def test_a_step_is_measured_by_the_velocity_limit_and_the_time_since_the_last(rate, side, joint):
    for factor, passes in ((0.99, True), (1.01, False)):
        arm = begun(1 / rate)
        q = side * factor * 1.2 * LIMIT / rate * (np.arange(2) == joint)
        assert arm.send(q) == passes
        arm.state()
        np.testing.assert_array_equal(arm.q, q * passes)  # or the last one that was accepted


@rates
@mirrored
@pytest.mark.parametrize('apart', [0, MS // 10], ids=['one stamp', '0.1 ms apart'])
def test_a_burst_moves_no_further_than_one_reference_may(rate, side, apart):
    arm = begun(1 / rate)
    before, first = arm.q, arm.now
    step = side * 0.99 * 1.2 * LIMIT * 2e-3
    q = 1.0 * before
    for k in range(20):
        if arm.send(q + step, stamp=first + k * apart):
            q = q + step
    arm.state()
    # Once what a period of 2 ms allows, and what the time of the burst does.
    most = 1.2 * LIMIT * (1 / rate + 2e-3 + 20 * apart / S)
    assert (np.abs(arm.q - before) <= most).all()
    assert arm.rejected
    arm.states(1000)
    # A stream at the usual pace passes again.
    assert arm.send(arm.q)


@rates
@mirrored
def test_two_arrivals_at_once_are_measured_by_their_stamps(rate, side):
    arm = begun(1 / rate)
    speed, stamp = side * 0.3 * LIMIT, arm.now
    for k in range(rate):
        q = speed * min(k / rate, 0.25)
        assert arm.send(q, stamp=stamp + round(k * S / rate)), arm.rejected
        if k % 2:  # the second of two
            arm.now += round(1.9 * MS * 1000 / rate) - MS
            arm.state()
    assert not arm.rejected


@mirrored
def test_without_stamps_two_arrivals_at_once_count_as_the_shortest_period(side):
    for factor, passes in ((0.99, True), (1.01, False)):
        arm = begun(0.002)
        q = side * 0.5 * LIMIT * 0.002
        assert arm.send(q)
        later = arm.now + 100_000  # ns
        assert arm.send(q + side * factor * 1.2 * LIMIT * 0.002, stamp=later) == passes


@rates
@mirrored
def test_after_a_rejection_the_stream_is_joined_as_a_motion_begins(rate, side):
    arm = begun(1 / rate)
    period = 1 / rate
    assert not arm.send(side * 0.09 * BOTH)
    arm.states(1000 // rate)
    np.testing.assert_array_equal(arm.q, 0.0)
    first = len(arm.rows) - 1
    # The stream is elsewhere now, and stays there.
    for k in range(rate // 2):
        assert arm.send(side * 0.09 * BOTH), arm.rejected
        arm.states(1000 // rate)
        if k * period < 0.02:
            assert np.abs(arm.q).max() < 0.05
    arm.check(first)
    np.testing.assert_array_equal(arm.q, side * 0.09 * BOTH)


@rates
@mirrored
def test_rejected_references_do_not_add_up_to_time_for_a_step(rate, side):
    arm = begun(1 / rate)
    first = len(arm.rows) - 1
    for _ in range(rate // 5):
        assert not arm.send(side * 0.2 * BOTH)  # beyond start_tolerance
        arm.states(1000 // rate)
    np.testing.assert_array_equal(arm.q, 0.0)
    for _ in range(rate // 2):
        assert arm.send(side * 0.08 * BOTH), arm.rejected
        arm.states(1000 // rate)
    np.testing.assert_array_equal(arm.q, side * 0.08 * BOTH)
    arm.check(first)


@mirrored
@pytest.mark.parametrize('back', [1, 40, 101, 5000], ids=lambda back: f'{back} ms')
def test_stamps_that_go_back_and_forth_give_no_time_for_a_step(side, back):
    """By a few milliseconds: references that overtake each other; by more: another clock."""
    arm = begun(0.01)
    first = len(arm.rows) - 1
    for k in range(60):
        stamp = arm.now - (back * MS if k % 2 else 0)
        arm.send(side * 0.04 * (-1) ** (k // 2) * BOTH, stamp=stamp)
        arm.states(2)
    arm.check(first)


def test_a_clock_that_was_set_back_is_joined_and_then_followed():
    arm = begun(0.01)
    stamp = 3 * S
    for k in range(100):
        assert arm.send(0.5 * LIMIT * 0.01 * min(k, 20), stamp=stamp + 10 * k * MS), arm.rejected
        arm.states(10)
    np.testing.assert_array_equal(arm.q, 0.5 * LIMIT * 0.2)


@rates
@mirrored
def test_a_moving_stream_is_joined_from_rest_within_the_limits(rate, side):
    arm = Arm()
    q, speed = side * 0.06 * BOTH, side * 0.5 * LIMIT
    for k in range(rate):
        assert arm.send(q + speed * k / rate, speed), arm.rejected
        arm.states(1000 // rate)
    steps = np.abs(np.diff(np.array(arm.rows), axis=0))
    # Once it is joined, the references hold in between.
    joined = round(0.8 * rate) * 1000 // rate
    assert (steps[:joined, 0] <= LIMIT * 1e-3 * 1.001).all()
    assert (steps[:, 0] <= np.abs(speed) / rate + LIMIT * 1e-3).all()
    assert (steps[:, 1] <= acceleration_limit(MODEL) * 1e-3 * 1.001).all()
    np.testing.assert_array_equal(arm.q, q + speed * (rate - 1) / rate)


def test_a_stream_that_is_joined_holds_once_no_more_references_arrive():
    arm = Arm()
    arm.follower.adjust(MODEL, np.full(2, 0.1), 60.0)
    assert arm.send(0.01 * BOTH, 0.2 * LIMIT)
    arm.states(2000)
    assert np.abs(arm.q).max() < 0.2
    np.testing.assert_array_equal(arm.rows[-1][0], arm.rows[-500][0])


def test_a_broken_stream_is_joined():
    """As after a reference that was rejected before it came to the follower."""
    arm = begun(0.01)
    first = len(arm.rows) - 1
    arm.follower.break_stream()
    for _ in range(3):
        assert arm.send(0.02 * BOTH)
        arm.states(90)
    arm.check(first)
    assert np.abs(arm.q - 0.02).max() < 1e-9


@mirrored
@pytest.mark.parametrize('joint', [0, 1])
def test_a_last_point_that_is_repeated_at_rest_has_no_acceleration(side, joint):
    """joint_trajectory_controller sends it on, with the acceleration that ended the motion.

    One joint rests after 0.2 s, the other one goes on.
    """
    arm, a = Arm(), 5.0 * side
    for k in range(1, 401):
        # a until 0.1 s, then -a; the other joint in twice the time
        rows = []
        for T in np.where(np.arange(2) == joint, 0.1, 0.2):
            t = min(k * 1e-3, 2 * T)
            left = 2 * T - t
            way = a * t**2 / 2 if t <= T else a * (T**2 - left**2 / 2)
            rows.append((way, a * min(t, left), a if t <= T else -a))
        arm.follower.follow_reference(Reference(*np.array(rows).T), arm.now)
        arm.state()
        qdd = arm.rows[-1][2]
        if k < 200:
            assert np.sign(qdd[joint]) == np.sign(side) * (1 if k <= 100 else -1)
        if k > 201:
            assert qdd[joint] == 0.0
        if 201 < k < 400:
            assert abs(qdd[1 - joint]) == pytest.approx(5.0)
    arm.follower.follow_reference(Reference(*np.array(rows).T), arm.now)
    arm.state()
    np.testing.assert_array_equal(arm.rows[-1][1:], 0.0)


@pytest.mark.xfail(strict=True, reason='a stream places all joints where one is off')
@mirrored
def test_a_wrist_that_is_off_does_not_place_the_other_joints_at_rest(side):
    model, wrist, start = load_urdf('panda'), 6, np.array([0, -0.6, 0, -2.2, 0, 1.6, 0.8])
    others, most = np.arange(model.n) != wrist, 1e-3 * acceleration_limit(model)
    follower = ReferenceFollower(model, np.full(model.n, 0.1), 0.1)
    speed, q, last = side * 0.2 * model.velocity_limit, start, None
    for k in range(600):
        # The arm is where its reference is, but for its wrist, which is ahead after 0.3 s.
        measured = np.where(others | (k < 300), q, q + side * 0.105)
        reference, _ = follower.reference(JointReading(5 * S + k * MS, measured, speed, None))
        if k > 250:  # the stream has a constant velocity
            change = np.abs(reference.qd - last.qd)[others]
            assert (change <= 1.001 * most[others]).all()
        q, last = reference.q, reference
        if k % 20 == 0:
            t = 1e-3 * k
            ramp = min(t, 0.2)  # s, in which the stream accelerates
            wanted = Reference(
                start + speed * (t - ramp + ramp**2 / 0.4), speed * ramp / 0.2, 0 * speed
            )
            follower.follow_reference(wanted, follower.now)
    assert (np.abs(last.q - start)[others] > 0.05).all()
