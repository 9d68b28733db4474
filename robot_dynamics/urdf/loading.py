# SPDX-License-Identifier: Apache-2.0
"""Conversion of a URDF to a RobotModel.

The tree of links becomes a tree of moving bodies. Links connected by fixed joints move as one
body: their inertias are added and their frames kept by name. The frame of a body is the link frame
of its moving joint. Imperfections of usable descriptions are warned about, once per kind and by
name; descriptions without meaning are rejected with a ModelError.

Sources: the URDF XML specification, wiki.ros.org/urdf/XML; Spong, Hutchinson and Vidyasagar,
section 6.2.3, for the tensors.
"""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import InertialWarning, LimitsWarning, ModelError
from robot_dynamics.common.spatial import Array, pose
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.core.model.coordinates import friction_of_coordinates
from robot_dynamics.core.model.inertia import Inertial, combined, inconsistency, transformed
from robot_dynamics.core.model.joints import joint_transform
from robot_dynamics.core.model.robot_model import RATE_LIMITS, STANDARD_GRAVITY, RobotModel
from robot_dynamics.urdf.deviations import (
    NOT_UTF8,
    UTF8,
    Remarks,
    encoding_of,
    in_utf8,
    reject_binary,
    root_tag,
)
from robot_dynamics.urdf.elements import (
    is_revolute,
    joint_armature,
    joint_friction,
    joint_limits,
    link_inertial,
    origin_pose,
    unit_axis,
)
from robot_dynamics.urdf.identified import lacking
from robot_dynamics.urdf.reader import MAX_BYTES, read_urdf
from robot_dynamics.urdf.robot_files import contents_of, named, robot_file
from robot_dynamics.urdf.tree import JointMotion, LinkTree, joint_motions, link_tree

MJCF = 'mujoco'  # root element
ROUNDING = 1e-9  # of limits in rad or m
LISTED = 3  # joints that a warning names


def load_urdf(
    path: str | os.PathLike[str],
    *,
    gravity: ArrayLike = STANDARD_GRAVITY,
    locked_joints: Mapping[str, float] | None = None,
    tip_link: str | None = None,
    strict_inertials: bool = False,
    xacro_arguments: Mapping[str, str] | None = None,
    package_paths: Sequence[str | os.PathLike[str]] = (),
) -> RobotModel:
    """Return the robot of a URDF file, with the suffix .xacro of a xacro file, or of MJCF.

    An MJCF file, with the root element <mujoco>, becomes a URDF first: its gravity is left out.
    `load_mjcf` reads it without that.

    A .xacro is a program: it evaluates expressions and reads other files. From an unknown source,
    load URDF files only.

    Args:
        path: the file, or the name of a robot on this disk, such as 'panda' (see `robot_file`).
        gravity: (3,) gravity vector, base frame, m/s^2.
        locked_joints: positions of locked joints [rad or m]; their links keep their mass.
        tip_link: keep only the coordinates that move this link, and lock the others at 0.
        strict_inertials: reject physically inconsistent inertias instead of warning.
        xacro_arguments: values of the arguments of a .xacro file, by name.
        package_paths: folders of packages, which `$(find ...)` in a .xacro file searches before
            the ament index and the folders above the file.

    Raises:
        ModelError: the file cannot be read, or the description is wrong; the message names the
            element, its value and the expected one.

    Warns:
        InertialWarning: an inertia is physically inconsistent, or a moving link has no mass or no
            <inertial>.
        UserWarning: the limits of a mimic joint narrow those of its leader.
        LimitsWarning: a joint has no position, velocity or effort limit; none is applied.
        UserWarning: a .xacro file does not use an argument.
        UserWarning: the description was identified, with rotors or a friction law that are in the
            parameter file beside it.
        UserWarning: the description deviates from the specification and is read all the same; one
            per kind, see `deviations`.
    """
    with named(path):
        text = urdf_text(path, xacro_arguments, package_paths)
        model = _robot(text, gravity, locked_joints, tip_link, strict_inertials)
        _warn_of_lacking(model, text, None)
        return model


def parse_urdf(
    xml_text: str | bytes,
    *,
    gravity: ArrayLike = STANDARD_GRAVITY,
    locked_joints: Mapping[str, float] | None = None,
    tip_link: str | None = None,
    strict_inertials: bool = False,
    unset_parameters: Collection[str] | None = None,
) -> RobotModel:
    """Return the robot of a URDF text. The text may be untrusted; xacro is never evaluated.

    Args:
        xml_text: the description.
        gravity: (3,) gravity vector, base frame, m/s^2.
        locked_joints: positions of locked joints [rad or m]; their links keep their mass.
        tip_link: keep only the coordinates that move this link, and lock the others at 0.
        strict_inertials: reject physically inconsistent inertias instead of warning.
        unset_parameters: names of parameters of nodes that have their default; None: all. An
            identified description warns of those of them that were identified as well.

    Errors and warnings are those of `load_urdf`.
    """
    model = _robot(xml_text, gravity, locked_joints, tip_link, strict_inertials)
    _warn_of_lacking(model, xml_text, unset_parameters)
    return model


