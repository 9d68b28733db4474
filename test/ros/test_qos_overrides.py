# SPDX-License-Identifier: Apache-2.0
"""`qos_overrides` parameters change history, depth and reliability of every topic of the nodes."""

import pytest

pytest.importorskip('rclpy')

from every_node import NODES, node_class
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, HistoryPolicy, ReliabilityPolicy

from robot_dynamics.ros import qos
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.nodes.pybullet_validator_node import PyBulletValidatorNode
from robot_dynamics.ros.nodes.simulator_node import SimulatorNode
from robot_dynamics.ros.parameters import ParameterError

FROM_RCLPY = ('/rosout', '/parameter_events')
SWITCHES = {  # of optional topics
    'feedforward_node': {'publish_commands': True},
    'simulator_node': {'publish_clock': True},
}
TORQUE = '/dynamics_node/gravity_torque'


def overrides(topic, kind, **policies):
    return {f'qos_overrides.{topic}.{kind}.{name}': value for name, value in policies.items()}


def topics(endpoints):
    return {e.topic_name for e in endpoints if e.topic_name not in FROM_RCLPY}


@pytest.mark.parametrize('name', NODES)
def test_every_topic_of_a_node_can_be_overridden(graph, monkeypatch, name):
    node = graph.start(node_class(name, monkeypatch), **SWITCHES.get(name, {}))
    found = {
        'publisher': topics(node.publishers),
        'subscription': topics(node.subscriptions),
    }
    if name == 'pybullet_validator_node':
        terms = topics(node._terms._subscriptions.values())
        assert '/joint_states' in terms
        found['subscription'] |= terms
    assert found['publisher']
    wanted = {
        f'{topic}.{kind}.{policy}'
        for kind, names in found.items()
        for topic in names
        for policy in ('history', 'depth', 'reliability')
    }
    declared = set(node.get_parameters_by_prefix('qos_overrides'))
    assert declared == wanted
    for parameter in declared:
        assert node.describe_parameter(f'qos_overrides.{parameter}').read_only


def test_an_override_changes_its_topic_alone(graph):
    latched, default = qos.LATCHED.depth, qos.STREAM_OUT.depth
    node = graph.start(
        DynamicsNode,
        **overrides(TORQUE, 'publisher', reliability='best_effort', depth=3),
        **overrides('/joint_states', 'subscription', history='keep_all'),
        **overrides('/payload', 'subscription', depth=7),
    )
    (torque,) = node.get_publishers_info_by_topic(TORQUE)
    assert torque.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
    (other,) = node.get_publishers_info_by_topic('/dynamics_node/mass_matrix')
    assert other.qos_profile.reliability == ReliabilityPolicy.RELIABLE
    profiles = {p.topic_name: p.qos_profile for p in (*node.publishers, *node.subscriptions)}
    assert profiles[TORQUE].depth == 3
    assert profiles['/dynamics_node/mass_matrix'].depth == default
    assert profiles['/joint_states'].history == HistoryPolicy.KEEP_ALL
    payload = profiles['/payload']
    assert (payload.depth, payload.durability) == (7, DurabilityPolicy.TRANSIENT_LOCAL)
    # The profiles of other nodes in this process are as before.
    assert (qos.LATCHED.depth, qos.STREAM_OUT.depth) == (latched, default)
    assert qos.JOINT_STATES_IN.history == HistoryPolicy.KEEP_LAST


def test_terms_of_the_validator_can_be_overridden(graph):
    topic = '/left/dynamics_node/mass_matrix'
    node = graph.start(
        PyBulletValidatorNode,
        remap=['__ns:=/left'],
        **overrides(topic, 'subscription', reliability='reliable', depth=3),
    )
    profiles = {s.topic_name: s.qos_profile for s in node._terms._subscriptions.values()}
    assert profiles[topic].reliability == ReliabilityPolicy.RELIABLE
    assert profiles[topic].depth == 3
    assert profiles['/left/joint_states'].reliability == ReliabilityPolicy.BEST_EFFORT
    with pytest.raises(ParameterError, match=r'qos_overrides of .*mass_matrix: .*depth is 0'):
        graph.start(
            PyBulletValidatorNode,
            **overrides('/dynamics_node/mass_matrix', 'subscription', depth=0),
        )


def test_an_override_names_the_topic_after_remapping(graph):
    node = graph.start(
        DynamicsNode,
        remap=['__ns:=/left', 'joint_states:=arm/states'],
        **overrides('/left/arm/states', 'subscription', reliability='reliable'),
    )
    (states,) = node.get_subscriptions_info_by_topic('/left/arm/states')
    assert states.qos_profile.reliability == ReliabilityPolicy.RELIABLE


@pytest.mark.parametrize(
    ('policies', 'why'),
    [
        ({'reliability': 'sometimes'}, 'sometimes'),
        ({'history': 'keep_first'}, 'keep_first'),
        ({'depth': -1}, 'the depth is -1'),
        ({'depth': 0}, 'the depth is 0'),
    ],
)
@pytest.mark.parametrize(
    ('topic', 'kind'), [(TORQUE, 'publisher'), ('/joint_states', 'subscription')]
)
def test_an_invalid_override_is_rejected_with_its_topic(graph, topic, kind, policies, why):
    with pytest.raises(ParameterError, match=f'qos_overrides of .*: .*{why}.*; expected') as error:
        graph.start(DynamicsNode, **overrides(topic, kind, **policies))
    assert topic.rpartition('/')[2] in str(error.value)


def test_an_override_of_the_clock_of_a_simulator(graph):
    node = graph.start(
        SimulatorNode,
        publish_clock=True,
        **overrides('/clock', 'publisher', reliability='reliable'),
    )
    (clock,) = node.get_publishers_info_by_topic('/clock')
    assert clock.qos_profile.reliability == ReliabilityPolicy.RELIABLE


def test_simulated_time_may_be_switched_on_later(graph):
    node = graph.start(DynamicsNode)
    (result,) = node.set_parameters([Parameter('use_sim_time', value=True)])
    assert result.successful
    assert '/clock' in topics(node.subscriptions)


def test_overrides_are_reported_only_if_the_node_has_no_such_topic(graph, monkeypatch, capfd):
    publisher = node_class('state_publisher_node', monkeypatch)
    given = overrides('/robot_description', 'publisher', depth=2)
    node = graph.start(publisher, **given)
    assert node.active
    assert 'does not have' not in capfd.readouterr().err
    graph.start(DynamicsNode, **overrides('/joint_state', 'subscription', depth=2))
    assert 'qos_overrides./joint_state.subscription.depth' in capfd.readouterr().err
