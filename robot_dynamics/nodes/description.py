"""The node's robot: from a parameter, a file, or the latched topic `robot_description`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from std_msgs.msg import String

from robot_dynamics.errors import ModelError, RobotDynamicsError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.model.urdf import load_urdf, parse_urdf
from robot_dynamics.nodes import qos
from robot_dynamics.nodes.parameters import RobotParameters, given, joint_order, per_joint
from robot_dynamics.spatial import Array, rotation_rpy


class DescriptionTimeout(RobotDynamicsError, TimeoutError):  # noqa: N818  (as TimeoutError)
    """No robot_description arrived in time."""


def robot_from(parameters: RobotParameters, text: str = '') -> RobotModel:
    """Return the robot the parameters describe, with their gravity, payload and friction.

    Args:
        parameters: of any node.
        text: the URDF; if empty, the file named by the parameters is read.

    Raises:
        RobotDynamicsError: the description or a parameter is refused, and why.
    """
    options = {
        'gravity': gravity_in_base(parameters),
        'locked_joints': _locked(parameters),
        'tip_link': parameters.tip_link or None,
        'strict_inertials': parameters.strict_inertials,
    }
    if text:
        model = parse_urdf(text, **options)
    else:
        model = load_urdf(parameters.robot_description_file, **options)
    return _with_friction(_with_payload(model, parameters), parameters)


def gravity_in_base(parameters: RobotParameters) -> Array:
    """Return gravity (3,) in the base frame of a robot mounted at `base_orientation`."""
    roll, pitch, yaw = parameters.base_orientation
    # g_b = R_wb^T g_w,    R_wb = R_z(yaw) R_y(pitch) R_x(roll), as in URDF
    return rotation_rpy(roll, pitch, yaw).T @ np.array(parameters.gravity)


def _locked(parameters: RobotParameters) -> dict[str, float]:
    joints = given(parameters.locked_joints)
    values = per_joint('locked_positions', parameters.locked_positions, joints) if joints else []
    return dict(zip(joints, values, strict=True))


def _with_payload(model: RobotModel, parameters: RobotParameters) -> RobotModel:
    if not parameters.payload_link:
        if parameters.payload_mass > 0:
            raise ModelError('payload.mass is given; payload.link must say what carries it')
        return model
    ixx, ixy, ixz, iyy, iyz, izz = parameters.payload_inertia
    tensor = [[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]
    return model.with_payload(
        parameters.payload_link, parameters.payload_mass, parameters.payload_com, tensor
    )


def _with_friction(model: RobotModel, parameters: RobotParameters) -> RobotModel:
    names = model.joint_names
    order = joint_order(parameters.joints, names)
    viscous = per_joint('friction.viscous', parameters.friction_viscous, order, names)
    coulomb = per_joint('friction.coulomb', parameters.friction_coulomb, order, names)
    return model.with_actuation(
        viscous=np.where(viscous < 0, model.viscous, viscous),
        coulomb=np.where(coulomb < 0, model.coulomb, coulomb),
    )


class DescriptionSource:
    """Delivers the robot to a node: at once where it is given, else when the topic has it.

    A later message on the topic replaces the robot; one that is refused leaves it as it is.
    """

    def __init__(
        self,
        node: Any,
        parameters: RobotParameters,
        deliver: Callable[[RobotModel], None],
        fail: Callable[[RobotDynamicsError], None],
    ):
        """Start looking; raises RobotDynamicsError if what is given at start is refused."""
        self._node, self._parameters = node, parameters
        self._deliver, self._fail = deliver, fail
        self.text = ''
        if parameters.robot_description or parameters.robot_description_file:
            deliver(self._read(parameters.robot_description))
            return
        self._await_topic()

    def _read(self, text: str) -> RobotModel:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            model = robot_from(self._parameters, text)
        for warning in caught:
            self._node.get_logger().warning(str(warning.message))
        return model

    def _await_topic(self) -> None:
        self._subscription = self._node.create_subscription(
            String, 'robot_description', self._on_description, qos.LATCHED
        )
        timeout = self._parameters.description_timeout
        self._timer = (
            self._node.create_steady_timer(timeout, self._on_timeout) if timeout else None
        )
        self._node.get_logger().info(f'waiting for {self._subscription.topic_name}')

    def _on_description(self, message: Any) -> None:
        if message.data == self.text:
            return
        try:
            self._deliver(self._read(message.data))
        except RobotDynamicsError as error:
            if not self.text:
                return self._fail(error)
            self._node.get_logger().error(
                f'robot_description refused, the last one stays: {error}'
            )
            return
        self.text = message.data
        self._stop_waiting()

    def _on_timeout(self) -> None:
        self._stop_waiting()
        topic = self._subscription.topic_name
        self._fail(
            DescriptionTimeout(
                f'no robot_description on {topic} (namespace {self._node.get_namespace()}) within '
                f'{self._parameters.description_timeout:g} s: start robot_state_publisher there, '
                'or set the parameter robot_description or robot_description_file'
            )
        )

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
