# SPDX-License-Identifier: Apache-2.0
"""YAML of users: values as in YAML 1.2, within bounds; and written so that all readers agree."""

import math
import re
import resource
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import yaml

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.common.yaml_text import YamlError, parse_yaml, quoted, read_yaml, yaml_text
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.control.trajectory_file import read_trajectory, write_trajectory
from robot_dynamics.simulation.hardware import ProfileError, load_profile

# Names that some reader takes for a number, a boolean, a comment, a tag or the end of a line.
NAMES = [
    'joint1', 'left/arm-2.x', '/**', 'on', 'Y', 'No', 'true', 'null', '~', '', 'nan', 'INF',
    'infinity', '1', '1.5', '1e5', '0x1F', '0o17', '1_000', '1:30', '.5', '-', '=', '<<', '.inf',
    '2020-01-01', 'a\nkp: 1e6', 'a\r\nb', 'a\x85b', 'a\u2028b', '\t', ' a', 'a ', 'a: b', 'a #b',
    '# a', '- a', '? a', '*a', '&a', '!a', '%a', '@a', '`a', '|', '>', '{a', '[a', '"a', "'a",
    'a\\nb', 'a"b', 'ü', '机', '🤖', '\x7f', 'x' * 300, '---', '...', '_a',
]  # fmt: skip


def test_values_are_those_of_the_core_schema():
    """The examples of YAML 1.2.2, 10.3.2, and what YAML 1.1 reads otherwise."""
    text = """
    A null: null
    Booleans: [ true, True, false, FALSE ]
    Integers: [ 0, 0o7, 0x3A, -19 ]
    Floats: [ 0., -0.0, .5, +12e03, -2E+05, 1e5 ]
    Also floats: [ .inf, -.Inf, +.INF ]
    Texts: [ 1:30, on, yes, 1_000, 0b1, 2020-01-01, "1", 'true', +, e5, . ]
    Nothing:
    """
    found = parse_yaml(text)
    assert found['A null'] is None
    assert found['Booleans'] == [True, True, False, False]
    assert found['Integers'] == [0, 7, 0x3A, -19]
    assert all(type(value) is int for value in found['Integers'])
    assert found['Floats'] == [0.0, 0.0, 0.5, 12e3, -2e5, 1e5]
    assert all(type(value) is float for value in found['Floats'])
    assert found['Also floats'] == [math.inf, -math.inf, math.inf]
    texts = ['1:30', 'on', 'yes', '1_000', '0b1', '2020-01-01', '1', 'true', '+', 'e5', '.']
    assert found['Texts'] == texts
    assert found['Nothing'] is None
    assert math.isnan(parse_yaml('.NaN'))
    assert parse_yaml('9' * 5000) == math.inf
    assert parse_yaml('') is None
    assert parse_yaml('{a: 1}\n---\n*b') == {'a': 1}


@pytest.mark.parametrize('number', ['010', '-010', '+07', '00', '08'])
def test_integers_with_leading_zeros_are_rejected(number):
    """The parser of ROS reads 010 as 8."""
    with pytest.raises(YamlError, match=rf'line 2: {re.escape(number)}, which is octal to some'):
        parse_yaml(f'a: 1\nb: [{number}]')
    assert parse_yaml(f'["{number}", {number}.5]') == [number, float(number + '.5')]


@pytest.mark.parametrize('name', NAMES)
def test_a_text_is_read_back_by_every_reader(name):
    for content in ([name], {'joints': [name, 'a'], 'tip_link': name, 'x': 1.0}):
        text = yaml_text(content)
        assert parse_yaml(text) == content
        assert yaml.safe_load(text) == content
    assert quoted(name).splitlines() == [quoted(name)]
    assert parse_yaml(quoted(name)) == name


BOMB = [f'{b}: &{b} [*{a}, *{a}]' for a, b in pairwise('abcdefghijklmno')]
HOSTILE = {
    'brackets': 'joint_names: ' + 100_000 * '[',
    'braces': 100_000 * '{a: ',
    'dashes': 100_000 * '- ',
    'aliases': '\n'.join(['a: &a [x, x]', *BOMB]),
    'merged': 'a: &a {x: 1}\nb: {<<: *a}',
    'tag': '!!python/object/apply:os.system [true]',
    'key twice': 'points: 1\npoints: 2',
    'key of a list': '? [a]\n: 1',
    'null character': 'a: \x00',
}  # fmt: skip


