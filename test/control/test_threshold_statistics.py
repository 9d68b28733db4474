# SPDX-License-Identifier: Apache-2.0
"""Level, margin and held-out rates of runs of free motion whose statistics are known."""

import numpy as np
import pytest
from scipy.stats import poisson

from robot_dynamics.control.threshold_statistics import (
    BLOCK,
    FOLDS,
    FalseContacts,
    FreeSamples,
    deviation,
    folds_of,
    held_out,
    poisson_interval,
)

STEP, FACTOR, MOTION = 0.02, 1.5, 1.0  # s; of contact; s of each motion


def run(seconds, seed=0, change=lambda t, r: r):
    """Return samples of two joints whose torques are smooth noise, |r| as of the observer."""
    rng = np.random.default_rng(seed)
    t = STEP * np.arange(round(seconds / STEP))
    # Heavy tails, as those of friction: normal noise whose size drifts.
    size = np.exp(0.5 * rng.normal(size=(len(t) // 100 + 1, 2)))
    r = rng.normal(size=(len(t), 2)) * np.repeat(size, 100, axis=0)[: len(t)]
    p = np.sin(np.outer(t, [1.1, 0.7]))
    return FreeSamples(t, t // MOTION, change(t, np.abs(r)), p, 0.5 + 0.5 * p)


def contacts(found, samples):
    """Return how many 2 s of samples exceed the thresholds."""
    limits = found.thresholds
    sigma = deviation(*limits[:3], samples.p, samples.unsettled)
    over = (samples.r > FACTOR * limits.margin * limits.level * sigma).any(axis=1)
    return len(np.unique(samples.seconds[over] // BLOCK))


@pytest.mark.parametrize('count', [1, 4, 30])
def test_the_interval_of_a_rate_leaves_out_one_in_forty_on_either_side(count):
    low, high = poisson_interval(count)
    assert poisson.cdf(count, high) == pytest.approx(0.025)
    assert poisson.sf(count - 1, low) == pytest.approx(0.025)


def test_no_event_is_below_three_in_the_time():
    low, high = poisson_interval(0)
    assert (low, poisson.pmf(0, high)) == (0.0, pytest.approx(0.05))
    assert FalseContacts(0, 60.0).text() == 'none in 60 s, fewer than 180 an hour (95 %)'
    assert FalseContacts(2, 3600.0).text() == '2 in 3600 s, 0.242 to 7.22 an hour (95 %)'
    assert FalseContacts(0, 0.0).text() == 'none held out'


def test_the_margin_of_half_a_minute_keeps_other_runs_free():
    without = with_margin = 0
    for seed in range(12):
        found = held_out(run(30.0, seed), FACTOR)
        other = run(300.0, 100 + seed)
        with_margin += contacts(found, other)
        none = found.thresholds._replace(margin=np.ones(2))
        without += contacts(found._replace(thresholds=none), other)
    assert without > 20
    assert with_margin < 0.1 * without


def test_the_margin_falls_with_the_length_of_the_run_and_never_below_one():
    margins = [
        held_out(run(seconds), FACTOR).thresholds.margin.max() for seconds in (30.0, 120.0, 1200.0)
    ]
    assert margins[0] > margins[1] > margins[2] > 1
    # 1 + 3 / sqrt(600 blocks), if nothing else is needed
    assert margins[2] < 1.3


@pytest.mark.parametrize('part', range(FOLDS))
def test_a_part_that_the_others_do_not_predict_is_counted_and_raises_the_margin(part):
    def louder(t, r):
        return np.where((t // (40.0 / FOLDS) == part)[:, None], 20.0, 1.0) * r

    found = held_out(run(40.0, 3, louder), FACTOR)
    quiet = held_out(run(40.0, 3), FACTOR)
    assert quiet.false_contacts == (0, pytest.approx(40.0, abs=STEP))
    assert found.false_contacts.number > 5
    assert (found.thresholds.margin > 1.5 * quiet.thresholds.margin).all()


@pytest.mark.slow
def test_stated_rates_cover_the_true_ones():
    covered, seeds = 0, range(40)
    for seed in seeds:
        # Without folds of its own a run would state no rate: three quarters learn from the fourth.
        found = held_out(run(60.0, seed), FACTOR)
        _, high = poisson_interval(found.false_contacts.number)
        true = contacts(found, run(1200.0, 500 + seed)) / 1200.0
        covered += true <= high / found.false_contacts.seconds
    assert covered >= 0.9 * len(seeds)


def test_folds_begin_where_motions_begin():
    """A periodic motion of 7 s: no fold has a part of one, but for a block."""
    samples = run(56.0)._replace(motion=np.floor(STEP * np.arange(2800) / 7.0))
    first = np.arange(0, 2800, round(BLOCK / STEP))
    edges = BLOCK * (np.flatnonzero(np.diff(folds_of(samples, first))) + 1)
    assert len(edges) == FOLDS - 1
    assert all(min(t % 7.0, 7.0 - t % 7.0) <= BLOCK for t in edges)


@pytest.mark.parametrize('motions', [1, 2])
def test_of_too_few_motions_folds_are_stretches_of_time(motions):
    samples = run(40.0)
    samples = samples._replace(motion=np.floor(samples.seconds * motions / 40.0))
    first = np.arange(0, 2000, round(BLOCK / STEP))
    assert np.bincount(folds_of(samples, first)).tolist() == [5, 5, 5, 5]


@pytest.mark.parametrize('power', [1, 2])
def test_torques_that_nearly_vanish_at_rest_do_not_blow_up_the_threshold_in_motion(power):
    """Least squares of r^2 by p^2 would have no noise at rest, and the largest ratio there."""
    samples = run(60.0)
    r = (1e-4 + np.abs(samples.p) ** power) * samples.r
    found = held_out(samples._replace(r=r), FACTOR).thresholds
    largest = found.level * deviation(*found[:3], np.abs(samples.p).max(axis=0), 1.0)
    assert (found.noise > 0.1 * np.sqrt(np.mean(r**2, axis=0))).all()
    assert (largest < 10 * r.max(axis=0)).all()


@pytest.mark.parametrize('joint', [0, 1])
def test_torques_after_reversals_do_not_raise_the_threshold_of_sliding_on(joint):
    """The joint whose torques are larger there; the other has no such noise."""
    samples = run(120.0)
    unsettled = np.array(samples.seconds % 2.0 < 0.2, dtype=float)[:, None] * np.ones(2)
    r = samples.r.copy()
    r[:, joint] *= np.where(unsettled[:, joint] > 0, 5.0, 1.0)
    found = held_out(samples._replace(r=r, unsettled=unsettled), FACTOR)
    noise, other = found.thresholds.noise_unsettled[[joint, 1 - joint]]
    # r^2 is 5^2 times as large.
    assert noise == pytest.approx(np.sqrt(24 * np.mean(samples.r[:, joint] ** 2)), rel=0.2)
    assert other < 0.3 * noise
    plain = held_out(samples._replace(r=r, unsettled=0 * unsettled), FACTOR)
    assert found.opposed[joint] < 0.6 * plain.opposed[joint]
    assert found.opposed[1 - joint] == pytest.approx(plain.opposed[1 - joint], rel=0.05)


def test_samples_that_are_not_used_and_joints_without_torques_have_no_level():
    samples = run(20.0, change=lambda t, r: r * [1.0, 0.0])
    samples.r[::2, 0] = np.nan
    found = held_out(samples, FACTOR)
    assert found.thresholds.level[0] > 1
    assert (found.thresholds.level[1], found.thresholds.noise[1]) == (0, 0)
    assert np.isfinite(found.thresholds.margin).all()
    one = held_out(FreeSamples(*(x[:1] for x in samples)), FACTOR)
    assert np.isfinite(one.thresholds.margin).all()
