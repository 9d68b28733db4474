# SPDX-License-Identifier: Apache-2.0
"""Lifecycle node that publishes the torque to follow a reference.

    tau = M(q) qdd_d + C(q, qd) qd + g(q) + friction(qd_d) + Kp (q_d - q) + Kd (qd_d - qd) + offset

Subscribes
    joint_states             sensor_msgs/JointState           any order, extra joints ignored
    joint_trajectory         trajectory_msgs/JointTrajectory  a motion
    reference                trajectory_msgs/JointTrajectory  the next of a stream
    target_pose              geometry_msgs/PoseStamped        the next of a stream, for a frame
    target_wrench            geometry_msgs/WrenchStamped      that a link exerts, likewise
    momentum_observer_node/contact  diagnostic_msgs/DiagnosticArray  if `on_collision`
    base_motion/imu          sensor_msgs/Imu                  with base_motion.source: imu
    base_motion/odometry     nav_msgs/Odometry                odometry
    base_motion/accel        geometry_msgs/AccelStamped       command
    base_motion/twist        geometry_msgs/TwistStamped       command
    payload, ~/set_payload   geometry_msgs/InertiaStamped     of all nodes, of this node alone
    robot_description        std_msgs/String                  latched, if no parameter gives it
Publishes
    ~/feedforward_torque             sensor_msgs/JointState           stamped as the joint state
    effort_controller/commands       std_msgs/Float64MultiArray       if `publish_commands`
    ~/joint_trajectory_with_effort   trajectory_msgs/JointTrajectory  a motion and its torques
    ~/desired_state, ~/measured_state, ~/state_error                  sensor_msgs/JointState
    ~/controller_state               control_msgs/JointTrajectoryControllerState, if installed
    ~/status                         diagnostic_msgs/DiagnosticStatus of the motion, latched
    ~/payload                        geometry_msgs/InertiaStamped     the present one, latched
    /diagnostics                     diagnostic_msgs/DiagnosticArray
Actions
    ~/follow_joint_trajectory        control_msgs/FollowJointTrajectory, if installed
Services
    ~/enable                         std_srvs/SetBool
    ~/stop                           std_srvs/Trigger                 decelerate, then hold

The parameter `control_law` selects another law of control/control_laws.py. Every joint state is
answered once, with its stamp; the reference is sampled at that time. Without a reference the
arm is held where it is, by gravity compensation and feedback; without a velocity only gravity is
compensated. `compensate_gravity: false` is for robots that compensate gravity themselves; of a
moving base, what its motion adds is compensated then.

Torque is published while the node is active and enabled, joint states arrive, and no other node
published on the same command topics when this one was enabled.

Torques do not jump: the reference is continuous in position and velocity, along streams in
acceleration, or is placed at rest where the arm is (control/reference_following.py), and every
published torque passes the soft start, the effort limit and the rate limit
(control/torque_limiting.py). They are those of the loop without ROS (control/control_cycle.py).
The parts are in feedforward_parts/, beside this file.
"""

from __future__ import annotations

import time
from typing import Any

from std_srvs.srv import SetBool, Trigger
from typing_extensions import override

from robot_dynamics.common.spatial import Array
from robot_dynamics.control.control_cycle import ControlCycle
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.motions import NOT_FINITE
from robot_dynamics.control.trajectory import Reference
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import health, motion_status
from robot_dynamics.ros.base_motion_input import BaseMotionInput
from robot_dynamics.ros.diagnostics import Diagnostics
from robot_dynamics.ros.feedforward_parameters import FeedforwardParameters
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.joint_state_input import JointStateInput
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.motion_status import MotionStatus, NodeActivity
from robot_dynamics.ros.nodes.feedforward_parts.collision_input import CollisionInput
from robot_dynamics.ros.nodes.feedforward_parts.frame_impedance import FrameImpedance
from robot_dynamics.ros.nodes.feedforward_parts.motor_mode import Mode
from robot_dynamics.ros.nodes.feedforward_parts.reference_input import MotionState, ReferenceInput
from robot_dynamics.ros.nodes.feedforward_parts.state_output import StateOutput
from robot_dynamics.ros.nodes.feedforward_parts.state_watch import StateWatch
from robot_dynamics.ros.nodes.feedforward_parts.torque_law import TorqueLaw
from robot_dynamics.ros.nodes.feedforward_parts.torque_output import TorqueOutput
from robot_dynamics.ros.nodes.feedforward_parts.trajectory_action_server import (
    TrajectoryActionServer,
)
from robot_dynamics.ros.payload_input import PayloadInput
from robot_dynamics.ros.robot_source import RobotSource

