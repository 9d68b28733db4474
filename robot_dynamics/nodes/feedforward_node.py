"""The torque that makes the arm follow: feed-forward from the model, feedback from the error.

    tau = M(q) qdd_d + C(q, qd) qd + g(q) + friction(qd_d) + Kp (q_d - q) + Kd (qd_d - qd)

One answer per joint state, with its stamp: the reference is sampled at that time. Without a
reference the arm is held where it is, by gravity compensation and feedback. If the robot already
compensates gravity, switch that term off: `compensate_gravity: false`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control import (
    Gains,
    RateLimiter,
    Reference,
    Switches,
    feedforward,
    saturate,
    waypoint_efforts,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.nodes import _main, diagnostics, messages, qos
from robot_dynamics.nodes.joint_states import JointDataError, JointReading, JointStateReader
from robot_dynamics.nodes.messages import SECOND, JointStateWriter
from robot_dynamics.nodes.parameters import RobotParameters, joint_order, parameter, per_joint
from robot_dynamics.nodes.publisher_guard import PublisherGuard
from robot_dynamics.nodes.reference_follower import ReferenceFollower
from robot_dynamics.nodes.robot_node import LOOK, RobotNode
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class FeedforwardParameters(RobotParameters):
    """Parameters of the feed-forward node."""

    compensate_gravity: bool = parameter(
        True, 'Add g(q). Switch off if the robot compensates gravity itself.', live=True
    )
    compensate_coriolis: bool = parameter(True, 'Add C(q, qd) qd.', live=True)
    compensate_inertia: bool = parameter(True, 'Add M(q) qdd_d.', live=True)
    compensate_friction: bool = parameter(True, 'Add friction(qd_d).', live=True)
    kp: tuple[float, ...] = parameter(
        [0.0], 'Feedback on positions, N m/rad or N/m; one or one per joint.', low=0.0, live=True
    )
    kd: tuple[float, ...] = parameter(
        [0.0], 'Feedback on velocities, N m s/rad or N s/m.', low=0.0, live=True
    )
    start_tolerance: tuple[float, ...] = parameter(
        [0.1],
        'How far from the arm a motion may begin, rad or m; one or one per joint.',
        low=0.0,
    )
    input_timeout: float = parameter(
        0.1,
        'How long the last value of a joint not heard again is held, and a stream of references '
        'may be silent, s.',
        low=0.0,
    )
    torque_limit_scale: float = parameter(
        1.0, "Torques are clamped to this part of the URDF's effort limits.", low=0.0, high=1.0
    )
    max_torque_rate: tuple[float, ...] = parameter(
        [0.0],
        'Largest change of torque, N m/s or N/s; one or one per joint; 0: no limit.',
        low=0.0,
    )
    publish_commands: bool = parameter(
        False, 'Publish effort_controller/commands as well: the bridge to ros2_control.'
    )
    start_enabled: bool = parameter(
        True, 'Give torques from the start; else the service ~/enable is awaited.'
    )


class FeedforwardNode(RobotNode):
    """Answers every joint state with the torque that follows the reference."""

    table = FeedforwardParameters

    def __init__(self, **kwargs: Any):
        super().__init__('feedforward_node', **kwargs)
        self._enabled = self.parameters.start_enabled
        self._torque_out = self.create_publisher(
            JointState, '~/feedforward_torque', qos.STREAM_OUT
        )
        self._filled_out = self.create_publisher(
            JointTrajectory, '~/joint_trajectory_with_effort', qos.STREAM_OUT
        )
        self._status_out = self.create_publisher(String, '~/status', qos.LATCHED)
        self._commands_out = (
            self.create_publisher(Float64MultiArray, 'effort_controller/commands', qos.STREAM_OUT)
            if self.parameters.publish_commands
            else None
        )
        self.create_subscription(
            JointState,
            'joint_states',
            self._on_state,
            qos.JOINT_STATES_IN,
            qos_overriding_options=qos.overridable(),
        )
        self.create_subscription(
            JointTrajectory, 'joint_trajectory', self._on_trajectory, qos.COMMANDS_IN
        )
        self._reference_in = self.create_subscription(
            JointTrajectory, 'reference', self._on_reference, qos.COMMANDS_IN
        )
        self._guard = PublisherGuard()
        self.create_service(SetBool, '~/enable', self._on_enable)
        self.create_steady_timer(LOOK, self._on_look)
        self.find_robot()

    def use(self, arm: Dynamics) -> None:
        """Prepare for this robot; it is held at its first state."""
        model, parameters = arm.model, self.parameters
        names, still = model.joint_names, np.zeros(model.n)
        feedforward(arm, Reference(still, still, still), still, still)
        order = joint_order(parameters.joints, names)
        tolerance = per_joint('start_tolerance', parameters.start_tolerance, order, names)
        rate = per_joint('max_torque_rate', parameters.max_torque_rate, order, names)
        self._gains = _gains(parameters, names)
        self._switches = _switches(parameters)
        self._order = [names.index(name) for name in order]
        self._reader = JointStateReader(names, parameters.input_timeout)
        self._follower = ReferenceFollower(model, tolerance, parameters.input_timeout)
        self._limit = parameters.torque_limit_scale * model.effort_limit
        self._limiter = RateLimiter(np.where(rate > 0, rate, np.inf)) if rate.any() else None
        self._limited_at = 0
        self._torque = JointStateWriter(names, model.link_names[0], ('effort',))
        self._say('')

    def accept(self, parameters: FeedforwardParameters) -> None:
        """Refuse gains that do not fit the robot."""
        if self.arm is not None:
            _gains(parameters, self.arm.model.joint_names)

    def adopt(self, parameters: FeedforwardParameters) -> None:
        """Use other gains and switches from the next state on."""
        super().adopt(parameters)
        if self.arm is not None:
            self._gains = _gains(parameters, self.arm.model.joint_names)
            self._switches = _switches(parameters)

    # -- what to follow ---------------------------------------------------------------------

    def _on_trajectory(self, message: JointTrajectory) -> None:
        if self.arm is None:
            return
        arm, names = self.arm, self.arm.model.joint_names
        # Disabled, the node still fills in the efforts: for a controller that follows itself.
        take = self._follower.follow if self._enabled else self._follower.check
        try:
            trajectory = messages.trajectory(message).in_order(names)
            take(trajectory, messages.nanoseconds(message.header.stamp))
        except RobotDynamicsError as error:
            self.health.counts['trajectory refused'] += 1
            self.get_logger().error(f'trajectory refused: {error}')
            return self._say(f'trajectory refused: {error}; ')
        self._say('')
        efforts = waypoint_efforts(arm, trajectory, self._switches)
        self._filled_out.publish(messages.with_efforts(message, names, efforts))

    def _on_reference(self, message: JointTrajectory) -> None:
        if self.arm is None or not self._enabled:
            return
        try:
            if self._guard.conflict:
                raise TrajectoryError(self._guard.conflict)
            point = messages.one_point(message, self.arm.model.joint_names)
            # Where to be; what is not said about how to move there is: at rest.
            still = np.zeros(self.arm.model.n)
            self._follower.follow_reference(
                Reference(
                    point.q,
                    still if point.qd is None else point.qd,
                    still if point.qdd is None else point.qdd,
                )
            )
        except RobotDynamicsError as error:
            self.refuse('reference', error)

    def _on_look(self) -> None:
        self._guard.look(self.publishers_of(self._reference_in.topic_name))

    def _on_enable(self, request: Any, response: Any) -> Any:
        self._enabled = request.data
        response.success, response.message = True, 'enabled' if request.data else 'disabled'
        if self.arm is not None:
            self._follower.hold()
            if self._limiter is not None:
                self._limiter.reset()
            self._say('')
        return response

    def _say(self, event: str) -> None:
        doing = self._follower.doing if self._enabled else 'disabled'
        self._status_out.publish(String(data=event + doing))

    # -- answers ----------------------------------------------------------------------------

    def _on_state(self, message: JointState) -> None:
        if self.arm is None:
            return
        began = time.perf_counter()
        stamp = messages.nanoseconds(message.header.stamp)
        self.hear(stamp)
        try:
            state = self._reader.read(message, stamp)
            if state is None:
                return
            if state.qd is None:
                raise JointDataError('no velocity: friction, Coriolis and feedback need it')
        except RobotDynamicsError as error:
            return self.refuse('joint state', error)
        doing = self._follower.doing
        reference, dropped = self._follower.reference(state)
        if dropped:
            self.get_logger().warning(f'{dropped}: {self._follower.doing}')
        if dropped or self._follower.doing != doing:
            self._say(f'{dropped}; ' if dropped else '')
        if self._enabled:
            self._publish(state.stamp, self._limited(stamp, self._tau(self.arm, state, reference)))
        self.health.latencies.append(time.perf_counter() - began)

    def _tau(self, arm: Dynamics, state: JointReading, reference: Reference) -> Array:
        return feedforward(arm, reference, state.q, state.qd, self._switches, self._gains).tau

    def _limited(self, stamp: int, tau: Array) -> Array:
        tau, active = saturate(tau, self._limit)
        self.health.counts['torque at its limit'] += bool(active.any())
        if self._limiter is not None:
            tau, active = self._limiter(tau, (stamp - self._limited_at) / SECOND)
            self.health.counts['torque at its rate limit'] += bool(active.any())
            self._limited_at = stamp
        return tau

    def _publish(self, stamp: int, tau: Array) -> None:
        if not np.isfinite(tau).all():
            self.health.counts['not finite, not published'] += 1
            return
        self._torque_out.publish(self._torque.fill(stamp, tau))
        if self._commands_out is not None:
            self._commands_out.publish(Float64MultiArray(data=tau[self._order].tolist()))

    # -- diagnostics ------------------------------------------------------------------------

    def trouble(self) -> tuple[bytes, str] | None:
        """Return the level and the sentence for what is wrong at present, None if nothing is."""
        if self._guard.conflict:
            return diagnostics.ERROR, self._guard.conflict
        return self.input_condition(self._reader)

    def condition(self) -> tuple[bytes, str]:
        """Return the level and the sentence for the diagnostics of a node without trouble."""
        level, message = super().condition()
        if level == diagnostics.OK:
            return level, self._follower.doing if self._enabled else 'disabled'
        return level, message


def _gains(parameters: FeedforwardParameters, names: tuple[str, ...]) -> Gains:
    order = joint_order(parameters.joints, names)
    return Gains(
        per_joint('kp', parameters.kp, order, names), per_joint('kd', parameters.kd, order, names)
    )


def _switches(parameters: FeedforwardParameters) -> Switches:
    return Switches(
        gravity=parameters.compensate_gravity,
        coriolis=parameters.compensate_coriolis,
        inertia=parameters.compensate_inertia,
        friction=parameters.compensate_friction,
    )


def main() -> None:
    """Run the node."""
    _main.main(FeedforwardNode)


if __name__ == '__main__':
    main()
