"""The terms of the equation of motion, live: what each of them asks of the motors right now.

For every joint state heard, the torques of gravity, of Coriolis and centrifugal effects, of
inertia and of friction, their sum without friction (inverse dynamics), the matrices M(q) and
C(q, qd), and, where the robot measures efforts, what the model leaves unexplained:

    residual = effort_scale * effort - (M qdd + C qd + g + friction(qd) - J^T F_ext)

Where the measured effort leaves gravity out (`effort_gravity_compensated`), so does the model.
Every answer carries the stamp of its question.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control import AccelerationFilter, Friction
from robot_dynamics.control.joint_state import JointReading, finite
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.ros import executable as _main
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.live_parameters import LONGEST_DIFFERENCE, LiveRobotParameters
from robot_dynamics.ros.live_robot import LiveRobotNode
from robot_dynamics.ros.messages import SECOND, MatrixWriter, torque_writer
from robot_dynamics.ros.parameters import (
    HIGHEST_RATE,
    LOWEST_RATE,
    joint_order,
    parameter,
    per_joint,
)
from robot_dynamics.ros.robot_source import friction_of
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
MATRICES = ('mass_matrix', 'coriolis_matrix')


@dataclass(frozen=True)
class DynamicsParameters(LiveRobotParameters):
    """Parameters of the dynamics node."""

    publish_rate: float = parameter(
        0.0,
        'Most answers per second of the stamps; 0: one for every joint state.',
        low=0.0,
        high=HIGHEST_RATE,
        smallest=LOWEST_RATE,
        live=True,
    )
    acceleration_source: str = parameter(
        'differentiate',
        'Where accelerations come from: none (no inertia and inverse dynamics torque), '
        'differentiate (measured velocities, low-pass filtered), reference (a one-point '
        'JointTrajectory on the topic reference).',
        choices=('none', 'differentiate', 'reference'),
    )
    acceleration_cutoff: float = parameter(
        20.0, 'Cut-off frequency of that low-pass, Hz.', low=0.1, high=1000.0, live=True
    )
    effort_scale: tuple[float, ...] = parameter(
        [1.0],
        'Measured effort times this is N m or N, one value or one per joint: the torque constant '
        'where a driver reports currents.',
        low=-1e6,
        high=1e6,
        live=True,
    )
    effort_gravity_compensated: bool = parameter(
        False, 'The measured effort leaves out what compensates gravity.', live=True
    )


class DynamicsNode(LiveRobotNode):
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
            WrenchStamped, 'external_wrench', self._on_wrench, qos.JOINT_STATES_IN
        )
        self._wants_accelerations = self.parameters.acceleration_source != 'none'
        if self.parameters.acceleration_source == 'reference':
            self.create_subscription(
                JointTrajectory, 'reference', self._on_reference, qos.COMMANDS_IN
            )
        self.find_robot()

    def prepare(self, arm: Dynamics) -> None:
        """Compile the terms."""
        still = np.zeros(arm.model.n)
        friction = friction_of(self.parameters, arm.model)
        terms_of(arm, friction, still, still, still)
        terms_of(arm, friction, still, None, None)

    def use(self, arm: Dynamics) -> None:
        """Fill messages and filters for this robot."""
        scale = effort_scale(self.parameters, arm.model.joint_names)
        super().use(arm)
        self._effort_scale = scale
        effort = torque_writer(arm.model, self.parameters.frame_prefix)
        matrix = MatrixWriter(arm.model.n)
        self._answers = {name: (out, effort) for name, out in self._torques.items()}
        self._answers |= {name: (out, matrix) for name, out in self._matrices.items()}
        self.start()

    def start(self) -> None:
        """Begin with nothing heard."""
        super().start()
        self._filter = self._new_filter(self.parameters)
        self._reference: tuple[int, Array] | None = None
        self._wrench: tuple[int, str, Array] | None = None
        self._answered: int | None = None

    def accept(self, parameters: DynamicsParameters) -> None:
        """Refuse what does not fit the robot."""
        super().accept(parameters)
        if self.arm is not None:
            effort_scale(parameters, self.arm.model.joint_names)

    def adopt(self, parameters: DynamicsParameters) -> None:
        """Answer the next state by other parameters."""
        if parameters.acceleration_cutoff != self.parameters.acceleration_cutoff:
            self._filter = self._new_filter(parameters)
        super().adopt(parameters)
        if self.arm is not None:
            self._effort_scale = effort_scale(parameters, self.arm.model.joint_names)

    @staticmethod
    def _new_filter(parameters: DynamicsParameters) -> AccelerationFilter:
        return AccelerationFilter(
            cutoff=parameters.acceleration_cutoff, max_gap=LONGEST_DIFFERENCE
        )

    # -- inputs -----------------------------------------------------------------------------

    def _on_reference(self, message: JointTrajectory) -> None:
        if not self.active:
            return
        try:
            qdd = messages.one_point(message, self.arm.model.joint_names).qdd
            if qdd is None:
                raise TrajectoryError('the reference has no accelerations')
        except RobotDynamicsError as error:
            return self.refuse('reference', error)
        self._reference = messages.nanoseconds(message.header.stamp), qdd

    def _on_wrench(self, message: WrenchStamped) -> None:
        if not self.active:
            return
        frame, F = self.own_frame(message.header.frame_id), messages.wrench(message.wrench)
        try:
            self.arm.model.frame_index(frame)
            finite(F, ('n_x', 'n_y', 'n_z', 'f_x', 'f_y', 'f_z'), 'wrench')
        except RobotDynamicsError as error:
            return self.refuse('external wrench', error)
        self._wrench = messages.nanoseconds(message.header.stamp), frame, F

    # -- answers ----------------------------------------------------------------------------

    def answer(self, arm: Dynamics, reading: JointReading) -> None:
        """Publish the terms of a state."""
        qd, qdd = reading.qd, self._acceleration(reading)
        if qdd is None and qd is not None and self._wants_accelerations:
            self.health.counts['joint state without acceleration'] += 1
        if self._is_too_soon(reading.stamp):
            return
        terms = terms_of(arm, self.friction, reading.q, qd, qdd)
        external = self._external_torque(arm, reading)
        if external is not None:
            terms['external_torque'] = external
        if reading.effort is not None and qdd is not None:
            measured = self._effort_scale * reading.effort
            if self.parameters.effort_gravity_compensated:
                measured = measured + terms['gravity_torque']
            terms['effort_residual'] = effort_residual(measured, terms)
        for name, values in terms.items():
            self._publish(name, reading.stamp, values)

    def _is_too_soon(self, stamp: int) -> bool:
        # A state said again is for a listener that came late; time that ran back begins anew.
        rate = self.parameters.publish_rate
        period = SECOND / rate if rate > 0 else 0
        if self._answered is not None and 0 < stamp - self._answered < period:
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

    def _publish(self, name: str, stamp: int, values: Array) -> None:
        publisher, writer = self._answers[name]
        # A sum is finite only where all its terms are, and quicker than a look at each.
        if math.isfinite(sum(values.ravel().tolist())):
            publisher.publish(writer.fill(stamp, values))
        else:
            self.health.counts['not finite, not published'] += 1


def terms_of(
    arm: Dynamics, friction: Friction, q: Array, qd: Array | None, qdd: Array | None
) -> dict[str, Array]:
    """Return the terms of a state by topic name: matrices (n, n), then torques (n,).

    Who has heard a torque of the state has been sent its matrices before. Without velocities or
    accelerations, what needs them is left out: it is never guessed.
    """
    if qd is None:
        return {'mass_matrix': arm.mass_matrix(q), 'gravity_torque': arm.gravity_torque(q)}
    M, C, g = arm.terms(q, qd)
    # `dot` takes a third of what `@` takes for the few joints of an arm.
    coriolis = C.dot(qd)
    terms = {
        'mass_matrix': M,
        'coriolis_matrix': C,
        'gravity_torque': g,
        'coriolis_torque': coriolis,
        'friction_torque': friction.torque(qd),
    }
    if qdd is not None:
        terms['inertia_torque'] = inertia = M.dot(qdd)
        # tau = M qdd + C qd + g
        terms['inverse_dynamics_torque'] = inertia + coriolis + g
    return terms


def effort_residual(measured: Array, terms: dict[str, Array]) -> Array:
    """Return what the motors give (n,) beyond what the model explains, N m or N."""
    explained = terms['inverse_dynamics_torque'] + terms['friction_torque']
    return measured - explained + terms.get('external_torque', 0.0)


def effort_scale(parameters: DynamicsParameters, names: tuple[str, ...]) -> Array:
    """Return what measured efforts are multiplied with (n,), in the model's order.

    Raises ParameterError if there is neither one value nor one for each joint.
    """
    order = joint_order(parameters.joints, names)
    return per_joint('effort_scale', parameters.effort_scale, order, names)


def main() -> None:
    """Run the node."""
    _main.main(DynamicsNode)


if __name__ == '__main__':
    main()