@pytest.mark.parametrize('what', HOSTILE)
def test_hostile_text_is_an_error_of_every_file(tmp_path, what):
    file = tmp_path / 'a.yaml'
    file.write_text(HOSTILE[what])
    with pytest.raises(YamlError):
        parse_yaml(HOSTILE[what])
    with pytest.raises(TrajectoryError, match=r'a\.yaml'):
        read_trajectory(file)
    with pytest.raises(ProfileError, match=r'a\.yaml'):
        load_profile(file)


def test_the_parser_without_c_has_the_same_bounds(monkeypatch):
    monkeypatch.setattr('robot_dynamics.common.yaml_text.LOADER', yaml.SafeLoader)
    for text in HOSTILE.values():
        with pytest.raises(YamlError):
            parse_yaml(text)


def test_a_large_file_is_not_read_whole(tmp_path):
    file = tmp_path / 'a.yaml'
    with file.open('wb') as stream:
        stream.truncate(1 << 40)
    limit = 'import resource; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))'
    code = (
        f'{limit}\nfrom robot_dynamics.common.yaml_text import *\ntry: read_yaml({str(file)!r})\n'
    )
    code += 'except YamlError as error: print(error)'
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
    ended = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=True
    )
    assert 'more than 100000000 bytes' in ended.stdout


@pytest.mark.parametrize('value', ['1:30', 'true', '"0.5"', 'on', '~', '[0.0]', '0.5 rad'])
@pytest.mark.parametrize('field', ['positions', 'velocities', 'accelerations'])
def test_what_is_no_number_is_no_value_of_a_point(tmp_path, field, value):
    file = tmp_path / 'a.yaml'
    fields = {'positions': '0.0', 'velocities': '0.0', 'accelerations': '0.0'} | {field: value}
    point = ', '.join(f'{name}: [{number}]' for name, number in fields.items())
    file.write_text(f'joint_names: [a]\npoints:\n- {{{point}, time_from_start: {{sec: 1}}}}')
    with pytest.raises(TrajectoryError, match=f'{field} of point 0: .*; expected numbers'):
        read_trajectory(file)


@pytest.mark.parametrize('value', ['true', '1:30', '"1"', '1.5'])
@pytest.mark.parametrize('part', ['sec', 'nanosec'])
def test_a_time_is_two_integers(tmp_path, part, value):
    file = tmp_path / 'a.yaml'
    file.write_text(
        f'joint_names: [a]\npoints:\n- {{positions: [0], time_from_start: {{{part}: {value}}}}}'
    )
    with pytest.raises(TrajectoryError, match='expected integers sec and nanosec'):
        read_trajectory(file)


@pytest.mark.parametrize('value', ['true', '1:30', '"0.5"', '[1.0, true]', 'much'])
@pytest.mark.parametrize(
    'entry',
    ['sensors: {latency: %s}', 'drives: {gain: %s}', 'friction: {load: %s}', 'model_error: %s'],
)
def test_what_is_no_number_is_no_value_of_a_profile(tmp_path, entry, value):
    file = tmp_path / 'a.yaml'
    file.write_text(entry % value)
    with pytest.raises(ProfileError, match='expected numbers'):
        load_profile(file)


def test_a_trajectory_of_such_joints_is_read_as_it_was_written(tmp_path):
    n = len(NAMES)
    rows = np.linspace(-1, 1, 2 * n).reshape(2, n)
    write_trajectory(Trajectory(NAMES, [0.0, 1.5], rows), tmp_path / 'a.yaml')
    found = read_trajectory(tmp_path / 'a.yaml')
    assert found.joint_names == tuple(NAMES)
    np.testing.assert_allclose(found.points[0], rows, atol=1e-9)
    assert list(read_yaml(tmp_path / 'a.yaml')) == ['joint_names', 'points']
