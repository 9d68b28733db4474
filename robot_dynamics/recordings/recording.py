# SPDX-License-Identifier: Apache-2.0
"""Recorded samples by joint, in the order of the model.

Nothing is interpolated: a sample without a finite value of every joint of the model is omitted and
counted under its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.core.friction.coulomb import COULOMB_SPEED
from robot_dynamics.core.model.joint_values import per_joint
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.recordings.effort_unit import (
    CURRENT,
    EFFORT_UNITS,
    TORQUE,
    UNKNOWN,
    UNSTATED,
)

STANDING = 2 * COULOMB_SPEED  # rad/s or m/s: at rest below, where dry friction is undetermined

POSITION, VELOCITY, EFFORT = range(3)
KINDS = ('position', 'velocity', 'effort')
# rad or m, rad/s or m/s, any unit: larger values are errors of a message.
LIMITS = np.array([1e6, 1e4, 1e9])[:, None]
INCOMPLETE = 'without all joints'
UNSTAMPED = 'without a stamp'
CONTRADICTORY = 'with arrays of different lengths'
NO_EFFORT = 'without efforts'
NO_VELOCITY = 'without velocities'
NOT_FINITE = 'not finite'
OUT_OF_RANGE = 'with values out of range'
WITHOUT_EFFORTS = (
    'from commands and positions alone, identify --efforts none determines friction, rotor '
    'inertia and delay of the drives'
)
DRIVES_OFF = 'with all efforts 0: drives off'
REPEATED = 'with the stamp of the previous one'
STALE = 'equal to the previous one, in motion'
# Arrays of a recording with one row per sample.
BY_SAMPLE = ('t', 'q', 'qd', 'effort', 'command', 'command_qd', 'feedforward')


class RecordingError(RobotDynamicsError, ValueError):
    """A recording does not fit the robot or the options."""


class JointSample(NamedTuple):
    """A recorded joint state: arrays may be empty, joints in any order."""

    stamp: int  # ns, of the header
    logged: int  # ns, time of recording
    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array


class MissingJointsError(RecordingError):
    """Joints of the model are not recorded.

    Attributes:
        joints: their names.
    """

    def __init__(self, message: str, joints: Sequence[str] = ()):
        super().__init__(message)
        self.joints = tuple(joints)


@dataclass(frozen=True, eq=False)
class Recording:
    """Samples of all joints, in the order they were recorded.

    Attributes:
        joint_names: n names.
        t: (k,) s; it decreases where the robot's clock was set back.
        q: (k, n) measured positions, rad or m.
        qd: (k, n) measured velocities, None if there are none.
        effort: (k, n) as recorded, None if there are none: see `efforts_of`.
        left_out: number of omitted samples, by reason.
        notes: remarks on the recording.
        effort_unit: torque (N m or N), current, or unknown, as of joint states.
        command: (k, n) commanded positions of the drives, rad or m, in effect at t.
        command_qd: (k, n) commanded velocities, rad/s or m/s.
        feedforward: (k, n) commanded torques that the drives add, N m or N.

    Raises:
        RecordingError: another unit, or an array that is not (k, n).
    """

    joint_names: tuple[str, ...]
    t: Array
    q: Array
    qd: Array | None
    effort: Array | None
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    effort_unit: str = UNKNOWN
    command: Array | None = None
    command_qd: Array | None = None
    feedforward: Array | None = None

    def __post_init__(self) -> None:
        if self.effort_unit not in EFFORT_UNITS:
            raise RecordingError(
                f'effort_unit is {self.effort_unit!r}; expected {", ".join(EFFORT_UNITS)}'
            )
        shape = (len(self.t), len(self.joint_names))
        for name in BY_SAMPLE[1:]:
            values = getattr(self, name)
            if values is not None and np.shape(values) != shape:
                raise RecordingError(f'{name} has shape {np.shape(values)}; expected {shape}')

    def samples(self, kept: Array) -> Recording:
        """Return the samples of a mask (k,), or of indices."""
        columns = {name: getattr(self, name) for name in BY_SAMPLE}
        given = {name: values[kept] for name, values in columns.items() if values is not None}
        return replace(self, **given)


def efforts_of(recording: Recording) -> Array:
    """Return the efforts (k, n) as recorded. Raises RecordingError if there are none."""
    if recording.effort is None:
        raise RecordingError(f'the recording has no efforts; {WITHOUT_EFFORTS}')
    return recording.effort


class StampedRecording(NamedTuple):
    """A recording, and the times of its samples."""

    recording: Recording
    stamps: Array  # (k,) ns, of the headers; all 0 without
    logged: Array  # (k,) ns, of the recorder


def by_joint(
    samples: Sequence[JointSample], joint_names: Sequence[str], effort_unit: str = UNKNOWN
) -> Recording:
    """Return the samples with these joints, others ignored.

    Time is that of the headers, or of the recorder if they have none; among samples with a stamp,
    those with stamp 0 are omitted. If most samples have no
    velocities, velocities count as not measured; otherwise samples without are omitted.

    Raises:
        RecordingError: a joint is missing, has no efforts, or no sample is complete.
    """
    return cleaned(samples, joint_names, effort_unit).recording


def cleaned(
    samples: Sequence[JointSample],
    joint_names: Sequence[str],
    effort_unit: str = UNKNOWN,
    efforts: bool = True,
) -> StampedRecording:
    """Return the samples as `by_joint`, and when they were; without efforts, none are needed."""
    names, left_out, notes = tuple(joint_names), Counter[str](), []
    require_names('joint states', samples, names)
    complete, rows = _complete(samples, names, left_out, efforts)
    stamps, logged = (
        np.array([getattr(sample, clock) for sample in complete]) for clock in ('stamp', 'logged')
    )
    if stamps.any():
        left_out[UNSTAMPED] += int((stamps == 0).sum())
        rows, stamps, logged = (x[stamps != 0] for x in (rows, stamps, logged))
    else:
        notes.append("headers without stamps: time is the recorder's")
    times = stamps if stamps.any() else logged
    t = (times - times[0]) / SECOND
    notes += _out_of_range(rows, names)
    kept = _kept(t, rows, names, left_out, efforts)
    q, qd, effort = (rows[kept, i] for i in (POSITION, VELOCITY, EFFORT))
    measured = bool(np.isfinite(qd).all())
    if measured and not qd.any() and np.ptp(q, axis=0).max() > STANDING:
        measured = False  # drivers publish 0 for what they do not measure
    if not measured:
        notes.append('no velocities: they are derivatives of the positions')
    if efforts:
        notes += [f'{names[j]}: all efforts are 0' for j in np.flatnonzero(~effort.any(axis=0))]
    found = Recording(
        names,
        t[kept],
        q,
        qd if measured else None,
        effort if efforts else None,
        +left_out,
        tuple(notes),
        effort_unit,
    )
    return StampedRecording(found, stamps[kept], logged[kept])


def stated(recording: Recording, efforts: str | None, scaled: bool) -> Recording:
    """Return a recording with the unit of its efforts that a user states.

    Args:
        recording: with the unit of its file.
        efforts: torques, currents or link-side torques; None: as the file states.
        scaled: a factor to N m or N is given for every joint.

    Raises:
        RecordingError: torques are stated of currents without such a factor.
    """
    unit = recording.effort_unit
    if efforts is None:
        lacking = unit == UNKNOWN and not scaled and UNSTATED not in recording.notes
        return replace(recording, notes=(*recording.notes, UNSTATED)) if lacking else recording
    if efforts == 'currents':
        return replace(recording, effort_unit=CURRENT)
    if unit == CURRENT and not scaled:
        raise RecordingError(
            f'the efforts are currents by the header of the file, and {efforts} by the option; '
            'expected --efforts currents, or --effort-scale, N m or N per A of every joint'
        )
    return recording if unit == CURRENT else replace(recording, effort_unit=TORQUE)


def scale_of(model: RobotModel, effort_scale: ArrayLike | None, unit: str = UNKNOWN) -> Array:
    """Return the factors (n,) from recorded efforts to N m or N.

    Args:
        model: of n joints.
        effort_scale: one number or (n,); None: 1, as of torques.
        unit: of the recorded efforts.

    Raises:
        ShapeError: there is neither one number nor one for each joint.
        RecordingError: one is 0 or not finite, or currents have none.
    """
    if effort_scale is None and unit == CURRENT:
        raise RecordingError(
            f'the efforts of {", ".join(model.joint_names)} are currents of unknown scale; '
            'expected N m or N per A of every joint: --effort-scale, or --params of identify'
        )
    effort_scale = 1.0 if effort_scale is None else effort_scale
    scale = per_joint('effort_scale', effort_scale, model.joint_names)
    if not (np.isfinite(scale).all() and scale.all()):
        raise RecordingError(
            f'effort_scale is {scale.tolist()}; expected finite numbers other than 0'
        )
    return scale


def require_names(what: str, samples: Sequence[JointSample], names: tuple[str, ...]) -> None:
    """Raise MissingJointsError unless some samples of each joint are there."""
    seen = dict.fromkeys(name for known in {s.names for s in samples} for name in known)
    missing = [name for name in names if name not in seen]
    if missing:
        raise MissingJointsError(
            f'no {what} of {", ".join(missing)}; there are {", ".join(seen) or "none"}: '
            'another robot, or joints to be locked',
            missing,
        )


def _complete(
    samples: Sequence[JointSample],
    names: tuple[str, ...],
    left_out: Counter[str],
    efforts: bool,
) -> tuple[list[JointSample], Array]:
    """Return the samples that have all joints, and their rows (k, 3, n); count the others."""
    complete, rows = [], []
    for sample in samples:
        row = _row(sample, names, efforts)
        if isinstance(row, str):
            left_out[row] += 1
        else:
            complete.append(sample)
            rows.append(row)
    if not complete:
        reasons = ', '.join(f'{count} {reason}' for reason, count in left_out.items())
        raise RecordingError(f'none of {len(samples)} samples can be used: {reasons}')
    return complete, np.array(rows)


def _row(sample: JointSample, names: tuple[str, ...], efforts: bool) -> Array | str:
    """Return (3, n) position, velocity (NaN if absent) and effort, or the reason for omission."""
    position, velocity, effort = sample.position, sample.velocity, sample.effort
    if not efforts:
        effort = np.zeros(len(position))
        velocity = velocity if np.isfinite(velocity).all() else velocity[:0]
    if len(effort) == 0:
        return NO_EFFORT
    if len(velocity) == 0:
        velocity = np.full(len(position), np.nan)
    if not len(sample.names) == len(position) == len(velocity) == len(effort):
        return CONTRADICTORY
    try:
        columns = [sample.names.index(name) for name in names]
    except ValueError:
        return INCOMPLETE
    return np.array([position, velocity, effort])[:, columns]


def _kept(
    t: Array, rows: Array, names: tuple[str, ...], left_out: Counter[str], efforts: bool
) -> Array:
    """Return the indices of usable, distinct measurements in rows (k, 3, n); count the others."""
    usable = _finite(rows, names)
    left_out[NOT_FINITE] += int((~usable).sum())
    in_range = ~(np.abs(rows) > LIMITS).any(
        axis=(1, 2)
    )  # NaN counts as in range: it may be an absent velocity
    left_out[OUT_OF_RANGE] += int((usable & ~in_range).sum())
    usable = usable & in_range
    if not usable.any():
        raise RecordingError(
            f'no sample of {len(rows)} can be used: {"; ".join(_out_of_range(rows, names))}'
        )
    measured = np.asarray(np.isfinite(rows[:, VELOCITY]).all(axis=1))
    if measured[usable].mean() > 0.5:
        left_out[NO_VELOCITY] += int((usable & ~measured).sum())
        usable = usable & measured
    on = rows[:, EFFORT].any(axis=1) | (not efforts)
    left_out[DRIVES_OFF] += int((usable & ~on).sum())
    kept = np.flatnonzero(usable & on)
    if not len(kept):
        raise RecordingError(f'all efforts are 0 in {len(rows)} samples: they are not measured')
    for reason, again in ((REPEATED, _same_stamp), (STALE, _same_state)):
        repeats = kept[1:][again(t[kept], rows[kept])]
        left_out[reason] += len(repeats)
        kept = np.setdiff1d(kept, repeats)
    return kept


def _out_of_range(rows: Array, names: tuple[str, ...]) -> list[str]:
    """Return a note for each joint with finite values (k, 3, n) beyond LIMITS."""
    size = np.where(np.isfinite(rows), np.abs(rows), 0.0)
    return [
        f'{names[j]}: {kind} {rows[size[:, i, j].argmax(), i, j]:.3g}, expected at most {limit:g}'
        for i, (kind, limit) in enumerate(zip(KINDS, LIMITS[:, 0], strict=True))
        for j in np.flatnonzero((size[:, i] > limit).any(axis=0))
    ]


def _finite(rows: Array, names: tuple[str, ...]) -> Array:
    """Return a mask (k,) of rows with finite positions and efforts."""
    result = np.ones(len(rows), dtype=bool)
    for quantity, i in (('positions', POSITION), ('efforts', EFFORT)):
        finite = np.isfinite(rows[:, i])
        missing = [names[j] for j in np.flatnonzero(~finite.any(axis=0))]
        if missing:
            raise MissingJointsError(
                f'{", ".join(missing)} has no finite {quantity} in any of {len(rows)} samples',
                missing,
            )
        result &= finite.all(axis=1)
    if not result.any():
        raise RecordingError(f'each of {len(rows)} samples has a value that is not finite')
    return result


def _same_stamp(t: Array, _: Array) -> Array:
    """Return a mask (k - 1,) of samples with the stamp of the previous one."""
    return np.asarray(np.diff(t) == 0)


def _same_state(_: Array, rows: Array) -> Array:
    """Return a mask of samples in motion that equal the previous one.

    They were published faster than they were measured.
    """
    same = (np.diff(rows[:, (POSITION, EFFORT)], axis=0) == 0).all(axis=(1, 2))
    return np.asarray(same & (np.abs(rows[1:, VELOCITY]) > STANDING).any(axis=1))


def earlier(t: Array, x: Array, delay: float) -> Array:
    """Return values (k, n) at the times t + delay, linear between samples.

    Args:
        t: (k,) s; where it decreases, the clock was set back.
        x: (k, n) values at t.
        delay: s, of either sign.
    """
    edges = np.flatnonzero(np.diff(t) <= 0) + 1
    parts = zip(np.split(t, edges), np.split(x, edges), strict=True)
    moved = [np.column_stack([np.interp(s + delay, s, y) for y in part.T]) for s, part in parts]
    return np.concatenate(moved)


def moves(qd: Array) -> Array:
    """Return a mask of moving joints, of the shape of qd."""
    return np.asarray(np.abs(qd) > STANDING)
