"""The torque that makes the arm follow: feed-forward from the model, feedback from the error.

    tau = M(q) qdd_d + C(q, qd) qd + g(q) + friction(qd_d) + Kp (q_d - q) + Kd (qd_d - qd)

or another of the laws in robot_dynamics.control.laws, by the parameter `control_law`. One answer
per joint state, with its stamp: the reference is sampled at that time. Without a reference the arm
is held where it is, by gravity compensation and feedback; without a velocity only gravity is
compensated. If the robot already does that itself: `compensate_gravity: false`.

Torque is given while the node is active and enabled, joint states arrive, and no other node was
commanding the same motors when it was switched on.

No torque jumps: the reference is continuous, or the arm is held where it is, softly
(reference_follower.py), and everything that is published passes the soft start, the effort limit
and the rate limit (torque_gate.py).
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
from robot_dynamics.ros import diagnostics, messages, qos
from robot_dynamics.ros import executable as _main
from robot_dynamics.ros.command_guard import Rivals
from robot_dynamics.ros.feedforward_parameters import (
    FeedforwardParameters,
    gain_warnings,
    settings_of,
)
from robot_dynamics.ros.live_robot import LiveRobotNode
from robot_dynamics.ros.outputs import TorqueOutput
from robot_dynamics.ros.parameters import changed
from robot_dynamics.ros.publisher_guard import PublisherGuard
from robot_dynamics.ros.robot_node import LOOK, UNSTAMPED
from robot_dynamics.spatial import Array

WATCH = 0.02  # s, between two looks whether joint states still arrive
LET_GO = 0.8  # s; at the end of the node the torque is brought down in no more time than this
STEP = 0.005  # s, between two torques meanwhile


class FeedforwardNode(LiveRobotNode):
    """Answers every joint state with the torque that follows the reference."""

    table = FeedforwardParameters

    def __init__(self, **kwargs: Any):
        super().__init__('feedforward_node', **kwargs)
        self._enabled = self.parameters.start_enabled
        self._leaving = False  # disabled, and the torque is still being brought down
        self._output = TorqueOutput(self, bridge=self.parameters.publish_commands)
        self._filled_out = self.create_publisher(
            JointTrajectory, '~/joint_trajectory_with_effort', qos.STREAM_OUT
        )
        self._status_out = self.create_publisher(String, '~/status', qos.LATCHED)
        self.create_subscription(
            JointTrajectory, 'joint_trajectory', self._on_trajectory, qos.COMMANDS_IN
        )
        self._reference_in = self.create_subscription(
            JointTrajectory, 'reference', self._on_reference, qos.COMMANDS_IN
        )
        self._guard = PublisherGuard()
        self._rivals = Rivals(self, self._output.publishers, self._several)
        self._state: JointReading | None = None
        self._rejecting = False  # the last reference was rejected
        self.create_service(SetBool, '~/enable', self._on_enable)
        self.create_steady_timer(LOOK, self._on_look)
        self.create_steady_timer(WATCH, self._on_watch)
        self.find_robot()

    def prepare(self, arm: Dynamics) -> None:
        """Compile every law."""
        compile_laws(arm)

    def use(self, arm: Dynamics) -> None:
        """Command this robot; it is held at its first state.

        If it replaces one with the same joints, the reference and the torque go on from there.
        """
        parameters, model = self.parameters, arm.model
        settings = settings_of(parameters, model)
        names = self.arm.model.joint_names if self.active else ()
        last = self._gate.last if self.active else ()
        super().use(arm)
        self._settings = settings
        self._inertias = free_inertias(arm, random_postures(model))
        self._warn_of_gains(parameters, model)
        self._output.use(model, settings.order)
        if names == model.joint_names:
            self._adjust(model)
            self._follower.stop()
            return self._say('')
        self._follower = ReferenceFollower(
            model, settings.tolerance, parameters.input_timeout, self._stopping_time
        )
        before = dict(zip(names, last, strict=True))
        torque = np.array([before.get(name, 0.0) for name in model.joint_names])
        self._gate = TorqueGate(settings.limits, self.health.counts, torque)
        if self.active:
            self.start()

    def _adjust(self, model: RobotModel) -> None:
        settings = self._settings
        self._follower.adjust(model, settings.tolerance, self.parameters.input_timeout)
        self._gate.limit(settings.limits)

    def _stopping_time(self, reference: Reference) -> float:
        return stopping_time(self.arm, self._settings.limits.effort, reference)

    def start(self) -> None:
        """Hold the arm at its next state."""
        super().start()
        self._switch_on()
        self._say('')

    def stop(self) -> None:
        """Bring the torque to what `on_deactivate` chooses, within the rate limit."""
        self._status_out.publish(String(data='inactive'))
        tau = self._last_torque()
        if tau is None:
            return
        end = time.monotonic() + LET_GO
        there = False
        while not there:
            time.sleep(STEP)
            dt = STEP if time.monotonic() < end else math.inf
            self._output.publish(self._state.stamp, self._gate.step(tau, dt))
            there = self._gate.reached(tau)
        self._output.wait_until_heard()

    def _last_torque(self) -> Array | None:
        """Return the torque that `on_deactivate` chooses; None: it stays, or there was none."""
        choice, state = self.parameters.on_deactivate, self._state
        if state is None or not self._gate.is_open or choice == 'none':
            return None
        return np.zeros(len(state.q)) if choice == 'zero' else self._gravity(state)

    def accept(self, parameters: FeedforwardParameters) -> None:
        """Refuse what does not fit the robot."""
        super().accept(parameters)
        if self.arm is not None:
            settings_of(parameters, self.arm.model)

    def adopt(self, parameters: FeedforwardParameters) -> None:
        """Use other gains, switches and limits from the next state on."""
        changes = changed(self.parameters, parameters)
        super().adopt(parameters)
        if self.arm is None:
            return
        model = self.arm.model
        before, self._settings = self._settings, settings_of(parameters, model)
        if changes & {'kp', 'kd', 'control_law', 'expected_rate'}:
            self._warn_of_gains(parameters, model)
        self._adjust(model)
        if before.law is not self._settings.law:
            if gravity_only in (before.law, self._settings.law):
                self._follower.release()
            else:
                self._follower.stop()
            self._say('')

    def _warn_of_gains(self, parameters: FeedforwardParameters, model: RobotModel) -> None:
        names = model.joint_names
        for warning in gain_warnings(parameters, self._settings, self._inertias, names):
            self.get_logger().warning(warning)

    # -- what to follow ---------------------------------------------------------------------

    def _on_trajectory(self, message: JointTrajectory) -> None:
        if not self.active:
            return
        arm, names = self.arm, self.arm.model.joint_names
        # Disabled, the node still fills in the efforts: for a controller that follows itself.
        take = self._follower.follow if self._enabled else self._follower.check
        try:
            self._refuse_if_led()
            trajectory = messages.trajectory(message).in_order(names)
            take(trajectory, messages.nanoseconds(message.header.stamp))
        except RobotDynamicsError as error:
            self.health.counts['trajectory refused'] += 1
            self.get_logger().error(f'trajectory refused: {error}')
            return self._say(f'trajectory refused: {error}; ')
        self._say('')
        efforts = waypoint_efforts(arm, trajectory, self._settings.switches, self.friction)
        self._filled_out.publish(messages.with_efforts(message, names, efforts))

    def _on_reference(self, message: JointTrajectory) -> None:
        if not (self.active and self._enabled):
            return
        try:
            self._refuse_if_led()
            if self._guard.conflict:
                raise TrajectoryError(self._guard.conflict)
            self._follower.follow_reference(
                messages.reference(message, self.arm.model.joint_names)
            )
        except RobotDynamicsError as error:
            self.refuse('reference', error)
            if not self._rejecting:
                self._say(f'reference rejected: {error}; ')
            self._rejecting = True
        else:
            self._rejecting = False

    def _refuse_if_led(self) -> None:
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
            self._say('')
            if self._enabled and self._rivals.conflict:
                response.message += f', but {self._rivals.conflict}'
        return response

    def _switch_on(self) -> None:
        """Begin softly, where the arm is, unless another node commands it."""
        self._follower.release()
        self._gate.close()
        self._leaving = False
        self._state, self._silent = None, ''
        self._answered = -1  # stamp of the state that was answered last, ns
        self._received = self._heard = time.monotonic()  # a state; one that was new
        self._rivals.switch_on(self._heard)
        self._look_for_rivals()

    def _look_for_rivals(self) -> None:
        self._rivals.look(time.monotonic())
        if self._rivals.waits:
            self._gate.close()

    def _several(self, topic: str) -> list[str]:
        """Return the nodes behind the publishers of a topic, if there is more than one."""
        # Counting is ten times cheaper than asking for names.
        return self.publishers_of(topic) if self.count_publishers(topic) > 1 else []

    def _on_look(self) -> None:
        if self.active:
            self._guard.look(self._several(self._reference_in.topic_name))
            self._look_for_rivals()

    def _on_watch(self) -> None:
        """Do what `on_timeout` says while joint states are missing, or their time stands still."""
        now, timeout = time.monotonic(), self.parameters.silence_timeout
        if not self.active or now - self._heard < timeout:
            return
        choice, state = self.parameters.on_timeout, self._state
        if not self._silent:
            if now - self._received < timeout:
                stamp = f'{state.stamp / messages.SECOND:.3f}'
                self._silent = f'the stamps of joint_states stand still at {stamp} s'
            else:
                self._silent = 'no joint states'
            self.health.counts['joint states fell silent'] += 1
            self._say(f'{self._silent}, {choice}; ')
        if state is None or not self._gate.is_open:
            return
        if self._leaving:
            tau = self._last_torque()
        elif choice == 'stop':
            return
        else:
            tau = self._gate.last if choice == 'hold' else self._gravity(state)
        if tau is not None:
            self._output.publish(state.stamp, self._gate.step(tau, WATCH))
        self._leave_at(tau)

    def _leave_at(self, tau: Array | None) -> None:
        """End the command of a disabled node once the torque is there."""
        if self._leaving and (tau is None or self._gate.reached(tau)):
            self._leaving = False
            self._gate.close()

    @property
    def _doing(self) -> str:
        if not self._enabled:
            return 'disabled'
        if self._settings.law is gravity_only:
            return 'led by hand'
        return self._follower.doing

    def _say(self, event: str) -> None:
        self._status_out.publish(String(data=event + self._doing))

    # -- answers ----------------------------------------------------------------------------

    def answer(self, arm: Dynamics, state: JointReading) -> None:
        """Publish the torque for a state."""
        now = time.monotonic()
        self._received = now
        if state.stamp != self._answered or state.stamp == 0:
            self._heard = now
        elif self._silent:
            return
        returned, self._silent, self._state = bool(self._silent), '', state
        event = 'joint states are back; ' if returned else ''
        doing = self._follower.doing
        reference, dropped = self._follower.reference(state, returned)
        if self._follower.placed and state.qd is not None:
            self._gate.soften()
        commands = (self._enabled or self._leaving) and self._rivals.asked(now)
        if not commands or state.qd is None:
            self._follower.release()
        if dropped:
            self.get_logger().warning(f'{dropped}: {self._follower.doing}')
        if dropped or event or self._follower.doing != doing:
            self._say(event + (f'{dropped}; ' if dropped else ''))
        if commands:
            self._command(self._tau(arm, state, reference), state)

    def _command(self, tau: Array, state: JointReading) -> None:
        """Publish a torque, as far as limits allow; or the last one, once a disabled arm rests."""
        if self._leaving and not self._follower.moving:
            last = self._last_torque()
            if last is None:
                return self._leave_at(None)
            tau = last
        if not np.isfinite(tau).all():
            self.health.counts['not finite, not published'] += 1
            return
        # Without stamps torques are limited by the time that passes here.
        stamp = time.monotonic_ns() if self._unstamped > UNSTAMPED else state.stamp
        self._output.publish(state.stamp, self._gate(stamp, tau))
        self._answered = state.stamp
        if self._leaving and not self._follower.moving:
            self._leave_at(tau)

    def _tau(self, arm: Dynamics, state: JointReading, reference: Reference) -> Array:
        if state.qd is None:
            return self._gravity(state)
        law, gains, switches, *_ = self._settings
        return law(arm, reference, state.q, state.qd, switches, gains, self.friction).tau

    def _gravity(self, state: JointReading) -> Array:
        if not self._settings.switches.gravity:
            return np.zeros(len(state.q))
        return self.arm.gravity_torque(state.q)

    # -- diagnostics ------------------------------------------------------------------------

    def trouble(self) -> tuple[bytes, str] | None:
        """Return the level and the sentence for what is wrong at present, None if nothing is."""
        conflict = self._rivals.conflict or self._guard.conflict
        if conflict:
            return diagnostics.ERROR, conflict
        if self._silent:
            return diagnostics.WARN, f'{self._silent}: {self.parameters.on_timeout}'
        return super().trouble()

    def condition(self) -> tuple[bytes, str]:
        """Return the level and the sentence for the diagnostics of a node without trouble."""
        level, message = super().condition()
        if level == diagnostics.OK:
            return level, self._doing
        return level, message

    def figures(self) -> dict[str, str]:
        """Return the joints that felt a limit since the last diagnostics."""
        names = self.arm.model.joint_names
        saturated = [name for name, hit in zip(names, self._gate.saturated(), strict=True) if hit]
        return {'joints at their limit': ', '.join(saturated) or 'none'}


def main() -> None:
    """Run the node."""
    _main.main(FeedforwardNode)


if __name__ == '__main__':
    main()
