# SPDX-License-Identifier: Apache-2.0
"""URDF of a RobotModel: of a Denavit-Hartenberg table, of screw axes, with payloads and locks.

In a URDF the frame of a link is that of its joint. A frame away from the joint, such as frame {i}
of a standard table, is a link of its own, fixed to that of the body. A row of the coordinate map

    q_body = S q + s0

is a joint that mimics that of its coordinate. Primitives along the links make the robot visible;
they are <visual> alone: they are not measured, so nothing is kept clear of them. What a URDF
cannot hold, rotors and gravity, is written as parameters of the nodes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.files import write_files
from robot_dynamics.common.reporting.numbers import decimals
from robot_dynamics.common.spatial import Array, pose, rpy
from robot_dynamics.common.yaml_text import parameters_text
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.core.model.robot_model import RATE_LIMITS, RobotModel
from robot_dynamics.urdf.editing import edited, inertial_changes, written
from robot_dynamics.urdf.reader import read_urdf

DENSITY = 2_000.0  # kg/m^3 of the drawn bodies, as of links with their motors
RADII = 0.02, 0.3  # least and largest radius of a drawn link, relative to the mean length
SHORTEST = 1e-3  # m, of a line that is drawn
SIZE = 0.2  # m, the length that counts for a robot without lines


def write_urdf(model: RobotModel, file: str | os.PathLike[str] | None = None) -> Path:
    """Write the URDF of a robot and, beside it with the suffix .yaml, parameters of the nodes.

    `load_urdf` reads the same robot, exact to rounding. Rotors and gravity are in the parameters.
    Links and joints are in the order of the tree; a joint that follows another has a new name.

    Args:
        model: the robot.
        file: where; by default the name of the robot, with .urdf, in the working directory.

    Returns:
        The path of the URDF.

    Raises:
        ModelError: as `to_urdf`, or the name of the file does not end in .urdf.
        OSError: a file cannot be written; then neither is.
    """
    model = without_dust(model)
    path = Path(f'{Path(model.name).name}.urdf' if file is None else os.fsdecode(file))
    if path.suffix != '.urdf':
        raise ModelError(f'the file is {str(path)!r}; expected a name that ends in .urdf')
    parameters = {
        'joints': list(model.joint_names),
        'gravity': model.gravity.tolist(),
        'rotor_inertia': model.reflected_inertia.tolist(),
    }
    write_files({path: to_urdf(model), path.with_suffix('.yaml'): parameters_text(parameters)})
    return path


def to_urdf(model: RobotModel, names: Sequence[str] | None = None) -> str:
    """Return the URDF text of a robot, without its rotors and gravity.

    Args:
        model: the robot.
        names: (nb) of the joints of the bodies, those of the coordinates among them; by default
            joints that follow another are named after their links.

    Raises:
        ModelError: a joint depends on several coordinates, no joint moves by a coordinate itself,
            a limit is 0, which means none in a URDF, or the reader rejects a name or a number.
    """
    model = without_dust(model)
    robot = Element('robot', name=model.name)
    links = link_names(model)
    radii = radii_of(model)
    for i, (link, radius) in enumerate(zip(links, radii, strict=True), start=-1):
        element = SubElement(robot, 'link', name=link)
        for start, end in lines_of(model, i):
            _add_line(element, start, end, radius)
    for joint in joints_of(model, links, names):
        if joint.child not in links:
            SubElement(robot, 'link', name=joint.child)
        elif joint.kind != 'fixed':
            i = links.index(joint.child)
            _add_joint_shape(robot[i], joint, 2 * radii[i])
        _add_joint(robot, model, joint)
    indent(robot)
    bodies = zip(links, (model.base, *map(model.inertial, range(model.nb))), strict=True)
    changes = [
        change
        for link, body in bodies
        # Links that move have an <inertial>, of zeros if they are massless.
        if link != links[0] or body.mass or body.inertia_com.any()
        for change in inertial_changes(link, body)
    ]
    text = edited(tostring(robot, encoding='utf-8'), changes).decode()
    read_urdf(text)
    return f'{text}\n'


def without_dust(model: RobotModel) -> RobotModel:
    """Return the model with zeros and short decimals where they differ by rounding alone."""
    size = max(float(np.abs(x).max(initial=0)) for x in (model.placement[:, :3, 3], model.com))

    def placed(T: Array) -> Array:
        parts = decimals(T[..., :3, :3], 1.0), decimals(T[..., :3, 3:], size)
        return np.concatenate([np.concatenate(parts, axis=-1), T[..., 3:, :]], axis=-2)

    inertia = [decimals(one, float(np.trace(one))) for one in model.inertia_com]
    base = model.base
    tensor = decimals(base.inertia_com, float(np.trace(base.inertia_com)))
    return replace(
        model,
        base=Inertial(base.mass, decimals(base.com, size), tensor),
        placement=placed(model.placement),
        frame_placement=placed(model.frame_placement),
        com=decimals(model.com, size),
        inertia_com=np.array(inertia).reshape(-1, 3, 3),
        gravity=decimals(model.gravity, float(np.abs(model.gravity).max())),
    )


# -- names ----------------------------------------------------------------------------------


def link_names(model: RobotModel) -> list[str]:
    """Return the links (1 + nb) of the base and the bodies, whose frames are at their joints."""
    taken = set(model.frame_names)
    at_joint = [
        (name, body)
        for name, body, T in _frames(model)
        if np.array_equal(T, np.eye(4)) and (body < 0 or name == model.body_names[body])
    ]
    links = []
    for i, wanted in enumerate(('base', *model.body_names), start=-1):
        own = next((name for name, body in at_joint if body == i), None)
        new = wanted if wanted not in taken else f'{wanted}_body'
        links.append(own or _unused(new, taken))
    return links


def _unused(name: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, and take it."""
    while name in taken:
        name += '_'
    taken.add(name)
    return name


