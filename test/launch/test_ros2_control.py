# SPDX-License-Identifier: Apache-2.0
"""The ros2_control example: its robot loads, and its YAML matches the robot."""

import ast
import importlib.util
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import yaml

from robot_dynamics.common.resources import share_file
from robot_dynamics.ros.launching import feedback_gains
from robot_dynamics.urdf.loading import load_urdf, urdf_text

FOLDER = share_file('config/ros2_control/controllers.yaml').parent
XACRO, LAUNCH = FOLDER / 'panda.urdf.xacro', FOLDER / 'ros2_control.launch.py'
CONFIG = yaml.safe_load((FOLDER / 'controllers.yaml').read_text())
CONTROLLERS = {
    'joint_state_broadcaster': 'joint_state_broadcaster/JointStateBroadcaster',
    'effort_controller': 'forward_command_controller/ForwardCommandController',
    'arm_controller': 'joint_trajectory_controller/JointTrajectoryController',
}


def parameters(node):
    return CONFIG[f'/**/{node}']['ros__parameters']


@pytest.fixture(scope='module')
def model():
    return load_urdf(XACRO)


def test_the_xacro_is_the_panda_with_torque_interfaces(model):
    assert model.fingerprint() == load_urdf(share_file('urdf/panda.urdf')).fingerprint()
    system = ElementTree.fromstring(urdf_text(XACRO)).find('ros2_control')
    assert system.find('hardware/plugin').text == 'mock_components/GenericSystem'
    joints = system.findall('joint')
    assert tuple(joint.get('name') for joint in joints) == model.joint_names
    for joint in joints:
        assert [i.get('name') for i in joint.findall('command_interface')] == ['effort']
        states = [i.get('name') for i in joint.findall('state_interface')]
        assert states == ['position', 'velocity', 'effort']


def test_every_controller_is_declared_to_the_manager():
    manager = parameters('controller_manager')
    declared = {k: v['type'] for k, v in manager.items() if isinstance(v, dict)}
    assert declared == CONTROLLERS
    assert {f'/**/{name}' for name in CONTROLLERS} <= CONFIG.keys()


@pytest.mark.parametrize('node', ['effort_controller', 'arm_controller', 'feedforward_node'])
def test_all_joint_lists_have_the_order_of_the_robot(model, node):
    # Commands have no names: another order would send torques to the wrong joints.
    assert tuple(parameters(node)['joints']) == model.joint_names


def test_interfaces_are_effort_commands_and_position_velocity_states():
    assert parameters('effort_controller')['interface_name'] == 'effort'
    arm = parameters('arm_controller')
    assert arm['command_interfaces'] == ['effort']
    assert arm['state_interfaces'] == ['position', 'velocity']


def test_the_frame_of_the_efforts_is_a_link_of_the_robot(model):
    assert parameters('joint_state_broadcaster')['frame_id'] in model.link_names


def test_the_gains_are_those_of_the_robot(model):
    rate = parameters('controller_manager')['update_rate']
    gains = feedback_gains(XACRO, 1 / rate)
    ours, theirs = parameters('feedforward_node'), parameters('arm_controller')['gains']
    assert tuple(theirs) == model.joint_names
    np.testing.assert_allclose(ours['kp'], gains['kp'], rtol=0.05)
    np.testing.assert_allclose(ours['kd'], gains['kd'], rtol=0.05)
    assert [g['p'] for g in theirs.values()] == ours['kp']
    assert [g['d'] for g in theirs.values()] == ours['kd']
    # ROS rejects an integer value of a double parameter.
    assert all(type(x) is float for g in theirs.values() for x in g.values())
    assert all(type(x) is float for x in (*ours['kp'], *ours['kd']))


def test_the_parameters_of_our_node_exist():
    pytest.importorskip('rclpy', reason='the nodes need ROS 2')
    from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
    from robot_dynamics.ros.parameters import snapshot, specs

    table = FeedforwardNode.table
    snapshot(table, parameters('feedforward_node'))
    text = LAUNCH.read_text()
    for name in ('publish_commands', 'start_enabled'):
        assert name in specs(table)
        assert f"'{name}'" in text


def test_the_launch_file_starts_the_configured_nodes():
    text = LAUNCH.read_text()
    ast.parse(text)
    for controller in CONTROLLERS:
        assert f"'{controller}" in text
    assert "'arm_controller/joint_trajectory'" in text


def test_the_launch_file_builds():
    pytest.importorskip('launch_ros', reason='launch_ros comes with a ROS 2 distribution only')
    spec = importlib.util.spec_from_file_location('ros2_control_launch', LAUNCH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    arguments = module.generate_launch_description().get_launch_arguments()
    assert {a.name for a in arguments} >= {'controller', 'hardware', 'controllers_file'}
