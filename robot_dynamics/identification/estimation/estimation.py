# SPDX-License-Identifier: Apache-2.0
"""Identification of an arm: a physically consistent model that predicts the recorded efforts.

1. The recordings are filtered without lag and decimated (`observations`); a constant delay of the
   efforts is estimated and, if certain, removed (`delay`); repeated periods are averaged
   (`periods`).
2. The friction law is chosen, if not given, by the residual held out (`friction_choice`).
3. All parameters are fitted at once, closest to the description (`parameter_fit`,
   `pseudo_inertia`); base parameters by least squares are reported beside them (`base_fit`).
4. The result is validated on data that were not fitted: the last third, or blocks of a short
   recording, or another recording. Then all data are fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.reporting.numbers import measured
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.laws import LAWS, PRESLIDING, FrictionLaw, friction_law
from robot_dynamics.core.model.inertia import Inertial, from_parameters, to_parameters
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.identification.estimation.base_fit import (
    DETERMINED,
    BaseEstimate,
    base_estimate,
)
from robot_dynamics.identification.estimation.delay import (
    CUTOFFS,
    LONGEST,
    Delay,
    delay_of,
    given,
)
from robot_dynamics.identification.estimation.equations import Estimate, Load, Problem, Seen
from robot_dynamics.identification.estimation.excitation_check import (
    Refusals,
    RefusedError,
    excited_joints,
    refused,
    require_motion,
    require_prediction,
)
from robot_dynamics.identification.estimation.friction_choice import (
    AUTO,
    CHOICES,
    choose_law,
    with_law,
)
from robot_dynamics.identification.estimation.identified_validation import (
    Drift,
    Validation,
    drift_of,
    validate,
)
from robot_dynamics.identification.estimation.observations import (
    BY_ROW,
    Observations,
    observations,
)
from robot_dynamics.identification.estimation.parameter_fit import (
    Fit,
    coefficient,
    fit,
    gains_of,
    scales_beside_drives,
)
from robot_dynamics.identification.estimation.pseudo_inertia import bodies, displacement
from robot_dynamics.identification.estimation.solver import single_thread, solver
from robot_dynamics.identification.recordings.coupling import Coupling
from robot_dynamics.identification.recordings.effort_unit import CURRENT
from robot_dynamics.identification.recordings.periods import Averaged, averaged
from robot_dynamics.identification.recordings.plausibility import require_joints
from robot_dynamics.identification.recordings.recording import (
    Recording,
    RecordingError,
    scale_of,
    stated,
)
from robot_dynamics.identification.recordings.smoothing import cutoff_of
from robot_dynamics.identification.recordings.velocities import with_better_velocities

EFFORTS = ('torques', 'currents', 'link-side')
FITTED = 2 / 3  # of the recording; the rest validates
GAP = 1.0  # s between both, longer than the filter's memory
SHORT, BLOCKS = 15.0, 4  # s: a shorter recording is validated by so many blocks
EXTENT = 0.15  # m: a payload of unknown centre of mass is about so large
DERIVED = 'velocities are derivatives of the positions, which have less noise than those recorded'
OF_HEADER = 'the efforts are currents by the header of the file: gains of the drives are fitted'
CERTAIN_SIGN = 3.0  # standard deviations of dry friction
OPPOSITE = 0.3  # least size of a factor between torques of opposite sign
HIGHEST = 12.0  # Hz, of the automatic cut-off frequency: above, friction hides in vibrations
OTHER_SCALE = 1.4  # factor of efforts to the torques described: larger than errors of masses
SCALE_CERTAIN = 0.1  # relative error of a drive gain that counts as identified


class PayloadRecording(NamedTuple):
    """A recording of the arm with a payload of known mass: it fixes the scale of the drive gains.

    Attributes:
        recording: with the payload.
        link: that carries it.
        mass: kg.
        com: centre of mass of a point mass in the frame of the link, m; None if it is unknown:
            centre of mass and tensor are estimated.
    """

    recording: Recording
    link: str
    mass: float
    com: ArrayLike | None = None


class IdentifiedLoad(NamedTuple):
    """What a link carries in the recording with a payload."""

    link: str
    mass: float  # kg, as given
    com: Array  # (3,) m, frame of the link
    com_error: Array  # (3,) standard deviations, 0 if it was given


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
    velocity_lag: float  # s, of the recorded velocities after the positions; median of recordings
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
        fit: the fit of all samples, in units of the recorded efforts.
        load: in the recording with a payload.
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
    load: IdentifiedLoad | None = None


@single_thread()
def identify(
    arm: Dynamics,
    recordings: Recording | Sequence[Recording],
    *,
    efforts: str | None = None,
    friction: str = 'coulomb',
    test: Recording | None = None,
    effort_scale: ArrayLike | Mapping[str, float] | None = None,
    effort_gravity_compensated: bool = False,
    cutoff: float | None = None,
    delay: float | None = None,
    payload: PayloadRecording | None = None,
    kept: Array | None = None,
    coupling: Coupling | None = None,
    refuse: Callable[[RefusedError], None] = refused,
    progress: Callable[[str], None] = lambda _: None,
) -> Identification:
    """Return the parameters of an arm that predict recorded efforts, closest to its description.

    Args:
        arm: the dynamics of the description.
        recordings: of its joints, as `by_joint` makes them. Several are fitted together, each with
            offsets of its own; errors include the variance of friction between them.
        efforts: 'torques' of the drives; 'currents' of the motors, one unknown gain per joint; or
            'link-side' torques, measured behind the rotors. None: by the unit of the recordings,
            torques if it is unknown.
        friction: a name of `core.friction.laws.LAWS`, or 'auto'.
        test: another recording for the validation; the last third of each if None, or, if they are
            short, blocks.
        effort_scale: recorded effort times this is N m or N; one number or (n,). With currents it
            fixes the gains; by joint name, it fixes those of some, and the others follow.
        effort_gravity_compensated: the efforts do not include the gravity torque.
        cutoff: Hz, of the low-pass; by default where the motion ends.
        delay: s, by which the efforts are later than the motion; estimated if None.
        payload: a recording of currents with a payload of known mass.
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
        RecordingError: the recording does not fit the robot, or its unit the efforts.
        FrictionLawError: no such law.
        SolverError: cvxpy or clarabel is missing, or fails.
    """
    several = [recordings] if isinstance(recordings, Recording) else list(recordings)
    others = (test, None if payload is None else payload.recording)
    every = [*several, *(one for one in others if one is not None)]
    scaled = effort_scale is not None and not isinstance(effort_scale, Mapping)
    of_header, efforts = efforts is None, _efforts(every, efforts, scaled)
    _check(arm, several, efforts, friction, payload)
    if delay is not None and not abs(delay) <= LONGEST:
        raise RecordingError(f'the delay is {delay} s; expected at most {LONGEST:g} s either way')
    for one in every:
        require_joints(one, arm.model)
    joints = arm.model.joint_names
    if coupling is not None:
        of_motors = partial(coupling.recording, efforts=efforts)
        arm, several = Dynamics(coupling.robot(arm.model)), [of_motors(one) for one in several]
        test = None if test is None else of_motors(test)
        if payload is not None:
            payload = payload._replace(recording=of_motors(payload.recording))
    solver()  # before the work
    scale, unknown = _scale(arm.model, efforts, effort_scale)
    if coupling is not None and efforts != 'currents' and np.ptp(scale):
        raise RecordingError(
            f'effort_scale is {scale.tolist()}; expected one number for torques of coupled joints'
        )
    cutoff = min(HIGHEST, *map(cutoff_of, several)) if cutoff is None else cutoff
    rows = _Rows(arm, cutoff, scale, effort_gravity_compensated)
    refusals = Refusals(refuse)
    progress(f'regressor, low-pass at {cutoff:.3g} Hz')
    better = [with_better_velocities(one, cutoff) for one in several]
    whole = [Seen(rows(one.recording), k) for k, one in enumerate(better)]
    with refusals():
        require_motion(arm, _together(whole), joints)
    tested = None if test is None else rows.aligned(test)
    if tested is not None:
        with refusals('test recording: '):
            require_motion(arm, tested, joints)
    folds, source = _folds(whole, tested)
    first = whole if source == 'blocks' else folds[0].fitted
    loaded, load = [], None
    if payload is not None:
        progress('recording with the payload')
        load = _load(arm.model, payload)
        loaded = [Seen(rows.aligned(payload.recording), len(whole), loaded=True)]
    seen = _together([one._replace(rows=one.rows.independent()) for one in first])
    problem = _problem(arm.model, seen, efforts, unknown, kept, load, len(whole) + len(loaded))
    sign = _signs(replace(problem, recordings=first))
    scales = _other_scales(replace(problem, recordings=first), arm.model.joint_names)
    progress('delay of the efforts')
    ends = [one.rows.t[-1] for one in first]
    used = [_until(one.recording, end) for one, end in zip(better, ends, strict=True)]
    late = delay_of(_variants(problem, rows, used)) if delay is None else given(delay)

    def adjusted(seen: Sequence[Seen]) -> list[Seen]:
        moved = partial(Observations.delayed, delay=late.removed, scale=sign)
        return [one._replace(rows=moved(one.rows)) for one in seen]

    def prepared(fitted: Sequence[Seen], of: Recording) -> tuple[Problem, Averaged | None]:
        """Return the problem of these rows, those of repeated periods averaged."""
        single = len(several) == 1 and source != 'blocks'
        repeated = averaged(of, cutoff) if single else None
        if repeated is not None:
            progress(f'average of {repeated.number} periods of {repeated.period:.4g} s')
            fitted = [Seen(rows(repeated.recording))]
        independent = [one._replace(rows=one.rows.independent()) for one in (*fitted, *loaded)]
        return replace(problem, recordings=adjusted(independent)), repeated

    of_first, repeated = prepared(first, used[0])
    names = CHOICES if friction == AUTO else [friction]
    of_first, residuals = choose_law(of_first, names, progress)
    problem = with_law(problem, of_first.law, of_first.presliding)
    validated: list[tuple[Fit, list[Seen]]] = []
    for fold in folds:
        progress(f'fit of {len(validated) + 1} of {len(folds)} parts, for the validation')
        own = of_first if source != 'blocks' else prepared(fold.fitted, used[0])[0]
        validated.append((fit(own, progress), adjusted(fold.held_out)))
    validation = validate(validated, source)
    with refusals():
        require_prediction(arm, validation)
    result = validated[0][0]
    if source != 'test':
        progress('fit of all samples')
        of_all, repeated = prepared(whole, better[0].recording)
        result = fit(of_all, progress)
    base = base_estimate(rows.gravity_shown(), result)
    x, error, known = _in_si(result)
    scale = scale * x.gain
    notes = [*dict.fromkeys(note for one in better for note in one.recording.notes)]
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
            scale_error=np.where(known & problem.unknown, np.abs(scale) * error.gain, np.nan),
            scale_known=known,
            excited=problem.excited,
        ),
        inertia=IdentifiedInertia(
            x.theta, error.theta, error.theta < DETERMINED * result.prior, base
        ),
        drift=drift_of(result, adjusted(whole[:1])[0]),
        signals=FittedSignals(
            cutoff=cutoff,
            samples=sum(len(one.t) for one in several),
            delay=late,
            velocity_lag=float(np.median([one.lag for one in better])),
            periods=repeated,
            notes=(
                *notes,
                *([DERIVED] if any(one.derived for one in better) else []),
                *scales,
                *([OF_HEADER] if of_header and problem.gains else []),
                *refusals.overridden,
            ),
        ),
        validation=validation.scaled(x.gain) if problem.gains and known.all() else validation,
        fit=result,
        load=None if payload is None else _identified_load(payload, result),
    )


class _Rows(NamedTuple):
    """Rows of recordings, all through the same low-pass."""

    arm: Dynamics
    cutoff: float
    scale: Array
    compensated: bool  # the efforts do not include the gravity torque

    def __call__(self, recording: Recording) -> Observations:
        return observations(
            self.arm,
            recording,
            self.cutoff,
            effort_scale=self.scale,
            effort_gravity_compensated=self.compensated,
        )

    def aligned(self, recording: Recording) -> Observations:
        """Return the rows of a recording with the better velocities."""
        return self(with_better_velocities(recording, self.cutoff).recording)

    def gravity_shown(self) -> Dynamics:
        """Return the arm with the gravity that efforts show: without, they show less of it."""
        return self.arm.with_gravity(np.zeros(3)) if self.compensated else self.arm


def _in_si(result: Fit) -> tuple[Estimate, Estimate, Array]:
    """Return the estimate from units of the recorded efforts to N m or N.

    Args:
        result: the fit; a load of known mass, or one known gain, shows the scale of currents.

    Returns:
        The estimate, with the mean of the offsets, and N m or N per recorded effort as gain; its
        standard deviations, those of the scale included where it is known, with the relative one
        of the gain; whether the scale of each joint is known (n,).
    """
    x, error, problem = result.estimate, result.error, result.problem
    number = len(x.offset)
    own = (error.offset**2).mean(axis=0) / number
    if number > 1:
        own = own + x.offset.var(axis=0, ddof=1) / number
    x, error = (
        replace(x, offset=x.offset.mean(axis=0)),
        replace(error, offset=np.sqrt(own)),
    )
    si, of_gain = 1 / x.gain, error.gain / x.gain
    shown = problem.load is not None or not problem.unknown.all()
    known = ~problem.unknown | (shown & (of_gain < SCALE_CERTAIN))
    of_scale = np.where(known, of_gain, 0.0)

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


def _efforts(recordings: Sequence[Recording], efforts: str | None, scaled: bool) -> str:
    """Return the kind of the efforts, which their unit decides if it is None.

    Raises RecordingError for units that contradict each other, or the kind.
    """
    if efforts is not None and efforts not in EFFORTS:
        raise RecordingError(f'efforts is {efforts!r}; expected {", ".join(EFFORTS)}')
    units = {stated(one, efforts, scaled).effort_unit for one in recordings}
    if CURRENT in units and len(units) > 1:
        raise RecordingError(
            f'the units of the recorded efforts are {", ".join(sorted(units))}; expected the same '
            'of all recordings: state it, --efforts'
        )
    return efforts or ('currents' if CURRENT in units else 'torques')


def _check(
    arm: Dynamics,
    several: Sequence[Recording],
    efforts: str,
    friction: str,
    payload: PayloadRecording | None,
) -> None:
    if not several:
        raise RecordingError('there is no recording; expected one or more')
    if friction != AUTO:
        friction_law(friction)
    if payload is not None and efforts != 'currents':
        raise RecordingError(
            f'a payload fixes the scale of currents; efforts is {efforts!r}: expected currents'
        )
    if payload is not None and not payload.mass > 0:
        raise RecordingError(f'the payload is {payload.mass} kg; expected a positive mass')


def _scale(
    model: RobotModel, efforts: str, given: ArrayLike | Mapping[str, float] | None
) -> tuple[Array, Array]:
    """Return the factors (n,) of the efforts, 1 where unknown, and a mask (n,) of unknown ones."""
    names = np.array(model.joint_names)
    if given is None:
        return np.ones(model.n), np.full(model.n, efforts == 'currents')
    if not isinstance(given, Mapping):
        return scale_of(model, given), np.zeros(model.n, dtype=bool)
    if efforts != 'currents':
        raise RecordingError(
            f'effort_scale is of {", ".join(given)}; expected one number, or one for '
            f'each joint, of {efforts}: those of some joints fix currents alone'
        )
    if strange := [name for name in given if name not in names]:
        raise RecordingError(
            f'effort_scale is of {", ".join(strange)}; expected joints, {", ".join(names)}'
        )
    return scale_of(model, [given.get(name, 1.0) for name in names]), ~np.isin(names, [*given])


class _Fold(NamedTuple):
    """Rows that are fitted, and those that validate."""

    fitted: list[Seen]
    held_out: list[Seen]


def _folds(whole: list[Seen], test: Observations | None) -> tuple[list[_Fold], str]:
    """Return what validates, and its name as the source of a Validation."""
    if test is not None:
        return [_Fold(whole, [Seen(test, -1)])], 'test'

    def fold(first: float, last: float, gap: float) -> _Fold:
        """Hold out the rows between two shares of each recording, with a gap [s] at both ends."""
        parts = _Fold([], [])
        for one in whole:
            t, duration = one.rows.t - one.rows.t[0], one.rows.t[-1] - one.rows.t[0]
            start, end = first * duration, last * duration
            out = (t >= start) & (t <= end)
            near = (t > start - gap) & (t < end + gap)
            parts.held_out.append(one._replace(rows=one.rows.select(out)))
            parts.fitted.append(one._replace(rows=one.rows.select(~near)))
        return parts

    duration = sum(one.rows.t[-1] - one.rows.t[0] for one in whole)
    if duration >= SHORT:
        return [fold(FITTED, 1.0, GAP)], 'last third'
    gap = min(GAP, duration / BLOCKS**2)
    return [fold(k / BLOCKS, (k + 1) / BLOCKS, gap) for k in range(BLOCKS)], 'blocks'


def _together(seen: Sequence[Seen]) -> Observations:
    """Return the rows of several recordings as of one, for checks."""
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(one.rows, name) for one in seen]) for name in BY_ROW
    }
    return replace(seen[0].rows, **columns)


def _variants(problem: Problem, rows: _Rows, recordings: Sequence[Recording]) -> Iterator[Problem]:
    """Return the problem with several low-passes, and both sources of the velocities."""
    for share in CUTOFFS:
        for source in (recordings, [replace(one, qd=None) for one in recordings]):
            if source is not recordings and all(one.qd is None for one in recordings):
                continue
            own = rows._replace(cutoff=share * rows.cutoff)
            try:
                seen = [Seen(own(one), k) for k, one in enumerate(source)]
            except RecordingError:  # too short for this low-pass
                continue
            yield replace(problem, recordings=seen)


def _load(model: RobotModel, payload: PayloadRecording) -> Load:
    """Return a payload as a load.

    Raises:
        FrameNotFound: the model has no such link.
        ModelError: the link is fixed to the base, or a value is not finite.
    """
    com = np.zeros(3) if payload.com is None else np.asarray(payload.com, dtype=float)
    model.with_payload(payload.link, payload.mass, com)  # checks
    frame = model.frame_names.index(payload.link)
    body = model.frame_body[frame]
    placement = np.zeros((10 * model.nb, 10))
    placement[10 * body : 10 * body + 10] = displacement(model.frame_placement[frame])
    value = to_parameters(Inertial(payload.mass, com))
    size = payload.mass * np.array([0.0, *[EXTENT] * 3, *[EXTENT**2] * 6])
    return Load(placement, value, size * (payload.com is None))


def _identified_load(payload: PayloadRecording, result: Fit) -> IdentifiedLoad:
    m = payload.mass
    com, error = result.estimate.load[1:4] / m, result.error.load[1:4] / m
    return IdentifiedLoad(payload.link, m, com, error)


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
    model: RobotModel,
    seen: Observations,
    efforts: str,
    unknown: Array,
    kept: Array | None,
    load: Load | None,
    number: int,
) -> Problem:
    """Return the problem with the description as its start, and the default friction law.

    Its recordings, of this number, are to be given.
    """
    theta, n = model.inertial_parameters(), model.n
    described = Estimate(
        theta=theta,
        X=np.tile(np.eye(4), (model.nb, 1, 1)),
        friction=np.column_stack([model.viscous, model.coulomb]),
        offset=np.zeros((number, n)),
        rotor=model.reflected_inertia * (efforts != 'link-side'),
        gain=np.ones(n),
        load=np.zeros(10) if load is None else load.value,
    )
    return Problem(
        recordings=(),
        law=LAWS['coulomb'],
        presliding=np.full(n, PRESLIDING),
        scaled=bodies(theta.reshape(-1, 10), np.zeros((model.nb, 10)) if kept is None else kept),
        start=described,
        excited=excited_joints(seen),
        rotors=efforts != 'link-side',
        unknown=unknown,
        load=load,
    )


def _signs(problem: Problem) -> Array:
    """Return the signs (n,) of the drive gains: those of dry friction, which opposes the motion.

    Raises:
        RecordingError: torques have the opposite sign of those of the description.
    """
    terms = problem.terms(problem.start)
    _, gain = gains_of(terms, problem.start, problem.excited)
    if not problem.gains:
        if (gain[terms.effort.any(axis=0)] < -OPPOSITE).all():
            raise RecordingError(
                'the efforts have the opposite sign of the torques of the description; expected '
                'the same: --effort-scale -1'
            )
        return np.ones(len(gain))
    sign = np.where((gain < 0) & problem.unknown, -1.0, 1.0)
    dry = problem.law.terms.index('coulomb')
    for j in np.flatnonzero(problem.excited & problem.unknown):
        others = [terms.Y[:, j], np.delete(terms.features[:, j], dry, axis=1)]
        others += [terms.qdd[:, j, None], terms.of_recordings()]
        value, error = coefficient(
            terms.features[:, j, dry], np.column_stack(others), terms.effort[:, j], terms.block
        )
        if abs(value) > CERTAIN_SIGN * error:
            sign[j] = np.sign(value)
    return sign


def _other_scales(problem: Problem, names: Sequence[str]) -> list[str]:
    """Return a remark on joints whose efforts are not the torques of the description, by a factor.

    Wrong masses would explain them as well; the fit takes them for that.
    """
    if problem.gains:
        return []
    factor, error = scales_beside_drives(
        problem.terms(problem.start), problem.start, problem.excited
    )
    certain = (error < SCALE_CERTAIN * np.abs(factor)) & (factor > 0)
    size = np.abs(np.log(np.where(certain, factor, 1.0)))
    other = np.flatnonzero(size > np.log(OTHER_SCALE))
    if not len(other):
        return []
    said = ', '.join(f'{names[j]} {measured(factor[j], error[j])}' for j in other.tolist())
    return [
        f'efforts relative to the torques of the description: {said}; the model takes this for '
        'masses: check the scale of each joint (--effort-scale), and the masses of the links'
    ]


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
