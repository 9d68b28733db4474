# SPDX-License-Identifier: Apache-2.0
"""Torque of the control law that the parameters of a node select."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from robot_dynamics.common.spatial import Array
from robot_dynamics.control import Reference, feedforward, free_inertias
from robot_dynamics.control.control_laws import (
    compile_laws,
    joint_impedance,
    obstacle_of_impedance,
)
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.law_torque import LawSettings, LawTorque
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.model.states import random_postures
from robot_dynamics.ros.base_motion_input import BaseMotionInput
from robot_dynamics.ros.feedforward_parameters import (
    FeedforwardParameters,
    Settings,
    gain_warnings,
    timeout_warnings,
)
from robot_dynamics.ros.impedance_parameters import CARTESIAN
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.nodes.feedforward_parts.frame_impedance import FrameImpedance
from robot_dynamics.ros.parameters import ParameterError
from robot_dynamics.ros.part import Part

# Parameters with which the faults of `_warn` may come or go.
WARNED_OF = {'kp', 'kd', 'damping_ratio', 'control_law', 'expected_rate', 'on_timeout'}


class TorqueLaw(Part):
    """Part of a node with FeedforwardParameters: the torque for a state and its reference.

    Attributes:
        settings: of the present robot.
        friction: of its joints, without memory.
        joints: the torque of a law of its joints.
    """

    settings: Settings
    friction: JointFriction
    joints: LawTorque

    def __init__(self, node: RobotNode, frame: FrameImpedance, base: BaseMotionInput):
        """Store the node, and the parts with the torque of a frame and the motion of the base."""
        self._node, self._frame, self._base = node, frame, base

    @override
    def check(self, parameters: FeedforwardParameters, arm: Dynamics) -> None:
        """Reject lists of another length than one or n, and a law that the arm cannot have."""
        # Commands in the unit of the drives need no N m.
        parameters.check_drives(arm.model, in_si=parameters.command_unit != 'effort')
        settings = parameters.settings(arm.model)
        if settings.law is joint_impedance and obstacle_of_impedance(arm):
            raise ParameterError(obstacle_of_impedance(arm))
        if settings.law is None and self._base.moves:
            raise ParameterError(
                f'control_law is {CARTESIAN} and base_motion.source is '
                f'{parameters.base_motion.source}; the spring of a frame expects a fixed base '
                'with base_motion.source none, a moving base a law of the joints'
            )

    @override
    def prepare(self, arm: Dynamics) -> None:
        """Compile every law, also for trajectories, which are planned for a fixed base."""
        compile_laws(arm)
        if self._base.moves:
            compile_laws(self._base.of(arm))

    @override
    def use(self, arm: Dynamics) -> None:
        """Compute torques of this robot; warn of its gains."""
        self._inertias = free_inertias(arm, random_postures(arm.model))
        self._set(arm)
        self.joints = LawTorque(self._of_joints(), self.friction)
        self._warn(arm)

    @override
    def adopt(self, changes: set[str]) -> None:
        """Use other gains, switches and limits from the next state on."""
        arm: Dynamics | None = self._node.arm
        if arm is not None:
            self._set(arm)
            self.joints.adjust(self._of_joints(), self.friction)
            if changes & WARNED_OF:
                self._warn(arm)

    @override
    def restart(self) -> None:
        """Begin without the memory of friction."""
        self.joints.restart()

    def _set(self, arm: Dynamics) -> None:
        parameters: FeedforwardParameters = self._node.parameters
        self.settings, self.friction = (
            parameters.settings(arm.model),
            parameters.friction(arm.model),
        )

    def _of_joints(self) -> LawSettings:
        """Return the settings of the law of the joints; of a frame, for gravity alone."""
        law, gains, switches, offset = (
            getattr(self.settings, name) for name in ('law', 'gains', 'switches', 'offset')
        )
        share = self._node.parameters.lead_friction
        return LawSettings(law or feedforward, gains, switches, offset, share)

    def _warn(self, arm: Dynamics) -> None:
        parameters, names = self._node.parameters, arm.model.joint_names
        gains = gain_warnings(parameters, self.settings, self._inertias, names)
        for warning in (*gains, *timeout_warnings(parameters)):
            self._node.get_logger().warning(warning)

    @property
    def is_led(self) -> bool:
        """Whether the arm is led by hand."""
        return self.joints.is_led

    def torque(self, state: JointReading, reference: Reference) -> Array:
        """Return the torque (n,) of the law; without a velocity that of gravity alone."""
        settings = self.settings
        if settings.law is not None or state.qd is None:
            return self.joints.torque(self._base.arm_at(state.stamp), state, reference)
        friction = self.friction if settings.switches.friction else None
        tau = self._frame.torque(state, reference, friction, settings.switches.gravity)
        return tau + settings.offset

    def gravity(self, state: JointReading) -> Array:
        """Return the torque (n,) that holds the arm: gravity, unless the robot compensates it."""
        return self.joints.gravity(self._base.arm_at(state.stamp), state.q)

    def last(self, state: JointReading) -> Array | None:
        """Return the torque (n,) that `on_deactivate` chooses at a state; None: it stays."""
        choice = self._node.parameters.on_deactivate
        if choice == 'none':
            return None
        return np.zeros(len(state.q)) if choice == 'zero' else self.gravity(state)
