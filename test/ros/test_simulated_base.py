# SPDX-License-Identifier: Apache-2.0
"""The base of the simulator node: prescribed by a file, with its sensor, or as received."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import AccelStamped, TwistStamped
from sensor_msgs.msg import Imu, JointState
from simulator_view import MS, START, SimulatorView, stamp

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.spatial import rotation_rpy
from robot_dynamics.control.base_motion_estimate import BaseMotionSettings
from robot_dynamics.control.base_motion_sources import InertialSource, Mounting
from robot_dynamics.ros import messages
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.nodes.simulator_node import SimulatorNode
from robot_dynamics.simulation import Simulator, load_base_motion

CART = Path(__file__).parents[2] / 'config/cart_motion.yaml'
FREE = {'hold_until_command': False, 'stops__kind': 'none', 'start_paused': True}


def stepped(view, steps):
    """Make steps of a paused simulation; return its time, s."""
    assert view.set(steps_per_call=steps) == ''
    assert view.call('step').success
    return view.node.loop.time


def test_the_arm_moves_as_in_the_library(graph, elbow):
    view = SimulatorView(graph, base_motion__file=str(CART), **FREE)
    stepped(view, 200)
    same = Simulator(elbow, q=START, base_motion=load_base_motion(CART))
    for _ in range(200):
        same.step([0.0, 0.0])
    np.testing.assert_allclose(view.node.loop.plant.q, same.q, rtol=0, atol=1e-12)
    fixed = Simulator(elbow, q=START)
    for _ in range(200):
        fixed.step([0.0, 0.0])
    assert np.abs(fixed.q - same.q).max() > 1e-3
    # A reset begins the motion of the base anew.
    assert view.call('reset').success
    stepped(view, 200)
    np.testing.assert_allclose(view.node.loop.plant.q, same.q, rtol=0, atol=1e-12)


def test_the_base_moves_on_under_brakes(graph):
    view = SimulatorView(graph, base_motion__file=str(CART), start_paused=True)
    stepped(view, 50)
    np.testing.assert_array_equal(view.node.loop.plant.q, START)
    assert view.node.loop.plant.simulator.base_steps == 50
    assert view.call('reset').success
    assert view.node.loop.plant.simulator.base_steps == 0


def test_its_sensor_publishes_what_the_input_of_other_nodes_takes(graph):
    tilt = [0.1, -0.2, 0.5]
    view = SimulatorView(
        graph,
        base_motion__file=str(CART),
        base_orientation=tilt,
        frame_prefix='left/',
        imu__latency=0.01,
        **FREE,
    )
    seen = graph.listen(Imu, 'simulator_node/imu', 1000)
    graph.until(lambda: view.states, 'the first state')
    for _ in range(60):
        stepped(view, 5)
    graph.until(lambda: seen and stamp(seen[-1]) >= 300 * MS, 'the last measurement')
    assert len({stamp(message) for message in seen}) == len(seen)
    message, cart = seen[-1], load_base_motion(CART)
    assert message.header.frame_id == 'left/base'
    g = np.array([0.0, 0.0, -9.81])
    then, mounted = stamp(message) * 1e-9 - 0.01, rotation_rpy(*tilt)
    true = cart.motion(then, mounted.T @ g)
    np.testing.assert_allclose(
        messages.vector(message.angular_velocity), true.angular_velocity, atol=1e-12
    )
    np.testing.assert_allclose(
        messages.vector(message.linear_acceleration), true.proper_acceleration, atol=1e-9
    )
    R = messages.rotation(message.orientation)
    np.testing.assert_allclose(R, mounted @ cart.pose(then)[:3, :3], atol=1e-9)
    # Acceleration and orientation agree for the source of the nodes.
    source = InertialSource(BaseMotionSettings(low_pass=40.0))
    here = Mounting(np.eye(3), np.zeros(3))
    for one in seen:
        sample = source.add(
            stamp(one),
            messages.vector(one.angular_velocity),
            messages.vector(one.linear_acceleration),
            here,
            g,
            messages.rotation(one.orientation),
        )
    np.testing.assert_allclose(sample.motion[6:], true.proper_acceleration, atol=0.1)
    np.testing.assert_allclose(sample.weight, R.T @ g, atol=1e-9)


def test_a_node_computes_the_torques_of_the_base_from_this_sensor(graph, elbow):
    moving, cart = elbow.on_moving_base(), load_base_motion(CART)
    graph.start(
        DynamicsNode,
        remap=['base_motion/imu:=simulator_node/imu'],
        base_motion__source='imu',
        base_motion__low_pass=40.0,
    )
    seen = graph.listen(JointState, 'dynamics_node/gravity_torque', 1000)
    view = SimulatorView(
        graph, base_motion__file=str(CART), imu__latency=0.002, publish_every=5, start_paused=True
    )
    graph.until(lambda: seen, 'the first torques')
    for _ in range(200):
        stepped(view, 5)
    graph.until(lambda: stamp(seen[-1]) >= 1000 * MS, 'the last torques')
    late = [message for message in seen if stamp(message) >= 500 * MS]
    assert len(late) > 50
    still = elbow.gravity_torque(START)
    errors, missed = [], []
    for message in late:
        true = moving.gravity_torque(START, cart.motion(stamp(message) * 1e-9).array())
        tau = [message.effort[message.name.index(name)] for name in elbow.model.joint_names]
        errors.append(tau - true)
        missed.append(still - true)
    assert np.abs(missed).max() > 0.4
    # The delay of low-pass and sensor, 7 ms
    assert np.abs(errors).max() < 0.1 * np.abs(missed).max()


def test_the_motion_may_come_from_topics(graph):
    view = SimulatorView(graph, base_motion__source='command', **FREE)
    accel = graph.publisher(AccelStamped, 'base_motion/accel')
    twist = graph.publisher(TwistStamped, 'base_motion/twist')
    graph.until(lambda: view.states, 'the first state')
    held = view.node.loop.plant.simulator.base
    np.testing.assert_array_equal(held.now, [0] * 8 + [9.81])
    one, other = AccelStamped(), TwistStamped()
    one.header.frame_id = other.header.frame_id = 'base'
    one.accel.linear.x, one.accel.linear.z, other.twist.angular.z = 2.0, 9.81, 0.5
    for k in range(16):
        one.header.stamp = other.header.stamp = messages.time_message(k * 20 * MS)
        accel.publish(one)
        twist.publish(other)
        graph.drain(0.02)
        stepped(view, 20)
    # It has faded in.
    np.testing.assert_allclose(held.now, [0, 0, 0.5, 0, 0, 0, 2.0, 0, 9.81], atol=1e-12)
    assert all(part.status() is None for part in view.node.parts)
    stepped(view, 300)
    np.testing.assert_allclose(held.now, [0] * 8 + [9.81], atol=1e-12)
    assert any('older than the joint state' in str(part.status()) for part in view.node.parts)


@pytest.mark.parametrize(
    ('values', 'message'),
    [
        ({'base_motion__file': 'none.yaml'}, r'none\.yaml: No such file'),
        (
            {'base_motion__file': str(CART), 'base_motion__source': 'imu'},
            r"base_motion\.file is .* and base_motion\.source 'imu'; expected one of both",
        ),
        (
            {'base_motion__file': str(CART), 'payload__link': 'forearm'},
            r"payload\.link is 'forearm', and the base moves: .* need a fixed base",
        ),
        (
            {'base_motion__file': str(CART), 'integrator': 'discrete_gradient'},
            'discrete_gradient.*implicit_midpoint',
        ),
    ],
)
def test_what_does_not_fit_rejects_the_node(graph, values, message):
    with pytest.raises((RobotDynamicsError, ValueError), match=message):
        graph.start(SimulatorNode, **values)


def test_without_a_moving_base_there_is_no_sensor(graph):
    node = SimulatorView(graph).node
    topics = [
        name for name, _ in node.get_publisher_names_and_types_by_node('simulator_node', '/')
    ]
    assert '/joint_states' in topics
    assert '/simulator_node/imu' not in topics
