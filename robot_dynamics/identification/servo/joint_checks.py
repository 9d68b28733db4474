# SPDX-License-Identifier: Apache-2.0
"""What a recording cannot tell of a servo joint, and what to record instead; stops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.common.reporting.numbers import plural
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.joint_values import rms, unit_of
from robot_dynamics.identification.servo.joint_fit import JointFit
from robot_dynamics.identification.servo.servo_runs import Run

ANGLE, STROKE = 0.05, 0.005  # rad, m: a joint that travels less does not move
EQUAL = 0.95  # of the samples: where the command equals the position, one of them is a copy,
COPIED = 3  # as well one of up to so many samples earlier
FOLLOWS = 0.3  # correlation with its command at the best lag, at least,
LARGEST_LAG = 0.5  # s
SAME_UNIT = 3.0  # times the motion of its command, at most, and no less than the inverse
SPARSE = 0.35  # of the lag: of longer periods, commands between samples matter
RESOLVED = 3.0  # encoder steps of distance from the command, root mean square, at least
REST = 0.5  # s, within which a joint at rest moves by two encoder steps at most
STOP = 8.0  # times the lower quartile of the distances at rest, and
STOP_STEPS = 10.0  # encoder steps more: a joint that rests farther from its command is stopped
BEFORE_STOP, AFTER_STOP = 0.3, 0.5  # s, left out as well
SLOW = 0.35  # lag times the ratio of accelerations to velocities: below, motion is slow
NOISE = 2.0  # times the noise: a larger residual of slow motion is no Coulomb friction
PERIODS = 2.0  # between samples: a longer delay is one of stamps
RECORD = 'a chirp of 0.1 to 3 Hz, steps, slow ramps and rests of every joint, 40 s'


def resolution(runs: Sequence[Run]) -> Array:
    """Return the encoder step (n,) of each joint: the smallest change of a position."""
    found = []
    for j in range(runs[0].q.shape[1]):
        steps = np.abs(np.concatenate([np.diff(run.q[:, j]) for run in runs]))
        steps = steps[steps > 1e-9]
        found.append(float(np.quantile(steps, 0.01)) if len(steps) else 0.0)
    return np.array(found)


def unusable(runs: Sequence[Run], step: Array, angular: Array) -> dict[int, str]:
    """Return why joints cannot be identified at all, by index.

    Args:
        runs: of the recordings.
        step: (n,) as `resolution`.
        angular: (n,) bool, whether positions are angles.
    """
    reasons = {}
    for j in range(runs[0].q.shape[1]):
        u, q = (
            np.concatenate([getattr(r, name)[:, j] for r in runs]) for name in ('command', 'q')
        )
        away, least = u - q, ANGLE if angular[j] else STROKE
        if (travel := max(np.ptp(q), np.ptp(u))) < least:
            unit = unit_of(bool(angular[j]), 'rad')
            reasons[j] = (
                f'it travels {travel:.2g} {unit}; expected {least:g} {unit} or more; record '
                f'{RECORD}'
            )
        elif (np.abs(away) < 1e-9).mean() > EQUAL:
            reasons[j] = (
                'the command equals the measured position; record what is sent to the drive'
            )
        elif np.ptp(q) < least:
            reasons[j] = 'it does not follow its command; record with the drive enabled'
        elif reason := _other_signal(runs, j, least):
            reasons[j] = reason
        elif (distance := float(rms(away))) < RESOLVED * step[j]:
            reasons[j] = (
                f'it is {distance:.2g} from its command, less than {RESOLVED:g} encoder steps of '
                f'{step[j]:.2g}; record faster motion, with steps'
            )
    return reasons


def _other_signal(runs: Sequence[Run], j: int, least: float) -> str:
    """Return why commands and positions are not those of one servo, '' if they may be."""
    u, q = (np.concatenate([getattr(r, name)[:, j] for r in runs]) for name in ('command', 'q'))
    if np.ptp(u) < least:
        return (
            f'its command varies by {np.ptp(u):.2g} and its position by {np.ptp(q):.2g}; record '
            'the command that moves it'
        )
    for k in range(1, COPIED + 1):
        if (np.abs(u[:-k] - q[k:]) < 1e-9).mean() > EQUAL:
            return (
                f'the position is the command of {plural(k, "sample")} before, as of a driver '
                'that returns commands; record what the encoder measures'
            )
    if abs(offset := float(np.median(u - q))) > np.ptp(u):
        return (
            f'its command is {offset:.3g} from its position (median), more than the '
            f'{np.ptp(u):.2g} that it varies by; expected both from the same zero'
        )
    factor = float(q.std() / u.std())
    if not 1 / SAME_UNIT < factor < SAME_UNIT:
        return (
            f'its position varies by {factor:.3g} times as much as its command; expected both in '
            'rad or m, of the same joint'
        )
    away, off = u - u.mean(), q - q.mean()
    lags = range(int(LARGEST_LAG / runs[0].period) + 1)
    alike = max(float(away[: len(u) - k] @ off[k:]) for k in lags) / (len(u) * u.std() * q.std())
    if alike < FOLLOWS:
        return (
            f'its position does not follow its command (correlation {alike:.2f}; expected more '
            f'than {FOLLOWS:g}); record the command of this joint, with the same sign'
        )
    return ''


def stop_thresholds(runs: Sequence[Run], step: Array) -> Array:
    """Return the distance (n,) from the command beyond which a joint at rest is stopped."""
    found = []
    for j in range(len(step)):
        rests = [
            float(np.abs(run.command[a:b, j] - run.q[a:b, j]).mean())
            for run in runs
            for a, b in _rests(run, j, step[j])
        ]
        usual = float(np.quantile(rests, 0.25)) if rests else np.inf
        found.append(STOP * usual + STOP_STEPS * step[j])
    return np.array(found)


def free_samples(run: Run, step: Array, thresholds: Array) -> Array:
    """Return a mask (k, n) of the samples at which no joint rests at a stop or in contact."""
    free = np.ones(run.q.shape, bool)
    for j in range(len(step)):
        stopped = np.zeros(len(run.t), bool)
        for a, b in _rests(run, j, step[j]):
            stopped[a:b] = True
        stopped &= np.abs(run.command[:, j] - run.q[:, j]) > thresholds[j]
        for a, b in _stretches(stopped):
            if run.t[b - 1] - run.t[a] >= REST:
                begin, end = run.t[a] - BEFORE_STOP, run.t[b - 1] + AFTER_STOP
                free[(run.t >= begin) & (run.t <= end), j] = False
    return free


def _rests(run: Run, j: int, step: float) -> list[tuple[int, int]]:
    """Return [begin, end) of the times at which a joint rests for REST or longer."""
    k = max(2, round(REST / run.period))
    if len(run.t) <= k:
        return []
    windows = np.lib.stride_tricks.sliding_window_view(run.q[:, j], k)
    # A rest begins where a window at rest does, and ends with the last such window.
    still = np.ptp(windows, axis=1) <= 2.01 * step
    return [(a, b - 1 + k) for a, b in _stretches(still)]


def _stretches(mask: Array) -> list[tuple[int, int]]:
    """Return [begin, end) of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def sparse(period: float, found: JointFit) -> bool:
    """Return whether a joint moves noticeably between two samples after a command."""
    return period > SPARSE * (found['lag'] + found['delay'])


