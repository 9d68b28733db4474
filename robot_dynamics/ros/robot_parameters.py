# SPDX-License-Identifier: Apache-2.0
"""Parameters of every node: its robot, and the quantities that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.settings import EFFORT, POSITION, TIME, settings_of
from robot_dynamics.common.spatial import Array, rotation_rpy
from robot_dynamics.control.base_motion_estimate import BaseMotionSettings
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.core.model.inertia import Inertial, inconsistency, symmetric
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.ros.parameters import (
    ParameterError,
    given,
    group,
    joint_order,
    parameter,
    parameter_of,
    per_joint,
    ros_name,
)
from robot_dynamics.urdf.loading import parse_urdf

SMALLEST_SCALE = 1e-3  # N m or N per unit of the drives, where it divides; the default is 1
HOLD = (  # help of input_timeout
    'How long the last value of a joint is held without a new one, and how late a state may be '
    'before it counts as a reset of the time, s.'
)
LONGEST_DIFFERENCE = 0.5  # s between two samples that still give a derivative


@dataclass(frozen=True)
class RobotParameters:
    """Parameters of every node: the robot, and diagnostics."""

    autostart: bool = parameter(
        True,
        'Configure and activate as soon as the description is available; false: wait for a '
        'lifecycle manager.',
    )
    robot_description: str = parameter(
        '',
        'The URDF as text. If empty: robot_description_file, else the topic robot_description.',
        description_of_robot=True,
    )
    robot_description_file: str = parameter(
        '', 'Path of a .urdf or .xacro file.', description_of_robot=True
    )
    xacro_arguments: tuple[str, ...] = parameter(
        [''],
        'Arguments of the .xacro file, each as name:=value.',
        description_of_robot=True,
    )
    description_timeout: float = parameter(
        10.0,
        'Longest wait for the topic robot_description, s; 0: no limit.',
        TIME,
        description_of_robot=True,
    )
    tip_link: str = parameter(
        '',
        'Keep only the joints that move this link, lock all others at 0. Empty: the whole tree.',
        description_of_robot=True,
    )
    locked_joints: tuple[str, ...] = parameter([''], 'Joints to lock.', description_of_robot=True)
    locked_positions: tuple[float, ...] = parameter(
        [0.0],
        'Positions of the locked joints, rad or m; one value or one per joint.',
        POSITION,
        description_of_robot=True,
    )
    strict_inertials: bool = parameter(
        False,
        'Reject physically inconsistent inertia tensors instead of warning.',
        description_of_robot=True,
    )
    joints: tuple[str, ...] = parameter(
        [''],
        'Order of the joints in lists with one value per joint and in messages without names. '
        "Empty: the model's.",
        description_of_robot=True,
    )
    gravity: tuple[float, ...] = parameter(
        [0.0, 0.0, -9.81],
        'Gravity vector in the frame that base_orientation refers to, m/s^2.',
        (-1000.0, 1000.0),
        size=3,
    )
    base_orientation: tuple[float, ...] = parameter(
        [0.0, 0.0, 0.0],
        'Roll, pitch, yaw of the base in that frame, rad.',
        (-6.2832, 6.2832),  # one turn: 45, 90 and 180 are degrees
        size=3,
    )
    payload__link: str = parameter('', 'Link or frame that carries the payload.')
    payload__mass: float = parameter(0.0, 'Mass of the payload, kg.', (0.0, 1e6))
    payload__com: tuple[float, ...] = parameter(
        [0.0, 0.0, 0.0], "Centre of mass of the payload in the link's frame, m.", POSITION, size=3
    )
    payload__inertia: tuple[float, ...] = parameter(
        [0.0] * 6,
        'ixx ixy ixz iyy iyz izz of the payload about its centre of mass, kg m^2.',
        (-1e9, 1e9),
        size=6,
    )
    friction__viscous: tuple[float, ...] = parameter_of(FrictionSettings, 'viscous')
    friction__coulomb: tuple[float, ...] = parameter_of(FrictionSettings, 'coulomb')
    rotor_inertia: tuple[float, ...] = parameter(
        [0.0],
        'Inertia of the rotors seen at the joints, kg m^2 or kg, one value or one per joint.',
        (0.0, 1e6),
        description_of_robot=True,
    )
    frame_prefix: str = parameter(
        '',
        "Prefix of link names in the frame_id of messages, as `left/`: that of the robot's state "
        'publisher.',
    )
    diagnostics_period: float = parameter(
        1.0, 'Time between two messages on /diagnostics, s.', (0.1, 60.0), live=True
    )

    def of_joints(self, attribute: str, model: RobotModel) -> Array:
        """Return a parameter as one number per joint (n,), in the model's order.

        Raises:
            ParameterError: it has neither one value nor one for each joint.
        """
        names = model.joint_names
        value = getattr(self, attribute)
        return per_joint(ros_name(attribute), value, joint_order(self.joints, names), names)

    def joint_settings(self, group: str, model: RobotModel) -> Any:
        """Return the settings of a group for a robot, in the model's order; 0 as no limit.

        Raises:
            ParameterError: a list has neither one value nor one for each joint.
        """
        held = getattr(self, group)
        order = joint_order(self.joints, model.joint_names)
        values = {}
        for name, setting in settings_of(held).items():
            value = getattr(held, name)
            if isinstance(value, tuple):
                row = per_joint(f'{group}.{name}', value, order, model.joint_names)
                values[name] = np.where(setting.is_limit & (row == 0), np.inf, row)
        return replace(held, **values)

    def robot(self, text: str | bytes) -> RobotModel:
        """Return the robot of a URDF text with its rotors, without payload.

        Raises:
            RobotDynamicsError: the description or a parameter is rejected, and why.
        """
        model = parse_urdf(
            text,
            gravity=self.gravity_in_base(),
            locked_joints=self.locked(),
            tip_link=self.tip_link or None,
            strict_inertials=self.strict_inertials,
        )
        rotors = self.of_joints('rotor_inertia', model)
        return model.with_actuation(rotor_inertia=rotors) if rotors.any() else model

    def varied(self, base: Dynamics) -> Dynamics:
        """Return a robot with the parameters that may change while the node is active.

        Args:
            base: made of `robot`.

        Raises:
            RobotDynamicsError: a parameter does not fit this robot.
        """
        return base

    def gravity_in_base(self) -> Array:
        """Return gravity (3,) in the base frame of a robot mounted at `base_orientation`."""
        roll, pitch, yaw = self.base_orientation
        # g_b = R_wb^T g_w,    R_wb = R_z(yaw) R_y(pitch) R_x(roll), as in URDF
        gravity: Array = rotation_rpy(roll, pitch, yaw).T @ np.array(self.gravity)
        return gravity

    def locked(self) -> dict[str, float]:
        """Return the positions of the locked joints by name. Raises ParameterError."""
        joints = given(self.locked_joints)
        if not joints:
            return {}
        positions = per_joint('locked_positions', self.locked_positions, joints)
        return dict(zip(joints, positions.tolist(), strict=True))

    def payload(self) -> Inertial:
        """Return the payload, in the frame of the link that carries it.

        Raises:
            ModelError: there is a mass and no link, or the inertia is physically inconsistent.
        """
        if self.payload__mass > 0 and not self.payload__link:
            raise ModelError(
                'payload.mass is given; payload.link must name the link that carries it'
            )
        com, tensor = np.array(self.payload__com), symmetric(self.payload__inertia)
        load = Inertial(self.payload__mass, com, tensor)
        if reason := inconsistency(load):
            raise ModelError(f'the payload is physically inconsistent: {reason}')
        return load

    def payload_link(self, model: RobotModel) -> str:
        """Return the link of the payload: `payload.link`, `tip_link`, or the last moving link."""
        return self.payload__link or self.tip_link or model.moving_links[-1]

    def coulomb_friction(self, model: RobotModel) -> dict[str, Array]:
        """Return viscous and Coulomb coefficients; those of the model where parameters are < 0.

        Raises:
            ParameterError: neither one value nor one for each joint.
        """
        viscous = self.of_joints('friction__viscous', model)
        coulomb = self.of_joints('friction__coulomb', model)
        return {
            'viscous': np.where(viscous < 0, model.viscous, viscous),
            'coulomb': np.where(coulomb < 0, model.coulomb, coulomb),
        }


@dataclass(frozen=True)
class VaryingRobotParameters(RobotParameters):
    """Parameters of a node whose gravity and payload may change while it is active.

    Nothing is compiled then: gravity and payload are inputs of the programs.
    """

    LIVE: ClassVar[tuple[str, ...]] = ('gravity', 'base_orientation', 'payload.')

    @override
    def varied(self, base: Dynamics) -> Dynamics:
        """Return a robot under the gravity and with the payload of the parameters."""
        load, gravity = self.payload(), self.gravity_in_base()
        if (gravity != base.model.gravity).any():
            base = base.with_gravity(gravity)
        link = self.payload_link(base.model)
        return base.with_payload(link, load.mass, load.com, load.inertia_com)


@dataclass(frozen=True)
class DriveParameters(RobotParameters):
    """Friction laws and efforts of the drives.

    With `rotor_inertia` and the coefficients of RobotParameters they are what robot-dynamics
    identify writes beside a URDF.
    """

    friction__law: str = parameter_of(FrictionSettings, 'law')
    friction__load: tuple[float, ...] = parameter_of(FrictionSettings, 'load')
    friction__stribeck: tuple[float, ...] = parameter_of(FrictionSettings, 'stribeck')
    friction__presliding: tuple[float, ...] = parameter_of(FrictionSettings, 'presliding')
    effort_scale: tuple[float, ...] = parameter(
        [1.0],
        'Factor from the efforts of the drives to N m or N, one value or one per joint: the '
        'torque constant where a driver reports currents.',
        (-1e6, 1e6),
    )
    effort_scale_known: tuple[bool, ...] = parameter(
        [True],
        'Whether effort_scale is known, one value or one per joint; false: currents alone do not '
        'show it, so that friction and inertias identified with it are not in N m and kg. Nodes '
        'that answer in N m or kg do not start then.',
    )
    effort_offset: tuple[float, ...] = parameter(
        [0.0],
        'Constant part of the efforts of the drives, after effort_scale, which does not move the '
        'arm, N m or N, one value or one per joint: it is added to the torque of the model.',
        (-EFFORT[1], EFFORT[1]),
    )
    effort_delay: float = parameter(
        0.0,
        'Time by which the efforts of the drives are later than the motion, s; negative: earlier. '
        'robot-dynamics evaluate, payload and view remove it from recordings; of the nodes, '
        'momentum_observer_node uses velocity_lag less this, where it is positive.',
        (-1.0, 1.0),
    )
    velocity_lag: float = parameter(
        0.0,
        'Time by which measured velocities are later than the positions, as a filter of the '
        'driver makes them, s; negative: earlier. robot-dynamics evaluate, payload and view '
        'remove it from recordings; of the nodes, momentum_observer_node delays efforts by it.',
        (-1.0, 1.0),
    )

    def friction(self, model: RobotModel) -> JointFriction:
        """Return the friction of the parameters, by their law. Raises ParameterError."""
        law, presliding = LAWS[self.friction__law], self.of_joints('friction__presliding', model)
        coefficients = self.coulomb_friction(model) | {
            term: self.of_joints(f'friction__{term}', model) for term in ('load', 'stribeck')
        }
        return JointFriction(law, {term: coefficients[term] for term in law.terms}, presliding)

    def check_drives(self, model: RobotModel, in_si: bool = True) -> None:
        """Check the parameters of the drives.

        Args:
            model: of the robot.
            in_si: the node answers in N m or N.

        Raises:
            ParameterError: a list has neither one value nor one per joint, or the scale of a
                joint is unknown.
        """
        self.friction(model)
        for name in ('effort_scale', 'effort_scale_known', 'effort_offset'):
            self.of_joints(name, model)
        if in_si and (reason := self.unknown_scale(joint_order(self.joints, model.joint_names))):
            raise ParameterError(reason)

    def unknown_scale(self, names: tuple[str, ...] = ()) -> str:
        """Return why there are no efforts in N m or N, '' if their scale is known.

        Args:
            names: of the joints in the order of the parameter `joints`, by default that.
        """
        known, names = self.effort_scale_known, names or given(self.joints)
        if all(known):
            return ''
        if len(names) != len(known):
            names = tuple(f'number {k}' for k in range(1, len(known) + 1))
        unknown = [name for name, one in zip(names, known, strict=True) if not one]
        shown = 'all joints' if not any(known) else ', '.join(unknown)
        return (
            f'effort_scale_known is false for {shown}: efforts, friction and inertias are not in '
            'N m and kg; expected parameters of identify with --payload-bag and --payload, or '
            'with --effort-scale'
        )

    def known_scale(self, model: RobotModel) -> Array:
        """Return effort_scale (n,), NaN where it is unknown. Raises ParameterError."""
        known = self.of_joints('effort_scale_known', model)
        return np.where(known, self.of_joints('effort_scale', model), np.nan)

    def efforts_per_torque(self, model: RobotModel) -> Array:
        """Return 1 / effort_scale (n,).

        Raises:
            ParameterError: neither one value nor one for each joint, or one too close to 0.
        """
        scale = self.of_joints('effort_scale', model)
        if (np.abs(scale) < SMALLEST_SCALE).any():
            raise ParameterError(
                f'effort_scale is {list(self.effort_scale)}; the size of each value must be at '
                f'least {SMALLEST_SCALE:g} where torques are divided by it'
            )
        return np.asarray(1 / scale)


@dataclass(frozen=True)
class LiveRobotParameters(VaryingRobotParameters, DriveParameters):
    """Parameters of a node that answers joint states; friction and efforts may change as well."""

    LIVE: ClassVar[tuple[str, ...]] = (
        *VaryingRobotParameters.LIVE,
        'friction.',
        'effort_scale',
        'effort_offset',
        'base_motion.low_pass',
        'base_motion.age_limit',
        'base_motion.fallback',
    )
    input_timeout: float = parameter(0.1, HOLD, TIME, live=True)
    missing_velocity: str = parameter(
        'gravity',
        'For joint states without velocity: gravity (publish only terms that need none) or '
        'differentiate (velocities from positions, low-pass filtered).',
        choices=('gravity', 'differentiate'),
        live=True,
    )
    velocity_cutoff: float = parameter(
        50.0, 'Cutoff frequency of that low-pass filter, Hz.', (0.1, 1000.0), live=True
    )
    base_motion: Any = group(BaseMotionSettings)


@dataclass(frozen=True)
class MeasuredParameters(LiveRobotParameters):
    """Parameters with which measured efforts are compared with those of the model."""

    effort_gravity_compensated: bool = parameter(
        False,
        'The measured effort does not include the torque that compensates gravity.',
        live=True,
    )
    payload_window: float = parameter(
        20.0,
        'Length of the last joint states that ~/estimate_payload uses, s.',
        (4.0, 100.0),
        live=True,
    )
