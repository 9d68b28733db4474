# SPDX-License-Identifier: Apache-2.0
"""README, parameters and ros2_control: code runs, tables match the code, links exist."""

import importlib
import math
import os
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest
import robots
import yaml

from robot_dynamics import cli

ROOT = Path(__file__).parents[1]
README = (ROOT / 'README.md').read_text()
PARAMETER_PAGE = ROOT / 'docs' / 'reference' / 'parameters.md'
ROS2_CONTROL = (ROOT / 'docs' / 'guides' / 'ros2_control.md').read_text()

# Module of each table of parameters.
TABLES = {
    'RobotParameters': 'ros.robot_parameters',
    'DriveParameters': 'ros.robot_parameters',
    'LiveRobotParameters': 'ros.robot_parameters',
    'DynamicsParameters': 'ros.nodes.dynamics_node',
    'FeedforwardParameters': 'ros.feedforward_parameters',
    'ObserverParameters': 'ros.observer_parameters',
    'SimulatorParameters': 'ros.simulator_parameters',
    'ValidatorParameters': 'ros.nodes.pybullet_validator_node',
    'MarkersParameters': 'ros.nodes.markers_node',
    'StatePublisherParameters': 'ros.nodes.state_publisher_node',
}


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf'```{language}\n(.*?)```', page, re.DOTALL)


def test_python_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    for code in blocks('python'):
        names: dict = {}
        exec(compile(code, 'README.md', 'exec'), names)
        # The statements of the comments.
        assert names['tau'].shape == (7,)
        residual = names['M'] @ names['qdd'] + names['C'] @ names['qd'] + names['g']
        np.testing.assert_allclose(residual, names['tau'], atol=1e-9)
        assert names['J'].shape == (6, 7)
        assert names['batch'].shape == (1000, 7)


def parameter_table(name: str) -> str:
    """Return the table of the parameters that a class adds to those of its bases."""
    specs = importlib.import_module('robot_dynamics.ros.parameters').specs
    module = importlib.import_module(f'robot_dynamics.{TABLES[name]}')
    table = getattr(module, name)
    above = [base for base in table.__mro__[1:] if base.__name__ in TABLES]
    inherited = {key for base in above for key in specs(base)}
    rows = ['| parameter | default | range | meaning |', '|---|---|---|---|']
    for key, spec in specs(table).items():
        if key not in inherited:
            default = repr(spec.default)
            if isinstance(spec.default, bool):
                default = default.lower()
            live = ' May change while running.' if spec.live else ''
            low, high = spec.bounds
            limits = '' if math.isinf(high) else f'{low:g} to {high:g}'
            if spec.smallest:
                limits = f'0, {spec.smallest:g} to {high:g}'
            if spec.choices:
                limits = ', '.join(f'`{choice}`' for choice in spec.choices)
            meaning = spec.description.replace('<', r'\<')  # no markup: <dynamics damping>
            rows.append(f'| `{key}` | `{default}` | {limits} | {meaning}{live} |')
    return '\n'.join(rows)


@pytest.mark.parametrize('name', TABLES)
def test_parameter_tables_are_those_of_the_code(name):
    """WRITE_PARAMETERS=1 writes the tables."""
    pytest.importorskip('rclpy', reason='the nodes need ROS 2')
    pattern = rf'(<!-- parameters {name} -->\n)(.*?)(\n?<!-- end -->)'
    if os.environ.get('WRITE_PARAMETERS'):
        text = PARAMETER_PAGE.read_text()
        table = parameter_table(name)
        PARAMETER_PAGE.write_text(
            re.sub(pattern, lambda found: found[1] + table + found[3], text, flags=re.DOTALL)
        )
    written = re.search(pattern, PARAMETER_PAGE.read_text(), re.DOTALL)
    assert written
    assert written[2] == parameter_table(name)


