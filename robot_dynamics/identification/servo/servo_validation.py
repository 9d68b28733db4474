# SPDX-License-Identifier: Apache-2.0
"""Tracking errors predicted by a free run from commands, on motion that was not fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.joint_values import rms
from robot_dynamics.identification.servo.free_run import at_samples, free_run
from robot_dynamics.identification.servo.joint_fit import INDEX, PARAMETERS, UNLIMITED
from robot_dynamics.identification.servo.servo_runs import WARM_UP, Run

FARTHEST = 1e100  # rad or m: an error whose square is a number


@dataclass(frozen=True, eq=False)
class ServoValidation:
    """Measured and predicted positions; arrays (K, n), of all runs one after the other.

    Attributes:
        source: 'test', or 'last third', predicted by a fit of the rest.
        t: (K,) s, from the start of each run.
        command: rad or m.
        q: measured.
        after: predicted by the identified servos.
        described: predicted with friction and armature of the description, and without delay.
        used: bool; stops are left out.
    """

    source: str
    t: Array
    command: Array
    q: Array
    after: Array
    described: Array
    used: Array

    @property
    def before_rms(self) -> Array:
        """(n,) root mean square of the distance from the command: a model without lag."""
        return self._error_of(self.command)

    @property
    def after_rms(self) -> Array:
        """(n,) of the error of the identified servos."""
        return self._error_of(self.after)

    @property
    def described_rms(self) -> Array:
        """(n,) of the error of the description."""
        return self._error_of(self.described)

    @property
    def explained(self) -> Array:
        """(n,) R^2: share of the variance of the tracking error that is predicted."""
        away = np.where(self.used, self.command - self.q, np.nan)
        variance = np.array(
            [x[np.isfinite(x)].var() if np.isfinite(x).any() else 0 for x in away.T]
        )
        return np.asarray(1 - self.after_rms**2 / np.maximum(variance, 1e-300))

    def _error_of(self, predicted: Array) -> Array:
        """Return root mean squares (n,), inf of a motion that diverges."""
        error = predicted - self.q
        found = rms(np.clip(error, -FARTHEST, FARTHEST), self.used)
        return np.asarray(np.where(np.isfinite(error).all(axis=0), found, np.inf))


def validated(
    arm: Dynamics,
    runs: Sequence[Run],
    used: Sequence[Array],
    joints: Sequence[Array | None],
    described: Sequence[Array | None],
    source: str,
) -> ServoValidation:
    """Return the prediction of runs.

    Args:
        arm: as `bare`.
        runs: of which nothing was fitted where they are used.
        used: per run (k, n) bool, what is compared.
        joints: parameters (9,) of each joint, or None.
        described: those of the description.
        source: of `ServoValidation`.
    """
    found, plain = (free_run(arm, runs, x) for x in (joints, described))
    pairs = list(zip(runs, found, plain, used, strict=True))
    return ServoValidation(
        source,
        np.concatenate([run.t for run in runs]),
        np.concatenate([run.command for run in runs]),
        np.concatenate([run.q for run in runs]),
        np.concatenate([at_samples(run, one) for run, one, _, _ in pairs]),
        np.concatenate([at_samples(run, one) for run, _, one, _ in pairs]),
        np.concatenate([mask & (run.t >= WARM_UP)[:, None] for run, _, _, mask in pairs]),
    )


def described(arm: Dynamics, stiffness: Sequence[float]) -> list[Array]:
    """Return the parameters of joints with friction and armature of a description, and kp (n,)."""
    model, found = arm.model, []
    for j, kp in enumerate(stiffness):
        p = np.zeros(len(PARAMETERS))
        limit = model.effort_limit[j] / kp
        values = {
            'lag': model.viscous[j] / kp,
            'armature': model.reflected_inertia[j] / kp,
            'coulomb': model.coulomb[j] / kp,
            'stiffness': kp,
            'limit': limit if np.isfinite(limit) and limit > 0 else UNLIMITED,
        }
        for name, value in values.items():
            p[INDEX[name]] = value
        found.append(p)
    return found
