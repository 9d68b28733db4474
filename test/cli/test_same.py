# SPDX-License-Identifier: Apache-2.0
"""The verb `same`: exit codes, the order of its lines, pairs of joints, and its JSON file."""

import json

import pytest
import urdf_text

from robot_dynamics import load_urdf, write_mjcf

AXES = [f'<axis xyz="{axis}"/>{urdf_text.LIMIT}' for axis in ('0 0 1', '0 1 0', '0 1 0')]


@pytest.fixture
def arm(tmp_path):
    file = tmp_path / 'a.urdf'
    file.write_text(urdf_text.chain(*AXES))
    return file


def written(arm, *changes):
    """Return the file of an arm with other words."""
    text = arm.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = arm.with_name('b.urdf')
    file.write_text(text)
    return file


def test_the_same_robot(run, arm):
    code, output, _ = run('same', arm, arm)
    assert (code, output.splitlines()[-1]) == (0, 'same')
    assert run('same', 'planar_2r', 'planar_2r')[0] == 0


def test_differences_are_printed_and_written(run, arm, tmp_path):
    other = written(arm, ('effort="4"', 'effort="2"'))
    json_file = tmp_path / 'found.json'
    code, output, _ = run('same', arm, other, '--json', json_file)
    assert code == 1
    assert 'DIFFERS effort j1: effort limit 4 / 2 N m' in output
    found = json.loads(json_file.read_text())
    assert found['same'] is False
    assert [(one['kind'], one['subject']) for one in found['findings']] == [
        ('effort', name) for name in ('j1', 'j2', 'j3')
    ]
    assert [joint['name'] for joint in found['joints']] == ['j1', 'j2', 'j3']
    assert all(joint['gravity_torque_difference'] == 0 for joint in found['joints'])


def test_the_largest_cost_is_first_and_torques_are_a_table(run, arm):
    mass = ('<link name="l3"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>', 'value="3"/>')
    other = written(
        arm, (mass[0], mass[0].replace('value="2"/>', mass[1])), ('effort="4"', 'effort="2"')
    )
    code, output, _ = run('same', arm, other)
    lines = [line for line in output.splitlines() if line.startswith('DIFFERS')]
    assert code == 1
    # 1 kg at 0.1 m from both horizontal axes, which coincide
    assert lines[0].startswith('DIFFERS inertia l3: mass 2 / 3 kg; 0.981 of ')
    assert lines[1].startswith('DIFFERS effort j1')
    assert output.splitlines()[-1] == 'differ: 4 differences; values are of A / B'
    (row,) = (line.split() for line in output.splitlines() if line.startswith('j3 '))
    assert row[:4] == ['j3', '0.981', '1.96', 'N']
    # Upside down and in another gravity it costs another torque.
    _, output, _ = run('same', arm, other, '--gravity', 0, 0, 1.62)
    assert 'mass 2 / 3 kg; 0.162 of' in output


def test_other_robots(run, arm):
    code, output, _ = run('same', 'puma560', 'scara_rrp')
    assert code == 3
    assert output.startswith('not one robot: ')
    assert len(output.splitlines()) == 1


def test_joints_are_paired_by_the_option(run, arm):
    names = {'j1': 'third', 'j2': 'first', 'j3': 'second'}
    changes = [(f'joint name="{old}"', f'joint name="{new}"') for old, new in names.items()]
    other = written(arm, *changes)
    words = [f'{old}={new}' for old, new in names.items()]
    code, output, _ = run('same', arm, other, '--joints', *words)
    assert code == 0
    assert 'joints are paired as given: j1=third' in output
    code, _, error = run('same', arm, other, '--joints', 'j1')
    assert (code, '--joints has j1; expected A=B' in error) == (2, True)
    code, _, error = run('same', arm, other, '--joints', 'j1=j1')
    assert (code, "'j1' is unknown; expected one of third, first, second" in error) == (2, True)


def test_a_missing_second_file_is_one_line(run, arm):
    code, output, error = run('same', arm, 'nowhere.urdf')
    assert (code, output, len(error.splitlines())) == (2, '', 1)
    assert 'nowhere.urdf' in error


@pytest.fixture
def mjcf(arm):
    return write_mjcf(load_urdf(arm), arm.with_name('a.xml'))


def test_arguments_go_to_the_descriptions_that_take_them(run, arm, mjcf):
    text = arm.read_text()
    macro = text.replace('<robot ', '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ', 1)
    macro = macro.replace('>', '><xacro:arg name="top" default="wrong"/>', 1)
    macro = macro.replace('"l3"', '"$(arg top)"')
    file = arm.with_name('c.xacro')
    file.write_text(macro)
    for pair in ((arm, file), (file, arm), (file, mjcf), (mjcf, file), (file, file)):
        assert run('same', *pair, 'top:=l3')[0] == 0
    assert run('same', mjcf, file, 'top:=l3', 'root:=world')[0] == 0
    for pair in ((arm, mjcf), (mjcf, arm), (mjcf, mjcf)):
        assert run('same', *pair, 'root:=world')[0] == 0
        code, _, error = run('same', *pair, 'root:=gone')
        assert (code, "root is 'gone'" in error) == (2, True)
        code, _, error = run('same', *pair, 'top:=l3')
        assert (code, "argument 'top' is given" in error) == (2, True)
    code, _, error = run('same', arm, arm, 'top:=l3')
    assert (code, 'expected a .xacro file' in error) == (2, True)


def test_the_gravity_of_an_mjcf_file_is_compared(run, arm, mjcf):
    assert run('same', arm, mjcf)[0] == 0
    up = arm.with_name('up.xml')
    up.write_text(mjcf.read_text().replace('-9.81', '9.81'))
    for pair in ((arm, up), (up, mjcf)):
        code, output, _ = run('same', *pair)
        assert (code, 'DIFFERS gravity base' in output) == (1, True)
        assert run('same', *pair, '--gravity', 0, 0, -9.81)[0] == 0


def test_what_an_mjcf_file_has_beyond_a_model_is_a_remark(run, mjcf, tmp_path):
    spring, report = mjcf.with_name('b.xml'), tmp_path / 'found.json'
    spring.write_text(mjcf.read_text().replace('<joint ', '<joint stiffness="5" ', 1))
    code, output, _ = run('same', mjcf, spring, '--json', report)
    words = "of B: springs of joints are left out: 'j1'"
    assert (code, f'remark: {words}' in output) == (0, True)
    assert words in json.loads(report.read_text())['remarks']
