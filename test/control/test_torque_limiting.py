# SPDX-License-Identifier: Apache-2.0
"""Effort limit, rate limit and soft start of torques."""

from collections import Counter

import numpy as np
import pytest

from robot_dynamics.control.torque_limiting import Limits, TorqueGate, largest_factor, ramp

MS = 1_000_000
NONE = np.full(2, np.inf)
TAU = np.array([10.0, -4.0])


def gate(effort=NONE, rate=NONE, ramp_time=0.0):
    return TorqueGate(Limits(np.asarray(effort), np.asarray(rate), ramp_time), Counter())


def test_without_limits_everything_passes():
    opened = gate()
    assert not opened.is_open
    assert opened(5 * MS, TAU).tolist() == TAU.tolist()
    assert opened.is_open


def test_torques_are_clamped_and_counted():
    counts = Counter()
    opened = TorqueGate(Limits(np.array([5.0, 5.0]), NONE, 0.0), counts)
    assert opened(0, TAU).tolist() == [5, -4]
    assert opened(1 * MS, 0.1 * TAU).tolist() == [1, -0.4]
    assert counts['torque at its limit'] == 1
    assert opened.saturated().tolist() == [True, False]
    assert opened.saturated().tolist() == [False, False]


@pytest.mark.parametrize('sign', [1, -1])
def test_changes_at_the_rate_limit_are_counted(sign):
    counts = Counter()
    opened = TorqueGate(Limits(NONE, np.array([1000.0, np.inf]), 0.0), counts, np.zeros(2))
    for k, wanted in enumerate(([0.0, 9.0], [0.5, 0.0], [2.0, 0.0], [2.0, 9.0])):
        opened(k * MS, sign * np.array(wanted))
        # From the first state no time has passed; the third wants 1.5 N m within 1 ms.
        assert counts['torque at its rate limit'] == (1, 1, 2, 2)[k]


def test_a_soft_start_begins_with_the_first_state_and_again_after_a_reset():
    opened = gate(ramp_time=0.1)
    for start in (7_000 * MS, 9_000 * MS):
        parts = [opened(start + k * MS, TAU)[0] / TAU[0] for k in (0, 25, 50, 75, 100, 200)]
        np.testing.assert_allclose(parts, [0, 0.15625, 0.5, 0.84375, 1, 1])
        opened(start + 300 * MS, np.zeros(2))
        opened.close()
        assert not opened.is_open


def test_a_soft_start_begins_at_the_last_torque():
    opened = gate(ramp_time=0.1)
    opened(1_000 * MS, TAU)
    opened(1_200 * MS, TAU)
    opened.soften()
    assert opened(1_201 * MS, -TAU).tolist() == TAU.tolist()
    assert opened(1_251 * MS, -TAU).tolist() == [0, 0]
    assert opened(1_301 * MS, -TAU).tolist() == (-TAU).tolist()


def test_a_step_back_in_time_changes_no_torque():
    opened = gate(rate=[1000.0, 1000.0])
    for k in range(1_000, 1_020):
        opened(k * MS, TAU)
    assert opened(1_004 * MS, -TAU).tolist() == TAU.tolist()
    assert opened(1_019 * MS, -TAU).tolist() == TAU.tolist()
    assert opened(1_020 * MS, -TAU).tolist() == [9, -3]


def test_time_of_another_clock_counts_from_its_first_stamp():
    opened = gate(rate=[1000.0, 1000.0])
    for k in range(5_000, 5_020):
        opened(k * MS, TAU)
    assert opened(3 * MS, -TAU).tolist() == TAU.tolist()
    assert opened(4 * MS, -TAU).tolist() == [9, -3]


@pytest.mark.parametrize('sign', [1, -1])
@pytest.mark.parametrize('back', [1, 15, 25, 300])
@pytest.mark.parametrize('ramp_time', [0.0, 0.05])
def test_stamps_that_alternate_allow_no_more_than_the_newest_one(sign, back, ramp_time):
    """As of two publishers of joint states."""
    limit = 500.0
    opened, alone = (gate(rate=[limit, limit], ramp_time=ramp_time) for _ in range(2))
    for k in range(1_000, 1_100, 2):
        once = alone(k * MS, sign * TAU)
        assert opened(k * MS, sign * TAU).tolist() == once.tolist()
        assert opened((k - back) * MS, sign * TAU).tolist() == once.tolist()


