# SPDX-License-Identifier: Apache-2.0
"""Conversion of an MJCF file to a RobotModel.

Each hinge or slide joint moves one body, whose frame has its origin at the anchor of the joint;
several joints of one body act in their order. Bodies without joints move with the one that carries
them, and so do sites; both are frames of the model. Actuators give limits and rotors alone.

Sources: MuJoCo, XML reference and Computation, mujoco.readthedocs.io.
"""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import Array, pose, quaternion_rotation
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.core.model.inertia import Inertial, combined, transformed
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.urdf.deviations import Remarks
from robot_dynamics.urdf.mjcf.compiling import Compiled, compiled, engine
from robot_dynamics.urdf.mjcf.coordinates import Coordinates, coordinates, joint_values
from robot_dynamics.urdf.mjcf.omissions import Loop, loops, note_loops, note_omissions
from robot_dynamics.urdf.robot_files import named

FREE_BASE = ('fix', 'reject')
HOME = 'home'  # the keyframe of the start posture


@dataclass(frozen=True, eq=False)
class MjcfRobot:
    """A robot of an MJCF file.

    Attributes:
        model: the robot.
        compiled: the file.
        frames: moving body, -1 for the base, and pose in it of each of its bodies in MuJoCo.
        joints: number in MuJoCo of the joint of each moving body.
        remarks: what the model leaves out.
    """

    model: RobotModel
    compiled: Compiled
    frames: dict[int, tuple[int, Array]]
    joints: list[int]
    remarks: Remarks


def load_mjcf(
    path: str | os.PathLike[str],
    *,
    root: str | None = None,
    free_base: str = 'fix',
    gravity: ArrayLike | None = None,
) -> RobotModel:
    """Return the robot of an MJCF file, which MuJoCo compiles.

    An MJCF file names other files, which MuJoCo reads: load files of a known source only.

    Args:
        path: the file; what it includes is read, and meshes if a body has no <inertial>.
        root: the body that begins the robot, with all that it carries; by default all bodies of
            the file, without free ones that carry no joint.
        free_base: a base that moves freely is held where the file puts it ('fix'), or rejected
            ('reject').
        gravity: (3,) gravity vector, base frame, m/s^2; by default that of the file.

    Returns:
        The robot. Its coordinates are the `qpos` of MuJoCo. Without a base that moves freely and
        without `root`, the base is the body `world`. The keyframe `home` is its start posture.

    Raises:
        MujocoMissing: MuJoCo is not installed.
        ModelError: MuJoCo rejects the file; there is a ball joint, no joint, or more than one
            robot that moves freely.

    Warns:
        UserWarning: the model leaves out what the file has; one per kind, with the names.
    """
    with named(path):
        robot = read_mjcf(path, root=root, free_base=free_base, gravity=gravity)
    warn_of(robot)
    return robot.model


def warn_of(robot: MjcfRobot) -> None:
    """Warn of what a robot leaves out."""
    for sentence in robot.remarks.sentences():
        warnings.warn(f'robot {robot.model.name!r}: {sentence}', UserWarning, stacklevel=3)


def read_mjcf(
    path: str | os.PathLike[str],
    *,
    root: str | None = None,
    free_base: str = 'fix',
    gravity: ArrayLike | None = None,
) -> MjcfRobot:
    """Return the robot of an MJCF file and how it follows from it. As `load_mjcf`."""
    return robot_of(compiled(path), root=root, free_base=free_base, gravity=gravity)


def robot_of(
    c: Compiled,
    *,
    root: str | None = None,
    free_base: str = 'fix',
    gravity: ArrayLike | None = None,
) -> MjcfRobot:
    """Return the robot of a compiled file. As `load_mjcf`."""
    if free_base not in FREE_BASE:
        raise ModelError(f'free_base is {free_base!r}; expected one of {", ".join(FREE_BASE)}')
    remarks = Remarks()
    base, bodies = _chosen(c, root, free_base, remarks)
    tree = _tree(c, base, bodies)
    of = coordinates(c, tree.joints, remarks)
    note_omissions(c, bodies, tree.joints, remarks)
    closing = list(loops(c, bodies))
    note_loops(closing, remarks)
    model = _model(c, tree, of, _named_frames(c, tree, closing))
    own = _gravity(c, base) if gravity is None else np.asarray(gravity, dtype=float)
    return MjcfRobot(model.with_gravity(own), c, tree.frames, tree.joints, remarks)