# Nodes with the table of their parameters.
FILES = {
    'dynamics_node': 'DynamicsParameters',
    'feedforward_node': 'FeedforwardParameters',
    'markers_node': 'MarkersParameters',
    'pybullet_validator_node': 'ValidatorParameters',
    'momentum_observer_node': 'ObserverParameters',
    'simulator_node': 'SimulatorParameters',
    'state_publisher_node': 'StatePublisherParameters',
}


def scalar(value):
    if isinstance(value, list):
        return f'[{", ".join(map(scalar, value))}]'
    if isinstance(value, str):
        return value or "''"
    return yaml.safe_dump(value).splitlines()[0]


def parameter_file(node):
    """Return the file of all parameters of a node with their defaults."""
    specs = importlib.import_module('robot_dynamics.ros.parameters').specs
    table = FILES[node]
    module = importlib.import_module(f'robot_dynamics.{TABLES[table]}')
    lines = [
        f'# All parameters of {node} with their defaults.',
        '# Lists with one value per joint may contain a single value for all joints.',
        '/**:',
        '  ros__parameters:',
    ]
    group, groups = '', {''}
    for name, spec in specs(getattr(module, table)).items():
        prefix, _, key = name.rpartition('.')
        if prefix != group:
            # A key occurs once in a file: later parameters of a group have their whole names.
            group = '' if prefix in groups else prefix
            if group:
                lines.append(f'    {group}:')
                groups.add(group)
        indent = ' ' * (6 if group else 4)
        live = ' May change while running.' if spec.live else ''
        lines += textwrap.wrap(
            spec.description + live,
            99,
            initial_indent=f'{indent}# ',
            subsequent_indent=f'{indent}# ',
        )
        lines.append(f'{indent}{key if group else name}: {scalar(spec.default)}')
    return '\n'.join(lines) + '\n'


@pytest.mark.parametrize('node', FILES)
def test_parameter_files_are_those_of_the_code(node):
    """WRITE_PARAMETERS=1 writes the files."""
    pytest.importorskip('rclpy', reason='the nodes need ROS 2')
    file = ROOT / 'config' / f'{node}.yaml'
    if os.environ.get('WRITE_PARAMETERS'):
        file.write_text(parameter_file(node))
    assert file.read_text() == parameter_file(node)


def test_links_exist():
    for target in re.findall(r'\]\(([^)#:]+)\)', README):
        assert (ROOT / target).exists(), target


def test_yaml_applies_in_every_namespace():
    for text in blocks('yaml', ROS2_CONTROL):
        keys = yaml.safe_load(text)
        assert all(key.startswith('/**/') for key in keys)
        assert '/**/feedforward_node' in keys


@pytest.mark.skipif('ur5' not in robots.NAMES, reason='no description of a UR')
def test_parameters_of_a_universal_robot_are_accepted():
    pytest.importorskip('rclpy')
    from robot_dynamics.ros.feedforward_parameters import FeedforwardParameters
    from robot_dynamics.ros.nodes.dynamics_node import DynamicsParameters
    from robot_dynamics.ros.parameters import snapshot

    _, text = blocks('yaml', ROS2_CONTROL)
    model = robots.load('ur5')
    tables = {'feedforward_node': FeedforwardParameters, 'dynamics_node': DynamicsParameters}
    for key, content in yaml.safe_load(text).items():
        parameters = snapshot(tables[key.removeprefix('/**/')], content['ros__parameters'])
        assert parameters.of_joints('effort_scale', model).shape == (6,)
        if key.endswith('feedforward_node'):
            assert set(parameters.joints) == set(model.joint_names)
            assert not parameters.compensate_gravity
            assert not parameters.friction(model).coefficients['coulomb'].any()


def test_gains_are_those_of_the_command_line(capsys):
    text, _ = blocks('yaml', ROS2_CONTROL)
    ours = yaml.safe_load(text)['/**/feedforward_node']['ros__parameters']
    assert cli.main(['gains', 'panda', '--rate', '1000']) == 0
    printed = yaml.safe_load(capsys.readouterr().out)['/**/feedforward_node']['ros__parameters']
    assert {key: ours[key] for key in printed} == printed
