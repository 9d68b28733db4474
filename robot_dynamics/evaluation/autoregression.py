# SPDX-License-Identifier: Apache-2.0
"""Autoregressive noise of a residual, and its innovations.

    e_k = a_1 e_{k-1} + a_2 e_{k-2} + innovation

Least squares of the innovations has errors that allow for the correlation of successive samples.

Source: Cochrane and Orcutt, Application of least squares regression to relationships containing
autocorrelated error terms, J. American Statistical Association 44, 1949.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array

ORDER = 2


class Noise(NamedTuple):
    """Autoregressive noise of each joint."""

    sigma: Array  # (n,) standard deviation of the innovations
    coefficients: Array  # (ORDER, n)


def autoregression(x: Array, used: Array) -> Array:
    """Return the coefficients (ORDER,) of a process (R,), by the equations of Yule and Walker.

    Args:
        x: the process.
        used: (R,) bool: the samples to be used.
    """
    covariances = []
    for lag in range(ORDER + 1):
        both = used[lag:] & used[: len(used) - lag]
        product = x[lag:] * x[: len(x) - lag]
        covariances.append(product[both].sum() / max(1, len(x)))
    c = np.array(covariances)
    if c[0] <= 0:
        return np.zeros(ORDER)
    lags = np.abs(np.subtract.outer(np.arange(ORDER), np.arange(ORDER)))
    return np.asarray(np.linalg.solve(c[lags] + 1e-3 * c[0] * np.eye(ORDER), c[1:]))


def whitened(x: Array, coefficients: Array) -> Array:
    """Return the innovations (R - ORDER, ...) of an autoregressive process."""
    result = x[ORDER:].copy()
    for lag, a in enumerate(coefficients, start=1):
        result -= a * x[ORDER - lag : len(x) - lag]
    return np.asarray(result)


def whitened_rows(used: Array) -> Array:
    """Return a mask (R - ORDER,) of innovations whose samples are all used."""
    result = used[ORDER:].copy()
    for lag in range(1, ORDER + 1):
        result &= used[ORDER - lag : len(used) - lag]
    return np.asarray(result)


def noise_of(x: Array, used: Array, unknowns: int) -> Noise:
    """Return the noise of residuals (R, n).

    Args:
        x: the residuals.
        used: (R, n) bool: the samples to be used.
        unknowns: that were fitted to all of them.
    """
    n = x.shape[1]
    sigma, coefficients = np.zeros(n), np.zeros((ORDER, n))
    for j in range(n):
        a = coefficients[:, j] = autoregression(x[:, j], used[:, j])
        rows = whitened_rows(used[:, j])
        innovations = whitened(x[:, j], a)[rows]
        sigma[j] = np.sqrt((innovations**2).sum() / max(1.0, rows.sum() - unknowns / n))
    return Noise(sigma, coefficients)
