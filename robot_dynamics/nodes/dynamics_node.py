"""The terms of the equation of motion, live: what each of them asks of the motors right now.

For every joint state heard, the torques of gravity, of Coriolis and centrifugal effects, of
inertia and of friction, their sum without friction (inverse dynamics), the matrices M(q) and
C(q, qd), and, where the robot measures efforts, what the model leaves unexplained:

    residual = effort_scale * effort - (M qdd + C qd + g + friction(qd) - J^T F_ext)

Where the measured effort leaves gravity out (`effort_gravity_compensated`), so does the model.
Every answer carries the stamp of its question.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control import AccelerationFilter
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.nodes import _main, messages, qos
from robot_dynamics.nodes.joint_states import JointReading, JointStateReader, finite
from robot_dynamics.nodes.messages import SECOND, JointStateWriter, MatrixWriter
from robot_dynamics.nodes.parameters import RobotParameters, joint_order, parameter, per_joint
from robot_dynamics.nodes.robot_node import RobotNode
from robot_dynamics.spatial import Array

TORQUES = (
    'gravity_torque',
    'coriolis_torque',
    'inertia_torque',
    'inverse_dynamics_torque',
    'friction_torque',
    'external_torque',
    'effort_residual',
)
LONGEST_DIFFERENCE = 0.5  # s between two velocities that still give an acceleration
MATRICES = ('mass_matrix', 'coriolis_matrix')


@dataclass(frozen=True)
class DynamicsParameters(RobotParameters):
    """Parameters of the dynamics node."""

    input_timeout: float = parameter(
        0.1, 'How long the last value of a joint not heard again is held, s.', low=0.0
    )
    publish_rate: float = parameter(
        0.0, 'Most answers per second of the stamps; 0: one for every joint state.', low=0.0
    )
    acceleration_source: str = parameter(
        'differentiate',
        'Where accelerations come from: none (no inertia and inverse dynamics torque), '
        'differentiate (measured velocities, low-pass filtered), reference (a one-point '
        'JointTrajectory on the topic reference).',
        choices=('none', 'differentiate', 'reference'),
    )
    acceleration_cutoff: float = parameter(
        20.0, 'Cut-off frequency of that low-pass, Hz.', low=0.1, high=1000.0
    )
    effort_scale: tuple[float, ...] = parameter(
        [1.0],
        'Measured effort times this is N m or N, one value or one per joint: the torque constant '
        'where a driver reports currents.',
    )
    effort_gravity_compensated: bool = parameter(
        False, 'The measured effort leaves out what compensates gravity.'
    )


class DynamicsNode(RobotNode):
    """Publishes the terms of the equation of motion of every joint state."""

    table = DynamicsParameters

    def __init__(self, **kwargs: Any):
        super().__init__('dynamics_node', **kwargs)
        self._torques = {
            name: self.create_publisher(JointState, f'~/{name}', qos.STREAM_OUT)
            for name in TORQUES
        }
        self._matrices = {
            name: self.create_publisher(Float64MultiArray, f'~/{name}', qos.STREAM_OUT)
            for name in MATRICES
        }
        self.create_subscription(
            JointState,
            'joint_states',
            self._on_state,
            qos.JOINT_STATES_IN,
            qos_overriding_options=qos.overridable(),
        )
        self.create_subscription(
            WrenchStamped, 'external_wrench', self._on_wrench, qos.JOINT_STATES_IN
        )
        self._wants_accelerations = self.parameters.acceleration_source != 'none'
        if self.parameters.acceleration_source == 'reference':
            self.create_subscription(
                JointTrajectory, 'reference', self._on_reference, qos.COMMANDS_IN
            )
        self.find_robot()

    def use(self, arm: Dynamics) -> None:
        """Prepare messages and filters for this robot."""
        names, parameters = arm.model.joint_names, self.parameters
        still = np.zeros(arm.model.n)
        terms_of(arm, still, still, still)
        terms_of(arm, still, None, None)
        order = joint_order(parameters.joints, names)
        self._effort_scale = per_joint('effort_scale', parameters.effort_scale, order, names)
        self._reader = JointStateReader(names, parameters.input_timeout)
        self._filter = AccelerationFilter(
            cutoff=parameters.acceleration_cutoff, max_gap=LONGEST_DIFFERENCE
        )
        self._effort = JointStateWriter(names, arm.model.link_names[0], ('effort',))
        self._matrix = MatrixWriter(arm.model.n)
        self._reference: tuple[int, Array] | None = None
        self._wrench: tuple[int, str, Array] | None = None
        rate = parameters.publish_rate
        self._period = round(SECOND / rate) if rate > 0 else 0
        self._answered: int | None = None

    def trouble(self) -> tuple[bytes, str] | None:
        """Return the level and the sentence for what is wrong at present, None if nothing is."""
        return self.input_condition(self._reader)

    # -- inputs -----------------------------------------------------------------------------

    def _on_state(self, message: JointState) -> None:
        if self.arm is None:
            return
        began = time.perf_counter()
        stamp = messages.nanoseconds(message.header.stamp)
        self.hear(stamp)
        try:
            reading = self._reader.read(message, stamp)
        except RobotDynamicsError as error:
            return self.refuse('joint state', error)
        if reading is not None:
            self._answer(self.arm, reading)
            self.health.latencies.append(time.perf_counter() - began)

    def _on_reference(self, message: JointTrajectory) -> None:
        if self.arm is None:
            return
        try:
            qdd = messages.one_point(message, self.arm.model.joint_names).qdd
            if qdd is None:
                raise TrajectoryError('the reference has no accelerations')
        except RobotDynamicsError as error:
            return self.refuse('reference', error)
        self._reference = messages.nanoseconds(message.header.stamp), qdd

    def _on_wrench(self, message: WrenchStamped) -> None:
        if self.arm is None:
            return
        frame, F = message.header.frame_id, messages.wrench(message.wrench)
        try:
            self.arm.model.frame_index(frame)
            finite(F, ('n_x', 'n_y', 'n_z', 'f_x', 'f_y', 'f_z'), 'wrench')
        except RobotDynamicsError as error:
            return self.refuse('external wrench', error)
        self._wrench = messages.nanoseconds(message.header.stamp), frame, F

    # -- answers ----------------------------------------------------------------------------

    def _answer(self, arm: Dynamics, reading: JointReading) -> None:
        if reading.qd is None:
            self.health.counts['joint state without velocity'] += 1
        qdd = self._acceleration(reading)
        if qdd is None and reading.qd is not None and self._wants_accelerations:
            self.health.counts['joint state without acceleration'] += 1
        if self._is_too_soon(reading.stamp):
            return
        matrices, torques = terms_of(arm, reading.q, reading.qd, qdd)
        external = self._external_torque(arm, reading)
        if external is not None:
            torques['external_torque'] = external
        if reading.effort is not None and qdd is not None:
            measured = self._effort_scale * reading.effort
            if self.parameters.effort_gravity_compensated:
                measured = measured + torques['gravity_torque']
            torques['effort_residual'] = effort_residual(measured, torques)
        # The matrices first: who has the torques of a state has had its matrices.
        for name, matrix in matrices.items():
            self._publish(self._matrices[name], self._matrix, reading.stamp, matrix)
        for name, tau in torques.items():
            self._publish(self._torques[name], self._effort, reading.stamp, tau)

    def _is_too_soon(self, stamp: int) -> bool:
        # A state said again is for a listener that came late; time that ran back begins anew.
        if self._answered is not None and 0 < stamp - self._answered < self._period:
            return True
        self._answered = stamp
        return False

    def _acceleration(self, reading: JointReading) -> Array | None:
        source = self.parameters.acceleration_source
        if reading.qd is None or source == 'none':
            return None
        if source == 'differentiate':
            return self._filter.update(reading.stamp / SECOND, reading.qd)
        if self._reference is None or not self._is_fresh(reading.stamp, self._reference[0]):
            return None
        return self._reference[1]

    def _external_torque(self, arm: Dynamics, reading: JointReading) -> Array | None:
        if self._wrench is None or not self._is_fresh(reading.stamp, self._wrench[0]):
            return None
        _, frame, F = self._wrench
        # The message is in the frame's own axes, wrench_torque in the world's.
        R = arm.forward_kinematics(reading.q, frame)[:3, :3]
        return arm.wrench_torque(reading.q, np.concatenate([R @ F[:3], R @ F[3:]]), frame)

    def _is_fresh(self, now: int, stamp: int) -> bool:
        return abs(now - stamp) <= self.parameters.input_timeout * SECOND

    def _publish(self, publisher: Any, writer: Any, stamp: int, values: Array) -> None:
        if np.isfinite(values).all():
            publisher.publish(writer.fill(stamp, values))
        else:
            self.health.counts['not finite, not published'] += 1


def terms_of(
    arm: Dynamics, q: Array, qd: Array | None, qdd: Array | None
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the matrices and the torques of a state, by topic name.

    Without velocities or accelerations, what needs them is left out: it is never guessed.
    """
    if qd is None:
        return {'mass_matrix': arm.mass_matrix(q)}, {'gravity_torque': arm.gravity_torque(q)}
    M, C, g = arm.terms(q, qd)
    torques = {
        'gravity_torque': g,
        'coriolis_torque': C @ qd,
        'friction_torque': arm.friction_torque(qd),
    }
    if qdd is not None:
        torques['inertia_torque'] = M @ qdd
        # tau = M qdd + C qd + g
        torques['inverse_dynamics_torque'] = M @ qdd + torques['coriolis_torque'] + g
    return {'mass_matrix': M, 'coriolis_matrix': C}, torques


def effort_residual(measured: Array, torques: dict[str, Array]) -> Array:
    """Return what the motors give (n,) beyond what the model explains, N m or N."""
    explained = torques['inverse_dynamics_torque'] + torques['friction_torque']
    return measured - explained + torques.get('external_torque', 0.0)


def main() -> None:
    """Run the node."""
    _main.main(DynamicsNode)


if __name__ == '__main__':
    main()
