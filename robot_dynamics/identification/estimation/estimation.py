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
    LowExcitationError,
    excited_joints,
    require_information,
    require_motion,
    require_prediction,
)
from robot_dynamics.identification.estimation.friction_choice import AUTO, choose_law
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
    fit,
    gains_of,
)
from robot_dynamics.identification.estimation.pseudo_inertia import bodies
from robot_dynamics.identification.estimation.solver import single_thread, solver
from robot_dynamics.identification.recordings.periods import Averaged, averaged
from robot_dynamics.identification.recordings.recording import (
    Recording,
    RecordingError,
    require_joints,
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
OPPOSITE = 0.3  # least size of a factor between torques of opposite sign
SCALE_CERTAIN = 0.1  # relative error of a drive gain that counts as identified


class PayloadRecording(NamedTuple):
    """A recording of the arm with a known payload, which fixes the scale of the drive gains."""

    recording: Recording
    link: str
    mass: float  # kg
    com: ArrayLike = (0.0, 0.0, 0.0)  # m, frame of the link


@dataclass(frozen=True, eq=False)
class Identification:
    """Result of `identify`; arrays (n,) per joint, N m or N unless stated.

    Attributes:
        model: the identified robot, with viscous and Coulomb friction and rotors.
        description: the robot as described.
        efforts: one of EFFORTS.
        law: of the friction.
        presliding: of the law, rad or m.
        friction: (n, terms) coefficients, in the order of `law.terms`.
        friction_error: their standard deviations.
        offset: added to the model.
        offset_error: its standard deviation.
        rotor_inertia: at the joint, kg m^2 or kg.
        rotor_error: its standard deviation.
        effort_scale: recorded effort times this is N m or N.
        scale_error: its standard deviation; NaN if it was given or is not identifiable.
        scale_known: (n,) bool: it was given or identified.
        theta: (10 nb,) inertial parameters, theta_error their standard deviations, and
            theta_determined whether the motion excites each.
        base: base parameters and the condition number of the excitation.
        excited: (n,) bool: the joint moves enough for its friction and rotor.
        law_residuals: by law, the held-out residual relative to the first law tried.
        delay: of the efforts after the motion.
        velocity_lag: of the recorded velocities after the derivative of the positions, s.
        drift: of friction and offset over the recording.
        periods: the average of repeated periods, if the motion repeats.
        cutoff: Hz, of the low-pass of the efforts.
        validation: on data that were not fitted.
        samples: number of recorded samples that were fitted.
        notes: remarks.
        fit: the fit, in units of the recorded efforts.
    """

    model: RobotModel
    description: RobotModel
    efforts: str
    law: FrictionLaw
    presliding: Array
    friction: Array
    friction_error: Array
    offset: Array
    offset_error: Array
    rotor_inertia: Array
    rotor_error: Array
    effort_scale: Array
    scale_error: Array
    scale_known: Array
    theta: Array
    theta_error: Array
    theta_determined: Array
    base: BaseEstimate
    excited: Array
    law_residuals: dict[str, float]
    delay: Delay
    velocity_lag: float
    drift: Drift
    periods: Averaged | None
    cutoff: float
    validation: Validation
    samples: int
    notes: tuple[str, ...]
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
        progress: receives a line per step.

    Raises:
        RecordingError: the recording does not fit the robot, excites too little, or its efforts
            do not follow from the motion.
        FrictionLawError: no such law.
        SolverError: cvxpy or clarabel is missing, or fails.
    """
    _check(arm, efforts, friction, payload)
    for one in (recording, test, None if payload is None else payload.recording):
        if one is not None:
            require_joints(one, arm.model)
    solver()  # before the work
    n = arm.model.n
    scale = np.broadcast_to(np.asarray(1.0 if effort_scale is None else effort_scale, float), (n,))
    cutoff = cutoff_of(recording) if cutoff is None else cutoff

    def rows(one: Recording, loaded: Dynamics | None = None) -> Observations:
        return observations(
            arm,
            one,
            cutoff,
            effort_scale=scale,
            effort_gravity_compensated=effort_gravity_compensated,
            loaded=loaded,
        )

    progress(f'regressor, low-pass at {cutoff:.3g} Hz')
    recording, lag, derived = with_better_velocities(recording, cutoff)
    if test is not None:
        test = with_better_velocities(test, cutoff).recording
    if payload is not None:
        better = with_better_velocities(payload.recording, cutoff).recording
        payload = payload._replace(recording=better)
    whole = rows(recording)
    fitted, held_out = (whole, None) if test is not None else _split(whole)
    fitted = fitted.independent()
    require_motion(arm, fitted)
    problem = _problem(arm.model, fitted, efforts, effort_scale is None, kept)
    sign = _signs(problem)
    progress('delay of the efforts')
    delay = delay_of(problem)
    seen = [fitted.delayed(delay.value, sign)]
    repeated = averaged(recording if test is not None else _until(recording, fitted.t[-1]), cutoff)
    if repeated is not None:
        progress(f'average of {repeated.number} periods of {repeated.period:.4g} s')
        seen = [rows(repeated.recording).independent().delayed(delay.value, sign)]
    if payload is not None:
        progress('recording with the payload')
        loaded = arm.with_payload(payload.link, payload.mass, payload.com)
        second = rows(payload.recording, loaded).independent()
        seen.append(second.delayed(delay.value, sign))
    names = list(LAWS) if friction == AUTO else [friction]
    problem, residuals = choose_law(replace(problem, recordings=seen), names, progress)
    result = fit(problem, progress)
    # Efforts without gravity show fewer combinations.
    shown = arm.with_gravity(np.zeros(3)) if effort_gravity_compensated else arm
    base = base_estimate(shown, result)
    require_information(base)
    progress('validation')
    held_out = held_out if test is None else _tested(arm, rows(test))
    assert held_out is not None
    validation = validate(
        result,
        fitted.delayed(delay.value, sign),
        held_out.delayed(delay.value, sign),
        'last third' if test is None else 'test',
    )
    require_prediction(arm, validation)
    x, covariance = result.estimate, result.covariance
    # From units of the recorded efforts to N m or N.
    si = 1 / x.gain
    errors = _deviations(covariance, x)
    gain_error = errors[4] / np.abs(x.gain)
    known = np.ones(n, dtype=bool)
    if problem.gains:
        known = (gain_error < SCALE_CERTAIN) & (payload is not None)

    def in_si(value: Array, error: Array) -> Array:
        """Return the deviation (..., n) in N m or N; that of the scale is part of it if known."""
        of_scale = np.where(known & problem.gains, gain_error, 0.0)
        return np.asarray(si * np.hypot(error, value * of_scale))

    if problem.gains and known.all():
        validation = validation.scaled(si)
    return Identification(
        model=_identified(arm.model, x, result.problem.law, si),
        description=arm.model,
        efforts=efforts,
        law=result.problem.law,
        presliding=result.problem.presliding,
        friction=si[:, None] * x.friction,
        friction_error=in_si(x.friction.T, errors[1].T).T,
        offset=si * x.offset,
        offset_error=in_si(x.offset, errors[2]),
        rotor_inertia=si * x.rotor,
        rotor_error=in_si(x.rotor, errors[3]),
        effort_scale=scale * sign * si,
        scale_error=np.where(known & problem.gains, scale * si * gain_error, np.nan),
        scale_known=known,
        theta=x.theta,
        theta_error=errors[0],
        theta_determined=errors[0] < DETERMINED * result.prior,
        base=base,
        excited=problem.excited,
        law_residuals=residuals,
        delay=delay,
        velocity_lag=lag,
        drift=drift_of(result, whole.independent().delayed(delay.value, sign)),
        periods=repeated,
        cutoff=cutoff,
        validation=validation,
        samples=int((recording.t <= fitted.t[-1]).sum()),
        notes=(*recording.notes, *([DERIVED] if derived else [])),
        fit=result,
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
    return seen.select(seen.t < end), seen.select(seen.t > end + GAP)


def _tested(arm: Dynamics, seen: Observations) -> Observations:
    """Return the rows of a test recording. Raises LowExcitationError if the arm hardly moves."""
    try:
        require_motion(arm, seen)
    except LowExcitationError as error:
        raise LowExcitationError(f'test recording: {error}') from None
    return seen


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
    """Return the signs (n,) of the drive gains.

    Raises:
        RecordingError: torques have the opposite sign of those of the description.
    """
    terms = problem.terms(problem.start.theta)
    gain = gains_of(terms, problem.start, problem.excited)
    if problem.gains:
        return np.where(gain < 0, -1.0, 1.0)
    if (gain[terms.effort.any(axis=0)] < -OPPOSITE).all():
        raise RecordingError(
            'the efforts have the opposite sign of the torques of the description; expected the '
            'same: --effort-scale -1'
        )
    return np.ones(len(gain))


def _deviations(covariance: Array, x: Estimate) -> list[Array]:
    """Return the standard deviations of theta, friction, offset, rotor and gain."""
    n, T = x.friction.shape
    p = len(x.theta)
    deviation = np.zeros(p + n * (T + 3))
    deviation[: len(covariance)] = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    theta, friction, *others = np.split(deviation, p + n * np.array([0, T, T + 1, T + 2]))
    return [theta, friction.reshape(n, T), *others]


def _identified(model: RobotModel, x: Estimate, law: FrictionLaw, si: Array) -> RobotModel:
    found = [from_parameters(parameters) for parameters in x.theta.reshape(-1, 10)]
    friction = dict(zip(law.terms, (si[:, None] * x.friction).T, strict=True))
    return replace(
        model,
        mass=np.array([body.mass for body in found]),
        com=np.array([body.com for body in found]),
        inertia_com=np.array([body.inertia_com for body in found]),
        viscous=friction['viscous'],
        coulomb=friction['coulomb'],
        reflected_inertia=si * x.rotor,
    )
