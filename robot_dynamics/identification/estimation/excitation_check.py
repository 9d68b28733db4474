# SPDX-License-Identifier: Apache-2.0
"""Whether a recording identifies an arm, and what to record otherwise."""

from __future__ import annotations

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.estimation.base_fit import BaseEstimate
from robot_dynamics.identification.estimation.identified_validation import Validation
from robot_dynamics.identification.estimation.observations import Observations
from robot_dynamics.identification.recordings.recording import RecordingError
from robot_dynamics.spatial import Array

RANGE = 0.05  # rad or m: a joint that travels less does not move
MOVING = 0.05  # of the rows, and
ROWS = 20  # : fewer in motion determine no friction
SECONDS = 5.0  # of motion of some joint, at least
SHARE = 0.25  # of the base parameters, at least, must be determined
UNEXPLAINED = 0.7  # of the effort's standard deviation: more on all joints is no prediction
ADVICE = (
    'record a motion of all joints through much of their range, with reversals, for 20 s or more, '
    'as `robot-dynamics excite` writes it'
)


class LowExcitationError(RecordingError):
    """A recording excites too little of the dynamics."""


def excited_joints(seen: Observations) -> Array:
    """Return a mask (n,) of joints whose friction and rotor inertia the motion shows."""
    return np.asarray(_in_motion(seen) & (seen.moving.sum(axis=0) >= ROWS))


def _in_motion(seen: Observations) -> Array:
    travels = np.ptp(seen.q, axis=0) > RANGE
    travels &= seen.effort.any(axis=0)
    return np.asarray(travels & (seen.moving.mean(axis=0) >= MOVING))


def require_motion(arm: Dynamics, seen: Observations) -> None:
    """Raise LowExcitationError if most joints are at rest, or the motion is too short."""
    on = _in_motion(seen)
    idle = [name for name, moves in zip(arm.model.joint_names, on, strict=True) if not moves]
    if 2 * len(idle) > len(on):
        largest = float(np.ptp(seen.q, axis=0).max())
        raise LowExcitationError(
            f'{len(idle)} of {len(on)} joints do not move enough ({", ".join(idle)}; largest '
            f'range {largest:.3g} rad or m): {ADVICE}, or lock those that cannot move: '
            f'--lock {" ".join(idle)}'
        )
    step = float(np.median(np.diff(seen.t)))
    seconds = float((seen.moving & on).any(axis=1).sum()) * step
    if seconds < SECONDS:
        raise LowExcitationError(
            f'the joints move for {seconds:.3g} s; expected at least {SECONDS:g} s: {ADVICE}'
        )


def require_information(base: BaseEstimate) -> None:
    """Raise LowExcitationError if too few base parameters are determined."""
    found, number = int(base.determined.sum()), len(base.value)
    if found < SHARE * number:
        raise LowExcitationError(
            f'the motion determines {found} of {number} base parameters (condition number '
            f'{base.condition:.3g}): {ADVICE}'
        )


def require_prediction(arm: Dynamics, v: Validation) -> None:
    """Raise RecordingError if the identified model predicts no joint's efforts."""
    measured = v.effort.any(axis=0)
    share = v.after_rms[measured] / np.maximum(v.effort.std(axis=0)[measured], 1e-300)
    if (share > UNEXPLAINED).all():
        names = np.array(arm.model.joint_names)[measured]
        left = ', '.join(
            f'{100 * x:.0f} % of {name}' for x, name in zip(share, names, strict=True)
        )
        raise RecordingError(
            f'the efforts do not follow from the motion: the fit leaves {left} unexplained; check '
            'robot, order of joints, units of positions, and what the efforts are (--efforts)'
        )
