# SPDX-License-Identifier: Apache-2.0
"""Targets of a frame along streams of poses: limits, arrivals, obstacles and interruptions."""

import itertools
from contextlib import nullcontext

import numpy as np
import pytest
from scipy.signal import lfilter

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.control.motions import NOT_FINITE, Phase
from robot_dynamics.control.pose_following import PoseFollower, PoseLimits
from robot_dynamics.core.algorithms.pose_motion import (
    ACCELERATION_POLE,
    Target,
    advanced,
    approach,
    displacement,
)
from robot_dynamics.core.algorithms.pose_motion import displaced as displaced_rows

MS = 1_000_000  # ns
LIMITS = PoseLimits()


def displaced(start, way):
    return np.array(displaced_rows(start, way))


START = displaced(np.eye(4), np.array([0.3, -0.2, 0.5, 0.4, 0.1, 0.6]))
TIMEOUT = 0.1  # s


def follower():
    """Return a follower that holds at START, at the time 1 s."""
    one = PoseFollower(LIMITS, TIMEOUT)
    one.reference(START, 1000 * MS)
    return one


def followed(one, goal, seconds, frame=None, every=1, stream=True):
    """Return the targets of a stream of a pose; the frame is at the target unless it is given."""
    found, begin = [], one.now
    for k in range(1, round(seconds * 1000) + 1):
        stamp = begin + k * MS
        if stream and k % every == 0:
            one.follow(goal, stamp)
        at = one.present.pose if frame is None else frame(k)
        found.append(one.reference(at, stamp)[0])
    return found


def rates(targets, dt=1e-3):
    """Return velocities and accelerations (k, 6) from differences of the poses."""
    poses = [target.pose for target in targets]
    steps = [displacement(a, b) for a, b in itertools.pairwise(poses)]
    velocity = np.array(steps) / dt
    return velocity, np.diff(velocity, axis=0) / dt


def norms(rows):
    return np.stack([np.linalg.norm(rows[:, s], axis=1) for s in (slice(3), slice(3, 6))], axis=1)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_arrives_in_the_least_time_within_the_limits(sign):
    way = sign * np.array([0.0, 0.9, 0.0, 0.0, 0.0, 0.3])
    one, goal = follower(), displaced(START, way)
    targets = followed(one, goal, 2.0)
    velocity, acceleration = rates(targets)
    assert (norms(velocity).max(axis=0) <= np.array(LIMITS.velocity) * (1 + 1e-9)).all()
    assert (norms(acceleration).max(axis=0) <= np.array(LIMITS.acceleration) * 1.02).all()
    np.testing.assert_allclose(targets[-1].pose, goal, atol=1e-12)
    assert not targets[-1].velocity.any()
    # From rest to rest: |way| / v + v / a
    left = norms(np.array([displacement(target.pose, goal) for target in targets]))
    for part, size in ((0, 0.9), (1, 0.3)):
        least = size / LIMITS.velocity[part] + LIMITS.velocity[part] / LIMITS.acceleration[part]
        taken = 1e-3 * np.flatnonzero(left[:, part] > 1e-3 * size)[-1]
        assert least - 0.05 < taken < least + 0.01


def test_is_continuous_however_the_poses_jump():
    rng, one = np.random.default_rng(0), follower()
    targets = [one.present]
    for _ in range(10):
        goal = displaced(START, rng.normal(size=6) * 0.2)
        targets += followed(one, goal, 0.2, every=30)
    velocity, acceleration = rates(targets)
    stated = np.array([target.velocity for target in targets])
    assert (norms(velocity).max(axis=0) <= np.array(LIMITS.velocity) * (1 + 1e-9)).all()
    assert (norms(acceleration).max(axis=0) <= 1.05 * np.array(LIMITS.acceleration)).all()
    mean = 0.5 * (stated[1:] + stated[:-1])
    np.testing.assert_allclose(velocity, mean, atol=2e-2)
    R = targets[-1].pose[:3, :3]
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-14)