# -- the bodies of the robot ------------------------------------------------------------------


def _chosen(
    c: Compiled, root: str | None, free_base: str, remarks: Remarks
) -> tuple[int, list[int]]:
    """Return the base and all bodies of the robot, in the order of the file."""
    mj, m = engine(), c.model
    free = {
        int(m.jnt_bodyid[j]) for j in np.flatnonzero(m.jnt_type == int(mj.mjtJoint.mjJNT_FREE))
    }
    moved = [set(c.above(int(m.jnt_bodyid[j]))) for j in _moving(c)]
    carriers: set[int] = set().union(*moved)
    tops = [b for b in range(1, m.nbody) if m.body_parentid[b] == 0]
    if root is not None:
        base, firsts = _root(c, root)
    else:
        for b in (idle := [b for b in tops if b in free and b not in carriers]):
            words = 'bodies that move freely and carry no joint are left out'
            remarks.add(words, repr(c.bodies[b]))
        robots = [b for b in tops if b in carriers]
        if len(robots) > 1 and free & {*robots}:
            raise ModelError(
                f'the file has several robots, at least one of which moves freely: '
                f'{_listed(c, robots)}; choose one with root=, for verbs and nodes root:=NAME'
            )
        base = next((b for b in robots if b in free), 0)
        firsts = [base] if base else [b for b in tops if b not in idle]
    if base in free and free_base == 'reject':
        raise ModelError(
            f'body {c.bodies[base]!r} moves freely; expected a base that is fixed, or '
            "free_base='fix', which holds it where the file puts it"
        )
    if base in free:
        words = 'a base that moves freely is held where the file puts it'
        remarks.add(words, repr(c.bodies[base]))
    chosen = [b for b in range(m.nbody) if b == base or not {*firsts}.isdisjoint(c.above(b))]
    return base, chosen


def _root(c: Compiled, root: str) -> tuple[int, list[int]]:
    """Return the base and the first body that it carries, or is, of the robot of `root`."""
    if root not in c.bodies:
        raise ModelError(f'root is {root!r}; expected one of {_listed(c, range(len(c.bodies)))}')
    b = c.bodies.index(root)
    if any(int(c.model.jnt_bodyid[j]) == b for j in _moving(c)):
        return int(c.model.body_parentid[b]), [b]
    return b, [b]


def _moving(c: Compiled) -> list[int]:
    """Return the hinge and slide joints."""
    kinds = engine().mjtJoint
    kept = int(kinds.mjJNT_HINGE), int(kinds.mjJNT_SLIDE)
    return np.flatnonzero(np.isin(c.model.jnt_type, kept)).tolist()


def _listed(c: Compiled, bodies: Sequence[int]) -> str:
    return ', '.join(repr(c.bodies[b]) for b in bodies)


# -- the tree ---------------------------------------------------------------------------------


class _Tree(NamedTuple):
    """Moving bodies, one per joint, and the frames of MuJoCo's bodies in them."""

    joints: list[int]  # (nb) numbers in MuJoCo
    names: list[str]
    parent: list[int]
    placement: list[Array]
    frames: dict[int, tuple[int, Array]]


def _tree(c: Compiled, base: int, bodies: Sequence[int]) -> _Tree:
    """Return the moving bodies of the robot.

    Raises:
        ModelError: a joint is a ball joint, or there is none.
    """
    m, kinds = c.model, engine().mjtJoint
    tree = _Tree([], [], [], [], {base: (-1, np.eye(4))})
    for b in bodies:
        if b == base:
            continue
        p, T = tree.frames[int(m.body_parentid[b])]
        T = T @ c.pose('body', b)
        first = int(m.body_jntadr[b])
        joints = range(first, first + int(m.body_jntnum[b])) if first >= 0 else range(0)
        for j in joints:
            if int(m.jnt_type[j]) not in (int(kinds.mjJNT_HINGE), int(kinds.mjJNT_SLIDE)):
                kind = 'ball' if int(m.jnt_type[j]) == int(kinds.mjJNT_BALL) else 'free'
                raise ModelError(
                    f'joint {c.joints[j]!r} of body {c.bodies[b]!r} is a {kind} joint, which has '
                    'no coordinate of its own; expected hinge and slide joints'
                )
            # Axes of the body, origin at the anchor; the next joint moves with this one.
            tree.placement.append(T @ pose(np.eye(3), m.jnt_pos[j]))
            tree.parent.append(p)
            tree.joints.append(j)
            is_last = j == joints[-1]
            tree.names.append(c.bodies[b] if is_last else f'{c.bodies[b]}/{c.joints[j]}')
            p, T = len(tree.joints) - 1, pose(np.eye(3), -m.jnt_pos[j])
        tree.frames[b] = p, T
    if not tree.joints:
        raise ModelError('the robot has no hinge or slide joint; expected at least one')
    return tree


