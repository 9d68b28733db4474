# SPDX-License-Identifier: Apache-2.0
"""Verdicts on an identified model: per joint, with noise, in either sign of the efforts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from robot_dynamics.identification.estimation.identified_validation import (
    BETTER,
    JOINT_WORSE,
    SAME,
    UNKNOWN,
    WORSE,
    WORTH,
    Drift,
    Validation,
)

K = 4000


def validation(before, after, *, noise=0.0, sign=1.0, effort=None):
    """Return one whose residuals have these root mean squares, (n,) each."""
    rng = np.random.default_rng(0)
    n = len(before)
    effort = sign * (10.0 * rng.normal(size=(K, n)) if effort is None else effort)
    # Residuals of exactly this size, of another shape before and after.
    unit = np.stack([np.sign(rng.normal(size=(K, n))) for _ in range(2)])
    residuals = sign * unit * np.array([before, after])[:, None]
    moving = np.arange(K)[:, None] % 2 == np.zeros(n)
    size = np.broadcast_to(noise, n).astype(float)
    t = np.arange(K) / 100.0
    return Validation('test', 'SI', t, effort, *(effort - residuals), moving, size)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_residuals_and_their_ratio(sign):
    one = validation([1.0, 2.0, 4.0], [0.5, 0.5, 4.0], sign=sign)
    np.testing.assert_allclose(one.before_rms, [1.0, 2.0, 4.0])
    np.testing.assert_allclose(one.after_rms, [0.5, 0.5, 4.0])
    assert one.ratio == pytest.approx((0.5 * 0.25 * 1.0) ** (1 / 3))
    assert one.improves


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize(
    ('before', 'after', 'verdict', 'worse'),
    [
        ([1.0, 1.0], [0.5, 0.9], BETTER, []),
        ([1.0, 1.0], [1 - 1.5 * WORTH, 1 - 1.5 * WORTH], BETTER, []),
        ([1.0, 1.0], [1 - 0.5 * WORTH, 1 - 0.5 * WORTH], SAME, []),
        ([1.0, 1.0], [1 + 0.5 * WORTH, 1 + 0.5 * WORTH], SAME, []),
        ([1.0, 1.0], [1 + 1.5 * WORTH, 1 + 1.5 * WORTH], WORSE, []),
        ([1.0, 1.0], [0.1, 1 + 0.9 * JOINT_WORSE], BETTER, []),
        ([1.0, 1.0], [0.1, 1 + 1.1 * JOINT_WORSE], SAME, [1]),
        ([1.0, 1.0], [1 + 1.1 * JOINT_WORSE, 0.1], SAME, [0]),
        ([1.0, 1.0], [2.0, 2.0], WORSE, [0, 1]),
    ],
)
def test_the_verdict_is_on_the_whole_and_on_each_joint(before, after, verdict, worse, sign):
    one = validation(before, after, sign=sign)
    assert np.flatnonzero(one.worse_joints).tolist() == worse
    assert one.verdict == verdict


@pytest.mark.parametrize(('noise', 'worse'), [(0.3, [0, 1]), (0.5, [0]), (3.0, [])])
def test_growth_within_the_noise_makes_no_joint_worse(noise, worse):
    one = validation([1.0, 1.0, 1.0], [1.4, 1.2, 0.1], noise=noise)
    assert np.flatnonzero(one.worse_joints).tolist() == worse


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize(('growth', 'share'), [(0.0, 0.16), (0.02, 0.5), (0.1, 1.0)])
def test_growth_is_certain_beyond_its_standard_error(growth, share, sign):
    # Growths of normal noise exceed their standard error, once in a direction, in 16 %.
    rng, n = np.random.default_rng(2), 400
    effort = 10 * rng.normal(size=(K, n))
    residuals = rng.normal(size=(2, K, n)) * np.array([1.0, 1 + growth])[:, None, None]
    one = validation(np.ones(n), np.ones(n), effort=effort)
    one = replace(
        one,
        effort=sign * effort,
        **dict(zip(('before', 'after'), sign * (effort - residuals), strict=True)),
    )
    value, error = one.growth
    np.testing.assert_allclose(value, one.after_rms - one.before_rms, atol=1e-12)
    assert value.std() == pytest.approx(error.mean(), rel=0.2)
    assert one.certainly_worse.mean() > share - 0.08
    if growth == 0.0:
        assert one.certainly_worse.mean() < share + 0.08


def of_blocks(ratios, *, sign=1.0, seconds=3):
    """Return a validation whose residual changes by a ratio in each of several spans of time."""
    number = 100 * seconds * len(ratios)
    t = np.arange(number) / 100.0
    before = np.where(np.arange(number) % 2 == 0, 1.0, -1.0)[:, None] * np.ones(2)
    after = np.repeat(ratios, 100 * seconds)[:, None] * before
    effort = 10 * before
    one = sign * np.stack([effort, effort - before, effort - after])
    return Validation('blocks', 'SI', t, *one, np.ones_like(before, dtype=bool), np.zeros(2))


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize(
    ('ratios', 'verdict', 'harmless'),
    [
        ([0.5, 0.6, 0.5], BETTER, True),
        # One second of each: the mean may be anything.
        ([0.4, 1.3, 0.5], UNKNOWN, True),
        ([0.4, 1.6, 0.9], UNKNOWN, False),
        ([0.4, 1.3, 0.8], UNKNOWN, True),
        ([1.1, 1.2, 1.15], WORSE, False),
        ([0.999, 1.001, 1.0], SAME, True),
    ],
)
def test_a_verdict_is_given_where_the_interval_supports_it(ratios, verdict, harmless, sign):
    one = of_blocks(ratios, sign=sign, seconds=1)
    lowest, highest = one.interval
    assert lowest < one.ratio < highest
    assert (one.verdict, one.harmless) == (verdict, harmless)


@pytest.mark.parametrize('ratios', [[0.5, 0.7], [0.9, 0.7, 1.2], [0.8, 1.1, 0.9, 0.7]])
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_the_interval_of_few_blocks_is_that_of_student(ratios, sign):
    """The change of log rms is a sum over blocks, and of rms a mean, of as many terms."""
    one, squares = of_blocks(ratios, sign=sign, seconds=1), np.square(ratios)
    number = len(ratios)
    shares = 0.5 * (squares / squares.sum() - 1 / number)
    wide = ttest_1samp(shares, 0.0).confidence_interval(0.95).high * number
    expected = one.ratio * np.exp([-wide, wide])
    np.testing.assert_allclose(one.interval, expected, rtol=1e-12)
    growth, error = one.growth
    changes = (squares - 1) / (one.after_rms[0] + 1)
    mean = ttest_1samp(changes, 0.0)
    np.testing.assert_allclose(growth, changes.mean(), rtol=1e-12)
    np.testing.assert_allclose(error, changes.mean() / mean.statistic, rtol=1e-12)


def test_one_block_of_time_cannot_tell():
    one = of_blocks([0.5], seconds=1)
    assert one.interval == (0.0, np.inf)
    assert one.verdict == UNKNOWN


def test_the_interval_holds_the_ratio_of_long_recordings():
    """Residuals of random size per second: the ratio of infinitely many seconds is 1."""
    rng, inside = np.random.default_rng(4), []
    for _ in range(300):
        number = 8
        size = np.exp(0.4 * rng.normal(size=(2, number, 2)))
        before, after = np.repeat(size, 100, axis=1)
        t = np.arange(100 * number) / 100.0
        zero = np.zeros_like(before)
        one = Validation('test', 'SI', t, 10 + zero, 10 - before, 10 - after, zero > -1, zero[0])
        lowest, highest = one.interval
        inside.append(lowest < 1 < highest)
    assert 0.92 < np.mean(inside) < 0.985


def test_a_joint_without_efforts_does_not_count():
    effort = np.random.default_rng(1).normal(size=(K, 2)) * [1.0, 0.0]
    one = validation([1.0, 1.0], [0.5, 9.0], effort=effort)
    assert one.ratio == pytest.approx(0.5)
    assert not one.worse_joints.any()
    assert one.verdict == BETTER


def test_residuals_in_motion_and_at_rest():
    one = validation([1.0, 2.0], [0.5, 4.0])
    louder = np.where(one.moving, 3.0, 1.0)
    one = replace(
        one,
        before=one.effort - louder * (one.effort - one.before),
        after=one.effort - louder * (one.effort - one.after),
    )
    for moving, factor in ((True, 3.0), (False, 1.0)):
        before, after = one.rms_where(moving)
        np.testing.assert_allclose(before, factor * np.array([1.0, 2.0]))
        np.testing.assert_allclose(after, factor * np.array([0.5, 4.0]))
    still = replace(one, moving=np.zeros_like(one.moving))
    assert np.isnan(still.rms_where(True)).all()


def test_a_factor_scales_every_array_and_no_verdict():
    one = validation([1.0, 2.0], [0.5, 2.5], noise=[0.1, 0.2])
    factor = np.array([3.0, 0.2])
    scaled = replace(one, unit='as recorded').scaled(factor)
    assert scaled.unit == 'SI'
    for name in ('effort', 'before', 'after', 'noise'):
        np.testing.assert_allclose(getattr(scaled, name), factor * getattr(one, name))
    assert scaled.ratio == pytest.approx(one.ratio)
    assert scaled.verdict == one.verdict


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_a_drift_is_significant_beyond_its_error_and_three_percent(sign):
    zeros = np.zeros(4)
    friction = sign * np.array([0.05, 0.05, 0.02, np.nan])
    drift = Drift(friction, np.array([0.01, 0.02, 1e-3, np.nan]), zeros, zeros, 60.0)
    assert drift.significant.tolist() == [True, False, False, False]


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_residuals_far_below_the_effort_are_equal(sign):
    # The efforts are 10 on average: an exact description, and a model that is nearly exact
    one = validation([1e-4, 1e-4], [9e-4, 2e-4], sign=sign)
    assert one.verdict == SAME
    assert not one.worse_joints.any()
    assert one.harmless