def _warn_of_lacking(model: RobotModel, text: str | bytes, unset: Collection[str] | None) -> None:
    if problem := lacking(text, unset):
        warnings.warn(f'robot {model.name!r}: {problem}', UserWarning, stacklevel=3)


# -- files ----------------------------------------------------------------------------------


def urdf_text(
    path: str | os.PathLike[str],
    xacro_arguments: Mapping[str, str] | None = None,
    package_paths: Sequence[str | os.PathLike[str]] = (),
) -> bytes | str:
    """Return the contents of a URDF file, the expansion of a .xacro file, or the URDF of an MJCF.

    A file is MJCF if its root element is <mujoco>. MuJoCo reads it, and what it includes. Its
    arguments are `root` and `free_base` of `load_mjcf`.

    Arguments and warnings are those of `load_urdf`.

    Raises:
        ModelError: the file cannot be read or converted, or is given arguments that it does not
            take; the arguments are no mapping, or the folders no list.
        MujocoMissing: the file is MJCF, and MuJoCo is not installed.
    """
    if not isinstance(xacro_arguments or {}, Mapping):
        raise ModelError(
            f'xacro_arguments is {xacro_arguments!r}; expected values by name, such as '
            "{'ur_type': 'ur5e'}"
        )
    # The characters of a path are folders too.
    if isinstance(package_paths, (str, os.PathLike)):
        raise ModelError(f'package_paths is {package_paths!r}; expected a list of folders')
    file, arguments = robot_file(path), xacro_arguments or {}
    contents = contents_of(file)
    if file.suffix == '.xacro':
        # Imported late: most files need no process.
        from robot_dynamics.urdf.xacro_process import expanded

        reject_binary(contents)
        return expanded(file, arguments, package_paths)
    if root_tag(contents) == MJCF:
        # Imported late: it imports what writes URDF files.
        from robot_dynamics.urdf.mjcf.as_urdf import urdf_of_mjcf

        return urdf_of_mjcf(file, arguments)
    if arguments:
        raise ModelError(
            f'xacro arguments are given ({", ".join(arguments)}); expected a .xacro file, or none'
        )
    return _in_utf8(contents)


def is_mjcf(path: str | os.PathLike[str]) -> bool:
    """Return whether a file can be read and is MJCF."""
    try:
        with Path(path).open('rb') as stream:
            return root_tag(stream.read(MAX_BYTES)) == MJCF
    except (OSError, ValueError):
        return False


def _in_utf8(contents: bytes) -> bytes:
    """Return a description in UTF-8; warn of another encoding that it declares."""
    encoding = encoding_of(contents)
    if encoding != UTF8:
        warnings.warn(f'{NOT_UTF8}: {encoding}', UserWarning, stacklevel=3)
    return in_utf8(contents)


# -- assembly -------------------------------------------------------------------------------


class _Body(NamedTuple):
    """A moving body: its joint, its parent body, and the pose of the joint in that body."""

    joint: Any
    parent: int
    placement: Array


def _robot(
    xml_text: str | bytes,
    gravity: ArrayLike,
    locked_joints: Mapping[str, float] | None,
    tip_link: str | None,
    strict_inertials: bool,
) -> RobotModel:
    remarks = Remarks()
    robot = read_urdf(xml_text, remarks)
    tree = link_tree(robot)
    motions = joint_motions(tree, locked_joints or {}, tip_link)
    inertials = {name: link_inertial(link) for name, link in tree.links.items()}
    bodies, frames = _merged(tree, motions)
    model = replace(
        _model(robot.name, motions, bodies, frames, inertials),
        gravity=_checked(gravity),
        home=robot.home,
    )
    model, narrowed = _within_mimic_limits(model, bodies)
    problems = [
        *_inconsistent_inertials(inertials),
        *_massless_bodies(model),
        *_missing_inertials(model, tree),
    ]
    if problems and strict_inertials:
        raise ModelError('; '.join(problems))
    for problem in problems:
        warnings.warn(f'robot {robot.name!r}: {problem}', InertialWarning, stacklevel=3)
    for problem in (*remarks.sentences(), *narrowed):
        warnings.warn(f'robot {robot.name!r}: {problem}', UserWarning, stacklevel=3)
    for problem in _unlimited(model, tree.joints):
        warnings.warn(f'robot {robot.name!r}: {problem}', LimitsWarning, stacklevel=3)
    return model


