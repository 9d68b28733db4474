# SPDX-License-Identifier: Apache-2.0
"""Names in a description that would be more than names in the texts that verbs write."""

import ast
import re

import pytest
import yaml

from robot_dynamics import cli
from robot_dynamics.common.resources import share_file
from robot_dynamics.control.swing import swing
from robot_dynamics.control.trajectory_file import read_trajectory, write_trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.urdf.loading import load_urdf
from robot_dynamics.urdf.writing import write_urdf

NAMES = [
    'left\n/**: {ros__parameters: {kp: 1e6}}',
    'left\rkp: 1e6',
    'left\x85kp: 1e6\u2028kp: 1e6',
    "left: # '{",
    '"""\nkp = 1e6\n"""',
    '\\"""; kp = 1e6 #',
    '\n\\end{align*}\n\\input{kp}',
    '^^M\\input{kp}',
    '"/><joint name="kp"/><!--',
    '--> ]]> &#10; &kp;',
]
names = pytest.mark.parametrize('name', NAMES, ids=range(len(NAMES)))


@pytest.fixture
def robot(tmp_path):
    """Return a function that writes the elbow with a name of its own and of its first joint."""

    def robot(name):
        text = share_file('urdf/planar_2r.urdf').read_text()
        escaped = ''.join(f'&#{ord(c)};' for c in name)
        text = text.replace('name="planar_2r"', f'name="{escaped}"')
        text = text.replace('name="joint1"', f'name="{escaped}"')
        file = tmp_path / 'arm.urdf'
        file.write_text(text, encoding='utf-8')
        model = load_urdf(file)
        assert (model.name, model.joint_names) == (name, (name, 'joint2'))
        return file

    return robot


@names
def test_gains_are_the_parameters_of_one_node(robot, capsys, name):
    assert cli.main(['gains', str(robot(name)), '--rate', '500']) == 0
    ((node, content),) = yaml.safe_load(capsys.readouterr().out).items()
    assert node == '/**/feedforward_node'
    parameters = content['ros__parameters']
    assert parameters['joints'] == [name, 'joint2']
    assert max(parameters['kp']) < 1e6


@names
def test_a_trajectory_has_its_joints(robot, tmp_path, name):
    model = load_urdf(robot(name))
    motion, file = swing(Dynamics(model), 2.0).trajectory(model.joint_names), tmp_path / 'a.yaml'
    write_trajectory(motion, file)
    assert set(yaml.safe_load(file.read_text())) == {'joint_names', 'points'}
    assert read_trajectory(file).joint_names == model.joint_names


@names
def test_a_written_urdf_is_the_same_robot(robot, tmp_path, name):
    model = load_urdf(robot(name))
    written = load_urdf(write_urdf(model, tmp_path / 'b.urdf'))
    assert (written.name, written.joint_names) == (model.name, model.joint_names)


@names
def test_derived_equations_have_the_name_in_a_comment(robot, capsys, name):
    pytest.importorskip('sympy')
    texts = {}
    for form in ('latex', 'python', 'regressor'):
        assert cli.main(['derive', str(robot(name)), '--as', form]) == 0
        texts[form] = capsys.readouterr().out
    for form in ('latex', 'regressor'):
        comment, environment = texts[form].split('\n', 1)
        assert re.fullmatch(r'% [\w. -]*, in the letters of Spong, Hutchinson and .*', comment)
        assert environment.startswith('\\begin{align*}\n')
        assert texts[form].count('align*') == 2
        assert 'input' not in environment
    title, *statements = ast.parse(texts['python']).body
    assert isinstance(title.value.value, str)
    assert not any('kp' in ast.dump(statement) for statement in statements)
