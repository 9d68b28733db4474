# SPDX-License-Identifier: Apache-2.0
"""Identification of an arm: a physically consistent model that predicts the recorded efforts.

1. The recording is filtered without lag and decimated (`observations`); a constant delay of the
   efforts is estimated and removed (`delay`), repeated periods are averaged (`periods`).
2. The friction law is chosen, if not given, by the residual held out (`friction_choice`).
3. All parameters are fitted at once, closest to the description (`parameter_fit`,
   `pseudo_inertia`); base parameters by least squares are reported beside them (`base_fit`).
4. The result is validated on data that were not fitted: the last third, or another recording.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.friction.laws import LAWS, PRESLIDING, FrictionLaw, friction_law
from robot_dynamics.identification.estimation.base_fit import (
    DETERMINED,
    BaseEstimate,
    base_estimate,
)
from robot_dynamics.identification.estimation.delay import Delay, delay_of
from robot_dynamics.identification.estimation.excitation_check import (
    Refusals,
    RefusedError,
    excited_joints,
    refused,
    require_motion,
    require_prediction,
)
from robot_dynamics.identification.estimation.friction_choice import AUTO, CHOICES, choose_law
from robot_dynamics.identification.estimation.identified_validation import (
    Drift,
    Validation,
    drift_of,
    validate,
)
from robot_dynamics.identification.estimation.observations import Observations, observations
from robot_dynamics.identification.estimation.parameter_fit import (
    Estimate,
    Fit,
    Problem,
    coefficient,
    fit,
    gains_of,
)
from robot_dynamics.identification.estimation.pseudo_inertia import bodies
from robot_dynamics.identification.estimation.solver import single_thread, solver
from robot_dynamics.identification.recordings.coupling import Coupling
from robot_dynamics.identification.recordings.periods import Averaged, averaged
from robot_dynamics.identification.recordings.recording import (
    Recording,
    RecordingError,
    require_joints,
    scale_of,
)
from robot_dynamics.identification.recordings.smoothing import cutoff_of
from robot_dynamics.identification.recordings.velocities import with_better_velocities
from robot_dynamics.model.inertia import from_parameters
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array

EFFORTS = ('torques', 'currents', 'link-side')
FITTED = 2 / 3  # of the recording; the rest validates
GAP = 1.0  # s between both, longer than the filter's memory
DERIVED = 'velocities are derivatives of the positions, which have less noise than those recorded'
CERTAIN_SIGN = 3.0  # standard deviations of dry friction
OPPOSITE = 0.3  # least size of a factor between torques of opposite sign
HIGHEST = 12.0  # Hz, of the automatic cut-off frequency: above, friction hides in vibrations
SCALE_CERTAIN = 0.1  # relative error of a drive gain that counts as identified


class PayloadRecording(NamedTuple):
    """A recording of the arm with a known payload, which fixes the scale of the drive gains."""

    recording: Recording
    link: str
    mass: float  # kg
    com: ArrayLike = (0.0, 0.0, 0.0)  # m, frame of the link


class IdentifiedFriction(NamedTuple):
    """Friction of every joint, N m or N with rad or m."""

    law: FrictionLaw
    presliding: Array  # (n,) rad or m, of the law
    coefficients: Array  # (n, terms) in the order of `law.terms`
    error: Array  # (n, terms) standard deviations
    held_out: dict[str, float]  # by law, the held-out residual relative to the first law tried


class IdentifiedDrives(NamedTuple):
    """Drives and their sensors; arrays (n,), each with its standard deviation.

    Attributes:
        offset: added to the model, N m or N.
        rotor_inertia: at the joint, kg m^2 or kg.
        effort_scale: recorded effort times this is N m or N.
        scale_error: NaN if the scale was given or is not identifiable.
        scale_known: bool: it was given or identified.
        excited: bool: the joint moves enough for its friction and rotor.
    """

    offset: Array
    offset_error: Array
    rotor_inertia: Array
    rotor_error: Array
    effort_scale: Array
    scale_error: Array
    scale_known: Array
    excited: Array


class IdentifiedInertia(NamedTuple):
    """Inertial parameters of all bodies."""

    theta: Array  # (10 nb,)
    error: Array  # (10 nb,) standard deviations
    determined: Array  # (10 nb,) bool: the motion excites it
    base: BaseEstimate  # base parameters, and the condition number of the excitation


class FittedSignals(NamedTuple):
    """How the recorded signals were used."""

    cutoff: float  # Hz, of the low-pass of the efforts
    samples: int  # number of recorded samples that were fitted
    delay: Delay  # of the efforts after the motion
    velocity_lag: float  # s, of the recorded velocities after the derivative of the positions
    periods: Averaged | None  # the average of repeated periods, if the motion repeats
    notes: tuple[str, ...]  # remarks


@dataclass(frozen=True, eq=False)
class Identification:
    """Result of `identify`.

    Attributes:
        model: the identified robot, with viscous and Coulomb friction and rotors.
        description: the robot as described.
        coupling: of its joints: joints of model and description, friction and drives are the
            motors then.
        efforts: one of EFFORTS.
        friction: law and coefficients.
        drives: offsets, rotors and scales of the efforts.
        inertia: inertial parameters and their combinations that the motion determines.
        drift: of friction and offset over the recording.
        signals: delays, filter and number of samples.
        validation: on data that were not fitted.
        fit: the fit, in units of the recorded efforts.
    """

    model: RobotModel
    description: RobotModel
    coupling: Coupling | None
    efforts: str
    friction: IdentifiedFriction
    drives: IdentifiedDrives
    inertia: IdentifiedInertia
    drift: Drift
    signals: FittedSignals
    validation: Validation
    fit: Fit


@single_thread()
def identify(
    arm: Dynamics,
    recording: Recording,
    *,
    efforts: str = 'torques',
    friction: str = 'coulomb',
    test: Recording | None = None,
    effort_scale: ArrayLike | None = None,
    effort_gravity_compensated: bool = False,
    cutoff: float | None = None,
    payload: PayloadRecording | None = None,
    kept: Array | None = None,
    coupling: Coupling | None = None,
    refuse: Callable[[RefusedError], None] = refused,
    progress: Callable[[str], None] = lambda _: None,
) -> Identification:
    """Return the parameters of an arm that predict recorded efforts, closest to its description.

    Args:
        arm: the dynamics of the description.
        recording: of its joints, as `by_joint` makes it.
        efforts: 'torques' of the drives; 'currents' of the motors, one unknown gain per joint; or
            'link-side' torques, measured behind the rotors.
        friction: a name of `friction.laws.LAWS`, or 'auto'.
        test: another recording for the validation; the last third of the first if None.
        effort_scale: recorded effort times this is N m or N; one number or (n,). With currents it
            fixes the gains.
        effort_gravity_compensated: the efforts do not include the gravity torque.
        cutoff: Hz, of the low-pass; by default where the motion ends.
        payload: a second recording, of currents with a known payload.
        kept: (nb, 10) inertial parameters within each body that are not estimated, such as those
            of links fixed to it; zeros if None.
        coupling: of motors that turn by several joints. Currents, and effort_scale with them, are
            those of the motors then.
        refuse: called with each refusal; where it returns, the recording is identified from
            all the same.
        progress: receives a line per step.

    Raises:
        RefusedError: the recording excites too little, or its efforts do not follow from the
            motion.
        RecordingError: the recording does not fit the robot.
        FrictionLawError: no such law.
        SolverError: cvxpy or clarabel is missing, or fails.
    """
    _check(arm, efforts, friction, payload)
    for one in (recording, test, None if payload is None else payload.recording):
        if one is not None:
            require_joints(one, arm.model)
    if coupling is not None:
        of_motors = partial(coupling.recording, efforts=efforts)
        arm, recording = Dynamics(coupling.robot(arm.model)), of_motors(recording)
        test = None if test is None else of_motors(test)
        if payload is not None:
            payload = payload._replace(recording=of_motors(payload.recording))
    solver()  # before the work
    scale = scale_of(arm.model, 1.0 if effort_scale is None else effort_scale)
    if coupling is not None and efforts != 'currents' and np.ptp(scale):
        raise RecordingError(
            f'effort_scale is {scale.tolist()}; expected one number for torques of coupled joints'
        )
    cutoff = min(cutoff_of(recording), HIGHEST) if cutoff is None else cutoff
    rows = _Rows(arm, cutoff, scale, effort_gravity_compensated)
    refusals = Refusals(refuse)
    progress(f'regressor, low-pass at {cutoff:.3g} Hz')
    recording, lag, derived = with_better_velocities(recording, cutoff)
    whole = rows(recording)
    fitted, held_out = _split(whole) if test is None else (whole, rows.aligned(test))
    fitted = fitted.independent()
    with refusals():
        require_motion(arm, whole)
    if test is not None:
        with refusals('test recording: '):
            require_motion(arm, held_out)
    problem = _problem(arm.model, fitted, efforts, effort_scale is None, kept)
    sign = _signs(problem)
    progress('delay of the efforts')
    delay = delay_of(problem)
    seen = [fitted]
    repeated = averaged(recording if test is not None else _until(recording, fitted.t[-1]), cutoff)
    if repeated is not None:
        progress(f'average of {repeated.number} periods of {repeated.period:.4g} s')
        seen = [rows(repeated.recording).independent()]
    if payload is not None:
        progress('recording with the payload')
        seen.append(rows.loaded(payload).independent())
    names = CHOICES if friction == AUTO else [friction]
    problem = replace(problem, recordings=[one.delayed(delay.value, sign) for one in seen])
    problem, residuals = choose_law(problem, names, progress)
    result = fit(problem, progress)
    base = base_estimate(rows.gravity_shown(), result)
    progress('validation')
    validation = validate(
        result,
        fitted.delayed(delay.value, sign),
        held_out.delayed(delay.value, sign),
        'last third' if test is None else 'test',
    )
    with refusals():
        require_prediction(arm, validation)
    x, error, known = _in_si(result, payload is not None)
    scale = scale * x.gain
    return Identification(
        model=_identified(arm.model, x, problem.law),
        description=arm.model,
        coupling=coupling,
        efforts=efforts,
        friction=IdentifiedFriction(
            problem.law,
            problem.presliding,
            x.friction,
            error.friction,
            residuals,
        ),
        drives=IdentifiedDrives(
            offset=x.offset,
            offset_error=error.offset,
            rotor_inertia=x.rotor,
            rotor_error=error.rotor,
            effort_scale=scale * sign,
            scale_error=np.where(known & problem.gains, np.abs(scale) * error.gain, np.nan),
            scale_known=known,
            excited=problem.excited,
        ),
        inertia=IdentifiedInertia(
            x.theta, error.theta, error.theta < DETERMINED * result.prior, base
        ),
        drift=drift_of(result, whole.independent().delayed(delay.value, sign)),
        signals=FittedSignals(
            cutoff=cutoff,
            samples=int((recording.t <= fitted.t[-1]).sum()),
            delay=delay,
            velocity_lag=lag,
            periods=repeated,
            notes=(*recording.notes, *([DERIVED] if derived else []), *refusals.overridden),
        ),
        validation=validation.scaled(x.gain) if problem.gains and known.all() else validation,
        fit=result,
    )


class _Rows(NamedTuple):
    """Rows of recordings, all through the same low-pass."""

    arm: Dynamics
    cutoff: float
    scale: Array
    compensated: bool  # the efforts do not include the gravity torque

    def __call__(self, recording: Recording, loaded: Dynamics | None = None) -> Observations:
        return observations(
            self.arm,
            recording,
            self.cutoff,
            effort_scale=self.scale,
            effort_gravity_compensated=self.compensated,
            loaded=loaded,
        )

    def loaded(self, payload: PayloadRecording) -> Observations:
        """Return the rows of the recording with a payload."""
        arm = self.arm.with_payload(payload.link, payload.mass, payload.com)
        return self.aligned(payload.recording, arm)

    def aligned(self, recording: Recording, loaded: Dynamics | None = None) -> Observations:
        """Return the rows of a recording with the better velocities."""
        return self(with_better_velocities(recording, self.cutoff).recording, loaded)

    def gravity_shown(self) -> Dynamics:
        """Return the arm with the gravity that efforts show: without, they show less of it."""
        return self.arm.with_gravity(np.zeros(3)) if self.compensated else self.arm


def _in_si(result: Fit, payload: bool) -> tuple[Estimate, Estimate, Array]:
    """Return the estimate from units of the recorded efforts to N m or N.

    Args:
        result: the fit.
        payload: a recording with a known payload shows the scale of currents.

    Returns:
        The estimate, with N m or N per recorded effort as gain; its standard deviations, those of
        the scale included where it is known, with the relative one of the gain; whether the scale
        of each joint is known (n,).
    """
    x = result.estimate
    error = _deviations(result.covariance, x)
    si, of_gain = 1 / x.gain, error.gain / np.abs(x.gain)
    known = np.ones(len(si), dtype=bool)
    if result.problem.gains:
        known = (of_gain < SCALE_CERTAIN) & payload
    of_scale = np.where(known & result.problem.gains, of_gain, 0.0)

    def scaled(value: Array) -> Array:
        return np.asarray((si * value.T).T)

    def deviation(value: Array, own: Array) -> Array:
        return np.asarray((si * np.hypot(own.T, value.T * of_scale)).T)

    return (
        replace(
            x,
            friction=scaled(x.friction),
            offset=scaled(x.offset),
            rotor=scaled(x.rotor),
            gain=si,
        ),
        replace(
            error,
            friction=deviation(x.friction, error.friction),
            offset=deviation(x.offset, error.offset),
            rotor=deviation(x.rotor, error.rotor),
            gain=of_gain,
        ),
        known,
    )


def _check(arm: Dynamics, efforts: str, friction: str, payload: PayloadRecording | None) -> None:
    if efforts not in EFFORTS:
        raise RecordingError(f'efforts is {efforts!r}; expected {", ".join(EFFORTS)}')
    if friction != AUTO:
        friction_law(friction)
    if payload is not None and efforts != 'currents':
        raise RecordingError(
            f'a payload fixes the scale of currents; efforts is {efforts!r}: expected currents'
        )
    if payload is not None and not payload.mass > 0:
        raise RecordingError(f'the payload is {payload.mass} kg; expected a positive mass')


def _split(seen: Observations) -> tuple[Observations, Observations]:
    """Return the rows that are fitted, and those that validate."""
    end = seen.t[0] + FITTED * (seen.t[-1] - seen.t[0])
    late = seen.t > end + GAP
    return seen.select(seen.t < end), seen.select(late if late.any() else seen.t >= end)


def _until(recording: Recording, end: float) -> Recording:
    rows = recording.t <= end
    return replace(
        recording,
        t=recording.t[rows],
        q=recording.q[rows],
        qd=None if recording.qd is None else recording.qd[rows],
        effort=recording.effort[rows],
    )


def _problem(
    model: RobotModel, seen: Observations, efforts: str, free: bool, kept: Array | None
) -> Problem:
    """Return the problem with the description as its start, and the default friction law."""
    theta, n = model.inertial_parameters(), model.n
    described = Estimate(
        theta=theta,
        X=np.tile(np.eye(4), (model.nb, 1, 1)),
        friction=np.column_stack([model.viscous, model.coulomb]),
        offset=np.zeros(n),
        rotor=model.reflected_inertia * (efforts != 'link-side'),
        gain=np.ones(n),
    )
    return Problem(
        recordings=[seen],
        law=LAWS['coulomb'],
        presliding=np.full(n, PRESLIDING),
        scaled=bodies(theta.reshape(-1, 10), np.zeros((model.nb, 10)) if kept is None else kept),
        start=described,
        excited=excited_joints(seen),
        rotors=efforts != 'link-side',
        gains=efforts == 'currents' and free,
    )


def _signs(problem: Problem) -> Array:
    """Return the signs (n,) of the drive gains: those of dry friction, which opposes the motion.

    Raises:
        RecordingError: torques have the opposite sign of those of the description.
    """
    terms = problem.terms(problem.start.theta)
    _, gain = gains_of(terms, problem.start, problem.excited)
    if not problem.gains:
        if (gain[terms.effort.any(axis=0)] < -OPPOSITE).all():
            raise RecordingError(
                'the efforts have the opposite sign of the torques of the description; expected '
                'the same: --effort-scale -1'
            )
        return np.ones(len(gain))
    sign = np.where(gain < 0, -1.0, 1.0)
    dry = problem.law.terms.index('coulomb')
    for j in np.flatnonzero(problem.excited):
        others = [terms.Y[:, j], np.delete(terms.features[:, j], dry, axis=1)]
        others += [terms.qdd[:, j, None], np.ones((len(terms.Y), 1))]
        value, error = coefficient(
            terms.features[:, j, dry], np.column_stack(others), terms.effort[:, j], terms.block
        )
        if abs(value) > CERTAIN_SIGN * error:
            sign[j] = np.sign(value)
    return sign


def _deviations(covariance: Array, x: Estimate) -> Estimate:
    """Return the standard deviations of an estimate, in its fields."""
    n, T = x.friction.shape
    p = len(x.theta)
    deviation = np.zeros(p + n * (T + 3))
    deviation[: len(covariance)] = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    theta, friction, offset, rotor, gain = np.split(
        deviation, p + n * np.array([0, T, T + 1, T + 2])
    )
    return Estimate(theta, x.X, friction.reshape(n, T), offset, rotor, gain)


def _identified(model: RobotModel, x: Estimate, law: FrictionLaw) -> RobotModel:
    found = [from_parameters(parameters) for parameters in x.theta.reshape(-1, 10)]
    friction = dict(zip(law.terms, x.friction.T, strict=True))
    return replace(
        model,
        mass=np.array([body.mass for body in found]),
        com=np.array([body.com for body in found]),
        inertia_com=np.array([body.inertia_com for body in found]),
        viscous=friction['viscous'],
        coulomb=friction['coulomb'],
        reflected_inertia=x.rotor,
    )