def test_the_first_torque_is_zero_and_joints_without_a_rate_follow_at_once():
    opened = gate(rate=[1000.0, np.inf])
    assert opened(5 * MS, TAU).tolist() == [0, 0]
    assert opened(6 * MS, TAU).tolist() == [1, -4]


def test_joints_that_were_saturated_at_different_times_are_all_reported():
    opened = gate(effort=[5.0, 5.0])
    opened(0, np.array([10.0, 0.0]))
    opened(1 * MS, np.array([0.0, 0.0]))
    opened(2 * MS, np.array([0.0, -10.0]))
    assert opened.saturated().tolist() == [True, True]
    assert opened.saturated().tolist() == [False, False]


def test_a_torque_by_wall_time_passes_both_limits():
    opened = gate(effort=[5.0, 50.0], rate=[1000.0, 1000.0])
    assert opened.step(TAU, 0.002).tolist() == [2, -2]
    assert not opened.reached(TAU)
    assert opened.step(TAU, 0.02).tolist() == [5, -4]
    assert opened.reached(TAU)  # as far as the effort limit allows
    assert opened.step(-TAU, np.inf).tolist() == [-5, 4]


def test_the_rate_is_limited_and_a_repeated_state_gets_the_same_torque():
    opened = gate(rate=[1000.0, np.inf])
    opened(0, np.zeros(2))
    for _ in range(3):
        assert opened(2 * MS, TAU).tolist() == [2, -4]
    assert opened(3 * MS, TAU).tolist() == [3, -4]


def test_after_a_gap_the_torque_does_not_jump():
    opened = gate(rate=[10.0, 10.0])
    opened(0, np.zeros(2))
    # 60 s without states allow no more than 0.02 s would.
    np.testing.assert_allclose(opened(60_000 * MS, TAU), [0.2, -0.2])


def test_limits_change_without_a_jump():
    opened = gate(rate=[1000.0, 1000.0])
    opened(0, np.zeros(2))
    opened(1 * MS, TAU)
    opened.limit(Limits(NONE, np.array([2000.0, 2000.0]), 0.0))
    assert opened(2 * MS, TAU).tolist() == [3, -3]
    opened.limit(Limits(np.array([2.0, 2.0]), NONE, 0.0))
    assert opened(3 * MS, TAU).tolist() == [2, -2]


@pytest.mark.parametrize('ramp_time', [0.0, 0.1])
def test_the_same_states_give_the_same_bits(ramp_time):
    rng = np.random.default_rng(0)
    taus = rng.normal(size=(50, 2))
    runs = []
    for _ in range(2):
        opened = gate([0.5, 1.0], [300.0, np.inf], ramp_time)
        runs.append([opened(k * MS, tau).tobytes() for k, tau in enumerate(taus)])
    assert runs[0] == runs[1]


def test_the_limit_itself_is_no_saturation():
    opened = gate(effort=[10.0, 10.0])
    opened(0, np.array([10.0, -10.0]))
    assert not opened.saturated().any()


def test_changes_are_bounded_by_the_rate_and_reach_the_target():
    opened = gate(rate=[100.0, np.inf])
    steps = [opened.step(np.array([2.5, 7.0]), 0.01).tolist() for _ in range(4)]
    assert steps == [[1.0, 7.0], [2.0, 7.0], [2.5, 7.0], [2.5, 7.0]]


@pytest.mark.parametrize('dt', [0.0, -1.0])
def test_without_time_no_torque_changes(dt):
    opened = gate(rate=[100.0, np.inf])
    before = opened.step(np.array([1.0, 1.0]), 0.01)
    assert np.array_equal(opened.step(np.array([5.0, 5.0]), dt), before)