def _merged(
    tree: LinkTree, motions: Mapping[str, JointMotion]
) -> tuple[list[_Body], dict[str, tuple[int, Array]]]:
    """Return the moving bodies and, for each link in tree order, its body and pose in it."""
    bodies: list[_Body] = []
    frames = {tree.root: (-1, np.eye(4))}
    for joint in tree.walk():
        parent, T_parent = frames[joint.parent]
        placement = T_parent @ origin_pose(joint)
        motion = motions[joint.name]
        if motion.coordinate is not None:
            frames[joint.child] = (len(bodies), np.eye(4))
            bodies.append(_Body(joint, parent, placement))
        elif joint.type == 'fixed':
            frames[joint.child] = (parent, placement)
        else:
            still = joint_transform(placement, unit_axis(joint), is_revolute(joint), motion.offset)
            frames[joint.child] = (parent, pose(*still))
    return bodies, frames


def _model(
    name: str,
    motions: Mapping[str, JointMotion],
    bodies: list[_Body],
    frames: Mapping[str, tuple[int, Array]],
    inertials: Mapping[str, Inertial],
) -> RobotModel:
    leaders, S, s0 = _coordinates(motions, bodies)
    limits = [joint_limits(joint) for joint in leaders]
    friction = np.array([joint_friction(b.joint) for b in bodies]).reshape(-1, 2).T
    rotors = np.array([joint_armature(b.joint) for b in bodies])
    carried = defaultdict(list)
    for link, (body, T) in frames.items():
        carried[body].append(transformed(inertials[link], T))
    return build_tree(
        name,
        [body.parent for body in bodies],
        [is_revolute(body.joint) for body in bodies],
        [unit_axis(body.joint) for body in bodies],
        [body.placement for body in bodies],
        [combined(carried[i]) for i in range(len(bodies))],
        joint_names=tuple(joint.name for joint in leaders),
        body_names=tuple(body.joint.child for body in bodies),
        S=S,
        s0=s0,
        lower=np.array([limit.lower for limit in limits]),
        upper=np.array([limit.upper for limit in limits]),
        velocity_limit=np.array([limit.velocity for limit in limits]),
        acceleration_limit=np.array([limit.acceleration for limit in limits]),
        deceleration_limit=np.array([limit.deceleration for limit in limits]),
        jerk_limit=np.array([limit.jerk for limit in limits]),
        effort_limit=np.array([limit.effort for limit in limits]),
        **friction_of_coordinates(S, *friction),
        # diag(S^T B S)
        reflected_inertia=(S**2).T @ rotors,
        link_names=tuple(frames),
        frame_names=tuple(frames),
        frame_body=np.array([body for body, _ in frames.values()]),
        frame_placement=np.array([T for _, T in frames.values()]),
        base=combined(carried[-1]),
    )


def _coordinates(
    motions: Mapping[str, JointMotion], bodies: list[_Body]
) -> tuple[list[Any], Array, Array]:
    """Return the joints that are coordinates, in tree order, and S, s0 of q_body = S q + s0."""
    moved = [motions[body.joint.name] for body in bodies]
    leaders = [
        body.joint
        for body, motion in zip(bodies, moved, strict=True)
        if motion.coordinate == body.joint.name
    ]
    column = {joint.name: k for k, joint in enumerate(leaders)}
    S = np.zeros((len(bodies), len(leaders)))
    for i, motion in enumerate(moved):
        S[i, column[str(motion.coordinate)]] = motion.multiplier
    return leaders, S, np.array([motion.offset for motion in moved])


