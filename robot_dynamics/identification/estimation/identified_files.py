# SPDX-License-Identifier: Apache-2.0
"""Files of an identification: URDF, parameters of the nodes, figures as JSON.

The URDF differs from the description in <inertial> and <dynamics> alone. What a URDF cannot hold
(rotor inertia, offset, scale, terms of other friction laws) is written as parameters of the nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array, inverse_pose
from robot_dynamics.common.yaml_text import parameters_text, quoted
from robot_dynamics.core.friction.coulomb import COULOMB_SPEED
from robot_dynamics.core.friction.laws import STRIBECK_SPEED, TERMS
from robot_dynamics.core.model.inertia import (
    Inertial,
    consistent,
    from_parameters,
    inconsistency,
    to_parameters,
    transformed,
)
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.identification.estimation.base_fit import PARAMETERS
from robot_dynamics.identification.estimation.covariance import INEXACT
from robot_dynamics.identification.estimation.identification_records import Identification
from robot_dynamics.identification.estimation.identified_text import units
from robot_dynamics.urdf.editing import Change, edited, inertial_changes
from robot_dynamics.urdf.elements import link_inertial
from robot_dynamics.urdf.reader import read_urdf

DIGITS = 9  # of written numbers, far below their errors
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
    """Return the description with the identified inertias and friction, else byte by byte as is.

    A body that the motion does not excite, and the friction of a joint that does not move or is
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
        viscous, coulomb = _rounded(friction)
        changes.append(Change('joint', name, 'dynamics/@damping', viscous))
        changes.append(Change('joint', name, 'dynamics/@friction', coulomb))
    moved = {joints[j] for j in moving}
    for joint in read_urdf(urdf).joints:
        # The friction of joints that mimic it is part of the leader's.
        if joint.mimic is not None and joint.mimic.joint in moved and joint.dynamics is not None:
            changes.append(Change('joint', joint.name, 'dynamics/@damping', 0.0))
            changes.append(Change('joint', joint.name, 'dynamics/@friction', 0.0))
    return edited(urdf, changes)


def _inertial(link: str, body: Inertial) -> list[Change]:
    return [one._replace(value=_rounded(one.value)) for one in inertial_changes(link, body)]


def node_parameters(found: Identification, robot: Mapping[str, Any] | None = None) -> str:
    """Return the parameters of the nodes as YAML: with the URDF they are the identified model.

    Args:
        found: the result.
        robot: further parameters, such as `tip_link`, which choose the joints of the description.
    """
    law = found.friction.law
    friction: dict[str, Any] = {'law': law.name}
    friction |= {
        term: _floats(found.friction.coefficients[:, i]) for i, term in enumerate(law.terms)
    }
    if law.memory:
        friction['presliding'] = _floats(found.friction.presliding)
    parameters = {
        **(robot or {}),
        'joints': list(found.model.joint_names),
        'friction': friction,
        'rotor_inertia': _floats(found.drives.rotor_inertia),
        'effort_scale': _floats(found.drives.effort_scale),
        'effort_scale_known': found.drives.scale_known.tolist(),
        'effort_offset': _floats(found.drives.offset),
        'effort_delay': _rounded(found.signals.delay.removed),
        'velocity_lag': _rounded(found.signals.velocity_lag),
    }
    head = (
        f'# Identified parameters of {quoted(found.model.name)}: friction law {law.name},\n'
        f'#   {law.formula}\n'
        '# rotor_inertia is seen at the joint; effort_scale multiplies the measured effort, and\n'
        '# effort_offset is added to the torque of the model; effort_delay is that of efforts\n'
        '# after the motion, velocity_lag that of velocities after the positions, s.\n'
    )
    if (coupling := found.coupling) is not None:
        matrix = {'ratios': _floats(coupling.ratios), 'matrix': _floats(coupling.matrix.ravel())}
        parameters['coupling'] = {'joints': list(coupling.joints), **matrix}
        head += (
            '# The values are those of motors, behind their gears: q_m = C q, tau = C^T tau_m;\n'
            '# coupling.matrix is C row by row. Currents times effort_scale are N m at the\n'
            '# shafts, times coupling.ratios behind the gears. The nodes reject this file: their\n'
            '# friction and rotors are those of joints.\n'
        )
    if not found.drives.scale_known.all():
        head += (
            '# effort_scale_known is false where the scale of the efforts is not identifiable:\n'
            '# N m and kg are those of this scale. Verbs and nodes that answer in them reject\n'
            '# this file.\n'
        )
    return head + parameters_text(parameters) + _standard_errors(found)


def _standard_errors(found: Identification) -> str:
    """Return the standard errors of the parameters, under their names, as an entry of no node."""
    errors = dict(zip(found.friction.law.terms, found.friction.error.T, strict=True))
    values = {
        'joints': list(found.model.joint_names),
        'friction': {term: _floats(np.nan_to_num(error)) for term, error in errors.items()},
        'rotor_inertia': _floats(np.nan_to_num(found.drives.rotor_error)),
        'effort_offset': _floats(np.nan_to_num(found.drives.offset_error)),
    }
    return '# Standard errors of these values.\n' + parameters_text(values, '/standard_errors')


