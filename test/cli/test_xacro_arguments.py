# SPDX-License-Identifier: Apache-2.0
"""Arguments of xacro files, name:=value, on every verb that has a robot."""

import pytest
import urdf_text
from verbs import WORDS, words_of, write_inputs

from robot_dynamics.cli.commands import parser
from robot_dynamics.cli.demo import demo_robot

HEAD = '<robot name="test" xmlns:xacro="http://www.ros.org/wiki/xacro">'
BODY = urdf_text.chain(urdf_text.LIMIT).partition('>')[2].partition('</robot>')[0]
LIMITED = BODY.replace('upper="2"', 'upper="$(arg reach)"')
BAD = 'reach:=-9'  # rejected: lower > upper
OTHERS = {'check', 'record', 'send'}


@pytest.fixture
def file(tmp_path):
    """Return a xacro file with the argument `reach`, beside a recording and a motion."""
    write_inputs(tmp_path)
    file = tmp_path / 'arm.xacro'
    file.write_text(f'{HEAD}{LIMITED}</robot>')
    return file


def test_the_table_of_verbs_is_complete():
    (verbs,) = (a.choices for a in parser()._actions if a.choices)
    assert set(verbs) == WORDS.keys() | OTHERS


@pytest.mark.parametrize('verb', WORDS)
def test_every_verb_takes_arguments_and_names_a_missing_one(run, file, verb):
    if verb in ('demo', 'view'):
        pytest.importorskip('rclpy' if verb == 'demo' else 'viser')
    words = words_of(verb, file)
    code, _, error = run(verb, *words)
    assert (code, 'expected reach:=VALUE' in error) == (2, True), error
    code, _, error = run(verb, *words, BAD)
    assert (code, 'upper=-9' in error) == (2, True), error


def test_arguments_stand_before_and_after_options(run, file):
    expected = run('terms', file, 'reach:=1')
    assert expected[0] == 0
    assert run('terms', 'reach:=1', file) == expected
    assert run('terms', file, '--q', 0, 'reach:=1') == expected
    assert run('terms', file, '--package-path', file.parent, 'reach:=1') == expected
    assert run('terms', file)[0] == 2  # nothing of the last call is left


def test_check_shows_the_limits_of_its_arguments_and_warns_of_an_unused_one(run, file):
    _, output, error = run('check', file, 'reach:=1.25', 'reech:=3')
    assert ' 1.25 ' in output
    assert 'that the xacro or MJCF file becomes' in output
    assert error.count('warning: ') == 1
    assert 'does not use xacro arguments reech' in error


def test_an_unused_argument_is_a_warning_once(run, file):
    code, _, error = run('gains', file, 'reach:=1', 'reech:=3')
    assert (code, error.count('does not use xacro arguments reech')) == (0, 1)


@pytest.mark.parametrize(
    ('words', 'reason'),
    [
        (('terms', 'panda', 'a:=1'), 'panda: xacro arguments are given (a); expected a .xacro'),
        (('terms', 'panda', 'a:=1', 'a:=2'), "'a' is given twice"),
        (('view', 'a:=1'), 'a:=1 is an argument of a .xacro or MJCF file; expected its path'),
        (('demo', '--touch', 'a:=1'), '--touch takes no --robot'),
        (('record', 'new', 'a:=1'), 'a:=1 is an argument of a .xacro or MJCF file'),
    ],
)
def test_arguments_without_a_xacro_file_are_rejected(run, words, reason):
    code, _, error = run(*words)
    assert code == 2
    assert reason in error


def test_find_searches_the_given_folders(run, tmp_path):
    (tmp_path / 'far' / 'arm-main').mkdir(parents=True)
    (tmp_path / 'far' / 'arm-main' / 'package.xml').write_text(
        '<package><name>arm_description</name></package>'
    )
    (tmp_path / 'far' / 'arm-main' / 'body.xacro').write_text(f'{HEAD}{BODY}</robot>')
    file = tmp_path / 'near.xacro'
    file.write_text(
        f'{HEAD}<xacro:include filename="$(find arm_description)/body.xacro"/></robot>'
    )
    code, _, error = run('terms', file)
    assert code == 2
    assert '--package-path DIR' in error
    assert run('terms', file, '--package-path', tmp_path / 'far')[0] == 0


def test_the_demo_gives_its_nodes_the_expansion(file):
    robot = demo_robot(file, {'reach': '0.7'})
    assert robot.arm.model.upper == 0.7
    assert 'upper="0.7"' in robot.source['robot_description']
