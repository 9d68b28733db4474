# SPDX-License-Identifier: Apache-2.0
"""Columns of a recorded episode: the efforts of the model, and what is left of those measured.

    effort_model = M(q) qdd + C(q, qd) qd + g(q) + friction(qd) + offset
    effort_external = effort - effort_model

The motion passes a low-pass without lag, so that no value depends on a filter's delay; it has no
value at the ends of an episode and beside gaps. The sign of dry friction is unknown at rest: there
effort_external is uncertain by the Coulomb friction of the joint.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.recordings.drives import AS_DESCRIBED, Drives
from robot_dynamics.recordings.plausibility import require_joints
from robot_dynamics.recordings.recording import (
    Recording,
    RecordingError,
    scale_of,
)
from robot_dynamics.recordings.recording_files import LONGEST_STEP
from robot_dynamics.recordings.sampling import resampled
from robot_dynamics.recordings.smoothing import cutoff_of, smooth


def with_effort_columns(
    arm: Dynamics,
    episode: Mapping[str, ArrayLike],
    *,
    effort_scale: ArrayLike | None = None,
    drives: Drives = AS_DESCRIBED,
    cutoff: float | None = None,
) -> dict[str, Array]:
    """Return the arrays of an episode of k samples, and two more, (k, n) [N m or N].

    Args:
        arm: the robot with what it carries.
        episode: `t` (k,) s, increasing, `q` (k, n) rad or m; maybe `qd` (k, n), `effort` (k, n)
            as measured, and other arrays.
        effort_scale: N m or N per unit of `effort`, one number or (n,): 1 where it is in N m.
        drives: friction, offset and delay; those of the description by default.
        cutoff: Hz, of torques; None: it is found.

    Returns:
        Also `effort_model`, and with `effort` `effort_external`; NaN where there is none.

    Raises:
        RecordingError: an array is missing, of another size or not finite, `t` does not increase,
            the scale of the efforts is missing, the episode is too short or too slow, or in
            other units than s, rad and m.
    """
    found = {name: np.array(value) for name, value in episode.items()}
    n, t = arm.model.n, _times(found)
    q, qd = _row(found, 'q', (n,)), _row(found, 'qd', (n,)) if 'qd' in found else None
    if qd is not None and not qd.any():
        qd = None  # drivers publish 0 for what they do not measure
    effort = np.zeros_like(q)
    if 'effort' in found:
        if effort_scale is None:
            raise RecordingError(
                'effort_scale is missing; expected N m or N per unit of effort, 1 for N m'
            )
        effort = scale_of(arm.model, effort_scale) * _row(found, 'effort', (n,))
    recording = Recording(arm.model.joint_names, t, q, qd, effort)
    require_joints(recording, arm.model)
    recording = drives.aligned(recording)
    found['effort_model'] = _model_efforts(arm, recording, drives, cutoff)
    if 'effort' in found:
        found['effort_external'] = recording.effort - found['effort_model']
    return found


def _model_efforts(
    arm: Dynamics, recording: Recording, drives: Drives, cutoff: float | None
) -> Array:
    """Return the efforts (k, n) of the model at the samples; NaN where there are none."""
    efforts, t = np.full(recording.q.shape, np.nan), recording.t
    stretches, _ = smooth(recording, cutoff_of(recording) if cutoff is None else cutoff)
    for stretch in stretches:
        inner = stretch.inner
        even = stretch.t[inner]
        within = (t >= even[0]) & (t <= even[-1])
        motion = (row[inner] for row in (stretch.q, stretch.qd, stretch.qdd))
        efforts[within] = resampled(even, t[within], drives.effort(arm, *motion))
    return efforts


def _times(found: Mapping[str, Array]) -> Array:
    """Return the times (k,) of an episode, s."""
    t = _row(found, 't', ())
    steps = np.diff(t)
    if not (steps > 0).all():
        k = int(np.argmin(steps))
        raise RecordingError(f't is {t[k + 1]} s after {t[k]} s; expected increasing times')
    if len(steps) and (step := float(np.median(steps))) > LONGEST_STEP:
        raise RecordingError(f't: the samples are {step:g} apart; expected seconds')
    return t


def _row(found: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    """Return an array (k, *shape) of an episode."""
    if name not in found:
        raise RecordingError(f'the episode has no {name}; it has {", ".join(found) or "nothing"}')
    k = len(np.atleast_1d(found.get('t', found[name])))
    if found[name].shape != (k, *shape):
        raise RecordingError(f'{name} has shape {found[name].shape}; it must be {(k, *shape)}')
    try:
        values = found[name].astype(float)
    except (TypeError, ValueError) as error:
        raise RecordingError(f'{name} has values that are no numbers') from error
    if not np.isfinite(values).all():
        first = int(np.argmin(np.isfinite(values.reshape(k, -1)).all(axis=1)))
        raise RecordingError(f'{name} of sample {first} is {values[first]}; it must be finite')
    return values
