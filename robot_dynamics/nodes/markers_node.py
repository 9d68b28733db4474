"""The dynamics of the arm for the eye: arrows and ellipsoids on `~/markers`, as rviz draws them.

    weight           the weight of every body, at its centre of mass
    joint_torque     the torque of every joint along its axis: what holds the arm, or the measured
    center_of_mass   a ball in every body
    inertia          the uniform ellipsoid or box that has the body's mass and tensor; red if no
                     body can have it (impossible_inertia)
    manipulability   how fast the tip moves in each direction at unit joint velocity
    tip_inertia      how easily a force moves the tip: long is light

Each is a namespace of its own, which rviz's MarkerArray display can switch. Everything is seen
from the base, so that no tf is needed. Nothing is computed unless somebody listens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from visualization_msgs.msg import MarkerArray

from robot_dynamics.control.joint_state import JointReading, JointStateReader, StampRateLimit
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.kinematics import body_poses
from robot_dynamics.model.inertia import inconsistency
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.ros import executable as _main
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.joint_state_bytes import JointStateValues
from robot_dynamics.ros.live_parameters import VaryingRobotParameters
from robot_dynamics.ros.marker_messages import Shape, marker_array, removal
from robot_dynamics.ros.parameters import HIGHEST_RATE, LONGEST_TIME, LOWEST_RATE, parameter
from robot_dynamics.ros.varying_robot import VaryingRobotNode
from robot_dynamics.spatial import Array
from robot_dynamics.visualization import (
    Ellipsoid,
    inertia_box,
    inertia_ellipsoid,
    joint_torque_arrows,
    manipulability_ellipsoid,
    tip_inertia_ellipsoid,
    weight_arrows,
)

LARGEST_SCALE = 1e6
BALL = 0.02  # m, radius of a centre of mass
COLORS = {  # red, green, blue, opacity
    'weight': (0.95, 0.75, 0.1, 1.0),
    'joint_torque': (0.2, 0.6, 1.0, 1.0),
    'center_of_mass': (0.95, 0.75, 0.1, 1.0),
    'inertia': (0.6, 0.6, 0.9, 0.4),
    'impossible_inertia': (1.0, 0.1, 0.1, 0.6),
    'manipulability': (0.3, 0.9, 0.4, 0.3),
    'tip_inertia': (0.9, 0.4, 0.8, 0.3),
}


@dataclass(frozen=True)
class MarkersParameters(VaryingRobotParameters):
    """Parameters of the markers node."""

    input_timeout: float = parameter(
        0.5,
        'How long the last value of a joint not heard again is held, s.',
        low=0.0,
        high=LONGEST_TIME,
    )
    publish_rate: float = parameter(
        20.0,
        'Most drawings per second of the stamps; 0: one for every joint state.',
        low=0.0,
        high=HIGHEST_RATE,
        smallest=LOWEST_RATE,
    )
    show_weight: bool = parameter(True, 'Draw the weight of every body.', live=True)
    show_joint_torque: bool = parameter(True, 'Draw the torque of every joint.', live=True)
    show_center_of_mass: bool = parameter(True, 'Draw the centre of mass of each body.', live=True)
    show_inertia: bool = parameter(True, 'Draw the inertia of every body.', live=True)
    show_manipulability: bool = parameter(
        True, 'Draw the velocities that tip_frame can have.', live=True
    )
    show_tip_inertia: bool = parameter(
        True, 'Draw how easily forces at tip_frame move the arm.', live=True
    )
    tip_frame: str = parameter(
        '', 'Link where the last two are drawn. Empty: tip_link; if that is empty too: nowhere.'
    )
    torque_source: str = parameter(
        'gravity',
        'The torques drawn: gravity (what holds the arm) or effort (those of joint_states).',
        choices=('gravity', 'effort'),
        live=True,
    )
    inertia_shape: str = parameter(
        'ellipsoid',
        'The solid that stands for an inertia.',
        choices=('ellipsoid', 'box'),
        live=True,
    )
    force_scale: float = parameter(
        0.003, 'Length of forces, m per N.', low=0.0, high=LARGEST_SCALE, live=True
    )
    torque_scale: float = parameter(
        0.01,
        'Length of torques, m per N m (or N, where a joint slides).',
        low=0.0,
        high=LARGEST_SCALE,
        live=True,
    )
    manipulability_scale: float = parameter(
        0.2,
        'Half-axes of the manipulability ellipsoid, m per m/s.',
        low=0.0,
        high=LARGEST_SCALE,
        live=True,
    )
    tip_inertia_scale: float = parameter(
        0.2,
        'Half-axes of the tip inertia ellipsoid: this, m, at 1 kg.',
        low=0.0,
        high=LARGEST_SCALE,
        live=True,
    )


class MarkersNode(VaryingRobotNode):
    """Draws the robot's dynamics at its joint states."""

    table = MarkersParameters

    def __init__(self, **kwargs: Any):
        super().__init__('markers_node', **kwargs)
        self._markers_out = self.create_publisher(MarkerArray, '~/markers', qos.STREAM_OUT)
        self.listen_to_joint_states(self._on_state)
        self.find_robot()

    def prepare(self, arm: Dynamics) -> None:
        """Compile what is drawn; a tip_frame that the robot does not have is refused."""
        still = np.zeros(arm.model.n)
        arm.gravity_torque(still)
        shapes_of(arm, self.parameters, self._tip, still, still)

    @property
    def _tip(self) -> str:
        return self.parameters.tip_frame or self.parameters.tip_link

    def use(self, arm: Dynamics) -> None:
        """Draw this robot from now on."""
        super().use(arm)
        parameters = self.parameters
        self._reader = JointStateReader(arm.model.joint_names, parameters.input_timeout)
        self._thinned = StampRateLimit(parameters.publish_rate)
        self._frame_id = parameters.frame_prefix + arm.model.link_names[0]
        self._remove()

    def stop(self) -> None:
        """Leave nothing on the screen."""
        self._remove()

    def adopt(self, parameters: MarkersParameters) -> None:
        """Draw other things from the next state on."""
        super().adopt(parameters)
        self._remove()

    def trouble(self) -> tuple[bytes, str] | None:
        """Return the level and the sentence for what is wrong at present, None if nothing is."""
        return self.input_condition(self._reader)

    def _on_state(self, state: JointStateValues) -> None:
        try:
            reading = self._reader.read(state, state.stamp)
        except RobotDynamicsError as error:
            return self.refuse('joint state', error)
        listens = self._markers_out.get_subscription_count() > 0
        if reading is not None and listens and self._thinned.is_due(state.stamp):
            self._draw(self.arm, reading)

    def _draw(self, arm: Dynamics, reading: JointReading) -> None:
        tau = reading.effort
        if self.parameters.torque_source == 'gravity':
            tau = arm.gravity_torque(reading.q)
        elif tau is None:
            self.health.counts['joint state without effort'] += 1
        shapes = shapes_of(arm, self.parameters, self._tip, reading.q, tau)
        stamp = messages.time_message(reading.stamp)
        self._markers_out.publish(marker_array(shapes, COLORS, stamp, self._frame_id))

    def _remove(self) -> None:
        self._markers_out.publish(MarkerArray(markers=[removal()]))


