# SPDX-License-Identifier: Apache-2.0
"""Whether a recording identifies an arm, and what to record otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.estimation.identified_validation import Validation
from robot_dynamics.identification.estimation.observations import Observations
from robot_dynamics.identification.recordings.recording import RecordingError
from robot_dynamics.spatial import Array

RANGE = 0.05  # rad or m: a joint that travels less does not move
MOVING = 0.05  # of the rows, and
ROWS = 20  # : fewer in motion determine no friction
SECONDS = 2.0  # of motion of some joint, at least
UNEXPLAINED = 0.7  # of the effort's standard deviation: more on most joints is no prediction
ADVICE = (
    'record a motion of all joints through much of their range, with reversals, for 20 s or more, '
    'as `robot-dynamics excite` writes it'
)


class RefusedError(RecordingError):
    """A recording can be read, but a model identified from it would not be right."""


class LowExcitationError(RefusedError):
    """A recording excites too little of the dynamics."""


def refused(error: RefusedError) -> None:
    """Raise the error: no refusal is overridden."""
    raise error


class Refusals:
    """Refusals of recordings, which may be overridden.

    Args:
        refuse: called with each; if it returns, the refusal is overridden.
    """

    def __init__(self, refuse: Callable[[RefusedError], None]):
        self._refuse = refuse
        self.overridden: list[str] = []

    @contextmanager
    def __call__(self, recording: str = '') -> Iterator[None]:
        """Run a check of a recording, named in the message."""
        try:
            yield
        except RefusedError as error:
            self._refuse(type(error)(f'{recording}{error}'))
            self.overridden.append(f'identified although refused: {recording}{error}')


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
        at = dict(zip(arm.model.joint_names, np.median(seen.q, axis=0), strict=True))
        where = [f'{name}={at[name]:.4g}' for name in idle]
        raise LowExcitationError(
            f'{len(idle)} of {len(on)} joints do not move enough ({", ".join(idle)}; largest '
            f'range {largest:.3g} rad or m): {ADVICE}, or lock those that cannot move: '
            f'--lock {" ".join(where)}'
        )
    step = float(np.median(np.diff(seen.t)))
    seconds = float((seen.moving & on).any(axis=1).sum()) * step
    if seconds < SECONDS:
        raise LowExcitationError(
            f'the joints move for {seconds:.3g} s; expected at least {SECONDS:g} s: {ADVICE}'
        )


def require_prediction(arm: Dynamics, v: Validation) -> None:
    """Raise RefusedError if the identified model predicts the efforts of less than half."""
    measured = v.effort.any(axis=0)
    share = v.after_rms[measured] / np.maximum(v.effort.std(axis=0)[measured], 1e-300)
    if 2 * (share > UNEXPLAINED).sum() > len(share):
        names = np.array(arm.model.joint_names)[measured]
        left = ', '.join(
            f'{100 * x:.0f} % of {name}' for x, name in zip(share, names, strict=True)
        )
        raise RefusedError(
            f'the efforts do not follow from the motion: the fit leaves {left} unexplained; check '
            'robot, order of joints, units of positions, the times of the efforts, and what the '
            f'efforts are (--efforts); otherwise {ADVICE}'
        )
