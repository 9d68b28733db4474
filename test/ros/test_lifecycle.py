# SPDX-License-Identifier: Apache-2.0
"""The lifecycle of the nodes: who may start them, what they do meanwhile, and how they stop."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import State, Transition, TransitionEvent
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.ros.nodes.feedforward_parts import torque_output
from robot_dynamics.ros.nodes.pybullet_validator_node import PyBulletValidatorNode
from robot_dynamics.ros.nodes.simulator_node import SimulatorNode

MS = 1_000_000
NAMES = ['shoulder', 'elbow']
NODES = {
    'dynamics_node': DynamicsNode,
    'feedforward_node': FeedforwardNode,
    'simulator_node': SimulatorNode,
    'pybullet_validator_node': PyBulletValidatorNode,
}
each_node = pytest.mark.parametrize('name', NODES)


class Manager:
    """A lifecycle manager, as `ros2 lifecycle set` and nav2 have it."""

    def __init__(self, graph, name):
        self.graph, self.name = graph, name

    def ask(self, transition):
        request = ChangeState.Request(transition=Transition(id=transition))
        return self.graph.call(ChangeState, f'{self.name}/change_state', request).success

    @property
    def state(self):
        return self.graph.call(GetState, f'{self.name}/get_state').current_state.label

    def configure(self):
        return self.ask(Transition.TRANSITION_CONFIGURE)

    def activate(self):
        return self.ask(Transition.TRANSITION_ACTIVATE)

    def deactivate(self):
        return self.ask(Transition.TRANSITION_DEACTIVATE)

    def cleanup(self):
        return self.ask(Transition.TRANSITION_CLEANUP)


@pytest.fixture
def managed(graph):
    """Start a node that waits to be managed; return it and its manager."""

    def managed(name, **parameters):
        node = graph.start(NODES[name], autostart=False, **parameters)
        return node, Manager(graph, name)

    return managed


@each_node
def test_a_node_starts_itself_unless_autostart_is_false(graph, name):
    assert graph.start(NODES[name]).state == 'active'
    waiting = graph.start(NODES[name], remap=[f'__node:={name}_2'], autostart=False)
    assert waiting.state == 'unconfigured'
    assert waiting.arm is None


@each_node
def test_the_whole_way_there_and_back_twice(managed, name):
    node, manager = managed(name)
    for _ in range(2):
        assert manager.state == 'unconfigured'
        assert node.arm is None
        assert manager.configure()
        assert manager.state == 'inactive'
        assert node.arm.model.joint_names == ('shoulder', 'elbow')
        assert not node.active
        for _ in range(2):
            assert manager.activate()
            assert manager.state == 'active'
            assert node.active
            assert manager.deactivate()
            assert manager.state == 'inactive'
            assert not node.active
        assert manager.cleanup()
    assert node.failure is None


@each_node
@pytest.mark.parametrize(
    'transitions',
    [
        [Transition.TRANSITION_UNCONFIGURED_SHUTDOWN],
        [Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_INACTIVE_SHUTDOWN],
        [
            Transition.TRANSITION_CONFIGURE,
            Transition.TRANSITION_ACTIVATE,
            Transition.TRANSITION_ACTIVE_SHUTDOWN,
        ],
    ],
    ids=['unconfigured', 'inactive', 'active'],
)
def test_shutdown_from_everywhere(managed, name, transitions):
    node, manager = managed(name)
    assert all(manager.ask(transition) for transition in transitions)
    assert manager.state == 'finalized'
    assert not node.active
    assert node.arm is None


def test_an_impossible_transition_is_rejected_and_the_node_continues(managed, capfd):
    _, manager = managed('dynamics_node')
    assert not manager.activate()
    assert not manager.ask(99)
    assert 'rejected: the node is unconfigured' in capfd.readouterr().err
    assert manager.configure()
    assert not manager.configure()
    assert manager.state == 'inactive'


@each_node
def test_an_invalid_description_fails_configure_with_the_reason(graph, managed, name, capfd):
    node, manager = managed(name, description='<robot name="bad"/>', diagnostics_period=0.1)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    graph.until(lambda: reports, 'diagnostics')
    assert reports[-1].status[0].level == DiagnosticStatus.OK
    assert reports[-1].status[0].message == 'unconfigured'
    assert not manager.configure()
    assert manager.state == 'unconfigured'
    assert node.failure is None
    assert "not configured: robot 'bad' has no link" in capfd.readouterr().err
    graph.until(
        lambda: "robot 'bad' has no link" in reports[-1].status[0].message, 'the diagnostics'
    )
    assert reports[-1].status[0].level == DiagnosticStatus.ERROR


def test_parameters_that_do_not_fit_the_robot_fail_configure(managed, capfd):
    _, manager = managed('feedforward_node', joints=['shoulder', 'hip'])
    assert not manager.configure()
    assert 'joints is shoulder, hip' in capfd.readouterr().err


def test_configure_waits_for_the_description_until_its_timeout(graph, managed, elbow_urdf):
    node, manager = managed('dynamics_node', description=None, description_timeout=0.1)
    assert not manager.configure()
    assert manager.state == 'unconfigured'
    assert 'within 0.1 s' in str(node.configure_error)
    description = graph.publisher(String, 'robot_description', qos.LATCHED)
    description.publish(String(data=elbow_urdf))
    assert manager.configure()
    assert manager.activate()
    # And what comes later replaces the robot, as ever.
    description.publish(String(data=elbow_urdf.replace('value="0.7"', 'value="1.4"')))
    graph.until(lambda: node.arm.model.mass[1] == 1.4, 'the heavier robot')
    assert manager.state == 'active'


def test_configure_uses_a_description_that_arrives_while_it_waits(graph, elbow_urdf):
    node = graph.start(DynamicsNode, autostart=False, description=None)
    description = graph.publisher(String, 'robot_description', qos.LATCHED)
    later = threading.Timer(0.3, lambda: description.publish(String(data=elbow_urdf)))
    later.start()
    node.configure_and_activate()  # the executor stands still meanwhile
    later.join()
    assert node.state == 'active'


def test_ending_the_process_ends_the_wait_for_the_description(graph):
    node = graph.start(DynamicsNode, autostart=False, description=None, description_timeout=0.0)
    node.is_ending = lambda: True
    node.trigger_configure()
    assert node.state == 'unconfigured'


def test_a_new_description_does_not_start_a_node_that_was_cleaned_up(graph, elbow_urdf):
    description = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    description.publish(String(data=elbow_urdf))
    node = graph.start(DynamicsNode, description=None)
    graph.until(lambda: node.state == 'active', 'the start')
    manager = Manager(graph, 'dynamics_node')
    assert manager.deactivate()
    assert manager.cleanup()
    heavier = elbow_urdf.replace('value="0.7"', 'value="1.4"')
    description.publish(String(data=heavier))
    graph.until(lambda: node.robot.newest_text() == heavier, 'the description')
    assert node.state == 'unconfigured'
    assert manager.configure()
    assert node.arm.model.mass[1] == 1.4


@pytest.mark.slow
def test_a_manager_may_take_over_from_a_node_that_waits_to_start_itself(graph, elbow_urdf):
    node = graph.start(DynamicsNode, description=None, description_timeout=2.0)
    manager = Manager(graph, 'dynamics_node')
    description = graph.publisher(String, 'robot_description', qos.LATCHED)
    assert not manager.ask(99)  # both have found each other
    later = threading.Timer(0.2, lambda: description.publish(String(data=elbow_urdf)))
    later.start()
    assert manager.configure()
    later.join()
    graph.drain(2.2)
    assert node.failure is None  # the wait of its own is over
    assert manager.state == 'inactive'


def test_a_waiting_node_starts_when_a_parameter_gives_the_description(graph, elbow_urdf):
    node = graph.start(DynamicsNode, description=None)
    assert node.state == 'unconfigured'
    change = Parameter('robot_description', value=elbow_urdf)
    assert node.set_parameters([change])[0].successful
    graph.until(lambda: node.state == 'active', 'the start')


def test_an_exception_is_logged_and_leads_back_to_unconfigured(managed, monkeypatch, capfd):
    node, manager = managed('dynamics_node')
    assert manager.configure()
    monkeypatch.setattr(node, 'activate', lambda: 1 / 0)
    assert not manager.activate()
    assert manager.state == 'unconfigured'
    assert node.arm is None
    assert 'ZeroDivisionError' in capfd.readouterr().err
    monkeypatch.undo()
    assert manager.configure()
    assert manager.activate()


def test_transitions_are_announced(graph, managed):
    _, manager = managed('dynamics_node')
    events = graph.listen(TransitionEvent, 'dynamics_node/transition_event')
    assert manager.configure()
    graph.until(
        lambda: events and events[-1].goal_state.id == State.PRIMARY_STATE_INACTIVE, 'the event'
    )


def state(stamp, q=(0.1, 0.2)):
    message = JointState(name=NAMES, position=list(q), velocity=[0.0, 0.0])
    message.header.stamp = messages.time_message(stamp)
    return message


@pytest.mark.parametrize(
    ('name', 'topic'),
    [('dynamics_node', 'gravity_torque'), ('feedforward_node', 'feedforward_torque')],
)
def test_torques_flow_only_while_active(graph, managed, name, topic):
    _, manager = managed(name)
    torques = graph.listen(JointState, f'{name}/{topic}')
    states = graph.publisher(JointState, 'joint_states')
    for transition in (None, manager.configure):
        assert transition is None or transition()
        states.publish(state(1 * MS))
        graph.drain(0.1)
        assert not torques
    assert manager.activate()

    def answered():
        states.publish(state(2 * MS))
        return torques

    graph.until(answered, 'a torque')
    assert torques[0].header.stamp.nanosec == 2 * MS
    assert manager.deactivate()
    graph.drain(0.1)
    before = len(torques)
    states.publish(state(3 * MS))
    graph.drain(0.1)
    assert len(torques) == before


@pytest.mark.parametrize('how', ['deactivate', 'shutdown', 'end'])
@pytest.mark.parametrize('choice', ['zero', 'gravity', 'none'])
def test_the_last_torque_is_the_safe_one(graph, managed, elbow, choice, how):
    hard = {'ramp_time': 0.0, 'max_torque_rate': [0.0]}
    node, manager = managed('feedforward_node', on_deactivate=choice, kp=[100.0], **hard)
    torques = graph.listen(JointState, 'feedforward_node/feedforward_torque')
    states = graph.publisher(JointState, 'joint_states')
    manager.configure()
    manager.activate()
    q = np.array([0.3, -0.2])
    for k, position in enumerate(([0.1, 0.2], q)):
        states.publish(state(k * MS, position))
    graph.until(lambda: len(torques) == 2, 'the torques')
    ways = {
        'deactivate': manager.deactivate,
        'shutdown': lambda: manager.ask(Transition.TRANSITION_ACTIVE_SHUTDOWN),
        'end': node.end,
    }
    ways[how]()
    expected = {'zero': np.zeros(2), 'gravity': elbow.gravity_torque(q)}
    if choice == 'none':
        graph.drain(0.1)
        assert len(torques) == 2
        return
    graph.until(lambda: len(torques) == 3, 'the last torque')
    np.testing.assert_allclose(torques[-1].effort, expected[choice], rtol=1e-12)


@pytest.mark.parametrize('choice', ['zero', 'gravity'])
def test_the_last_torque_is_approached_within_its_limits(graph, managed, elbow, choice):
    """The effort limit is below gravity; the torque before has the other sign."""
    limits = {'torque_limit_scale': 0.1, 'max_torque_rate': [200.0, 80.0], 'ramp_time': 0.0}
    _, manager = managed('feedforward_node', on_deactivate=choice, kp=[1e3], **limits)
    torques = graph.listen(JointState, 'feedforward_node/feedforward_torque')
    states = graph.publisher(JointState, 'joint_states')
    manager.configure()
    manager.activate()
    below = np.array([-0.5, -0.5])
    for k in range(40):
        states.publish(state(k * 20 * MS, below * (k > 0)))
        graph.until(lambda k=k: len(torques) == k + 1, 'the torque')
    assert list(torques[-1].effort) == [5, 2]
    g = elbow.gravity_torque(below)
    assert (np.abs(g) > [5, 2]).any()
    assert manager.deactivate()
    last = np.clip(g, [-5, -2], [5, 2]) if choice == 'gravity' else np.zeros(2)
    graph.until(lambda: list(torques[-1].effort) == list(last), 'the last torque')
    taus = np.array([message.effort for message in torques[39:]])
    assert len(taus) > 4
    assert (np.abs(np.diff(taus, axis=0)) <= np.array([200, 80]) * 0.005 + 1e-9).all()


def test_the_last_torque_is_approached_in_the_time_of_its_rate_limit(graph, managed, monkeypatch):
    now = [100.0]  # s, of a clock that only `sleep` moves
    clock = SimpleNamespace(
        monotonic=lambda: now[0], sleep=lambda dt: now.append(now.pop() + dt), time=time.time
    )
    monkeypatch.setattr(torque_output, 'time', clock)
    node, manager = managed('feedforward_node', max_torque_rate=[20.0], ramp_time=0.0)
    manager.configure()
    manager.activate()
    node.torques.gate.last[:] = before = np.array([4.0, -3.0])
    released = []
    monkeypatch.setattr(
        node.torques, 'publish', lambda _, tau: released.append((now[0], tau.copy()))
    )
    node.torques.release(0, np.zeros(2))
    for end, tau in released:
        most = 20.0 * (end - 100.0) + 1e-9
        assert (np.abs(tau - before) <= most).all()
    assert released[-1][0] == pytest.approx(100.2)
    assert not released[-1][1].any()


def test_a_rate_limit_that_takes_too_long_does_not_keep_a_node_from_ending(graph, managed):
    node, manager = managed('feedforward_node', max_torque_rate=[0.001], ramp_time=0.0)
    torques = graph.listen(JointState, 'feedforward_node/feedforward_torque')
    states = graph.publisher(JointState, 'joint_states')
    manager.configure()
    manager.activate()
    for k in range(3):
        states.publish(state(k * MS))
    graph.until(lambda: len(torques) == 3, 'the torques')
    assert np.abs(torques[-1].effort).min() > 0
    node.torques.gate.last[:] = 1.0
    node.end()
    graph.until(lambda: list(torques[-1].effort) == [0, 0], 'the last torque')


def test_an_arm_activated_again_is_held_where_it_is_then(graph, managed, elbow):
    hard = {'ramp_time': 0.0, 'max_torque_rate': [0.0]}
    _, manager = managed('feedforward_node', kp=[100.0], **hard)
    torques = graph.listen(JointState, 'feedforward_node/feedforward_torque')
    states = graph.publisher(JointState, 'joint_states')
    manager.configure()
    manager.activate()
    states.publish(state(1 * MS))
    graph.until(lambda: torques, 'a torque')
    manager.deactivate()
    manager.activate()
    q = np.array([0.5, 0.5])
    states.publish(state(2 * MS, q))
    graph.until(lambda: torques[-1].header.stamp.nanosec == 2 * MS, 'a torque')
    np.testing.assert_allclose(torques[-1].effort, elbow.gravity_torque(q), rtol=1e-12)


def test_time_stands_still_while_the_simulator_is_inactive(graph, managed):
    _, manager = managed('simulator_node')
    states = graph.listen(JointState, 'joint_states')
    manager.configure()
    graph.drain(0.1)
    assert not states
    manager.activate()
    graph.until(lambda: len(states) > 5, 'joint states')
    manager.deactivate()
    graph.drain(0.1)
    before = len(states)
    graph.drain(0.1)
    assert len(states) == before
    assert manager.activate()
    graph.until(lambda: len(states) > before, 'more of them')
