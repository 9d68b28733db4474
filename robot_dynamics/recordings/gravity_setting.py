# SPDX-License-Identifier: Apache-2.0
"""The setting of `effort_gravity_compensated` that fits the efforts of an arm at rest.

    effort = c g(q) + friction + offset + noise

Efforts include gravity (c = 1), exclude it (c = 0), or count in the other direction (c = -1). One
of these is stated only if it fits all joints that carry much of the weight, in several postures.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.joint_values import rms
from robot_dynamics.recordings.recording import STANDING

STILL = 0.5  # s at rest: a posture
APART = 0.05  # rad or m: postures that differ by less are one
LONGEST_GAP = 0.1  # s between samples: a motion may be missing in a longer one
KEPT = 20  # postures
FEWEST, LEAST_VALUES = 4, 6  # postures, and efforts of the joints that count in them
# Joints count if their gravity torque is at least LOADED times the largest one of the same unit,
# and at least OF_FRICTION times their dry friction.
LOADED, OF_FRICTION = 0.2, 3.0
MISFIT = 0.25  # of the gravity torque of a joint, root mean square: largest that fits
UNRELATED = 0.4  # largest mean of the squared correlations of joints whose efforts exclude gravity

REMEDIES = {
    (0, False): 'they exclude gravity; set effort_gravity_compensated to true',
    (1, True): 'they include gravity; set effort_gravity_compensated to false',
    (-1, False): 'they count in the other direction; multiply effort_scale by -1',
    (-1, True): 'they include gravity and count in the other direction; set '
    'effort_gravity_compensated to false and multiply effort_scale by -1',
}
Posture = tuple[Array, Array]  # positions (n,) and mean efforts (n,)


class Postures:
    """Positions and efforts of an arm in the first moments of rest after each motion.

    Later in a rest, or before the first motion, brakes may hold the arm, with efforts near zero.
    """

    def __init__(self) -> None:
        self.found: deque[Posture] = deque(maxlen=KEPT)
        self._last = self._since = np.inf  # s, of the last sample; begin of the rest
        self._moved = False  # since the last posture
        self._efforts: list[Array] = []

    def add(self, t: float, q: Array, qd: Array, effort: Array) -> bool:
        """Add a sample (n,) of time t [s]; return whether it completes a new posture.

        Efforts may have any unit; all are zero while the drives are off.
        """
        follows = 0 <= t - self._last <= LONGEST_GAP and effort.any()
        moves = bool((np.abs(qd) > STANDING).any())
        self._last = t
        self._moved = bool(follows) and (moves or self._moved)
        if moves or not self._moved:
            self._efforts = []
            return False
        if not self._efforts:
            self._since = t
        self._efforts.append(effort.copy())
        if t - self._since < STILL:
            return False
        self._moved = False
        if any(np.abs(q - other).max() < APART for other, _ in self.found):
            return False
        self.found.append((q.copy(), np.mean(self._efforts, axis=0)))
        return True


def remedy(
    arm: Dynamics,
    postures: Sequence[Posture],
    effort_scale: Array | float,
    effort_offset: Array | float,
    effort_gravity_compensated: bool,
) -> str:
    """Return the setting that fits efforts at rest, in a sentence.

    It is empty if the present setting fits, and if the efforts do not tell: gravity torques are
    small, or friction, noise, a payload or a wrong scale may explain the efforts.

    Args:
        arm: the model, with its gravity and payload.
        postures: as `Postures` finds them.
        effort_scale: scale * effort - offset is in N m or N; a number or (n,).
        effort_offset: likewise.
        effort_gravity_compensated: the present setting.
    """
    if len(postures) < FEWEST:
        return ''
    q = np.array([q for q, _ in postures])
    g = arm.gravity_torque(q)
    y = np.array([effort_scale * effort - effort_offset for _, effort in postures])
    size = rms(g)
    same_unit = np.equal.outer(arm.model.angular, arm.model.angular)
    loaded = size > LOADED * (same_unit * size).max(axis=1)
    loaded &= size > OF_FRICTION * arm.model.coulomb
    if len(postures) * loaded.sum() < LEAST_VALUES:
        return ''
    g, y, size = g[:, loaded], y[:, loaded], size[loaded]
    with np.errstate(over='ignore', invalid='ignore'):  # of efforts that no robot has
        share = (y * g).mean(axis=0) / size**2
        c = np.round(share.mean())
        misfit = rms((y - c * g) / size)
        # Efforts of another unit are small, too, but follow gravity.
        correlation = share * size / np.maximum(rms(y), np.finfo(float).tiny)
    if not (misfit < MISFIT).all() or (c == 0 and (correlation**2).mean() > UNRELATED):
        return ''
    if c and (misfit**2).mean() > _misfit_of_payload(arm, q, y, size, loaded):
        return ''
    words = REMEDIES.get((int(c), effort_gravity_compensated), '')
    names = [arm.model.joint_names[j] for j in np.flatnonzero(loaded)]
    shares = ', '.join(f'{x:.2f} at {name}' for x, name in zip(share, names, strict=True))
    found = f'at rest in {len(postures)} postures, divided by the gravity torque: {shares}'
    return f'efforts {found}; {words}' if words else ''


def _misfit_of_payload(arm: Dynamics, q: Array, y: Array, size: Array, loaded: Array) -> float:
    """Return the mean square of y / size without the torques of a payload of the last body."""
    Y = arm.regressor(q, np.zeros_like(q), np.zeros_like(q))[:, loaded, -10:-6]  # of m and m c
    Y, y = (Y / size[:, None]).reshape(-1, 4), (y / size).ravel()
    found = np.linalg.lstsq(Y, y)[0]
    return float(((y - Y @ found) ** 2).mean())
