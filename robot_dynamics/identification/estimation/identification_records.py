# SPDX-License-Identifier: Apache-2.0
"""Records of an identification: a recording with a payload, and the identified parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.friction.laws import FrictionLaw
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.identification.estimation.base_fit import BaseEstimate
from robot_dynamics.identification.estimation.delay import Delay
from robot_dynamics.identification.estimation.identified_validation import Drift, Validation
from robot_dynamics.identification.estimation.parameter_fit import Fit
from robot_dynamics.recordings.coupling import Coupling
from robot_dynamics.recordings.periods import Averaged
from robot_dynamics.recordings.recording import Recording

EFFORTS = ('torques', 'currents', 'link-side')
DERIVED = 'velocities are derivatives of the positions, which have less noise than those recorded'


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
    agrees: bool = True  # the recording does not contradict it


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
        model: the identified robot, with rotors and the viscous and Coulomb friction that come
            closest to the law.
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

    @property
    def scaled_by_payload(self) -> bool:
        """Whether N m and kg are proportional to the mass given for the payload."""
        of_payload = self.load is not None and self.fit.problem.unknown.all()
        return bool(of_payload and self.drives.scale_known.any())
