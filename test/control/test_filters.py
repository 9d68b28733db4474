# SPDX-License-Identifier: Apache-2.0
"""Accelerations from velocities."""

import numpy as np
import pytest

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.control import AccelerationFilter, VelocityFilter


def run(filter_, stamps, velocity):
    return [filter_.update(t, velocity(t)) for t in stamps]


def test_a_constant_acceleration_is_exact_from_the_second_sample_on():
    estimates = run(AccelerationFilter(), [0.0, 0.001, 0.003, 0.01], lambda t: np.array([3.0 * t]))
    assert estimates[0] is None
    assert np.allclose(estimates[1:], 3.0)


def test_a_sine_is_damped_as_a_first_order_low_pass_damps_it():
    cutoff, frequency, h = 20.0, 20.0, 1e-4
    w = 2 * np.pi * frequency
    t = np.arange(0.0, 1.0, h)
    estimates = run(AccelerationFilter(cutoff=cutoff), t, lambda s: np.array([np.sin(w * s)]))
    settled = np.abs(np.array(estimates[len(t) // 2 :])).max()
    # |H| = 1 / sqrt(2) at the cutoff
    assert settled / w == pytest.approx(1 / np.sqrt(2), rel=0.01)


def test_the_cutoff_does_not_depend_on_the_spacing_of_samples():
    # Response to a step of acceleration after one time constant: 1 - 1/e.
    tau = 1 / (2 * np.pi * 20.0)
    for steps in (50, 400):
        filter_ = AccelerationFilter()
        run(filter_, [-2e-3, -1e-3], lambda t: np.zeros(1))
        stamps = np.arange(0, steps + 1) * tau / steps
        last = run(filter_, stamps, lambda t: np.array([t]))[-1]
        assert last == pytest.approx(1 - np.exp(-1), rel=0.02)


def test_results_are_copies_of_the_filter_state():
    changed, other = AccelerationFilter(), AccelerationFilter()
    for t in (0.0, 0.001, 0.002, 0.002):
        for filter_ in (changed, other):
            estimate = filter_.update(t, [t])
        if estimate is not None:
            changed.update(t, [t])[:] = 1e9
    assert np.array_equal(changed.update(0.003, [0.01]), other.update(0.003, [0.01]))


def test_a_repeated_stamp_changes_nothing():
    filter_ = AccelerationFilter()
    run(filter_, [0.0, 0.001], lambda t: np.array([t]))
    assert np.allclose(filter_.update(0.001, [99.0]), 1.0)
    assert np.allclose(filter_.update(0.002, [0.002]), 1.0)


@pytest.mark.parametrize(
    ('stamp', 'velocity'),
    [(-1.0, [0.5]), (0.5, [0.5]), (0.002, [0.5, 0.5]), (0.002, [np.nan]), (np.nan, [0.5])],
    ids=['backwards', 'gap', 'other size', 'nan', 'nan stamp'],
)
def test_samples_without_a_difference_quotient_reset_the_filter(stamp, velocity):
    filter_ = AccelerationFilter()
    run(filter_, [0.0, 0.001], lambda t: np.array([t]))
    assert filter_.update(stamp, velocity) is None
    # and recovers
    run(filter_, [5.0, 5.001], lambda t: np.array([2.0 * t]))
    assert np.allclose(filter_.update(5.002, [10.004]), 2.0)


@pytest.mark.parametrize(
    ('stamp', 'velocity'), [(0.002, [np.nan]), (np.nan, [0.5])], ids=['nan', 'nan stamp']
)
def test_samples_before_an_invalid_one_are_forgotten(stamp, velocity):
    filter_ = AccelerationFilter()
    run(filter_, [0.0, 0.001], lambda t: np.array([t]))
    filter_.update(stamp, velocity)
    first, second = run(filter_, [0.003, 0.004], lambda t: np.array([2.0 * t]))
    assert first is None
    assert np.allclose(second, 2.0)


def test_the_first_stamp_repeated_gives_no_estimate():
    filter_ = AccelerationFilter()
    assert filter_.update(0.0, [1.0]) is None
    assert filter_.update(0.0, [1.0]) is None
    assert np.allclose(filter_.update(0.001, [1.003]), 3.0)


@pytest.mark.parametrize('wrong', [{'cutoff': 0.0}, {'cutoff': np.nan}, {'max_gap': -1.0}])
def test_settings_must_be_positive(wrong):
    with pytest.raises(ValueError, match='must be positive'):
        AccelerationFilter(**wrong)


def test_a_table_of_velocities_is_rejected():
    with pytest.raises(ShapeError, match=r'qd has shape \(1, 2\); it must be \(n,\)'):
        AccelerationFilter().update(0.0, [[1.0, 2.0]])


def test_velocities_come_from_positions_in_the_same_way():
    filter_ = VelocityFilter(cutoff=50.0)
    velocities = run(filter_, np.arange(0, 0.5, 1e-3), lambda t: np.array([3.0 * t, -t]))
    assert velocities[0] is None
    assert np.allclose(velocities[1:], [3.0, -1.0])


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_an_estimate_that_is_not_finite_begins_anew_with_its_sample(sign):
    filter_ = AccelerationFilter()
    run(filter_, [0.0, 0.001], lambda t: np.array([t]))
    assert filter_.update(0.002, [sign * 1e308]) is None
    assert filter_.update(0.003, [0.5]) is None  # from there
    assert np.allclose(filter_.update(0.004, [0.503]), 3.0)
