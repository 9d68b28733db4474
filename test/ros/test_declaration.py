# SPDX-License-Identifier: Apache-2.0
"""Parameters on real nodes, and the YAML files that come with the package."""

from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.parameter import Parameter

from robot_dynamics.common.resources import share_file
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode, DynamicsParameters
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode, FeedforwardParameters
from robot_dynamics.ros.nodes.pybullet_validator_node import ValidatorParameters
from robot_dynamics.ros.nodes.simulator_node import SimulatorNode, SimulatorParameters
from robot_dynamics.ros.parameters import ParameterError, specs, values
from robot_dynamics.ros.robot_parameters import RobotParameters

TABLES = {
    'dynamics_node': (DynamicsNode, DynamicsParameters),
    'feedforward_node': (FeedforwardNode, FeedforwardParameters),
    'simulator_node': (SimulatorNode, SimulatorParameters),
}


def flat(tree, prefix=''):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from flat(value, f'{prefix}{key}.')
        else:
            yield prefix + key, value


@pytest.mark.parametrize('name', [*TABLES, 'pybullet_validator_node'])
def test_the_yaml_file_has_every_parameter_with_its_default(name):
    text = Path(share_file(f'config/{name}.yaml')).read_text()
    configured = dict(flat(yaml.safe_load(text)['/**']['ros__parameters']))
    table = TABLES[name][1] if name in TABLES else ValidatorParameters
    assert list(configured) == list(specs(table))
    defaults = {key: spec.default for key, spec in specs(table).items()}
    assert configured == defaults


@pytest.mark.parametrize('name', TABLES)
def test_ros_reads_the_yaml_file_too(graph, name):
    # A file of the wrong types, or with an empty list, would end the node here.
    node_class, table = TABLES[name]
    path = share_file(f'config/{name}.yaml')
    node = node_class(context=graph.context, cli_args=['--ros-args', '--params-file', str(path)])
    assert node.parameters == table()
    node.destroy_node()


@pytest.mark.parametrize('name', TABLES)
def test_every_parameter_is_declared_and_described(graph, name):
    node_class, table = TABLES[name]
    node = graph.start(node_class)
    for key, spec in specs(table).items():
        descriptor = node.describe_parameter(key)
        assert descriptor.description == spec.description
        assert descriptor.read_only == (not (spec.live or spec.description_of_robot))
        assert not descriptor.dynamic_typing


def test_parameters_that_a_node_does_not_have_are_reported_at_configure(graph, capfd):
    # As in a file of joint_trajectory_controller, whose tolerances have the names of joints.
    graph.start(FeedforwardNode, constraints__elbow__goal=0.05, constraints__goal=[0.05])
    log = capfd.readouterr().err
    assert 'parameters that this node does not have, without effect: constraints.elbow.goal' in log
    graph.start(DynamicsNode)
    assert 'does not have' not in capfd.readouterr().err


@pytest.mark.parametrize('name', TABLES)
def test_every_node_reports_a_misspelt_parameter_each_time_it_is_configured(graph, capfd, name):
    node = graph.start(TABLES[name][0], autostart=False, gravty=[0.0, 0.0, -9.81])
    assert 'gravty' not in capfd.readouterr().err
    for _ in range(2):
        node.trigger_configure()
        assert 'without effect: gravty (similar: gravity)\n' in capfd.readouterr().err
        node.trigger_cleanup()


def test_parameters_of_another_node_of_the_process_are_not_reported(graph, capfd, monkeypatch):
    kinds = [DynamicsNode, FeedforwardNode]
    topic = 'qos_overrides./dynamics_node/gravity_torque.publisher'
    given = {f'{topic}.depth': 20, 'qos_overrides./x.publisher.depth': 1, 'kp': [1.0], 'kq': [1.0]}
    monkeypatch.setattr(RobotNode, 'companions', kinds)
    nodes = [graph.start(kind, **given) for kind in kinds]
    assert capfd.readouterr().err.count('without effect: kq\n') == 2
    for node in nodes:
        node.warn_of_unknown_topics(nodes)
        assert 'without effect: qos_overrides./x.publisher.depth\n' in capfd.readouterr().err


