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
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.reporting.numbers import measured
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.core.model.inertia import Inertial, inconsistency, symmetric, to_parameters
from robot_dynamics.core.model.joint_values import rms
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.identification.estimation.covariance import INEXACT
from robot_dynamics.identification.estimation.pseudo_inertia import (
    from_pseudo_inertia,
    to_pseudo_inertia,
)
from robot_dynamics.identification.payload.model_errors import CAD, link_errors
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
from robot_dynamics.identification.recordings.drives import AS_DESCRIBED, Drives
from robot_dynamics.identification.recordings.effort_unit import common_unit
from robot_dynamics.identification.recordings.gravity_setting import APART, STILL
from robot_dynamics.identification.recordings.plausibility import require_joints
from robot_dynamics.identification.recordings.recording import (
    Recording,
    RecordingError,
    moves,
    scale_of,
)
from robot_dynamics.identification.recordings.smoothing import Stretch, cutoff_of, smooth

FRICTION = ('estimated', 'model')  # fitted with the payload, or that of the model
DRY = (LAWS['coulomb'], LAWS['coulomb_memory'])  # dry friction is a combination of both
ENOUGH_MOTION = 4.0  # s in which a joint moves: less is a recording of postures
DENSE = 16  # samples per period of the cut-off frequency
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
    body = arm.model.moving_body(link)
    to_body = _parameter_map(arm.model.frame_placement[arm.model.frame_index(link)])

    def pieces_of(run: Recording) -> list[_Piece]:
        require_joints(run, arm.model)
        scale = scale_of(arm.model, effort_scale, run.effort_unit)
        run = drives.aligned(run)
        stretches, _ = smooth(run, cutoff_of(run) if cutoff is None else cutoff)
        return [
            _Piece(arm, s, body, to_body, scale, effort_gravity_compensated, drives)
            for s in stretches
        ]

    if unloaded is not None:
        units = recording.effort_unit, unloaded.effort_unit
        words = 'the effort with the payload', 'the effort without it'
        common_unit(dict(zip(words, units, strict=True)))
    pieces = pieces_of(recording)
    before = [] if unloaded is None else pieces_of(unloaded)
    if unloaded is not None:
        _require_motion(before, 'without the payload')
        _require_motion(pieces, 'with the payload')
    if _seconds_in_motion(pieces) < ENOUGH_MOTION:
        return _from_postures(link, pieces, arm.model.coulomb)
    parts = [piece.rows(friction == 'estimated') for piece in pieces]
    rows = joined(parts, [piece.rows(friction == 'estimated') for piece in before])
    _require_samples(rows)
    errors = _body_errors(arm.model, body, to_body, OF_MODEL * scale_error)
    identified = identified and unloaded is None
    found = fit_payload(rows, scale_error, errors, identified)
    if unloaded is not None:
        # Factors are those of links then, whose errors the fit has.
        found = found._replace(factor=np.ones_like(found.factor))
    notes = *_doubts(found, arm.model.joint_names, identified), *_remarks(found.value, found.error)
    return Payload(
        link,
        *_parts(found.value),
        *_parts(found.error),
        postures=0,
        seconds=_seconds_in_motion(pieces),
        residual=found.residual,
        notes=notes,
        conditional_on=_conditions(found, friction, identified),
        model_error=CAD.mass * found.sizes.links,
    )


def _seconds_in_motion(pieces: list[_Piece]) -> float:
    return sum(piece.seconds_in_motion for piece in pieces)


def _require_motion(pieces: list[_Piece], which: str) -> None:
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


