# SPDX-License-Identifier: Apache-2.0
"""Impulses of dry friction on one joint: the equation, its bounds, and its mirror image."""

import numpy as np
import pytest
from tiers import soak

from robot_dynamics.core.friction.coulomb import COULOMB_SPEED
from robot_dynamics.core.friction.impulses import sticking, with_memory, without_memory

mpmath = pytest.importorskip('mpmath')

EPS = np.finfo(float).eps


@pytest.fixture(scope='module', params=[80, *soak([400])])
def cases(request):
    """Return s, m, d, z and h / delta over many orders of magnitude."""
    rng, samples = np.random.default_rng(0), request.param
    s = rng.choice([-1, 1], samples) * 10.0 ** rng.uniform(-8, 2, samples)
    m, d = 10.0 ** rng.uniform(-5, 1, samples), 10.0 ** rng.uniform(-7, 0, samples)
    return s, m, d, rng.uniform(-1, 1, samples), 10.0 ** rng.uniform(-1, 3, samples)


def exact(impulse, s, m, d):
    """Return v with m v + impulse(v) = m s to many digits, by bisection."""
    low, high = sorted((mpmath.mpf(s) - mpmath.mpf(d) / m, mpmath.mpf(s) + mpmath.mpf(d) / m))
    for _ in range(200):
        middle = (low + high) / 2
        if m * middle + impulse(middle) < m * mpmath.mpf(s):
            low = middle
        else:
            high = middle
    return float((low + high) / 2)


def test_velocity_without_memory_solves_its_equation(cases):
    s, m, d, _, _ = cases
    v, p, _ = without_memory(s, m, d)
    with mpmath.workdps(60):
        expected = [
            exact(lambda v, D=D: D * mpmath.tanh(v / COULOMB_SPEED), *row)
            for *row, D in zip(s, m, d, d, strict=True)
        ]
    assert (abs(v - expected) <= 1e-6 * abs(s)).all()
    np.testing.assert_allclose(m * v + p, m * s, rtol=8 * EPS, atol=0)


def test_velocity_with_memory_solves_its_equation(cases):
    s, m, d, z, rate = cases
    v, p, _ = with_memory(s, m, d, z, rate)

    def impulse(D, Z, R):
        def of(v):
            sign = mpmath.sign(v)
            return D * (sign + (Z - sign) * mpmath.exp(-R * abs(v)))

        return of

    with mpmath.workdps(60):
        expected = [
            exact(impulse(*own), *row)
            for row, own in zip(zip(s, m, d), zip(d, z, rate), strict=True)  # noqa: B905
        ]
    size = abs(s) + d / m
    np.testing.assert_allclose(v, expected, atol=1e-4 * size.max(), rtol=1e-4)
    np.testing.assert_allclose(m * v + p, m * s, atol=(8 * EPS * m * size).max())


def test_impulses_stay_within_the_level_and_oppose_the_motion(cases):
    s, m, d, z, rate = cases
    plain, memory = without_memory(s, m, d), with_memory(s, m, d, z, rate)
    assert (abs(plain.p) <= d * (1 + 2 * EPS)).all()
    assert (abs(memory.p) <= d * (1 + 4 * EPS)).all()
    assert (plain.p * plain.v >= 0).all()
    assert (plain.v * s >= 0).all()
    assert (abs(plain.v) <= abs(s)).all()


def test_slopes_are_those_of_the_impulses(cases):
    s, m, d, z, rate = cases
    with np.errstate(over='ignore'):
        plain, memory = without_memory(s, m, d), with_memory(s, m, d, z, rate)
        expected = d / COULOMB_SPEED / np.cosh(plain.v / COULOMB_SPEED) ** 2
        r = np.sign(s - d * z / m)
        past = d * rate * (1 - z * r) * np.exp(-rate * abs(memory.v))
    np.testing.assert_allclose(plain.slope, expected, atol=1e-5 * (d / COULOMB_SPEED).max())
    np.testing.assert_allclose(memory.slope, past, atol=1e-4 * (d * rate).max())


def test_mirrored_motions_have_mirrored_responses(cases):
    s, m, d, z, rate = cases
    for here, there in (
        (without_memory(s, m, d), without_memory(-s, m, d)),
        (with_memory(s, m, d, z, rate), with_memory(-s, m, d, -z, rate)),
    ):
        np.testing.assert_array_equal(here.v, -there.v)
        np.testing.assert_array_equal(here.p, -there.p)
        np.testing.assert_array_equal(here.slope, there.slope)


@pytest.mark.parametrize('s', [0.0, 0.3, -0.3])
def test_without_a_level_nothing_is_lost(s):
    for response in (without_memory(s, 2.0, 0.0), with_memory(s, 2.0, 0.0, 0.4, 2.0)):
        assert response.v == pytest.approx(s, rel=4 * EPS)
        assert response.p == 0.0


def test_a_joint_at_rest_keeps_what_memory_exerts():
    v, p, slope = with_memory(0.1, 2.0, 0.4, 0.5, 2.0)
    # m s = d z: the deflection carries the load
    assert (v, p) == (0.0, pytest.approx(0.2))
    assert slope > 0.0


@pytest.mark.parametrize('mirror', [1.0, -1.0])
def test_sticking_is_coulomb_friction_integrated_over_the_step(mirror):
    """m x'' = f - F sgn x', or rest while |f| <= F: by many short steps of constant force."""
    rng, k = np.random.default_rng(0), 20_000
    for _ in range(20):
        m, F = 10.0 ** rng.uniform(-3, 1, 2)
        h, f = 1e-3, F * rng.choice([0.5, 0.9, 1.1, 3.0]) * rng.choice([-1.0, 1.0])
        start = rng.choice([0.0, h * F / m * rng.uniform(-2.0, 2.0)])
        v = start
        for _ in range(k):
            free = v + h / k * f / m
            slowed = np.sign(free) * max(abs(free) - h / k * F / m, 0.0)
            # A joint that reverses rests for a moment.
            v = 0.0 if v * slowed < 0 else slowed
        s = start + h * f / m
        found = sticking(mirror * s, m, h * F, mirror * start)
        size = abs(start) + h * (abs(f) + F) / m
        assert mirror * found.v == pytest.approx(v, abs=1e-3 * size)
        assert abs(found.p) <= h * F
        assert found.p == pytest.approx(m * (mirror * s - found.v), abs=1e-12 * m * size)
        if start == 0.0 and abs(f) < F:
            assert found.v == 0.0


def test_the_slope_of_sticking_is_that_of_its_impulse():
    rng = np.random.default_rng(1)
    s, v = rng.normal(size=(2, 2000))
    m, d = 10.0 ** rng.uniform(-2, 1, (2, 2000))
    step = 1e-7
    ends = [sticking(s + x, m, d, v) for x in (-step, step)]
    # dv/ds = m / (m + dp/dv), but for the bends of v(s)
    share = (ends[1].v - ends[0].v) / (2 * step)
    found = m / (m + sticking(s, m, d, v).slope)
    assert np.quantile(np.abs(share - found), 0.995) < 1e-5
    assert ((found >= 0.0) & (found <= 1.0)).all()
