"""The node's robot: from a parameter, a file, or the latched topic `robot_description`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from std_msgs.msg import String

from robot_dynamics.control import Friction
from robot_dynamics.errors import ModelError, RobotDynamicsError
from robot_dynamics.model.inertia import Inertial, inconsistency
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.parameters import RobotParameters, given, joint_order, per_joint
from robot_dynamics.spatial import Array, rotation_rpy
from robot_dynamics.urdf.loading import load_urdf, parse_urdf

LOOK = 0.01  # s, between two looks into the queue


class DescriptionTimeout(RobotDynamicsError, TimeoutError):  # noqa: N818  (as TimeoutError)
    """No robot_description arrived in time."""


def robot_from(parameters: RobotParameters, text: str = '') -> RobotModel:
    """Return the robot the parameters describe, with their gravity, payload and friction.

    Arguments and errors are those of `bare_robot`.
    """
    model = _with_payload(bare_robot(parameters, text), parameters)
    friction = friction_of(parameters, model)
    return model.with_actuation(viscous=friction.viscous, coulomb=friction.coulomb)


def bare_robot(parameters: RobotParameters, text: str = '') -> RobotModel:
    """Return the robot as its URDF has it, under the gravity of the parameters.

    Args:
        parameters: of any node.
        text: the URDF; if empty, the file is read if the parameters name one.

    Raises:
        RobotDynamicsError: the description or a parameter is refused, and why.
    """
    options = {
        'gravity': gravity_in_base(parameters),
        'locked_joints': _locked(parameters),
        'tip_link': parameters.tip_link or None,
        'strict_inertials': parameters.strict_inertials,
    }
    if parameters.robot_description_file and not text:
        return load_urdf(parameters.robot_description_file, **options)
    return parse_urdf(text, **options)


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
    load = payload(parameters)
    if not parameters.payload_link:
        return model
    return model.with_payload(parameters.payload_link, load.mass, load.com, load.inertia_com)


def payload(parameters: RobotParameters) -> Inertial:
    """Return what the robot carries, in the frame of the link that carries it.

    Raises:
        ModelError: no link carries it, or no body has such an inertia.
    """
    if parameters.payload_mass > 0 and not parameters.payload_link:
        raise ModelError('payload.mass is given; payload.link must say what carries it')
    ixx, ixy, ixz, iyy, iyz, izz = parameters.payload_inertia
    tensor = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    load = Inertial(parameters.payload_mass, np.array(parameters.payload_com), tensor)
    # The tensor of a point mass is zero.
    reason = inconsistency(load) if tensor.any() else None
    if reason:
        raise ModelError(f'the payload is no body: {reason}')
    return load


def friction_of(parameters: RobotParameters, model: RobotModel) -> Friction:
    """Return the friction of the parameters, where they give none that of the model.

    Raises:
        ParameterError: neither one value nor one for each joint.
    """
    names = model.joint_names
    order = joint_order(parameters.joints, names)
    viscous = per_joint('friction.viscous', parameters.friction_viscous, order, names)
    coulomb = per_joint('friction.coulomb', parameters.friction_coulomb, order, names)
    return Friction(
        viscous=np.where(viscous < 0, model.viscous, viscous),
        coulomb=np.where(coulomb < 0, model.coulomb, coulomb),
    )


class DescriptionSource:
    """The URDF as it is given now: by a parameter, a file, else the newest message on the topic.

    Attributes:
        text: the URDF that the node took its robot from; empty if that was a file.
    """

    def __init__(self, node: Any, heard: Callable[[], None]):
        """Begin to listen.

        Args:
            node: whose parameters, namespace and log.
            heard: called when a text arrives that is not that of the present robot.
        """
        self._node, self._heard = node, heard
        self.text = self._newest = ''
        self._subscription = node.create_subscription(
            String, 'robot_description', self._on_description, qos.LATCHED
        )

    @property
    def _is_given(self) -> bool:
        parameters = self._node.parameters
        return bool(parameters.robot_description or parameters.robot_description_file)

    @property
    def is_there(self) -> bool:
        """Whether there is something to read."""
        return self._is_given or bool(self._newest)

    @property
    def topic(self) -> str:
        """The topic that is listened to, in full."""
        return self._subscription.topic_name

    def text_for(self, parameters: RobotParameters) -> str:
        """Return the URDF to read now; empty if that is the file."""
        if parameters.robot_description or parameters.robot_description_file:
            return parameters.robot_description
        return self._newest

    def wait(self, patience: float) -> None:
        """Wait for the topic, in the middle of a callback.

        The executor is waiting too, so that the message has to be taken from the queue by hand.

        Raises:
            DescriptionTimeout: nothing came within `patience` seconds.
        """
        end = time.monotonic() + patience
        while not self.is_there:
            taken = self._take()
            if taken is not None:
                self._newest = taken.data
            elif time.monotonic() >= end or self._node.is_ending():
                raise self.missing(patience)
            else:
                time.sleep(LOOK)

    def missing(self, waited: float) -> DescriptionTimeout:
        """Return the error that says where nothing was heard."""
        return DescriptionTimeout(
            f'no robot_description on {self.topic} (namespace {self._node.get_namespace()}) '
            f'within {waited:g} s: start robot_state_publisher there, or set the parameter '
            'robot_description or robot_description_file'
        )

    def _take(self) -> Any:
        queue = self._subscription.handle
        with queue:
            taken = queue.take_message(self._subscription.msg_type, self._subscription.raw)
        if taken is None:
            return None
        try:
            return messages.decode(taken[0], String)
        except messages.MalformedMessage as error:
            return self._node.refuse('robot_description', error)

    def _on_description(self, message: Any) -> None:
        if message.data in (self.text, self._newest):
            self._newest = message.data
            return
        self._newest = message.data
        if not self._is_given:
            self._heard()
