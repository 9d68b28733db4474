# SPDX-License-Identifier: Apache-2.0
"""Lifecycle node that estimates what the environment exerts on the arm, without a sensor.

Subscribes
    joint_states       sensor_msgs/JointState           with efforts
    payload            geometry_msgs/InertiaStamped     latched, optional
    ~/set_payload      geometry_msgs/InertiaStamped     for this node alone
    robot_description  std_msgs/String                  latched, if no parameter gives it
Publishes, stamped as the joint state from which they are computed
    ~/external_torque  sensor_msgs/JointState           torques of the environment on the joints
    ~/external_wrench  geometry_msgs/WrenchStamped      on contact_frame, in its axes
    ~/contact          diagnostic_msgs/DiagnosticArray  none, contact, collision, payload or
                                                        like a payload: at each change, and 10 Hz
    ~/payload          geometry_msgs/InertiaStamped     the present payload, latched
    ~/payload_estimate geometry_msgs/InertiaStamped     the last estimate, latched
    /diagnostics       diagnostic_msgs/DiagnosticArray
Offers
    ~/learn            std_srvs/SetBool  true: learn the thresholds from the free motion that
                                         follows; false: use them
    ~/estimate_payload std_srvs/Trigger  the payload from the last states: ~/payload_estimate

After a gap, a reset of the time or a change of friction the estimate begins anew, without a
spike; a repeated stamp is ignored. `effort_delay` below zero, as of velocities that are
low-passed, is removed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from typing_extensions import override

from robot_dynamics.control.contact import COLLISION, NONE, Contact, ContactDetector
from robot_dynamics.control.contact_thresholds import ENOUGH, FreeMotion, Learned
from robot_dynamics.control.contact_wrench import ContactWrench, ContactWrenchEstimator
from robot_dynamics.control.joint_reading import JointReading, StampRateLimit
from robot_dynamics.control.momentum_observer import MomentumObserver
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.diagnostics import Diagnostics, diagnostic
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.joint_state_input import JointStateInput
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.messages import SECOND
from robot_dynamics.ros.observer_parameters import ObserverParameters
from robot_dynamics.ros.parameters import parameter_values
from robot_dynamics.ros.payload_estimator import PayloadEstimator
from robot_dynamics.ros.payload_input import PayloadInput
from robot_dynamics.ros.robot_parameters import VaryingRobotParameters
from robot_dynamics.ros.robot_source import RobotSource
from robot_dynamics.ros.serialization import joint_state_writer
from robot_dynamics.spatial import Array

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
        self.joint_states = self.add(JointStateInput(self, self.on_joint_state))
        self.create_service(SetBool, '~/learn', self._on_learn)
        self._learning: FreeMotion | None = None
        self._learned: Learned | None = None
        self.robot.begin()

    # -- the robot --------------------------------------------------------------------------

    @override
    def check(self, parameters: ObserverParameters, arm: Dynamics) -> None:
        """Reject lists of another size, and a frame that the robot lacks."""
        model = arm.model
        parameters.check_drives(model)
        parameters.observer_settings(model)
        parameters.contact_thresholds(model)
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
        self._learning = self._learned = None
        self._set_up(arm)

    @override
    def adopt(self, changes: set[str]) -> None:
        """Use other parameters from the next state on."""
        varied = tuple(VaryingRobotParameters.LIVE)
        own = {name for name in changes if not name.startswith(varied)}
        if self.arm is not None and own - {'diagnostics_period', 'payload_window'}:
            self._set_up(self.arm)

    @override
    def restart(self) -> None:
        """Begin anew with the next state."""
        self.observer.restart()
        self.detector.restart()
        self._last = -1
        self._contact, self._told = NONE, -1

    def _set_up(self, arm: Dynamics) -> None:
        parameters, model = self.parameters, arm.model
        self._scale = parameters.of_joints('effort_scale', model)
        self._offset = parameters.of_joints('effort_offset', model)
        self._rate = StampRateLimit(parameters.publish_rate)
        self._first: int | None = None  # stamp
        self.observer, self.estimator, self.detector = self._made(arm)
        self._sigma = self.detector.thresholds.sigma(np.zeros(model.n))
        self.restart()

    def _made(
        self, arm: Dynamics
    ) -> tuple[MomentumObserver, ContactWrenchEstimator, ContactDetector]:
        parameters, model = self.parameters, arm.model
        friction = parameters.friction(model)
        observer = MomentumObserver(arm, friction, parameters.observer_settings(model))
        frame = parameters.frame(model)
        return (
            observer,
            ContactWrenchEstimator(arm, frame, parameters.contact_model),
            ContactDetector(
                observer,
                parameters.payload_link(model),
                parameters.contact_thresholds(model),
                parameters.detection,
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
            self.health.counts['joint state without effort'] += 1
            return
        if state.qd is None or state.stamp == self._last:
            return
        effort = self._scale * state.effort - self._offset
        if self.parameters.effort_gravity_compensated:
            effort = effort + self.arm.gravity_torque(state.q)
        if self._first is None or state.restarted:
            self._first = state.stamp
        t = (state.stamp - self._first) / SECOND  # a float of all ns would round them
        begun, self._last = self._last < 0, state.stamp
        if not self.observer.update(t, state.q, state.qd, effort):
            self.detector.restart()
            if not begun:
                self.health.counts['gap between joint states'] += 1
            return
        torque = self.observer.external_torque
        if not np.isfinite(torque).all():
            self.health.counts['not finite, not published'] += 1
            self.restart()
            return
        due = self._rate.is_due(state.stamp)
        if due:
            self.torques_out.publish(self._writer.fill(state.stamp, torque))
        if self._learning is not None:
            self._learning.add(t, self.observer)
            contact = NONE
        else:
            contact = self.detector.update(t, state.q, state.qd, effort)
        wrench = self.estimator.estimate(state.q, torque, self._sigma)
        if due:
            self._publish_wrench(state.stamp, wrench.F)
        changed = contact.kind != self._contact.kind
        self._contact = contact
        if changed or not 0 <= state.stamp - self._told < SECOND / CONTACT_RATE:
            self._told = state.stamp
            self._publish_contact(state.stamp, contact, wrench)

    def _publish_wrench(self, stamp: int, F: Array) -> None:
        message = self._wrench
        message.header.stamp = messages.time_message(stamp)
        for vector, values in ((message.wrench.torque, F[:3]), (message.wrench.force, F[3:])):
            vector.x, vector.y, vector.z = values.tolist()
        self.wrenches_out.publish(message)

    def _publish_contact(self, stamp: int, contact: Contact, wrench: ContactWrench) -> None:
        model = self.base.model
        figures = {
            'joint': model.joint_names[contact.joint] if contact is not NONE else '',
            'excess': f'{contact.excess:.4g}',
            'force not felt along': '; '.join(
                ' '.join(f'{x:.2f}' for x in direction) for direction in wrench.unfelt
            ),
        }
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

    def _on_learn(self, request: Any, response: Any) -> Any:
        if request.data:
            response.success = self.active
            if self.active:
                self._learning = FreeMotion(self.arm.model.n)
                response.message = f'learning; move freely for {ENOUGH / 60:g} minutes'
            else:
                response.message = f'the node is {self.state}'
            return response
        if self._learning is None:
            response.success, response.message = False, 'not learning; call with true first'
            return response
        learned, self._learning = self._learning.learned(), None
        thresholds = parameter_values('thresholds', learned.thresholds)
        result = self.set_parameters_atomically(
            [Parameter(name, value=value) for name, value in thresholds.items()]
        )
        self._learned = learned
        response.success = result.successful
        factor = self.parameters.detection.contact_factor
        response.message = result.reason or learned.text(self.arm.model.joint_names, factor)
        self.get_logger().info(response.message)
        return response

    @override
    def status(self) -> Status | None:
        """Return what the detection of contact lacks, or None."""
        if self._learning is not None:
            return health.OK, f'learning for {self._learning.seconds:.0f} s'
        if not np.any(self.parameters.thresholds.level):
            return health.WARN, NOT_LEARNED
        if self.parameters.effort_delay > 0:
            return health.WARN, (
                f'effort_delay is {self.parameters.effort_delay:g} s: efforts that are later than '
                'the motion are used as they are; expected 0 or less'
            )
        return None

    @override
    def figures(self) -> dict[str, str]:
        """Return the contact, and how much was learned."""
        result = {'contact': self._contact.kind}
        if self._learning is not None:
            result['learned [s]'] = f'{self._learning.seconds:.1f}'
        if self._learned is not None:
            result['factor of a clean hour'] = f'{self._learned.factor:.3g}'
            result['correlation with the momentum'] = f'{self._learned.correlation:.2g}'
        return result
