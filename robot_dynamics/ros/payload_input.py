# SPDX-License-Identifier: Apache-2.0
"""Payload and gravity of a node's robot, which may change while the node is active.

The compiled programs take gravity and payload as inputs, so a change costs well under a
millisecond. A payload comes by parameters or, as a whole, by a message; each changes the other:

    ~/set_payload    geometry_msgs/InertiaStamped, on the link or frame in header.frame_id: for
                     this node alone
    payload          the same, latched: for all nodes of the robot. Remapped to the `~/payload` of
                     another node, it makes this node follow that one
    ~/payload        the same, latched: the present payload

As in the parameters, the tensor is about the centre of mass, along the link's axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import InertiaStamped
from rclpy.parameter import Parameter
from typing_extensions import override

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.parameters import ParameterError, changed
from robot_dynamics.ros.part import Part
from robot_dynamics.ros.robot_parameters import VaryingRobotParameters


class PayloadInput(Part):
    """Part of a node: applies payload and gravity to its `arm`, and publishes the payload."""

    def __init__(
        self,
        node: RobotNode,
        topic: str = 'payload',
        compile_while_active: bool = True,
        varied: Callable[[], None] = lambda: None,
    ):
        """Create the topics.

        Args:
            node: with VaryingRobotParameters.
            topic: the payload of all nodes of the robot.
            compile_while_active: accept a payload on another link, which has to be compiled,
                while the node is active; a node that answers joint states at once does not.
            varied: called after `node.arm` has changed.
        """
        self._node, self._varied = node, varied
        self._compile_while_active = compile_while_active
        self._candidate: tuple[Any, Dynamics] | None = None  # accepted, and not yet adopted
        self.pending: InertiaStamped | None = None  # received before there was a robot
        self._message = InertiaStamped()
        self._publisher = node.create_publisher(InertiaStamped, '~/payload', qos.LATCHED)
        node.create_subscription(
            InertiaStamped, '~/set_payload', self._on_set_payload, qos.COMMANDS_IN
        )
        node.create_subscription(InertiaStamped, topic, self._on_payload, qos.LATCHED)

    @override
    def use(self, arm: Dynamics) -> None:
        """Publish the payload of a robot."""
        self._publish(arm)

    @override
    def configure(self) -> None:
        """Apply the payload that was received before there was a robot."""
        if self.pending is not None:
            message, self.pending = self.pending, None
            self._on_payload(message)

    # -- changes ----------------------------------------------------------------------------

    @override
    def accept(self, parameters: Any) -> None:
        """Reject a payload that does not fit the robot, or has to be compiled while active."""
        node = self._node
        if node.base is None or not _vary(changed(node.parameters, parameters)):
            return
        model = node.base.model
        before, after = (given.payload_link(model) for given in (node.parameters, parameters))
        if before != after and node.active and not self._compile_while_active:
            raise ParameterError(
                f'payload.link is {after!r}; while the node is active it must stay {before!r}, '
                'for which programs are compiled: deactivate the node first'
            )
        arm = parameters.varied(node.base)
        if before != after:
            for part in node.parts:
                part.prepare(arm)
        self._candidate = parameters, arm

    @override
    def adopt(self, changes: set[str]) -> None:
        """Use the changed payload and gravity."""
        node, candidate, self._candidate = self._node, self._candidate, None
        if node.base is None or not _vary(changes):
            return
        if candidate is not None and candidate[0] == node.parameters:
            node.arm = candidate[1]
        else:
            node.arm = node.parameters.varied(node.base)
        self._varied()
        self._publish(node.base)

    # -- messages ---------------------------------------------------------------------------

    def _on_payload(self, message: InertiaStamped) -> None:
        if self._node.base is None:
            self.pending = message
        elif self._parameters_of(message) != self._parameters_of(self._message):
            self._on_set_payload(message)

    def _on_set_payload(self, message: InertiaStamped) -> None:
        result = self._node.set_parameters_atomically(
            [Parameter(name, value=value) for name, value in self._parameters_of(message).items()]
        )
        if not result.successful:
            self._node.reject('payload', result.reason)

    def _parameters_of(self, message: InertiaStamped) -> dict[str, Any]:
        """Return the payload of a message as parameters."""
        return {
            'payload.link': self._node.own_frame(message.header.frame_id)
            or self._node.parameters.payload__link,
            'payload.mass': message.inertia.m,
            'payload.com': [getattr(message.inertia.com, axis) for axis in 'xyz'],
            'payload.inertia': [getattr(message.inertia, name) for name in messages.TENSOR],
        }

    def _publish(self, arm: Dynamics) -> None:
        parameters = self._node.parameters
        self._message = messages.inertia_message(
            self._node.get_clock().now().to_msg(),
            parameters.frame_prefix + parameters.payload_link(arm.model),
            parameters.payload__mass,
            parameters.payload__com,
            parameters.payload__inertia,
        )
        self._publisher.publish(self._message)


def _vary(changes: set[str]) -> bool:
    """Return whether payload or gravity are among changed parameters."""
    return any(name.startswith(VaryingRobotParameters.LIVE) for name in changes)
