# SPDX-License-Identifier: Apache-2.0
"""Mass, centre of mass and inertia of a payload, from a recording of the arm that carries it.

The torques that the model without the payload leaves are linear in its ten parameters. From a
motion they are fitted together with friction and offset of each joint, and with the errors of the
description: `payload_fit`, `model_errors`.

At rest dry friction hides any torque up to its level. From postures alone the result is therefore
not an estimate with a standard error, but the bounds of all payloads that the dry friction of the
model admits: `payload_bounds`.

Source: Atkeson, An and Hollerbach, "Estimation of inertial parameters of manipulator loads and
links", Int. J. Robotics Research 5(3), 1986.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.reporting.numbers import measured
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.inertia import Inertial, inconsistency, symmetric
from robot_dynamics.core.model.joint_values import rms
from robot_dynamics.identification.estimation.covariance import INEXACT
from robot_dynamics.identification.payload.model_errors import CAD
from robot_dynamics.identification.payload.payload_bounds import bounds, least_excess
from robot_dynamics.identification.payload.payload_fit import (
    CERTAIN,
    ENOUGH_SAMPLES,
    MISSING,
    OF_MODEL,
    PayloadFit,
    Rows,
    fit_payload,
    joined,
)
from robot_dynamics.identification.payload.payload_pieces import (
    Carrier,
    MeasuredEfforts,
    Piece,
    Posture,
    pieces_of,
)
from robot_dynamics.recordings.drives import AS_DESCRIBED, Drives
from robot_dynamics.recordings.effort_unit import common_unit
from robot_dynamics.recordings.gravity_setting import APART, STILL
from robot_dynamics.recordings.recording import (
    Recording,
    RecordingError,
)

FRICTION = ('estimated', 'model')  # fitted with the payload, or that of the model
ENOUGH_MOTION = 4.0  # s in which a joint moves: less is a recording of postures
IDENTIFIED = 0.2  # standard deviation of the masses of links: beyond, the prior is not theirs
NAMED = 0.01  # the same: beyond, it is named
LARGEST = 0.05  # a factor that is certainly farther from 1 is no error of single links
LARGE = 0.005  # a factor that is certainly farther from 1 is named
NOISE = 3.0  # standard deviations of noise that bounds include


class Payload(NamedTuple):
    """A payload; values that the recording does not determine have infinite errors.

    From a motion, errors are standard deviations. From postures, they are half the width of the
    bounds. They hold if what they are conditional on is right: 'description', the robot without
    the payload; 'friction', that of the model, and no offsets of the efforts.
    """

    link: str
    mass: float  # kg
    com: Array  # (3,) m, frame of the link
    inertia: Array  # (3, 3) kg m^2 about the centre of mass, axes of the link
    mass_error: float
    com_error: Array  # (3,)
    inertia_error: Array  # (3, 3)
    postures: int  # at rest; 0: from a motion
    seconds: float  # that were used
    residual: Array  # (n,) root mean square of the unexplained effort, N m or N
    notes: tuple[str, ...] = ()
    conditional_on: tuple[str, ...] = ()  # the errors do not include errors of these
    model_error: float = math.nan  # of the masses of the description, relative, from the efforts

    @property
    def determined(self) -> bool:
        """Whether the mass is certainly positive: by three errors, or by its bounds."""
        return bool(self.mass > (1.0 if self.postures else CERTAIN) * self.mass_error)

    @property
    def known_inertia(self) -> Array:
        """The tensor (3, 3), or zeros if it is not determined or physically inconsistent."""
        known = np.isfinite(self.inertia_error).all() and not inconsistency(self.body)
        return self.inertia if known else np.zeros((3, 3))

    @property
    def body(self) -> Inertial:
        """Mass, centre of mass and tensor as estimated, physically consistent or not."""
        return Inertial(self.mass, self.com, self.inertia)


class PayloadError(RecordingError):
    """A recording does not determine a payload."""


def estimate_payload(
    arm: Dynamics,
    recording: Recording,
    link: str,
    *,
    friction: str = 'estimated',
    effort_scale: ArrayLike | None = None,
    scale_error: float = INEXACT,
    effort_gravity_compensated: bool = False,
    cutoff: float | None = None,
    drives: Drives = AS_DESCRIBED,
    unloaded: Recording | None = None,
    identified: bool = False,
) -> Payload:
    """Return the payload that an arm carried on a link.

    Args:
        arm: the model without the payload, best one identified on the same drives. From a motion,
            the errors include those of its links and of rotors that it lacks.
        recording: of the same joints in the same order, as `by_joint` makes it.
        link: that carries the payload.
        friction: 'estimated' with the payload, in addition to that of the model, with an offset
            of the efforts of each joint; or 'model'. At rest it is that of the model.
        effort_scale: recorded effort times this is N m or N, one for all joints or (n,); None:
            1, except of currents.
        scale_error: standard deviation of that factor of each joint, relative. A quarter of it
            is that of the model's efforts, and of the mass and first moment of its body.
        effort_gravity_compensated: the recorded effort does not include the gravity torque of the
            model.
        cutoff: Hz, of the low-pass; by default where the spectrum of the motion ends.
        drives: friction law, offset and delay, if identified; by default the model's friction.
        unloaded: a motion of the same arm without the payload, which tells errors of the model
            from it.
        identified: the model, with rotors and friction, was identified on the same drives: its
            errors are those that `scale_error` states. Otherwise, and with `unloaded`, they are
            estimated.

    Raises:
        PayloadError: there are fewer than two postures, or no motion with `unloaded`.
        EffortUnitError: one of two recordings is of torques, the other of currents.
        ModelError: the link does not move.
        RecordingError: other joints, currents without a scale, or too few samples.
        FrameNotFound: no such link.
        ValueError: friction is neither 'estimated' nor 'model'.
    """
    if friction not in FRICTION:
        raise ValueError(f'friction is {friction!r}; expected one of {", ".join(FRICTION)}')
    carrier = Carrier.of(arm, link)
    efforts = MeasuredEfforts(effort_scale, effort_gravity_compensated, cutoff, drives)
    if unloaded is not None:
        units = recording.effort_unit, unloaded.effort_unit
        words = 'the effort with the payload', 'the effort without it'
        common_unit(dict(zip(words, units, strict=True)))
    pieces, before = pieces_of(carrier, recording, efforts), None
    if unloaded is not None:
        before = pieces_of(carrier, unloaded, efforts)
        _require_motion(before, 'without the payload')
        _require_motion(pieces, 'with the payload')
    if _seconds_in_motion(pieces) < ENOUGH_MOTION:
        return _from_postures(carrier, pieces)
    return _from_motion(carrier, pieces, before, friction, scale_error, identified)


# -- from a motion --------------------------------------------------------------------------


def _from_motion(
    carrier: Carrier,
    pieces: Sequence[Piece],
    unloaded: Sequence[Piece] | None,
    friction: str,
    scale_error: float,
    identified: bool,
) -> Payload:
    """Return the fit to a motion, with standard errors."""
    estimated = friction == 'estimated'
    loaded, before = (
        [piece.rows(estimated) for piece in some] for some in (pieces, unloaded or ())
    )
    rows = joined(loaded, before)
    _require_samples(rows)
    identified = identified and unloaded is None
    found = fit_payload(rows, scale_error, carrier.errors(OF_MODEL * scale_error), identified)
    if unloaded is not None:
        # Factors are those of links then, whose errors the fit has.
        found = found._replace(factor=np.ones_like(found.factor))
    doubts = _doubts(found, carrier.arm.model.joint_names, identified)
    return Payload(
        carrier.link,
        *_parts(found.value),
        *_parts(found.error),
        postures=0,
        seconds=_seconds_in_motion(pieces),
        residual=found.residual,
        notes=(*doubts, *_remarks(found.value, found.error)),
        conditional_on=_conditions(found, friction, identified),
        model_error=CAD.mass * found.sizes.links,
    )


def _seconds_in_motion(pieces: Sequence[Piece]) -> float:
    return sum(piece.seconds_in_motion for piece in pieces)


def _require_motion(pieces: Sequence[Piece], which: str) -> None:
    if (seconds := _seconds_in_motion(pieces)) < ENOUGH_MOTION:
        raise PayloadError(
            f'the arm moves for {seconds:.3g} s in the recording {which}; expected '
            f'{ENOUGH_MOTION:g} s at least in both'
        )


def _require_samples(rows: Rows) -> None:
    if not (rows.moving.sum(axis=0) >= ENOUGH_SAMPLES).any():
        raise PayloadError(
            f'no joint moves in {ENOUGH_SAMPLES} samples; move the arm for {ENOUGH_MOTION:g} s'
        )


def _conditions(found: PayloadFit, friction: str, identified: bool) -> tuple[str, ...]:
    """Return what the errors are conditional on."""
    beyond = CAD.mass * found.sizes.links > IDENTIFIED or len(_certain(found, LARGEST)) > 0
    conditions = {
        'description': beyond or (identified and found.sizes.rotors > MISSING),
        'friction': friction == 'model',
    }
    return tuple(name for name, holds in conditions.items() if holds)


def _certain(found: PayloadFit, beyond: float) -> Array:
    """Return the joints whose efforts differ from the model's by more than this share."""
    return np.flatnonzero(np.abs(found.factor - 1) > beyond + CERTAIN * found.factor_error)


