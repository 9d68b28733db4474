# SPDX-License-Identifier: Apache-2.0
"""Streams of references: one rule from the first message to the last, within the limits."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.control import Trajectory
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.limits import acceleration_limit
from robot_dynamics.control.motions import Phase
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.spline import Waypoint
from robot_dynamics.control.stream_following import StreamSettings
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.urdf.loading import load_urdf

S, MS = 1_000_000_000, 1_000_000
LIMIT = np.array([2.5, 2.0])
MODEL = replace(planar_2r(), lower=np.full(2, -3.0), upper=np.full(2, 3.0), velocity_limit=LIMIT)
MOST = acceleration_limit(MODEL)
TOLERANCE = 0.1
BOTH = np.ones(2)
mirrored = pytest.mark.parametrize('side', [1, -1], ids=['', 'mirrored'])


class Arm:
    """A perfect arm, with states at 1 kHz, and messages that arrive between them."""

    def __init__(self, streams=None, timeout=0.1):
        self.follower = ReferenceFollower(MODEL, np.full(2, TOLERANCE), timeout, streams=streams)
        self.now, self.rows, self.rejected, self.dropped = 5 * S, [], [], []
        self.q, self.error = np.zeros(2), np.zeros(2)
        self.state()

    @property
    def t(self):
        """Time of the last state, s."""
        return self.follower.now / S

    def state(self):
        reading = JointReading(self.now, self.q + self.error, 0 * self.q, None)
        reference, dropped = self.follower.reference(reading)
        self.dropped += [dropped] * bool(dropped)
        self.q = reference.q
        self.rows.append(np.stack(reference))
        self.now += MS

    def states(self, seconds):
        for _ in range(round(seconds * 1e3)):
            self.state()

    def send(self, q, qd=None, stamp=None):
        """Send a reference; return whether it is followed."""
        return self.try_to(self.follower.follow_reference, Waypoint(np.array(q), qd), stamp)

    def window(self, times, rows, stamp=None):
        points = [Waypoint(np.array(q)) for q in rows]
        return self.try_to(self.follower.follow_window, np.array(times), points, stamp)

    def try_to(self, follow, *message):
        try:
            follow(*message)
        except TrajectoryError as error:
            self.rejected.append(str(error))
            return False
        return True

    def stream(self, path, seconds, rate, velocity=None, *, jitter=0.0, lost=0.0, stamped=True):
        """Send points of a path, a function of the time since now, in order."""
        random, begin = np.random.default_rng(round(1e3 * rate)), self.t
        sent = np.arange(0.0, seconds, 1 / rate)
        sent = sent[random.random(len(sent)) >= lost]
        arrives = np.maximum.accumulate(sent + jitter * np.abs(random.standard_normal(len(sent))))
        for at, arrival in zip(sent, arrives, strict=True):
            while self.t < begin + arrival:
                self.state()
            qd = None if velocity is None else velocity(at)
            self.send(path(at), qd, 9 * S + round(at * S) if stamped else None)

    def check(self, first=0):
        """The reference is one curve within the velocity and acceleration limits."""
        q, qd, qdd = np.array(self.rows[first:]).transpose(1, 0, 2)
        assert (np.abs(qd) <= LIMIT * (1 + 1e-9)).all()
        assert (np.abs(qdd) <= MOST * (1 + 1e-9)).all()
        assert (np.abs(np.diff(q, axis=0) - (qd[1:] + qd[:-1]) * 5e-4) < 2e-6).all()
        assert (np.abs(np.diff(qd, axis=0)) <= MOST * 1e-3 * (1 + 1e-6)).all()


def wave(t):
    return 0.6 * (1 - np.cos(2 * t)) * np.array([1, -0.7])


def wave_velocity(t):
    return 1.2 * np.sin(2 * t) * np.array([1, -0.7])


@pytest.mark.parametrize(
    ('rate', 'how', 'accuracy'),
    [
        (10, {}, 8e-3),
        (30, {'jitter': 0.003}, 2e-3),
        (30, {'jitter': 0.003, 'stamped': False}, 2e-3),
        (30, {'velocity': wave_velocity}, 2e-3),
        (30, {'lost': 0.2}, 3e-2),
        (100, {'jitter': 0.001}, 1e-3),
        (100, {'jitter': 0.002, 'stamped': False, 'lost': 0.05}, 8e-3),
        (100, {'velocity': wave_velocity, 'jitter': 0.002}, 1e-3),
        (250, {'jitter': 0.002}, 2e-3),
        (300, {'jitter': 0.002, 'stamped': False}, 6e-3),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else '',
)
def test_a_stream_is_followed_with_its_lag_and_within_the_limits(rate, how, accuracy):
    arm = Arm()
    arm.stream(wave, 1.5, rate, **how)
    assert not arm.rejected
    arm.check()
    clock, lag = arm.follower.stream.clock, arm.follower.stream.lag
    W = max(1 / rate, 0.04 if clock.irregular else 0.02)
    predicted = 1 / rate if 'velocity' in how else 0.0
    assert lag <= clock.lateness + 1.2 * W + 1 / rate - predicted + 1e-3
    # The reference is the stream, later by the lag: which is no more than it says.
    times, q = np.arange(len(arm.rows)) * 1e-3, np.array(arm.rows)[:, 0]
    late = times > 0.5
    lags = np.arange(0.0, 0.3, 0.001)
    errors = [
        np.abs(q[late] - np.array([wave(max(0.0, t - x)) for t in times[late]])).max()
        for x in lags
    ]
    assert min(errors) < accuracy
    # Where messages are lost, it waits for the next one.
    assert lags[np.argmin(errors)] <= lag + 4e-3 + how.get('lost', 0.0) * 4 / rate


@mirrored
@pytest.mark.parametrize('rate', [20, 100, 250])
def test_a_moving_stream_is_joined_from_rest_within_the_limits(rate, side):
    arm, speed = Arm(), side * 0.5 * LIMIT
    arm.stream(lambda t: side * 0.06 * BOTH + speed * t, 1.0, rate, lambda _: speed)
    assert not arm.rejected
    arm.check()
    lag = arm.follower.stream.lag
    expected = side * 0.06 * BOTH + speed * (1.0 - 1 / rate - lag)
    np.testing.assert_allclose(arm.q, expected, atol=5e-3)
    np.testing.assert_allclose(arm.rows[-1][1], speed, rtol=1e-2)


@mirrored
def test_a_stream_takes_over_from_a_moving_trajectory(side):
    arm = Arm()
    goal = side * np.array([0.8, -0.5])
    arm.follower.follow(Trajectory(MODEL.joint_names, [1.0], [goal], [0 * goal]), 0)
    arm.states(0.5)
    q, qd, _ = arm.rows[-1]
    assert np.abs(qd).min() > 0.3
    first = len(arm.rows) - 1
    arm.stream(lambda t: q + qd * t, 0.4, 100, lambda _: qd)
    assert not arm.rejected
    arm.check(first)
    np.testing.assert_allclose(arm.rows[-1][1], qd, rtol=0.05)


@mirrored
@pytest.mark.parametrize('joint', [0, 1])
def test_a_jump_within_the_tolerance_is_a_way_and_one_beyond_it_waits(side, joint):
    for jump, followed in ((0.09, True), (0.3, False)):
        arm = Arm()
        step = side * jump * (np.arange(2) == joint)
        arm.stream(lambda t, step=step: step * (t > 0.5), 1.2, 50)
        arm.check()
        if followed:
            assert not arm.rejected
            np.testing.assert_allclose(arm.q, step, atol=1e-6)
            continue
        # Every message since then waits, for all joints; then the stream is over.
        assert len(arm.rejected) == 34
        name = MODEL.joint_names[joint]
        assert f"the reference is at {step[joint]:g} for joint '{name}'" in arm.rejected[0]
        assert 'it must be within 0.1' in arm.rejected[0]
        assert len(arm.dropped) == 1
        assert arm.dropped[0].startswith('the stream of references is rejected: ')
        assert name in arm.dropped[0]
        np.testing.assert_array_equal(arm.q, 0.0)
        # One that is near the path begins a new stream.
        assert arm.send(0.5 * arm.q)


@mirrored
@pytest.mark.parametrize('rate', [10, 30, 50, 100, 250])
def test_a_jump_within_the_tolerance_hardly_overshoots(rate, side):
    for jump in (0.03, 0.05, 0.09):
        arm = Arm()
        arm.stream(lambda t, jump=jump: side * jump * BOTH * (t > 0.5), 1.2, rate)
        arm.states(0.5)
        arm.check()
        assert (side * np.array(arm.rows)[:, 0] - jump).max() < 6e-3
        np.testing.assert_allclose(arm.q, side * jump, atol=1e-6)


@mirrored
def test_a_message_that_is_off_is_not_followed_and_the_others_are(side):
    arm, rejected = Arm(), []
    for k in range(100):
        q = wave(0.01 * k)
        if k % 10 == 5:
            bad = [q + side * np.array([0.0, 0.5]), [np.nan, 0.0], [0.0, side * 3.1]][k // 10 % 3]
            assert not arm.send(bad, stamp=arm.now)
            rejected += [arm.rejected[-1]]
        else:
            assert arm.send(q, stamp=arm.now)
        arm.states(0.01)
    arm.check()
    assert "joint 'joint2'" in rejected[0]
    assert 'not finite' in rejected[1]
    assert "joint 'joint2' is" in rejected[2]
    assert 'its limit is' in rejected[2]
    assert np.abs(arm.q - wave(1.0 - arm.follower.stream.lag)).max() < 5e-3


@mirrored
def test_stamps_that_go_back_are_rejected_alone(side):
    arm = Arm()
    for k in range(60):
        back = 40 * MS if k % 7 == 6 else 0
        assert arm.send(side * wave(0.01 * k), stamp=arm.now - back) == (back == 0)
        arm.states(0.01)
    arm.check()
    assert 'its stamp is 0.030 s before that of the last one' in arm.rejected[0]


@mirrored
def test_the_clock_of_a_sender_may_be_set(side):
    arm = Arm()
    for k in range(200):
        stamp = 10 * k * MS + (3 * S if k < 100 else 10**18)
        assert arm.send(side * wave(0.01 * k), stamp=stamp), arm.rejected
        arm.states(0.01)
    arm.check()
    assert np.abs(arm.q - side * wave(2.0 - arm.follower.stream.lag)).max() < 5e-3


@mirrored
def test_silence_is_a_deceleration_and_the_next_message_a_new_stream(side):
    arm, speed = Arm(), side * np.array([0.6, -0.4])
    arm.stream(lambda t: speed * t, 1.0, 30)
    arm.states(0.6)
    arm.check()
    assert arm.dropped == ['the stream of references has stopped']
    assert arm.follower.phase is Phase.HOLDING
    np.testing.assert_array_equal(arm.rows[-1][1:], 0.0)
    # It goes no further than a braking way beyond the last reference.
    assert (np.abs(arm.q - speed * 29 / 30) < np.abs(speed) * 0.07 + speed**2 / MOST).all()
    first = len(arm.rows) - 1
    assert arm.send(arm.q + side * 0.05)
    arm.states(0.2)
    arm.check(first)


@pytest.mark.parametrize('gap', [0.08, 0.15, 0.4])
def test_after_a_drop_out_a_stream_catches_up(gap):
    arm = Arm()
    arm.stream(lambda t: 0.4 * wave(t), 1.0, 50)
    arm.states(gap)
    end = 0.4 * wave(1.0) + 0.09 * np.array([1, -1])
    arm.stream(lambda _: end, 0.4, 50)
    assert not arm.rejected
    assert len(arm.dropped) == (gap > 0.14)
    arm.check()
    np.testing.assert_allclose(arm.q, end, atol=1e-4)


@mirrored
def test_a_stream_beyond_a_limit_saturates_and_names_the_joint(side):
    arm = Arm()
    speed = side * np.array([3.0, 0.5])
    seen = []
    for k in range(12):
        arm.send(speed * 0.02 * k)
        arm.states(0.02)
        seen.append(arm.follower.stream.beyond)
    arm.check()
    assert not arm.rejected
    assert "joint 'joint1' of the stream moves at" in seen[-1]
    assert 'its limit is 2.5' in seen[-1]
    for _ in range(40):
        assert arm.send(speed * 0.22)
        arm.states(0.02)
    assert arm.follower.stream.beyond == ''
    arm.check()
    np.testing.assert_allclose(arm.q, speed * 0.22, atol=1e-4)


def test_a_velocity_that_no_joint_can_have_is_rejected():
    arm = Arm()
    assert not arm.send([0.0, 0.0], np.array([0.0, -21.0]))
    assert "the velocity of joint 'joint2' is -21; expected at most 20" in arm.rejected[0]
    assert arm.send([0.0, 0.0], np.array([0.0, -2.1]))


def test_the_window_follows_the_period_and_may_be_set():
    for rate, W in ((10, 0.1), (30, 1 / 30), (100, 0.02)):
        arm = Arm()
        arm.stream(wave, 0.8, rate)
        assert arm.follower.motion.path.window == pytest.approx(W, rel=0.02)
    arm = Arm(StreamSettings(window=0.05))
    arm.stream(wave, 0.5, 100)
    assert arm.follower.motion.path.window == 0.05
    arm.follower.adjust(MODEL, np.full(2, TOLERANCE), 0.1, streams=StreamSettings(window=0.01))
    arm.stream(lambda t: wave(0.5 + t), 0.3, 100)
    assert arm.follower.motion.path.window == 0.01
    arm.check()


def test_a_period_that_grows_makes_the_window_longer():
    arm = Arm()
    arm.stream(wave, 0.6, 60)
    before = arm.follower.motion.path.window
    arm.stream(lambda t: wave(0.6 + t), 1.2, 15)
    assert not arm.rejected
    assert before == pytest.approx(0.02)
    assert arm.follower.motion.path.window == pytest.approx(1 / 15, rel=0.1)
    arm.check()


def test_speed_override_and_settings_leave_a_stream_alone():
    plain, other = Arm(), Arm()
    for arm in (plain, other):
        arm.stream(wave, 0.3, 50)
        if arm is other:
            arm.follower.speed.target = 0.3
            arm.follower.adjust(MODEL, np.full(2, TOLERANCE), 0.1)
        arm.stream(lambda t: wave(0.3 + t), 0.3, 50)
    np.testing.assert_array_equal(plain.rows, other.rows)


@pytest.mark.parametrize('prediction', [0.0, 0.5, 1.0])
def test_velocities_reduce_the_lag(prediction):
    arm = Arm(StreamSettings(prediction=prediction))
    arm.stream(wave, 1.0, 30, wave_velocity)
    lag = arm.follower.stream.lag
    assert lag == pytest.approx((2 - prediction) / 30, abs=2e-3)
    assert np.abs(arm.q - wave(1.0 - 1 / 30 - lag)).max() < 5e-3


def test_a_stop_ends_a_stream_and_a_release_places_it():
    arm = Arm()
    arm.stream(wave, 0.5, 50)
    arm.follower.stop()
    assert arm.follower.stream is None
    arm.states(0.5)
    arm.check()
    assert arm.follower.phase is Phase.HOLDING
    arm.follower.release()
    arm.error = np.array([0.05, -0.03])
    before = arm.q + arm.error
    assert not arm.send(before + 0.2)
    arm.state()
    np.testing.assert_array_equal(arm.q, before)


def test_a_stream_that_was_stopped_begins_again_after_a_pause():
    arm = Arm()
    arm.stream(wave, 0.5, 50)
    arm.follower.stop()
    for _ in range(100):
        assert not arm.send(arm.q)
        arm.states(0.01)
    assert 'the stream was stopped; it begins again after a pause of 0.5 s' in arm.rejected[0]
    assert arm.follower.phase is Phase.HOLDING
    arm.states(0.51)
    assert arm.send(arm.q)
    arm.check()


def test_a_stream_after_a_pause_has_a_clock_and_a_window_of_its_own():
    arm, times = Arm(), np.arange(1, 17) / 30
    for _ in range(2):
        for _ in range(8):
            assert arm.window(times, [arm.q] * 16, arm.follower.now)
            arm.states(0.2)
        assert arm.follower.motion.path.window == pytest.approx(1 / 30)
        assert arm.follower.stream.lag == 0.0
        arm.states(2.0)
    for _ in range(40):
        assert arm.window([0.1], [arm.q], arm.follower.now)
        arm.states(0.01)
    assert arm.follower.stream.lag == 0.0
    arm.states(2.0)
    arm.stream(lambda t: arm.q, 0.5, 100)
    assert arm.follower.stream.lag == pytest.approx(0.03, abs=2e-3)


@pytest.mark.parametrize('window', [0.0, 0.3, 1.0])
def test_the_end_of_a_stream_is_one_curve_to_its_last_reference(window):
    arm, speed = Arm(StreamSettings(window=window)), np.array([0.3, -0.2])
    arm.stream(lambda t: speed * min(t, 0.8), 1.0, 100)
    arm.states(3.0)
    assert arm.dropped == ['the stream of references has stopped']
    assert arm.follower.phase is Phase.HOLDING
    arm.check()
    np.testing.assert_allclose(arm.q, speed * 0.8, atol=1e-6)


def test_a_slow_stream_is_one_stream():
    arm = Arm()
    arm.stream(lambda t: 0.2 * wave(t), 4.0, 5)
    assert arm.dropped == arm.rejected == []
    arm.check()


def test_a_window_that_is_over_is_rejected_as_such():
    arm = Arm()
    times = np.arange(1, 17) / 30
    assert not arm.window(times, [arm.q] * 16, arm.follower.now - S)
    assert 'its last point was 0.467 s ago' in arm.rejected[0]


def test_messages_of_both_kinds_share_the_path():
    arm = Arm()
    arm.stream(wave, 0.4, 50)
    for k in range(10):
        t = 0.4 + 0.05 * k
        ahead = np.arange(1, 12) * 0.02
        assert arm.window(ahead, [wave(t + s) for s in ahead], arm.follower.now), arm.rejected
        arm.states(0.05)
    np.testing.assert_allclose(arm.q, wave(0.9), atol=0.02)
    arm.stream(lambda t: wave(0.9 + t), 0.4, 50)
    assert not arm.rejected
    arm.check()


@pytest.mark.parametrize(
    ('rate', 'spacing', 'count', 'first'),
    [
        (100, 0.01, 10, -0.02),
        (30, 0.034, 4, 0.1),
        (100, 0.0, 1, 0.02),
        (50, 0.0, 1, 0.05),
        (30, 0.0, 1, 0.1),
        (5, 1 / 30, 16, 1 / 30),
    ],
)
def test_windows_are_played_at_their_times(rate, spacing, count, first):
    """As MoveIt Servo, senders of single points ahead, and policies with chunks send them."""
    arm, offsets = Arm(), first + np.arange(count) * spacing
    begin = arm.t
    for _ in range(round(1.5 * rate)):
        t = arm.t - begin
        # A path that begins 0.2 s later, so that points before it are there
        rows = [wave(max(0.0, t + s - 0.2)) for s in offsets]
        assert arm.window(
            offsets - min(0.0, first), rows, arm.follower.now + round(min(0.0, first) * S)
        ), arm.rejected
        arm.states(1 / rate)
    arm.check()
    lag = arm.follower.stream.lag
    assert lag <= max(1e-9, 1 / rate - offsets[-1] + max(spacing, 1 / rate, 0.02) + 2e-3)
    np.testing.assert_allclose(arm.q, wave(arm.t - begin - 0.2 - lag), atol=5e-3)


@mirrored
def test_chunks_that_disagree_are_joined_gently(side):
    """At 30 Hz with 4 mrad between chunks: 25 rad/s^2 at most, where lines step by 6 rad/s."""
    random, arm = np.random.default_rng(3), Arm()
    begin, times = arm.t, np.arange(1, 17) / 30
    for _ in range(10):
        t = arm.t - begin
        offset = 0.004 * random.standard_normal(2)
        rows = [side * wave(t + s) + offset for s in times]
        assert arm.window(times, rows), arm.rejected
        arm.states(0.2)
    arm.check()
    assert np.abs(np.array(arm.rows)[:, 2]).max() <= 25.0


def test_after_its_last_point_a_window_decelerates():
    arm, times = Arm(), np.arange(1, 11) * 0.02
    speed = np.array([0.5, -0.5])
    assert arm.window(times, [speed * t for t in times])
    arm.states(0.6)
    arm.check()
    assert arm.follower.phase is Phase.HOLDING
    beyond = (arm.q - speed * 0.2) / speed
    assert (beyond >= -0.02).all()
    assert (beyond * np.abs(speed) < 0.02).all()


@mirrored
@pytest.mark.parametrize('joint', [0, 1])
def test_a_last_point_that_is_repeated_at_rest_has_no_velocity(side, joint):
    """Friction takes its sign; joint_trajectory_controller repeats its last point."""
    arm = Arm()
    for k in range(300):
        goal = side * np.where(np.arange(2) == joint, 0.05, 0.02) * min(1.0, k / 100)
        assert arm.send(goal, np.zeros(2))
        arm.state()
    np.testing.assert_array_equal(arm.rows[-1][1:], 0.0)


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
            wanted = start + speed * (t - ramp + ramp**2 / 0.4)
            follower.follow_reference(Waypoint(wanted, speed * ramp / 0.2), follower.now)
    assert (np.abs(last.q - start)[others] > 0.05).all()
