# SPDX-License-Identifier: Apache-2.0
"""The simulator node with position servos: its topics, and the arm that follows."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from sensor_msgs.msg import JointState
from simulator_view import MS, START, SimulatorView, stamp
from std_msgs.msg import Float64MultiArray

from robot_dynamics.ros import messages
from robot_dynamics.ros.parameters import ParameterError, snapshot
from robot_dynamics.ros.simulator_parameters import SimulatorParameters
from robot_dynamics.simulation import (
    InelasticStop,
    JointModels,
    Servo,
    ServoCommand,
    Simulator,
)

SERVO = {
    'servo.kp': [80.0, 40.0],
    'servo.kd': [4.0, 2.0],
    'servo.delay': [0.0025],
    'servo.torque_limit': [0.0, 6.0],
}


def simulator(elbow):
    servo = Servo([80.0, 40.0], [4.0, 2.0], 0.0025, [np.inf, 6.0])
    return Simulator(elbow, q=START, joint_models=JointModels(stops=InelasticStop(), servo=servo))


def command(at=0, velocity=(), effort=()):
    names = ['elbow', 'shoulder']
    message = JointState(name=names, position=[0.4, -0.2], velocity=velocity, effort=effort)
    message.header.stamp = messages.time_message(at)
    return message


def start(graph, commands='joint_command', **more):
    return SimulatorView(graph, commands, joints=['shoulder', 'elbow'], **SERVO, **more)


def test_positions_velocities_and_efforts_by_name_reach_the_servos(graph, elbow):
    view = start(graph, lockstep=True, command_timeout=20.0)
    same = simulator(elbow)
    for k in range(8):
        now = view.state(after=view.node.loop.stamp - 1)
        more = {'velocity': [0.1, -0.3], 'effort': [1.0, 2.0]} if k > 3 else {}
        view.commands.publish(command(stamp(now), **more))
        view.state(after=stamp(now))
        same.step(ServoCommand([-0.2, 0.4], *([[-0.3, 0.1], [2.0, 1.0]] if more else ())))
    assert view.node.loop.stamp == 8 * MS
    np.testing.assert_array_equal(view.node.loop.plant.q, same.q)
    np.testing.assert_array_equal(view.node.loop.plant.effort, same.effort)


def test_positions_in_order_reach_the_servos(graph, elbow):
    view = start(graph, 'position_controller/commands', start_paused=True)
    view.commands.publish(Float64MultiArray(data=[-0.2, 0.4]))
    graph.until(lambda: view.node.loop.commanded, 'the command')
    assert view.set(steps_per_call=20) == ''
    assert view.call('step').success
    same = simulator(elbow)
    for _ in range(20):
        same.step([-0.2, 0.4])
    np.testing.assert_array_equal(view.node.loop.plant.q, same.q)


def test_servos_without_a_command_hold_their_start(graph, elbow):
    view = start(graph, start_paused=True, hold_until_command=False)
    assert view.set(steps_per_call=50) == ''
    assert view.call('step').success
    same = simulator(elbow)
    for _ in range(50):
        same.step(START)
    np.testing.assert_array_equal(view.node.loop.plant.q, same.q)


def test_a_servo_is_not_commanded_without_torque(graph):
    with pytest.raises(
        ParameterError, match=r"on_command_timeout is 'zero' and servo\.kp is given"
    ):
        start(graph, on_command_timeout='zero')
    view = start(graph, start_paused=True)
    assert 'a position servo has no command without torque' in view.set(on_command_timeout='zero')
    assert view.set(on_command_timeout='hold_last') == ''


def test_a_command_without_positions_is_rejected(graph):
    view = start(graph, start_paused=True)
    view.commands.publish(JointState(name=['shoulder', 'elbow'], effort=[1.0, 2.0]))
    graph.until(lambda: view.node.health.counts, 'the rejection')
    assert not view.node.loop.commanded


def test_drives_take_efforts_unless_kp_is_given(elbow):
    table = snapshot(SimulatorParameters, {})
    assert not table.takes_positions
    assert table.joint_models(elbow.model).servo is None
