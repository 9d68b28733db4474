# SPDX-License-Identifier: Apache-2.0
"""The setting of gravity that fits efforts at rest: right where it is stated, else silent."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import robots

from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.evaluation import evaluate
from robot_dynamics.recordings import Recording
from robot_dynamics.recordings.gravity_setting import FEWEST, Postures, remedy
from robot_dynamics.urdf.loading import load_urdf

NAMES = [name for name in ('panda', 'ur5', 'kuka_iiwa', 'xarm6') if name in robots.NAMES]
EXCLUDE = 'they exclude gravity; set effort_gravity_compensated to true'
INCLUDE = 'they include gravity; set effort_gravity_compensated to false'
OPPOSITE = 'multiply effort_scale by -1'
RATE = 100.0


def arm_of(name):
    return Dynamics(robots.load(name).with_actuation(coulomb=0.0))


ARMS = {name: arm_of(name) for name in NAMES}
PANDA = load_urdf(share_file('urdf/panda.urdf'))


def efforts(
    arm,
    share,
    rng,
    *,
    postures=8,
    friction=0.1,
    gains=0.1,
    noise=0.01,
    offset=0.0,
    payload=0.0,
    unit=1.0,
):
    """Return positions and efforts of an arm at rest.

    The efforts include this share of gravity. Static friction is as large as this part of the
    gravity torque, and of a fifth of the largest one; each joint is stuck anywhere within it.
    """
    model, n = arm.model, arm.model.n
    low = np.where(np.isfinite(model.lower), model.lower, -2.5).clip(-2.5, None)
    high = np.where(np.isfinite(model.upper), model.upper, 2.5).clip(None, 2.5)
    q = rng.uniform(low, high, (postures, n))
    g, still = arm.gravity_torque(q), np.zeros_like(q)
    size = np.sqrt((g**2).mean(axis=0))
    F = friction * np.maximum(size, 0.2 * size.max())
    Y = arm.regressor(q, still, still)[..., -10:-6]
    of_payload = Y @ (payload * np.array([1.0, *rng.uniform(-0.1, 0.1, 3)]))
    carried = abs(share) * g + of_payload
    y = carried * (1 + gains * rng.normal(size=n)) + rng.uniform(-F, F, q.shape)
    y += offset * size * rng.normal(size=n) + noise * size.max() * rng.normal(size=q.shape)
    return q, unit * (-1 if share < 0 else 1) * y


def first(arm, q, effort, compensated, scale=1.0, offset=0.0):
    """Return the first sentence, as postures are added one by one."""
    found = list(zip(q, effort, strict=True))
    said = (remedy(arm, found[:k], scale, offset, compensated) for k in range(1, 1 + len(found)))
    return next((sentence for sentence in said if sentence), '')


def stated(share, seeds, compensated, **kwargs):
    """Return how often each setting is stated."""
    count = Counter()
    for name, arm in ARMS.items():
        for seed in range(seeds):
            rng = np.random.default_rng([seed, *map(ord, name)])
            said = first(arm, *efforts(arm, share, rng, **kwargs), compensated)
            count[next((end for end in (EXCLUDE, INCLUDE, OPPOSITE) if end in said), '')] += 1
    return count


CASES = {
    'plain': {},
    'friction': {'friction': 0.3},
    'strong friction': {'friction': 1.0},
    'unlike gains': {'gains': 0.3},
    'offset': {'offset': 0.1},
    'noise': {'noise': 0.1},
    'payload': {'payload': 1.0},
    'large payload': {'payload': 3.0},
    'payload as heavy as the arm': {'payload': 6.0},
    'currents': {'unit': 0.1},
    'currents and friction': {'unit': 0.02, 'friction': 0.6},
    'another unit': {'unit': 10.0},
}
# share of gravity, present setting: what may be stated
RIGHT = {
    (1, False): {''},
    (1, True): {'', INCLUDE},
    (0, False): {'', EXCLUDE},
    (0, True): {''},
    (-1, False): {'', OPPOSITE},
    (-1, True): {'', OPPOSITE},
}


@pytest.mark.parametrize('case', CASES)
@pytest.mark.parametrize(('share', 'compensated'), RIGHT)
@pytest.mark.parametrize('seeds', [5, pytest.param(60, marks=pytest.mark.soak)])
def test_a_stated_setting_is_the_right_one(case, share, compensated, seeds):
    count = stated(share, seeds, compensated, **CASES[case])
    assert set(count) <= RIGHT[share, compensated], count


@pytest.mark.parametrize(('share', 'compensated'), [(1, True), (0, False), (-1, False)])
@pytest.mark.parametrize(('case', 'rate'), [('plain', 0.9), ('friction', 0.7)])
def test_a_wrong_setting_is_found(case, rate, share, compensated):
    count = stated(share, 10, compensated, **CASES[case])
    assert count[''] <= (1 - rate) * count.total(), count


def mirrored(arm):
    """Return the arm with all coordinates counted in the other direction."""
    model = arm.model
    return Dynamics(replace(model, S=-model.S, lower=-model.upper, upper=-model.lower))


@pytest.mark.parametrize(
    ('share', 'compensated', 'end'),
    [(1, True, INCLUDE), (0, False, EXCLUDE), (-1, True, OPPOSITE)],
)
def test_a_mirrored_arm_has_the_same_remedy(share, compensated, end):
    arm = ARMS[NAMES[0]]
    q, effort = efforts(arm, share, np.random.default_rng(1), gains=0.0)
    said = first(arm, q, effort, compensated)
    assert said.endswith(end)
    other = mirrored(arm)
    np.testing.assert_allclose(other.gravity_torque(-q), -arm.gravity_torque(q), atol=1e-9)
    assert first(other, -q, -effort, compensated) == said


def test_scale_and_offset_are_applied_in_this_order():
    arm = ARMS[NAMES[0]]
    n = arm.model.n
    rng = np.random.default_rng(2)
    q, y = efforts(arm, 1, rng, gains=0.0)
    scale, offset = rng.uniform(2, 9, n) * rng.choice([-1, 1], n), rng.uniform(20, 30, n)
    raw = (y + offset) / scale
    assert INCLUDE in first(arm, q, y, True)
    assert first(arm, q, raw, True, scale, offset) == first(arm, q, y, True)
    assert first(arm, q, raw, False, scale, offset) == ''


def test_nothing_is_stated_of_joints_that_differ_and_of_arms_without_weight():
    arm = ARMS[NAMES[0]]
    q, effort = efforts(arm, 0, np.random.default_rng(3))
    assert EXCLUDE in first(arm, q, effort, False)
    mixed = effort.copy()
    mixed[:, 1] += arm.gravity_torque(q)[:, 1]
    assert first(arm, q, mixed, False) == first(arm, q, mixed, True) == ''
    weightless = arm.with_gravity(np.zeros(3))
    assert first(weightless, q, effort, False) == first(weightless, q, effort, True) == ''
    assert remedy(arm, list(zip(q, effort, strict=True))[: FEWEST - 1], 1.0, 0.0, False) == ''
    # Friction of the model that may carry the arm leaves no joint that counts.
    rubbing = Dynamics(arm.model.with_actuation(coulomb=100.0))
    assert first(rubbing, q, effort, False) == ''


# -- from samples ---------------------------------------------------------------------------


def moves_and_rests(points, rest=1.0, move=1.0, rate=RATE):
    """Return t (k,), q, qd (k, n) of an arm that rests at each point and moves in between."""
    t = np.arange(round(rate * (rest + (rest + move) * (len(points) - 1)))) / rate
    k, within = np.divmod(t, rest + move)
    k = np.minimum(k.astype(int), len(points) - 2)
    u = ((within - rest) / move).clip(0, 1)[:, None]
    a, b = np.asarray(points)[k], np.asarray(points)[k + 1]
    q = a + (b - a) * (3 * u**2 - 2 * u**3)
    return t, q, (b - a) * (6 * u - 6 * u**2) / move


POINTS = np.array([[0.0, 0.0], [0.3, 0.1], [0.6, -0.3], [0.3, 0.1]])


def added(t, q, qd, effort):
    postures = Postures()
    for sample in zip(t, q, qd, effort, strict=True):
        postures.add(*sample)
    return list(postures.found)


@pytest.mark.parametrize('sign', [1, -1])
def test_a_posture_is_the_first_moment_of_rest_after_a_motion(sign):
    t, q, qd = moves_and_rests(sign * POINTS)
    # Brakes engage 0.7 s after the end of a motion.
    since = np.where(np.abs(qd).max(axis=1) > 0, t, -np.inf)
    effort = np.where((t - np.maximum.accumulate(since) < 0.7)[:, None], 5.0 + q, 1e-3)
    found = added(t, q, qd, effort)
    # Neither the first rest, without a motion before, nor a posture that was there before.
    np.testing.assert_allclose([q for q, _ in found], sign * POINTS[1:3], atol=1e-12)
    np.testing.assert_allclose([e for _, e in found], 5.0 + sign * POINTS[1:3], atol=0.03)


def test_gaps_resets_and_drives_that_are_off_need_a_motion_again():
    t, q, qd = moves_and_rests(POINTS)
    effort = 1.0 + q
    resting = (t > 1.9) & (t < 3.0)  # at the second point
    found = added(t, q, qd, effort)
    np.testing.assert_allclose([q for q, _ in found], POINTS[1:3], atol=1e-12)
    for changed in (
        (np.where(t > 2.1, t + 5.0, t), effort),
        (np.where(t > 2.1, t - 0.3, t), effort),
        (t, np.where((resting & (t > 2.1))[:, None], 0.0, effort)),
    ):
        found = added(changed[0], q, qd, changed[1])
        np.testing.assert_allclose([q for q, _ in found], POINTS[2:3], atol=1e-12)


@pytest.mark.parametrize(
    ('sign', 'share', 'compensated', 'end'),
    [(1, 0, False, EXCLUDE), (1, 1, True, INCLUDE), (-1, 1, False, OPPOSITE), (1, 1, False, '')],
)
def test_evaluate_states_the_setting_of_postures(sign, share, compensated, end):
    rng = np.random.default_rng(4)
    q = rng.uniform(PANDA.lower, PANDA.upper, (6, PANDA.n))
    t, q, qd = moves_and_rests(q, rest=3.0, move=0.25)
    arm = Dynamics(PANDA)
    tau = arm.inverse_dynamics(q, qd, np.gradient(qd, t, axis=0)) + arm.friction_torque(qd)
    tau += 0.05 * rng.normal(size=tau.shape) - (1 - share) * arm.gravity_torque(q)
    run = Recording(PANDA.joint_names, t, q, qd, 0.5 * sign * tau)
    found = evaluate(arm, run, effort_scale=2.0, effort_gravity_compensated=compensated)
    assert not found.searched
    ends = [note.split('; ', 1)[1] for note in found.notes if note.startswith('efforts at rest')]
    assert len(ends) == bool(end)
    assert all(end in one for one in ends)