def _doubts(found: PayloadFit, names: tuple[str, ...], identified: bool) -> list[str]:
    """Return what the efforts say about the model."""
    notes = []
    factors = ', '.join(
        f'{names[j]} {measured(found.factor[j], found.factor_error[j])}'
        for j in np.flatnonzero(np.abs(found.factor - 1) > LARGE)
        if j in _certain(found, 0.0)
    )
    if factors:
        notes.append(
            f'efforts differ from those of the model by factors, part of the errors: {factors}'
        )
    if (model_error := CAD.mass * found.sizes.links) > NAMED and not identified:
        notes.append(
            f'the masses of the description are off by about {100 * model_error:.2g} %, as the '
            'efforts show, its centres of mass and tensors alike: part of the errors; '
            '`robot-dynamics evaluate` names errors of a model, `identify` corrects them'
        )
    return notes


# -- from postures --------------------------------------------------------------------------


def _from_postures(carrier: Carrier, pieces: Sequence[Piece]) -> Payload:
    """Return the middle of the bounds that dry friction sets, and half their width."""
    coulomb = carrier.arm.model.coulomb
    postures = [posture for piece in pieces for posture in piece.postures()]
    different = _different(postures)
    X = np.concatenate([_static_torques(carrier, posture) for posture in postures])
    y = np.concatenate([posture.excess for posture in postures])
    noise = np.concatenate([posture.error for posture in postures])
    level = np.tile(coulomb, len(postures))
    slack = np.where(coulomb.any(), level, 1.0)  # without dry friction: N m or N
    margin = level + NOISE * noise
    more = least_excess(X, y, margin, slack)
    low, high = bounds(X, y, margin + (1 + 1e-6) * more * slack + 1e-9)
    bounded = np.isfinite(low) & np.isfinite(high)
    middle = np.where(bounded, low / 2, 0.0) + np.where(bounded, high / 2, 0.0)
    residual = (y - X @ np.array([middle[0], *(middle[0] * middle[1:])])).reshape(-1, len(coulomb))
    free = np.full(10, np.inf)
    free[:4] = (high - low) / 2
    return Payload(
        carrier.link,
        *_parts(np.concatenate([middle, np.zeros(6)])),
        *_parts(free),
        postures=different,
        seconds=0.0,
        residual=rms(residual),
        notes=_notes_of_bounds(more, coulomb, low),
        conditional_on=('description', 'friction'),
    )


