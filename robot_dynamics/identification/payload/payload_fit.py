# SPDX-License-Identifier: Apache-2.0
"""Least squares of a payload, with standard errors.

    effort_j - model_j = Y_j theta + f_j . friction features + o_j + E_j e + r_j qdd_j

with the ten parameters theta of the payload, and of each joint friction f and an offset o;
errors e of the links and rotors r that the description lacks have a prior, whose size follows from
the efforts: `model_errors`. What the motion does not distinguish from
a payload remains an error of it.

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

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.joint_values import rms
from robot_dynamics.identification.estimation.covariance import small_sample_factor
from robot_dynamics.identification.payload.model_errors import (
    LIKELY,
    NEGLIGIBLE,
    Sizes,
    likeliest,
)

BLOCKS = 24  # of time, left out one after the other
ENOUGH_SAMPLES = 200  # of a moving joint: fewer determine no friction
WEIGHTINGS = 3
FLOOR = 1e-4  # of the effort: lowest standard deviation of a residual
RANK = 1e-5  # relative, of scaled columns: combinations below are not determined
ROUNDING = 1e-12  # relative: a column that is smaller is zero
CERTAIN = 3.0  # standard errors: a factor that differs from 1 by more is named
OF_MODEL = 0.25  # of the standard deviation of a scale: that of an identified model's
OWN = 0.05  # relative: of a model's torques that a payload and friction do not have
MISSING = 0.03  # size of rotors, in units of the effort: the description lacks some
LOOSE = 1e-3  # part of a parameter in a combination that is not determined


class Rows(NamedTuple):
    """Low-passed samples of a motion."""

    excess: Array  # (k, n) effort minus model
    Y: Array  # (k, n, 10) torques of unit parameters of the payload
    model: Array  # (k, n) torques of the model
    features: Array  # (k, n, f) of friction and offset; none: they are known
    links: Array  # (k, n, e) torques of the errors of links, of one standard deviation each
    rotors: Array  # (k, n) torques of unit rotors
    moving: Array  # (k, n) bool: samples that are used


def joined(loaded: Sequence[Rows], unloaded: Sequence[Rows]) -> Rows:
    """Return the rows of all stretches; those without the payload have friction of their own."""

    def with_features(rows: Rows, own: bool) -> Rows:
        F = rows.features
        return rows._replace(features=np.concatenate([F * own, F * (not own)], axis=2))

    parts = list(loaded)
    if unloaded:
        parts = [with_features(rows, True) for rows in loaded]
        parts += [with_features(rows._replace(Y=0 * rows.Y), False) for rows in unloaded]
    return Rows(*(np.concatenate(x) for x in zip(*parts, strict=True)))


class PayloadFit(NamedTuple):
    """Ten payload parameters, then friction and offset of each joint, then errors of the model."""

    theta: Array  # (P,)
    left_out: Array  # (BLOCKS, P) without one block of time each
    changes: Array  # (q, P) independent: by scales of payload and model, and by errors of links
    free: Array  # (P, f) directions that are not determined
    residual: Array  # (n,) root mean square
    factor: Array  # (n,) of the efforts relative to the model
    factor_error: Array
    sizes: Sizes  # of the errors of the model

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


class _Normal(NamedTuple):
    """Normal equations of all unknowns: the payload, friction, errors of links and rotors."""

    A: Array  # (BLOCKS, P, P)
    b: Array  # (BLOCKS, P)
    of_payload: Array  # (n, P, 10) with the payload's torques of each joint
    of_model: Array  # (n, P) with the model's torques of each joint
    model: Array  # (n, 2) squares of these, and with the excess

    def scaled(self, D: Array) -> _Normal:
        """Return the equations of unknowns in units D (P,)."""
        return _Normal(
            self.A * np.outer(D, D),
            self.b * D,
            self.of_payload * D[:, None],
            self.of_model * D,
            self.model,
        )


class _Solution(NamedTuple):
    """Unknowns of the weighted equations, errors of the model in units of their size."""

    normal: _Normal
    prior: Array  # (P, P) precision
    theta: Array  # (P,)
    free: Array  # (P, f)
    residual: Array  # (n,)
    sizes: Sizes


def fit_payload(
    rows: Rows, scale_error: float, of_body: Array, identified: bool = False
) -> PayloadFit:
    """Return the payload, by weighted least squares; some joint has to move.

    Args:
        rows: the samples.
        scale_error: standard deviation of the scale of the efforts of each joint, relative.
        of_body: (e, 10) independent errors of the body that carries the payload.
        identified: errors of the model are as small as those, and are not fitted.
    """
    # Rotors in units of as much torque as the joint has.
    unit = rms(rows.excess + rows.model) / np.maximum(rms(rows.rotors), 1e-300)
    moving = rows.moving & (rows.moving.sum(axis=0) >= ENOUGH_SAMPLES)
    rows = rows._replace(rotors=unit * rows.rotors, moving=moving)
    normal, prior, theta, free, residual, sizes = _solved(rows, scale_error, identified)
    whole, right = normal.A.sum(axis=0) + prior, normal.b.sum(axis=0)
    blocks = zip(normal.A, normal.b, strict=True)
    left_out = np.array([_least_squares(whole - A, right - b)[0] for A, b in blocks])
    by_scale = _least_squares(whole, scale_error * (normal.of_payload @ theta[:10]).T)[0].T
    by_model = _least_squares(whole, normal.of_model.T)[0].T
    off = scale_factors(normal.model, normal.of_model, by_model, theta, OF_MODEL * scale_error)
    by_body = np.pad(of_body, ((0, 0), (0, len(theta) - 10)))
    # x - x_true = -(A + prior)^-1 prior x_true, of errors whose covariance is 1
    by_errors = _least_squares(whole, prior[:, prior.any(axis=0)])[0].T
    changes = np.concatenate([by_scale, off @ by_model, by_body, by_errors])
    of_rotors = rows.rotors * (sizes.rotors > MISSING)
    factors = effort_scales(rows._replace(rotors=of_rotors))
    return PayloadFit(theta, left_out, changes, free, residual, *factors, sizes)


def _solved(rows: Rows, scale_error: float, identified: bool) -> _Solution:
    """Return the unknowns, weights of joints and sizes of errors iterated."""
    n, own, e = *rows.features.shape[1:], rows.links.shape[2]
    first, P = 10 + own * n, 10 + (own + 1) * n + e
    grams, moving = _grams(rows), rows.moving
    prior = np.diag((np.arange(P) >= first).astype(float))
    least = FLOOR * np.abs(rows.excess).max() + 1e-12
    sigma, sizes, theta = np.ones(n), LIKELY, np.zeros(P)
    for turn in range(WEIGHTINGS):
        weighted = grams / sigma[:, None, None, None] ** 2
        normal = _weighted(weighted, own, e)
        if turn:
            exact = _without_scales(weighted.sum(axis=1), theta[:10], scale_error)
            of_errors = _weighted(exact[:, None], own, e)
            sizes = likeliest(of_errors.A[0], of_errors.b[0], first, n)
        fitted = NEGLIGIBLE if identified else sizes
        D = np.concatenate([np.ones(first), np.full(e, fitted.links), np.full(n, fitted.rotors)])
        normal = normal.scaled(D)
        theta, free = _least_squares(normal.A.sum(axis=0) + prior, normal.b.sum(axis=0))
        rest = _rest(rows, D * theta) * moving
        residual = np.sqrt((rest**2).sum(axis=0) / np.maximum(moving.sum(axis=0), 1))
        sigma = np.sqrt(_alike(rest)) * np.maximum(residual, least)
    return _Solution(normal, prior, theta, free, residual, sizes)


def _grams(rows: Rows) -> Array:
    """Return Z^T Z (n, BLOCKS, z, z) of joints and blocks; Z: unknowns, model and excess."""
    found = []
    for j, moving in enumerate(rows.moving.T):
        Z = np.column_stack(
            [
                *(x[:, j] for x in (rows.Y, rows.features, rows.links)),
                *(x[:, j] for x in (rows.rotors, rows.model, rows.excess)),
            ]
        )
        Z[~moving] = 0.0
        found.append([block.T @ block for block in np.array_split(Z, BLOCKS)])
    return np.array(found)


def _without_scales(grams: Array, payload: Array, s: float) -> Array:
    """Return `_grams` (n, z, z) without the scales of efforts, which are integrated out.

    The efforts of the model and those of the payload have a factor 1 + d each, of deviation s:
    the model may have the scale of the efforts that it was identified from.
    """
    V = np.zeros((grams.shape[1], 2))
    V[-2, 0], V[:10, 1] = 1.0, payload
    mixed = grams @ V  # Z^T [model, Y theta]
    K = np.eye(2) + s**2 * V.T @ mixed
    # G - G V (V^T G V + 1/s^2)^-1 V^T G
    return np.asarray(grams - s**2 * mixed @ np.linalg.solve(K, mixed.transpose(0, 2, 1)))


def _weighted(grams: Array, own: int, e: int) -> _Normal:
    """Return the normal equations from weighted `_grams`.

    Args:
        grams: (n, BLOCKS, z, z).
        own: features of friction of each joint.
        e: errors of links.
    """
    n, m = len(grams), grams.shape[2] - 2
    first = 10 + own * n
    P = first + e + n
    A, b = np.zeros((grams.shape[1], P, P)), np.zeros((grams.shape[1], P))
    of_payload, of_model = np.zeros((n, P, 10)), np.zeros((n, P))
    for j, gram in enumerate(grams):
        at = np.array(
            [
                *range(10),
                *range(10 + own * j, 10 + own * (j + 1)),
                *range(first, first + e),
                first + e + j,
            ]
        )
        A[:, at[:, None], at] += gram[:, :m, :m]
        b[:, at] += gram[:, :m, m + 1]
        whole = gram.sum(axis=0)
        of_payload[j, at], of_model[j, at] = whole[:m, :10], whole[:m, m]
    return _Normal(A, b, of_payload, of_model, grams[:, :, m, m:].sum(axis=1))


def _rest(rows: Rows, theta: Array) -> Array:
    """Return what unknowns (P,) leave of the excess (k, n)."""
    n, own, e = *rows.features.shape[1:], rows.links.shape[2]
    payload, friction, links, rotors = np.split(theta, np.cumsum([10, own * n, e]))
    of_joints = np.einsum('kjf,jf->kj', rows.features, friction.reshape(n, own))
    return np.asarray(
        rows.excess - rows.Y @ payload - of_joints - rows.links @ links - rows.rotors * rotors
    )


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

    Each joint is fitted by itself, with a payload, friction, offset and rotor of its own. The
    factor is 1, the error infinite, if it has too few samples in motion, or if a payload has its
    torques.
    """
    n = rows.excess.shape[1]
    factor, error = np.ones(n), np.full(n, np.inf)
    for j in np.flatnonzero(rows.moving.sum(axis=0) >= ENOUGH_SAMPLES):
        used = rows.moving[:, j]
        others = np.column_stack([rows.Y[used, j], rows.features[used, j], rows.rotors[used, j]])
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
    return np.asarray(
        small_sample_factor(BLOCKS) * np.sqrt((BLOCKS - 1) / BLOCKS * (spread**2).sum(axis=0))
    )


def _least_squares(A: Array, b: Array) -> tuple[Array, Array]:
    """Return the least squares of normal equations, b (P,) or (P, m); free directions (P, f)."""
    size = np.sqrt(A.diagonal())
    size = np.where(size > ROUNDING * size.max(), size, np.inf)
    values, vectors = np.linalg.eigh(A / np.outer(size, size))
    kept = values > RANK**2
    x = vectors[:, kept] @ ((vectors[:, kept].T @ (b.T / size).T).T / values[kept]).T
    return (x.T / size).T, vectors[:, ~kept]


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
