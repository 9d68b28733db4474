# SPDX-License-Identifier: Apache-2.0
"""MJCF of a RobotModel.

Each body of the model is a body of the file, with the frames that it carries as sites. A joint
that follows another is one with an equality. Limits of velocity have no counterpart and are left
out; efforts are `actuatorfrcrange` of joints and the range of a motor each.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.files import write_file
from robot_dynamics.common.reporting.numbers import decimals
from robot_dynamics.common.spatial import Array, inverse_pose, quaternion
from robot_dynamics.core.model.inertia import Inertial, consistent, inconsistency
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.urdf.editing import written
from robot_dynamics.urdf.mjcf.compiling import engine
from robot_dynamics.urdf.mjcf.coordinates import FAR
from robot_dynamics.urdf.mjcf.loading import HOME
from robot_dynamics.urdf.writing import (
    UrdfJoint,
    joints_of,
    lines_of,
    link_names,
    radii_of,
    without_dust,
)

# MuJoCo changes no inertia then, and reads no limit that is not written.
COMPILER = {
    'angle': 'radian',
    'autolimits': 'true',
    'balanceinertia': 'false',
    'boundmass': '0',
    'boundinertia': '0',
    'inertiafromgeom': 'false',
}
WORLD = 'world'  # the body of MuJoCo to which all others are fixed; it has no inertia
# Of a repaired body: MuJoCo rejects a moving body whose mass or moment is not above 1e-15.
STEP = 0.001  # s, of the simulation of position servos
# solimpfriction of their joints: with MuJoCo's default, dry friction creeps by several mrad.
HOLDING = (0.99, 0.999, 0.001)
LEAST_MASS, LEAST_MOMENT = 1e-9, 1e-12  # kg, kg m^2
_ELEMENT = re.compile(r"Element name '([^']*)'")


def write_mjcf(
    model: RobotModel, file: str | os.PathLike[str] | None = None, *, repair: bool = False
) -> Path:
    """Write the MJCF of a robot, which MuJoCo accepts.

    `load_mjcf` reads the same robot, exact to rounding, on the body `world`. A base link of that
    name has no inertia in MuJoCo.

    Args:
        model: the robot.
        file: where; by default the name of the robot, with .xml, in the working directory.
        repair: replace inertias that MuJoCo rejects by the nearest consistent ones, and those of
            point masses and massless bodies by the smallest that it accepts.

    Returns:
        The path of the file.

    Raises:
        MujocoMissing: MuJoCo is not installed.
        ModelError: MuJoCo rejects a link, which the message names; as `to_mjcf`; the name of the
            file does not end in .xml.
        OSError: the file cannot be written.
    """
    path = Path(f'{Path(model.name).name}.xml' if file is None else os.fsdecode(file))
    if path.suffix != '.xml':
        raise ModelError(f'the file is {str(path)!r}; expected a name that ends in .xml')
    text = to_mjcf(_repaired(model) if repair else model)
    mj = engine()
    try:
        mj.MjModel.from_xml_string(text)
    except ValueError as error:
        raise ModelError(_rejection(model, str(error))) from error
    write_file(path, text)
    return path


def _rejection(model: RobotModel, message: str) -> str:
    """Return why MuJoCo rejects a robot, with the link and what repairs it."""
    reason, found = message.splitlines()[0].removeprefix('Error: '), _ELEMENT.search(message)
    if found is None:
        return f'MuJoCo rejects the robot: {reason}'
    links = dict(zip(link_names(model), (model.base, *_bodies(model)), strict=True))
    if found[1] not in links:
        return f'MuJoCo rejects {found[1]!r}: {reason}'
    body = links[found[1]]
    moments = ', '.join(f'{x:.4g}' for x in np.linalg.eigvalsh(body.inertia_com))
    return (
        f'MuJoCo rejects link {found[1]!r}, of {body.mass:.4g} kg with principal moments '
        f'({moments}) kg m^2: {reason}; repair=True writes the nearest inertia that it accepts'
    )


def _bodies(model: RobotModel) -> list[Inertial]:
    """Return the inertias of the moving bodies, each in its frame."""
    return [model.inertial(i) for i in range(model.nb)]


def _repaired(model: RobotModel) -> RobotModel:
    """Return a robot with inertias that MuJoCo accepts."""
    bodies = [_accepted(body) for body in _bodies(model)]
    return replace(
        model,
        base=_accepted(model.base) if model.base.mass else model.base,
        mass=np.array([body.mass for body in bodies]),
        inertia_com=np.array([body.inertia_com for body in bodies]),
    )


def _accepted(body: Inertial) -> Inertial:
    """Return the nearest inertia that MuJoCo accepts for a body that moves."""
    moments = np.linalg.eigvalsh(body.inertia_com)
    exact = moments[0] > 0 and moments[2] <= moments[0] + moments[1]
    if exact and body.mass >= LEAST_MASS:
        return body
    # Violations of rounding size are rejected as well.
    near = consistent(body) if inconsistency(body) else body
    moments, axes = np.linalg.eigh(near.inertia_com)
    moments = np.maximum(moments, LEAST_MOMENT)
    moments[:2] += max(0.0, moments[2] - moments[0] - moments[1]) * (0.5 + 1e-9)
    tensor = (axes * moments) @ axes.T
    return Inertial(max(body.mass, LEAST_MASS), body.com, (tensor + tensor.T) / 2)


@dataclass(frozen=True)
class PositionActuator:
    """A position servo of a joint; its damping is that of the joint, outside the torque limit.

    Attributes:
        kp: N m/rad or N/m.
        limit: of its torque, N m or N; inf without.
        delay: of its command, s.
    """

    kp: float
    limit: float
    delay: float


NO_SERVOS: Mapping[str, PositionActuator] = MappingProxyType({})


def to_mjcf(model: RobotModel, servos: Mapping[str, PositionActuator] = NO_SERVOS) -> str:
    """Return the MJCF text of a robot.

    Args:
        model: the robot.
        servos: position actuators by joint, instead of motors; the file has the step and the
            friction that they need.

    Raises:
        ModelError: a joint depends on several coordinates, or no joint moves by a coordinate
            itself; limits are equal or an effort is 0, which limit nothing in MuJoCo.
    """
    _reject_lost_limits(model)
    model = without_dust(model)
    root = Element('mujoco', model=model.name)
    SubElement(root, 'compiler', COMPILER)
    option = SubElement(root, 'option', gravity=written(model.gravity))
    if servos:
        option.set('timestep', written(STEP))
        option.set('integrator', 'implicitfast')
    following = _add_bodies(SubElement(root, 'worldbody'), model)
    for joint in root.iterfind('.//body/joint'):
        if joint.get('name') in servos:
            joint.set('solimpfriction', written(HOLDING))
    _add_equalities(root, model, following)
    _add_actuators(root, model, servos)
    _add_home(root, model, following)
    indent(root)
    return f'{tostring(root, encoding="unicode")}\n'


def _reject_lost_limits(model: RobotModel) -> None:
    """Raise ModelError if MuJoCo would not apply a limit."""
    for name, lower, upper, effort in zip(
        model.joint_names, model.lower, model.upper, model.effort_limit, strict=True
    ):
        if lower == upper:
            raise ModelError(
                f'joint {name!r}: both limits are {lower:g}, which limit nothing in MuJoCo; '
                'expected a lower one below the upper one, or RobotModel.with_locked'
            )
        if effort == 0:
            raise ModelError(
                f'joint {name!r}: the effort limit is 0, which limits nothing in MuJoCo; '
                'expected a positive number, or inf without a limit'
            )


class _Held(NamedTuple):
    """Joints that act before the joint of the next body, each with its pose in the parent."""

    parent: str
    joints: list[tuple[UrdfJoint, Array]]
    pose: Array  # (4, 4) of the last one


def _add_bodies(world: Element, model: RobotModel) -> list[UrdfJoint]:
    """Add the bodies of a robot; return the joints that follow others."""
    links, radii = link_names(model), radii_of(model)
    base = world if links[0] == WORLD else SubElement(world, 'body', name=links[0])
    bodies, following = {links[0]: base}, list[UrdfJoint]()
    _fill(base, model, -1, radii[0])
    held: dict[str, _Held] = {}
    for joint in joints_of(model, links):
        if joint.child not in links:
            _place(SubElement(bodies[joint.parent], 'site', name=joint.child), joint.placement)
            continue
        i = links.index(joint.child) - 1
        parent, before, T = held.pop(joint.parent, _Held(joint.parent, [], np.eye(4)))
        T = T @ joint.placement
        joints = [*before, (joint, T)] if joint.kind != 'fixed' else before
        following += [joint] if joint.mimics else []
        if joint.kind != 'fixed' and _is_passed(model, i):
            held[joint.child] = _Held(parent, joints, T)
            continue
        element = bodies[joint.child] = SubElement(bodies[parent], 'body', name=joint.child)
        _place(element, T)
        for one, pose in joints:
            _add_joint(element, model, one, inverse_pose(T) @ pose)
        _fill(element, model, i, radii[i + 1])
    return following


def _is_passed(model: RobotModel, i: int) -> bool:
    """Return whether body i only connects two joints: in MJCF both belong to the next body."""
    carries = model.mass[i] > 0 or model.inertia_com[i].any() or (model.frame_body == i).any()
    return not carries and np.count_nonzero(model.parent == i) == 1


def _place(element: Element, T: Array) -> None:
    """Set the position and orientation of an element."""
    element.set('pos', written(T[:3, 3]))
    element.set('quat', written(decimals(np.roll(quaternion(T[:3, :3]), 1), 1.0)))


def _add_joint(body: Element, model: RobotModel, joint: UrdfJoint, T: Array) -> None:
    """Add a joint of a body, in whose frame it has the pose T."""
    kind = 'hinge' if joint.kind == 'revolute' else 'slide'
    values = {'type': kind, 'axis': written(decimals(T[:3, :3] @ joint.axis, 1.0))}
    values |= {'pos': written(T[:3, 3])} if T[:3, 3].any() else {}
    k = joint.coordinate
    if not joint.mimics:
        ends = _range(model.lower[k], model.upper[k])
        values |= {'range': ends} if ends else {}
        effort = float(model.effort_limit[k])
        values |= {'actuatorfrcrange': written((-effort, effort))} if effort < np.inf else {}
        for name, x in (
            ('armature', model.reflected_inertia[k]),
            ('damping', model.viscous[k]),
            ('frictionloss', model.coulomb[k]),
        ):
            values |= {name: written(x)} if x else {}
    SubElement(body, 'joint', values, name=joint.name)


def _range(lower: ArrayLike, upper: ArrayLike) -> str:
    """Return the range of a joint, '' without limits; one that is missing is far away."""
    ends = np.array([lower, upper], dtype=float)
    return written(np.clip(ends, -FAR, FAR)) if np.isfinite(ends).any() else ''


def _fill(element: Element, model: RobotModel, i: int, radius: float) -> None:
    """Add the inertia of body i, -1 for the base, and capsules that show it."""
    body = model.base if i < 0 else model.inertial(i)
    if body.mass > 0 and element.tag == 'body':
        I = body.inertia_com
        tensor = I[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        SubElement(
            element,
            'inertial',
            pos=written(body.com),
            mass=written(body.mass),
            fullinertia=written(tensor),
        )
    for ends in lines_of(model, i):
        shape = {'type': 'capsule', 'contype': '0', 'conaffinity': '0', 'group': '1'}
        line = written(np.concatenate(ends))
        SubElement(element, 'geom', shape, fromto=line, size=written(radius), mass='0')


def _add_equalities(root: Element, model: RobotModel, following: list[UrdfJoint]) -> None:
    """Add the equalities of joints that follow others."""
    if following:
        equality = SubElement(root, 'equality')
        for joint in following:
            line = written((joint.offset, joint.multiplier, 0.0, 0.0, 0.0))
            leader = model.joint_names[joint.coordinate]
            SubElement(equality, 'joint', joint1=joint.name, joint2=leader, polycoef=line)


def _add_actuators(
    root: Element, model: RobotModel, servos: Mapping[str, PositionActuator]
) -> None:
    """Add one motor or position actuator per coordinate."""
    actuator = SubElement(root, 'actuator')
    for name, effort in zip(model.joint_names, model.effort_limit.tolist(), strict=True):
        if name in servos:
            _add_servo(actuator, name, servos[name])
            continue
        motor = SubElement(actuator, 'motor', name=name, joint=name)
        if effort < np.inf:
            motor.set('ctrlrange', written((-effort, effort)))


def _add_servo(actuator: Element, name: str, servo: PositionActuator) -> None:
    # kv would be clipped with the rest of the torque; damping is that of the joint.
    values = {'name': name, 'joint': name, 'kp': written(servo.kp), 'kv': '0'}
    if servo.limit < np.inf:
        values['forcerange'] = written((-servo.limit, servo.limit))
    # Commands of as many steps are kept; a delay below half a step of MuJoCo is none.
    if (kept := round(servo.delay / STEP)) > 0:
        values |= {'delay': written(servo.delay), 'nsample': str(kept + 1)}
    SubElement(actuator, 'position', values)


def _add_home(root: Element, model: RobotModel, following: list[UrdfJoint]) -> None:
    """Add the keyframe of the start posture, if there is one for every joint."""
    if not model.home.keys() >= {*model.joint_names}:
        return
    qpos = dict(model.home)
    for joint in following:
        leader = model.home[model.joint_names[joint.coordinate]]
        qpos[joint.name] = joint.multiplier * leader + joint.offset
    order = [joint.get('name', '') for joint in root.iterfind('.//body/joint')]
    SubElement(
        SubElement(root, 'keyframe'), 'key', name=HOME, qpos=written([qpos[j] for j in order])
    )