def shapes_of(
    arm: Dynamics, parameters: MarkersParameters, tip: str, q: Array, tau: Array | None
) -> dict[str, Mapping[str, Shape]]:
    """Return what is to be drawn of a robot, by kind.

    Args:
        arm: the robot.
        parameters: what to draw, and how large.
        tip: the frame of the ellipsoids at the tip; none is drawn if empty.
        q: (n,) joint positions.
        tau: (n,) the torques to draw; none is drawn if None.
    """
    model, poses = arm.model, body_poses(arm.model, q)
    shapes: dict[str, Mapping[str, Shape]] = {}
    if parameters.show_weight:
        shapes['weight'] = weight_arrows(model, poses, parameters.force_scale)
    if parameters.show_joint_torque and tau is not None:
        shapes['joint_torque'] = joint_torque_arrows(model, poses, tau, parameters.torque_scale)
    solids = _inertias(model, poses, parameters.inertia_shape)
    if parameters.show_center_of_mass:
        shapes['center_of_mass'] = {
            body: Ellipsoid(solid.pose, np.full(3, BALL)) for body, solid in solids.items()
        }
    if parameters.show_inertia:
        wrong = {b for i, b in enumerate(model.body_names) if inconsistency(model.inertial(i))}
        shapes['inertia'] = {body: s for body, s in solids.items() if body not in wrong}
        shapes['impossible_inertia'] = {body: s for body, s in solids.items() if body in wrong}
    if tip:
        shapes |= _at_tip(arm, parameters, tip, q)
    return shapes


def _inertias(model: RobotModel, poses: Array, kind: str) -> dict[str, Shape]:
    """Return the solid that stands for each body with a mass."""
    make = inertia_box if kind == 'box' else inertia_ellipsoid
    solids = {b: make(model.inertial(i), poses[i]) for i, b in enumerate(model.body_names)}
    return {body: solid for body, solid in solids.items() if solid is not None}


def _at_tip(
    arm: Dynamics, parameters: MarkersParameters, tip: str, q: Array
) -> dict[str, Mapping[str, Shape]]:
    J, p = arm.jacobian(q, tip), arm.forward_kinematics(q, tip)[:3, 3]
    shapes: dict[str, Mapping[str, Shape]] = {}
    if parameters.show_manipulability:
        scale = parameters.manipulability_scale
        shapes['manipulability'] = {tip: manipulability_ellipsoid(J, p, scale)}
    # A joint that moves no inertia lets the tip go without resistance: nothing can be drawn.
    if parameters.show_tip_inertia and not arm.model.massless_joints():
        M, scale = arm.mass_matrix(q), parameters.tip_inertia_scale
        shapes['tip_inertia'] = {tip: tip_inertia_ellipsoid(J, M, p, scale)}
    return shapes


def main() -> None:
    """Run the node."""
    _main.main(MarkersNode)


if __name__ == '__main__':
    main()
