# SPDX-License-Identifier: Apache-2.0
"""Launch files: their names exist, and, where `launch` is installed, descriptions are built.

`launch` and `launch_ros` come with a ROS 2 distribution and are on no package index, so that the
second half runs only there. The first half reads the files as text and runs everywhere.
"""

import ast
import importlib.util
import re

import pytest
import yaml

from robot_dynamics.common.resources import share_directory
from robot_dynamics.ros.launching import SHARED_ARGUMENTS

FILES = sorted((share_directory() / 'launch').glob('*.launch.py'))
OURS = {
    'dynamics_node',
    'feedforward_node',
    'simulator_node',
    'pybullet_validator_node',
    'markers_node',
    'momentum_observer_node',
    'state_publisher_node',
}
# What every launch file takes, itself or through the one it includes.
COMMON = {
    'autostart',
    'frame_prefix',
    'joint_state_publisher_gui',
    'log_level',
    'markers',
    'namespace',
    'observer',
    'on_exit',
    'quick_discovery',
    'robot_description_file',
    'rviz',
    'state_publisher',
    'use_sim_time',
    'xacro_arguments',
}
THEIRS = {
    'robot_state_publisher': 'robot_state_publisher',
    'rviz2': 'rviz2',
    'joint_state_publisher_gui': 'joint_state_publisher_gui',
}

each_file = pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)


def calls(path, name):
    """Return every call of a function in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == name:
            yield node


def constant(node):
    return node.value if isinstance(node, ast.Constant) else None


def keywords(call):
    return {keyword.arg: keyword.value for keyword in call.keywords}


def test_launch_files_are_complete():
    assert [path.name for path in FILES] == [
        'display.launch.py',
        'dynamics.launch.py',
        'simulation.launch.py',
    ]


@each_file
def test_files_of_a_launch_file_are_installed_with_the_package(path):
    named = [[constant(argument) for argument in call.args] for call in calls(path, 'share')]
    assert named
    for parts in named:
        assert share_directory().joinpath(*parts).is_file(), '/'.join(parts)


@each_file
def test_nodes_of_a_launch_file_exist(path):
    for call in calls(path, 'Node'):
        package, executable = (constant(keywords(call)[k]) for k in ('package', 'executable'))
        if package != 'robot_dynamics':
            assert THEIRS[package] == executable
        elif executable is not None:
            assert executable in OURS
    for call in calls(path, 'node'):
        assert call.args[0].id == 'context'
        assert constant(call.args[1]) in OURS


def test_the_simulation_starts_every_node():
    text = {path.name: path.read_text() for path in FILES}
    together = text['simulation.launch.py'] + text['dynamics.launch.py']
    for node in OURS:
        assert f"'{node}'" in together


@each_file
def test_every_argument_has_a_default_and_a_description_and_is_used(path):
    text = path.read_text()
    assert declared(path)
    for call in calls(path, 'DeclareLaunchArgument'):
        name = constant(call.args[0])
        if name is None:  # those of SHARED_ARGUMENTS
            continue
        assert {'default_value', 'description'} <= set(keywords(call)), name
        assert constant(keywords(call)['description']).endswith('.')
        assert len(re.findall(rf"'{name}'", text)) >= 2, f'{name} is declared but not used'
    if 'SHARED_ARGUMENTS' in text:
        for name, given in SHARED_ARGUMENTS.items():
            assert given['description'].endswith('.')
            assert f"'{name}'" in text, f'{name} is declared but not used'


def declared(path):
    """Return the names of the arguments that a launch file declares itself."""
    first = (call.args[0] for call in calls(path, 'DeclareLaunchArgument'))
    return {node.value for node in first if isinstance(node, ast.Constant)}


def test_what_several_launch_files_take_is_declared_once():
    # These differ in their defaults.
    differ = {'joint_state_publisher_gui', 'markers', 'robot_description_file', 'use_sim_time'}
    for path in FILES:
        others = {name for other in FILES if other != path for name in declared(other)}
        assert declared(path) & (others | SHARED_ARGUMENTS.keys()) <= differ


def test_the_parameters_that_the_simulation_sets_exist():
    pytest.importorskip('rclpy', reason='the nodes need ROS 2')
    from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
    from robot_dynamics.ros.nodes.markers_node import MarkersNode
    from robot_dynamics.ros.nodes.simulator_node import SimulatorNode
    from robot_dynamics.ros.parameters import specs

    simulator = {'publish_clock', 'wall_stamps', 'time_step', 'lockstep', 'real_time_factor'}
    assert simulator | {'autostart'} <= set(specs(SimulatorNode.table))
    text = (share_directory() / 'launch' / 'simulation.launch.py').read_text()
    for name in simulator:
        assert f"'{name}': " in text
    assert {'kp', 'kd', 'autostart'} <= set(specs(FeedforwardNode.table))
    assert {'tip_frame', 'frame_prefix', 'autostart'} <= set(specs(MarkersNode.table))


def test_every_package_is_a_dependency():
    manifest = (share_directory() / 'package.xml').read_text()
    for package in (*THEIRS, 'launch', 'launch_ros', 'xacro'):
        assert re.search(rf'<(exec_)?depend>{package}</', manifest), package


def test_the_rviz_configuration_shows_the_robot_and_its_efforts():
    config = yaml.safe_load((share_directory() / 'config' / 'robot_dynamics.rviz').read_text())
    displays = config['Visualization Manager']['Displays']
    classes = [display['Class'] for display in displays]
    assert 'rviz_default_plugins/RobotModel' in classes
    topics = {
        display['Topic']['Value']
        for display in displays
        if display['Class'] == 'rviz_default_plugins/Effort'
    }
    assert topics == {
        '/joint_states',
        '/dynamics_node/gravity_torque',
        '/momentum_observer_node/external_torque',
    }
    (wrench,) = [d for d in displays if d['Class'] == 'rviz_default_plugins/Wrench']
    assert wrench['Topic']['Value'] == '/momentum_observer_node/external_wrench'
    (markers,) = [d for d in displays if d['Class'] == 'rviz_default_plugins/MarkerArray']
    assert markers['Topic']['Value'] == '/markers_node/markers'
    # All of them follow the namespace.
    remapped = (share_directory() / 'launch' / 'dynamics.launch.py').read_text()
    for topic in (
        *topics,
        wrench['Topic']['Value'],
        '/markers_node/markers',
        '/robot_description',
    ):
        assert f"'{topic.removeprefix('/')}'" in remapped


# -- where launch is ------------------------------------------------------------------------------


def launch_description(path):
    pytest.importorskip('launch_ros', reason='launch_ros comes with a ROS 2 distribution only')
    spec = importlib.util.spec_from_file_location(path.stem.replace('.', '_'), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.generate_launch_description()


@each_file
def test_a_launch_description_is_built(path):
    import_launch = pytest.importorskip('launch', reason='launch comes with ROS 2 only')
    description = launch_description(path)
    assert isinstance(description, import_launch.LaunchDescription)
    names = {argument.name for argument in description.get_launch_arguments()}
    assert 'robot_description_file' in names


def test_dynamics_declares_all_common_arguments():
    (path,) = [path for path in FILES if path.name == 'dynamics.launch.py']
    names = {argument.name for argument in launch_description(path).get_launch_arguments()}
    assert names >= COMMON


@pytest.mark.parametrize('name', ['display.launch.py', 'simulation.launch.py'])
def test_the_others_include_dynamics(name):
    (path,) = [path for path in FILES if path.name == name]
    includes = list(calls(path, 'IncludeLaunchDescription'))
    assert len(includes) == 1
    assert 'dynamics.launch.py' in ast.dump(includes[0])
