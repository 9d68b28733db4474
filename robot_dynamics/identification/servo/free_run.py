# SPDX-License-Identifier: Apache-2.0
"""Free run of an arm of servos: whole recordings from commands, nothing of them measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.joint_values import rms
from robot_dynamics.identification.servo.arm_loads import loads
from robot_dynamics.identification.servo.joint_fit import INDEX
from robot_dynamics.identification.servo.relaxation import loads_of, motions_of, over_steps
from robot_dynamics.identification.servo.servo_runs import Motion, Run

MOST_ROUNDS = 12
CONVERGED = 2e-5  # rad or m, root mean square of the change in a round


def free_run(arm: Dynamics, runs: Sequence[Run], joints: Sequence[Array | None]) -> list[Motion]:
    """Return the simulated motion of each run at its steps, all joints coupled.

    Only the first position is measured. Loads are those of the simulated motion, repeated until it
    no longer changes; they begin with those of the commands.

    Args:
        arm: as `bare`.
        runs: whose commands are followed.
        joints: parameters (9,) of each joint; one without follows its smoothed command.
    """
    zero = np.array([0.0 if p is None else p[INDEX['zero']] for p in joints])
    still = [None if p is None else _without_zero(p) for p in joints]
    commands = [run.smoothed_command for run in runs]
    along = [
        over_steps(run, m.t, loads(arm, m.q, m.qd, m.qdd, zero))
        for run, m in zip(runs, commands, strict=True)
    ]
    motions = motions_of(runs, along, still)
    for _ in range(MOST_ROUNDS):
        before = motions
        along = [loads_of(arm, motion, zero) for motion in motions]
        motions = motions_of(runs, along, still)
        changes = [a.q - b.q for a, b in zip(motions, before, strict=True)]
        if max(float(rms(x).max()) for x in changes) < CONVERGED:
            break
    return motions


def _without_zero(p: Array) -> Array:
    """Return parameters without an error of the zero, which the loads contain."""
    p = p.copy()
    p[INDEX['zero']] = 0.0
    return p


def at_samples(run: Run, motion: Motion) -> Array:
    """Return simulated positions (k, n) at the samples of a run."""
    return np.column_stack([np.interp(run.t, motion.t, q) for q in motion.q.T])
