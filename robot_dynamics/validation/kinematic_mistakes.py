# SPDX-License-Identifier: Apache-2.0
"""Kinematic mistakes: joint order, mimic joints at rest, reversed axes, shifted origins.

Torques are not linear in them. All but a shift are tried as they are. A shift of a joint's origin
is found by Newton's method: link positions are linear in the shift d, energies of second degree,
and so are the torques,

    tau(d) - tau(0) = L d + d^T H d / 2,        L and H known from the torques at a few shifts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.coordinates import driven_body
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.validation.mistakes import (
    ROUNDING,
    Difference,
    Explanation,
    torques,
    undetermined,
    vector_text,
)

PROBE = 0.1  # m, shifts of an origin from which L and H are computed
NEWTON_STEPS = 20


def joint_order(difference: Difference) -> Iterator[Explanation]:
    """Yield the order of joints in which our torques are nearest to the reported ones."""
    model, reported, ours = difference.model, difference.reported, difference.ours
    nearest = np.abs(reported[:, :, None] - ours[:, None, :]).max(axis=0).argmin(axis=1)
    if sorted(nearest) == list(range(model.n)):
        kind = 'the joints in another order'
        names = ', '.join(model.joint_names[j] for j in nearest)
        yield Explanation(
            kind,
            f'{kind} ({names})',
            ours[:, nearest],
            lambda states: torques(model, states)[:, nearest],
        )


def mimics_at_rest(difference: Difference) -> Iterator[Explanation]:
    """Yield the robot in which each coordinate moves a single joint, if it is another robot."""
    model = difference.model
    driven = [driven_body(model, k) for k in range(model.n)]
    S = np.zeros_like(model.S)
    S[driven] = model.S[driven]
    (at_rest,) = np.nonzero((S != model.S).any(axis=1))
    if len(at_rest):
        names = ', '.join(joint_of(model, i) for i in at_rest.tolist())
        yield _other_robot(difference, f'mimic joints at rest: {names}', replace(model, S=S))


def reversed_axes(difference: Difference) -> Iterator[Explanation]:
    """Yield robots with the axis of one joint reversed."""
    model = difference.model
    for i in range(model.nb):
        axis = model.axis.copy()
        axis[i] = -axis[i]
        kind = f'a reversed axis of {joint_of(model, i)}'
        yield _other_robot(difference, kind, replace(model, axis=axis))


def shifted_origins(difference: Difference) -> Iterator[Explanation]:
    """Yield for each joint the shift of its origin in the parent link that fits best."""
    model, r = difference.model, difference.r
    differing = np.abs(r).max(axis=0) > difference.tolerance
    for i in range(model.nb):
        if differing[_unaffected(model, i)].any():
            continue
        L, H = _polynomial(difference, i)
        if not L.any():
            continue  # mounted on the base: torques do not depend on its place
        d = np.zeros(3)
        for _ in range(NEWTON_STEPS):
            unexplained = r - (L + H @ d / 2) @ d
            slope = (L + H @ d).reshape(r.size, 3)
            d = d + np.linalg.lstsq(slope, unexplained.ravel(), rcond=ROUNDING)[0]
        kind = f'a shifted origin of {joint_of(model, i)}'
        yield Explanation(
            kind,
            f'{kind}, by {vector_text(d)} m in its parent link{undetermined(L)}',
            difference.ours + (L + H @ d / 2) @ d,
            partial(torques, _shifted(model, i, d)),
            difference.supports(L),
        )


def joint_of(model: RobotModel, i: int) -> str:
    """Return the name of the joint that moves body i, of the link if joints are coupled."""
    (moved_by,) = np.nonzero(model.S[i])
    if len(moved_by) == 1 and np.count_nonzero(model.S[:, moved_by[0]]) == 1:
        return f'joint {model.joint_names[moved_by[0]]!r}'
    return f'the joint of link {model.body_names[i]!r}'


def _other_robot(difference: Difference, kind: str, robot: RobotModel) -> Explanation:
    """Return the explanation by the torques of a robot with a mistake."""
    return Explanation(kind, kind, torques(robot, difference.states), partial(torques, robot))


def _shifted(model: RobotModel, i: int, d: Array) -> RobotModel:
    """Return the robot whose body i is mounted at a distance d (3,) [m], in its parent's axes."""
    placement = model.placement.copy()
    placement[i, :3, 3] += d
    return replace(model, placement=placement)


def _unaffected(model: RobotModel, i: int) -> Array:
    """Return the mask (n,) of joints whose torques do not depend on where body i is mounted.

    They move no body between the base and i, and none that i carries.
    """
    along = np.array([i in model.support(b) for b in range(model.nb)])
    along[model.support(i)] = True
    return np.asarray(~(model.S[along] != 0).any(axis=0))


def _polynomial(difference: Difference, i: int) -> tuple[Array, Array]:
    """Return L (k, n, 3) and H (k, n, 3, 3) of the torques' polynomial in a shift of body i."""

    def change(d: Array) -> Array:
        robot = _shifted(difference.model, i, d)
        return torques(robot, difference.states) - difference.ours

    steps = PROBE * np.eye(3)
    ahead, behind = ([change(sign * step) for step in steps] for sign in (1, -1))
    L = np.zeros((*difference.r.shape, 3))
    H = np.zeros((*L.shape, 3))
    for a in range(3):
        L[..., a] = (ahead[a] - behind[a]) / (2 * PROBE)
        H[..., a, a] = (ahead[a] + behind[a]) / PROBE**2
        for b in range(a):
            both = change(steps[a] + steps[b])
            H[..., a, b] = H[..., b, a] = (both - ahead[a] - ahead[b]) / PROBE**2
    # Coefficients within the rounding of the torques are zero.
    size = ROUNDING * np.abs(difference.ours).max() / PROBE
    return np.where(np.abs(L) > size, L, 0.0), np.where(np.abs(H) > size / PROBE, H, 0.0)
