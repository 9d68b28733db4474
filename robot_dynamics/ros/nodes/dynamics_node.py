# SPDX-License-Identifier: Apache-2.0
"""Lifecycle node that publishes the terms of the equation of motion for every joint state.

    M(q) qdd + C(q, qd) qd + g(q) + friction(qd) = tau + J(q)^T F_ext

Subscribes
    joint_states       sensor_msgs/JointState           any order, extra joints ignored
    external_wrench    geometry_msgs/WrenchStamped      optional
    reference          trajectory_msgs/JointTrajectory  with acceleration_source: reference
    payload            geometry_msgs/InertiaStamped     latched, optional
    ~/set_payload      geometry_msgs/InertiaStamped     for this node alone
    base_motion/imu    sensor_msgs/Imu                  with base_motion.source: imu
    base_motion/odometry  nav_msgs/Odometry                odometry
    base_motion/accel  geometry_msgs/AccelStamped       command
    base_motion/twist  geometry_msgs/TwistStamped       command
    robot_description  std_msgs/String                  latched, if no parameter gives it
Publishes, stamped as the joint state from which they are computed
    ~/gravity_torque, ~/coriolis_torque, ~/inertia_torque, ~/inverse_dynamics_torque,
    ~/friction_torque, ~/external_torque, ~/effort_residual    sensor_msgs/JointState
    ~/mass_matrix, ~/coriolis_matrix                           std_msgs/Float64MultiArray
    ~/payload, ~/payload_estimate                              geometry_msgs/InertiaStamped
    /diagnostics                                               diagnostic_msgs/DiagnosticArray
Offers
    ~/estimate_payload  std_srvs/Trigger  the payload from the last states: ~/payload_estimate

If the robot measures efforts, `~/effort_residual` is the part that the model does not explain:

    residual = effort_scale * effort - effort_offset
               - (M qdd + C qd + g + friction(qd) - J^T F_ext)

If the measured effort does not include gravity (`effort_gravity_compensated`), g is added to it:
on a moving base that of a fixed one, which the robot is taken to compensate. On a fixed base a
WARN names the setting that fits if the efforts at rest contradict the present one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory
from typing_extensions import override

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control import AccelerationFilter
from robot_dynamics.control.arm_on_moving_base import Arm
from robot_dynamics.control.joint_reading import JointReading, StampRateLimit
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.memory import FrictionModel, tracked
from robot_dynamics.recordings.gravity_setting import Postures, remedy
from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.base_motion_input import BaseMotionInput
from robot_dynamics.ros.diagnostics import Diagnostics
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.joint_state_input import JointStateInput
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.node_parameters import DynamicsParameters
from robot_dynamics.ros.part import Part
from robot_dynamics.ros.payload_estimator import PayloadEstimator
from robot_dynamics.ros.payload_input import PayloadInput
from robot_dynamics.ros.robot_parameters import LONGEST_DIFFERENCE
from robot_dynamics.ros.robot_source import RobotSource
from robot_dynamics.ros.serialization import joint_state_writer, matrix_writer
from robot_dynamics.ros.wrench_input import WrenchInput

TORQUES = (
    'gravity_torque',
    'coriolis_torque',
    'inertia_torque',
    'inverse_dynamics_torque',
    'friction_torque',
    'external_torque',
    'effort_residual',
)
MATRICES = ('mass_matrix', 'coriolis_matrix')


class DynamicsNode(RobotNode):
    """Computes the terms of the equation of motion of every joint state."""

    table = DynamicsParameters

    def __init__(self, **kwargs: Any):
        super().__init__('dynamics_node', **kwargs)
        self.diagnostics = self.add(Diagnostics(self))
        self.robot = self.add(RobotSource(self))
        self.payload = self.add(PayloadInput(self, compile_while_active=False))
        self.estimator = self.add(PayloadEstimator(self))
        self.wrench = self.add(WrenchInput(self))
        self.base_motion = self.add(BaseMotionInput(self))
        self.terms = self.add(TermPublishers(self))
        self.joint_states = self.add(JointStateInput(self, self.on_joint_state))
        self.reference: tuple[int, Array] | None = None  # stamp [ns] and acceleration (n,)
        self._friction: FrictionModel | None = None
        self._postures, self._remedy = Postures(), ''
        if self.parameters.acceleration_source == 'reference':
            self.subscribe(
                JointTrajectory,
                'reference',
                'reference',
                self._read_reference,
                self._take_reference,
                qos.COMMANDS_IN,
            )
        self.robot.begin()

    @override
    def check(self, parameters: DynamicsParameters, arm: Dynamics) -> None:
        """Reject lists that have neither one value nor one per joint."""
        parameters.check_drives(arm.model)

    @override
    def prepare(self, arm: Dynamics) -> None:
        """Compile the terms."""
        zero, on_base = np.zeros(arm.model.n), self.base_motion.of(arm)
        friction = self.parameters.friction(arm.model)
        equation_terms(on_base, friction, zero, zero, zero)
        equation_terms(on_base, friction, zero, None, None)

    @override
    def use(self, arm: Dynamics) -> None:
        """Use this robot, without states of the one before."""
        self._begin(arm)
        self.activate()

    @override
    def restart(self) -> None:
        """Begin without a reference, and without the memory of friction."""
        self._begin(self.arm)

    def _begin(self, arm: Dynamics) -> None:
        self.reference = self._friction = None
        self._set_up(arm)

    @override
    def activate(self) -> None:
        """Begin with a new acceleration filter."""
        self._filter = self._new_filter()
        self._rate = StampRateLimit(self.parameters.publish_rate, repeat=True)
        self._postures, self._remedy = Postures(), ''

    @override
    def adopt(self, changes: set[str]) -> None:
        """Use other parameters from the next state on."""
        if self.arm is not None:
            self._set_up(self.arm)
            if 'acceleration_cutoff' in changes:
                self._filter = self._new_filter()
            if 'publish_rate' in changes:
                self._rate = StampRateLimit(self.parameters.publish_rate, repeat=True)
            self._check_efforts_at_rest()

    @override
    def status(self) -> Status | None:
        """Return the setting that the efforts at rest contradict, or None."""
        return (health.WARN, self._remedy) if self._remedy else None

    def _check_efforts_at_rest(self) -> None:
        self._remedy = remedy(
            self.arm,
            self._postures.found,
            self._effort_scale,
            self._effort_offset,
            self.parameters.effort_gravity_compensated,
        )

    def _set_up(self, arm: Dynamics) -> None:
        self._friction = tracked(self.parameters.friction(arm.model), before=self._friction)
        self._effort_scale = self.parameters.of_joints('effort_scale', arm.model)
        self._effort_offset = self.parameters.of_joints('effort_offset', arm.model)

    def _new_filter(self) -> AccelerationFilter:
        return AccelerationFilter(
            cutoff=self.parameters.acceleration_cutoff, max_gap=LONGEST_DIFFERENCE
        )

    def _read_reference(self, message: JointTrajectory) -> tuple[int, Array]:
        qdd = messages.one_point(message, self.arm.model.joint_names).qdd
        if qdd is None:
            raise TrajectoryError('the reference has no accelerations')
        return messages.nanoseconds(message.header.stamp), qdd

    def _take_reference(self, reference: tuple[int, Array]) -> None:
        self.reference = reference

    def on_joint_state(self, state: JointReading) -> None:
        """Publish the terms of one complete joint state."""
        self.estimator.record(state)
        if (
            state.qd is not None
            and state.effort is not None
            and not self.base_motion.moves
            and self._postures.add(state.stamp / SECOND, state.q, state.qd, state.effort)
        ):
            self._check_efforts_at_rest()
        qdd = self._acceleration(state)
        if qdd is None and state.qd is not None and self.parameters.acceleration_source != 'none':
            self.count_event('joint state without acceleration')
        if not self._rate.is_due(state.stamp):
            return
        assert self._friction is not None  # of the robot in use
        self._friction.move(state.q)
        on_base = self.base_motion.arm_at(state.stamp)
        terms = equation_terms(on_base, self._friction, state.q, state.qd, qdd)
        external = self.wrench.joint_torque(self.arm, state.q, state.stamp)
        if external is not None:
            terms['external_torque'] = external
        if state.effort is not None and qdd is not None:
            measured = self._effort_scale * state.effort - self._effort_offset
            if self.parameters.effort_gravity_compensated:
                measured = measured + self._compensated_gravity(state.q, terms)
            terms['effort_residual'] = effort_residual(measured, terms)
        self.terms.publish(state.stamp, terms)

    def _compensated_gravity(self, q: Array, terms: Mapping[str, Array]) -> Array:
        """Return the torque (n,) by which the robot compensates gravity, on a fixed base."""
        return self.arm.gravity_torque(q) if self.base_motion.moves else terms['gravity_torque']

    def _acceleration(self, state: JointReading) -> Array | None:
        source = self.parameters.acceleration_source
        if state.qd is None or source == 'none':
            return None
        if source == 'differentiate':
            return self._filter.update(state.stamp / SECOND, state.qd)
        if self.reference is None:
            return None
        stamp, qdd = self.reference
        is_fresh = abs(state.stamp - stamp) <= self.parameters.input_timeout * SECOND
        return qdd if is_fresh else None


class TermPublishers(Part):
    """Part of a node: one publisher for each term, named `~/` and the term."""

    def __init__(self, node: RobotNode):
        """Create the publishers of TORQUES (JointState) and MATRICES (Float64MultiArray)."""
        self._node = node
        types = dict.fromkeys(TORQUES, JointState) | dict.fromkeys(MATRICES, Float64MultiArray)
        self._publishers = {
            name: node.create_publisher(kind, f'~/{name}', qos.STREAM_OUT)
            for name, kind in types.items()
        }
        self._writers: dict[str, Any] = {}

    @override
    def use(self, arm: Dynamics) -> None:
        """Write messages for this robot."""
        prefix = self._node.parameters.frame_prefix
        torque, matrix = joint_state_writer(arm.model, prefix), matrix_writer(arm.model, prefix)
        self._writers = dict.fromkeys(TORQUES, torque) | dict.fromkeys(MATRICES, matrix)

    def publish(self, stamp: int, terms: Mapping[str, Array]) -> None:
        """Publish terms, in their order, with a stamp [ns]; count those that are not finite."""
        for name, values in terms.items():
            # A sum is finite only if all its terms are, and faster than a test of each.
            if math.isfinite(sum(values.ravel().tolist())):
                self._publishers[name].publish(self._writers[name].fill(stamp, values))
            else:
                self._node.count_event('not finite, not published')


def equation_terms(
    arm: Arm, friction: FrictionModel, q: Array, qd: Array | None, qdd: Array | None
) -> dict[str, Array]:
    """Return the terms of a state by topic name: matrices (n, n), then torques (n,).

    In this order they are published: a subscriber that has received a torque of a state has been
    sent its matrices before. Without velocities or accelerations the terms that need them are
    missing.
    """
    if qd is None:
        return {'mass_matrix': arm.mass_matrix(q), 'gravity_torque': arm.gravity_torque(q)}
    M, C, g = arm.terms(q, qd)
    # `dot` takes a third of the time of `@` for the few joints of an arm.
    coriolis = C.dot(qd)
    terms = {
        'mass_matrix': M,
        'coriolis_matrix': C,
        'gravity_torque': g,
        'coriolis_torque': coriolis,
    }
    if qdd is not None:
        terms['inertia_torque'] = inertia = M.dot(qdd)
        # tau = M qdd + C qd + g
        terms['inverse_dynamics_torque'] = inertia + coriolis + g
    load = terms.get('inverse_dynamics_torque', coriolis + g) if friction.uses_load else 0.0
    terms['friction_torque'] = friction.torque(qd, load)
    return terms


def effort_residual(measured: Array, terms: dict[str, Array]) -> Array:
    """Return the measured effort (n,) minus the terms of the model, N m or N."""
    explained = terms['inverse_dynamics_torque'] + terms['friction_torque']
    residual: Array = measured - explained + terms.get('external_torque', 0.0)
    return residual