def inertial(c: Compiled, body: int) -> Inertial:
    """Return the inertia of a body in its own frame in MuJoCo."""
    m = c.model
    R = quaternion_rotation(np.roll(m.body_iquat[body], -1))
    return Inertial(
        float(m.body_mass[body]), np.array(m.body_ipos[body]), R * m.body_inertia[body] @ R.T
    )


def _named_frames(
    c: Compiled, tree: _Tree, closing: Sequence[Loop]
) -> dict[str, tuple[int, Array]]:
    """Return moving body and pose of the frames: bodies, then named sites, then ends of loops."""
    mj, m = engine(), c.model
    found = {c.bodies[b]: place for b, place in tree.frames.items()}
    others = [
        (name, int(m.site_bodyid[s]), c.pose('site', s))
        for s in range(m.nsite)
        if (name := mj.mj_id2name(m, mj.mjtObj.mjOBJ_SITE, s))
    ]
    for loop in closing:
        others += zip(loop.frames, loop.bodies, loop.poses, strict=True)
    for name, b, T in others:
        if b in tree.frames:
            i, place = tree.frames[b]
            found[name if name not in found else f'{name}_site'] = i, place @ T
    return found


# -- the model --------------------------------------------------------------------------------


def _model(
    c: Compiled, tree: _Tree, of: Coordinates, frames: dict[str, tuple[int, Array]]
) -> RobotModel:
    m, kinds = c.model, engine().mjtJoint
    carried = defaultdict(list)
    for b, (i, T) in tree.frames.items():
        carried[i].append(transformed(inertial(c, b), T))
    axes = m.jnt_axis[tree.joints]
    return build_tree(
        c.name,
        tree.parent,
        [int(m.jnt_type[j]) == int(kinds.mjJNT_HINGE) for j in tree.joints],
        list(axes / np.linalg.norm(axes, axis=1, keepdims=True)),
        tree.placement,
        [combined(carried[i]) for i in range(len(tree.joints))],
        joint_names=tuple(c.joints[tree.joints[i]] for i in of.leads),
        body_names=tuple(tree.names),
        S=of.S,
        s0=of.s0,
        **joint_values(c, tree.joints, of),
        home=_home(c, [tree.joints[i] for i in of.leads]),
        link_names=tuple(c.bodies[b] for b in tree.frames),
        frame_names=tuple(frames),
        frame_body=np.array([body for body, _ in frames.values()]),
        frame_placement=np.array([T for _, T in frames.values()]),
        base=combined(carried[-1]),
    )


def _home(c: Compiled, joints: Sequence[int]) -> dict[str, float]:
    """Return the positions of the keyframe `home` by joint, none without one."""
    mj, m = engine(), c.model
    key = mj.mj_name2id(m, mj.mjtObj.mjOBJ_KEY, HOME)
    if key < 0:
        return {}
    return {c.joints[j]: float(m.key_qpos[key][m.jnt_qposadr[j]]) for j in joints}


def _gravity(c: Compiled, base: int) -> Array:
    """Return the gravity vector (3,) of the file in the axes of the base, m/s^2."""
    mj, m = engine(), c.model
    if c.is_off('GRAVITY'):
        return np.zeros(3)
    d = mj.MjData(m)
    mj.mj_kinematics(m, d)
    # g_b = R_wb^T g_w
    return np.asarray(d.xmat[base].reshape(3, 3).T @ m.opt.gravity)
