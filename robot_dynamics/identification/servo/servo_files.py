# SPDX-License-Identifier: Apache-2.0
"""Identified servos as files: URDF, parameters of nodes, MJCF, actuators of Isaac Lab.

Files need torques. Where a joint does not show the scale of its torques, its kp is assumed to be
the median of the joints that do: free motion depends on the ratios, so it is right, and torques
of contact are not. The files name these joints.

Sources: MuJoCo 4.0, XML reference (actuator/position: delay, nsample); Isaac Lab 3.0,
isaaclab.actuators.DelayedPDActuatorCfg.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.yaml_text import parameters_text, quoted
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.identification.estimation.identified_files import rounded
from robot_dynamics.identification.servo.joint_fit import INDEX
from robot_dynamics.identification.servo.servo_result import (
    NOT_IDENTIFIABLE,
    ServoIdentification,
)
from robot_dynamics.urdf.editing import Change, edited
from robot_dynamics.urdf.mjcf.writing import PositionActuator, to_mjcf

UNLIMITED_TORQUE = 1e9  # N m or N: a parameter of a node has no inf
PHYSICS_STEP = 0.005  # s, of Isaac Lab


class ServoTorques:
    """Servos of all joints in N m, N and s; arrays (n,).

    Attributes:
        kp, damping, armature, coulomb, stribeck: as `ServoIdentification.absolute`.
        limit: torque limit, inf where none shows.
        delay: s.
        assumed: bool, joints whose scale is that of others.

    Raises:
        ModelError: a joint is not identified, or no joint shows its scale.
    """

    def __init__(self, found: ServoIdentification):
        if found.refused:
            raise ModelError(
                f'not identified: {", ".join(found.refused)}; expected all joints of the '
                'files: lock these, --lock JOINT=POSITION, or record their motion'
            )
        self.assumed = np.array([one.startswith(NOT_IDENTIFIABLE) for one in found.scale])
        if self.assumed.all():
            raise ModelError(
                f'{NOT_IDENTIFIABLE} on any joint: expected --kp, N m/rad or '
                'N/m of the drives, of joints that gravity does not load'
            )
        fitted = found.parameters[:, INDEX['stiffness']]
        r = found.ratios
        # With a smaller kp the inertia of the description alone would be too large.
        least = found.inertia / (r['armature'] + found.inertia / fitted)
        usual = np.maximum(_usual(found, fitted, self.assumed), least)
        self.kp = np.where(self.assumed, usual, fitted)
        # The motion shows (A + J) / kp: with another kp, A/kp differs by what J/kp does.
        armature = r['armature'] + found.inertia * (1 / fitted - 1 / self.kp)
        self.armature = self.kp * np.maximum(armature, 0.0)
        self.damping, self.coulomb = self.kp * r['lag'], self.kp * r['coulomb']
        self.stribeck = self.kp * r['stribeck']
        self.limit = np.where(np.isfinite(r['limit']), self.kp * r['limit'], np.inf)
        self.delay = found.delay

    def applied(self, model: RobotModel) -> RobotModel:
        """Return a robot with the armature, damping and dry friction of the servos."""
        return model.with_actuation(
            gear_ratio=1.0,
            rotor_inertia=self.armature,
            viscous=self.damping,
            coulomb=self.coulomb,
        )


def _usual(found: ServoIdentification, kp: Array, assumed: Array) -> Array:
    """Return for each joint the median kp of those of its kind, whose scale is known."""
    usual, angular = np.full(len(kp), np.nan), found.model.angular
    for kind in (angular, ~angular):
        if (kind & ~assumed).any():
            usual[kind] = np.median(kp[kind & ~assumed])
    if (missing := assumed & np.isnan(usual)).any():
        names = ', '.join(np.array(found.model.joint_names)[missing])
        raise ModelError(
            f'{NOT_IDENTIFIABLE} on {names}, nor on another joint of the same kind, whose kp it '
            'could have; expected --kp, N m/rad or N/m, or --lock JOINT=POSITION'
        )
    return usual


def servo_urdf(found: ServoIdentification, urdf: bytes) -> bytes:
    """Return the description with the identified damping and friction, else as it is."""
    servo, changes = ServoTorques(found), []
    for j, name in enumerate(found.model.joint_names):
        for key, x in (('damping', servo.damping), ('friction', servo.coulomb)):
            changes.append(Change('joint', name, f'dynamics/@{key}', rounded(x[j])))
    return edited(urdf, changes)


def servo_missing(found: ServoIdentification) -> list[str]:
    """Return what a URDF lacks, each beginning with the name of a parameter."""
    servo = ServoTorques(found)
    kp, A = rounded(servo.kp.max()), rounded(servo.armature.max())
    return [f'servo.kp up to {kp:g}', f'rotor_inertia up to {A:g} kg m^2']


def servo_parameters(
    found: ServoIdentification,
    robot: Mapping[str, Any] | None = None,
    recordings: Sequence[str] = (),
) -> str:
    """Return the servos as parameters of the nodes, as YAML.

    Args:
        found: the result.
        robot: further parameters, which choose the joints of the description.
        recordings: names of those that were fitted.
    """
    servo = ServoTorques(found)
    law: dict[str, Any] = {'law': 'coulomb'}
    if servo.stribeck.any():
        law = {'law': 'stribeck', 'stribeck': rounded(servo.stribeck)}
    law |= {'viscous': rounded(servo.damping), 'coulomb': rounded(servo.coulomb)}
    limit = np.where(np.isfinite(servo.limit), servo.limit, UNLIMITED_TORQUE)
    nodes = {
        **(robot or {}),
        'joints': list(found.model.joint_names),
        'friction': law,
        'rotor_inertia': rounded(servo.armature),
        'servo': {
            'kp': rounded(servo.kp),
            'kd': [0.0] * found.model.n,
            'delay': rounded(servo.delay),
            'torque_limit': rounded(limit),
        },
    }
    record = _record(servo, limit)
    stated = {name: x for name, x in found.errors.items() if np.isfinite(x).any()}
    errors = {name: rounded(np.nan_to_num(x)) for name, x in stated.items()}
    origin: dict[str, Any] = {'servo': record, 'servo_errors': errors}
    origin |= {'recordings': list(recordings)} if recordings else {}
    return (
        f'# Identified servos of {quoted(found.model.name)}: N m/rad, N m s/rad, kg m^2, N m, s.\n'
        '# Damping is that of the joint, outside the torque limit: servo.kd is 0.\n'
        + _assumption(found, servo, '# ')
        + parameters_text(nodes)
        + '# What was identified; errors are those of ratios to kp, and of the delay.\n'
        + parameters_text(origin, '/identification')
    )


def _record(servo: ServoTorques, limit: Array) -> dict[str, Any]:
    """Return the servos with what of them is assumed."""
    return {
        'kp': rounded(servo.kp),
        'damping': rounded(servo.damping),
        'armature': rounded(servo.armature),
        'coulomb': rounded(servo.coulomb),
        'delay': rounded(servo.delay),
        'torque_limit': rounded(limit),
        'assumed_scale': servo.assumed.tolist(),
    }


def _assumption(found: ServoIdentification, servo: ServoTorques, begin: str) -> str:
    """Return a line on the joints with an assumed scale, '' without them."""
    names = [n for n, one in zip(found.model.joint_names, servo.assumed, strict=True) if one]
    if not names:
        return ''
    return (
        f'{begin}assumed_scale: {", ".join(names)} have the median kp of other joints, or '
        f'what their inertia needs;\n'
        f'{begin}their free motion is as identified, their torques in contact are not known.\n'
    )


def servo_mjcf(found: ServoIdentification) -> str:
    """Return the MJCF of the robot with a position actuator per joint."""
    servo = ServoTorques(found)
    actuators = {
        name: PositionActuator(
            *(float(rounded(x[j])) for x in (servo.kp, servo.limit, servo.delay))
        )
        for j, name in enumerate(found.model.joint_names)
    }
    text = to_mjcf(servo.applied(found.model), actuators)
    words = _assumption(found, servo, '')
    # Two hyphens end a comment.
    return f'<!-- {words.replace("--", "- -").strip()} -->\n{text}' if words else text


def servo_isaaclab(found: ServoIdentification) -> str:
    """Return a Python file with the actuators for Isaac Lab 3."""
    servo = ServoTorques(found)
    lines = [
        f'# Identified servos of {found.model.name!r}, for Isaac Lab 3: N m, rad, s or N, m, s.',
        *_assumption(found, servo, '# ').splitlines(),
        '# DelayedPDActuator clips the sum of stiffness and damping. The identified damping',
        '# brakes a saturated motor as well, so it is viscous friction of the joint here, and\n'
        '# damping is 0: as damping it would be lost where the motor saturates.',
        'from isaaclab.actuators import DelayedPDActuatorCfg',
        '',
        f'PHYSICS_STEP = {PHYSICS_STEP}  # s: set that of your simulation',
        '',
        'ACTUATORS = {',
    ]
    for j, name in enumerate(found.model.joint_names):
        lines += _isaaclab_joint(name, servo, j)
    return '\n'.join([*lines, '}', ''])


def _isaaclab_joint(name: str, servo: ServoTorques, j: int) -> list[str]:
    def number(x: Array) -> float | None:
        return float(rounded(x[j])) if np.isfinite(x[j]) else None

    delay = f'round({number(servo.delay)!r} / PHYSICS_STEP)'
    fields = {
        'joint_names_expr': repr([re.escape(name)]),
        'stiffness': repr(number(servo.kp)),
        'damping': '0.0',
        'armature': repr(number(servo.armature)),
        'friction': repr(number(servo.coulomb)),
        'dynamic_friction': repr(number(servo.coulomb)),
        'viscous_friction': repr(number(servo.damping)),
        'effort_limit': repr(number(servo.limit)),
        'min_delay': delay,
        'max_delay': delay,
    }
    inner = [f'        {key}={value},' for key, value in fields.items()]
    return [f'    {name!r}: DelayedPDActuatorCfg(', *inner, '    ),']