WATCHDOG_PERIOD = 0.02  # s


class FeedforwardNode(RobotNode):
    """Answers every joint state with the torque that follows the reference; see `Mode`."""

    table = FeedforwardParameters

    def __init__(self, **kwargs: Any):
        super().__init__('feedforward_node', **kwargs)
        self.diagnostics = self.add(Diagnostics(self))
        parameters: FeedforwardParameters = self.parameters
        self.mode = Mode.WAITING if parameters.start_enabled else Mode.DISABLED
        self._failure = ''  # of a timer; the arm is held
        self.watch = StateWatch()
        self._status = MotionStatus(self, self._activity)
        self.robot = self.add(RobotSource(self))
        self.payload = self.add(PayloadInput(self, compile_while_active=False))
        report, enabled = self._status.report, lambda: self.mode.enabled and not self._failure
        self.frame = self.add(
            FrameImpedance(self, report, enabled, lambda: self.torques.restart())
        )
        self.base_motion = self.add(BaseMotionInput(self))
        self.law = self.add(TorqueLaw(self, self.frame, self.base_motion))
        self.torques = self.add(
            TorqueOutput(self, parameters.publish_commands, self._on_other_publishers)
        )
        self.joint_states = self.add(JointStateInput(self, self.on_joint_state))
        self.references = self.add(
            ReferenceInput(self, self.joint_states, report, enabled, self.frame.follower)
        )
        self.contact = self.add(CollisionInput(self))
        self._collision, self._unprotected = '', False  # why COLLIDED; whether contacts are lost
        self.states = self.add(StateOutput(self))
        self.action = self.add(TrajectoryActionServer(self, self.references, self._obstacle))
        self.create_service(SetBool, '~/enable', self._on_enable)
        self.create_service(Trigger, '~/stop', self._on_stop)
        self.create_steady_timer(WATCHDOG_PERIOD, self._on_watchdog)
        self.robot.begin()

    # -- the robot and the parameters -------------------------------------------------------

    @override
    def use(self, arm: Dynamics) -> None:
        """Command this robot; it is held at its first state.

        If it replaces one with the same joints, the reference and the torque continue.
        """
        model, law = arm.model, self.law
        goes_on = self.active and self.arm.model.joint_names == model.joint_names
        settings = law.settings
        self.torques.command(model, settings.limits, settings.order, settings.per_torque)
        if goes_on:
            self.references.adjust(model, settings, law.friction)
        else:
            self.references.follow(model, settings, law.friction)
        self.cycle = ControlCycle(self.references.follower, law.joints, self.torques.gate)
        if goes_on:
            self.references.stop('the robot description has changed')
        elif self.active:
            self.activate()

    @override
    def adopt(self, changes: set[str]) -> None:
        """Use other limits from the next state on."""
        if self.arm is None:
            return
        settings = self.law.settings
        self.torques.adjust(settings.limits, settings.per_torque)
        self.references.adjust(self.arm.model, settings, self.law.friction)

    # -- start and end ----------------------------------------------------------------------

    @override
    def activate(self) -> None:
        """Hold the arm at its next state."""
        self._switch_on()
        self._status.report()

    @override
    def deactivate(self) -> None:
        """Change the torque to that of `on_deactivate`, within the rate limit."""
        self._status.publish(NodeActivity(motion_status.IDLE, 'inactive'))
        state = self.watch.last
        tau = self._last_torque()
        if tau is not None and state is not None:
            self.torques.release(state.stamp, tau)
        self.mode = Mode.WAITING if self.mode.enabled else Mode.DISABLED

    def _last_torque(self) -> Array | None:
        """Return the torque that `on_deactivate` chooses; None: it stays, or there was none."""
        state = self.watch.last
        return self.law.last(state) if state is not None and self.torques.is_open else None

    # -- on and off -------------------------------------------------------------------------

    def _on_enable(self, request: Any, response: Any) -> Any:
        if request.data:
            self._enable()
        else:
            self._disable()
        response.success, response.message = True, 'enabled' if request.data else 'disabled'
        if self.active:
            self._status.report()
            obstacle = self.torques.conflict or self.contact.lost
            if request.data and obstacle:
                response.message += f', but {obstacle}'
        return response

    def _enable(self) -> None:
        self._failure = ''
        is_off = self.contact.acknowledge()
        if self.arm is not None:
            self.references.forget_violation()
            is_off = is_off or self.references.is_off
        if self.mode is Mode.RELEASING and not is_off:
            self.mode = self._enabled_mode()  # the reference and the torque continue
        elif self.mode is Mode.COLLIDED:
            self.references.release()  # held where the arm is, from the present torque
            self.mode = self._enabled_mode()
        elif not self.mode.enabled:
            self.mode = Mode.WAITING
            if self.active:
                self._switch_on()

    def _disable(self) -> None:
        self.mode = Mode.DISABLED
        if self.active:
            self.references.decelerate('disabled')
            if self.torques.is_open:
                self.mode = Mode.RELEASING

    def _react_to_contact(self, stamp: int) -> None:
        """Apply `on_collision` and `on_contact_lost` at the joint state with this stamp, ns."""
        contact, lost = self.contact, self.contact.lost
        contact.advance(stamp)
        choice = self.parameters.on_collision
        collision = '' if choice == 'none' else contact.collision
        is_commanding = self.mode is Mode.COMMANDING
        if contact.lost and not lost:
            self.count_event('contact lost')
        if collision and (is_commanding or (self.mode is Mode.COLLIDED and self._unprotected)):
            self.references.collide(collision)
            self._end_motion(f'{collision}: {choice}; ~/enable releases the arm', False)
            self.count_event('collision')
        elif is_commanding and contact.lost and self.parameters.on_contact_lost == 'hold':
            self.references.decelerate(contact.lost)
            self._end_motion(f'{contact.lost}: hold; ~/enable releases the arm', True)
        elif bool(contact.lost) != bool(lost):
            self._status.report(contact.lost or 'contacts are back')

    def _end_motion(self, why: str, unprotected: bool) -> None:
        self.mode, self._collision, self._unprotected = Mode.COLLIDED, why, unprotected
        self._status.report()

    def _on_stop(self, request: Any, response: Any) -> Any:
        response.success = self.active
        response.message = f'the node is {self.state}'
        if self.active:
            self.references.stop('stopped by ~/stop')
            response.message = self._description()
        return response

    def _switch_on(self) -> None:
        """Start softly at the present position, unless another node commands the arm."""
        self.references.release()
        self.references.forget_violation()
        self._failure = ''
        self.watch.restart()
        self.torques.switch_on()
        self.mode = self._enabled_mode() if self.mode.enabled else Mode.DISABLED

    def _enabled_mode(self) -> Mode:
        """Return the mode of the enabled node, as far as others and joint states determine it."""
        if self.torques.is_blocked:
            return Mode.BLOCKED
        return Mode.COMMANDING if self.watch.receives else Mode.WAITING

    def _on_other_publishers(self) -> None:
        """Stop commands while another node has the motors; it has come or gone."""
        if self.torques.is_blocked:
            self.torques.close()
        if self.mode.enabled:
            self.mode = self._enabled_mode()
        elif self.torques.is_blocked:
            self.mode = Mode.DISABLED

    def _on_watchdog(self) -> None:
        """Apply `on_timeout` if joint states are missing, and keep the status up to date."""
        if not self.active:
            return
        now = time.monotonic()
        if self.watch.begins_silence(now, self.parameters.silence_timeout):
            if self.mode is Mode.COMMANDING:
                self.mode = Mode.WAITING
            self.count_event('joint states stopped')
            self._status.report(f'{self.watch.silent}, {self.parameters.on_timeout}')
        if self.watch.silent:
            self._bridge_silence()
        self._status.update(now)

    @override
    def timer_failed(self, name: str, reason: str) -> None:
        """Hold the arm until it is enabled again: what the timer watches is not protected."""
        if not self.active:
            return
        if not self._failure:
            self._failure = f'{name} failed, the arm is held until ~/enable: {reason}'
            self.references.decelerate(self._failure)
            self._status.report()
        state = self.watch.last
        holds = self.watch.silent and self.parameters.on_timeout != 'stop'
        if holds and state is not None and self.torques.is_open:
            self.torques.publish(state.stamp, self.torques.last)

    def _bridge_silence(self) -> None:
        """Apply `on_timeout` while joint states are missing, or their stamps stand still."""
        choice, state = self.parameters.on_timeout, self.watch.last
        if state is None or not self.torques.is_open:
            return
        if self.mode is Mode.RELEASING:
            tau = self._last_torque()
        elif choice == 'stop':
            return
        else:
            tau = self.torques.last if choice == 'hold' else self.law.gravity(state)
        if tau is not None:
            self.torques.continue_to(state.stamp, tau, WATCHDOG_PERIOD)
        self._leave_at(tau)

    def _leave_at(self, tau: Array | None) -> None:
        """End the commands of a disabled node once its last torque is reached."""
        if self.mode is Mode.RELEASING and (tau is None or self.torques.reached(tau)):
            self.mode = Mode.DISABLED
            self.torques.close()

    def _obstacle(self) -> str:
        """Return why no goal can be followed at present, or ''."""
        if self.mode is Mode.COLLIDED:
            return self._collision
        if not self.mode.enabled:
            return 'the node is disabled; ~/enable enables it'
        if self.mode is Mode.BLOCKED:
            return self.torques.conflict
        return self._failure or self.watch.silent

    def _description(self) -> str:
        """Return what the node does at present."""
        if self.mode is Mode.COLLIDED:
            return 'held without contacts' if self._unprotected else 'after a collision'
        if not self.mode.enabled:
            return 'disabled'
        if self.law.is_led:
            return 'led by hand'
        return self.references.doing

    def _activity(self) -> NodeActivity:
        """Return what the node does at present, for its status."""
        motion, word, detail = self.references, self.mode.value, ''
        if self.mode is Mode.BLOCKED:
            detail = self.torques.conflict
        elif self.mode is Mode.COLLIDED:
            word, detail = motion_status.FAULTED, self._collision
        elif self._failure and self.mode is not Mode.DISABLED:
            word, detail = motion_status.FAULTED, self._failure
        elif self.mode is Mode.COMMANDING:
            word, detail = motion.phase.value, self.frame.remark
            if self.law.is_led:
                word = motion_status.IDLE
            elif motion.fault:
                word, detail = motion_status.FAULTED, motion.fault
        return NodeActivity(
            word,
            self._description(),
            progress=motion.progress,
            lag=motion.lag,
            detail=detail,
            outcome=motion.ending,
            warning=self.contact.lost,
        )

    # -- torques ----------------------------------------------------------------------------

    def on_joint_state(self, state: JointReading) -> None:
        """Publish the torque for one complete joint state."""
        if not self.watch.receive(state):
            return
        if self.mode is Mode.WAITING:
            self.mode = Mode.COMMANDING
        self.base_motion.at(state.stamp)  # its absence is a WARN without torques as well
        state = self.references.nearest(state)
        returned = self.watch.take(state)
        self._react_to_contact(self._time_of(state))
        before = self.references.motion_state()
        rejected = self.references.take_retimed()
        reference, dropped = self.cycle.reference(state, returned)
        dropped = rejected or dropped
        commands = self.mode in (Mode.COMMANDING, Mode.RELEASING, Mode.COLLIDED)
        if not commands or state.qd is None:
            why = self._release_motion()
            dropped = dropped or why
        if dropped:
            self.get_logger().warning(f'{dropped}: {self.references.doing}')
        if commands:
            self._command(self._torque(state, reference), state)
            dropped = dropped or self.frame.ended
        if dropped == NOT_FINITE:
            self.count_event(f'{NOT_FINITE}, placed anew')
        self._publish_state(state, reference, commands)
        self._report_changes(before, dropped, returned)

    def _release_motion(self) -> str:
        """Follow nothing without torques; return why a motion was dropped, or ''."""
        why = self._obstacle() or 'joint states without velocity'
        was_moving = self.references.moving
        self.references.release(why)
        return why * was_moving

    def _publish_state(self, state: JointReading, reference: Reference, commands: bool) -> None:
        """Publish a state with its reference, and keep them as feedback of the action."""
        self.action.latest = state, reference
        torque = self.torques.last if commands else None
        elapsed, speed = self.references.elapsed, self.references.speed
        self.states.publish(state, reference, torque, elapsed=elapsed, speed=speed)

    def _report_changes(self, before: MotionState, dropped: str, returned: bool) -> None:
        """Count and report what a joint state has changed.

        Args:
            before: the motion before it.
            dropped: why a motion was dropped, or ''.
            returned: whether joint states were missing before it.
        """
        if self.references.was_violated(before):
            self.count_event('tolerance violated')
        if dropped or returned or self.references.has_changed(before):
            event = ['joint states are back'] * returned + [dropped] * bool(dropped)
            word = motion_status.REJECTED if self.references.was_rejected(before) else ''
            self._status.report('; '.join(event), word)

    def _time_of(self, state: JointReading) -> int:
        """Return the time [ns] of a state; without stamps, the time that passes here."""
        return time.monotonic_ns() if self.joint_states.unstamped else state.stamp

    def _torque(self, state: JointReading, reference: Reference) -> Array:
        is_loose = self.parameters.on_collision == 'gravity_only' and not self._unprotected
        if self.mode is Mode.COLLIDED and is_loose:
            return self.law.gravity(state)
        return self.law.torque(state, reference)

    def _command(self, tau: Array, state: JointReading) -> None:
        """Publish a torque within the limits; or the last one, once a disabled arm is at rest."""
        is_last = self.mode is Mode.RELEASING and not self.references.moving
        if is_last:
            last = self._last_torque()
            if last is None:
                return self._leave_at(None)
            tau = last
        limited = self.cycle.limited(self._time_of(state), tau)
        if limited is None:
            return self.count_event('not finite, not published')
        self.torques.publish(state.stamp, limited)
        self.watch.answered = state.stamp
        if is_last:
            self._leave_at(tau)

    # -- diagnostics ------------------------------------------------------------------------

    @override
    def condition(self) -> Status:
        """Return what the node does at present."""
        return health.OK, self._description()

    @override
    def status(self) -> Status | None:
        """Return a WARN while joint states are missing, an ERROR after a collision."""
        if self.mode is Mode.COLLIDED:
            return health.ERROR, self._collision
        if self._failure:
            return health.ERROR, self._failure
        if self.watch.silent:
            return health.WARN, f'{self.watch.silent}: {self.parameters.on_timeout}'
        return None
