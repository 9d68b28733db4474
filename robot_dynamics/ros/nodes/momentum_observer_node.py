# SPDX-License-Identifier: Apache-2.0
"""Lifecycle node that estimates what the environment exerts on the arm, without a sensor.

Subscribes
    joint_states       sensor_msgs/JointState           with efforts
    payload            geometry_msgs/InertiaStamped     latched, optional
    ~/set_payload      geometry_msgs/InertiaStamped     for this node alone
    base_motion/imu    sensor_msgs/Imu                  with base_motion.source: imu
    base_motion/odometry  nav_msgs/Odometry                odometry
    base_motion/accel  geometry_msgs/AccelStamped       command
    base_motion/twist  geometry_msgs/TwistStamped       command
    robot_description  std_msgs/String                  latched, if no parameter gives it
Publishes, stamped as the joint state from which they are computed
    ~/external_torque  sensor_msgs/JointState           torques of the environment on the joints
    ~/external_wrench  geometry_msgs/WrenchStamped      on contact_frame, in its axes
    ~/contact          diagnostic_msgs/DiagnosticArray  unknown, none, contact, collision,
                                                        payload or possible payload: at each
                                                        change, and 10 Hz
    ~/payload          geometry_msgs/InertiaStamped     the present payload, latched
    ~/payload_estimate geometry_msgs/InertiaStamped     the last estimate, latched
    /diagnostics       diagnostic_msgs/DiagnosticArray
Offers
    ~/learn            std_srvs/SetBool  true: learn the thresholds from the free motion that
                                         follows, while those in force stay in force; false: use
                                         them, unless the run is rejected
    ~/estimate_payload std_srvs/Trigger  the payload from the last states: ~/payload_estimate

After a gap, a reset of the time or a change of friction, and when the motion of a moving base
returns, the estimate begins anew, without a spike, and contact is unknown meanwhile, as it is
without thresholds, efforts, velocities or that motion; a repeated stamp is ignored. Efforts are
delayed by `velocity_lag` less `effort_delay`, as of velocities that are low-passed; where it is
negative, the motion is delayed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from typing_extensions import override

from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.contact import COLLISION, UNKNOWN, Contact, ContactDetector
from robot_dynamics.control.contact_thresholds import ENOUGH, Learned
from robot_dynamics.control.contact_wrench import ContactWrenchEstimator
from robot_dynamics.control.joint_reading import JointReading, StampRateLimit
from robot_dynamics.control.momentum_observer import MomentumObserver
from robot_dynamics.control.threshold_learning import ThresholdLearning
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.base_motion_input import BaseMotionInput
from robot_dynamics.ros.diagnostics import Diagnostics, diagnostic
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.joint_state_input import JointStateInput
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.observer_parameters import ObserverParameters, threshold_values
from robot_dynamics.ros.payload_estimator import PayloadEstimator
from robot_dynamics.ros.payload_input import PayloadInput
from robot_dynamics.ros.robot_parameters import VaryingRobotParameters
from robot_dynamics.ros.robot_source import RobotSource
from robot_dynamics.ros.serialization import joint_state_writer

CONTACT_RATE = 10.0  # Hz, of ~/contact without a change
LEVELS = {'none': health.OK, COLLISION: health.ERROR}  # others: WARN
NOT_LEARNED = 'no thresholds of contact: call ~/learn, or run robot-dynamics thresholds'


class MomentumObserverNode(RobotNode):
    """Publishes external torques, the wrench that explains them, and contact."""

    table = ObserverParameters

    def __init__(self, **kwargs: Any):
        super().__init__('momentum_observer_node', **kwargs)
        self.diagnostics = self.add(Diagnostics(self))
        self.robot = self.add(RobotSource(self))
        self.payload = self.add(
            PayloadInput(self, compile_while_active=False, varied=self._use_payload)
        )
        self.payloads = self.add(PayloadEstimator(self))
        self.torques_out = self.create_publisher(JointState, '~/external_torque', qos.STREAM_OUT)
        self.wrenches_out = self.create_publisher(
            WrenchStamped, '~/external_wrench', qos.STREAM_OUT
        )
        self.contacts_out = self.create_publisher(DiagnosticArray, '~/contact', qos.STREAM_OUT)
        self.base_motion = self.add(BaseMotionInput(self))
        self.joint_states = self.add(JointStateInput(self, self.on_joint_state))
        self.create_service(SetBool, '~/learn', self._on_learn)
        self._learning: ThresholdLearning | None = None
        self._learned: Learned | None = None
        self._learns_from: float | None = None  # s
        self.robot.begin()

    # -- the robot --------------------------------------------------------------------------

    @override
    def check(self, parameters: ObserverParameters, arm: Dynamics) -> None:
        """Reject lists of another size, and a frame that the robot lacks."""
        model = arm.model
        parameters.check_drives(model)
        parameters.observer_settings(model)
        parameters.contact_thresholds(model)
        parameters.bank_thresholds(model)
        arm.tree.frame(parameters.frame(model))

    @override
    def prepare(self, arm: Dynamics) -> None:
        """Compile observer and wrench."""
        self._made(arm)

    @override
    def use(self, arm: Dynamics) -> None:
        """Use this robot from now on."""
        model, prefix = arm.model, self.parameters.frame_prefix
        self._writer = joint_state_writer(model, prefix)
        self._wrench = WrenchStamped()
        self._wrench.header.frame_id = prefix + self.parameters.frame(model)
        self._learned = None
        self._set_up(arm)

    @override
    def adopt(self, changes: set[str]) -> None:
        """Use other parameters from the next state on."""
        varied = (*VaryingRobotParameters.LIVE, 'base_motion.')
        own = {name for name in changes if not name.startswith(varied)}
        if self.arm is not None and own - {'diagnostics_period', 'payload_window'}:
            self._set_up(self.arm)

    @override
    def deactivate(self) -> None:
        """End learning: what happens meanwhile is not known."""
        self._discard('the node is deactivated')

    @override
    def restart(self) -> None:
        """Begin anew with the next state."""
        self.observer.restart()
        self.detector.restart()
        self._rate = StampRateLimit(self.parameters.publish_rate)
        self._first: int | None = None  # stamp
        self._learns_from = None
        self._last = -1
        self._contact, self._told = UNKNOWN, -1
        self._unknown = False  # the motion of the base at the last state

    def _set_up(self, arm: Dynamics) -> None:
        self._discard('robot or parameters have changed')
        parameters, model = self.parameters, arm.model
        self._scale = parameters.of_joints('effort_scale', model)
        self._offset = parameters.of_joints('effort_offset', model)
        self.observer, self.estimator, self.detector = self._made(arm)
        self._sigma = self.detector.thresholds.sigma(np.zeros(model.n))
        self.restart()

    def _made(
        self, arm: Dynamics
    ) -> tuple[MomentumObserver, ContactWrenchEstimator, ContactDetector]:
        parameters, model = self.parameters, arm.model
        friction = parameters.friction(model)
        settings, moving = parameters.observer_settings(model), self.base_motion.moves
        observer = MomentumObserver(arm, friction, settings, moving_base=moving)
        frame = parameters.frame(model)
        return (
            observer,
            ContactWrenchEstimator(arm, frame, parameters.contact_model),
            ContactDetector(
                observer,
                parameters.payload_link(model),
                parameters.contact_thresholds(model),
                parameters.detection,
                parameters.bank_thresholds(model),
            ),
        )

    def _use_payload(self) -> None:
        self.observer.use(self.arm)
        self.detector.use_arm()

    # -- joint states -----------------------------------------------------------------------

    def on_joint_state(self, state: JointReading) -> None:
        """Publish what the environment exerts at one complete joint state."""
        self.payloads.record(state)
        if state.effort is None:
            self.count_event('joint state without effort')
            return self._pass_over(state.stamp, 'joint states without efforts')
        if state.qd is None:
            return self._pass_over(state.stamp, 'joint states without velocities')
        if state.stamp == self._last:
            return
        effort = self._scale * state.effort - self._offset
        if self.parameters.effort_gravity_compensated:
            effort = effort + self.arm.gravity_torque(state.q)
        if self._first is None:
            self._first = state.stamp
        t = (state.stamp - self._first) / SECOND  # a float of all ns would round them
        # A new observer, or one that waits for the motion that belongs to the first efforts.
        begun = self._last < 0 or self.observer.waiting
        self._last = state.stamp
        base = self.base_motion.at(state.stamp)
        returned = self._motion_returns()
        if not self.observer.update(t, state.q, state.qd, effort, base):
            self.detector.restart()
            if returned:
                return self._announce(state.stamp, UNKNOWN, 'the motion of the base is back')
            if not begun:
                self.count_event('gap between joint states')
            return self._announce(state.stamp, UNKNOWN, 'no joint state just before')
        torque = self.observer.external_torque
        if not np.isfinite([torque, self.observer.prompt_torque]).all():
            self.count_event('not finite, not published')
            self.restart()
            return self._announce(state.stamp, UNKNOWN, 'external torques that are not finite')
        due = self._rate.is_due(state.stamp)
        if due:
            self.torques_out.publish(self._writer.fill(state.stamp, torque))
        contact, why = self._contact_at(t, state.q, state.qd, effort, base)
        wrench = self.estimator.estimate(state.q, torque, self._sigma)
        if due:
            self._publish_wrench(state.stamp, wrench.F)
        self._announce(state.stamp, contact, why, wrench.unfelt)

    def _motion_returns(self) -> bool:
        """Begin the estimate anew where the motion of the base is known again; return whether.

        The external torques of the motion before are those of its fallback, too.
        """
        before, self._unknown = self._unknown, bool(self.base_motion.unknown)
        returned = before and not self._unknown
        if returned:
            self.observer.restart()
        return returned

    def _contact_at(
        self, t: float, q: Array, qd: Array, effort: Array, base: Array | None
    ) -> tuple[Contact, str]:
        """Return the contact after an update of the observer, and why it is unknown."""
        if unknown := self.base_motion.unknown:
            self.detector.restart()
            return UNKNOWN, unknown
        contact = self.detector.update(t, q, qd, effort, base)
        self._learn(t, q, contact)
        return contact, NOT_LEARNED if contact is UNKNOWN else ''

    def _publish_wrench(self, stamp: int, F: Array) -> None:
        message = self._wrench
        message.header.stamp = messages.time_message(stamp)
        for vector, values in ((message.wrench.torque, F[:3]), (message.wrench.force, F[3:])):
            vector.x, vector.y, vector.z = values.tolist()
        self.wrenches_out.publish(message)

    def _pass_over(self, stamp: int, reason: str) -> None:
        """Leave out a state, for a reason; contact is unknown after `observer.max_gap`."""
        if not 0 <= stamp - self._last <= self.parameters.observer.max_gap * SECOND:
            self._announce(stamp, UNKNOWN, reason)

    def _announce(
        self, stamp: int, contact: Contact, reason: str = '', unfelt: Iterable[Array] = ()
    ) -> None:
        """Publish the contact at a stamp [ns] if it has changed, and 10 times a second.

        Args:
            stamp: of the joint state.
            contact: at it.
            reason: why it is unknown.
            unfelt: directions along which no force is felt.
        """
        changed = contact.kind != self._contact.kind
        self._contact = contact
        if not changed and 0 <= stamp - self._told < SECOND / CONTACT_RATE:
            return
        self._told, model = stamp, self.base.model
        figures = {
            'joint': model.joint_names[contact.joint] if contact.joint >= 0 else '',
            'excess': f'{contact.excess:.4g}',
            'force not felt along': '; '.join(
                ' '.join(f'{x:.2f}' for x in direction) for direction in unfelt
            ),
        }
        if reason:
            figures['reason'] = reason
        if contact.payload is not None:
            figures['mass [kg]'] = f'{contact.payload.mass:.4g}'
            for axis, x in zip('xyz', contact.payload.com, strict=True):
                figures[f'com.{axis} [m]'] = f'{x:.4g}'
            figures['conditional on'] = 'description'  # errors of the model are part of both
        self.contacts_out.publish(
            diagnostic(
                messages.time_message(stamp),
                f'{self.get_fully_qualified_name()}: contact',
                model.name,
                LEVELS.get(contact.kind, health.WARN),
                contact.kind,
                figures,
            )
        )

    # -- thresholds -------------------------------------------------------------------------

    def _learn(self, t: float, q: Array, contact: Contact) -> None:
        """Add the last update at a time [s] to the run of learning, if there is one."""
        if self._learning is None:
            return
        if self._learns_from is None:
            # Times of the largest torques are those of the run, over a reset of the clock as well.
            self._learns_from = t - self._learning.seconds
        self._learning.add(t - self._learns_from, q, self.observer, contact)
        longest = self.parameters.learn_timeout
        if self._learning.seconds > longest:
            self._discard(f'it has taken more than {longest:g} s (learn_timeout)')

    def _discard(self, why: str) -> None:
        if self._learning is not None:
            self._learning = None
            self.count_event('learning discarded')
            self.get_logger().warning(f'learning discarded: {why}; the thresholds stay')

    def _on_learn(self, request: Any, response: Any) -> Any:
        if request.data:
            response.success, response.message = self.active, self._begin_learning()
            return response
        if self._learning is None:
            response.success, response.message = False, 'not learning; call with true first'
            return response
        learning, self._learning = self._learning, None
        response.success, response.message = self._use_thresholds(learning)
        self.get_logger().info(response.message)
        return response

    def _begin_learning(self) -> str:
        """Begin a run, if the node is active; return what is done."""
        if not self.active:
            return f'the node is {self.state}'
        detector, before = self.detector, self._learning
        self._discard('~/learn is called again')
        self._learning = ThresholdLearning(
            self.arm.model.n, detector.thresholds, detector.collision_excess
        )
        self._learns_from = None
        discarded = '' if before is None else f'; {before.seconds:.0f} s are discarded'
        return f'learning; move freely for {ENOUGH / 60:g} minutes{discarded}'

    def _use_thresholds(self, learning: ThresholdLearning) -> tuple[bool, str]:
        """Return whether the thresholds of a run are used from now on, and its description."""
        names = self.base.model.joint_names
        why = learning.rejection(names)
        if why:
            return False, f'run rejected, the thresholds stay: {why}{learning.events(names)}'
        factor = self.parameters.detection.contact_factor
        learned = learning.learned(factor)
        thresholds = threshold_values(learned)
        result = self.set_parameters_atomically(
            [Parameter(name, value=value) for name, value in thresholds.items()]
        )
        if not result.successful:
            return False, f'run rejected, the thresholds stay: {result.reason}'
        self._learned = learned
        limit = self.base.model.effort_limit
        return True, learned.text(names, factor, limit) + learning.events(names)

    @override
    def status(self) -> Status | None:
        """Return what the detection of contact lacks, or None."""
        learning, thresholds = self._learning, self.parameters.thresholds
        if learning is not None and learning.collision is not None:
            return health.WARN, 'a collision while learning: the run will be rejected'
        if not np.any(thresholds.level):
            return health.WARN, NOT_LEARNED
        missing = np.flatnonzero(self.detector.thresholds.level == 0)
        if len(missing):
            names = ', '.join(self.base.model.joint_names[j] for j in missing)
            return health.WARN, f'no thresholds of contact for {names}: move them while learning'
        if thresholds.forced:
            return health.WARN, (
                'the thresholds of contact are from a recording that was rejected '
                '(thresholds.forced): call ~/learn, or run robot-dynamics thresholds'
            )
        return None

    @override
    def condition(self) -> Status:
        """Return whether the node learns."""
        if self._learning is not None:
            return health.OK, f'learning for {self._learning.seconds:.0f} s'
        return super().condition()

    @override
    def figures(self) -> dict[str, str]:
        """Return the contact, and how much was learned."""
        learned = self.parameters.thresholds.learned
        result = {'contact': self._contact.kind}
        if self.parameters.thresholds.provisional:
            result['thresholds'] = f'provisional, learned from {learned:.0f} s'
        if self._learning is not None:
            result['learned [s]'] = f'{self._learning.seconds:.1f}'
        if self._learned is not None:
            result['factor of a clean hour'] = f'{self._learned.factor:.3g}'
            result['false contacts held out'] = self._learned.false_contacts.text()
            result['correlation with the momentum'] = f'{self._learned.correlation:.2g}'
        return result
