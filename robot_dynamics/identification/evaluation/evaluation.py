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
from robot_dynamics.identification.evaluation.cause_columns import (
    OF_JOINTS,
    OF_MOTION,
    STATED,
    Columns,
    Comparison,
    columns_of,
)
from robot_dynamics.identification.evaluation.causes import find_causes
from robot_dynamics.identification.evaluation.hypotheses import Findings
from robot_dynamics.identification.recordings.drives import AS_DESCRIBED, Drives
from robot_dynamics.identification.recordings.gravity_setting import Posture, Postures, remedy
from robot_dynamics.identification.recordings.noise import motion_noise
from robot_dynamics.identification.recordings.plausibility import require_joints
from robot_dynamics.identification.recordings.recording import (
    Recording,
    RecordingError,
    moves,
    scale_of,
)
from robot_dynamics.identification.recordings.smoothing import (
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
        noise: root mean square of the recorded efforts above the cut-off frequency.
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
    noise: Array
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
    recorded = recording.effort
    recording = drives.aligned(replace(recording, effort=scale * recorded))
    of_motion = cutoff_of(recording)
    cutoff = of_motion if cutoff is None else cutoff
    stretches, not_smooth = smooth(recording, cutoff)
    shown = arm.with_gravity(np.zeros(3)) if effort_gravity_compensated else arm
    curves = _curves(shown, stretches, drives)
    for j in np.flatnonzero(~(np.abs(curves.residual) < LARGEST).all(axis=0)):
        raise RecordingError(
            f'{arm.model.joint_names[j]}: efforts up to {np.abs(recorded[:, j]).max():.3g}'
            f' with effort_scale {scale[j]:.3g}, or torques of the model, are too large to compare'
        )
    measured = np.asarray(recording.effort.any(axis=0))
    offset = np.asarray(drives.offset)
    at_rest = remedy(arm, _postures(stretches), 1.0, offset, effort_gravity_compensated)
    notes = (*recording.notes, *([at_rest] if at_rest else []))
    if cutoff > FAR_ABOVE * of_motion:
        measured = np.zeros_like(measured)
        notes = (
            *notes,
            f'causes are not searched: the motion ends at {of_motion:.3g} Hz, noise of velocities '
            f'and accelerations passes {cutoff:g} Hz; omit the cut-off frequency',
        )
    computed, effort = rms(curves.model).max(), rms(curves.effort).max()
    if measured.any() and computed > COMPARABLE * effort:
        measured = np.zeros_like(measured)
        notes = (
            *notes,
            f'causes are not searched: torques of the model are {computed:.3g} N m or N, efforts '
            f'{effort:.3g}; check gravity, masses and effort_scale',
        )
    columns = columns_of(shown, stretches, drives)
    noise = motion_noise(recording)
    noisy = [noise.added(recording, np.random.default_rng(0), sign) for sign in (1.0, -1.0)]
    perturbed = [columns_of(shown, smooth(one, cutoff)[0], drives) for one in noisy]
    stated = {kind: drives.errors[name] for kind, name in STATED.items() if name in drives.errors}
    compared = Comparison(shown, link, columns, perturbed, rms(curves.effort), measured, stated)
    findings, torque = find_causes(compared)
    torque = _at_all_times(columns, torque, stretches)
    curves = curves._replace(corrected=curves.model + torque)
    return Evaluation(
        robot=arm.model.name,
        joint_names=arm.model.joint_names,
        units=arm.model.effort_units,
        gravity=shown.model.gravity,
        rate=1 / stretches[0].step,
        cutoff=cutoff,
        curves=curves,
        stretches=len(stretches),
        left_out={**recording.left_out, **not_smooth},
        notes=notes,
        noise=rms(np.concatenate([_above_cutoff(stretch) for stretch in stretches])),
        moving=moves(curves.qd).mean(axis=0),
        correlations=_correlations(columns),
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
