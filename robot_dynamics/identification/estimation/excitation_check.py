# SPDX-License-Identifier: Apache-2.0
"""Whether a recording identifies an arm, and what to record otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coulomb import sliding_direction
from robot_dynamics.identification.estimation.identified_validation import Validation
from robot_dynamics.identification.estimation.observations import Observations
from robot_dynamics.recordings.recording import RecordingError

RANGE = 0.05  # rad or m: a joint that travels less does not move
MOVING = 0.05  # of the rows, and
ROWS = 20  # : fewer in motion determine no friction
SECONDS = 2.0  # of motion of some joint, at least
UNEXPLAINED = 0.7  # of the effort's standard deviation: more on most joints is no prediction
OTHER_ORDER = 0.5  # times the residual: an order of the joints that leaves less is theirs
ORDER_ROWS = 300  # that decide on the order
LEAST = 1e-3  # share of an effort that counts as explained
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


def require_motion(arm: Dynamics, seen: Observations, joints: Sequence[str]) -> None:
    """Raise RefusedError if most joints are at rest, the motion is too short, or permuted.

    Args:
        arm: of joints, or of their motors.
        seen: its rows.
        joints: that can be locked; motors of coupled joints cannot.
    """
    on = _in_motion(seen)
    idle = [name for name, moves in zip(arm.model.joint_names, on, strict=True) if not moves]
    if 2 * len(idle) > len(on):
        largest = float(np.ptp(seen.q, axis=0).max())
        at = dict(zip(arm.model.joint_names, np.median(seen.q, axis=0), strict=True))
        where = ' '.join(f'{name}={at[name]:.4g}' for name in idle if name in joints)
        raise LowExcitationError(
            f'{len(idle)} of {len(on)} joints do not move enough ({", ".join(idle)}; largest '
            f'range {largest:.3g} rad or m): {ADVICE}'
            + (f', or lock those that cannot move: --lock {where}' if where else '')
        )
    step = float(np.median(np.diff(seen.t)))
    seconds = float((seen.moving & on).any(axis=1).sum()) * step
    if seconds < SECONDS:
        raise LowExcitationError(
            f'the joints move for {seconds:.3g} s; expected at least {SECONDS:g} s: {ADVICE}'
        )
    _require_order(arm, seen)


def _require_order(arm: Dynamics, seen: Observations) -> None:
    """Raise RefusedError if the description predicts the efforts far better in another order."""
    every = max(1, len(seen.t) // ORDER_ROWS)
    rows = np.stack([x[::every] for x in (seen.q, seen.qd, seen.qdd, seen.effort)])
    names, given = np.array(arm.model.joint_names), np.arange(arm.model.n)
    starts = [given, given[::-1], *(np.roll(given, k) for k in (1, -1))]
    ends = [_best_order(arm, rows, start) for start in starts]
    order, size = min(ends, key=lambda end: end[1])
    if size < OTHER_ORDER * _unexplained(arm, rows, given):
        moved = [f'{names[k]} as {names[j]}' for j, k in enumerate(order) if j != k]
        raise RefusedError(
            f'the joints appear to be in another order: the description explains the efforts of '
            f'{", ".join(moved)}; check the names in the recording, and {ADVICE}'
        )


def _best_order(arm: Dynamics, rows: Array, order: Array) -> tuple[Array, float]:
    """Return an order that no exchange of two joints makes better, and what it leaves."""
    size = _unexplained(arm, rows, order)
    while True:
        exchanges = []
        for pair in combinations(range(len(order)), 2):
            other = order.copy()
            other[list(pair)] = order[list(pair[::-1])]
            exchanges.append((other, _unexplained(arm, rows, other)))
        if not exchanges or (best := min(exchanges, key=lambda one: one[1]))[1] >= size:
            return order, size
        order, size = best


def _unexplained(arm: Dynamics, rows: Array, order: Array) -> float:
    """Return the residual of the joints in an order, relative to their efforts (geometric mean).

    Args:
        arm: the description; its gravity and inertia torques are scaled, and friction is added.
        rows: (4, K, n) q, qd, qdd and efforts.
        order: (n,) indices: joint j is recorded as the joint order[j].
    """
    q, qd, qdd, effort = rows[..., order]
    g = arm.gravity_torque(q)
    columns = (g, arm.inverse_dynamics(q, qd, qdd) - g, qd, sliding_direction(qd), qdd)
    A = np.stack([*columns, np.ones_like(g)]).transpose(2, 1, 0)  # (n, K, 6)
    size = np.linalg.norm(A, axis=1, keepdims=True)
    A = A / np.where(size > 0, size, 1.0)
    b = effort.T[..., None]
    left = b - A @ (np.linalg.pinv(A, rcond=1e-6) @ b)
    share = left.std(axis=1) / np.maximum(b.std(axis=1), 1e-300)
    return float(np.exp(np.log(share + LEAST).mean()))


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