def _different(postures: Sequence[Posture]) -> int:
    """Return the number of different postures; PayloadError for fewer than two."""
    different: list[Array] = []
    for posture in postures:
        if all(np.abs(posture.q - other).max() > APART for other in different):
            different.append(posture.q)
    if len(different) < 2:
        raise PayloadError(
            f'the arm stands in {len(different)} posture{"s" * (len(different) != 1)}, at least '
            f'{STILL:g} s each, and moves for less than {ENOUGH_MOTION:g} s; expected a motion, '
            'or two postures that turn the payload to gravity differently'
        )
    return len(different)


def _static_torques(carrier: Carrier, posture: Posture) -> Array:
    """Return the torques (n, 4) of unit mass and first moments of a payload at rest."""
    rest = np.zeros(carrier.arm.model.n)
    return carrier.unit_torques(carrier.arm.regressor(posture.q, rest, rest))[:, :4]


def _notes_of_bounds(more: float, coulomb: Array, low: Array) -> tuple[str, ...]:
    """Return remarks on bounds.

    Args:
        more: relative dry friction, or torque, that the efforts need beyond that of the model.
        coulomb: (n,) dry friction of the model.
        low: (4,) least mass and centre of mass.
    """
    notes = []
    if more > 1e-6:
        amount = f'{100 * more:.0f} % more' if coulomb.any() else f'{more:.3g} N m or N of'
        notes.append(f'the efforts need {amount} dry friction than the model has')
    if not coulomb.any():
        notes.append('the model has no dry friction: the bounds hold without it only (--coulomb)')
    if not low[0] > 0:
        notes.append('the bounds of the mass include zero')
    return tuple(notes)


# -- results --------------------------------------------------------------------------------


def _parts(values: Array) -> tuple[float, Array, Array]:
    """Return mass, centre of mass (3,) and tensor (3, 3) of ten values."""
    return float(values[0]), values[1:4], symmetric(values[4:])


def _remarks(value: Array, error: Array) -> list[str]:
    notes = []
    if not abs(value[0]) > CERTAIN * error[0]:
        notes.append('the mass does not differ from zero by three standard errors')
    elif value[0] < 0:
        notes.append(
            'the mass is negative by more than three standard errors: mass in excess in the '
            'model, or efforts of another sign or unit'
        )
    if np.isfinite(error).all() and inconsistency(Inertial(*_parts(value))):
        notes.append('the inertia is not physically consistent: it is not determined')
    return notes
