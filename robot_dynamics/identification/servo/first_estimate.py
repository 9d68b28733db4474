# SPDX-License-Identifier: Apache-2.0
"""First estimate of a servo joint: the equation of motion, linear in the ratios.

    u(t - d) - q = (D/kp) qd + (A/kp) qdd + (fc/kp) sgn(qd) + tau / kp

Measured motion is smoothed, so the estimate is biased by 1 to 50 %: it starts the output-error
fit. The delay is searched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.friction.coulomb import sliding_direction
from robot_dynamics.identification.servo.arm_loads import Loads
from robot_dynamics.identification.servo.joint_fit import INDEX, PARAMETERS, UNLIMITED
from robot_dynamics.identification.servo.servo_runs import Run
from robot_dynamics.recordings.smoothing import low_pass

DELAYS = np.arange(0.0, 0.0601, 0.002)  # s
DEFAULT_INERTIA = 4.0  # times that of the arm: of arm and drive, where gravity shows no scale
SCALE_RANGE = 30.0  # by which gravity may contradict that


def first_estimate(
    runs: Sequence[Run], along: Sequence[Loads], joint: int, kp: float | None
) -> Array:
    """Return parameters (9,) of a joint near those that explain its motion.

    Args:
        runs: of the recordings.
        along: loads along the smoothed motion of each run.
        joint: its index.
        kp: known stiffness, or None.
    """
    from scipy.optimize import nnls

    best: tuple[float, float, Array] | None = None
    rows = [_columns(run, one, joint) for run, one in zip(runs, along, strict=True)]
    A = np.concatenate([columns for columns, _ in rows])
    for delay in DELAYS:
        y = np.concatenate([error(delay) for _, error in rows])
        if kp is None:
            x, left = nnls(A, y)
        else:
            x, left = nnls(A[:, :3], y - A[:, 3] / kp)
            x = np.append(x, 1 / kp)
        if best is None or left < best[0]:
            best = left, float(delay), x
    assert best is not None
    _, delay, x = best
    return _parameters(runs, along, joint, delay, x, kp)


def _parameters(
    runs: Sequence[Run],
    along: Sequence[Loads],
    joint: int,
    delay: float,
    x: Array,
    kp: float | None,
) -> Array:
    lag, armature, coulomb, softness = x
    lag = max(lag, 1e-3)
    J = float(np.mean(np.concatenate([one.inertia[:, joint] for one in along])))
    whole = max(armature + softness * J, 0.01 * lag**2)  # (A + J) / kp
    if kp is None:
        usual = DEFAULT_INERTIA * J / whole
        kp = float(np.clip(1 / max(softness, 1e-300), usual / SCALE_RANGE, usual * SCALE_RANGE))
        kp = usual if softness == 0 else kp
    p = np.zeros(len(PARAMETERS))
    values = {
        'lag': lag,
        'armature': max(armature, 0.2 * whole),
        'coulomb': max(coulomb, 1e-4),
        'delay': delay,
        'stiffness': kp,
        'limit': UNLIMITED,
    }
    for name, value in values.items():
        p[INDEX[name]] = value
    return p


def _columns(run: Run, along: Loads, joint: int) -> tuple[Array, Callable[[float], Array]]:
    """Return qd, qdd, sgn qd, tau (m, 4) low-passed, and u(t - d) - q (m,) as a function of d."""
    m = run.smoothed
    step = float(m.t[1] - m.t[0])
    band, ends = run.band, int(np.ceil(2 / run.band / step))
    qd, qdd = m.qd[:, joint], m.qdd[:, joint]
    tau = along.load[:, joint] + along.inertia[:, joint] * qdd
    rough = np.column_stack([sliding_direction(qd), tau])
    columns = np.column_stack([qd, qdd, low_pass(rough, band, step)])
    edges = np.append(m.t - step / 2, m.t[-1] + step / 2)

    def error(delay: float) -> Array:
        u = run.mean_between(run.command[:, joint], edges - delay)
        return np.asarray((low_pass(u, band, step) - m.q[:, joint])[ends:-ends])

    return columns[ends:-ends], error
