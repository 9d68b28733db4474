# SPDX-License-Identifier: Apache-2.0
"""Least squares of a payload, with standard errors.

    effort_j - model_j = Y_j theta + f_j . friction features + o_j

with the ten parameters theta of the payload, and of each joint friction f and an offset o.

Errors are those of the jackknife, blocks of time left out one after the other, so that coloured
noise and friction that follows another law count as well; those of the scale of each joint's
efforts, by which the torques of the payload are uncertain; and those of factors 1 + d_j between
the efforts of a joint and those of the model. An identified model has the scale of the efforts it
was identified from, so d has a standard deviation s of a part of that of the scales; with it, the
motion tells mean and covariance of d, beside all other unknowns x of all joints:

    A^T A x + B d = A^T b,    B^T x + (C + 1/s^2) d = c

The mean counts as an error. It is not fitted: errors of links look like factors. Errors of the
carrying body's own parameters look like a payload, and are added to those of theta.

Source: Efron and Stein, "The jackknife estimate of variance", Annals of Statistics 9(3), 1981.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.identification.estimation.covariance import of_few
from robot_dynamics.spatial import Array

BLOCKS = 24  # of time, left out one after the other
ENOUGH_SAMPLES = 200  # of a moving joint: fewer determine no friction
WEIGHTINGS = 3
FLOOR = 1e-4  # of the effort: lowest standard deviation of a residual
RANK = 1e-5  # relative, of scaled columns: combinations below are not determined
ROUNDING = 1e-12  # relative: a column that is smaller is zero
CERTAIN = 3.0  # standard errors: a factor that differs from 1 by more is named
OF_MODEL = 0.25  # of the standard deviation of a scale: that of an identified model's
OWN = 0.05  # relative: of a model's torques that a payload and friction do not have
LOOSE = 1e-3  # part of a parameter in a combination that is not determined


class Rows(NamedTuple):
    """Low-passed samples of a motion."""

    excess: Array  # (k, n) effort minus model
    Y: Array  # (k, n, 10) torques of unit parameters of the payload
    model: Array  # (k, n) torques of the model
    features: Array  # (k, n, f) of friction and offset; none: they are known
    moving: Array  # (k, n) bool: samples that are used


class PayloadFit(NamedTuple):
    """Ten payload parameters, then friction and offset of each joint."""

    theta: Array  # (P,)
    left_out: Array  # (BLOCKS, P) without one block of time each
    changes: Array  # (2 n + e, P) by scales of payload and model, and by errors of the body
    free: Array  # (P, f) directions that are not determined
    residual: Array  # (n,) root mean square
    factor: Array  # (n,) of the efforts relative to the model
    factor_error: Array

    @property
    def value(self) -> Array:
        """m, c and the tensor about c (10,)."""
        return _values(self.theta)

    @property
    def error(self) -> Array:
        """Their standard errors (10,), infinite where they are not determined."""
        noise = _jackknife(np.array([_values(theta) for theta in self.left_out]))
        changes = [_values(self.theta + change) - self.value for change in self.changes]
        error = np.sqrt(noise**2 + (np.array(changes) ** 2).sum(axis=0))
        return np.asarray(np.where(_undetermined(self.free[:10]), np.inf, error))


def fit_payload(rows: Rows, scale_error: float, of_body: Array) -> PayloadFit:
    """Return the payload, by weighted least squares; some joint has to move.

    Args:
        rows: the samples.
        scale_error: standard deviation of the scale of the efforts of each joint, relative.
        of_body: (e, 10) independent errors of the body that carries the payload.
    """
    excess, Y, model, features, moving = rows
    n, blocks = excess.shape[1], np.array_split(np.arange(len(excess)), BLOCKS)
    own = features.shape[2]
    P = 10 + own * n
    moving = moving & (moving.sum(axis=0) >= ENOUGH_SAMPLES)
    sigma = np.ones(n)
    for _ in range(WEIGHTINGS):
        A, b, of_joint = np.zeros((BLOCKS, P, P)), np.zeros((BLOCKS, P)), np.zeros((n, P, 11))
        of_model = np.einsum('kj,kji->ji', model / sigma**2 * moving, np.stack([model, excess], 2))
        for j in range(n):
            at = [*range(10), *range(10 + own * j, 10 + own * (j + 1))]
            X = np.hstack([Y[:, j], features[:, j]]) / sigma[j]
            for k, block in enumerate(blocks):
                used = block[moving[block, j]]
                A[np.ix_([k], at, at)] += X[used].T @ X[used]
                b[k, at] += X[used].T @ (excess[used, j] / sigma[j])
                torques = np.column_stack([Y[used, j], model[used, j]])
                of_joint[j, at] += X[used].T @ torques / sigma[j]
        whole, right = A.sum(axis=0), b.sum(axis=0)
        theta, free = _solution(whole, right)
        of_joints = np.einsum('kjf,jf->kj', features, theta[10:].reshape(n, own))
        rest = (excess - Y @ theta[:10] - of_joints) * moving
        residual = np.sqrt((rest**2).sum(axis=0) / np.maximum(moving.sum(axis=0), 1))
        least = FLOOR * np.abs(excess).max() + 1e-12
        sigma = np.sqrt(_alike(rest)) * np.maximum(residual, least)
    left_out = [_solution(whole - A[k], right - b[k])[0] for k in range(BLOCKS)]
    of_payload = scale_error * of_joint[..., :10] @ theta[:10]
    by_scale = np.array([_solution(whole, change)[0] for change in of_payload])
    by_model = np.array([_solution(whole, change)[0] for change in of_joint[..., 10]])
    off = scale_factors(of_model, of_joint[..., 10], by_model, theta, OF_MODEL * scale_error)
    by_body = np.hstack([of_body, np.zeros((len(of_body), P - 10))])
    changes = np.concatenate([by_scale, off @ by_model, by_body])
    return PayloadFit(theta, np.array(left_out), changes, free, residual, *effort_scales(rows))


def scale_factors(of_model: Array, B: Array, by_model: Array, theta: Array, s: float) -> Array:
    """Return rows (n, n) whose squares add up to mean^2 + covariance of the factors d.

    Args:
        of_model: (n, 2) C and c.
        B: (n, P) of each joint's model with the columns of the fit.
        by_model: (n, P) changes of theta with d.
        theta: the solution for d = 0.
        s: standard deviation of d.
    """
    C, c = of_model.T
    # (C + 1/s^2 - B^T (A^T A)^-1 B) d = c - B^T x, without division by s
    left = np.eye(len(c)) + s**2 * (np.diag(C) - B @ by_model.T)
    mean = np.linalg.solve(left, s**2 * (c - B @ theta))
    covariance = np.linalg.inv(left) * s**2
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2 + np.outer(mean, mean))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))).T)


def effort_scales(rows: Rows) -> tuple[Array, Array]:
    """Return the factors (n,) between the efforts and the model's, and their standard errors.

    Each joint is fitted by itself, with a payload, friction and offset of its own. The factor is
    1, the error infinite, if it has too few samples in motion, or if a payload has its torques.
    """
    n = rows.excess.shape[1]
    factor, error = np.ones(n), np.full(n, np.inf)
    for j in np.flatnonzero(rows.moving.sum(axis=0) >= ENOUGH_SAMPLES):
        used = rows.moving[:, j]
        others = np.hstack([rows.Y[used, j], rows.features[used, j]])
        others = others / np.maximum(np.linalg.norm(others, axis=0), 1e-300)
        both = np.column_stack([rows.model[used, j], rows.excess[used, j]])
        model, excess = (both - others @ np.linalg.lstsq(others, both, rcond=RANK)[0]).T
        size = float(model @ model)
        if size <= (OWN * np.linalg.norm(both[:, 0])) ** 2:
            continue
        share = float(model @ excess) / size
        rest = excess - share * model
        factor[j] += share
        error[j] = np.sqrt(float(_alike(rest) * (rest @ rest)) / len(rest) / size)
    return factor, error


def _alike(rest: Array) -> Array:
    """Return how many neighbouring samples of residuals (k, ...) count as one independent one."""
    sums = np.array([block.sum(axis=0) for block in np.array_split(rest, BLOCKS)])
    c = (sums**2).sum(axis=0) / np.maximum((rest**2).sum(axis=0), 1e-300)
    return np.asarray(np.maximum(c, 1.0))


def _jackknife(left_out: Array) -> Array:
    """Return standard errors (...) from values (BLOCKS, ...) without one block each."""
    spread = left_out - left_out.mean(axis=0)
    return np.asarray(of_few(BLOCKS) * np.sqrt((BLOCKS - 1) / BLOCKS * (spread**2).sum(axis=0)))


def _solution(A: Array, b: Array) -> tuple[Array, Array]:
    """Return the least squares of normal equations, and the free directions (P, f)."""
    size = np.sqrt(A.diagonal())
    size = np.where(size > ROUNDING * size.max(), size, np.inf)
    values, vectors = np.linalg.eigh(A / np.outer(size, size))
    kept = values > RANK**2
    x = vectors[:, kept] @ ((vectors[:, kept].T @ (b / size)) / values[kept])
    return x / size, vectors[:, ~kept]


def _undetermined(free: Array) -> Array:
    """Return which of m, c and the tensor (10,) change along free directions (10, f)."""
    loose = np.asarray((np.abs(free) > LOOSE).any(axis=1))
    loose[1:4] |= loose[0]
    loose[4:] |= loose[:4].any()
    return loose


def _values(theta: Array) -> Array:
    """Return m, c and the tensor about c (10,) of the parameters m, m c and tensor."""
    m, h = theta[0], theta[1:4]
    c = h / m if m != 0 else np.zeros(3)
    about_c = m * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([m, *c, *(theta[4:10] - about_c[np.triu_indices(3)])])