def as_json(found: Identification) -> dict[str, Any]:
    """Return the figures for JSON."""
    signals, drives = found.signals, found.drives
    base, drift = found.inertia.base, found.drift
    law, names = found.friction.law, found.model.joint_names
    known = bool(drives.scale_known.all())
    return {
        'robot': found.model.name,
        'verdict': found.validation.verdict,
        'residual_ratio': found.validation.ratio,
        'residual_ratio_interval': found.validation.interval,
        'joints': [_joint(found, j) for j in range(len(names))],
        'friction_law': {
            'name': law.name,
            'formula': law.formula,
            'terms': {term: TERMS[term][0] for term in law.terms},
            'smoothing': {
                'coulomb_speed': COULOMB_SPEED,
                'stribeck_speed': STRIBECK_SPEED,
                'memory': law.memory,
            },
            'held_out_residual': found.friction.held_out,
        },
        'effort_scale_identifiable': known,
        'assumed_scale_error': None if found.fit.problem.gains else INEXACT,
        'test': [_tested(found, j) for j in range(len(names))],
        'test_data': found.validation.source,
        'base_parameters': [
            {
                'name': name,
                'combination': base.combination(k),
                'value': base.value[k],
                'standard_error': base.error[k],
                'urdf': base.prior[k],
                'physical': base.physical[k],
                'determined': base.determined[k],
            }
            for k, name in enumerate(base.names)
        ],
        'links': [
            {
                'name': body,
                'parameters': {
                    name: {
                        'value': found.inertia.theta[10 * i + k],
                        'standard_error': found.inertia.error[10 * i + k],
                        'urdf': found.fit.problem.start.theta[10 * i + k],
                        'determined': found.inertia.determined[10 * i + k],
                    }
                    for k, name in enumerate(PARAMETERS)
                },
            }
            for i, body in enumerate(found.model.body_names)
        ],
        'excitation': {
            'condition': base.condition,
            'base_parameters': len(base.value),
            'determined': base.determined.sum(),
            'moving': [name for name, moves in zip(names, drives.excited, strict=True) if moves],
        },
        'delay': {
            'value': signals.delay.value,
            'standard_error': signals.delay.error,
            'applied': signals.delay.applied,
        },
        'velocity_lag': signals.velocity_lag,
        'drift': [
            {
                'name': name,
                'friction': drift.friction[j],
                'friction_standard_error': drift.friction_error[j],
                'offset': drift.offset[j],
                'offset_standard_error': drift.offset_error[j],
            }
            for j, name in enumerate(names)
        ],
        'periods': None
        if signals.periods is None
        else {
            'number': signals.periods.number,
            'period': signals.periods.period,
            'effort_spread': _floats(signals.periods.spread),
        },
        'cutoff': signals.cutoff,
        'samples': signals.samples,
        'notes': list(signals.notes),
    }


def _joint(found: Identification, j: int) -> dict[str, Any]:
    law = found.friction.law
    errors = {term: found.friction.error[j, i] for i, term in enumerate(law.terms)}
    return {
        'name': found.model.joint_names[j],
        **{term: found.friction.coefficients[j, i] for i, term in enumerate(law.terms)},
        **({'presliding': found.friction.presliding[j]} if law.memory else {}),
        'offset': found.drives.offset[j],
        'rotor_inertia': found.drives.rotor_inertia[j],
        'effort_scale': found.drives.effort_scale[j],
        'effort_scale_known': found.drives.scale_known[j],
        'moves': found.drives.excited[j],
        'standard_error': {
            **errors,
            'offset': found.drives.offset_error[j],
            'rotor_inertia': found.drives.rotor_error[j],
            'effort_scale': found.drives.scale_error[j],
        },
    }


def _tested(found: Identification, j: int) -> dict[str, Any]:
    v = found.validation
    moving, resting = v.rms_where(True), v.rms_where(False)
    return {
        'name': found.model.joint_names[j],
        'effort_rms': v.effort_rms[j],
        'before_rms': v.before_rms[j],
        'after_rms': v.after_rms[j],
        'noise_rms': v.noise[j],
        'unit': units(found)[j],
        'in_motion': {'before_rms': moving[0][j], 'after_rms': moving[1][j]},
        'at_rest': {'before_rms': resting[0][j], 'after_rms': resting[1][j]},
    }


def _rounded(value: Any) -> Any:
    """Return a number, or a list of numbers, with DIGITS significant digits."""
    if np.ndim(value):
        return [_rounded(x) for x in value]
    return float(f'{value:.{DIGITS}g}')


def _floats(values: Array) -> list[float]:
    return [_rounded(value) for value in values]
