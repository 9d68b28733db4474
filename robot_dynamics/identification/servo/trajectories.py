# SPDX-License-Identifier: Apache-2.0
"""Simulated motions of one servo joint with different parameters, in lanes of the compiled step.

Signals are columns (blocks, steps, 1, lanes), as the compiled loop reads them: a simulation in
each lane, one block for all where they are the same.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.codegen.calls.iteration import as_columns
from robot_dynamics.common.spatial import Array
from robot_dynamics.identification.servo.drive_step import RATIOS, step_program

FEW = 8  # simulations of a block without machine code


def lanes() -> int:
    """Return the number of simulations of a block."""
    return step_program(False).kernels.lanes or FEW


def shared(x: Array) -> Array:
    """Return the columns of a signal (steps,) that is the same in all simulations."""
    return np.repeat(x[None, :, None, None], lanes(), axis=-1)


def each(signals: Array) -> Array:
    """Return the columns of m simulations, each with its signal (m, steps)."""
    return as_columns(signals[..., None], (len(signals),), lanes())


class Trajectories:
    """Positions and velocities of m simulations at the start of the first step and after each.

    Args:
        start: (2,) position and velocity.
        drive: columns of u + (kd ud + tau_ff) / kp over each step.
        inertia: columns of J.
        load: columns of L.
        ratios: (m, 6) `RATIOS`.
        h: the step, s.
    """

    def __init__(
        self, start: Array, drive: Array, inertia: Array, load: Array, ratios: Array, h: float
    ):
        stribeck = bool(ratios[:, RATIOS.index('stribeck')].any())
        kernels = step_program(stribeck).kernels
        self._count = len(ratios)
        steps = drive.shape[1]
        self._path = np.empty((-(-self._count // lanes()), steps + 1, 2, lanes()))
        self._path[:, 0] = start[:, None]
        given = {
            'state': self._path[:, :-1],
            'drive': drive,
            'inertia': inertia,
            'load': load,
            'ratios': as_columns(ratios[:, None, :], (self._count,), lanes()),
            'time_step': np.full((1, 1, 1, lanes()), h),
        }
        inputs = [given[name] for name, _ in kernels.signature.inputs]
        kernels.rollout(inputs, [self._path[:, 1:]], steps)

    def q(self) -> Array:
        """Return positions (m, steps + 1)."""
        return self._of(0)

    def qd(self) -> Array:
        """Return velocities (m, steps + 1)."""
        return self._of(1)

    def q_at(self, index: Array, rows: Array) -> Array:
        """Return positions (len(rows), k) of some simulations at some of the times (k,)."""
        block, lane = np.divmod(rows[:, None], lanes())
        return np.asarray(self._path[block, index, 0, lane])

    def _of(self, entry: int) -> Array:
        x = self._path[:, :, entry]  # (blocks, steps + 1, lanes)
        return np.moveaxis(x, 1, 2).reshape(-1, x.shape[1])[: self._count]
