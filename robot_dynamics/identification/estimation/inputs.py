# SPDX-License-Identifier: Apache-2.0
"""Inputs of an identification, checked: recordings, kind and scale of the efforts, options.

Where motors turn by several joints, all of it is in coordinates of the motors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.laws import friction_law
from robot_dynamics.core.model.inertia import Inertial, to_parameters
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.identification.estimation.delay import LONGEST
from robot_dynamics.identification.estimation.equations import Load
from robot_dynamics.identification.estimation.friction_choice import AUTO
from robot_dynamics.identification.estimation.identification_records import (
    EFFORTS,
    PayloadRecording,
)
from robot_dynamics.identification.estimation.observations import Preparation
from robot_dynamics.identification.estimation.pseudo_inertia import displacement
from robot_dynamics.identification.estimation.solver import solver
from robot_dynamics.recordings.coupling import Coupling
from robot_dynamics.recordings.effort_unit import CURRENT
from robot_dynamics.recordings.plausibility import require_joints
from robot_dynamics.recordings.recording import (
    Recording,
    RecordingError,
    scale_of,
    stated,
)
from robot_dynamics.recordings.smoothing import cutoff_of

HIGHEST = 12.0  # Hz, of the automatic cut-off frequency: above, friction hides in vibrations
EXTENT = 0.15  # m: a payload of unknown centre of mass is about so large


class Recordings(NamedTuple):
    """Recordings of one arm, by their use."""

    fitted: Sequence[Recording]
    test: Recording | None = None  # for the validation; None: parts of those fitted
    payload: PayloadRecording | None = None

    @property
    def every(self) -> list[Recording]:
        """All of them."""
        loaded = None if self.payload is None else self.payload.recording
        return [*self.fitted, *(one for one in (self.test, loaded) if one is not None)]

    def of_motors(self, coupling: Coupling, efforts: str) -> Recordings:
        """Return the recordings of joints as those of their motors."""
        moved = partial(coupling.recording, efforts=efforts)
        payload = self.payload
        if payload is not None:
            payload = payload._replace(recording=moved(payload.recording))
        test = None if self.test is None else moved(self.test)
        return Recordings([moved(one) for one in self.fitted], test, payload)


class EffortOptions(NamedTuple):
    """What is given about the efforts, as for `identify`."""

    efforts: str | None = None
    scale: ArrayLike | Mapping[str, float] | None = None
    gravity_compensated: bool = False
    delay: float | None = None  # s


class FitOptions(NamedTuple):
    """What is given about the fit, as for `identify`."""

    friction: str = AUTO
    cutoff: float | None = None  # Hz
    kept: Array | None = None  # (nb, 10)


@dataclass(frozen=True, eq=False)
class Inputs:
    """What an identification begins with; of the motors if joints are coupled.

    Attributes:
        preparation: how the rows of recordings are made, with the arm of the description.
        recordings: of its joints or motors.
        efforts: one of EFFORTS.
        of_header: the recordings state whether the efforts are currents.
        unknown: (n,) bool: the drive gain is estimated.
        delay: of the efforts, s; None: it is estimated.
        friction: name of a law, or AUTO.
        kept: (nb, 10) inertial parameters that are not estimated; None: zeros.
        coupling: of the joints.
        lockable: joints that can be locked; motors of coupled joints cannot.
    """

    preparation: Preparation
    recordings: Recordings
    efforts: str
    of_header: bool
    unknown: Array
    delay: float | None
    friction: str
    kept: Array | None
    coupling: Coupling | None
    lockable: Sequence[str]

    @property
    def arm(self) -> Dynamics:
        """The arm as described."""
        return self.preparation.arm


def checked_inputs(
    arm: Dynamics,
    recordings: Recordings,
    given: EffortOptions,
    options: FitOptions,
    coupling: Coupling | None,
) -> Inputs:
    """Return the inputs of an identification.

    Args:
        arm: of the description.
        recordings: of its joints.
        given: what is given about the efforts.
        options: of the fit.
        coupling: of motors that turn by several joints.

    Raises:
        RecordingError: a recording does not fit the robot, or a value is out of range.
        FrictionLawError: no such law.
        SolverError: cvxpy or clarabel is missing.
    """
    efforts = kind_of_efforts(recordings.every, given)
    _check(recordings, efforts, given.delay, options.friction)
    for one in recordings.every:
        require_joints(one, arm.model)
    joints = arm.model.joint_names
    if coupling is not None:
        arm = Dynamics(coupling.robot(arm.model))
        recordings = recordings.of_motors(coupling, efforts)
    solver()  # before the work
    scale, unknown = drive_scales(arm.model, efforts, given.scale)
    if coupling is not None and efforts != 'currents' and np.ptp(scale):
        raise RecordingError(
            f'effort_scale is {scale.tolist()}; expected one number for torques of coupled joints'
        )
    cutoff = options.cutoff
    if cutoff is None:
        cutoff = min(HIGHEST, *map(cutoff_of, recordings.fitted))
    return Inputs(
        Preparation(arm, cutoff, scale, given.gravity_compensated),
        recordings,
        efforts,
        of_header=given.efforts is None,
        unknown=unknown,
        delay=given.delay,
        friction=options.friction,
        kept=options.kept,
        coupling=coupling,
        lockable=joints,
    )


def kind_of_efforts(recordings: Sequence[Recording], given: EffortOptions) -> str:
    """Return the kind of the efforts, which their unit decides if it is not given.

    Raises RecordingError for units that contradict each other, or the kind.
    """
    efforts = given.efforts
    if efforts is not None and efforts not in EFFORTS:
        raise RecordingError(f'efforts is {efforts!r}; expected {", ".join(EFFORTS)}')
    scaled = given.scale is not None and not isinstance(given.scale, Mapping)
    units = {stated(one, efforts, scaled).effort_unit for one in recordings}
    if CURRENT in units and len(units) > 1:
        raise RecordingError(
            f'the units of the recorded efforts are {", ".join(sorted(units))}; expected the same '
            'of all recordings: state it, --efforts'
        )
    return efforts or ('currents' if CURRENT in units else 'torques')


def _check(recordings: Recordings, efforts: str, delay: float | None, friction: str) -> None:
    """Raise an error for values that no recording fits."""
    payload = recordings.payload
    if not recordings.fitted:
        raise RecordingError('there is no recording; expected one or more')
    if friction != AUTO:
        friction_law(friction)
    if payload is not None and efforts != 'currents':
        raise RecordingError(
            f'a payload fixes the scale of currents; efforts is {efforts!r}: expected currents'
        )
    if payload is not None and not payload.mass > 0:
        raise RecordingError(f'the payload is {payload.mass} kg; expected a positive mass')
    if delay is not None and not abs(delay) <= LONGEST:
        raise RecordingError(f'the delay is {delay} s; expected at most {LONGEST:g} s either way')


def drive_scales(
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


def load_of(model: RobotModel, payload: PayloadRecording) -> Load:
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
    return Load(placement, value, extent_of(payload.mass) * (payload.com is None))


def extent_of(mass: float) -> Array:
    """Return the deviations (10,) of the parameters of a payload of known mass [kg]."""
    return mass * np.array([0.0, *[EXTENT] * 3, *[EXTENT**2] * 6])
