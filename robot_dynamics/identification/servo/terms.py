# SPDX-License-Identifier: Apache-2.0
"""Terms of the equation of a servo joint that predict motion which was not fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.identification.servo.joint_fit import (
    INDEX,
    UNLIMITED,
    JointFit,
    JointRuns,
    fit,
)
from robot_dynamics.identification.servo.relaxation import WORTH

TERMS = ('gravity', 'torque_limit', 'stribeck')
FOLD = 2  # blocks of time in a row that are fitted, then as many that are not
ITERATIONS = 4
STRIBECK_STARTS = 0.3  # of Coulomb friction


def chosen(
    runs: JointRuns, found: JointFit, terms: Sequence[str]
) -> tuple[JointFit, dict[str, float]]:
    """Return a fit with the terms that are worth it, to be continued, and their gains.

    A gain is the decrease of the squares of the residual: held out, relative to those without the
    term, where it has parameters; of gravity, against its mean, relative to the variance of the
    tracking error. Dry friction is everywhere, so Stribeck friction is
    kept if each half of the motion, predicted by a fit of the other half, gains by it; a torque
    limit, which some motion reaches, if both do in the geometric mean. Gravity stays: the
    description states it.

    Args:
        runs: of the joint.
        found: its fit, with a torque limit if it is worth one where it was fitted.
        terms: of `TERMS`, those that are tried; others are left out.
    """
    gains, best = {}, found
    if 'gravity' in terms:
        flat = fit(with_mean_gravity(runs), found.p, found.free, ITERATIONS)
        gains['gravity'] = (flat.cost - found.cost) / max(_tracking(runs), 1e-300)
    if 'limit' in found.free:
        plain = without(found, 'limit', UNLIMITED)
        gain = 0.0
        if 'torque_limit' in terms:
            # Geometric mean: a half without saturation says nothing of the limit, and predicts the
            # other one as badly with it as without.
            halves = held_out(runs, found) / held_out(runs, plain)
            gain = gains['torque_limit'] = 1 - float(np.exp(np.log(halves).mean()))
        best = found if gain > WORTH else plain
    if 'stribeck' in terms:
        more = added(best, 'stribeck', STRIBECK_STARTS * best['coulomb'])
        # Not worth it where it was fitted, it is not elsewhere.
        reached = fit(runs, more.p, more.free, ITERATIONS).cost
        if best is found and reached > (1 - WORTH) * found.cost:
            gains['stribeck'] = 1 - reached / found.cost
        else:
            halves = 1 - held_out(runs, more) / held_out(runs, best)
            gains['stribeck'] = float(halves.mean())
            best = more if halves.min() > WORTH else best
    return best, gains


def held_out(runs: JointRuns, start: JointFit) -> Array:
    """Return the squares of residuals (2,) of each half, predicted by a fit of the other half."""
    first = (runs.block // FOLD) % 2 == 0
    costs = []
    for fitted in (first, ~first):
        one = fit(runs.only(fitted), start.p, start.free, ITERATIONS)
        r = runs.only(~fitted).residuals(one.p[None])[0]
        costs.append(max(float(r @ r), 1e-300))
    return np.array(costs)


def added(found: JointFit, name: str, value: float) -> JointFit:
    """Return the start of a fit with one more parameter."""
    p = found.p.copy()
    p[INDEX[name]] = value
    return replace(found, p=p, free=(*found.free, name))


def without(found: JointFit, name: str, value: float) -> JointFit:
    """Return the start of a fit in which a parameter is fixed."""
    p = found.p.copy()
    p[INDEX[name]] = value
    return replace(found, p=p, free=tuple(one for one in found.free if one != name))


def with_mean_gravity(runs: JointRuns) -> JointRuns:
    """Return the same joint under the mean of its gravity."""
    mean = np.concatenate([one.gravity for one in runs.along]).mean(axis=0)
    return replace(
        runs, along=[replace(one, load=one.load - one.gravity + mean) for one in runs.along]
    )


def _tracking(runs: JointRuns) -> float:
    """Return the sum of squares of the tracking error about its mean."""
    command = np.concatenate([run.command[run.compared, runs.joint] for run in runs.runs])
    error = (command - runs.measured)[runs.used]
    return float(((error - error.mean()) ** 2).sum())
