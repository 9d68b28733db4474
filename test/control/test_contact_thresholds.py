# SPDX-License-Identifier: Apache-2.0
"""Thresholds of contact from free motion whose statistics are known."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.control import contact_thresholds
from robot_dynamics.control.contact_thresholds import CLEAN, Debounced, FreeMotion
from robot_dynamics.control.momentum_observer import ObserverSettings

STEP = 4e-3  # s: at this rate nothing is debounced
ADVICE = ('observer.poles 200', 'poles_along_momentum 100')
NOISE, SLOPE = np.array([0.2, 0.1, 0.3]), np.array([0.0, 0.5, 0.1])
UNSETTLED = np.array([0.3, 0.0, 0.0])


def free_motion(
    seconds, seed=0, jitter=0.0, known=True, step=STEP, memory=True, bank=None, touch=-1, **poles
):
    """Return what is learned from normal noise whose size is that of NOISE, SLOPE and UNSETTLED.

    Behind the pairs of poles of the bank it is larger by the factors `bank`. The joint `touch` is
    touched at 10 s.
    """
    rng = np.random.default_rng(seed)
    free, settings = FreeMotion(3), ObserverSettings(**poles)
    friction = SimpleNamespace(
        law=SimpleNamespace(memory=memory), coefficients={'coulomb': np.array([0.1, 0.8, 1.0])}
    )
    for k in range(round(seconds / step)):
        p, u = rng.uniform(-2.0, 2.0, 3), np.full(3, float(k % 4 == 0))
        r = np.sqrt(NOISE**2 + (SLOPE * p) ** 2 + UNSETTLED**2 * u) * rng.normal(size=3)
        if touch >= 0 and 10.0 <= step * k < 10.1:
            r[touch] += 10 * NOISE[touch]
        fast = NOISE * rng.normal(size=3) + jitter * rng.normal() * p
        state = SimpleNamespace(p=p, along=0.3 * fast, across=0.7 * fast)
        free.add(
            step * k,
            SimpleNamespace(
                prompt_torque=r,
                bank_torques=np.zeros((3, 3)) if bank is None else bank * r,
                unsettled=u,
                state=state,
                settings=settings,
                friction=friction,
                friction_known=np.broadcast_to(known, 3),
            ),
        )
    return free.learned()


@pytest.mark.slow
def test_noise_grows_with_the_momentum_and_after_reversals_as_it_does():
    learned = free_motion(400.0)
    thresholds = learned.thresholds
    assert thresholds.learned == pytest.approx(400.0, rel=1e-4)
    np.testing.assert_allclose(thresholds.noise, NOISE, rtol=0.05)
    np.testing.assert_allclose(thresholds.noise_per_momentum, SLOPE, atol=0.02)
    np.testing.assert_allclose(thresholds.noise_unsettled, UNSETTLED, atol=0.05)
    # The largest of 100,000 normal numbers
    assert (np.abs(thresholds.level - 4.4) < 0.5).all()
    assert not learned.missing


@pytest.mark.parametrize('most', [1000, 5000])
def test_time_from_which_nothing_is_learned_does_not_count(monkeypatch, most):
    monkeypatch.setattr(contact_thresholds, 'MOST_SAMPLES', most)
    learned = free_motion(30.0)
    # The first sample ends no interval.
    expected = min(30.0, most * STEP) - STEP
    assert learned.thresholds.learned == pytest.approx(expected, abs=1.5 * STEP)


@pytest.mark.slow
def test_the_factor_leaves_the_stated_share_of_hours_clean():
    learned = free_motion(600.0, seed=1)
    limit = learned.factor * learned.thresholds.margin * learned.thresholds.level
    # Of normal noise: P(|x| < limit)^samples of an hour
    from scipy.stats import norm

    clean = np.prod((1 - 2 * norm.sf(limit)) ** (3600.0 / STEP))
    assert 0.5 * (1 - CLEAN) / 5 < 1 - clean < 5 * (1 - CLEAN)


@pytest.mark.slow
def test_joints_whose_remembered_friction_is_above_what_was_learned_are_named():
    # 0.1 and 1.0 N m are below the largest of the torques, about 4 standard deviations.
    learned = free_motion(150.0)
    assert learned.creeping == (1,)
    at_rest = np.sqrt(learned.thresholds.noise**2 + 0.5 * learned.thresholds.noise_unsettled**2)
    np.testing.assert_allclose(
        learned.creep,
        np.array([0.1, 0.8, 1.0])
        / (learned.thresholds.margin * learned.thresholds.level * at_rest),
    )
    assert f'may reach the factor b {learned.creep[1]:.2f} by' in learned.text(
        ('a', 'b', 'c'), 1.5
    )
    assert 'creeps' not in free_motion(150.0, memory=False).text(('a', 'b', 'c'), 1.5)


def test_a_pair_of_poles_is_used_on_joints_where_it_finds_smaller_steps():
    # By joint: the medium poles find half as much; all are equal; the slow ones find a tenth.
    bank = np.array([[1.0, 1.0, 1.0], [0.5, 1.0, 0.97], [0.49, 1.0, 0.1]])
    learned = free_motion(130.0, step=0.02, bank=bank)
    used = np.array([pair.level > 0 for pair in learned.bank])
    assert used.tolist() == [[False] * 3, [True, False, False], [False, False, True]]
    # In steps that are always felt as well, and not at other joints.
    prompt, _, medium, slow = learned.felt
    assert medium.torque[0] == pytest.approx(0.5 * prompt.torque[0], rel=0.15)
    assert slow.torque[2] == pytest.approx(0.1 * prompt.torque[2], rel=0.15)
    assert np.isinf([medium.torque[1], slow.torque[0], slow.torque[1]]).all()
    assert prompt.delay < medium.delay < slow.delay
    text = learned.text(('a', 'b', 'c'), 1.5)
    assert ' in 28 ms or ' in text.split('motion), N m or N: a ')[1].split(', b ')[0]
    # Half of the motion has a smaller threshold than its largest.
    assert (prompt.usual < prompt.torque).all()


@pytest.mark.parametrize('joint', range(3))
def test_a_touch_is_the_first_of_the_largest_torques(joint):
    """Every joint has a largest torque of its own: that of the others is not listed before it."""
    first, *_ = free_motion(30.0, seed=joint, touch=joint).largest
    assert first.joint == joint
    assert 10.0 <= first.t <= 10.1


def test_less_than_two_minutes_use_no_bank():
    learned = free_motion(115.0, step=0.02, bank=0.1 * np.ones((3, 3)))
    assert learned.bank == ()
    assert len(learned.felt) == 1


def test_less_than_two_minutes_give_no_factor():
    assert np.isnan(free_motion(60.0).factor)


@pytest.mark.parametrize(
    ('jitter', 'least', 'most'), [(0.0, 0.5, 0.65), (0.1, 0.5, 0.8), (5.0, 0.97, 1.0)]
)
def test_jitter_of_stamps_is_what_follows_the_momentum(jitter, least, most):
    # 1 / sqrt(3) by chance
    learned = free_motion(40.0, jitter=jitter)
    assert least < learned.correlation < most
    assert learned.stamps_jitter == (jitter > 1)


def test_a_joint_whose_friction_is_unknown_is_not_learned():
    learned = free_motion(4.0, known=[True, False, True])
    assert learned.missing == (1,)
    assert learned.thresholds.level[1] == 0


@pytest.mark.parametrize(('step', 'count'), [(1e-3, 3), (2e-3, 2), (4e-3, 1)])
def test_peaks_shorter_than_the_window_are_left_out(step, count):
    debounced = Debounced()
    values = np.array([1.0, 5.0, 2.0, -6.0, -7.0, 8.0, 9.0, 1.0])
    found = [float(debounced.add(step * k, np.array([x]))[0]) for k, x in enumerate(values)]
    for k in range(count - 1, len(values)):
        assert found[k] == np.abs(values[k - count + 1 : k + 1]).min()


def test_a_gap_begins_anew():
    debounced = Debounced()
    debounced.add(0.0, np.array([1.0]))
    assert debounced.add(1.0, np.array([3.0])) == 3.0
    assert debounced.add(0.5, np.array([2.0])) == 2.0
    assert debounced.add(0.499, np.array([7.0])) == 7.0  # back by less than the window


@pytest.mark.parametrize(
    ('poles', 'factor', 'advice'),
    [
        ({}, 1.5, ['observer.poles 200', 'poles_along_momentum 100']),
        ({'poles': 200.0, 'poles_along_momentum': 100.0}, 1.5, []),
    ],
)
def test_advice_about_jitter_is_what_was_not_applied(poles, factor, advice):
    text = free_motion(4.0, jitter=5.0, **poles).text(('a', 'b', 'c'), factor)
    assert [one for one in ADVICE if one in text] == advice
    assert ('suppress it' in text) == (not advice)