def remarks(
    name: str,
    run_period: float,
    found: JointFit,
    motion: tuple[float, float],
    noise: float,
    unit: str,
) -> list[str]:
    """Return what is doubtful in the fit of a joint.

    Args:
        name: of the joint.
        run_period: s between samples.
        found: its fit.
        motion: root mean square velocity and acceleration.
        noise: root mean square of the noise of its positions, resolution included.
        unit: of its positions, 'rad' or 'm'.
    """
    words = []
    if found['delay'] > PERIODS * run_period:
        words.append(
            f'{name}: the delay of {1e3 * found["delay"]:.0f} ms is more than {PERIODS:g} periods '
            'between samples; are the stamps of commands those of sending?'
        )
    whole = found['lag'] + found['delay']
    if sparse(run_period, found):
        words.append(
            f'{name}: samples are {1e3 * run_period:.0f} ms apart, with a lag of '
            f'{1e3 * whole:.0f} ms: if commands are sent more often than recorded, D/kp + d is '
            f'too small by up to {500 * run_period:.0f} ms, and tmax/kp wrong; record every '
            'command'
        )
    speed, acceleration = motion
    slow = found['lag'] * acceleration < SLOW * speed
    if slow and found.rms > NOISE * noise:
        words.append(
            f'{name}: the motion is slow, and {1e3 * found.rms:.2g} m{unit} are not explained: '
            'friction with memory, or play; delay, D/kp and A/kp may be wrong by a third. '
            f'Record {RECORD}'
        )
    return words
