"""A node whose robot may be mounted otherwise, or carry something else, while it works.

The programs take gravity and the load as inputs, so that a change costs well under a millisecond.
The load comes by parameters or, all of it at once, by a message; both end in the parameters, and
in what is said about them:

    ~/set_payload    geometry_msgs/InertiaStamped, on the link or frame in header.frame_id: for
                     this node alone
    payload          the same, latched: for all nodes of the robot. Remapped to the `~/payload` of
                     another node, it makes this one follow that one
    ~/payload        the same, latched: what is carried now

As for the parameters, the tensor is about the centre of mass, along the link's axes.
"""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import InertiaStamped, Vector3
from rclpy.parameter import Parameter

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.ros import qos
from robot_dynamics.ros.live_parameters import VaryingRobotParameters, payload_link
from robot_dynamics.ros.parameters import RobotParameters, changed
from robot_dynamics.ros.robot_node import RobotNode
from robot_dynamics.ros.robot_source import bare_robot, gravity_in_base, payload

VARYING = {
    'gravity',
    'base_orientation',
    'payload.link',
    'payload.mass',
    'payload.com',
    'payload.inertia',
}
TENSOR = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


class VaryingRobotNode(RobotNode):
    """Base of a node whose gravity and load may change."""

    table = VaryingRobotParameters

    def __init__(self, name: str, **kwargs: Any):
        """Offer the topics of the load; keywords and errors are those of RobotNode."""
        super().__init__(name, **kwargs)
        self._candidate: tuple[Any, Dynamics] | None = None  # accepted, and not yet adopted
        self.pending: InertiaStamped | None = None  # by others, before there was a robot
        self._payload_out = self.create_publisher(InertiaStamped, '~/payload', qos.LATCHED)
        self.create_subscription(
            InertiaStamped, '~/set_payload', self._on_set_payload, qos.COMMANDS_IN
        )
        self.create_subscription(InertiaStamped, self.follows, self._on_payload, qos.LATCHED)

    @property
    def follows(self) -> str:
        """The topic that says what all nodes of the robot carry."""
        return 'payload'

    @property
    def payload(self) -> Any:
        """Itself, until this node is converted."""
        return self

    def varied(self) -> None:
        """Work with what `arm` is now: another gravity, or another load."""

    def use(self, arm: Dynamics) -> None:
        """Say what is carried."""
        self._carries = _load_message(self.parameters, arm.model)
        self._say_payload()

    def configure(self) -> None:
        """Take the robot of the description, and the load that others have told."""
        super().configure()
        if self.pending is not None:
            told, self.pending = self.pending, None
            self._on_payload(told)

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

    # -- changes ----------------------------------------------------------------------------

    def accept(self, parameters: Any) -> None:
        """Refuse what makes no sense for this robot."""
        super().accept(parameters)
        if self.base is None or not changed(self.parameters, parameters) & VARYING:
            return
        arm = self.vary(self.base, parameters)
        before, after = (
            payload_link(given, self.base.model) for given in (self.parameters, parameters)
        )
        if before != after:
            self.prepare(arm)  # programs are for the link that carries
        self._candidate = parameters, arm

    def adopt(self, parameters: Any) -> None:
        """Work with the changed robot from now on."""
        changes = changed(self.parameters, parameters)
        super().adopt(parameters)
        if self.base is not None and changes & VARYING:
            self._vary(parameters)

    def _vary(self, parameters: Any) -> None:
        accepted, self._candidate = self._candidate, None
        if accepted is None or accepted[0] != parameters:
            accepted = parameters, self.vary(self.base, parameters)
        self.arm = accepted[1]
        self._carries = _load_message(parameters, self.base.model)
        self.varied()
        self._say_payload()

    # -- the load as messages ---------------------------------------------------------------

    def _on_payload(self, message: InertiaStamped) -> None:
        """Carry what another node carries, or what all are told to."""
        if self.base is None:
            self.pending = message
        elif self._load(message) != self._load(self._carries):
            self._on_set_payload(message)

    def _on_set_payload(self, message: InertiaStamped) -> None:
        result = self.set_parameters_atomically(
            [Parameter(name, value=value) for name, value in self._load(message).items()]
        )
        if not result.successful:
            self.refuse('payload', result.reason)

    def _load(self, message: InertiaStamped) -> dict[str, Any]:
        """Return the parameters that say the same as a message."""
        return {
            'payload.link': self.own_frame(message.header.frame_id)
            or self.parameters.payload_link,
            'payload.mass': message.inertia.m,
            'payload.com': [getattr(message.inertia.com, axis) for axis in 'xyz'],
            'payload.inertia': [getattr(message.inertia, name) for name in TENSOR],
        }

    def _say_payload(self) -> None:
        self._carries.header.stamp = self.get_clock().now().to_msg()
        self._payload_out.publish(self._carries)


def _load_message(parameters: VaryingRobotParameters, model: RobotModel) -> InertiaStamped:
    message = InertiaStamped()
    message.header.frame_id = parameters.frame_prefix + payload_link(parameters, model)
    message.inertia.m = parameters.payload_mass
    message.inertia.com = Vector3(**dict(zip('xyz', parameters.payload_com, strict=True)))
    for name, value in zip(TENSOR, parameters.payload_inertia, strict=True):
        setattr(message.inertia, name, value)
    return message
