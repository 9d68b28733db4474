# SPDX-License-Identifier: Apache-2.0
"""Path of a stream: one curve within the limits, whatever its corners."""

import numpy as np
import pytest

from robot_dynamics.control import Reference
from robot_dynamics.control.stream_path import StreamLimits, StreamPath

N = 3
LIMITS = StreamLimits(
    np.full(N, -2.0),
    np.array([2.0, 1.5, 2.0]),
    np.array([2.0, 1.0, 3.0]),
    np.array([20, 10, 30.0]),
)
EPS = np.finfo(float).eps


def start(random, still=False):
    """Return a reference within the limits."""
    q = random.uniform(-1.0, 1.0, N)
    if still:
        return Reference(q, np.zeros(N), np.zeros(N))
    qd = random.uniform(-0.9, 0.9, N) * LIMITS.velocity
    return Reference(q, qd, random.uniform(-0.9, 0.9, N) * LIMITS.acceleration)


def randomly(random, begun, count=40, size=2.0):
    """Yield the path with corners of any distance and place, the time now and of the last one."""
    path, t = begun, begun.end
    for _ in range(count):
        now = t
        t += random.choice([0.002, 0.01, 0.033, 0.2])
        path = path.until(now).pruned(now)
        goal = random.uniform(-size, size, N)
        path = path.towards(t, goal, random.uniform(-1, 1, N) * LIMITS.velocity, t + 0.05)
        yield path, now, t


