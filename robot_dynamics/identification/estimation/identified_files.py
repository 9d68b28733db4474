# SPDX-License-Identifier: Apache-2.0
"""Files of an identification: URDF, parameters of the nodes.

The URDF differs from the description in <inertial> and <dynamics> alone. What a URDF cannot hold
(rotor inertia, offset, scale, terms of other friction laws) is written as parameters of the nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array, inverse_pose
from robot_dynamics.common.yaml_text import parameters_text, quoted
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.core.model.inertia import (
    Inertial,
    consistent,
    from_parameters,
    inconsistency,
    to_parameters,
    transformed,
)
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.identification.estimation.identification_records import (
    Identification,
    IdentifiedFriction,
)
from robot_dynamics.urdf.editing import Change, edited, inertial_changes
from robot_dynamics.urdf.elements import link_inertial
from robot_dynamics.urdf.reader import read_urdf

DIGITS = 9  # of written numbers, far below their errors
IDENTIFIED_VALUES = (
    'inertias and friction are from recordings, whatever other comments say of them; single '
    'masses of links are not all determined'
)
UNCHANGED = 1e-3  # relative change of the pseudo-inertia: a body that changes less is not excited


class EstimatedLinks(NamedTuple):
    """The link of each body whose inertia is estimated; the others keep a consistent one."""

    links: tuple[str, ...]  # nb names
    kept: Array  # (nb, 10) parameters of the other links of the body, in its frame
    mended: Mapping[str, Inertial]  # of links that the description has with an inconsistent one


def estimated_links(model: RobotModel, urdf: str | bytes) -> EstimatedLinks:
    """Return the heaviest link of each body of a model of this description."""
    links = {link.name: link for link in read_urdf(urdf).links}
    heaviest: list[tuple[float, str]] = [(0.0, name) for name in model.body_names]
    described = {name: link_inertial(link) for name, link in links.items()}
    mended = {n: consistent(body) for n, body in described.items() if inconsistency(body)}
    own = {}
    for name, body, T in zip(
        model.frame_names, model.frame_body, model.frame_placement, strict=True
    ):
        if body >= 0 and name in links:
            own[name] = transformed(described[name], T)
            if own[name].mass > heaviest[body][0]:
                heaviest[body] = own[name].mass, name
    names = tuple(name for _, name in heaviest)
    kept = model.inertial_parameters().reshape(-1, 10)
    kept = kept - np.array([to_parameters(own[name]) for name in names])
    # Rounding of the sums is no inertia.
    kept[np.abs(kept) < 1e-12 * np.abs(model.inertial_parameters()).max()] = 0.0
    for name in mended.keys() & own.keys() - set(names):
        frame = model.frame_names.index(name)
        whole = to_parameters(transformed(mended[name], model.frame_placement[frame]))
        kept[model.frame_body[frame]] += whole - to_parameters(own[name])
    return EstimatedLinks(names, kept, mended)


def identified_urdf(found: Identification, urdf: bytes, estimated: EstimatedLinks) -> bytes:
    """Return the description with the identified inertias and friction, else as it is."""
    return edited(urdf, identified_changes(found, urdf, estimated))


def identified_changes(
    found: Identification, urdf: bytes, estimated: EstimatedLinks
) -> list[Change]:
    """Return the changes of the description: the identified inertias and friction.

    Rotors are parameters of the nodes; a description that has them gets the identified ones. A
    body that the motion does not excite, and the friction of a joint that does not move or is
    coupled, are left as they are; an inconsistent inertia never is.
    """
    model, changes = found.description, []
    theta = found.inertia.theta.reshape(-1, 10) - estimated.kept
    for i, link in enumerate(estimated.links):
        change = np.abs(found.fit.estimate.X[i] - np.eye(4)).max()
        if change > UNCHANGED or link in estimated.mended:
            T = model.frame_placement[model.frame_names.index(link)]
            body = transformed(from_parameters(theta[i]), inverse_pose(T))
            changes += _inertial(link, body)
    for link in estimated.mended.keys() - set(estimated.links):
        changes += _inertial(link, estimated.mended[link])
    joints, factor = model.joint_names, np.ones(model.n)
    if found.coupling is not None:
        joints, factor = found.coupling.joints, np.abs(found.coupling.alone)
    moving = np.flatnonzero(found.drives.excited & (factor > 0))
    for j in moving:
        name = joints[j]
        # q_m = c q,  tau = c tau_m
        friction = factor[j] ** 2 * found.model.viscous[j], factor[j] * found.model.coulomb[j]
        viscous, coulomb = rounded(friction)
        changes.append(Change('joint', name, 'dynamics/@damping', viscous))
        changes.append(Change('joint', name, 'dynamics/@friction', coulomb))
    moved = {joints[j]: float(found.model.reflected_inertia[j]) for j in moving}
    for joint in read_urdf(urdf).joints:
        has_rotor = joint.dynamics is not None and joint.dynamics.armature > 0
        if has_rotor and joint.name in moved and found.coupling is None:
            rotor = rounded(moved[joint.name])
            changes.append(Change('joint', joint.name, 'dynamics/@armature', rotor))
        # The friction of joints that mimic it is part of the leader's.
        if joint.mimic is not None and joint.mimic.joint in moved and joint.dynamics is not None:
            changes.append(Change('joint', joint.name, 'dynamics/@damping', 0.0))
            changes.append(Change('joint', joint.name, 'dynamics/@friction', 0.0))
    return changes


def _inertial(link: str, body: Inertial) -> list[Change]:
    return [one._replace(value=rounded(one.value)) for one in inertial_changes(link, body)]


def missing_in_urdf(found: Identification) -> list[str]:
    """Return the parameters that a URDF lacks, each with its size, and differ from defaults."""
    drives, signals, model = found.drives, found.signals, found.model
    missing = []
    rotors = drives.rotor_inertia
    for unit, kind in (('kg m^2', model.angular), ('kg', ~model.angular)):
        if (largest := rotors[kind].max(initial=0.0)) > 0:
            missing.append(f'rotor_inertia up to {largest:.2g} {unit}')
    if found.friction.law.name != FrictionSettings().law:
        missing.append(f'friction.law {found.friction.law.name}')
    if (drives.effort_scale != 1).any():
        missing.append('effort_scale')
    if drives.offset.any():
        missing.append('effort_offset')
    for name, seconds in (
        ('effort_delay', signals.delay.removed),
        ('velocity_lag', signals.velocity_lag),
    ):
        if seconds:
            missing.append(f'{name} {1e3 * seconds:.3g} ms')
    return missing


def node_parameters(
    found: Identification,
    robot: Mapping[str, Any] | None = None,
    recordings: Sequence[str] = (),
) -> str:
    """Return the parameters of the nodes as YAML: with the URDF they are the identified model.

    Args:
        found: the result.
        robot: further parameters, such as `tip_link`, which choose the joints of the description.
        recordings: names of those that were fitted.
    """
    parameters = {
        **(robot or {}),
        'joints': list(found.model.joint_names),
        'friction': _friction(found.friction),
        'rotor_inertia': rounded(found.drives.rotor_inertia),
        'effort_scale': rounded(found.drives.effort_scale),
        'effort_scale_known': found.drives.scale_known.tolist(),
        'effort_offset': rounded(found.drives.offset),
        'effort_delay': rounded(found.signals.delay.removed),
        'velocity_lag': rounded(found.signals.velocity_lag),
    }
    if (coupling := found.coupling) is not None:
        matrix = {'ratios': rounded(coupling.ratios), 'matrix': rounded(coupling.matrix.ravel())}
        parameters['coupling'] = {'joints': list(coupling.joints), **matrix}
    return (
        _comments(found)
        + parameters_text(parameters)
        + _standard_errors(found)
        + _origin(found, recordings)
    )


def _origin(found: Identification, recordings: Sequence[str]) -> str:
    """Return what the parameters were identified from, as an entry of no node."""
    delay = found.signals.delay
    values: dict[str, Any] = {
        'samples': found.signals.samples,
        'effort_delay': rounded(delay.value),
        'effort_delay_applied': delay.applied,
        'effort_delay_reason': delay.reason,
    }
    if np.isfinite(delay.error):
        values['effort_delay_error'] = rounded(delay.error)
    if found.load is not None and found.scaled_by_payload:
        values['payload_mass'] = rounded(found.load.mass)
    if recordings:
        values['recordings'] = list(recordings)
    return '# Recordings that were fitted, and the delay with its standard error, s.\n' + (
        parameters_text(values, '/identification')
    )


def _friction(friction: IdentifiedFriction) -> dict[str, Any]:
    terms = zip(friction.law.terms, friction.coefficients.T, strict=True)
    parameters = {'law': friction.law.name, **{term: rounded(value) for term, value in terms}}
    if friction.law.memory:
        parameters['presliding'] = rounded(friction.presliding)
    return parameters


def _comments(found: Identification) -> str:
    """Return what the parameters mean, and which readers reject them, as comments of YAML."""
    law = found.friction.law
    head = (
        f'# Identified parameters of {quoted(found.model.name)}: friction law {law.name},\n'
        f'#   {law.formula}\n'
        '# rotor_inertia is seen at the joint; effort_scale multiplies the measured effort, and\n'
        '# effort_offset is added to the torque of the model; effort_delay is that of efforts\n'
        '# after the motion, velocity_lag that of velocities after the positions, s.\n'
    )
    if found.coupling is not None:
        head += (
            '# The values are those of motors, behind their gears: q_m = C q, tau = C^T tau_m;\n'
            '# coupling.matrix is C row by row. Currents times effort_scale are N m at the\n'
            '# shafts, times coupling.ratios behind the gears. The nodes reject this file: their\n'
            '# friction and rotors are those of joints.\n'
        )
    if found.load is not None and found.scaled_by_payload:
        head += (
            '# Every N m and kg is proportional to the mass given with --payload, '
            f'{found.load.mass:g} kg.\n'
        )
    if not found.drives.scale_known.all():
        head += (
            '# effort_scale_known is false where the scale of the efforts is not identifiable:\n'
            '# N m and kg are those of this scale. Verbs and nodes that answer in them reject\n'
            '# this file.\n'
        )
    return head


def _standard_errors(found: Identification) -> str:
    """Return the standard errors of the parameters, under their names, as an entry of no node."""
    errors = dict(zip(found.friction.law.terms, found.friction.error.T, strict=True))
    values = {
        'joints': list(found.model.joint_names),
        'friction': {term: rounded(np.nan_to_num(error)) for term, error in errors.items()},
        'rotor_inertia': rounded(np.nan_to_num(found.drives.rotor_error)),
        'effort_offset': rounded(np.nan_to_num(found.drives.offset_error)),
    }
    return '# Standard errors of these values.\n' + parameters_text(values, '/standard_errors')


def rounded(value: Any) -> Any:
    """Return a number, or a list of numbers, with DIGITS significant digits."""
    if np.ndim(value):
        return [rounded(x) for x in value]
    return float(f'{value:.{DIGITS}g}')