class _Piece:
    """Efforts that the model leaves over one stretch, and the torques of a unit payload."""

    def __init__(
        self,
        arm: Dynamics,
        s: Stretch,
        body: int,
        to_body: Array,
        scale: Array,
        compensated: bool,
        drives: Drives,
    ):
        self._arm, self._s, self._to_body = arm, s, to_body
        self._own = slice(10 * body, 10 * body + 10)
        model = drives.effort(arm, s.q, s.qd, s.qdd)
        self.model = model - (arm.gravity_torque(s.q) if compensated else 0.0)  # (k, n)
        self.excess = scale * s.effort - self.model
        self.moving = moves(s.qd)
        self.seconds_in_motion = float(self.moving.any(axis=1).sum()) * s.step

    def of_payload(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the torques (k, n, 10) of unit parameters of the payload, frame of its link."""
        return np.asarray(self._arm.regressor(q, qd, qdd)[..., self._own] @ self._to_body)

    def rows(self, with_friction: bool) -> Rows:
        """Return what the fit needs, with features of friction and offset if they are fitted.

        All pass the low-pass; as many samples as it needs, without the ends.
        """
        s, nb = self._s, self._arm.model.nb
        sparse = s.sparse(DENSE)
        z = [law.sliding_direction(s.q, s.qd) for law in DRY]
        features = np.stack([s.qd, *z, np.ones_like(s.qd)], axis=2)
        if not with_friction:
            features = features[..., :0]
        Y = sparse.smooth(self._arm.regressor(*(x[sparse.samples] for x in (s.q, s.qd, s.qdd))))
        shape = (*Y.shape[:2], nb, 10)
        links = np.einsum('kjbi,bie->kjbe', Y.reshape(shape), link_errors(self._arm.model))
        rotors = sparse.smooth(s.qdd[sparse.samples])
        return Rows(
            sparse.sharp(self.excess),
            Y[..., self._own] @ self._to_body,
            sparse.sharp(self.model),
            sparse.sharp(features),
            links.reshape(*Y.shape[:2], 10 * nb),
            rotors,
            sparse.inner(self.moving[sparse.samples]),
        )

    def postures(self) -> list[tuple[Array, Array, Array]]:
        """Return mean positions, efforts and their standard errors (n,) of each time at rest."""
        s, still = self._s, np.asarray(~self.moving.any(axis=1))
        found = []
        runs: list[Array] = np.split(np.arange(len(still)), np.flatnonzero(np.diff(still)) + 1)
        for run in runs:
            if still[run[0]] and len(run) * s.step >= STILL:
                error = self.excess[run].std(axis=0) / np.sqrt(len(run))
                found.append((s.q[run].mean(axis=0), self.excess[run].mean(axis=0), error))
        return found


# -- from a motion --------------------------------------------------------------------------


def _conditions(found: PayloadFit, friction: str, identified: bool) -> tuple[str, ...]:
    """Return what the errors are conditional on."""
    beyond = CAD.mass * found.sizes.links > IDENTIFIED or len(_certain(found, LARGEST)) > 0
    conditions = {
        'description': beyond or (identified and found.sizes.rotors > MISSING),
        'friction': friction == 'model',
    }
    return tuple(name for name, holds in conditions.items() if holds)


def _body_errors(model: RobotModel, body: int, to_body: Array, share: float) -> Array:
    """Return errors (4, 10) of the carrying body's parameters, in the frame of the link.

    They are a share of its mass, and of its mass times its radius of gyration about its joint in
    each direction of the centre of mass.
    """
    pi = to_parameters(model.inertial(body))
    errors = np.zeros((4, 10))
    errors[0, 0] = pi[0]
    # m r = sqrt(m tr(I) / 2)
    np.fill_diagonal(errors[1:, 1:4], np.sqrt(pi[0] * pi[[4, 7, 9]].sum() / 2))
    return np.asarray(share * np.linalg.solve(to_body, errors.T).T)


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


def _from_postures(link: str, pieces: list[_Piece], coulomb: Array) -> Payload:
    """Return the middle of the bounds that dry friction sets, and half their width."""
    found = [(piece, *posture) for piece in pieces for posture in piece.postures()]
    different: list[Array] = []
    for _, q, *_ in found:
        if all(np.abs(q - other).max() > APART for other in different):
            different.append(q)
    if len(different) < 2:
        raise PayloadError(
            f'the arm stands in {len(different)} posture{"s" * (len(different) != 1)}, at least '
            f'{STILL:g} s each, and moves for less than {ENOUGH_MOTION:g} s; expected a motion, '
            'or two postures that turn the payload to gravity differently'
        )
    rest = np.zeros(len(coulomb))
    X = np.concatenate([piece.of_payload(q, rest, rest)[:, :4] for piece, q, *_ in found])
    y, noise = (np.concatenate([row[k] for row in found]) for k in (2, 3))
    level = np.tile(coulomb, len(found))
    slack = np.where(coulomb.any(), level, 1.0)  # without dry friction: N m or N
    margin = level + NOISE * noise
    more = least_excess(X, y, margin, slack)
    low, high = bounds(X, y, margin + (1 + 1e-6) * more * slack + 1e-9)
    bounded = np.isfinite(low) & np.isfinite(high)
    middle = np.where(bounded, low / 2, 0.0) + np.where(bounded, high / 2, 0.0)
    notes = []
    if more > 1e-6:
        amount = f'{100 * more:.0f} % more' if coulomb.any() else f'{more:.3g} N m or N of'
        notes.append(f'the efforts need {amount} dry friction than the model has')
    if not coulomb.any():
        notes.append('the model has no dry friction: the bounds hold without it only (--coulomb)')
    if not low[0] > 0:
        notes.append('the bounds of the mass include zero')
    residual = (y - X @ np.array([middle[0], *(middle[0] * middle[1:])])).reshape(-1, len(coulomb))
    free = np.full(10, np.inf)
    free[:4] = (high - low) / 2
    return Payload(
        link,
        *_parts(np.concatenate([middle, np.zeros(6)])),
        *_parts(free),
        postures=len(different),
        seconds=0.0,
        residual=rms(residual),
        notes=tuple(notes),
        conditional_on=('description', 'friction'),
    )


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


def _parameter_map(T: Array) -> Array:
    """Return the map (10, 10) of the parameters of a body from one frame, of pose T, to another.

    The pseudo-inertia transforms by J' = T J T^T.
    """
    return np.stack(
        [from_pseudo_inertia(T @ to_pseudo_inertia(unit) @ T.T) for unit in np.eye(10)], axis=1
    )
