# SPDX-License-Identifier: Apache-2.0
"""Lifecycle node that publishes the dynamics of the robot as rviz markers on `~/markers`.

    weight             weight of every body, at its centre of mass
    joint_torque       torque of every joint along its axis: gravity torque, or measured
    center_of_mass     sphere at the centre of mass of every body
    inertia            uniform ellipsoid or box with the body's mass and inertia tensor; red
                       (impossible_inertia) if it is physically inconsistent
    manipulability     tip velocity in each direction at unit joint velocity
    tip_inertia        mobility of the tip: short in directions of large effective mass

Subscribes
    joint_states             sensor_msgs/JointState
    payload, ~/set_payload   geometry_msgs/InertiaStamped     of all nodes, of this node alone
    robot_description        std_msgs/String                  latched, if no parameter gives it
Publishes
    ~/markers                visualization_msgs/MarkerArray
    ~/payload                geometry_msgs/InertiaStamped     the present payload, latched
    /diagnostics             diagnostic_msgs/DiagnosticArray

Each kind is a namespace of its own, which rviz's MarkerArray display can switch. All markers are
in the base frame, so that no tf is needed. Nothing is computed without a subscriber.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from typing_extensions import override
from visualization_msgs.msg import MarkerArray

from robot_dynamics.common.spatial import Array
from robot_dynamics.control.joint_reading import JointReading, StampRateLimit
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.kinematics import body_poses
from robot_dynamics.core.model.inertia import inconsistency
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.visualization import (
    Box,
    Ellipsoid,
    inertia_box,
    inertia_ellipsoid,
    joint_torque_arrows,
    manipulability_ellipsoid,
    tip_inertia_ellipsoid,
    weight_arrows,
)
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.diagnostics import Diagnostics
from robot_dynamics.ros.joint_state_input import JointStateInput
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.marker_messages import Shape, marker_array, removal
from robot_dynamics.ros.node_parameters import MarkersParameters
from robot_dynamics.ros.payload_input import PayloadInput
from robot_dynamics.ros.robot_source import RobotSource

SCALE = (0.0, 1e6)  # bounds of lengths per quantity
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


class MarkersNode(RobotNode):
    """Publishes markers for joint states."""

    table = MarkersParameters

    def __init__(self, **kwargs: Any):
        super().__init__('markers_node', **kwargs)
        self.diagnostics = self.add(Diagnostics(self))
        self.markers_out = self.create_publisher(MarkerArray, '~/markers', qos.STREAM_OUT)
        self.robot = self.add(RobotSource(self))
        self.payload = self.add(PayloadInput(self))
        self.joint_states = self.add(
            JointStateInput(self, self.on_joint_state, needs_velocity=False)
        )
        self.robot.begin()

    @override
    def prepare(self, arm: Dynamics) -> None:
        """Compile all markers. Raises if tip_frame is no frame of the robot."""
        zero = np.zeros(arm.model.n)
        arm.gravity_torque(zero)
        shapes_of(arm, self.parameters, self._tip, zero, zero)

    @property
    def _tip(self) -> str:
        return str(self.parameters.tip_frame or self.parameters.tip_link)

    @override
    def use(self, arm: Dynamics) -> None:
        """Draw this robot from now on."""
        self._frame_id = self.parameters.frame_prefix + arm.model.link_names[0]
        self.restart()
        self._remove()

    @override
    def restart(self) -> None:
        """Draw the next joint state."""
        self._rate = StampRateLimit(self.parameters.publish_rate)

    @override
    def deactivate(self) -> None:
        """Remove all markers."""
        self._remove()

    @override
    def adopt(self, changes: set[str]) -> None:
        """Draw by other parameters from the next state on."""
        self._remove()

    def on_joint_state(self, state: JointReading) -> None:
        """Draw one complete joint state, if it is due and there is a subscriber."""
        if self.markers_out.get_subscription_count() > 0 and self._rate.is_due(state.stamp):
            self._draw(self.arm, state)

    def _draw(self, arm: Dynamics, reading: JointReading) -> None:
        tau = reading.effort
        if self.parameters.torque_source == 'gravity':
            tau = arm.gravity_torque(reading.q)
        elif tau is None:
            self.count_event('joint state without effort')
        shapes = shapes_of(arm, self.parameters, self._tip, reading.q, tau)
        stamp = messages.time_message(reading.stamp)
        self.markers_out.publish(marker_array(shapes, COLORS, stamp, self._frame_id))

    def _remove(self) -> None:
        self.markers_out.publish(MarkerArray(markers=[removal()]))


def shapes_of(
    arm: Dynamics, parameters: MarkersParameters, tip: str, q: Array, tau: Array | None
) -> dict[str, Mapping[str, Shape]]:
    """Return the shapes of a robot, by kind.

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


def _inertias(model: RobotModel, poses: Array, kind: str) -> dict[str, Box | Ellipsoid]:
    """Return the equivalent solid of each body with a mass."""
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
    # A joint that moves no inertia gives the tip no effective mass: nothing can be drawn.
    if parameters.show_tip_inertia and not arm.model.massless_joints():
        M, scale = arm.mass_matrix(q), parameters.tip_inertia_scale
        shapes['tip_inertia'] = {tip: tip_inertia_ellipsoid(J, M, p, scale)}
    return shapes
