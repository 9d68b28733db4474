# SPDX-License-Identifier: Apache-2.0
"""Each element of the parameters and messages of a robot, with either sign, in its own place."""

import itertools

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import InertiaStamped
from rclpy.parameter import Parameter

from robot_dynamics.control.torque_limiting import torque_limits
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification.payload.payload import Payload
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.parameters import snapshot
from robot_dynamics.ros.robot_parameters import LiveRobotParameters

mirrored = pytest.mark.parametrize('sign', [1, -1])
TENSOR = [0.05, 0.001, -0.002, 0.06, 0.003, 0.07]  # ixx ixy ixz iyy iyz izz
PLACES = [(i, j) for i in range(3) for j in range(i, 3)]


def filled(**values):
    return snapshot(
        LiveRobotParameters, {name.replace('__', '.'): value for name, value in values.items()}
    )


@pytest.mark.parametrize('k', range(6))
def test_each_element_of_the_tensor_has_its_place(k):
    changed = TENSOR.copy()
    changed[k] += 1e-4
    before, after = (
        filled(payload__mass=1.0, payload__link='hand', payload__inertia=tensor).payload()
        for tensor in (TENSOR, changed)
    )
    expected = np.zeros((3, 3))
    for place in {PLACES[k], PLACES[k][::-1]}:
        expected[place] = 1e-4
    np.testing.assert_allclose(after.inertia_com - before.inertia_com, expected, atol=1e-15)


@mirrored
def test_gravity_in_the_base_is_turned_back_by_roll_pitch_and_yaw(sign):
    roll, pitch, yaw = sign * np.array([0.3, -0.5, 0.8])
    gravity = np.array([1.0, 2.0, -9.0])

    def turn(angle, i, j):
        R = np.eye(3)
        R[i, i] = R[j, j] = np.cos(angle)
        R[j, i], R[i, j] = np.sin(angle), -np.sin(angle)
        return R

    # R_wb = R_z(yaw) R_y(pitch) R_x(roll),  g_w = R_wb g_b
    R = turn(yaw, 0, 1) @ turn(pitch, 2, 0) @ turn(roll, 1, 2)
    found = filled(gravity=gravity.tolist(), base_orientation=[roll, pitch, yaw])
    np.testing.assert_allclose(R @ found.gravity_in_base(), gravity, rtol=1e-12)


@pytest.mark.parametrize(
    ('viscous', 'coulomb'),
    list(itertools.product([[-1.0, 0.3], [0.2, -1.0], [0.0, -1.0]], repeat=2)),
)
def test_friction_is_that_of_the_model_joint_by_joint(elbow, viscous, coulomb):
    model = elbow.model
    found = filled(friction__viscous=viscous, friction__coulomb=coulomb).friction(model)
    for name, given in (('viscous', viscous), ('coulomb', coulomb)):
        own = getattr(model, name)
        expected = [own[j] if given[j] < 0 else given[j] for j in range(2)]
        assert found.coefficients[name].tolist() == expected


@pytest.mark.parametrize('rotors', [[0.0, 0.2], [0.1, 0.0]])
def test_one_joint_alone_may_have_a_rotor(elbow, elbow_urdf, rotors):
    q = np.array([0.3, -0.4])
    M = Dynamics(filled(rotor_inertia=rotors).robot(elbow_urdf)).mass_matrix(q)
    np.testing.assert_allclose(M - elbow.mass_matrix(q), np.diag(rotors), atol=1e-12)


def test_the_link_of_the_payload_is_that_given_the_tip_or_the_last(elbow):
    for given, expected in (
        ({}, 'forearm'),
        ({'tip_link': 'upper_arm'}, 'upper_arm'),
        ({'tip_link': 'upper_arm', 'payload__link': 'forearm'}, 'forearm'),
    ):
        assert filled(**given).payload_link(elbow.model) == expected


def test_the_torque_rate_of_each_joint_is_given_that_of_the_limit_or_none(elbow):
    effort = elbow.model.effort_limit
    for given, expected in (
        ([7.0, -1.0], [7.0, effort[1] / 0.1]),
        ([-1.0, 0.0], [effort[0] / 0.1, np.inf]),
        ([0.0, 3.0], [np.inf, 3.0]),
    ):
        limits = torque_limits(elbow.model, 1.0, np.array(given), np.zeros(2), 0.0)
        np.testing.assert_allclose(limits.rate, expected)


def test_each_locked_joint_has_its_own_position():
    names, positions = ['c', 'a', 'b'], [0.5, -0.1, 0.2]
    found = filled(locked_joints=names, locked_positions=positions).locked()
    assert found == dict(zip(names, positions, strict=True))


@mirrored
def test_each_number_of_a_payload_message_arrives_and_is_published(graph, sign):
    node = graph.start(DynamicsNode)
    payloads = graph.listen(InertiaStamped, 'dynamics_node/payload', qos.LATCHED)
    com = [sign * 0.01, sign * -0.02, sign * 0.03]
    sent = messages.inertia_message(messages.time_message(0), 'forearm', 1.5, com, TENSOR)
    graph.publisher(InertiaStamped, 'dynamics_node/set_payload').publish(sent)
    graph.until(lambda: node.parameters.payload__mass == 1.5, 'the payload')
    assert node.parameters.payload__com == tuple(com)
    assert node.parameters.payload__inertia == tuple(TENSOR)
    graph.until(lambda: payloads and payloads[-1].inertia.m == 1.5, 'the message')
    assert payloads[-1].inertia == sent.inertia
    # The same by parameters: the message follows them.
    (result,) = node.set_parameters([Parameter('payload.com', value=com[::-1])])
    assert result.successful
    graph.until(lambda: payloads[-1].inertia.com.x == com[2], 'the other message')
    found = payloads[-1].inertia.com
    assert [found.x, found.y, found.z] == com[::-1]


def test_each_number_of_a_payload_estimate_is_published(graph):
    node = graph.start(DynamicsNode)
    estimates = graph.listen(InertiaStamped, 'dynamics_node/payload_estimate', qos.LATCHED)
    tensor = np.empty((3, 3))
    for place, value in zip(PLACES, TENSOR, strict=True):
        tensor[place] = tensor[place[::-1]] = value
    com, small = np.array([0.1, -0.2, 0.3]), np.full(3, 1e-6)
    node.estimator._publish(
        Payload('forearm', 2.0, com, tensor, 1e-3, small, np.full((3, 3), 1e-9), 0, 8.0, small)
    )
    graph.until(lambda: estimates, 'the estimate')
    wanted = messages.inertia_message(messages.time_message(0), 'forearm', 2.0, com, TENSOR)
    assert estimates[0].inertia == wanted.inertia
