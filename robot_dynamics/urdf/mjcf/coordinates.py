# SPDX-License-Identifier: Apache-2.0
"""Joints of a compiled MJCF file as coordinates: q_body = S q + s0.

Coordinates are the `qpos` of MuJoCo, bodies are placed at `qpos0` (the attribute `ref`). An
equality of two joints that is a straight line makes one of them follow the other; MuJoCo holds it
by a soft constraint, here it holds exactly, so M of the coordinates is S^T M S.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.coordinates import friction_of_coordinates
from robot_dynamics.urdf.deviations import Remarks
from robot_dynamics.urdf.mjcf.compiling import Compiled, engine

FAR = 1e18  # rad or m: the end of a range that stands for no limit


class Coordinates(NamedTuple):
    """The coordinate map of the joints of a robot.

    Attributes:
        leads: positions, among the joints of the robot, of those that are coordinates.
        S: (nb, n) coordinate map.
        s0: (nb,) its offsets, rad or m.
    """

    leads: list[int]
    S: Array
    s0: Array


class Line(NamedTuple):
    """qpos = ratio * qpos of another joint + offset."""

    leader: int
    ratio: float
    offset: float


def coordinates(c: Compiled, joints: Sequence[int], remarks: Remarks) -> Coordinates:
    """Return the coordinate map of joints.

    Args:
        c: the compiled file.
        joints: numbers in MuJoCo of the joints of the robot, in its order.
        remarks: takes equalities that are left out.
    """
    ref = c.model.qpos0[c.model.jnt_qposadr[list(joints)]]
    lines = _lines(c, joints, ref, remarks)
    leads = [i for i in range(len(joints)) if i not in lines]
    S, s0 = np.zeros((len(joints), len(leads))), np.zeros(len(joints))
    for i in range(len(joints)):
        leader, ratio, offset = i, 1.0, 0.0
        while leader in lines:
            # a (b q + c) + d = (a b) q + (a c + d)
            line = lines[leader]
            leader, ratio, offset = line.leader, ratio * line.ratio, ratio * line.offset + offset
        S[i, leads.index(leader)] = ratio
        s0[i] = offset - ref[i]
    return Coordinates(leads, S, s0)


def _lines(c: Compiled, joints: Sequence[int], ref: Array, remarks: Remarks) -> dict[int, Line]:
    """Return the equalities of two joints of the robot, by the one that follows."""
    m, position = c.model, {j: i for i, j in enumerate(joints)}
    lines: dict[int, Line] = {}
    for e in np.flatnonzero(c.active & (m.eq_type == int(engine().mjtEq.mjEQ_JOINT))):
        one, other = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        if one not in position:
            continue
        i, name = position[one], repr(c.joints[one])
        constant, ratio, *bends = m.eq_data[e][:5].tolist()
        if other not in position:
            remarks.add('equalities that hold a joint still are left out: it moves freely', name)
        elif any(bends):
            remarks.add('equalities that are no straight line are left out', name)
        elif i in lines or _leads_to(position[other], i, lines):
            remarks.add('equalities of joints that follow another already are left out', name)
        else:
            # q1 - ref1 = c0 + c1 (q2 - ref2)
            k = position[other]
            lines[i] = Line(k, ratio, constant + ref[i] - ratio * ref[k])
    return lines


def _leads_to(start: int, end: int, lines: dict[int, Line]) -> bool:
    """Return whether a joint follows another, also through others."""
    while start != end and start in lines:
        start = lines[start].leader
    return start == end


def joint_values(c: Compiled, joints: Sequence[int], of: Coordinates) -> dict[str, Any]:
    """Return limits, friction and rotor inertia of the coordinates, as fields of RobotModel.

    The attributes `armature` and `damping` of actuators act as those of joints; the velocity gain
    `kv` belongs to a controller and is no friction. MJCF has no limits of velocity.
    """
    m = c.model
    dof = m.jnt_dofadr[list(joints)]
    lower, upper = _limits(c, joints, of)
    damping, armature = (
        (getattr(m, f'dof_{name}') + of_drives(c, name))[dof] for name in ('damping', 'armature')
    )
    return {
        'lower': lower,
        'upper': upper,
        'effort_limit': _efforts(c, joints, of),
        **friction_of_coordinates(of.S, damping, m.dof_frictionloss[dof]),
        # diag(S^T B S)
        'reflected_inertia': (of.S**2).T @ armature,
    }


def of_drives(c: Compiled, name: str) -> Array:
    """Return the 'armature' or 'damping' (nv,) of actuators, behind their gears."""
    m, added = c.model, np.zeros(c.model.nv)
    for a, joint in actuated(c):
        # B = r^2 B_m
        value = getattr(m, f'actuator_{name}')[a]
        added[m.jnt_dofadr[joint]] += value * m.actuator_gear[a][0] ** 2
    return added


def actuated(c: Compiled) -> list[tuple[int, int]]:
    """Return actuator and joint of each actuator that acts on a hinge or slide joint."""
    mj, m = engine(), c.model
    direct = {int(mj.mjtTrn.mjTRN_JOINT), int(mj.mjtTrn.mjTRN_JOINTINPARENT)}
    moving = {int(mj.mjtJoint.mjJNT_HINGE), int(mj.mjtJoint.mjJNT_SLIDE)}
    pairs = [(a, int(m.actuator_trnid[a][0])) for a in range(m.nu)]
    # Enumerators of MuJoCo are not equal to NumPy's integers.
    return [
        (a, j)
        for a, j in pairs
        if int(m.actuator_trntype[a]) in direct and int(m.jnt_type[j]) in moving
    ]


def _limits(c: Compiled, joints: Sequence[int], of: Coordinates) -> tuple[Array, Array]:
    """Return the ranges of the coordinates, within those of the joints that follow them."""
    m, n = c.model, len(of.leads)
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    for i in [*of.leads, *(set(range(len(joints))) - {*of.leads})]:
        j, k = joints[i], int(np.argmax(of.S[i] != 0))
        if not m.jnt_limited[j] or of.S[i, k] == 0:
            continue
        # low <= S q + s0 + ref <= high
        shift = of.s0[i] + m.qpos0[m.jnt_qposadr[j]]
        ends = [
            float(end) if abs(end) < FAR else np.copysign(np.inf, end) for end in m.jnt_range[j]
        ]
        low, high = sorted((end - shift) / of.S[i, k] for end in ends)
        # Those of a follower that leave no range are not applied, as in `urdf.loading`.
        if i in of.leads or max(low, lower[k]) < min(high, upper[k]):
            lower[k], upper[k] = max(low, lower[k]), min(high, upper[k])
    return lower, upper


def _efforts(c: Compiled, joints: Sequence[int], of: Coordinates) -> Array:
    """Return the effort limits of the coordinates: the least that the file gives for the joint.

    A joint without an actuator and limit that others follow has the limits of their actuators.
    """
    m, limits = c.model, np.full(c.model.njnt, np.inf)
    for j in np.flatnonzero(m.jnt_actfrclimited).tolist():
        limits[j] = _size(m.jnt_actfrcrange[j])
    drives = actuated(c)
    for a, j in drives:
        limits[j] = min(limits[j], _drive_limit(m, a) * abs(float(m.actuator_gear[a][0])))
    driven, efforts = {j for _, j in drives}, limits[[joints[i] for i in of.leads]]
    for k, i in enumerate(of.leads):
        if joints[i] not in driven and np.isinf(efforts[k]):
            rows = [r for r in np.flatnonzero(of.S[:, k]).tolist() if joints[r] in driven]
            # tau = S^T tau_b
            efforts[k] = min((abs(of.S[r, k]) * limits[joints[r]] for r in rows), default=np.inf)
    return efforts


def _drive_limit(m: Any, a: int) -> float:
    """Return the largest force of an actuator before its gear."""
    mj = engine()
    limit = _size(m.actuator_forcerange[a]) if m.actuator_forcelimited[a] else np.inf
    is_motor = (
        int(m.actuator_gaintype[a]) == int(mj.mjtGain.mjGAIN_FIXED)
        and int(m.actuator_biastype[a]) == int(mj.mjtBias.mjBIAS_NONE)
        and int(m.actuator_dyntype[a]) == int(mj.mjtDyn.mjDYN_NONE)
    )
    if is_motor and m.actuator_ctrllimited[a]:
        limit = min(limit, _size(m.actuator_ctrlrange[a]) * abs(float(m.actuator_gainprm[a][0])))
    return limit


def _size(ends: Array) -> float:
    """Return the force that a range allows in both directions, or in the only one."""
    low, high = map(float, ends)
    return min(-low, high) if low < 0 < high else max(abs(low), abs(high))
