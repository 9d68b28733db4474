# SPDX-License-Identifier: Apache-2.0
"""Identification of the position servos of an arm from commands and measured positions.

    found = identify_servo(arm, [recording])
    found.ratios['lag'], found.delay, found.absolute['stiffness']

Ratios to kp always come first. Torques follow only where gravity shows the scale, or where kp is
given. The equation is that of `drive_step`; the fit is that of `relaxation`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.joint_values import per_joint
from robot_dynamics.identification.estimation.excitation_check import RefusedError
from robot_dynamics.identification.servo.arm_loads import bare
from robot_dynamics.identification.servo.certainty import why_zero_is_unknown
from robot_dynamics.identification.servo.joint_checks import (
    free_samples,
    resolution,
    stop_thresholds,
    unusable,
)
from robot_dynamics.identification.servo.joint_fit import INDEX
from robot_dynamics.identification.servo.relaxation import ArmFit, Freedom, fit_arm
from robot_dynamics.identification.servo.servo_result import (
    ServoIdentification,
    outcomes,
    result,
)
from robot_dynamics.identification.servo.servo_runs import Run, runs_of
from robot_dynamics.identification.servo.servo_validation import (
    ServoValidation,
    described,
    validated,
)
from robot_dynamics.identification.servo.terms import TERMS, chosen, without
from robot_dynamics.recordings.plausibility import require_joints
from robot_dynamics.recordings.recording import Recording, RecordingError

NOT_COMMANDED = ('it travels', 'its command varies')  # reasons: others are identified
FITTED = 2 / 3  # of each recording, where none is given for validation


def identify_servo(
    arm: Dynamics,
    recordings: Sequence[Recording],
    *,
    kp: ArrayLike | None = None,
    kd: ArrayLike | None = None,
    terms: Sequence[str] = TERMS,
    zero: str = 'fixed',
    test: Sequence[Recording] | None = None,
    refuse: bool = True,
    progress: Callable[[str], object] | None = None,
) -> ServoIdentification:
    """Return the servos of an arm, from commands and positions without efforts.

    Args:
        arm: the description; its inertias are kept.
        recordings: with commands.
        kp: known stiffness, N m/rad or N/m, one or (n,); else it is identified where it shows.
        kd: known gain of commanded velocities, N m s/rad or N s/m; only with kp.
        terms: of `TERMS`, those that are tried.
        zero: 'fixed', or 'fit': errors of the encoders' zeros in gravity.
        test: recordings for validation; else the last third of each is predicted by a fit of the
            rest, and the values are those of a fit of all.
        refuse: raise an error if a joint in motion cannot be identified.
        progress: called with a word on each step.

    Raises:
        RecordingError: a recording has no commands or is too short, or an option is out of range.
        RefusedError: joints cannot be identified from it; the message says what to record.
    """
    names = arm.model.joint_names
    _check(terms, zero, kp, kd)
    for one in (*recordings, *(test or ())):
        require_joints(one, arm.model)
    for one in test or ():
        if any(np.array_equal(one.q, fitted.q) for fitted in recordings):
            raise RecordingError('a test recording is fitted as well; expected another one')
    say, robot = progress or (lambda _: None), bare(arm)
    runs = runs_of(recordings)
    tests = runs if test is None else runs_of(test)
    step = resolution(runs)
    reasons = unusable(runs, step, arm.model.angular)
    _refuse(reasons, names, refuse)
    thresholds = stop_thresholds(runs, step)
    free = [free_samples(run, step, thresholds) for run in runs]
    fitted = np.array([j not in reasons for j in range(len(names))])
    freedom = Freedom(
        fitted, free, _per_joint('kp', kp, names), _per_joint('kd', kd, names), zero == 'fit'
    )
    fits = fit_arm(robot, runs, freedom, say)
    fits, unknown = _with_shown_zeros(robot, runs, freedom, fits, say)
    fits, gains = _with_terms(robot, runs, freedom, fits, terms, say)
    first, used = fits, [free_samples(run, step, thresholds) for run in tests]
    if test is None:
        say('fit of two thirds')
        begin, used = _thirds(runs, free)
        first = fit_arm(robot, runs, replace(freedom, used=begin), say, fits.joints)
    say('validation')
    v = _validated(arm, tests, used, first, 'last third' if test is None else 'test')
    joints = outcomes(arm, fits, kp is not None, step)
    refused = {names[j]: reason for j, reason in reasons.items()}
    notes = [*unknown, *_stops(names, runs, free)]
    return result(arm, fits, gains, joints, v, refused, notes)


def _per_joint(name: str, value: ArrayLike | None, names: tuple[str, ...]) -> Array | None:
    return None if value is None else per_joint(name, value, names)


def _thirds(runs: Sequence[Run], free: Sequence[Array]) -> tuple[list[Array], list[Array]]:
    """Return masks (k, n) per run of what is fitted and of what is predicted."""
    pairs = [
        (mask, (run.t < FITTED * run.t[-1])[:, None]) for mask, run in zip(free, runs, strict=True)
    ]
    return [mask & begin for mask, begin in pairs], [mask & ~begin for mask, begin in pairs]


def _validated(
    arm: Dynamics, runs: Sequence[Run], used: Sequence[Array], fits: ArmFit, source: str
) -> ServoValidation:
    found = [None if one is None else one.p for one in fits.joints]
    stiffness = [1.0 if p is None else float(p[INDEX['stiffness']]) for p in found]
    return validated(bare(arm), runs, used, found, described(arm, stiffness), source)


def _check(terms: Sequence[str], zero: str, kp: ArrayLike | None, kd: ArrayLike | None) -> None:
    if unknown := set(terms) - set(TERMS):
        raise RecordingError(
            f'terms has {", ".join(sorted(unknown))}; expected {", ".join(TERMS)}'
        )
    if zero not in ('fixed', 'fit'):
        raise RecordingError(f"zero is {zero!r}; expected 'fixed' or 'fit'")
    if kd is not None and kp is None:
        raise RecordingError('kd is given without kp; expected both, as they share the scale')
    for name, value in (('kp', kp), ('kd', kd)):
        least = 0.0 if name == 'kd' else 1e-12
        if value is not None and not (
            np.isfinite(value).all() and np.all(np.asarray(value) >= least)
        ):
            raise RecordingError(f'{name} is {value}; expected positive numbers')


def _refuse(reasons: Mapping[int, str], names: Sequence[str], refuse: bool) -> None:
    """Raise RefusedError if no joint is left, or one in motion cannot be identified."""
    words = [f'{names[j]}: {reason}' for j, reason in reasons.items()]
    if len(reasons) == len(names):
        raise RefusedError(f'no joint can be identified. {"; ".join(words)}')
    grave = [
        w for j, w in zip(reasons, words, strict=True) if not reasons[j].startswith(NOT_COMMANDED)
    ]
    if refuse and grave:
        raise RefusedError('; '.join(grave))


def _with_shown_zeros(
    arm: Dynamics,
    runs: Sequence[Run],
    freedom: Freedom,
    fits: ArmFit,
    say: Callable[[str], object],
) -> tuple[ArmFit, list[str]]:
    """Return the fit of the arm without zeros that are not identifiable, and remarks on these.

    One that is far off distorts the loads of the other joints: their zeros are examined again.
    """
    words: list[str] = []
    while True:
        joints = list(fits.joints)
        for j, (one, of_joint) in enumerate(zip(fits.joints, fits.runs, strict=True)):
            if one is None or of_joint is None or 'zero' not in one.free:
                continue
            if why := why_zero_is_unknown(of_joint, one):
                joints[j] = without(one, 'zero', 0.0)
                words.append(
                    f'{arm.model.joint_names[j]}: the zero of its encoder is not identifiable '
                    f'({why}): taken as 0'
                )
        if all(a is b for a, b in zip(fits.joints, joints, strict=True)):
            return fits, words
        fits = fit_arm(arm, runs, freedom, say, joints)


def _with_terms(
    arm: Dynamics,
    runs: Sequence[Run],
    freedom: Freedom,
    fits: ArmFit,
    terms: Sequence[str],
    say: Callable[[str], object],
) -> tuple[ArmFit, list[dict[str, float]]]:
    """Return the fit of the arm with the terms that are worth it, and their gains."""
    say('terms')
    gains: list[dict[str, float]] = [{} for _ in fits.joints]
    new = list(fits.joints)
    for j, (one, of_joint) in enumerate(zip(fits.joints, fits.runs, strict=True)):
        if one is not None and of_joint is not None:
            new[j], gains[j] = chosen(of_joint, one, terms)
    changed = [
        a is not b and a.free != b.free
        for a, b in zip(fits.joints, new, strict=True)
        if a is not None and b is not None
    ]
    if any(changed):
        fits = fit_arm(arm, runs, freedom, say, new)
    return fits, gains


def _stops(names: Sequence[str], runs: Sequence[Run], free: Sequence[Array]) -> list[str]:
    """Return remarks on the rests at stops."""
    seconds = np.sum(
        [(~mask).sum(axis=0) * run.period for mask, run in zip(free, runs, strict=True)], axis=0
    )
    return [
        f'{name}: rests far from its command for {s:.1f} s, at a stop or in contact; left out'
        for name, s in zip(names, seconds, strict=True)
        if s > 0
    ]
