# SPDX-License-Identifier: Apache-2.0
"""Standard errors of the parameters of a servo joint, and whether its scale is known.

Residuals of a simulated motion are correlated: errors are those of sums over blocks of time
(sandwich). Where there are several recordings, each is fitted, and their differences are part of
the error (DerSimonian and Laird, "Meta-analysis in clinical trials", Controlled Clinical Trials
7(3), 1986): on real arms they are 2 to 16 times larger than errors within one.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.identification.servo.joint_checks import sparse
from robot_dynamics.identification.servo.joint_fit import (
    FARTHEST_ZERO,
    INDEX,
    LINEAR,
    JointFit,
    JointRuns,
    fit,
)

DELAY_FLOOR = 1.5e-4  # s, of the errors of the delay and of D/kp + d
WHOLE_LAG = 'whole_lag'  # D/kp + d
RIDGE = 1e-9  # relative: of directions that the motion does not show
TINY = 1e-30
ROUNDING = 1e-15
# Of errors: measured, with which 2 errors hold 93 to 99 % of all ratios; 82 % of D/kp and delay of
# smooth motion whose friction has a memory of 0.01 mrad.
FACTOR = 1.5
ARMATURE_FACTOR = 2.1  # likewise, of A/kp: 92 to 100 %, and with 1.5 only 80 to 85
ZERO_SHOWN = 0.05  # rad: a zero with a larger error is not identifiable
SCALE_SHOWN = 3.0  # times the rounding of positions or the residual: gravity / kp that shows kp
MASS_ERROR = 0.1  # relative, of the masses of a description, and so of kp
EACH = 6  # iterations of the fit of one recording


def errors(runs: JointRuns, found: JointFit) -> dict[str, float]:
    """Return standard errors by parameter: relative, or those of the parameters of `LINEAR`.

    That of WHOLE_LAG, D/kp + d, is in s: where one trades with the other, their sum is known best.
    """
    inverse, T = _inverse(found.jacobian.T @ found.jacobian), _with_sum(found)
    scores = np.zeros((int(runs.block.max()) + 1, len(found.free)))
    np.add.at(scores, runs.block, found.jacobian * found.residual[:, None])
    # H^-1 (sum over blocks of s s^T) H^-1, and not below the error of independent residuals
    sandwich = inverse @ (scores.T @ scores) @ inverse
    within = np.maximum(_diagonal(T, sandwich), _diagonal(T, inverse) * found.rms**2)
    variance = np.maximum(within, _between(runs, found, T))
    values = dict(zip((*found.free, WHOLE_LAG), FACTOR * np.sqrt(variance), strict=True))
    values['armature'] *= ARMATURE_FACTOR / FACTOR
    between = _between_commands(runs, found)
    if 'limit' in values:  # it acts on what the commands are between samples
        values['limit'] = max(values['limit'], between / (found['lag'] + found['delay']))
    floor = max(DELAY_FLOOR, between)
    for name in ('delay', WHOLE_LAG):
        values[name] = max(values[name], floor)
    return {name: float(value) for name, value in values.items()}


def _between_commands(runs: JointRuns, found: JointFit) -> float:
    """Return half a period of sparse samples, s: commands may have changed between them."""
    period = max(run.period for run in runs.runs)
    return period / 2 if sparse(period, found) else 0.0


def _with_sum(found: JointFit) -> Array:
    """Return the matrix (free + 1, free) from changes of coordinates to them and of D/kp + d."""
    whole = np.zeros(len(found.free))
    whole[found.free.index('lag')], whole[found.free.index('delay')] = found['lag'], 1.0
    return np.vstack([np.eye(len(found.free)), whole])


def _diagonal(T: Array, covariance: Array) -> Array:
    return np.asarray(np.einsum('ij,jk,ik->i', T, covariance, T))


def _inverse(H: Array) -> Array:
    """Return the inverse of H; what it does not determine has a large variance."""
    size = np.sqrt(np.maximum(H.diagonal(), TINY))
    whole = np.linalg.inv(H / np.outer(size, size) + RIDGE * np.eye(len(H)))
    return np.asarray(whole / np.outer(size, size))


def _between(runs: JointRuns, found: JointFit, T: Array) -> Array:
    """Return the variances (free + 1,) of a mean over recordings that differ, or 0 of one."""
    x, own = [], []
    for number in np.unique(runs.recording[runs.used]):
        one = fit(runs.only(runs.recording == number), found.p, found.free, EACH)
        inverse = _inverse(one.jacobian.T @ one.jacobian)
        x.append(T @ _coordinates(one, found))
        own.append(np.maximum(_diagonal(T, inverse) * one.rms**2, TINY))
    if len(x) < 2:
        return np.zeros(len(T))
    return pooled(np.array(x), np.array(own))[1]


def _coordinates(one: JointFit, reference: JointFit) -> Array:
    """Return the fitted coordinates of a fit, relative to those of another."""
    index = [INDEX[name] for name in one.free]
    linear = np.array([name in LINEAR for name in one.free])
    a, b = one.p[index], reference.p[index]
    with np.errstate(divide='ignore', invalid='ignore'):
        return np.where(linear, a - b, np.log(a / b))


def pooled(x: Array, variance: Array) -> tuple[Array, Array]:
    """Return the mean of k estimates (k, m) and its variance, with a variance between them.

    DerSimonian and Laird 1986.
    """
    w = 1 / variance
    mean = (w * x).sum(axis=0) / w.sum(axis=0)
    Q = (w * (x - mean) ** 2).sum(axis=0)
    # tau^2 = (Q - (k - 1)) / (sum w - sum w^2 / sum w); without one estimate that outweighs all
    share = w / w.sum(axis=0)
    spread = w.sum(axis=0) * np.maximum(1 - (share**2).sum(axis=0), ROUNDING)
    between = np.maximum(0.0, (Q - (len(x) - 1)) / spread)
    w = 1 / (variance + between)
    return (w * x).sum(axis=0) / w.sum(axis=0), 1 / w.sum(axis=0)


def why_zero_is_unknown(runs: JointRuns, found: JointFit) -> str:
    """Return why a fitted zero is not identifiable, '' where it is."""
    x, error = found['zero'], errors(runs, found)['zero']
    if abs(x) >= FARTHEST_ZERO:
        return f'the fit would move it by {FARTHEST_ZERO:g} rad or more; expected less'
    if error >= ZERO_SHOWN:
        return f'it has an error of {error:.2g} rad; expected less than {ZERO_SHOWN:g}'
    return ''


def gravity_shift(runs: JointRuns, found: JointFit) -> float:
    """Return by how much the varying gravity on a joint, or torques commanded, shift it.

    Standard deviation divided by kp, rad or m.
    """
    parts = []
    for run, one in zip(runs.runs, runs.along, strict=True):
        torque = -one.gravity[:, runs.joint]
        if run.feedforward is not None:
            torque = torque + run.mean_over_steps(run.feedforward, runs.joint)
        parts.append(torque)
    return float(np.concatenate(parts).std()) / found['stiffness']


def least_shift(found: JointFit, rounding: float) -> float:
    """Return the `gravity_shift` that shows kp: SCALE_SHOWN times rounding and residual."""
    return SCALE_SHOWN * max(rounding, found.rms)
