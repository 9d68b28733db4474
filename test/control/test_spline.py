# SPDX-License-Identifier: Apache-2.0
"""One polynomial between two points: boundary values, exactness, and tight extremes."""

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

from robot_dynamics.control import spline
from robot_dynamics.control.spline import Waypoint

T = 1.7


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def segment(start, end, T):
    """Return the coefficients (6, n) between two waypoints."""
    missing = np.full_like(start.q, np.nan)
    rows = [[missing if row is None else row for row in point] for point in (start, end)]
    return spline.segments(np.swapaxes(rows, 0, 1), np.array([T]))[0]


def rates(coefficients):
    qd = spline.derivative(coefficients)
    return coefficients, qd, spline.derivative(qd)


def test_a_line_passes_both_points_at_constant_velocity(rng):
    q0, q1 = rng.normal(size=(2, 3))
    q, qd, qdd = rates(segment(Waypoint(q0), Waypoint(q1), T))
    assert np.allclose(spline.evaluate(q, T), q1, rtol=0, atol=1e-15)
    for s in (0.0, 0.3, T):
        assert np.array_equal(spline.evaluate(qd, s), (q1 - q0) / T)
        assert not spline.evaluate(qdd, s).any()


@pytest.mark.parametrize('given', [2, 3])
def test_both_ends_are_met_with_every_derivative_given(rng, given):
    ends = rng.normal(size=(2, 3, 4))
    polynomial = segment(Waypoint(*ends[0, :given]), Waypoint(*ends[1, :given]), T)
    for rate, coefficients in enumerate(rates(polynomial)[:given]):
        assert np.allclose(spline.evaluate(coefficients, 0.0), ends[0, rate], rtol=0, atol=1e-15)
        assert np.allclose(spline.evaluate(coefficients, T), ends[1, rate], rtol=0, atol=1e-13)


@pytest.mark.parametrize(('degree', 'given'), [(1, 1), (3, 2), (5, 3)])
def test_a_polynomial_of_its_own_degree_is_reproduced(rng, degree, given):
    truth = np.zeros((6, 2))
    truth[: degree + 1] = rng.normal(size=(degree + 1, 2))
    exact = rates(truth)
    start, end = (Waypoint(*(spline.evaluate(c, s) for c in exact[:given])) for s in (0.0, T))
    assert np.allclose(segment(start, end, T), truth, rtol=0, atol=1e-13)


def test_the_degree_follows_from_the_data_of_both_ends():
    full = Waypoint(np.zeros(1), np.ones(1), np.ones(1))
    cubic = segment(full, Waypoint(np.ones(1), np.zeros(1)), T)
    assert cubic[3] != 0
    assert not cubic[4:].any()
    line = segment(full, Waypoint(np.ones(1)), T)
    assert not line[2:].any()


def test_velocities_of_positions_are_those_of_pchip_at_rest_at_both_ends(rng):
    steps = rng.uniform(0.1, 2.0, 40)
    t = np.concatenate([[0.0], np.cumsum(steps)])
    q = np.cumsum(rng.normal(size=(41, 3)), axis=0)
    q[10:13] = q[10]  # a pause
    found = spline.shape_preserving(q, steps)
    expected = PchipInterpolator(t, q).derivative()(t)
    np.testing.assert_allclose(found[1:-1], expected[1:-1], rtol=0, atol=1e-12)
    assert not found[[0, -1]].any()
    assert not found[10:13].any()
    assert np.array_equal(spline.shape_preserving(-q, steps), -found)


def test_velocities_of_positions_do_not_let_cubics_overshoot(rng):
    steps = 10.0 ** rng.uniform(-3, 1, 200)
    q = np.cumsum(10.0 ** rng.uniform(-6, 1, (201, 2)) * rng.choice([-1, 0, 1], (201, 2)), axis=0)
    v = spline.shape_preserving(q, steps)
    pieces = spline.segments(np.stack([q, v, np.full_like(q, np.nan)]), steps)
    for piece, T, ends in zip(pieces, steps, np.stack([q[:-1], q[1:]], axis=1), strict=True):
        values = spline.evaluate(piece, np.linspace(0.0, T, 101))
        assert (values >= ends.min(axis=0) - 1e-12).all()
        assert (values <= ends.max(axis=0) + 1e-12).all()


def test_extremes_are_those_of_dense_samples_and_lie_in_the_hull(rng):
    s = np.linspace(0.0, T, 20_001)
    for degree in range(6):
        c = np.zeros((5, 6, 3))
        c[:, : degree + 1] = rng.normal(size=(5, degree + 1, 3))
        below, above = spline.hull(c, np.full(5, T))
        for k in range(5):
            values = spline.evaluate(c[k], s)
            for j in range(3):
                low, high = spline.extremes(c[k, :, j], T)
                assert low <= values[:, j].min() + 1e-12
                assert high >= values[:, j].max() - 1e-12
                # No tighter sampling would find more than this.
                assert low >= values[:, j].min() - 1e-6
                assert high <= values[:, j].max() + 1e-6
                assert below[k, j] <= low + 1e-12
                assert above[k, j] >= high - 1e-12
