# SPDX-License-Identifier: Apache-2.0
"""Autoregressive noise: its coefficients, its innovations, and samples that are left out."""

import numpy as np

from robot_dynamics.evaluation.autoregression import (
    ORDER,
    autoregression,
    whitened,
    whitened_rows,
)

A = np.array([0.6, -0.3])
LENGTH = 20_000


def process(seed=0):
    innovations = np.random.default_rng(seed).normal(size=LENGTH)
    x = np.zeros(LENGTH)
    for k in range(2, LENGTH):
        x[k] = A @ x[[k - 1, k - 2]] + innovations[k]
    return x, innovations


def test_the_coefficients_are_those_of_the_process():
    x, _ = process()
    everything = np.ones(LENGTH, dtype=bool)
    # 1 / sqrt(LENGTH) is the standard deviation.
    assert np.abs(autoregression(x, everything) - A).max() < 4 / np.sqrt(LENGTH)


def test_samples_that_are_left_out_do_not_matter():
    x, _ = process()
    used = np.ones(LENGTH, dtype=bool)
    used[5000:15000] = False
    x[~used] = 1e3
    assert np.abs(autoregression(x, used) - A).max() < 8 / np.sqrt(LENGTH)


def test_innovations_are_those_of_the_process():
    x, innovations = process()
    assert np.allclose(whitened(x, A), innovations[ORDER:])


def test_innovations_need_all_their_samples():
    used = np.array([True, True, True, False, True, True, True])
    assert whitened_rows(used).tolist() == [True, False, False, False, True]
