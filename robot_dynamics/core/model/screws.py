# SPDX-License-Identifier: Apache-2.0
"""Conversion between robot models and joint screws (product of exponentials).

In the home position, q = 0, every link i has a frame {i} with pose M_0i in the base, and every
joint a screw S_i = (w, v) in base coordinates, angular part first. Then

    T_0i = exp([S_1] q_1) ... exp([S_i] q_i) M_0i.

The screw of a revolute joint about the unit vector a through the point p is S = (a, -a x p), that
of a prismatic joint along a is S = (0, a). q_i multiplies S_i as given: a screw of length k gives
a joint k times as fast, which the model holds in its coordinate map. Screws with pitch, which
rotate and translate at once, are not supported.

Source: Lynch and Park, draft, (9.35)-(9.40), (9.49)-(9.52), with A_i = Ad(M_0i^-1) S_i in (9.51)
(misprint) and in frame {i}; Lynch and Park, Modern Robotics (2017), sections 3.3 and 4.1.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import InertialWarning, ModelError
from robot_dynamics.common.spatial import Array, inverse_pose, pose, skew, spatial_inertia, unskew
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.core.model.inertia import Inertial, inconsistency, transformed
from robot_dynamics.core.model.robot_model import STANDARD_GRAVITY, RobotModel

ROUNDING = 1e-9  # relative, of published decimals and products of rotations


class Screws(NamedTuple):
    """Screws of a tree, with every link frame {i} at the centre of mass.

    Notation of Lynch and Park, draft, section 9.3.
    """

    A: Array  # (nb, 6) unit joint screws in frame {i}, angular part first
    M: Array  # (nb, 4, 4) pose of frame {i} in its parent's frame {p} at joint position 0
    G: Array  # (nb, 6, 6) inertia of link i in frame {i}: block-diagonal


def exponential(S: Array, theta: Any) -> Array:
    """Return exp([S] theta) (4, 4) of a unit screw: |w| = 1, or w = 0 for pure translation.

    Lynch and Park, Modern Robotics (2017), (3.88).
    """
    w, v = skew(S[:3]), S[3:]
    # R = 1 + sin(t) [w] + (1 - cos(t)) [w]^2,   p = (t + (1 - cos(t)) [w] + (t - sin(t)) [w]^2) v
    ww = w @ w
    R = np.eye(3) + np.sin(theta) * w + (1 - np.cos(theta)) * ww
    p = theta * v + (1 - np.cos(theta)) * (w @ v) + (theta - np.sin(theta)) * (ww @ v)
    return pose(R, p)


def to_screws(model: RobotModel) -> Screws:
    """Return the joint screws, home placements and inertias of a model, in frames at the com.

    Body frames of the model are at the joints; these frames are at the centres of mass and have
    the same orientation.
    """
    # T_jc: from the joint's frame to the frame at the centre of mass
    T_jc = [pose(np.eye(3), c) for c in model.com]
    A, M, G = [], [], []
    for i in range(model.nb):
        a, c, p = model.axis[i], model.com[i], model.parent[i]
        # Velocity of the centre of mass at unit joint speed: a x c, or a.
        A.append(np.concatenate([a, np.cross(a, c)] if model.revolute[i] else [np.zeros(3), a]))
        # M_pi: from the parent's centre of mass, via the joint, to the centre of mass
        T_cp = inverse_pose(T_jc[p]) if p >= 0 else np.eye(4)
        M.append(T_cp @ model.placement[i] @ T_jc[i])
        G.append(spatial_inertia(model.mass[i], np.zeros(3), model.inertia_com[i]))
    return Screws(np.array(A), np.array(M), np.array(G))


def from_screws(
    S: ArrayLike,
    M: ArrayLike,
    G: ArrayLike,
    *,
    gravity: ArrayLike = STANDARD_GRAVITY,
    name: str = 'screws',
) -> RobotModel:
    """Return the serial arm of n joint screws.

    Args:
        S: (6, n) screws in base coordinates at q = 0, angular part first, of any length.
        M: (n + 1, 4, 4) placements M_{i-1,i} of the link frames, from {0} to {n} and to the
            end-effector frame {n + 1}, the frame 'tool' of the model.
        G: (n, 6, 6) spatial inertias in the link frames, angular part first: block-diagonal
            if the frame is at the centre of mass.
        gravity: (3,) gravity vector in the base frame, m/s^2.
        name: the robot's name.

    Raises:
        ModelError: a wrong shape, a screw that is zero or has pitch, a placement that is no pose,
            or a G that is not the spatial inertia of a rigid body. The message names the value.

    Warns:
        InertialWarning: an inertia is physically inconsistent.
    """
    screws, placements, spatial_inertias = _checked_shapes(S, M, G)
    n = screws.shape[1]
    for i, T in enumerate(placements):
        _check_pose(i, T)
    bodies = list(map(_inertial, range(n), spatial_inertias))

    joints = [_joint(i, screws[:, i]) for i in range(n)]
    # M_0i = M_01 M_12 ... M_{i-1,i}
    home = list(itertools.accumulate(placements[:n], np.matmul))
    joint_frames = [_joint_frame(joint, T) for joint, T in zip(joints, home, strict=True)]
    link_in_joint = [inverse_pose(A) @ B for A, B in zip(joint_frames, home, strict=True)]

    before = [np.eye(4), *joint_frames]
    link_names = [f'link{i + 1}' for i in range(n)]
    return build_tree(
        name,
        parent=list(range(-1, n - 1)),
        revolute=[joint.revolute for joint in joints],
        axis=[T[:3, :3].T @ joint.axis for T, joint in zip(joint_frames, joints, strict=True)],
        placement=[inverse_pose(A) @ B for A, B in itertools.pairwise(before)],
        inertials=[transformed(body, T) for body, T in zip(bodies, link_in_joint, strict=True)],
        S=np.diag([joint.speed for joint in joints]),
        gravity=np.asarray(gravity, dtype=float),
        link_names=('base', *link_names, 'tool'),
        frame_names=('base', *link_names, 'tool'),
        frame_body=np.array([-1, *range(n), n - 1]),
        frame_placement=np.array([np.eye(4), *link_in_joint, link_in_joint[-1] @ placements[n]]),
    )


class _Joint(NamedTuple):
    revolute: bool
    axis: Array  # (3,) unit, base coordinates
    point: Array  # (3,) of the axis, base coordinates, m
    speed: float  # length of the screw: joint motion per unit of q


def _joint(i: int, screw: Array) -> _Joint:
    """Return the joint of screw i, or raise ModelError if there is none."""
    w, v = screw[:3], screw[3:]
    turning, sliding = float(np.linalg.norm(w)), float(np.linalg.norm(v))
    if turning == 0 and sliding == 0:
        raise ModelError(f'screw {i} is zero; expected (w, -w x p) or (0, v)')
    if turning == 0:
        return _Joint(False, v / sliding, np.zeros(3), _length(sliding))
    # The pitch is the component of v along w.
    pitch = float(w @ v) / turning**2
    if abs(w @ v) > ROUNDING * turning * max(sliding, turning):
        raise ModelError(
            f'screw {i} is {screw.tolist()}, with a pitch of {pitch:.6g} m/rad; expected pure '
            'rotation (w . v = 0) or pure translation (w = 0)'
        )
    # The point of the axis nearest to the base's origin: p = w x v / w.w
    return _Joint(True, w / turning, np.cross(w, v) / turning**2, _length(turning))


def _joint_frame(joint: _Joint, T_0i: Array) -> Array:
    """Return the home pose of a body frame: axes of the link frame, origin on the joint axis."""
    o = T_0i[:3, 3]
    if joint.revolute:
        # The point of the axis nearest to the link's origin.
        o = joint.point + joint.axis * (joint.axis @ (o - joint.point))
    return pose(T_0i[:3, :3], o)


def _length(value: float) -> float:
    """Return the length of a screw, exactly 1 if it is 1 to rounding."""
    return 1.0 if abs(value - 1) < 8 * np.finfo(float).eps else value


def _inertial(i: int, G: Array) -> Inertial:
    """Return the body whose spatial inertia is G = [[I - m [c][c], m [c]], [-m [c], m 1]]."""
    size = np.abs(G).max()
    m = float(np.trace(G[3:, 3:])) / 3
    c = unskew(G[:3, 3:]) / m if m > 0 else np.zeros(3)
    I_com = G[:3, :3] + m * skew(c) @ skew(c)
    error = np.abs(spatial_inertia(m, c, (I_com + I_com.T) / 2) - G).max()
    if error > ROUNDING * size:
        raise ModelError(
            f'inertia {i} is {G.tolist()}; expected a rigid-body inertia, symmetric '
            '[[I, 0], [0, m 1]] about the centre of mass, or the same in a shifted frame'
        )
    body = Inertial(m, c, (I_com + I_com.T) / 2)
    if reason := inconsistency(body):
        warnings.warn(
            f'inertia {i} is physically inconsistent: {reason}', InertialWarning, stacklevel=3
        )
    return body


def _checked_shapes(S: ArrayLike, M: ArrayLike, G: ArrayLike) -> tuple[Array, Array, Array]:
    screws = _finite('S', S)
    if screws.ndim != 2 or screws.shape[0] != 6 or screws.shape[1] == 0:
        raise ModelError(
            f'S has shape {screws.shape}; it must be (6, n), one screw (w, v) per column'
        )
    n = screws.shape[1]
    placements, inertias = _finite('M', M), _finite('G', G)
    for letter, array, shape in (('M', placements, (n + 1, 4, 4)), ('G', inertias, (n, 6, 6))):
        if array.shape != shape:
            raise ModelError(f'{letter} has shape {array.shape}; {n} screws in S need {shape}')
    return screws, placements, inertias


def _finite(letter: str, values: ArrayLike) -> Array:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f'{letter} is not an array of numbers: {values!r}') from None
    for index in np.argwhere(~np.isfinite(array)):
        where = ', '.join(str(k) for k in index)
        raise ModelError(f'{letter}[{where}] is {array[tuple(index)]}; it must be finite')
    return array


def _check_pose(i: int, T: Array) -> None:
    R = T[:3, :3]
    rigid = np.abs(R @ R.T - np.eye(3)).max() <= ROUNDING and np.linalg.det(R) > 0
    if not rigid or np.any(T[3] != [0, 0, 0, 1]):
        raise ModelError(
            f'placement M[{i}] is {T.tolist()}; expected a pose [[R, p], [0, 1]], R a rotation'
        )
