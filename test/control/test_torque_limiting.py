from collections import Counter

import numpy as np
import pytest

from robot_dynamics.control.torque_limiting import Limits, TorqueGate

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


def test_a_soft_start_begins_with_the_first_state_and_anew_after_a_reset():
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


def test_time_that_runs_backwards_changes_no_torque_and_goes_on_from_there():
    opened = gate(rate=[1000.0, 1000.0])
    for k in range(1_000, 1_020):
        opened(k * MS, TAU)
    assert opened(3 * MS, -TAU).tolist() == TAU.tolist()
    assert opened(4 * MS, -TAU).tolist() == [9, -3]


def test_the_first_torque_is_none_and_joints_without_a_rate_follow_at_once():
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


def test_the_rate_is_limited_and_a_state_said_again_gets_the_same_answer():
    opened = gate(rate=[1000.0, np.inf])
    opened(0, np.zeros(2))
    for _ in range(3):
        assert opened(2 * MS, TAU).tolist() == [2, -4]
    assert opened(3 * MS, TAU).tolist() == [3, -4]


def test_after_a_silence_the_torque_does_not_jump():
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
