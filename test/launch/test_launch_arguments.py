# SPDX-License-Identifier: Apache-2.0
"""Invalid arguments of launch files: an error that names the argument, before any node is started.

`launch` is not on the package index; `launch_stand_in` visits the actions in its place.
"""

import launch_stand_in
import pytest
import urdf_text

pytest.importorskip('ament_index_python', reason='it comes with ROS 2')

from ament_index_python import packages

from robot_dynamics.common.resources import share_file
from robot_dynamics.ros.launching import LaunchArgumentError, feedback_gains

PANDA = share_file('urdf/panda.urdf')
DISPLAY, DYNAMICS, SIMULATION = (
    f'launch/{name}.launch.py' for name in ('display', 'dynamics', 'simulation')
)
NO_FILE = '/no/such/file'
EVERYWHERE = {
    'robot_description_file': [NO_FILE, __file__, 'massless.xacro'],
    'xacro_arguments': ['name', 'a:=1 a:=2', "a:='b"],
    'namespace': ['my robot', '1st', 'a//b'],
    'use_sim_time': ['maybe'],
    'autostart': ['1'],
    'quick_discovery': ['yes'],
    'state_publisher': ['someone'],
    'joint_state_publisher_gui': ['on'],
    'markers': [''],
    'observer': ['perhaps'],
    'rviz': ['True '],
    'on_exit': ['restart', 'true'],
    'log_level': ['loud'],
    'markers_params_file': [NO_FILE],
    'observer_params_file': [NO_FILE],
}
BAD = {
    DISPLAY: {**EVERYWHERE, 'params_file': [NO_FILE]},
    DYNAMICS: {**EVERYWHERE, 'params_file': [NO_FILE]},
    SIMULATION: {
        **EVERYWHERE,
        'dynamics_params_file': [NO_FILE],
        'simulator_params_file': [NO_FILE],
        'feedforward_params_file': [NO_FILE],
        'validator_params_file': [NO_FILE],
        'gains': ['none'],
        'time_step': ['abc', '0', '-0.001', 'nan', 'inf', '1.0', ''],
        'lockstep': ['no'],
        'real_time_factor': ['fast', '-1', 'inf', '1e9'],
        'validate': ['never'],
    },
}
CASES = [
    (file, name, value)
    for file, arguments in BAD.items()
    for name, values in arguments.items()
    for value in values
]


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch):
    launch_stand_in.put_in_place(monkeypatch)
    installed(monkeypatch, {'robot_state_publisher', 'joint_state_publisher_gui', 'rviz2'})


def installed(monkeypatch, names):
    """Pretend that of the packages of other nodes only these are installed."""
    prefix = packages.get_package_prefix

    def get_package_prefix(package):
        if package == 'robot_dynamics':
            return prefix(package)
        if package not in names:
            raise packages.PackageNotFoundError(package)
        return '/opt/ros'

    monkeypatch.setattr(packages, 'get_package_prefix', get_package_prefix)


def launched(file, **arguments):
    return launch_stand_in.launched(share_file(file), **arguments)


@pytest.mark.parametrize(('file', 'name', 'value'), CASES)
def test_an_invalid_argument_raises_before_any_node_is_started(file, name, value):
    context, error = launched(file, **{name: value})
    assert error is not None
    assert name in str(error)
    assert value in str(error)
    assert context.started == []


@pytest.mark.parametrize('file', BAD)
def test_every_argument_with_invalid_values_is_covered(file):
    free = {'frame_prefix', 'tip_frame', 'fixed_frame'}
    taken = launched(file)[0].launch_configurations
    included = {'params_file'} if file == SIMULATION else set()
    assert set(taken) - free - included == set(BAD[file])


def test_a_robot_without_gains_raises_before_any_node_is_started(tmp_path):
    file = tmp_path / 'robot.urdf'
    link, joint = urdf_text.link, urdf_text.joint
    file.write_text(urdf_text.robot(link('a'), link('b', ''), joint('idle', 'a', 'b')))
    context, error = launched(SIMULATION, robot_description_file=str(file))
    assert str(error) == f'{file}: no feedback gains suit joints that move no mass: idle'
    assert context.started == []


