# SPDX-License-Identifier: Apache-2.0
"""Output-error fit of one servo joint along known loads.

The parameters are the ratios, the delay and kp. Each run is simulated from its beginning to its
end, as measured states would let a joint at rest agree with any friction. Levenberg-Marquardt on
the logarithms of the parameters, on the delay itself, with derivatives by central differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.common.made_once import made_once
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.joint_values import rms
from robot_dynamics.identification.servo.arm_loads import Loads
from robot_dynamics.identification.servo.drive_step import RATIOS
from robot_dynamics.identification.servo.servo_runs import Run
from robot_dynamics.identification.servo.trajectories import Trajectories, each, shared

# Names and order of the parameters of a joint; units of an angle.
PARAMETERS = (
    'lag',  # D / kp, s
    'armature',  # A / kp, s^2
    'coulomb',  # fc / kp, rad
    'delay',  # s
    'stiffness',  # kp, N m/rad
    'limit',  # tmax / kp, rad; UNLIMITED without a limit
    'stribeck',  # fs / kp, rad; 0 without
    'velocity_gain',  # kd / kp, s, of commanded velocities
    'zero',  # by which the joint is beyond its encoder, rad
)
LINEAR = ('delay', 'velocity_gain', 'zero')  # the others are positive: their logarithms are fitted
DIFFERENCE = {'delay': 5e-4, 'velocity_gain': 1e-3, 'zero': 1e-3}  # of the central differences
RELATIVE = 1e-2  # those of logarithms
UNLIMITED = 1e6  # rad
LARGEST = {'delay': 0.01, 'zero': 0.1}  # changes in an iteration; of logarithms 1
FARTHEST_ZERO = 0.2  # rad: an encoder's zero is not farther from that of the description
ENOUGH = 1e-6  # relative decrease of the cost that ends the iterations
BLOCK = 2.5  # s, of residuals that are taken to be correlated
INDEX = {name: i for i, name in enumerate(PARAMETERS)}


@dataclass(frozen=True, eq=False)
class JointRuns:
    """All runs of one joint, with their loads.

    Attributes:
        runs: of the recordings.
        joint: its index.
        along: loads over the steps of each run.
        used: (K,) bool, compared positions; others, as at a stop, are left out.
        delay: s, by which the drive acts later than the loads are given: that of the fit before.
    """

    runs: Sequence[Run]
    joint: int
    along: Sequence[Loads]
    used: Array
    delay: float

    @made_once
    def measured(self) -> Array:
        """(K,) positions that are compared."""
        return np.concatenate([run.q[run.compared, self.joint] for run in self.runs])

    @made_once
    def block(self) -> Array:
        """(K,) number of the block of time of each compared position."""
        blocks, first = [], 0
        for run in self.runs:
            own = (run.t[run.compared] / BLOCK).astype(int)
            blocks.append(first + own)
            first += int(own[-1]) + 1
        return np.concatenate(blocks)

    @made_once
    def recording(self) -> Array:
        """(K,) number of the recording of each compared position."""
        return np.concatenate([np.full(len(run.compared), run.recording) for run in self.runs])

    @property
    def has_velocity_commands(self) -> bool:
        """Whether commanded velocities vary."""
        return any(run.command_qd is not None for run in self.runs)

    @property
    def zero_matters(self) -> bool:
        """Whether gravity on this joint depends on its position."""
        return any(bool(one.slope[:, self.joint].any()) for one in self.along)

    def residuals(self, many: Array) -> Array:
        """Return simulated minus measured positions (m, K), 0 where they are not used.

        Args:
            many: (m, 9) parameters.
        """
        parts = [one.compared(many) for one in self.driven]
        return np.where(self.used, np.concatenate(parts, axis=1) - self.measured, 0.0)

    @made_once
    def driven(self) -> list[DrivenRun]:
        """What is simulated of each run."""
        pairs = zip(self.runs, self.along, strict=True)
        return [DrivenRun(run, one, self.joint, self.delay) for run, one in pairs]

    def only(self, used: Array) -> JointRuns:
        """Return the same with fewer positions in use."""
        return replace(self, used=self.used & used)


class DrivenRun:
    """Simulations of a joint along a run, from rest at its first measured position.

    Time is that of the drive: what it simulates is measured a delay later.

    Args:
        run: whose commands are followed.
        along: loads over its steps.
        joint: its index.
        delay: s, of the loads.
    """

    def __init__(self, run: Run, along: Loads, joint: int, delay: float):
        def later(x: Array) -> Array:
            return np.interp(run.middles + delay, run.middles, x[:, joint])

        self._run, self._joint = run, joint
        self._load, self._slope = later(along.load), later(along.slope)
        self._inertia, self._same_load = shared(later(along.inertia)), shared(self._load)
        self._command = run.mean_over_steps(run.command, joint)
        self._same_drive = shared(self._command)

    def simulated(self, many: Array) -> Trajectories:
        """Return the motions with parameters (m, 9)."""
        start = np.array([self._run.q[0, self._joint], 0.0])
        zero, load = many[:, INDEX['zero']], self._same_load
        if zero.any():
            load = each(self._load + np.outer(zero, self._slope))
        ratios = many[:, [INDEX[name] for name in RATIOS]]
        return Trajectories(start, self._drive(many), self._inertia, load, ratios, self._run.step)

    def _drive(self, many: Array) -> Array:
        """Return the columns of u + (kd ud + tau_ff) / kp."""
        run = self._run
        added = [
            np.outer(factor, run.mean_over_steps(held, self._joint))
            for held, factor in (
                (run.command_qd, many[:, INDEX['velocity_gain']]),
                (run.feedforward, 1.0 / many[:, INDEX['stiffness']]),
            )
            if held is not None and factor.any()
        ]
        return each(self._command + np.sum(added, axis=0)) if added else self._same_drive

    def compared(self, many: Array) -> Array:
        """Return simulated positions (m, K) at the compared samples of the run."""
        run, motions = self._run, self.simulated(many)
        found = np.empty((len(many), len(run.compared)))
        delays = many[:, INDEX['delay']]
        for delay in np.unique(delays):
            x = np.maximum((run.t[run.compared] - delay) / run.step, 0.0)
            step = np.minimum(x.astype(int), run.steps - 1)
            rows = np.flatnonzero(delays == delay)
            before, after = motions.q_at(step, rows), motions.q_at(step + 1, rows)
            found[rows] = before + (x - step) * (after - before)
        return found


# -- the fit ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JointFit:
    """A fit of one joint.

    Attributes:
        p: (9,) `PARAMETERS`.
        free: names of the fitted ones.
        cost: sum of squares of the residual.
        rms: root mean square of the residual, rad or m.
        residual: (K,) rad or m, 0 where a position is not used.
        jacobian: (K, free) by the fitted coordinates: logarithms, or the parameters of `LINEAR`.
    """

    p: Array
    free: tuple[str, ...]
    cost: float
    rms: float
    residual: Array
    jacobian: Array

    def __getitem__(self, name: str) -> float:
        return float(self.p[INDEX[name]])


def moved(p: Array, free: Sequence[str], change: Array) -> Array:
    """Return parameters after a change of their fitted coordinates."""
    p = p.copy()
    for name, x in zip(free, change, strict=True):
        i = INDEX[name]
        p[i] = p[i] + x if name in LINEAR else p[i] * np.exp(x)
    p[INDEX['delay']] = max(p[INDEX['delay']], 0.0)
    p[INDEX['zero']] = np.clip(p[INDEX['zero']], -FARTHEST_ZERO, FARTHEST_ZERO)
    return p


def jacobian(runs: JointRuns, p: Array, free: Sequence[str]) -> Array:
    """Return the derivative of the residual (K, free) by the fitted coordinates."""
    steps = np.diag([DIFFERENCE.get(name, RELATIVE) for name in free])
    many = np.array([moved(p, free, step) for step in (*steps, *-steps)])
    after, before = np.split(runs.residuals(many), 2)
    apart = 2 * steps.diagonal()
    for name in {'delay', 'zero'} & set(free):  # which have bounds
        k, x = list(free).index(name), many[:, INDEX[name]]
        apart[k] = x[k] - x[len(free) + k]
    return np.asarray(((after - before) / apart[:, None]).T)


def fit(runs: JointRuns, p: Array, free: Sequence[str], iterations: int) -> JointFit:
    """Return the parameters from p that minimise the squares of the residual."""
    largest = np.array([LARGEST.get(name, 1.0) for name in free])
    damping = 1e-2
    r = runs.residuals(p[None])[0]
    cost = float(r @ r)
    A = jacobian(runs, p, free)
    for _ in range(iterations):
        better = None
        H, g = A.T @ A, A.T @ r
        for _ in range(8):
            # (H + l diag H) dx = -g
            weight = damping * H.diagonal() + 1e-12 * H.diagonal().max() + 1e-300
            change = -np.linalg.solve(H + np.diag(weight), g)
            trial = moved(p, free, np.clip(change, -largest, largest))
            r_trial = runs.residuals(trial[None])[0]
            if r_trial @ r_trial < cost:
                better = trial
                break
            damping *= 4
        if better is None:
            break
        gain = cost - float(r_trial @ r_trial)
        p, r, damping = better, r_trial, max(damping / 5, 1e-9)
        cost, ended = cost - gain, gain < ENOUGH * cost
        A = jacobian(runs, p, free)
        if ended:
            break
    return JointFit(p, tuple(free), cost, float(rms(r[runs.used])), r, A)
