# SPDX-License-Identifier: Apache-2.0
"""Identified servos of an arm: ratios to kp first, then torques where their scale is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.common.reporting.numbers import measured
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.joint_values import rms, unit_of
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.identification.servo.certainty import (
    MASS_ERROR,
    WHOLE_LAG,
    errors,
    gravity_shift,
    least_shift,
)
from robot_dynamics.identification.servo.joint_checks import remarks
from robot_dynamics.identification.servo.joint_fit import (
    INDEX,
    PARAMETERS,
    UNLIMITED,
    JointFit,
    JointRuns,
    fit,
)
from robot_dynamics.identification.servo.relaxation import ArmFit, farthest
from robot_dynamics.identification.servo.servo_runs import Run
from robot_dynamics.identification.servo.servo_validation import ServoValidation

GRAVITY, GIVEN = 'gravity', 'given'  # what shows the scale of torques
FREE = 12  # iterations of a fit with kp that is given
AGREES = 2.0  # standard errors between it and that of gravity
NOT_IDENTIFIABLE = 'torque scale not identifiable'
# Of the parameters that are torques divided by kp: names of the torques
TORQUES = {
    'lag': 'damping',
    'armature': 'armature',
    'coulomb': 'coulomb',
    'limit': 'torque_limit',
    'stribeck': 'stribeck',
    'velocity_gain': 'velocity_gain',
}


@dataclass(frozen=True, eq=False)
class ServoIdentification:
    """Servos of an arm of n joints; arrays (n,), NaN where a joint has no value.

    Attributes:
        model: the description.
        parameters: (n, 9) as fitted, in the order of `PARAMETERS`; of a joint without gravity,
            `stiffness` follows from the inertia of the description alone.
        ratios: by name, divided by kp: lag D/kp [s], armature A/kp [s^2], coulomb fc/kp, limit
            tmax/kp, stribeck fs/kp [rad or m], velocity_gain kd/kp [s].
        delay: of the commands, s.
        errors: standard errors of ratios, delay, zero and WHOLE_LAG, D/kp + d, by name, in their
            units; NaN of what is not fitted.
        absolute: stiffness [N m/rad], damping, armature, coulomb, torque_limit, stribeck and
            velocity_gain in N m, rad and s, or N, m and s; None if no joint shows its scale.
        absolute_errors: likewise; they contain an error of the masses of the description.
        inertia: mean M_jj of the description along the motion, kg m^2 or kg.
        scale: by joint: 'given', 'gravity', or NOT_IDENTIFIABLE and why.
        bounds: by joint, the largest |u - q| where no torque limit shows: tmax/kp is larger.
        gains: by joint, what terms gain in squares held out.
        validation: on motion that was not fitted.
        refused: reasons by joint, of those that are not identified.
        notes: remarks.
    """

    model: RobotModel
    parameters: Array
    ratios: Mapping[str, Array]
    delay: Array
    errors: Mapping[str, Array]
    absolute: Mapping[str, Array] | None
    absolute_errors: Mapping[str, Array] | None
    inertia: Array
    scale: tuple[str, ...]
    bounds: Array
    gains: tuple[Mapping[str, float], ...]
    validation: ServoValidation
    refused: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def zero(self) -> Array:
        """(n,) by which joints are beyond their encoders, rad or m; 0 unless fitted."""
        return np.asarray(self.parameters[:, INDEX['zero']])

    @property
    def worse(self) -> tuple[str, ...]:
        """Joints whose motion is predicted no better than by their command and an offset."""
        v = self.validation
        better = (v.after_rms < v.before_rms) & (v.explained > 0)
        known = zip(self.model.joint_names, better, strict=True)
        return tuple(name for name, one in known if name not in self.refused and not one)


@dataclass(frozen=True, eq=False)
class JointOutcome:
    """What is known of one joint.

    Attributes:
        p: (9,) `PARAMETERS`, NaN of a joint that is not identified.
        deviations: (9,) their standard errors, relative or of `LINEAR`.
        whole: standard error of D/kp + d, s.
        scale: as of `ServoIdentification`.
        bound: likewise.
        notes: remarks.
    """

    p: Array
    deviations: Array
    whole: float = np.nan
    scale: str = ''
    bound: float = np.nan
    notes: tuple[str, ...] = ()


def outcomes(arm: Dynamics, fits: ArmFit, known: bool, step: Array) -> list[JointOutcome]:
    """Return what fits say of each joint.

    Args:
        arm: the description.
        fits: of its joints.
        known: whether kp is given.
        step: (n,) encoder steps.
    """
    found = []
    for j, (one, runs) in enumerate(zip(fits.joints, fits.runs, strict=True)):
        if one is None or runs is None:
            found.append(JointOutcome(*np.full((2, len(PARAMETERS)), np.nan)))
        else:
            found.append(_outcome(arm.model, runs, one, known, float(step[j])))
    return found


def _outcome(
    model: RobotModel, runs: JointRuns, one: JointFit, known: bool, step: float
) -> JointOutcome:
    deviations, of_joint = np.full(len(PARAMETERS), np.nan), errors(runs, one)
    whole = of_joint.pop(WHOLE_LAG)
    for key, value in of_joint.items():
        deviations[INDEX[key]] = value
    rounding, j = step / float(np.sqrt(12)), runs.joint
    noise = _noise(runs.runs, j, rounding)
    name, unit = model.joint_names[j], unit_of(bool(model.angular[j]), 'rad')
    words = remarks(name, runs.runs[0].period, one, _speeds(runs.runs, j), noise, unit)
    if known and (contradiction := _contradiction(runs, one, rounding)):
        words.append(f'{name}: {contradiction}')
    return JointOutcome(
        p=one.p,
        deviations=deviations,
        whole=whole,
        scale=GIVEN if known else _scale(runs, one, rounding, unit),
        bound=np.nan if 'limit' in one.free else farthest(runs),
        notes=tuple(words),
    )


def result(
    arm: Dynamics,
    fits: ArmFit,
    gains: Sequence[Mapping[str, float]],
    joints: Sequence[JointOutcome],
    validation: ServoValidation,
    refused: Mapping[str, str],
    notes: Sequence[str],
) -> ServoIdentification:
    """Return the identification of an arm from the outcomes of its joints (n)."""
    parameters = np.array([one.p for one in joints])
    deviations = np.array([one.deviations for one in joints])
    scale = tuple(one.scale for one in joints)
    ratios, delay, own = _ratios(parameters, deviations)
    own['zero'] = deviations[:, INDEX['zero']]
    absolute, absolute_errors = _absolute(parameters, deviations, scale)
    return ServoIdentification(
        model=arm.model,
        parameters=parameters,
        ratios=ratios,
        delay=delay,
        errors={**own, WHOLE_LAG: np.array([one.whole for one in joints])},
        absolute=absolute,
        absolute_errors=absolute_errors,
        inertia=np.mean([one.inertia.mean(axis=0) for one in fits.along], axis=0),
        scale=scale,
        bounds=np.array([one.bound for one in joints]),
        gains=tuple(gains),
        validation=validation,
        refused=refused,
        notes=(*notes, *(note for one in joints for note in one.notes)),
    )


def _scale(runs: JointRuns, found: JointFit, rounding: float, unit: str) -> str:
    """Return 'gravity' where that shows kp, or why it does not."""
    shift, least = gravity_shift(runs, found), least_shift(found, rounding)
    if shift > least:
        return GRAVITY
    if shift < rounding:
        return f'{NOT_IDENTIFIABLE}: no gravity on this joint'
    return (
        f'{NOT_IDENTIFIABLE}: gravity on this joint shifts it by {1e3 * shift:.2g} m{unit}, and '
        f'{1e3 * least:.2g} would show its stiffness'
    )


def _contradiction(runs: JointRuns, one: JointFit, rounding: float) -> str:
    """Return by what gravity contradicts a given kp, '' where it does not."""
    given, free = one['stiffness'], fit(runs, one.p, (*one.free, 'stiffness'), FREE)
    if gravity_shift(runs, free) <= least_shift(free, rounding):
        return ''
    kp, error = free['stiffness'], float(np.hypot(errors(runs, free)['stiffness'], MASS_ERROR))
    if abs(np.log(given / kp)) < AGREES * error:
        return ''
    return (
        f'kp is given as {given:.4g}, and gravity shows {measured(kp, kp * error)}; expected '
        'these to agree: check kp, its unit, and the masses of the description'
    )


def _ratios(
    parameters: Array, deviations: Array
) -> tuple[dict[str, Array], Array, dict[str, Array]]:
    """Return the ratios, the delay, and the errors of both, from relative errors."""
    ratios, found = {}, {}
    for name in TORQUES:
        x = parameters[:, INDEX[name]].copy()
        if name == 'limit':
            x[x >= UNLIMITED] = np.nan
        ratios[name] = x
        relative = deviations[:, INDEX[name]]
        found[name] = relative if name == 'velocity_gain' else x * relative
    found['delay'] = deviations[:, INDEX['delay']]
    return ratios, parameters[:, INDEX['delay']], found


def _absolute(
    parameters: Array, deviations: Array, scale: Sequence[str]
) -> tuple[dict[str, Array] | None, dict[str, Array] | None]:
    """Return torques and their errors, NaN of joints whose scale is not known."""
    known = np.array([one in (GIVEN, GRAVITY) for one in scale])
    if not known.any():
        return None, None
    shown = np.array([one == GRAVITY for one in scale])
    kp = np.where(known, parameters[:, INDEX['stiffness']], np.nan)
    of_kp = np.where(
        shown, np.hypot(np.nan_to_num(deviations[:, INDEX['stiffness']]), MASS_ERROR), 0.0
    )
    values, found = {'stiffness': kp}, {'stiffness': kp * of_kp}
    ratios, _, own = _ratios(parameters, deviations)
    for name, torque in TORQUES.items():
        values[torque] = kp * ratios[name]
        found[torque] = kp * np.hypot(own[name], ratios[name] * of_kp)
    return values, found


def _speeds(runs: Sequence[Run], j: int) -> tuple[float, float]:
    """Return root mean squares of smoothed velocity and acceleration."""
    motions = [run.smoothed for run in runs]
    qd, qdd = (np.concatenate([getattr(m, x)[:, j] for m in motions]) for x in ('qd', 'qdd'))
    return float(rms(qd)), float(rms(qdd))


def _noise(runs: Sequence[Run], j: int, rounding: float) -> float:
    """Return the noise of slow positions: that of their resolution, or of what exceeds it."""
    # Fourth differences have little of slow motion, and of white noise sqrt(70) times as much.
    differences = np.concatenate([np.diff(run.q[:, j], 4) for run in runs])
    white = float(np.median(np.abs(differences)) / 0.6745 / np.sqrt(70))
    return max(rounding, white)
