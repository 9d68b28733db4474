"""Lifecycle node that publishes the torque to follow a reference.

    tau = M(q) qdd_d + C(q, qd) qd + g(q) + friction(qd_d) + Kp (q_d - q) + Kd (qd_d - qd)

Subscribes
    joint_states             sensor_msgs/JointState           any order, extra joints ignored
    joint_trajectory         trajectory_msgs/JointTrajectory  a motion
    reference                trajectory_msgs/JointTrajectory  one point: the next of a stream
    payload, ~/set_payload   geometry_msgs/InertiaStamped     of all nodes, of this node alone
    robot_description        std_msgs/String                  latched, if no parameter gives it
Publishes
    ~/feedforward_torque             sensor_msgs/JointState           stamped as the joint state
    effort_controller/commands       std_msgs/Float64MultiArray       if `publish_commands`
    ~/joint_trajectory_with_effort   trajectory_msgs/JointTrajectory  a motion and its torques
    ~/status                         std_msgs/String                  what is followed, latched
    ~/payload                        geometry_msgs/InertiaStamped     the present one, latched
    /diagnostics                     diagnostic_msgs/DiagnosticArray
Services
    ~/enable                         std_srvs/SetBool

The parameter `control_law` selects another law of robot_dynamics.control.laws. Every joint state
is answered once, with its stamp; the reference is sampled at that time. Without a reference the
arm is held where it is, by gravity compensation and feedback; without a velocity only gravity is
compensated. `compensate_gravity: false` is for robots that compensate gravity themselves.

Torque is published while the node is active and enabled, joint states arrive, and no other node
published on the same command topics when this one was enabled (ros/command_guard.py).

Torques do not jump: the reference is continuous, or is placed at rest where the arm is
(control/reference_following.py), and every published torque passes the soft start, the effort
limit and the rate limit (control/torque_limiting.py).
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from std_msgs.msg import String
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control import Reference, free_inertias, gravity_only, waypoint_efforts
from robot_dynamics.control.joint_state import JointReading
from robot_dynamics.control.laws import compile_laws
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.torque_limiting import TorqueGate
from robot_dynamics.control.transitions import stopping_time
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.model.states import random_postures
from robot_dynamics.ros import diagnostics, executable, messages, qos
from robot_dynamics.ros.command_guard import CommandGuard, CommandInputGuard
from robot_dynamics.ros.diagnostics import Diagnostics, Status
from robot_dynamics.ros.feedforward_parameters import (
    FeedforwardParameters,
    Settings,
    gain_warnings,
)
from robot_dynamics.ros.joint_state_input import JointStateInput
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.outputs import TorqueOutput
from robot_dynamics.ros.payload_input import PayloadInput
from robot_dynamics.ros.robot_source import RobotSource
from robot_dynamics.spatial import Array

WATCHDOG_PERIOD = 0.02  # s
LONGEST_RELEASE = 0.8  # s; at the end of the node the torque is brought down within this time
RELEASE_STEP = 0.005  # s, between two torques meanwhile


class FeedforwardNode(RobotNode):
    """Answers every joint state with the torque that follows the reference."""

    table = FeedforwardParameters

    def __init__(self, **kwargs: Any):
        super().__init__('feedforward_node', **kwargs)
        self._enabled = self.parameters.start_enabled
        self._leaving = False  # disabled, and the torque is still being brought down
        self._rejecting = False  # the last reference was rejected
        self._state: JointReading | None = None
        self._settings: Settings  # of the present robot, as the gate and the follower
        self._gate: TorqueGate
        self._follower: ReferenceFollower
        self._output = TorqueOutput(self, bridge=self.parameters.publish_commands)
        self._filled_out = self.create_publisher(
            JointTrajectory, '~/joint_trajectory_with_effort', qos.STREAM_OUT
        )
        self._status_out = self.create_publisher(String, '~/status', qos.LATCHED)
        self.robot = self.add(RobotSource(self))
        self.payload = self.add(PayloadInput(self, compile_while_active=False))
        self.guard = self.add(
            CommandGuard(self, self._output.publishers, lambda: self._gate.close())
        )
        self.create_subscription(
            JointTrajectory, 'joint_trajectory', self._on_trajectory, qos.COMMANDS_IN
        )
        references = self.create_subscription(
            JointTrajectory, 'reference', self._on_reference, qos.COMMANDS_IN
        )
        self.reference_guard = self.add(CommandInputGuard(self, [references.topic_name]))
        self.joint_states = self.add(JointStateInput(self, self.on_joint_state))
        self.diagnostics = self.add(
            Diagnostics(self, lambda: (diagnostics.OK, self._description()))
        )
        self.create_service(SetBool, '~/enable', self._on_enable)
        self.create_steady_timer(WATCHDOG_PERIOD, self._on_watchdog)
        self.robot.begin()

    # -- the robot and the parameters -------------------------------------------------------

    def check(self, parameters: FeedforwardParameters, arm: Dynamics) -> None:
        """Reject lists that have neither one value nor one per joint."""
        parameters.friction(arm.model)
        parameters.settings(arm.model)

    def prepare(self, arm: Dynamics) -> None:
        """Compile every law."""
        compile_laws(arm)

    def use(self, arm: Dynamics) -> None:
        """Command this robot; it is held at its first state.

        If it replaces one with the same joints, the reference and the torque go on from there.
        """
        parameters, model = self.parameters, arm.model
        names = self.arm.model.joint_names if self.active else ()
        last = self._gate.last if self.active else ()
        self._settings = settings = parameters.settings(model)
        self._friction = parameters.friction(model)
        self._inertias = free_inertias(arm, random_postures(model))
        self._warn_of_gains(parameters, model)
        self._output.use(model, settings.order)
        if names == model.joint_names:
            self._adjust(model)
            self._follower.stop()
            return self._publish_status('')
        self._follower = ReferenceFollower(
            model, settings.tolerance, parameters.input_timeout, self._stopping_time
        )
        before = dict(zip(names, last, strict=True))
        torque = np.array([before.get(name, 0.0) for name in model.joint_names])
        self._gate = TorqueGate(settings.limits, self.health.counts, torque)
        if self.active:
            self.activate()

    def adopt(self, changes: set[str]) -> None:
        """Use other gains, switches and limits from the next state on."""
        if self.arm is None:
            return
        parameters, model = self.parameters, self.arm.model
        before, self._settings = self._settings, parameters.settings(model)
        self._friction = parameters.friction(model)
        if changes & {'kp', 'kd', 'control_law', 'expected_rate'}:
            self._warn_of_gains(parameters, model)
        self._adjust(model)
        if before.law is not self._settings.law:
            if gravity_only in (before.law, self._settings.law):
                self._follower.release()
            else:
                self._follower.stop()
            self._publish_status('')

    def _adjust(self, model: RobotModel) -> None:
        settings = self._settings
        self._follower.adjust(model, settings.tolerance, self.parameters.input_timeout)
        self._gate.limit(settings.limits)

    def _stopping_time(self, reference: Reference) -> float:
        return stopping_time(self.arm, self._settings.limits.effort, reference)

    def _warn_of_gains(self, parameters: FeedforwardParameters, model: RobotModel) -> None:
        names = model.joint_names
        for warning in gain_warnings(parameters, self._settings, self._inertias, names):
            self.get_logger().warning(warning)

    # -- start and end ----------------------------------------------------------------------

    def activate(self) -> None:
        """Hold the arm at its next state."""
        self._switch_on()
        self._publish_status('')

    def deactivate(self) -> None:
        """Bring the torque to what `on_deactivate` chooses, within the rate limit."""
        self._status_out.publish(String(data='inactive'))
        tau, state = self._last_torque(), self._state
        if tau is None or state is None:
            return
        end = time.monotonic() + LONGEST_RELEASE
        while True:
            time.sleep(RELEASE_STEP)
            dt = RELEASE_STEP if time.monotonic() < end else math.inf
            self._output.publish(state.stamp, self._gate.step(tau, dt))
            if self._gate.reached(tau):
                break
        self._output.wait_for_acknowledgement()

    def _last_torque(self) -> Array | None:
        """Return the torque that `on_deactivate` chooses; None: it stays, or there was none."""
        choice, state = self.parameters.on_deactivate, self._state
        if state is None or not self._gate.is_open or choice == 'none':
            return None
        return np.zeros(len(state.q)) if choice == 'zero' else self._gravity(state)

    # -- what to follow ---------------------------------------------------------------------

    def _on_trajectory(self, message: JointTrajectory) -> None:
        if not self.active:
            return
        arm: Dynamics = self.arm
        names = arm.model.joint_names
        # A disabled node still fills in the efforts, for a controller that follows itself.
        accept = self._follower.follow if self._enabled else self._follower.check
        try:
            self._reject_if_led()
            trajectory = messages.trajectory(message).in_order(names)
            accept(trajectory, messages.nanoseconds(message.header.stamp))
        except RobotDynamicsError as error:
            self.health.counts['trajectory rejected'] += 1
            self.get_logger().error(f'trajectory rejected: {error}')
            return self._publish_status(f'trajectory rejected: {error}; ')
        self._publish_status('')
        efforts = waypoint_efforts(arm, trajectory, self._settings.switches, self._friction)
        self._filled_out.publish(messages.with_efforts(message, names, efforts))

    def _on_reference(self, message: JointTrajectory) -> None:
        if not (self.active and self._enabled):
            return
        try:
            self._reject_if_led()
            if self.reference_guard.conflict:
                raise TrajectoryError(self.reference_guard.conflict)
            self._follower.follow_reference(
                messages.reference(message, self.arm.model.joint_names)
            )
        except RobotDynamicsError as error:
            self.reject('reference', error)
            if not self._rejecting:
                self._publish_status(f'reference rejected: {error}; ')
            self._rejecting = True
        else:
            self._rejecting = False

    def _reject_if_led(self) -> None:
        if self._settings.law is gravity_only:
            raise TrajectoryError('control_law is gravity_only: the arm is led by hand')

    # -- on and off -------------------------------------------------------------------------

    def _on_enable(self, request: Any, response: Any) -> Any:
        before, self._enabled = self._enabled, request.data
        response.success, response.message = True, 'enabled' if request.data else 'disabled'
        if self.active:
            if not self._enabled:
                self._follower.stop()
                self._leaving = self._gate.is_open
            elif self._leaving:
                self._leaving = False  # the reference and the torque go on from there
            elif not before:
                self._switch_on()
            self._publish_status('')
            if self._enabled and self.guard.conflict:
                response.message += f', but {self.guard.conflict}'
        return response

    def _switch_on(self) -> None:
        """Begin softly, where the arm is, unless another node commands it."""
        self._follower.release()
        self._gate.close()
        self._leaving = False
        self._state, self._silent = None, ''
        self._answered = -1  # stamp of the state that was answered last, ns
        self._received = self._progressed = time.monotonic()  # s, of a state; of a new stamp
        self.guard.enable()

    def _on_watchdog(self) -> None:
        """Apply `on_timeout` while joint states are missing, or their stamps stand still."""
        now, timeout = time.monotonic(), self.parameters.silence_timeout
        if not self.active or now - self._progressed < timeout:
            return
        choice, state = self.parameters.on_timeout, self._state
        if not self._silent:
            if now - self._received < timeout:
                stamp = 0 if state is None else state.stamp
                self._silent = (
                    f'the stamps of joint_states stand still at {stamp / messages.SECOND:.3f} s'
                )
            else:
                self._silent = 'no joint states'
            self.health.counts['joint states stopped'] += 1
            self._publish_status(f'{self._silent}, {choice}; ')
        if state is None or not self._gate.is_open:
            return
        if self._leaving:
            tau = self._last_torque()
        elif choice == 'stop':
            return
        else:
            tau = self._gate.last if choice == 'hold' else self._gravity(state)
        if tau is not None:
            self._output.publish(state.stamp, self._gate.step(tau, WATCHDOG_PERIOD))
        self._leave_at(tau)

    def _leave_at(self, tau: Array | None) -> None:
        """End the command of a disabled node once the torque is there."""
        if self._leaving and (tau is None or self._gate.reached(tau)):
            self._leaving = False
            self._gate.close()

    def _description(self) -> str:
        """Return what the node does at present."""
        if not self._enabled:
            return 'disabled'
        if self._settings.law is gravity_only:
            return 'led by hand'
        return self._follower.doing

    def _publish_status(self, event: str) -> None:
        self._status_out.publish(String(data=event + self._description()))

    # -- torques ----------------------------------------------------------------------------

    def on_joint_state(self, state: JointReading) -> None:
        """Publish the torque for one complete joint state."""
        now = time.monotonic()
        self._received = now
        if state.stamp != self._answered or state.stamp == 0:
            self._progressed = now
        elif self._silent:
            return
        returned, self._silent, self._state = bool(self._silent), '', state
        event = 'joint states are back; ' if returned else ''
        doing = self._follower.doing
        reference, dropped = self._follower.reference(state, returned)
        if self._follower.placed and state.qd is not None:
            self._gate.soften()
        commands = (self._enabled or self._leaving) and not self.guard.blocked
        if not commands or state.qd is None:
            self._follower.release()
        if dropped:
            self.get_logger().warning(f'{dropped}: {self._follower.doing}')
        if dropped or event or self._follower.doing != doing:
            self._publish_status(event + (f'{dropped}; ' if dropped else ''))
        if commands:
            self._command(self._tau(state, reference), state)

    def _command(self, tau: Array, state: JointReading) -> None:
        """Publish a torque within the limits; or the last one, once a disabled arm is at rest."""
        if self._leaving and not self._follower.moving:
            last = self._last_torque()
            if last is None:
                return self._leave_at(None)
            tau = last
        if not np.isfinite(tau).all():
            self.health.counts['not finite, not published'] += 1
            return
        # Without stamps torques are limited by the time that passes here.
        stamp = time.monotonic_ns() if self.joint_states.unstamped else state.stamp
        self._output.publish(state.stamp, self._gate(stamp, tau))
        self._answered = state.stamp
        if self._leaving and not self._follower.moving:
            self._leave_at(tau)

    def _tau(self, state: JointReading, reference: Reference) -> Array:
        if state.qd is None:
            return self._gravity(state)
        law, gains, switches, *_ = self._settings
        return law(self.arm, reference, state.q, state.qd, switches, gains, self._friction).tau

    def _gravity(self, state: JointReading) -> Array:
        if not self._settings.switches.gravity:
            return np.zeros(len(state.q))
        arm: Dynamics = self.arm
        return arm.gravity_torque(state.q)

    # -- diagnostics ------------------------------------------------------------------------

    def status(self) -> Status | None:
        """Return a WARN while joint states are missing or stand still."""
        if self._silent:
            return diagnostics.WARN, f'{self._silent}: {self.parameters.on_timeout}'
        return None

    def figures(self) -> dict[str, str]:
        """Return the joints that were at their effort limit since the last report."""
        names = self.arm.model.joint_names
        saturated = [name for name, hit in zip(names, self._gate.saturated(), strict=True) if hit]
        return {'joints at their limit': ', '.join(saturated) or 'none'}


def main() -> None:
    """Run the node."""
    executable.main(FeedforwardNode)


if __name__ == '__main__':
    main()
