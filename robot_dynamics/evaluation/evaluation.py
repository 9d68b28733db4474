# SPDX-License-Identifier: Apache-2.0
"""Comparison of measured efforts with the torques of a model.

    residual = effort_scale * effort - (M qdd + C qd + g + friction(qd) + offset)

as `dynamics_node` publishes it, but without lag: see `smoothing`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.joint_values import rms
from robot_dynamics.evaluation.cause_columns import (
    OF_JOINTS,
    OF_MOTION,
    STATED,
    Columns,
    Comparison,
    columns_of,
)
from robot_dynamics.evaluation.causes import find_causes
from robot_dynamics.evaluation.hypotheses import Findings
from robot_dynamics.recordings.drives import AS_DESCRIBED, Drives
from robot_dynamics.recordings.gravity_setting import Posture, Postures, remedy
from robot_dynamics.recordings.noise import motion_noise
from robot_dynamics.recordings.plausibility import require_joints
from robot_dynamics.recordings.recording import (
    Recording,
    RecordingError,
    efforts_of,
    moves,
    scale_of,
)
from robot_dynamics.recordings.smoothing import (
    Stretch,
    cutoff_of,
    smooth,
)

FAR_ABOVE = 2.0  # times the frequency where the motion ends: above it, noise prevails
LARGEST = 1e100  # N m or N: sums of squares of more may overflow
COMPARABLE = 1e6  # ratio of torques and efforts, beyond which fits have no digits left
CONSTANT = 1e-3  # of its root mean square: an effort that changes less is constant


class Curves(NamedTuple):
    """Measured and computed values at the same times; arrays (k, n) except t."""

    t: Array  # (k,) s
    q: Array
    qd: Array
    qdd: Array
    effort: Array  # measured, N m or N
    model: Array  # computed
    corrected: Array  # computed, with the causes

    @property
    def residual(self) -> Array:
        """Measured effort minus computed torque (k, n)."""
        return np.asarray(self.effort - self.model)


@dataclass(frozen=True, eq=False)
class Evaluation(Findings):
    """Comparison of a recording with a model, and the causes found; arrays (n,) in N m or N.

    Attributes:
        robot: its name.
        joint_names: n names.
        units: of their efforts.
        gravity: (3,) of the model, base frame, m/s^2; zero if the efforts exclude it.
        rate: samples per second.
        cutoff: of the low-pass, Hz.
        curves: over time.
        stretches: number of stretches without a gap.
        left_out: number of omitted samples, by reason.
        notes: remarks on the recording.
        removed: root mean square of the recorded efforts above the cut-off frequency. The noise
            of `identify` is that of the efforts below it.
        moving: share of the time in which the joint moves.
        correlations: of the residual with gravity torque, sign(qd), qd and qdd, -1 to 1; NaN if
            one of them is constant.
    """

    robot: str
    joint_names: tuple[str, ...]
    units: tuple[str, ...]
    gravity: Array
    rate: float
    cutoff: float
    curves: Curves
    stretches: int
    left_out: Mapping[str, int]
    notes: tuple[str, ...]
    removed: Array
    moving: Array
    correlations: Mapping[str, Array]

    @property
    def rms_effort(self) -> Array:
        """Root mean square of the measured efforts."""
        return rms(self.curves.effort)

    @property
    def rms_residual(self) -> Array:
        """Root mean square of the residuals."""
        return rms(self.curves.residual)

    @property
    def largest(self) -> Array:
        """The largest absolute residuals."""
        return np.asarray(np.abs(self.curves.residual).max(axis=0))

    @property
    def bias(self) -> Array:
        """The mean residuals."""
        return np.asarray(self.curves.residual.mean(axis=0))

    @property
    def explained(self) -> Array:
        """R^2: 1 if the model explains all changes of the effort, 0 for its mean alone.

        Negative for a model worse than that; NaN if the effort is constant.
        """
        changes = self.curves.effort.std(axis=0)
        with np.errstate(divide='ignore', invalid='ignore'):
            share = 1 - (self.rms_residual / changes) ** 2
        return np.asarray(np.where(changes > CONSTANT * self.rms_effort, share, np.nan))


def evaluate(
    arm: Dynamics,
    recording: Recording,
    *,
    effort_scale: ArrayLike | None = None,
    effort_gravity_compensated: bool = False,
    cutoff: float | None = None,
    load_link: str = '',
    drives: Drives = AS_DESCRIBED,
) -> Evaluation:
    """Compare recorded efforts with the torques of a model, and search causes of the residual.

    Args:
        arm: the model, with its gravity and payloads.
        recording: of the same joints in the same order, as `by_joint` makes it.
        effort_scale: recorded effort times this is N m or N, one for all joints or (n,); None:
            1, except of currents.
        effort_gravity_compensated: the recorded effort does not include the gravity torque.
        cutoff: Hz, of the low-pass; by default where the spectrum of the motion ends.
        load_link: link of a payload missing from the model; the last link if omitted.
        drives: friction law, offset and delay, if identified; by default the model's friction.

    Raises:
        ShapeError: effort_scale is neither one number nor (n,).
        RecordingError: other joints, a scale of 0, currents without one, too few samples for the
            cut-off frequency, or efforts too large to compare.
        FrameNotFound: no such link.
    """
    require_joints(recording, arm.model)
    scale = scale_of(arm.model, effort_scale, recording.effort_unit)
    link = load_link or arm.model.moving_links[-1]
    arm.model.frame_index(link)
    scaled = replace(recording, effort=scale * efforts_of(recording))
    motion = _smoothed(drives.aligned(scaled), cutoff)
    shown = arm.with_gravity(np.zeros(3)) if effort_gravity_compensated else arm
    curves = _curves(shown, motion.stretches, drives)
    _require_comparable(arm.model.joint_names, efforts_of(recording), scale, curves)
    postures, offset = _postures(motion.stretches), np.asarray(drives.offset)
    at_rest = remedy(arm, postures, 1.0, offset, effort_gravity_compensated)
    obstacle = _obstacle(motion, curves)
    compared = _comparison(shown, link, motion, drives, rms(curves.effort))
    if obstacle:
        compared = compared._replace(measured=np.zeros_like(compared.measured))
    findings, torque = find_causes(compared)
    torque = _at_all_times(compared.columns, torque, motion.stretches)
    curves = curves._replace(corrected=curves.model + torque)
    remarks = [remark for remark in (at_rest, obstacle) if remark]
    return _evaluation(compared, motion, curves, findings, remarks)


class _Smoothed(NamedTuple):
    """A recording in N m or N, and its motion through a low-pass."""

    recording: Recording
    stretches: Sequence[Stretch]
    left_out: Mapping[str, int]  # number of samples in no stretch, by reason
    cutoff: float  # Hz, of the low-pass
    of_motion: float  # Hz, where the spectrum of the motion ends

    @property
    def measured(self) -> Array:
        """(n,) bool: the joint has measured efforts."""
        return np.asarray(efforts_of(self.recording).any(axis=0))


def _smoothed(recording: Recording, cutoff: float | None) -> _Smoothed:
    of_motion = cutoff_of(recording)
    cutoff = of_motion if cutoff is None else cutoff
    stretches, not_smooth = smooth(recording, cutoff)
    left_out = {**recording.left_out, **not_smooth}
    return _Smoothed(recording, stretches, left_out, cutoff, of_motion)


def _require_comparable(
    names: tuple[str, ...], recorded: Array, scale: Array, curves: Curves
) -> None:
    """Raise RecordingError if sums of squares of a joint's residuals may overflow."""
    for j in np.flatnonzero(~(np.abs(curves.residual) < LARGEST).all(axis=0)):
        raise RecordingError(
            f'{names[j]}: efforts up to {np.abs(recorded[:, j]).max():.3g}'
            f' with effort_scale {scale[j]:.3g}, or torques of the model, are too large to compare'
        )