def _frames(model: RobotModel) -> Iterator[tuple[str, int, Array]]:
    """Yield name, body and placement of each frame."""
    bodies = model.frame_body.tolist()
    return zip(model.frame_names, bodies, model.frame_placement, strict=True)


# -- joints ---------------------------------------------------------------------------------


class UrdfJoint(NamedTuple):
    """A joint of the URDF; its position is multiplier q + offset of a coordinate."""

    name: str
    kind: str  # 'fixed', 'revolute' or 'prismatic'
    parent: str  # link
    child: str
    placement: Array  # (4, 4)
    axis: Array
    coordinate: int = 0
    multiplier: float = 1.0
    offset: float = 0.0
    mimics: bool = False


def joints_of(
    model: RobotModel, links: list[str], names: Sequence[str] | None = None
) -> Iterator[UrdfJoint]:
    """Yield the joints of bodies and frames. Arguments as `to_urdf`, and the names of its links.

    Siblings are in the order in which the frames are listed: that of the links when they are read.
    """
    for link, row in zip(model.body_names, model.S, strict=True):
        if np.count_nonzero(row) > 1:
            names = ', '.join(np.array(model.joint_names)[row != 0])
            raise ModelError(
                f'the joint of link {link!r} depends on {names}; a joint of a URDF depends on one '
                'coordinate'
            )
    taken = {*model.joint_names, *(names or ())}
    if names is None:
        leaders = [_leader(model, k) for k in range(model.n)]
        new = {i: f'{links[i + 1]}_joint' for i in range(model.nb) if i not in leaders}
        names = [_unused(new[i], taken) if i in new else '' for i in range(model.nb)]
    else:
        leaders = [names.index(joint) for joint in model.joint_names]
    done = 0
    for frame, body, T in _frames(model):
        yield from (_body_joint(model, i, links, leaders, names) for i in range(done, body + 1))
        done = max(done, body + 1)
        if frame not in links:
            name = _unused(f'{frame}_joint', taken)
            yield UrdfJoint(name, 'fixed', links[body + 1], frame, T, np.zeros(3))
    yield from (_body_joint(model, i, links, leaders, names) for i in range(done, model.nb))


def _leader(model: RobotModel, k: int) -> int:
    """Return the body whose joint is coordinate k, or is it but for its zero and its sign."""
    moved = np.flatnonzero(np.abs(model.S[:, k]) == 1).tolist()
    exact = [i for i in moved if model.S[i, k] == 1 and model.s0[i] == 0]
    if not moved:
        raise ModelError(
            f'coordinate {model.joint_names[k]!r} moves joints by {model.S[:, k].tolist()}; a '
            'URDF needs a joint that moves by 1 or -1'
        )
    return int((exact or moved)[0])


def _body_joint(
    model: RobotModel, i: int, links: list[str], leaders: list[int], names: Sequence[str]
) -> UrdfJoint:
    """Return the joint of body i."""
    kind = 'revolute' if model.revolute[i] else 'prismatic'
    ends = links[int(model.parent[i]) + 1], links[i + 1]
    columns = np.flatnonzero(model.S[i]).tolist()
    if columns and i not in leaders:
        (k,) = columns
        ratio, offset = float(model.S[i, k]), float(model.s0[i])
        return UrdfJoint(
            names[i],
            kind,
            *ends,
            model.placement[i],
            model.axis[i],
            k,
            ratio,
            offset,
            mimics=True,
        )
    # T(q + s0) = T(s0) T(q) about one axis, and T(-q) about the opposite one
    still = pose(*model.joint_transform(i, model.s0[i]))
    if not columns:
        return UrdfJoint(names[i], 'fixed', *ends, still, np.zeros(3))
    (k,) = columns
    return UrdfJoint(model.joint_names[k], kind, *ends, still, model.S[i, k] * model.axis[i], k)