def test_the_acceleration_is_that_of_the_motion_behind_one_pole():
    rng, one = np.random.default_rng(1), follower()
    targets = [one.present]
    for _ in range(5):
        targets += followed(one, displaced(START, 0.1 * rng.normal(size=6)), 0.3, every=30)
    velocity, acceleration = (
        np.array([getattr(target, name) for target in targets])
        for name in ('velocity', 'acceleration')
    )
    kept = np.exp(-ACCELERATION_POLE * 1e-3)
    expected = lfilter([1 - kept], [1, -kept], np.diff(velocity, axis=0) / 1e-3, axis=0)
    np.testing.assert_allclose(acceleration[1:], expected, atol=1e-9)
    most = np.array(LIMITS.acceleration)
    assert (norms(acceleration).max(axis=0) <= most * (1 + 1e-9)).all()
    assert (norms(np.diff(acceleration, axis=0)).max(axis=0) <= 2 * most * (1 - kept)).all()
    # The fastest motion changes its own at once.
    assert (norms(np.diff(velocity, 2, axis=0)).max(axis=0) > most * 1e-3).all()
    # At rest it decays.
    followed(one, one.present.pose, 2.0)
    assert np.abs(one.present.acceleration).max() < 1e-6


def test_stays_near_a_frame_that_is_stopped():
    one, goal = follower(), displaced(START, np.array([0.0, 0.0, 2.0, 0.5, 0.0, 0.0]))
    targets = followed(one, goal, 4.0, frame=lambda _: START)
    last = displacement(START, targets[-1].pose)
    np.testing.assert_allclose(np.linalg.norm(last[:3]), LIMITS.distance[0], rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(last[3:]), LIMITS.distance[1], rtol=1e-9)
    # It slows down before the limit, as before a goal.
    assert (norms(rates(targets)[1]).max(axis=0) <= 1.05 * np.array(LIMITS.acceleration)).all()


def test_is_drawn_along_by_a_frame_that_is_pushed_away():
    one = follower()
    pushed = [displaced(START, np.array([0.0, 0.0, 0.0, 1e-3 * k, 0.0, 0.0])) for k in range(501)]
    targets = followed(one, START, 0.5, frame=lambda k: pushed[k], stream=False)
    way = [displacement(p, t.pose) for p, t in zip(pushed[1:], targets, strict=True)]
    assert np.linalg.norm(way, axis=1).max() < LIMITS.distance[1] * (1 + 1e-9)
    assert one.phase is Phase.HOLDING


def test_a_stream_that_stops_decelerates_and_holds():
    one, goal = follower(), displaced(START, np.array([0.0, 0.0, 0.0, 0.5, 0.0, 0.0]))
    followed(one, goal, 1.0)
    speed = np.linalg.norm(one.present.velocity)
    assert speed == pytest.approx(LIMITS.velocity[1])
    begin, reasons, targets = one.now, [], [one.present]
    for k in range(1, 800):
        target, why = one.reference(one.present.pose, begin + k * MS)
        reasons += [why] if why else []
        targets.append(target)
        if why:
            assert k == round(TIMEOUT * 1000)
            assert one.doing == 'stopping'
    assert reasons == ['the stream of poses has stopped']
    assert one.doing == 'holding'
    assert not targets[-1].velocity.any()
    # v T + v^2 / (2 a)
    way = np.linalg.norm(displacement(targets[0].pose, targets[-1].pose))
    expected = speed * TIMEOUT + speed**2 / (2 * LIMITS.acceleration[1])
    assert way == pytest.approx(expected, rel=0.02)


def test_begins_at_the_frame_and_is_placed_there_after_a_reset_or_a_gap():
    one = PoseFollower(LIMITS, TIMEOUT)
    target, why = one.reference(START, 5000 * MS)
    assert one.placed
    assert why == ''
    np.testing.assert_array_equal(target.pose, START)
    one.follow(displaced(START, np.full(6, 0.01)), 5000 * MS)
    one.reference(START, 5001 * MS)
    assert not one.placed
    target, why = one.reference(START, 100 * MS, restarted=True)
    assert (one.placed, one.phase) == (True, Phase.HOLDING)
    assert 'went back' in why
    # A gap alone changes nothing; one after which the arm is elsewhere does.
    one.reference(START, 2000 * MS)
    assert not one.placed
    away = displaced(START, np.array([0.0, 0.0, 0.0, 0.2, 0.0, 0.0]))
    target, why = one.reference(away, 4000 * MS)
    assert (one.placed, why) == (True, '')
    np.testing.assert_array_equal(target.pose, away)


def test_repeated_and_late_states_move_nothing():
    one = follower()
    followed(one, displaced(START, np.full(6, 0.1)), 0.2)
    before = one.present
    for stamp in (one.now, one.now - 3 * MS):
        target, _ = one.reference(before.pose, stamp)
        np.testing.assert_allclose(target.pose, before.pose, atol=1e-15)