def _obstacle(motion: _Smoothed, curves: Curves) -> str:
    """Return why causes are not searched, as a remark; empty if they are."""
    if motion.cutoff > FAR_ABOVE * motion.of_motion:
        return (
            f'causes are not searched: the motion ends at {motion.of_motion:.3g} Hz, noise of '
            f'velocities and accelerations passes {motion.cutoff:g} Hz; omit the cut-off frequency'
        )
    computed, effort = rms(curves.model).max(), rms(curves.effort).max()
    if motion.measured.any() and computed > COMPARABLE * effort:
        return (
            f'causes are not searched: torques of the model are {computed:.3g} N m or N, efforts '
            f'{effort:.3g}; check gravity, masses and effort_scale'
        )
    return ''


def _comparison(
    arm: Dynamics, link: str, motion: _Smoothed, drives: Drives, effort: Array
) -> Comparison:
    """Return what the search of causes compares.

    Args:
        arm: the model, with the gravity that efforts show.
        link: of a possible payload.
        motion: the recording.
        drives: friction, offset and stated errors.
        effort: (n,) root mean square of the measured efforts.
    """
    recording = motion.recording
    noise = motion_noise(recording)
    noisy = [noise.added(recording, np.random.default_rng(0), sign) for sign in (1.0, -1.0)]
    return Comparison(
        arm=arm,
        link=link,
        columns=columns_of(arm, motion.stretches, drives),
        perturbed=[columns_of(arm, smooth(one, motion.cutoff)[0], drives) for one in noisy],
        effort=effort,
        measured=motion.measured,
        stated={
            kind: drives.errors[name] for kind, name in STATED.items() if name in drives.errors
        },
    )