def _within_mimic_limits(model: RobotModel, bodies: list[_Body]) -> tuple[RobotModel, list[str]]:
    """Return the robot with the limits of mimic joints applied, and a warning per binding limit.

    q_body = k q + o within [a, b] is q between (a - o) / k and (b - o) / k. Effort limits of mimic
    joints are not used: the leader has the motor.
    """
    lower, upper = model.lower.copy(), model.upper.copy()
    rates = {name.removesuffix('_limit'): getattr(model, name).copy() for name in RATE_LIMITS}
    sentences = []
    for i, (joint, *_) in enumerate(bodies):
        if joint.mimic is None:
            continue
        j = int(np.flatnonzero(model.S[i])[0])
        k, own = float(model.S[i, j]), joint_limits(joint)
        low, high = sorted((end - float(model.s0[i])) / k + 0.0 for end in (own.lower, own.upper))
        slow = {rate: getattr(own, rate) / abs(k) for rate in rates}
        name = model.joint_names[j]
        # A difference of rounding size does not bind.
        slack = ROUNDING * max(1.0, abs(float(model.s0[i])) / abs(k))
        closer = low > lower[j] + slack or high < upper[j] - slack
        if closer and max(low, lower[j]) >= min(high, upper[j]):
            sentences.append(
                f'the limits of mimic joint {joint.name!r}, {own.lower:g} to {own.upper:g}, leave '
                f'joint {name!r} no range and are not applied: they require [{low:g}, {high:g}], '
                f'its own limits are [{lower[j]:g}, {upper[j]:g}]'
            )
        elif closer or any(slow[rate] < rates[rate][j] * (1 - ROUNDING) for rate in rates):
            lower[j], upper[j] = max(low, lower[j]), min(high, upper[j])
            for rate, value in slow.items():
                rates[rate][j] = min(value, rates[rate][j])
            stated = [rate for rate in rates if rate == 'velocity' or np.isfinite(rates[rate][j])]
            sentences.append(
                f'the limits of mimic joint {joint.name!r} narrow those of joint {name!r} to '
                f'[{lower[j]:g}, {upper[j]:g}], '
                f'{", ".join(f"{rate} {rates[rate][j]:g}" for rate in stated)}'
            )
    limits = {f'{rate}_limit': values for rate, values in rates.items()}
    return replace(model, lower=lower, upper=upper, **limits), sentences


def _checked(gravity: ArrayLike) -> Array:
    try:
        vector = np.array(gravity, dtype=float)
    except (TypeError, ValueError):
        vector = np.array(np.nan)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ModelError(
            f'gravity is {gravity!r}; expected three finite numbers, such as (0, 0, -9.81) m/s^2'
        )
    return vector


# -- warnings -------------------------------------------------------------------------------


def _inconsistent_inertials(inertials: Mapping[str, Inertial]) -> Iterable[str]:
    """Yield one sentence that names the links with physically inconsistent inertias."""
    reasons = {link: inconsistency(body) for link, body in inertials.items()}
    named = [f'link {link!r}: {reason}' for link, reason in reasons.items() if reason]
    if named:
        yield f'physically inconsistent inertias: {"; ".join(named)}'


def _massless_bodies(model: RobotModel) -> Iterable[str]:
    """Yield one sentence that names the joints that move no mass, and their links."""
    idle = set(model.massless_joints())
    columns = [k for k, name in enumerate(model.joint_names) if name in idle]
    links = [
        body for body, row in zip(model.body_names, model.S[:, columns], strict=True) if row.any()
    ]
    if idle:
        yield (
            f'links {", ".join(map(repr, links))} move but carry no mass, so forward dynamics '
            f'does not exist; give them an <inertial> or lock joints {", ".join(sorted(idle))}'
        )


def _missing_inertials(model: RobotModel, tree: LinkTree) -> Iterable[str]:
    """Yield one sentence that names the moving links without an <inertial> that carry no mass.

    Links fixed to them are included in their mass. `_massless_bodies` names the links of joints
    that move no mass.
    """
    idle = np.isin(model.joint_names, model.massless_joints())
    empty = (
        (model.mass == 0) & ~model.inertia_com.any(axis=(1, 2)) & ~(model.S != 0)[:, idle].any(1)
    )
    links = [
        link
        for link, void in zip(model.body_names, empty, strict=True)
        if void and tree.links[link].inertial is None
    ]
    if links:
        yield (
            f'links {", ".join(map(repr, links))} move but have no <inertial>, so they count as '
            'massless; add one, of zeros if they are'
        )


def _unlimited(model: RobotModel, joints: Mapping[str, Any]) -> Iterable[str]:
    """Yield one sentence that names the missing limits of the coordinates."""
    continuous = [joints[name].type == 'continuous' for name in model.joint_names]
    free = np.isinf(model.lower) & np.isinf(model.upper) & ~np.array(continuous)
    kinds = {
        'position': free,
        'velocity': np.isinf(model.velocity_limit),
        'effort': np.isinf(model.effort_limit),
    }
    of_joints: dict[str, list[str]] = {}
    for kind, mask in kinds.items():
        names = [name for name, lacks in zip(model.joint_names, mask, strict=True) if lacks]
        if names:
            of_joints.setdefault(_short_list(names, model.n), []).append(kind)
    if of_joints:
        lacking = [f'{", ".join(kinds)} of {names}' for names, kinds in of_joints.items()]
        yield f'limits are not specified, so none is applied: {"; ".join(lacking)}'


def _short_list(names: Sequence[str], n: int) -> str:
    """Return up to LISTED names of n joints, and how many there are of more."""
    if len(names) <= LISTED:
        return ', '.join(names)
    if len(names) == n:
        return f'all {n} joints'
    return f'{", ".join(names[: LISTED - 1])} and {len(names) - LISTED + 1} other joints'