@pytest.mark.parametrize(
    ('goal', 'reason'),
    [
        (np.full((4, 4), np.nan), 'expected a pose'),
        (np.diag([1.0, 1.0, 0.9, 1.0]), 'expected a pose'),
        (displaced(np.eye(4), np.array([0, 0, 0, 0, 1e3 + 1, 0])), 'expected at most 1000 m'),
        (displaced(np.eye(4), np.array([0, 0, 0, -1e300, 0, 0])), 'expected at most 1000 m'),
    ],
    ids=['NaN', 'no rotation', 'far away', 'very far away'],
)
def test_what_is_no_pose_is_rejected(goal, reason):
    one = follower()
    with pytest.raises(TrajectoryError, match=reason):
        one.follow(goal, 1000 * MS)
    assert one.phase is Phase.HOLDING


def test_poses_out_of_order_and_before_the_first_state_are_rejected():
    with pytest.raises(TrajectoryError, match='no joint state'):
        PoseFollower(LIMITS, TIMEOUT).follow(START, 0)
    one = follower()
    one.follow(START, 1000 * MS)
    with pytest.raises(TrajectoryError, match='older than the one before'):
        one.follow(START, 999 * MS)


@pytest.mark.parametrize(
    ('after', 'passes'), [(-101, True), (-100, False), (-1, False), (0, True), (10_000, True)]
)
@pytest.mark.parametrize('clock', [0, 1000, 10**6])
def test_a_late_pose_is_rejected_and_one_of_a_clock_that_was_set_is_followed(clock, after, passes):
    """The stamps of poses are of any clock: the first one counts when it is received."""
    one, goal = follower(), displaced(START, np.array([0.0, 0.0, 0.0, 0.5, 0.0, 0.0]))
    one.follow(goal, clock * MS)
    assert one.phase is Phase.FOLLOWING
    one.reference(START, 1090 * MS)
    with nullcontext() if passes else pytest.raises(TrajectoryError, match='older than the one'):
        one.follow(goal, (clock + after) * MS)
    if passes:
        one.follow(goal, (clock + after + 1) * MS)
    # A pose that was rejected does not keep the stream alive.
    _, why = one.reference(START, 1110 * MS)
    assert bool(why) != passes


@pytest.mark.parametrize('dt', [1e-4, 1e-3, 0.01, 0.1])
def test_an_approach_ends_at_rest_at_any_rate(dt):
    way, v = np.array([0.3, -0.1, 0.2]), np.array([-0.1, 0.2, 0.0])
    for _ in range(round(4.0 / dt)):
        step, v = approach(way, v, 1.0, 0.25, 1.0, dt)
        way = way - step
    assert not way.any()
    assert not any(v)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_machine_code_and_scalars_take_the_same_steps(sign):
    rng = np.random.default_rng(3)
    limits = (LIMITS.velocity, LIMITS.acceleration, LIMITS.distance)
    one, target = follower(), Target(START.tolist(), [0.0] * 6, [0.0] * 6)
    for k in range(1, 40):
        goal = displaced(START, sign * 0.2 * rng.normal(size=6))
        one.follow(goal, 1000 * MS + k * MS)
        found, _ = one.reference(START, 1000 * MS + k * MS)
        target = advanced(START.tolist(), target, goal.tolist(), 1.0, limits, 1e-3)
        np.testing.assert_allclose(found.pose, target.pose, atol=1e-13)
        np.testing.assert_allclose(found.velocity, target.velocity, atol=1e-12)
        np.testing.assert_allclose(found.acceleration, target.acceleration, atol=1e-10)


@pytest.mark.filterwarnings('ignore:overflow', 'ignore:invalid value')
@pytest.mark.parametrize('phase', [Phase.HOLDING, Phase.FOLLOWING])
def test_a_target_that_is_not_finite_is_placed_where_the_frame_is(phase):
    one = follower()
    if phase is Phase.FOLLOWING:
        one.follow(displaced(START, np.full(6, 0.1)), 1000 * MS)
    one.present = one.present._replace(velocity=np.array([np.nan, 0, 0, 0, 0, 1e308]))
    frame = displaced(START, np.full(6, 0.02))
    target, why = one.reference(frame, 1001 * MS)
    assert (one.placed, one.phase, why) == (True, Phase.HOLDING, NOT_FINITE)
    np.testing.assert_array_equal(target.pose, frame)
    assert not target.velocity.any()
    assert not one.reference(frame, 1002 * MS)[1]