def set_one(node, name, value):
    return node.set_parameters([Parameter(name, value=value)])[0]


def test_live_parameters_change_and_bad_values_change_nothing(graph):
    node = graph.start(FeedforwardNode, kp=[1.0, 2.0])
    assert set_one(node, 'kp', [3.0]).successful
    assert node.parameters.kp == (3.0,)
    before = values(node.parameters)
    for name, value, why in (
        ('kp', [1.0, 2.0, 3.0], 'kp has 3 values'),
        ('kp', [-1.0], 'kp is -1.0'),
        ('kd', [float('nan')], 'kd is nan'),
        ('torque_limit_scale', float('nan'), 'nan'),
        ('torque_limit_scale', 1.5, 'torque_limit_scale'),
        ('control_law', 'magic', 'it must be feedforward or pd_plus'),
        ('kp', ['a lot'], 'Wrong parameter type'),
        ('compensate_gravity', 1, 'Wrong parameter type'),
        ('publish_commands', True, 'read-only'),
        ('tip_link', 'forearm', 'only while the node is unconfigured; it is active'),
    ):
        result = set_one(node, name, value)
        assert not result.successful
        assert why in result.reason
    assert values(node.parameters) == before
    assert node.get_parameter('kp').value == np.array([3.0])


def test_several_changes_are_made_together_or_not_at_all(graph):
    node = graph.start(FeedforwardNode, kp=[1.0], kd=[2.0])
    before = values(node.parameters)
    for bad in (Parameter('kd', value=[-1.0]), Parameter('kd', value=[1.0] * 3)):
        result = node.set_parameters_atomically([Parameter('kp', value=[5.0]), bad])
        assert not result.successful
        assert 'kd' in result.reason
        assert values(node.parameters) == before
        assert list(node.get_parameter('kp').value) == [1.0]
    both = [Parameter('kp', value=[5.0]), Parameter('kd', value=[6.0])]
    assert node.set_parameters_atomically(both).successful
    assert (node.parameters.kp, node.parameters.kd) == ((5.0,), (6.0,))


def test_parameters_of_the_description_may_change_while_unconfigured(graph, elbow_urdf):
    node = graph.start(DynamicsNode, autostart=False, description='<robot name="bad"/>')
    node.trigger_configure()
    assert "robot 'bad' has no link" in str(node.configure_error)
    for name, value in (('robot_description', elbow_urdf), ('locked_joints', ['elbow'])):
        assert set_one(node, name, value).successful
    node.trigger_configure()
    assert node.arm.model.joint_names == ('shoulder',)


def test_the_time_between_two_diagnostics_may_change(graph):
    node = graph.start(DynamicsNode, diagnostics_period=60.0)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    assert set_one(node, 'diagnostics_period', 0.1).successful
    graph.until(lambda: len(reports) > 2, 'diagnostics')


def test_a_wrong_value_at_start_is_an_error(graph):
    for bad, why in (
        ({'integrator': 'magic'}, 'integrator is'),
        ({'joints': ['shoulder', 'hip']}, 'joints is shoulder, hip'),
        ({'initial_positions': [0.0, 2.6]}, 'initial_positions: joint elbow at 2.6'),
        ({'initial_positions': [0.0, 0.0, 0.0]}, 'initial_positions has 3 values'),
        ({'gravity': [0.0, float('nan'), 0.0]}, 'gravity is nan'),
        ({'friction__viscous': [1.0, 2.0, 3.0]}, 'friction.viscous has 3 values'),
        ({'use_sim_time': True, 'publish_clock': True}, 'set one of them to false'),
    ):
        with pytest.raises(ParameterError, match=why):
            graph.start(SimulatorNode, **bad)


def test_the_base_table_is_shared():
    for _, table in TABLES.values():
        assert issubclass(table, RobotParameters)