@pytest.mark.parametrize('file', BAD)
@pytest.mark.parametrize(
    ('argument', 'value', 'package'),
    [
        ('state_publisher', 'robot_state_publisher', 'robot_state_publisher'),
        ('joint_state_publisher_gui', 'true', 'joint_state_publisher_gui'),
        ('rviz', 'true', 'rviz2'),
    ],
)
def test_a_missing_package_raises_before_any_node_is_started(
    monkeypatch, file, argument, value, package
):
    others = {'robot_state_publisher', 'joint_state_publisher_gui', 'rviz2'} - {package}
    installed(monkeypatch, others)
    context, error = launched(file, **{argument: value})
    assert isinstance(error, LaunchArgumentError)
    assert str(error) == f'{argument}:={value} needs the package {package}, which is not installed'
    assert context.started == []
    # It is not needed where its node is not started.
    other = {'state_publisher': 'none'}.get(argument, 'false')
    assert launched(file, **{argument: other})[1] is None


def test_valid_arguments_start_the_nodes_with_the_computed_values():
    context, error = launched(
        SIMULATION,
        namespace='cell',
        frame_prefix='left/',
        time_step='2e-3',
        markers='true',
        observer='true',
    )
    assert error is None
    nodes = {name: (parameters, arguments) for name, _, parameters, arguments in context.started}
    assert list(nodes) == [
        'robot_state_publisher',
        'dynamics_node',
        'markers_node',
        'momentum_observer_node',
        'rviz2',
        'simulator_node',
        'feedforward_node',
        'pybullet_validator_node',
    ]
    assert {namespace for _, namespace, _, _ in context.started} == {'cell'}
    simulator, feedforward = nodes['simulator_node'][0], nodes['feedforward_node'][0]
    assert simulator['time_step'] == 2e-3
    assert simulator['real_time_factor'] == 1.0
    assert (simulator['publish_clock'], simulator['wall_stamps']) == (True, False)
    gains = feedback_gains(PANDA, 2e-3)
    assert feedforward['kp'] == gains['kp']
    assert feedforward['kd'] == gains['kd']
    assert nodes['rviz2'][1][-1] == 'left/panda_link0'
    assert nodes['robot_state_publisher'][0]['robot_description'] == PANDA.read_text()


def test_xacro_arguments_reach_every_node_and_the_gains(tmp_path):
    head = '<robot name="test" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    body = urdf_text.chain(urdf_text.LIMIT).partition('>')[2]
    file = tmp_path / 'arm.xacro'
    file.write_text(head + body.replace('upper="2"', 'upper="$(arg reach)" k="$(arg note)"'))
    given = {'robot_description_file': str(file), 'state_publisher': 'robot_dynamics'}
    words = "reach:=0.75 note:='two words'"
    context, error = launched(SIMULATION, xacro_arguments=words, **given)
    assert error is None
    nodes = {name: parameters for name, _, parameters, _ in context.started}
    text = nodes['state_publisher_node']['robot_description']
    assert 'upper="0.75"' in text
    assert 'two words' in text
    gains = feedback_gains(file, 1e-3, words)
    assert nodes['feedforward_node']['kp'] == gains['kp']
    context, error = launched(SIMULATION, **given)
    assert 'expected reach:=VALUE' in str(error)
    assert context.started == []


@pytest.mark.parametrize('file', BAD)
@pytest.mark.parametrize('on_exit', [None, 'continue', 'respawn', 'shutdown'])
def test_every_node_of_ours_ends_as_the_argument_says(file, on_exit):
    given = {} if on_exit is None else {'on_exit': on_exit}
    context, error = launched(file, markers='true', state_publisher='robot_dynamics', **given)
    assert error is None
    ours = {name for name, *_ in context.started if name.endswith('_node')}
    assert set(context.endings) == ours
    assert {'dynamics_node', 'markers_node', 'state_publisher_node'} <= ours
    for action, respawn, delay in context.endings.values():
        assert isinstance(action, launch_stand_in.Shutdown) == (on_exit == 'shutdown')
        assert (respawn, delay) == ((True, 1.0) if on_exit == 'respawn' else (False, None))


def test_gains_from_the_file_are_not_overridden():
    context, error = launched(SIMULATION, gains='from_file')
    assert error is None
    (parameters,) = [p for name, _, p, _ in context.started if name == 'feedforward_node']
    assert not {'kp', 'kd'} & set(parameters)
