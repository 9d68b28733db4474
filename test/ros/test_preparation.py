# SPDX-License-Identifier: Apache-2.0
"""Another robot is made ready in the background, and taken when it is ready."""

import sys
import threading

import pytest

pytest.importorskip('rclpy')

from lifecycle_msgs.srv import ChangeState
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_dynamics.ros import qos
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.robot_source import SWITCH_INTERVAL, frequent_switches

DEADLINE = 60.0  # s


class Robot:
    """A dynamics node that receives descriptions and compiles when the test allows it."""

    def __init__(self, graph, monkeypatch, urdf):
        self.graph, self.stamp, self.urdf = graph, 0, urdf
        self.descriptions = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
        self.describe(1)
        self.node = graph.start(DynamicsNode, description='')
        self.received = graph.listen(JointState, 'dynamics_node/gravity_torque')
        self.states = graph.publisher(JointState, 'joint_states')
        graph.until(lambda: self.node.active, 'the robot')
        self.began, self.allowed = threading.Event(), threading.Event()
        prepare, self.threads = self.node.prepare, []

        def wait(arm):
            if threading.current_thread() is not threading.main_thread():
                self.threads.append((threading.current_thread(), sys.getswitchinterval()))
                self.began.set()
                assert self.allowed.wait(DEADLINE)
            prepare(arm)

        monkeypatch.setattr(self.node, 'prepare', wait)

    def describe(self, mass):
        """Publish the robot with another mass of its forearm, kg."""
        text = self.urdf.replace('<mass value="0.7"/>', f'<mass value="{mass}"/>')
        self.descriptions.publish(String(data=text))

    def mass(self):
        """Return the mass by which the next state is answered."""
        self.stamp += 1
        message = JointState(name=['shoulder', 'elbow'], position=[0.0] * 2, velocity=[0.0] * 2)
        message.header.stamp.sec = self.stamp
        self.states.publish(message)
        self.graph.until(
            lambda: self.received and self.received[-1].header.stamp.sec == self.stamp, 'an answer'
        )
        # Stretched out, its centre of mass is at 0.2 m from the elbow.
        return self.received[-1].effort[1] / (-9.81 * 0.2)


@pytest.fixture
def robot(graph, monkeypatch, elbow_urdf):
    robot = Robot(graph, monkeypatch, elbow_urdf)
    yield robot
    robot.allowed.set()


def is_short(turn):
    return turn == pytest.approx(SWITCH_INTERVAL)


@pytest.fixture
def turn(graph):
    """Return the interval of Python's threads, after the computations of earlier tests."""
    graph.until(lambda: not is_short(sys.getswitchinterval()), 'the end of computations')
    return sys.getswitchinterval()


def test_states_are_answered_while_another_robot_is_compiled(turn, robot):
    robot.describe(2)
    robot.graph.until(robot.began.is_set, 'the preparation')
    assert [robot.mass() for _ in range(20)] == [pytest.approx(1)] * 20
    ((thread, short_turn),) = robot.threads
    assert thread is not threading.main_thread()
    assert is_short(short_turn)
    robot.allowed.set()
    robot.graph.until(lambda: robot.mass() == pytest.approx(2), 'the other robot')
    assert sys.getswitchinterval() == turn


def test_the_last_of_several_computations_restores_the_interval(turn):
    first, second = frequent_switches(), frequent_switches()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert is_short(sys.getswitchinterval())
    second.__exit__(None, None, None)
    assert sys.getswitchinterval() == turn


def test_a_description_received_during_compilation_is_compiled_next(robot):
    robot.describe(2)
    robot.graph.until(robot.began.is_set, 'the preparation')
    robot.describe(3)
    newest = robot.node.robot
    robot.graph.until(lambda: 'value="3"' in newest.newest_text(), 'the third')
    robot.allowed.set()
    robot.graph.until(lambda: robot.mass() == pytest.approx(3), 'the third robot')
    assert len(robot.threads) == 2


def test_parameters_that_change_meanwhile_hold_for_the_other_robot(robot):
    from rclpy.parameter import Parameter

    robot.describe(2)
    robot.graph.until(robot.began.is_set, 'the preparation')
    (result,) = robot.node.set_parameters([Parameter('gravity', value=[0.0, 0.0, -9.81 / 2])])
    assert result.successful
    assert robot.mass() == pytest.approx(0.5)
    robot.allowed.set()
    robot.graph.until(lambda: robot.mass() == pytest.approx(1), 'half the weight of the other')


def test_a_node_that_was_cleaned_up_meanwhile_takes_what_it_is_configured_with(robot):
    robot.describe(2)
    robot.graph.until(robot.began.is_set, 'the preparation')
    robot.node.trigger_deactivate()
    robot.node.trigger_cleanup()
    assert robot.node.arm is None
    robot.allowed.set()
    robot.graph.until(lambda: robot.node.robot._task is None, 'its end')
    assert robot.node.arm is None
    request = ChangeState.Request()
    for transition in (1, 3):  # configure, activate
        request.transition.id = transition
        assert robot.graph.call(ChangeState, 'dynamics_node/change_state', request).success
    assert robot.mass() == pytest.approx(2)


def test_a_robot_compiled_for_an_earlier_configuration_is_never_used(robot, monkeypatch, tmp_path):
    from rclpy.parameter import Parameter

    node, used = robot.node, []
    use = node.use
    monkeypatch.setattr(node, 'use', lambda arm: (used.append(arm.model.mass[1]), use(arm)))
    robot.describe(2)
    robot.graph.until(robot.began.is_set, 'the preparation')
    node.trigger_deactivate()
    node.trigger_cleanup()
    robot.describe(3)
    robot.graph.until(lambda: 'value="3"' in node.robot.newest_text(), 'the third')
    node.trigger_configure()
    node.trigger_activate()
    assert robot.mass() == pytest.approx(3)
    robot.allowed.set()
    robot.graph.until(lambda: node.robot._task is None, 'the end of the preparation')
    robot.graph.drain(0.1)
    assert used == [3]
    # The same for a file, and it is read once.
    robot.allowed.clear()
    robot.began.clear()
    robot.describe(4)
    robot.graph.until(robot.began.is_set, 'the preparation')
    node.trigger_deactivate()
    node.trigger_cleanup()
    file = tmp_path / 'five.urdf'
    file.write_text(robot.urdf.replace('<mass value="0.7"/>', '<mass value="5"/>'))
    (result,) = node.set_parameters([Parameter('robot_description_file', value=str(file))])
    assert result.successful
    node.trigger_configure()
    node.trigger_activate()
    robot.allowed.set()
    robot.graph.until(lambda: node.robot._task is None, 'the end of the preparation')
    robot.graph.drain(0.1)
    assert robot.mass() == pytest.approx(5)
    assert used == [3, 5]
    assert len(robot.threads) == 2
