# SPDX-License-Identifier: Apache-2.0
"""Joint states, payload, external torques and description of a robot, received in a thread.

Subscribes, relative to a namespace
    robot_description   std_msgs/String                 latched
    joint_states        sensor_msgs/JointState          best effort
    payload             geometry_msgs/InertiaStamped    latched; frame_id may have a prefix
    momentum_observer_node/external_torque, external_wrench, contact    as that node publishes
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control import VelocityFilter
from robot_dynamics.control.joint_reading import (
    JointDataError,
    JointMap,
    JointReading,
    JointStateReader,
)
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.graph_client import GraphError, checked_namespace
from robot_dynamics.view.state import External
from robot_dynamics.view.viewed_motion import LATE

NODE = 'robot_dynamics_view'
OBSERVER = 'momentum_observer_node'
HELD = 1.0  # s, a value of a joint without a new one
POLL = 0.02  # s
QUIET = 5.0  # s between two reports of rejected joint states


class LiveRobot:
    """A node that receives a robot's topics in a thread of its own.

    Attributes:
        topics: fully qualified names of the joint states, the description and external torques.
    """

    def __init__(self, namespace: str = '', frame_prefix: str = '') -> None:
        """Subscribe.

        Args:
            namespace: of the topics, such as 'left'.
            frame_prefix: of the link names in messages, such as 'left/'.

        Raises:
            GraphError: the namespace is invalid.
        """
        namespace = checked_namespace(namespace)
        self._prefix = frame_prefix
        self._context = Context()
        rclpy.init(context=self._context, args=[])
        self._node = rclpy.create_node(
            NODE, namespace=namespace, context=self._context, start_parameter_services=False
        )
        self._text, self._reported = '', -math.inf
        self._reader: JointStateReader | None = None
        self._reading: JointReading | None = None
        self._payload: tuple[str, float, tuple[float, ...]] | None = None
        self._torque: Array | None = None  # external
        self._felt = -math.inf  # when it was received, s
        self._wrench: tuple[str, Array] | None = None
        self._contact = ''
        self._call: Callable[[], None] = lambda: None
        self._report: Callable[[str], None] = lambda _: None
        subscribe = self._node.create_subscription
        description = subscribe(String, 'robot_description', self._on_description, qos.LATCHED)
        states = subscribe(JointState, 'joint_states', self._on_state, qos.JOINT_STATES_IN)
        subscribe(InertiaStamped, 'payload', self._on_payload, qos.LATCHED)
        torques = subscribe(
            JointState, f'{OBSERVER}/external_torque', self._on_torque, qos.JOINT_STATES_IN
        )
        subscribe(
            WrenchStamped, f'{OBSERVER}/external_wrench', self._on_wrench, qos.JOINT_STATES_IN
        )
        subscribe(DiagnosticArray, f'{OBSERVER}/contact', self._on_contact, qos.JOINT_STATES_IN)
        self.topics = states.topic_name, description.topic_name, torques.topic_name
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def description(self, timeout: float) -> str:
        """Return the URDF text, once it is published.

        Raises:
            GraphError: none is published in time [s].
        """
        end = time.monotonic() + timeout
        while not self._text:
            if time.monotonic() > end:
                raise GraphError(
                    f'no robot_description on {self.topics[1]} within {timeout:g} s: start '
                    'robot_state_publisher or state_publisher_node there, name its namespace by '
                    '--namespace, or name a file of the robot'
                )
            time.sleep(POLL)
        return self._text

    def follow(
        self,
        model: RobotModel,
        call: Callable[[], None],
        report: Callable[[str], None],
    ) -> None:
        """Collect the states of a robot.

        Args:
            model: the robot.
            call: called in the thread of the node when there is something new.
            report: called with the reason why a message is rejected.
        """
        self._call, self._report = call, report
        self._joints = JointMap(model.joint_names)
        self._reader = JointStateReader(model, HELD, VelocityFilter(max_gap=HELD))

    def newest(self) -> JointReading | None:
        """Return the newest complete state, None before the first."""
        return self._reading

    def payload(self) -> tuple[str, float, tuple[float, ...]] | None:
        """Return link, mass [kg] and centre of mass [m] of the payload, None if it is unknown."""
        return self._payload

    def external(self) -> tuple[External | None, External | None]:
        """Return what momentum_observer_node estimates, None unless it does; the truth: None."""
        if self._torque is None or self._wrench is None or time.monotonic() - self._felt > LATE:
            return None, None
        return External(self._torque, *self._wrench, self._contact), None

    def close(self) -> None:
        """End the node."""
        self._context.try_shutdown()
        self._thread.join(timeout=1.0)

    def _spin(self) -> None:
        executor = SingleThreadedExecutor(context=self._context)
        executor.add_node(self._node)
        try:
            executor.spin()
        except ExternalShutdownException:
            pass
        finally:
            executor.shutdown()
            self._node.destroy_node()

    def _on_description(self, message: Any) -> None:
        if self._text and message.data != self._text:
            self._report('robot_description has changed: start the view again')
        elif message.data:
            self._text = message.data

    def _on_state(self, message: Any) -> None:
        if self._reader is None:
            return
        stamp = message.header.stamp
        try:
            reading = self._reader.read(message, stamp.sec * SECOND + stamp.nanosec)
        except JointDataError as error:
            self._reject(self.topics[0], error)
            return
        if reading is not None:
            self._reading = reading
            self._call()

    def _on_payload(self, message: Any) -> None:
        com = message.inertia.com
        link = message.header.frame_id.removeprefix(self._prefix)
        self._payload = link, message.inertia.m, (com.x, com.y, com.z)
        self._call()

    def _on_torque(self, message: Any) -> None:
        if self._reader is None:
            return
        try:
            self._torque = self._joints.complete(message.name, message.effort, 'external torque')
        except JointDataError as error:
            self._reject(self.topics[2], error)
            return
        self._felt = time.monotonic()

    def _on_wrench(self, message: Any) -> None:
        F = messages.wrench(message.wrench)
        if np.isfinite(F).all():
            self._wrench = message.header.frame_id.removeprefix(self._prefix), F

    def _on_contact(self, message: Any) -> None:
        for status in message.status:
            figures = {one.key: one.value for one in status.values}
            self._contact = status.message
            joint, excess = figures.get('joint'), figures.get('excess')
            if joint and excess:
                self._contact += f', {excess} times the threshold of {joint}'
            if mass := figures.get('mass [kg]'):
                self._contact += f', {mass} kg'

    def _reject(self, topic: str, error: JointDataError) -> None:
        if time.monotonic() - self._reported > QUIET:
            self._reported = time.monotonic()
            self._report(f'{topic}: {error}')