@pytest.mark.parametrize('window', [0.005, 0.02, 0.1])
def test_a_path_begins_with_a_reference(window):
    random = np.random.default_rng(1)
    for _ in range(20):
        wanted = start(random)
        # Slopes of the history are within the velocity limits as well.
        room = LIMITS.velocity - np.abs(wanted.qd)
        qdd = np.clip(wanted.qdd, -2 * room / window, 2 * room / window)
        found = StreamPath.begin(wanted, 5.0, window, LIMITS).sample(5.0)
        np.testing.assert_allclose(found.q, wanted.q, atol=1e-13)
        np.testing.assert_allclose(found.qd, wanted.qd, atol=1e-12)
        np.testing.assert_allclose(found.qdd, qdd, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('window', [0.005, 0.02, 0.1])
@pytest.mark.parametrize('seed', range(3))
def test_any_corners_give_one_curve_within_the_limits(window, seed):
    random = np.random.default_rng(seed)
    begun, h = StreamPath.begin(start(random), 5.0, window, LIMITS), 1e-5
    for path, now, t in randomly(random, begun):
        for at in random.uniform(now + h, t, 20):
            before, (q, qd, qdd), after = (path.sample(at + d) for d in (-h, 0.0, h))
            # Rounding of q over the window, twice
            most = 1 + 1e4 * EPS / window**2
            assert (np.abs(qd) <= LIMITS.velocity * most).all()
            assert (np.abs(qdd) <= LIMITS.acceleration * most).all()
            assert (q >= LIMITS.lower - 0.02).all()
            assert (q <= LIMITS.upper + 0.02).all()
            # Differences of second order: errors are h^2 / 6 of the third derivative.
            third = 4 * LIMITS.velocity.max() / window**2
            np.testing.assert_allclose(
                (after.q - before.q) / (2 * h), qd, atol=third * h**2 + 1e-9
            )
            np.testing.assert_allclose(
                (after.qd - before.qd) / (2 * h), qdd, atol=third * h + 1e-9
            )


def test_the_reference_is_the_mean_of_the_mean_of_the_polyline():
    random = np.random.default_rng(4)
    W = 0.05
    path, _, t = list(randomly(random, StreamPath.begin(start(random), 0.0, W, LIMITS)))[-1]
    at = t - 0.02
    s = np.linspace(at - 2 * W, at, 20001)
    k = [max(0, np.searchsorted(path.times, x, side='right') - 1) for x in s]
    p = (
        path.origin
        + path.corners[k, 2]
        + path.corners[k, 3] * (s - np.array(path.times)[k])[:, None]
    )
    weight = (1 - np.abs(s - (at - W)) / W) / W
    found = path.sample(at)
    np.testing.assert_allclose(found.q, np.trapezoid(weight[:, None] * p, s, axis=0), atol=1e-8)
    sign = np.where(s < at - W, 1, -1) / W**2
    qd = np.trapezoid(sign[:, None] * (p - p[10000]), s, axis=0)
    np.testing.assert_allclose(found.qd, -qd, atol=1e-6)


def test_a_smooth_stream_is_followed_with_the_lag_of_a_window():
    path, W, h = (
        StreamPath.begin(start(np.random.default_rng(0), True), 0.0, 0.02, LIMITS),
        0.02,
        0.01,
    )
    q0, amplitude = path.origin, 0.3

    def wave(t):
        return q0 + amplitude * (1 - np.cos(2 * t))

    for k in range(300):
        t = (k + 1) * h
        path = (
            path.until(t - h)
            .pruned(t - h)
            .towards(t, wave(t), np.full(N, 2 * amplitude * np.sin(2 * t)), t + h)
        )
        found = path.sample(t)
        # A mean shifts by W, and adds W^2 / 6 of the second derivative.
        np.testing.assert_allclose(found.q, wave(max(0.0, t - W)), atol=1e-3)


def test_without_corners_it_comes_to_rest_exactly():
    random = np.random.default_rng(2)
    for _ in range(10):
        begun = StreamPath.begin(start(random), 0.0, 0.02, LIMITS)
        path, _, t = list(randomly(random, begun, 10))[-1]
        before = path.sample(t)
        for k in range(1, 1500):
            found = path.sample(t + 1e-3 * k)
            assert (np.abs(found.qd - before.qd) <= LIMITS.acceleration * 1e-3 * 1.001).all()
            before = found
            path = path.until(t + 1e-3 * k)
        assert not found.qd.any()
        assert not found.qdd.any()
        np.testing.assert_array_equal(found.q, path.position)
        assert len(path.times) < 5


def test_a_joint_at_rest_has_no_velocity_while_others_move():
    """Friction takes the sign of the velocity."""
    q = np.array([0.1, 0.2, 0.3])
    path = StreamPath.begin(Reference(q, np.zeros(N), np.zeros(N)), 0.0, 0.02, LIMITS)
    for k in range(400):
        t = 0.01 * (k + 1)
        q = q + np.array([0.001, 0.0, -0.0005])
        path = path.until(t - 0.01).pruned(t - 0.01).towards(t, q, np.zeros(N), t + 0.02)
        found = path.sample(t)
        assert found.qd[1] == found.qdd[1] == 0.0
        assert k < 20 or (found.qd[0] > 0.09 and found.qd[2] < -0.04)


def test_corners_that_have_no_effect_are_dropped_and_no_precision_is_lost():
    random = np.random.default_rng(3)
    path = whole = StreamPath.begin(start(random), 0.0, 0.02, LIMITS)
    for k in range(400):
        t = 0.01 * (k + 1)
        goal = 0.3 * np.sin(t + np.arange(N))
        path = path.until(t - 0.01).pruned(t - 0.01).towards(t, goal, np.zeros(N), t + 0.02)
        whole = whole.until(t - 0.01).towards(t, goal, np.zeros(N), t + 0.02)
        for a, b in zip(path.sample(t), whole.sample(t), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)
        assert len(path.times) <= 8
    # A stream of a day: the integrals stay small.
    assert np.abs(path.corners[:, :2]).max() < 0.1


@pytest.mark.parametrize('joint', range(N))
def test_a_joint_is_placed_and_the_others_go_on(joint):
    random = np.random.default_rng(joint)
    begun = StreamPath.begin(start(random), 0.0, 0.02, LIMITS)
    path, now, _ = list(randomly(random, begun, 10))[-1]
    joints, q = np.arange(N) == joint, np.full(N, 0.7)
    before, after = path.sample(now), path.placed(joints, q).sample(now)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_allclose(a[~joints], b[~joints], rtol=1e-12, atol=1e-12)
    assert after.q[joint] == pytest.approx(0.7, abs=1e-12)
    assert abs(after.qd[joint]) < 1e-12
    assert path.placed(~joints & joints, q) is path


def test_a_path_that_goes_to_a_limit_stops_there():
    path = StreamPath.begin(Reference(*np.zeros((3, N))), 0.0, 0.02, LIMITS)
    for k in range(800):
        t = 0.01 * (k + 1)
        side = 1 if k < 250 else -1
        path = path.until(t - 0.01).towards(t, np.full(N, side * 9.0), np.zeros(N), t + 0.02)
        found = path.sample(t)
        assert (found.q <= LIMITS.upper + 1e-3).all()
        assert (found.q >= LIMITS.lower - 1e-3).all()
    np.testing.assert_allclose(path.position, LIMITS.lower, atol=1e-3)


def test_points_after_a_time_can_be_replaced():
    path = StreamPath.begin(Reference(*np.zeros((3, N))), 0.0, 0.02, LIMITS)
    for k in range(10):
        path = path.towards(0.1 * (k + 1), np.full(N, 0.05 * k), np.zeros(N), 1.0)
    cut = path.truncated(0.25)
    assert cut.end == 0.25
    assert path.end == pytest.approx(1.0)
    for t in (0.05, 0.2, 0.25):
        for a, b in zip(cut.sample(t), path.sample(t), strict=True):
            np.testing.assert_array_equal(a, b)
    other = cut.towards(0.4, np.full(N, 0.12), np.zeros(N), 0.5)
    np.testing.assert_allclose(other.position, 0.12, atol=1e-12)
