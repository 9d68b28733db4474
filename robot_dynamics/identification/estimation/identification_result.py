# SPDX-License-Identifier: Apache-2.0
"""Result of an identification, in N m or N, from the fit in units of the recorded efforts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import from_parameters
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.identification.estimation.base_fit import DETERMINED, base_estimate
from robot_dynamics.identification.estimation.described_problem import SCALE_CERTAIN
from robot_dynamics.identification.estimation.equations import Estimate
from robot_dynamics.identification.estimation.friction_regressions import as_coulomb
from robot_dynamics.identification.estimation.identification_records import (
    DERIVED,
    FittedSignals,
    Identification,
    IdentifiedDrives,
    IdentifiedFriction,
    IdentifiedInertia,
    IdentifiedLoad,
    PayloadRecording,
)
from robot_dynamics.identification.estimation.identified_validation import Validation, drift_of
from robot_dynamics.identification.estimation.parameter_fit import Fit
from robot_dynamics.identification.estimation.stages import Task

OF_HEADER = 'the efforts are currents by the header of the file: gains of the drives are fitted'


class SiEstimate(NamedTuple):
    """Estimate in N m or N, with the mean of the offsets.

    Attributes:
        value: its gain is N m or N per recorded effort.
        error: its standard deviations, those of the scale included where it is known; that of the
            gain is relative.
        known: (n,) bool: the scale of the joint is known.
    """

    value: Estimate
    error: Estimate
    known: Array


def in_si(result: Fit, payload_agrees: bool = True) -> SiEstimate:
    """Return the estimate from units of the recorded efforts to N m or N.

    Args:
        result: the fit; a load of known mass, or one known gain, shows the scale of currents.
        payload_agrees: the recording with that load does not contradict it.
    """
    x, error, problem = result.estimate, result.error, result.problem
    si, of_gain = 1 / x.gain, error.gain / x.gain
    shown = problem.load is not None or not problem.unknown.all()
    shown = shown and payload_agrees
    known = ~problem.unknown | (shown & (of_gain < SCALE_CERTAIN))
    of_scale = np.where(known, of_gain, 0.0)
    offset, of_offset = _mean_offset(x.offset, error.offset)

    def scaled(value: Array) -> Array:
        return np.asarray((si * value.T).T)

    def deviation(value: Array, own: Array) -> Array:
        return np.asarray((si * np.hypot(own.T, value.T * of_scale)).T)

    return SiEstimate(
        replace(
            x,
            friction=scaled(x.friction),
            offset=scaled(offset),
            rotor=scaled(x.rotor),
            gain=si,
        ),
        replace(
            error,
            friction=deviation(x.friction, error.friction),
            offset=deviation(offset, of_offset),
            rotor=deviation(x.rotor, error.rotor),
            gain=of_gain,
        ),
        known,
    )


def _mean_offset(offset: Array, error: Array) -> tuple[Array, Array]:
    """Return the mean (n,) of the offsets of recordings (k, n), and its standard deviation."""
    number = len(offset)
    variance = (error**2).mean(axis=0) / number
    if number > 1:
        variance = variance + offset.var(axis=0, ddof=1) / number
    return offset.mean(axis=0), np.sqrt(variance)


def identification(
    task: Task, result: Fit, validation: Validation, overridden: Sequence[str]
) -> Identification:
    """Return the result of an identification.

    Args:
        task: after all stages.
        result: the fit of all samples.
        validation: on data that were not fitted.
        overridden: remarks on refusals.
    """
    inputs, problem, found = task.inputs, result.problem, in_si(result, task.payload_agrees)
    gains_known = problem.gains and found.known.all()
    payload = inputs.recordings.payload
    return Identification(
        model=_model(inputs.arm.model, found.value, as_coulomb(result)),
        description=inputs.arm.model,
        coupling=inputs.coupling,
        efforts=inputs.efforts,
        friction=IdentifiedFriction(
            problem.law,
            problem.presliding,
            found.value.friction,
            found.error.friction,
            task.held_out,
        ),
        drives=_drives(task, found),
        inertia=_inertia(task, result),
        drift=drift_of(result, task.adjusted(task.rows.whole[:1])[0]),
        signals=_signals(task, overridden),
        validation=validation.scaled(found.value.gain) if gains_known else validation,
        fit=result,
        load=None if payload is None else _load(payload, result, task.payload_agrees),
    )


def _model(model: RobotModel, x: Estimate, friction: Array) -> RobotModel:
    """Return the description with the parameters of an estimate in SI units.

    Args:
        model: the description.
        x: the estimate.
        friction: (n, 2) viscous and dry, in units of the effort.
    """
    found = [from_parameters(parameters) for parameters in x.theta.reshape(-1, 10)]
    viscous, coulomb = x.gain * friction.T
    return replace(
        model,
        mass=np.array([body.mass for body in found]),
        com=np.array([body.com for body in found]),
        inertia_com=np.array([body.inertia_com for body in found]),
        viscous=viscous,
        coulomb=coulomb,
        reflected_inertia=x.rotor,
    )


def _drives(task: Task, found: SiEstimate) -> IdentifiedDrives:
    value, error, problem = found.value, found.error, task.problem
    scale = task.inputs.preparation.scale * value.gain
    estimated = found.known & problem.unknown
    return IdentifiedDrives(
        offset=value.offset,
        offset_error=error.offset,
        rotor_inertia=value.rotor,
        rotor_error=error.rotor,
        effort_scale=scale * task.sign,
        scale_error=np.where(estimated, np.abs(scale) * error.gain, np.nan),
        scale_known=found.known,
        excited=problem.excited,
    )


def _inertia(task: Task, result: Fit) -> IdentifiedInertia:
    theta, error = result.estimate.theta, result.error.theta
    base = base_estimate(task.inputs.preparation.as_measured(), result)
    return IdentifiedInertia(theta, error, error < DETERMINED * result.prior, base)


def _signals(task: Task, overridden: Sequence[str]) -> FittedSignals:
    """Return how the recorded signals were used, with all remarks."""
    velocities, inputs = task.rows.velocities, task.inputs
    notes = [*dict.fromkeys(note for one in velocities for note in one.recording.notes)]
    notes += [DERIVED] if any(one.derived for one in velocities) else []
    notes += task.remarks
    notes += [OF_HEADER] if inputs.of_header and task.problem.gains else []
    return FittedSignals(
        cutoff=inputs.preparation.cutoff,
        samples=sum(len(one.t) for one in inputs.recordings.fitted),
        delay=task.delay,
        velocity_lag=float(np.median([one.lag for one in velocities])),
        periods=task.periods,
        notes=(*notes, *overridden),
    )


def _load(payload: PayloadRecording, result: Fit, agrees: bool) -> IdentifiedLoad:
    m = payload.mass
    com, error = result.estimate.load[1:4] / m, result.error.load[1:4] / m
    return IdentifiedLoad(payload.link, m, com, error, agrees)