def test_a_rate_of_zero_is_rejected():
    with pytest.raises(ValueError, match='must be positive'):
        gate(rate=[1.0, 0.0])


def test_a_soft_start_rises_without_a_jump_in_torque_or_its_rate():
    t = np.linspace(-0.5, 2.5, 3001)
    s = np.array([ramp(time, 2.0) for time in t])
    assert (s[t <= 0] == 0).all()
    assert (s[t >= 2] == 1).all()
    rate = np.diff(s) / np.diff(t)
    assert rate.min() >= 0
    # Its steepest is 3/2 of the mean, in the middle, and it starts and ends flat.
    assert rate.max() == pytest.approx(1.5 / 2.0, rel=1e-3)
    assert np.abs(np.diff(rate)).max() < 2e-3


def test_without_a_duration_there_is_no_soft_start():
    assert ramp(0.0, 0.0) == 1.0
    # Nor where the clock was put back.
    assert ramp(-0.1, 0.0) == 1.0


@pytest.mark.parametrize('sign', [1, -1])
@pytest.mark.parametrize('rate', [NONE, np.array([1000.0, 1e4])])
def test_a_step_bounds_every_command_however_much_time_has_passed(sign, rate):
    step, target = np.array([0.5, 4.0]), sign * np.array([10.0, -40.0])
    opened = TorqueGate(Limits(NONE, rate, 0.0, step), Counter())
    before = opened(0, np.zeros(2))
    for stamp in (1, 2, 500, 501, 900, 901, 901):
        after = opened(stamp * MS, target)
        assert (np.abs(after - before) <= step * (1 + 1e-12)).all()
        before = after
    assert np.abs(before).max() > 4
    # At the end of the node the last torque is reached.
    assert opened.step(np.zeros(2), np.inf).tolist() == [0.0, 0.0]


def test_a_step_of_zero_is_rejected():
    with pytest.raises(ValueError, match='step is'):
        TorqueGate(Limits(NONE, NONE, 0.0, np.array([1.0, 0.0])), Counter())


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('ramp_time', [0.0, 0.1])
def test_a_torque_that_is_not_finite_leaves_the_last_one(bad, ramp_time):
    counts = Counter()
    opened = TorqueGate(Limits(NONE, NONE, ramp_time), counts)
    before = [opened(k * MS, TAU) for k in (0, 50)][1]
    assert opened(60 * MS, np.array([bad, 0.0])).tolist() == before.tolist()
    assert counts['torque not finite'] == 1
    assert np.isfinite(opened(70 * MS, TAU)).all()


# -- target wrenches ------------------------------------------------------------------------------


@pytest.mark.parametrize('size', [1.0, 1e3, 1e150, 1e308])
def test_a_wrench_is_scaled_to_half_of_the_efforts(size):
    effort, tau = np.array([40.0, 15.0]), np.array([-0.5, 0.75])
    F = np.array([0.0, 0.1, 0.0, 1.0, 0.0, -0.2])
    factor = min(size, largest_factor(F, tau, effort, (0.0, 0.0)))
    assert (np.abs(factor * tau) <= 0.5 * effort * (1 + 1e-15)).all()
    if size > 10:
        np.testing.assert_allclose((np.abs(factor * tau) / (0.5 * effort)).max(), 1.0)
    else:
        assert factor == size


@pytest.mark.parametrize('part', [slice(3), slice(3, 6)])
def test_without_an_effort_limit_a_wrench_has_fixed_bounds(part):
    F, most = np.zeros(6), (20.0, 100.0)
    F[part] = [0.6, 0.0, -0.8]
    for effort in (NONE, np.array([np.inf, 1e6])):
        factor = largest_factor(F, TAU, effort, most)
        assert factor == pytest.approx(most[part.start is not None])
    # The bound of a joint with an effort limit holds as well.
    assert largest_factor(F, TAU, np.array([20.0, np.inf]), most) == pytest.approx(1.0)
    # Without torque or force there is none.
    assert largest_factor(np.zeros(6), np.zeros(2), NONE, most) == np.inf