def _add_joint(robot: Element, model: RobotModel, joint: UrdfJoint) -> None:
    """Add a <joint>."""
    kind, k, ratio = joint.kind, joint.coordinate, joint.multiplier
    ends = sorted(float(ratio * x + joint.offset) for x in (model.lower[k], model.upper[k]))
    if unlimited := not np.isfinite(ends).any():
        kind = 'continuous' if kind == 'revolute' else kind
    element = SubElement(robot, 'joint', name=joint.name, type=kind)
    SubElement(element, 'parent', link=joint.parent)
    SubElement(element, 'child', link=joint.child)
    _add_origin(element, joint.placement)
    if joint.kind == 'fixed':
        return
    SubElement(element, 'axis', xyz=written(joint.axis))
    sizes = {
        **{name[:-6]: float(abs(ratio) * getattr(model, name)[k]) for name in RATE_LIMITS},
        'effort': np.inf if joint.mimics else float(model.effort_limit[k]),
    }
    if 0 in sizes.values() or ends == [0, 0]:
        raise ModelError(
            f'limits of joint {joint.name!r} are {ends} and {sizes}; expected none that is 0, '
            'which means none in a URDF'
        )
    # An unspecified velocity or effort is written as 0, which other readers require.
    limits = {
        name: 0.0 if np.isinf(value) else value
        for name, value in sizes.items()
        if name in ('velocity', 'effort') or np.isfinite(value)
    }
    if kind != 'continuous':
        limits |= dict(zip(('lower', 'upper'), (0.0, 0.0) if unlimited else ends, strict=True))
    if kind != 'continuous' or any(limits.values()):
        SubElement(element, 'limit', {name: written(value) for name, value in limits.items()})
    if joint.mimics:
        mimic = SubElement(element, 'mimic', joint=model.joint_names[k])
        mimic.set('multiplier', written(ratio))
        mimic.set('offset', written(joint.offset))
    elif model.viscous[k] or model.coulomb[k]:
        friction = {'damping': model.viscous[k], 'friction': model.coulomb[k]}
        SubElement(element, 'dynamics', {name: written(x) for name, x in friction.items()})


# -- shapes ---------------------------------------------------------------------------------


def lines_of(model: RobotModel, i: int) -> list[tuple[Array, Array]]:
    """Return lines (start, end) between the joints and frames of body i, -1 for the base.

    They are the shortest tree from the joint of the body; a body without other points has a line
    to its centre of mass.
    """
    points = [model.placement[j, :3, 3] for j in np.flatnonzero(model.parent == i)]
    points += [T[:3, 3] for _, body, T in _frames(model) if body == i]
    ends = np.array(points).reshape(-1, 3)
    if i >= 0 and not (np.linalg.norm(ends, axis=1) > SHORTEST).any():
        ends = model.com[i : i + 1]
    starts, distance, left = np.zeros_like(ends), np.linalg.norm(ends, axis=1), [*range(len(ends))]
    lines = []
    while left:
        nearest = min(left, key=lambda j: distance[j])
        left.remove(nearest)
        if distance[nearest] > SHORTEST:
            lines.append((starts[nearest].copy(), ends[nearest]))
        others = np.linalg.norm(ends - ends[nearest], axis=1)
        starts[others < distance] = ends[nearest]
        distance = np.minimum(distance, others)
    return lines


def radii_of(model: RobotModel) -> list[float]:
    """Return the radii (1 + nb) of the lines of the base and the bodies, those of their masses."""
    lengths = [
        [float(np.linalg.norm(end - start)) for start, end in lines_of(model, i)]
        for i in range(-1, model.nb)
    ]
    every = [length for own in lengths for length in own]
    least, largest = np.array(RADII) * (np.mean(every) if every else SIZE)
    radii = []
    for mass, own in zip((model.base.mass, *model.mass), lengths, strict=True):
        # A line and a cylinder about the joint of twice its radius and length 4 r:
        # m / rho = pi (r^2 L + 16 r^3)
        roots = np.roots([16.0, sum(own), 0.0, -mass / (DENSITY * np.pi)])
        radii.append(float(np.clip(roots.real.max(), least, largest)))
    return radii


def _add_line(link: Element, start: Array, end: Array, radius: float) -> None:
    """Add a cylinder between two points of a link."""
    shape = _add_shape(link, (start + end) / 2, end - start)
    length = written(np.linalg.norm(end - start))
    SubElement(shape, 'cylinder', radius=written(radius), length=length)


def _add_joint_shape(link: Element, joint: UrdfJoint, radius: float) -> None:
    """Add a cylinder about the axis of a revolute joint, a box along that of a prismatic one."""
    shape = _add_shape(link, np.zeros(3), joint.axis)
    if joint.kind == 'revolute':
        SubElement(shape, 'cylinder', radius=written(radius), length=written(2 * radius))
    else:
        SubElement(shape, 'box', size=written((1.5 * radius, 1.5 * radius, 3 * radius)))


def _add_shape(link: Element, centre: Array, z: Array) -> Element:
    """Add a <visual> whose z axis has a direction, and return its <geometry>."""
    visual = SubElement(link, 'visual')
    # The z axis of Rz(yaw) Ry(pitch) has the polar angle `pitch` and the azimuth `yaw`.
    angles = 0.0, np.arctan2(np.hypot(z[0], z[1]), z[2]), np.arctan2(z[1], z[0])
    SubElement(visual, 'origin', xyz=written(centre), rpy=written(angles))
    return SubElement(visual, 'geometry')


def _add_origin(element: Element, T: Array) -> None:
    """Add an <origin>."""
    SubElement(element, 'origin', xyz=written(T[:3, 3]), rpy=written(rpy(T[:3, :3])))
