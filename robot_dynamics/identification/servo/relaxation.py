# SPDX-License-Identifier: Apache-2.0
"""Joints of an arm fitted one by one, coupled by waveform relaxation.

Each joint is fitted along the inertia and loads of a motion; then all joints are simulated with
what was found, and the loads of the simulated motion are those of the next round. Loads of
measured positions, differentiated, would bias kp by 3 to 4 %.

Source: Lelarasmee, Ruehli and Sangiovanni-Vincentelli, "The waveform relaxation method for
time-domain analysis of large scale integrated circuits", IEEE Trans. CAD 1(3), 1982.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification.servo.arm_loads import Loads, loads
from robot_dynamics.identification.servo.first_estimate import first_estimate
from robot_dynamics.identification.servo.joint_fit import (
    INDEX,
    DrivenRun,
    JointFit,
    JointRuns,
    fit,
)
from robot_dynamics.identification.servo.servo_runs import Motion, Run

ROUNDS = 4
DELAYS = (0.005, 0.015, 0.03)  # s, from which the first round starts besides the estimate
TRIED, CONTINUED, LATER = 6, 12, 8  # iterations: of each start, of the best, of later rounds
MORE_FRICTION = 4.0  # times the estimate
WORTH = 0.02  # relative decrease of squares held out, of a term that is kept
RETURN = 0.1  # of a first estimate: from less a fit does not return
LIMIT_STARTS = 0.6  # of the largest distance from the command: torque limit of the first round


@dataclass(frozen=True, eq=False)
class ArmFit:
    """Fits of the joints and the motion that they predict.

    Attributes:
        joints: fit by joint; None of a joint that is not fitted.
        runs: likewise, what was fitted.
        along: loads over the steps of each run.
    """

    joints: list[JointFit | None]
    runs: list[JointRuns | None]
    along: list[Loads]


def motions_of(
    runs: Sequence[Run], along: Sequence[Loads], fits: Sequence[Array | None]
) -> list[Motion]:
    """Return the motion of each run at its steps, (steps + 1, n), under the loads of another.

    Args:
        runs: whose commands are followed, from their first measured position at rest.
        along: loads over the steps of each run.
        fits: parameters (9,) of each joint; one without follows its smoothed command.
    """
    motions = []
    for run, load in zip(runs, along, strict=True):
        t = np.arange(run.steps + 1) * run.step
        q, qd = np.empty((2, run.steps + 1, run.q.shape[1]))
        for j, p in enumerate(fits):
            if p is None:
                m = run.smoothed_command
                q[:, j], qd[:, j] = np.interp(t, m.t, m.q[:, j]), np.interp(t, m.t, m.qd[:, j])
            else:
                delay = float(p[INDEX['delay']])
                one = DrivenRun(run, load, j, delay).simulated(p[None])
                # Before the first command acts the joint rests.
                q[:, j], qd[:, j] = (np.interp(t - delay, t, x[0]) for x in (one.q(), one.qd()))
        motions.append(Motion(t, q, qd, np.diff(qd, axis=0) / run.step))
    return motions


def loads_of(arm: Dynamics, motion: Motion, zero: Array) -> Loads:
    """Return the loads over the steps of a simulated motion: at the middle of each step."""
    qd = 0.5 * (motion.qd[1:] + motion.qd[:-1])
    h = float(motion.t[1] - motion.t[0])
    q = motion.q[:-1] + 0.5 * h * motion.qd[:-1] + 0.125 * h**2 * motion.qdd
    return loads(arm, q, qd, motion.qdd, zero)


def measured_loads(arm: Dynamics, run: Run) -> tuple[Loads, Loads]:
    """Return the loads along smoothed motion: at its samples, and over the steps of the run."""
    m = run.smoothed
    at_samples = loads(arm, m.q, m.qd, m.qdd, np.zeros(m.q.shape[1]))

    return at_samples, over_steps(run, m.t, at_samples)


def over_steps(run: Run, t: Array, at_samples: Loads) -> Loads:
    """Return loads over the steps of a run, from those at times t (k,)."""

    def middle(x: Array) -> Array:
        return np.column_stack([np.interp(run.middles, t, column) for column in x.T])

    return Loads(*(middle(getattr(at_samples, one.name)) for one in fields(Loads)))


@dataclass(frozen=True, eq=False)
class Freedom:
    """What is fitted of each joint.

    Attributes:
        fitted: (n,) bool, joints that are fitted.
        used: per run (k, n) bool, samples that are compared.
        kp: (n,) known stiffness, or None.
        kd: (n,) known gain of commanded velocities, N m s/rad, or None.
        zero: whether errors of the encoders' zero are fitted, where gravity depends on them.
    """

    fitted: Array
    used: list[Array]
    kp: Array | None = None
    kd: Array | None = None
    zero: bool = False

    def names(self, runs: JointRuns, limited: bool = True) -> list[str]:
        """Return the names of the fitted parameters of a joint."""
        free = ['lag', 'armature', 'coulomb', 'delay']
        if self.kp is None:
            free.append('stiffness')
        if limited:
            free.append('limit')
        if runs.has_velocity_commands and self.kd is None:
            free.append('velocity_gain')
        if self.zero and runs.zero_matters:
            free.append('zero')
        return free


def fit_arm(
    arm: Dynamics,
    runs: Sequence[Run],
    freedom: Freedom,
    progress: Callable[[str], object],
    start: Sequence[JointFit | None] | None = None,
) -> ArmFit:
    """Return the fit of all joints.

    Args:
        arm: as `bare`.
        runs: of the recordings.
        freedom: what is fitted.
        progress: called with a word on each round.
        start: fits to start from, instead of a search.
    """
    n = arm.model.n
    pieces: list[JointRuns | None] = [None] * n
    if start is None:
        fits, along = _started(arm, runs, freedom)
        estimates = [None if one is None else one.p for one in fits]
    else:
        fits = list(start)
        estimates = [None if one is None else one.p for one in fits]
        along = _next_loads(arm, runs, [measured_loads(arm, run)[1] for run in runs], fits)
    for number in range(ROUNDS if start is None else ROUNDS // 2):
        progress(f'round {number + 1}')
        for j in np.flatnonzero(freedom.fitted).tolist():
            before, estimate = fits[j], estimates[j]
            assert before is not None
            assert estimate is not None
            one = joint_runs(runs, j, along, freedom.used, before['delay'])
            pieces[j] = one
            if before.free:
                fits[j] = fit(one, _within(before.p, estimate), before.free, LATER)
            else:
                fits[j] = _searched(one, before.p, freedom.names(one))
        along = _next_loads(arm, runs, along, fits)
    return ArmFit(fits, pieces, along)


def joint_runs(
    runs: Sequence[Run],
    joint: int,
    along: Sequence[Loads],
    used: Sequence[Array],
    delay: float,
) -> JointRuns:
    """Return the runs of a joint; `used` (k, n) has the samples to compare of each run."""
    compared = [u[run.compared, joint] for run, u in zip(runs, used, strict=True)]
    return JointRuns(runs, joint, along, np.concatenate(compared), delay)


def _within(p: Array, estimate: Array) -> Array:
    """Return parameters from which a fit under other loads can return to an estimate.

    Logarithms of what has vanished have no slope.
    """
    p = p.copy()
    for name in ('coulomb', 'stiffness'):
        i = INDEX[name]
        p[i] = np.clip(p[i], RETURN * estimate[i], estimate[i] / RETURN)
    return p


def _started(
    arm: Dynamics, runs: Sequence[Run], freedom: Freedom
) -> tuple[list[JointFit | None], list[Loads]]:
    """Return first estimates, of which nothing is fitted yet, and loads of their motion.

    Loads of smoothed measurements lack what a joint with little inertia feels of the others.
    """
    pairs = [measured_loads(arm, run) for run in runs]
    at_samples, along = [a for a, _ in pairs], [b for _, b in pairs]
    fits: list[JointFit | None] = [None] * arm.model.n
    for j in np.flatnonzero(freedom.fitted).tolist():
        kp = None if freedom.kp is None else float(freedom.kp[j])
        p = first_estimate(runs, at_samples, j, kp)
        none = np.zeros(0)
        fits[j] = JointFit(_with_gains(p, freedom, j), (), np.inf, np.inf, none, none)
    for _ in range(2):
        along = _next_loads(arm, runs, along, fits)
    return fits, along


def _next_loads(
    arm: Dynamics, runs: Sequence[Run], along: list[Loads], fits: Sequence[JointFit | None]
) -> list[Loads]:
    parameters = [None if one is None else one.p for one in fits]
    zero = np.array([0.0 if p is None else p[INDEX['zero']] for p in parameters])
    motions = motions_of(runs, along, parameters)
    found = []
    for motion in motions:
        one = loads_of(arm, motion, zero)
        # The fits add slope * zero themselves.
        found.append(Loads(one.inertia, one.load - one.slope * zero, one.gravity, one.slope))
    return found


def _with_gains(p: Array, freedom: Freedom, j: int) -> Array:
    p = p.copy()
    if freedom.kd is not None:
        p[INDEX['velocity_gain']] = freedom.kd[j] / p[INDEX['stiffness']]
    return p


def _searched(runs: JointRuns, p: Array, free: Sequence[str]) -> JointFit:
    """Return the best fit from several delays, with a torque limit only if it is worth one."""
    unlimited = [name for name in free if name != 'limit']
    best = _from_starts(runs, p, unlimited, {*DELAYS, float(p[INDEX['delay']])})
    if 'limit' in free:
        p = p.copy()
        p[INDEX['limit']] = LIMIT_STARTS * farthest(runs)
        limited = _from_starts(runs, p, free, {best['delay']})
        if limited.cost < (1 - WORTH) * best.cost:
            best = limited
    return fit(replace(runs, delay=best['delay']), best.p, best.free, CONTINUED)


def _from_starts(
    runs: JointRuns, p: Array, free: Sequence[str], delays: Collection[float]
) -> JointFit:
    """Return the best of short fits: from several delays, then with more dry friction.

    With too little of it, oscillations after steps may be explained by other parameters.
    """

    def started(delay: float, coulomb: float) -> JointFit:
        q = p.copy()
        q[INDEX['delay']], q[INDEX['coulomb']] = delay, coulomb
        return fit(replace(runs, delay=delay), q, free, TRIED)

    own = float(p[INDEX['coulomb']])
    best = min((started(delay, own) for delay in delays), key=lambda one: one.cost)
    rough = started(best['delay'], MORE_FRICTION * own)
    return min(best, rough, key=lambda one: one.cost)


def farthest(runs: JointRuns) -> float:
    """Return the largest distance of the joint from its command, rad or m."""
    j = runs.joint
    return max(float(np.abs(run.command[:, j] - run.q[:, j]).max()) for run in runs.runs)
