# SPDX-License-Identifier: Apache-2.0
"""Identified values for simulators: changes of an MJCF file, actuators of Isaac Lab.

Both hold friction and rotors of joints in N m and kg m^2, without a word on their scale, so an
identification whose scale of efforts is not known is rejected.

Sources: MuJoCo, XML reference; Isaac Lab 3.0, isaaclab.actuators.ActuatorBaseCfg.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.model.inertia import Inertial, symmetric
from robot_dynamics.identification.estimation.identification_records import Identification
from robot_dynamics.identification.estimation.identified_files import rounded
from robot_dynamics.urdf.editing import Change
from robot_dynamics.urdf.mjcf.coordinates import of_drives
from robot_dynamics.urdf.mjcf.editing import JOINT_VALUES, body_changes
from robot_dynamics.urdf.mjcf.loading import MjcfRobot
from robot_dynamics.urdf.rules import TENSOR

# Of an MJCF joint, by the names in a URDF
NAMES = {'dynamics/@damping': 'damping', 'dynamics/@friction': 'frictionloss'}


def mjcf_changes(
    found: Identification, changes: Iterable[Change], robot: MjcfRobot
) -> list[Change]:
    """Return the changes of the MJCF file of a robot.

    Args:
        found: the identification.
        changes: those of its URDF text, as `identified_changes`.
        robot: as read from the file. Armature and damping of its actuators stay as they are, and
            those of the joints are the rest.

    Raises:
        ModelError: the scale of the efforts is not known, or the actuators of a joint have more
            than was identified.
    """
    _require_scale(found)
    bodies: dict[str, dict[str, object]] = {}
    joints: dict[str, dict[str, float]] = {}
    rotors = dict(
        zip(found.model.joint_names, found.model.reflected_inertia.tolist(), strict=True)
    )
    for change in changes:
        if change.tag == 'link':
            bodies.setdefault(change.name, {})[change.attribute] = change.value
        elif change.attribute in NAMES:
            values = joints.setdefault(change.name, {'armature': rounded(rotors[change.name])})
            values[NAMES[change.attribute]] = float(np.asarray(change.value))
    new = [one for name, values in bodies.items() for one in body_changes(name, _body(values))]
    for name, values in joints.items():
        new += _of_joint(robot, name, values)
    return new + _of_followers(robot, joints)


def _body(values: Mapping[str, object]) -> Inertial:
    """Return the inertia that changes of an <inertial> describe, in the axes of its link."""
    tensor = [values[f'inertial/inertia/@{entry}'] for entry in TENSOR]
    com = np.asarray(values['inertial/origin/@xyz'], dtype=float)
    mass = float(np.asarray(values['inertial/mass/@value']))
    return Inertial(mass, com, symmetric(np.array(tensor, dtype=float)))


def _of_joint(robot: MjcfRobot, name: str, values: Mapping[str, float]) -> list[Change]:
    """Return the changes of a joint, less what its actuators have."""
    c = robot.compiled
    dof, new = int(c.model.jnt_dofadr[c.joints.index(name)]), []
    for key, value in values.items():
        driven = float(of_drives(c, key)[dof]) if key in ('armature', 'damping') else 0.0
        if value < driven:
            raise ModelError(
                f'joint {name!r}: actuators have {key} {driven:.4g} behind their gears, more than '
                f'the identified {value:.4g}; reduce theirs in the file'
            )
        new.append(Change('joint', name, f'@{key}', value - driven))
    return new


def _of_followers(robot: MjcfRobot, changed: Iterable[str]) -> list[Change]:
    """Return changes to 0 of joints that follow others: their values are part of the leader's."""
    c, model, new = robot.compiled, robot.model, []
    columns = [model.joint_names.index(name) for name in changed if name in model.joint_names]
    for j, row in zip(robot.joints, model.S, strict=True):
        dof = int(c.model.jnt_dofadr[j])
        if c.joints[j] not in model.joint_names and row[columns].any():
            new += [
                Change('joint', c.joints[j], f'@{key}', 0.0)
                for key in JOINT_VALUES
                if getattr(c.model, f'dof_{key}')[dof]
            ]
    return new


def _require_scale(found: Identification) -> None:
    """Raise ModelError unless the scale of all efforts is known."""
    unknown = np.array(found.model.joint_names)[~found.drives.scale_known]
    if unknown.size:
        raise ModelError(
            f'the scale of the efforts of {", ".join(unknown)} is not identifiable, so friction '
            'and rotors are not in N m and kg m^2; expected --effort-scale or --payload-bag'
        )


# -- Isaac Lab --------------------------------------------------------------------------------


def isaaclab_text(found: Identification) -> str:
    """Return a Python file with the identified actuators for Isaac Lab 3.

    Raises:
        ModelError: the scale of the efforts is not known.
    """
    _require_scale(found)
    model = found.model
    fields = {
        'armature': model.reflected_inertia,
        'friction': model.coulomb,
        'dynamic_friction': model.coulomb,
        'viscous_friction': model.viscous,
        'joint_effort_limit': model.effort_limit,
        'joint_velocity_limit': model.velocity_limit,
    }
    names = [re.escape(name) for name in model.joint_names]
    lines = [
        f'# Identified actuators of {model.name!r}, for Isaac Lab 3: kg m^2 or kg, N m or N,',
        '# N m s/rad or N s/m. Gains of the controller are not identified: stiffness and damping.',
        'from isaaclab.actuators import ImplicitActuatorCfg',
        '',
        'ACTUATORS = ImplicitActuatorCfg(',
        f'    joint_names_expr={names!r},',
        '    stiffness=None,',
        '    damping=None,',
    ]
    for field, values in fields.items():
        known = {n: rounded(x) for n, x in zip(names, values, strict=True) if np.isfinite(x)}
        lines.append(f'    {field}={known or None!r},')
    return '\n'.join([*lines, ')', ''])
