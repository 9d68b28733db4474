# SPDX-License-Identifier: Apache-2.0
"""Pooled estimates with a variance between them."""

import numpy as np
import pytest

from robot_dynamics.identification.servo.certainty import pooled


def test_equal_estimates_have_the_error_of_their_mean():
    mean, variance = pooled(np.full((4, 1), 2.0), np.full((4, 1), 0.04))
    assert mean == pytest.approx([2.0])
    assert variance == pytest.approx([0.01])


def test_estimates_that_differ_have_the_error_of_their_scatter():
    x = np.array([[1.0], [2.0], [3.0], [4.0]])
    mean, variance = pooled(x, np.full((4, 1), 1e-6))
    assert mean == pytest.approx([2.5])
    assert variance == pytest.approx([x.var(ddof=1) / 4], rel=1e-3)


def test_pooled_error_covers_the_truth_as_often_as_it_claims():
    rng = np.random.default_rng(0)
    own, between, k, runs = 0.1, 0.5, 8, 2000
    x = rng.normal(size=(k, runs)) * np.hypot(own, between)
    mean, variance = pooled(x, np.full((k, runs), own**2))
    assert 0.90 < (np.abs(mean) < 2 * np.sqrt(variance)).mean() < 0.97
