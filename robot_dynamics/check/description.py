# SPDX-License-Identifier: Apache-2.0
"""Read-only contents of a robot description, read leniently.

A description that `urdf.loading` rejects is still read as far as it has a meaning, so that all its
faults are found at once: a value that is missing or no number is NaN here, and the rules of syntax
report it. A link without an <inertial> that can be read is massless.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.made_once import made_once
from robot_dynamics.common.spatial import Array, pose, rotation_rpy
from robot_dynamics.core.model.inertia import Inertial, symmetric
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.urdf.deviations import Remarks, normalize
from robot_dynamics.urdf.geometry.link_solids import Geometry, Solid, link_geometry
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.urdf.reader import read_urdf, xml_root
from robot_dynamics.urdf.rules import DEFAULTS, MAX_NUMBER, MOVING_TYPES, TENSOR, completed

MIN_MASSES = 3  # fewer have no median
MIN_LENGTH = 1e-3  # m
SKELETON_DENSITY = 1_200.0  # kg/m^3
SKELETON_RADIUS = 0.35  # radius of gyration of a link over its length


@dataclass(frozen=True, eq=False)
class Link:
    """A link: its inertia, with the tensor in the axes of the <inertial>, and its geometry."""

    name: str
    has_inertial: bool
    body: Inertial  # massless if there is no <inertial>, or one with wrong values
    rotation: Array  # (3, 3) from the axes of the <inertial> to the link's
    geometry: Geometry
    skeleton: Solid | None = None  # stands for missing geometry; see `_with_skeletons`

    @property
    def solids(self) -> tuple[Solid, ...]:
        """The solids to compare with: of the geometry, or a guess."""
        guess = () if self.skeleton is None else (self.skeleton,)
        return self.geometry.solids or guess

    @property
    def tensor(self) -> Array:
        """Tensor about the centre of mass, in the link's axes."""
        return np.asarray(self.rotation @ self.body.inertia_com @ self.rotation.T)


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint; an attribute is NaN where it is missing or no finite number."""

    name: str
    type: str
    parent: str
    child: str
    placement: Array  # (4, 4) pose in the parent link
    rpy: Array  # (3,) its angles as written, rad
    axis: Array  # (3,) as written
    lower: float
    upper: float
    velocity: float
    effort: float
    has_limit: bool
    mimic: bool

    @property
    def moves(self) -> bool:
        """Whether it is of a type with one coordinate."""
        return self.type in MOVING_TYPES


@dataclass(frozen=True, eq=False)
class Description:
    """A robot description."""

    root: Element
    links: Mapping[str, Link]
    joints: Mapping[str, Joint]
    model: RobotModel | None  # None if it cannot be built
    rejection: str | None  # why
    remarks: Remarks = field(default_factory=Remarks)  # what was read although it deviates

    @made_once
    def inward(self) -> Mapping[str, Joint]:
        """The joint between each link and its parent."""
        return {joint.child: joint for joint in self.joints.values()}

    @made_once
    def outward(self) -> Mapping[str, list[Joint]]:
        """The joints that leave each link."""
        joints: dict[str, list[Joint]] = {name: [] for name in self.links}
        for joint in self.joints.values():
            joints.setdefault(joint.parent, []).append(joint)
        return joints

    @made_once
    def offsets(self) -> Array:
        """Magnitudes (joints, 3) of the coordinates of the joints in their parents."""
        return np.abs([joint.placement[:3, 3] for joint in self.joints.values()])

    @made_once
    def placements(self) -> Mapping[str, Array]:
        """Pose (4, 4) of each link in the root at zero joint positions, empty without a tree."""
        if self.model is None:
            return {}
        (root,) = set(self.links) - set(self.inward)
        poses = {root: np.eye(4)}
        waiting = [root]
        while waiting:
            link = waiting.pop()
            for joint in self.outward[link]:
                poses[joint.child] = poses[link] @ joint.placement
                waiting.append(joint.child)
        return poses

    @made_once
    def rigid(self) -> Mapping[str, str]:
        """The first link of the rigid body that each link belongs to; empty without a tree."""
        first: dict[str, str] = {}
        for link in self.placements:  # parents before their children
            joint = self.inward.get(link)
            first[link] = link if joint is None or joint.moves else first[joint.parent]
        return first

    def members(self, link: str) -> Iterator[Link]:
        """Yield the links of the rigid body whose first link is given."""
        return (self.links[name] for name, first in self.rigid.items() if first == link)


def read_description(text: bytes, folders: Sequence[Path]) -> Description:
    """Return the contents of a URDF.

    Args:
        text: the URDF.
        folders: where meshes are searched.

    A text that is no robot description is one without links, with the reason as its rejection.
    """
    remarks = Remarks()
    try:
        root = xml_root(text)
        normalize(root, Remarks())
    except ModelError as error:
        return unread(str(error))
    completed(root)
    links = {link.get('name', ''): _link(link, folders) for link in root.findall('link')}
    joints = {joint.get('name', ''): _joint(joint) for joint in root.findall('joint')}
    model, rejection = None, None
    with suppress(ModelError):
        read_urdf(text, remarks)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            model = parse_urdf(text)
    except ModelError as error:
        rejection = str(error)
    return Description(root, _with_skeletons(links, joints), joints, model, rejection, remarks)


def unread(reason: str) -> Description:
    """Return the description of a text that is no robot description, and why."""
    return Description(Element('robot'), {}, {}, None, reason)


def _link(link: Element, folders: Sequence[Path]) -> Link:
    inertial = link.find('inertial')
    body, rotation = Inertial(), np.eye(3)
    if inertial is not None:
        place = _origin(inertial)
        mass = _number(inertial, 'mass', 'value')
        entries = [_number(inertial, 'inertia', key) for key in TENSOR]
        if np.isfinite([*place[:3].ravel(), mass, *entries]).all():
            body, rotation = Inertial(mass, place[:3, 3], symmetric(entries)), place[:3, :3]
    geometry = link_geometry(link, folders)
    return Link(link.get('name', ''), inertial is not None, body, rotation, geometry)


def _with_skeletons(links: Mapping[str, Link], joints: Mapping[str, Joint]) -> dict[str, Link]:
    """Return the links; moved ones with a mass but no geometry with a solid guessed for them.

    Its length is the distance to the next joint, its volume that of a typical density with the
    median mass of all links. It can only tell factors of units.
    """
    masses = [link.body.mass for link in links.values() if link.body.mass]
    if len(masses) < MIN_MASSES:
        return dict(links)
    ends: dict[str, list[Array]] = {}
    for joint in joints.values():
        if joint.moves:
            ends.setdefault(joint.parent, []).append(joint.placement[:3, 3])
    lengths = {n: max(float(np.linalg.norm(p)) for p in ps) for n, ps in ends.items()}
    typical = float(np.median(list(lengths.values()) or [0.0]))
    found = dict(links)
    for name in (joint.child for joint in joints.values() if joint.moves):
        link, length = links.get(name), lengths.get(name, typical)
        if link is None or link.geometry.solids or length < MIN_LENGTH:
            continue
        points = np.array([np.zeros(3), *ends.get(name, [])])
        solid = Solid(
            volume=float(np.median(masses)) / SKELETON_DENSITY,
            centroid=points.mean(axis=0),
            sigma=(SKELETON_RADIUS * length) ** 2 / 3 * np.eye(3),
            lower=points.min(axis=0) - length / 2,
            upper=points.max(axis=0) + length / 2,
        )
        found[name] = replace(link, skeleton=solid)
    return found


def _joint(joint: Element) -> Joint:
    ends = (joint.find(tag) for tag in ('parent', 'child'))
    parent, child = ('' if end is None else end.get('link', '') for end in ends)
    place = _origin(joint)
    axis = _numbers(joint, 'axis', 'xyz', 3)
    lower, upper, velocity, effort = (
        _number(joint, 'limit', key, np.inf) for key in ('lower', 'upper', 'velocity', 'effort')
    )
    return Joint(
        name=joint.get('name', ''),
        type=joint.get('type', ''),
        parent=parent,
        child=child,
        placement=place if np.isfinite(place).all() else np.eye(4),
        rpy=np.nan_to_num(_numbers(joint, 'origin', 'rpy', 3)),
        axis=axis,
        lower=lower,
        upper=upper,
        velocity=velocity,
        effort=effort,
        has_limit=joint.find('limit') is not None,
        mimic=joint.find('mimic') is not None,
    )


def _origin(element: Element) -> Array:
    xyz, rpy = (_numbers(element, 'origin', key, 3) for key in ('xyz', 'rpy'))
    return pose(rotation_rpy(*rpy), xyz)


def _number(element: Element, tag: str, key: str, most: float = MAX_NUMBER) -> float:
    return float(_numbers(element, tag, key, 1, most)[0])


def _numbers(element: Element, tag: str, key: str, count: int, most: float = MAX_NUMBER) -> Array:
    """Return the numbers (count,) of an attribute, all NaN if one is missing or beyond a size."""
    child, default = element.find(tag), DEFAULTS.get(tag, {}).get(key, '')
    text = default if child is None else child.get(key, default)
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.zeros(0)
    sound = np.isfinite(values) & (np.abs(values) <= most)
    return values if values.shape == (count,) and sound.all() else np.full(count, np.nan)