def _evaluation(
    compared: Comparison,
    motion: _Smoothed,
    curves: Curves,
    findings: Findings,
    remarks: Sequence[str],
) -> Evaluation:
    """Return the result of a comparison, with its findings."""
    model = compared.arm.model
    return Evaluation(
        robot=model.name,
        joint_names=model.joint_names,
        units=model.effort_units,
        gravity=model.gravity,
        rate=1 / motion.stretches[0].step,
        cutoff=motion.cutoff,
        curves=curves,
        stretches=len(motion.stretches),
        left_out=motion.left_out,
        notes=(*motion.recording.notes, *remarks),
        removed=rms(np.concatenate([_above_cutoff(stretch) for stretch in motion.stretches])),
        moving=moves(curves.qd).mean(axis=0),
        correlations=_correlations(compared.columns),
        **vars(findings),
    )


def _postures(stretches: Sequence[Stretch]) -> Sequence[Posture]:
    postures = Postures()
    for s in stretches:
        for sample in zip(s.t, s.q, s.qd, s.effort, strict=True):
            postures.add(*sample)
    return postures.found


def _curves(arm: Dynamics, stretches: Sequence[Stretch], drives: Drives) -> Curves:
    parts = []
    for s in stretches:
        motion = (x[s.inner] for x in (s.t, s.q, s.qd, s.qdd))
        computed = s.smoothed(drives.effort(arm, s.q, s.qd, s.qdd))
        parts.append((*motion, s.smoothed(s.effort), computed, computed))
    return Curves(*map(np.concatenate, zip(*parts, strict=True)))


def _at_all_times(columns: Columns, torque: Array, stretches: Sequence[Stretch]) -> Array:
    """Return torques (k, n) at all samples of the stretches, from those of the columns (G, n)."""
    from scipy.interpolate import CubicSpline

    ends = np.cumsum(columns.lengths)[:-1]
    parts = zip(np.split(columns.t, ends), np.split(torque, ends), stretches, strict=True)
    return np.concatenate([CubicSpline(t, x)(s.t[s.inner]) for t, x, s in parts])


def _correlations(columns: Columns) -> dict[str, Array]:
    """Return correlations (n,) of residuals with gravity torque and motion, by name."""
    others = {
        'gravity': columns.gravity_torque,
        **dict(zip(OF_JOINTS[OF_MOTION], columns.of_joints[OF_MOTION], strict=True)),
    }
    del others['Stribeck friction']
    return {name: _correlation(columns.residual, other) for name, other in others.items()}


def _correlation(x: Array, y: Array) -> Array:
    """Return Pearson's coefficient (n,) of each column; NaN where one of the two is constant."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    sizes = np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0))
    with np.errstate(divide='ignore', invalid='ignore'):
        return np.asarray(np.where(sizes > 0, (x * y).sum(axis=0) / sizes, np.nan))


def _above_cutoff(s: Stretch) -> Array:
    return np.asarray(s.effort[s.inner] - s.smoothed(s.effort))
