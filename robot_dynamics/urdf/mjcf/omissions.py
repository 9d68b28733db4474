# SPDX-License-Identifier: Apache-2.0
"""What an MJCF file has and a RobotModel has not: one sentence per kind, with the names."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.urdf.deviations import Remarks
from robot_dynamics.urdf.mjcf.compiling import Compiled, engine, frame
from robot_dynamics.urdf.mjcf.coordinates import actuated

NONLINEAR = 'of damping that is no multiple of the velocity, the linear part alone is used'

OFF = 'limit', 'damper', 'frictionloss'  # flags that a model does not have


class Loop(NamedTuple):
    """An equality that closes a loop, as the arguments of a LoopClosure.

    Attributes:
        kind: 'ball' or 'rigid'.
        frames: names of its two frames.
        bodies: their bodies in MuJoCo.
        poses: of the frames in these bodies.
    """

    kind: str
    frames: tuple[str, str]
    bodies: tuple[int, int]
    poses: tuple[Array, Array]


def note_omissions(
    c: Compiled, bodies: Collection[int], joints: Sequence[int], remarks: Remarks
) -> None:
    """Note what a model of these bodies and joints leaves out, by name.

    Args:
        c: the compiled file.
        bodies: numbers of the robot's bodies in MuJoCo.
        joints: numbers of its joints.
        remarks: takes the sentences.
    """
    m = c.model
    for j in joints:
        if m.jnt_stiffness[j] or np.any(m.jnt_stiffnesspoly[j]):
            remarks.add('springs of joints are left out', repr(c.joints[j]))
        if np.any(m.dof_dampingpoly[m.jnt_dofadr[j]]):
            remarks.add(NONLINEAR, repr(c.joints[j]))
    for a, j in actuated(c):
        if j in joints and np.any(m.actuator_dampingpoly[a]):
            remarks.add(NONLINEAR, repr(c.joints[j]))
    for body in bodies:
        if m.body_gravcomp[body]:
            words = 'gravity compensation of bodies (gravcomp) is left out: they have their weight'
            remarks.add(words, repr(c.bodies[body]))
        if body in c.altered:
            words = 'options of <compiler> replace the inertia that the file gives a body'
            remarks.add(words, repr(c.bodies[body]))
    for name, sentence in _of_elements(c):
        remarks.add(sentence, name)
    for name in OFF:
        if c.is_off(name.upper()):
            words = 'flags switch off in MuJoCo what the model has, where the file has values'
            remarks.add(words, name)
    fluid = [k for k in ('density', 'viscosity', 'wind') if np.any(getattr(m.opt, k))]
    for name in fluid:
        remarks.add('forces of a fluid are left out', name)


def _of_elements(c: Compiled) -> Iterator[tuple[str, str]]:
    """Yield name and sentence of each tendon, actuator and flexible body that is left out."""
    mj, m = engine(), c.model
    for t in range(m.ntendon):
        name = mj.mj_id2name(m, mj.mjtObj.mjOBJ_TENDON, t) or f'tendon{t}'
        forces = ('stiffness', 'damping', 'frictionloss', 'armature')
        has = [k for k in forces if np.any(getattr(m, f'tendon_{k}')[t])]
        yield repr(name) + (f' (with {", ".join(has)})' if has else ''), 'tendons are left out'
    known = {a for a, _ in actuated(c)}
    for a in sorted({*range(m.nu)} - known):
        name = mj.mj_id2name(m, mj.mjtObj.mjOBJ_ACTUATOR, a) or f'actuator{a}'
        yield repr(name), 'actuators that act on no hinge or slide joint are left out'
    for f in range(m.nflex):
        name = mj.mj_id2name(m, mj.mjtObj.mjOBJ_FLEX, f) or f'flex{f}'
        yield repr(name), 'flexible bodies are left out'


def loops(c: Compiled, bodies: Collection[int]) -> Iterator[Loop]:
    """Yield the active equalities `connect` and `weld` between two bodies of the robot."""
    mj, m = engine(), c.model
    kinds = {int(mj.mjtEq.mjEQ_CONNECT): 'ball', int(mj.mjtEq.mjEQ_WELD): 'rigid'}
    for e in range(m.neq):
        kind = kinds.get(int(m.eq_type[e]))
        if kind is None or not c.active[e]:
            continue
        given = mj.mj_id2name(m, mj.mjtObj.mjOBJ_EQUALITY, e) or f'equality{e}'
        ends = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        names = f'{given}_1', f'{given}_2'
        if int(m.eq_objtype[e]) == int(mj.mjtObj.mjOBJ_SITE):
            poses = c.pose('site', ends[0]), c.pose('site', ends[1])
            ends = int(m.site_bodyid[ends[0]]), int(m.site_bodyid[ends[1]])
        else:
            poses = _poses(kind, m.eq_data[e])
        if ends[0] in bodies and ends[1] in bodies:
            yield Loop(kind, names, ends, poses)


def _poses(kind: str, data: Any) -> tuple[Array, Array]:
    """Return the frames of an equality of bodies in these."""
    unit = np.array([1.0, 0.0, 0.0, 0.0])
    if kind == 'ball':
        return frame(unit, data[:3]), frame(unit, data[3:6])
    return frame(data[6:10], data[3:6]), frame(unit, data[:3])


def note_loops(found: Sequence[Loop], remarks: Remarks) -> None:
    """Note loops that a tree leaves out, with the closures that close them."""
    for loop in found:
        a, b = loop.frames
        remarks.add(
            'equalities that close a loop are left out; ClosedChain closes it with',
            f'LoopClosure({a!r}, {b!r}, {loop.kind!r})',
        )
