"""A node that answers joint states, of a robot whose gravity, load and friction may change.

The programs take gravity and the load as inputs, so that a change costs well under a millisecond
and no joint state waits for a compiler. The load comes by parameters or, all of it at once, by a
message; both end in the parameters, and in what is said about them:

    ~/set_payload    geometry_msgs/InertiaStamped, on the link or frame in header.frame_id
    ~/payload        the same, latched: what is carried now

As for the parameters, the tensor is about the centre of mass, along the link's axes.
"""

from __future__ import annotations

import time
from typing import Any

from geometry_msgs.msg import InertiaStamped, Vector3
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.nodes import qos
from robot_dynamics.nodes.description import bare_robot, friction_of, gravity_in_base, payload
from robot_dynamics.nodes.joint_states import JointReading, JointStateReader
from robot_dynamics.nodes.live_parameters import (
    LiveRobotParameters,
    payload_link,
    velocity_filter,
)
from robot_dynamics.nodes.messages import nanoseconds
from robot_dynamics.nodes.parameters import ParameterError, RobotParameters, changed
from robot_dynamics.nodes.robot_node import RobotNode

VARYING = {
    'gravity',
    'base_orientation',
    'payload.link',
    'payload.mass',
    'payload.com',
    'payload.inertia',
    'friction.viscous',
    'friction.coulomb',
}
LISTENING = {'input_timeout', 'missing_velocity', 'velocity_cutoff'}
TENSOR = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


class LiveRobotNode(RobotNode):
    """Base of a node that answers joint states.

    Attributes:
        friction: of the joints, at present; that of `arm` is the URDF's.
        reader: of the joint states.
    """

    table = LiveRobotParameters

    def __init__(self, name: str, **kwargs: Any):
        """Offer the topics of the load; keywords and errors are those of RobotNode."""
        super().__init__(name, **kwargs)
        self._candidate: tuple[Any, Dynamics] | None = None  # accepted, and not yet adopted
        self._payload_out = self.create_publisher(InertiaStamped, '~/payload', qos.LATCHED)
        self.create_subscription(
            InertiaStamped, '~/set_payload', self._on_set_payload, qos.COMMANDS_IN
        )
        self.listen_to_joint_states(self._on_state)

    def answer(self, arm: Dynamics, reading: JointReading) -> None:
        """Answer a state of the whole robot."""
        raise NotImplementedError

    def use(self, arm: Dynamics) -> None:
        """Hear this robot's joints, and say what it carries."""
        self.friction = friction_of(self.parameters, arm.model)
        self.reader = JointStateReader(
            arm.model.joint_names, self.parameters.input_timeout, velocity_filter(self.parameters)
        )
        self._publish_payload(payload_link(self.parameters, arm.model))

    def start(self) -> None:
        """Begin with nothing heard."""
        self.reader.forget()

    def trouble(self) -> tuple[bytes, str] | None:
        """Return the level and the sentence for what is wrong at present, None if nothing is."""
        return self.input_condition(self.reader)

    def _on_state(self, message: JointState) -> None:
        if not self.active:
            return
        began = time.perf_counter()
        stamp = nanoseconds(message.header.stamp)
        self.hear(stamp)
        try:
            reading = self.reader.read(message, stamp)
        except RobotDynamicsError as error:
            return self.refuse('joint state', error)
        if reading is None:
            return
        if reading.qd is None:
            self.health.counts['joint state without velocity'] += 1
        self.answer(self.arm, reading)
        self.health.latencies.append(time.perf_counter() - began)

    # -- changes ----------------------------------------------------------------------------

    def model_of(self, parameters: RobotParameters, text: str) -> RobotModel:
        """Return the robot without load."""
        return bare_robot(parameters, text)

    def vary(self, base: Dynamics, parameters: RobotParameters) -> Dynamics:
        """Return the robot under the gravity and the load of the parameters.

        Raises:
            RobotDynamicsError: a parameter makes no sense for this robot.
        """
        load = payload(parameters)
        gravity = gravity_in_base(parameters)
        if (gravity != base.model.gravity).any():
            base = base.with_gravity(gravity)
        return base.with_payload(
            payload_link(parameters, base.model), load.mass, load.com, load.inertia_com
        )

    def accept(self, parameters: Any) -> None:
        """Refuse what makes no sense for this robot, or would make its torques wait."""
        super().accept(parameters)
        if self.base is None or not changed(self.parameters, parameters) & VARYING:
            return
        link, prepared = (
            payload_link(values, self.base.model) for values in (parameters, self.parameters)
        )
        if self.active and link != prepared:
            raise ParameterError(
                f'payload.link is {link!r}; while the node is active it must stay {prepared!r}, '
                'for which programs are compiled: deactivate the node first'
            )
        friction_of(parameters, self.base.model)
        self._candidate = parameters, self.vary(self.base, parameters)

    def adopt(self, parameters: Any) -> None:
        """Work with the changed robot from the next state on."""
        changes = changed(self.parameters, parameters)
        super().adopt(parameters)
        if self.base is None:
            return
        if changes & LISTENING:
            self.reader.adjust(parameters.input_timeout, velocity_filter(parameters))
        if changes & VARYING:
            self._vary(parameters)

    def _vary(self, parameters: Any) -> None:
        accepted, self._candidate = self._candidate, None
        if accepted is None or accepted[0] != parameters:
            accepted = parameters, self.vary(self.base, parameters)
        self.arm = accepted[1]
        self.friction = friction_of(parameters, self.base.model)
        self._publish_payload(payload_link(parameters, self.base.model))

    # -- the load as messages ---------------------------------------------------------------

    def _on_set_payload(self, message: InertiaStamped) -> None:
        values = {
            'payload.link': message.header.frame_id or self.parameters.payload_link,
            'payload.mass': message.inertia.m,
            'payload.com': [getattr(message.inertia.com, axis) for axis in 'xyz'],
            'payload.inertia': [getattr(message.inertia, name) for name in TENSOR],
        }
        result = self.set_parameters_atomically(
            [Parameter(name, value=value) for name, value in values.items()]
        )
        if not result.successful:
            self.refuse('payload', result.reason)

    def _publish_payload(self, link: str) -> None:
        parameters, message = self.parameters, InertiaStamped()
        message.header.stamp = self.get_clock().now().to_msg()
        message.header.frame_id = link
        message.inertia.m = parameters.payload_mass
        message.inertia.com = Vector3(**dict(zip('xyz', parameters.payload_com, strict=True)))
        for name, value in zip(TENSOR, parameters.payload_inertia, strict=True):
            setattr(message.inertia, name, value)
        self._payload_out.publish(message)
