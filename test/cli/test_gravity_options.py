# SPDX-License-Identifier: Apache-2.0
"""`--gravity` and `--base-orientation` of every verb that computes torques."""

import re

import numpy as np
import pytest
import urdf_text
from verbs import WORDS, options_of, verbs, words_of, write_inputs

from robot_dynamics import cli
from robot_dynamics.cli.demo import demo_robot
from robot_dynamics.cli.demo_nodes import NODES, node_parameters
from robot_dynamics.cli.options import gravity_in_base, mounting
from robot_dynamics.common.spatial import rotation_rpy
from robot_dynamics.control import Gains
from robot_dynamics.ros.robot_parameters import RobotParameters

WITHOUT = {'gains', 'record', 'send'}  # no gravity torque: `gains` has the mass matrix alone
AXES = (f'<axis xyz="0 0 1"/>{urdf_text.LIMIT}', f'<axis xyz="0 1 0"/>{urdf_text.LIMIT}')
RPY = (0.4, -1.1, 0.7)
MOUNTED = ('--base-orientation', *RPY)
INVALID = [np.nan] * 3
TABLE = """a, alpha, d, theta, type, mass, com, inertia
0.4, 0, 0, 0, revolute, 3, -0.2 0 0, 0.0009 0.0404 0.0404
0.3, 0, 0, 0, revolute, 1.5, -0.15 0 0, 0.0003 0.0114 0.0114
"""


@pytest.fixture
def arm(tmp_path):
    """Return the file of an arm, beside a recording and a motion of its first joint."""
    write_inputs(tmp_path)
    file = tmp_path / 'arm.urdf'
    file.write_text(urdf_text.chain(*AXES))
    return file


@pytest.fixture
def turned(arm):
    """Return the file of the same arm on a fixed joint that is turned by RPY."""
    text = arm.read_text().replace('</robot>', '')
    mount = f'<origin rpy="{urdf_text.vector(RPY)}"/>'
    file = arm.with_name('turned.urdf')
    file.write_text(
        f'{text}{urdf_text.link("wall", "")}'
        f'{urdf_text.joint("mount", "wall", "l0", mount, "fixed")}</robot>'
    )
    return file


def torques(output):
    """Return g of the output of `terms`."""
    text = output.partition('gravity torque g, N m\n')[2].partition(']')[0]
    return np.array([float(word) for word in re.findall(r'-?\d+\.\d*', text)])


def test_every_verb_that_computes_torques_has_both_options():
    having = {
        name: {option.dest for option in options_of(parser)} for name, parser in verbs().items()
    }
    both = {name for name, found in having.items() if {'gravity', 'base_orientation'} <= found}
    assert both == having.keys() - WITHOUT
    assert not any('gravity' in having[name] for name in WITHOUT)


@pytest.mark.parametrize('verb', sorted(WORDS.keys() - WITHOUT))
def test_both_options_reach_the_robot_of_every_verb(run, arm, verb, monkeypatch):
    if verb in ('demo', 'view'):
        pytest.importorskip('rclpy' if verb == 'demo' else 'viser')

    def found(parameters):
        assert tuple(parameters.gravity) == (1.0, 2.0, 3.0)
        assert tuple(parameters.base_orientation) == RPY
        return INVALID

    monkeypatch.setattr(RobotParameters, 'gravity_in_base', found)
    code, _, error = run(verb, *words_of(verb, arm), '--gravity', 1, 2, 3, *MOUNTED)
    assert code == 2
    assert f'gravity is {INVALID}' in error


def test_a_turned_arm_has_the_torques_of_one_on_a_turned_joint(run, arm, turned):
    posture = ('--q', 0.3, -0.5)
    _, output, _ = run('terms', arm, *posture, *MOUNTED)
    _, expected, _ = run('terms', turned, *posture)
    assert output == expected
    g, upright = torques(output), torques(run('terms', arm, *posture)[1])
    assert np.abs(g).min() > 0.1
    assert upright[0] == 0
    # The robot is linear in gravity, which may be given in the base frame as well.
    gravity = rotation_rpy(*RPY).T @ [0.0, 0.0, -2 * 9.81]
    doubled = run('terms', arm, *posture, '--gravity', *gravity)[1]
    np.testing.assert_allclose(torques(doubled), 2 * g, atol=2e-6)
    assert not torques(run('terms', arm, *posture, '--gravity', 0, 0, 0)[1]).any()


@pytest.mark.parametrize('verb', ['simulate', 'derive'])
def test_a_turned_arm_moves_as_one_on_a_turned_joint(run, arm, turned, verb):
    words = ('--duration', 0.2) if verb == 'simulate' else ('--numbers',)
    one, other = run(verb, arm, *words, *MOUNTED)[1], run(verb, turned, *words)[1]
    hidden = r'[\d.]+ x real time|drift \S+|-?[\d.]+e-\d\d'
    assert re.sub(hidden, '', one) == re.sub(hidden, '', other)
    assert one != run(verb, arm, *words)[1]


def test_check_holds_a_mounted_arm(run, arm):
    """An effort limit of 3 N m does not hold the first joint of the arm on a wall, 3.9 N m."""
    sideways = ('--base-orientation', 1.5707963267948966, 0, 0)
    rows = re.compile(r'^  (\w+): holding the arm at rest', re.MULTILINE)
    arm.write_text(arm.read_text().replace('effort="4"', 'effort="3"'))
    assert rows.findall(run('check', arm, *sideways)[1]) == ['j1']
    assert rows.findall(run('check', arm)[1]) == []


def test_the_nodes_of_the_demo_have_the_gravity_of_the_options(arm):
    given = ['demo', '--robot', str(arm), '--gravity', '0', '0', '-9.7', *map(str, MOUNTED)]
    options = cli.commands.parser().parse_args(given)
    robot = demo_robot(arm, gravity=gravity_in_base(options))
    gains = Gains(np.ones(2), np.ones(2))
    parameters = node_parameters(robot.source | mounting(options), {}, np.zeros(2), gains)
    assert parameters.keys() == set(NODES)
    for row in parameters.values():
        mounted = RobotParameters(gravity=row['gravity'], base_orientation=row['base_orientation'])
        np.testing.assert_array_equal(mounted.gravity_in_base(), robot.arm.model.gravity)


@pytest.mark.parametrize(
    ('words', 'reason'),
    [
        ('demo --touch --gravity 0 0 0', '--touch takes no --robot, --duration, --gravity and'),
        (
            'export panda --language c --functions gravity_torque --output unwritten '
            '--variable gravity --base-orientation 0 0 1',
            '--variable gravity makes gravity an input',
        ),
    ],
)
def test_options_without_effect_are_rejected(run, words, reason):
    code, _, error = run(*words.split())
    assert (code, reason in error) == (2, True), error


@pytest.mark.parametrize('degrees', [-30, 45, 90, 180])
def test_degrees_are_beyond_the_range_of_the_parameter(run, arm, capsys, degrees):
    with pytest.raises(SystemExit):
        run('terms', arm, '--base-orientation', 0, degrees, 0)
    expected = f'is {degrees}; expected a number from -6.2832 to 6.2832'
    assert expected in capsys.readouterr().err


def test_one_turn_is_within_the_range(run, arm):
    assert run('terms', arm, '--base-orientation', 2 * np.pi, -2 * np.pi, 0)[0] == 0


# -- the remark -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('words', 'remark'),
    [
        ((), 'j1 has g = 0: its axis is parallel to gravity'),
        (('--base-orientation', 3.141592653589793, 0, 0), 'j1 has g = 0: its axis is parallel'),
        (('--base-orientation', 0.01, 0, 0), ''),
        (('--gravity', 0, 9.81, 0), ''),  # j2 is parallel to it in one posture only
        (('--gravity', 0, 0, 0), ''),
    ],
)
def test_terms_names_the_joints_without_gravity_torque(run, arm, words, remark):
    output = run('terms', arm, *words)[1]
    assert remark in output
    assert output.count('has g = 0') == bool(remark)


def test_a_table_with_vertical_axes_names_the_options(run, tmp_path):
    (tmp_path / 'arm.csv').write_text(TABLE)
    words = ('--dh', tmp_path / 'arm.csv', '--convention', 'standard')
    remark = 'joint1, joint2 have g = 0: their axes are parallel to gravity; for a'
    for verb in ('terms', 'check', 'derive', 'simulate'):
        output = ''.join(run(verb, *words)[1:])
        assert remark in output
        assert output.count('for a vertical plane of motion: --gravity 0 -9.81 0') == 1
        assert 'g = 0' not in ''.join(run(verb, *words, '--gravity', 0, -9.81, 0)[1:])


def test_a_slide_across_gravity_has_none(run, arm):
    slide = '<axis xyz="1 0 0"/><limit lower="-1" upper="2" velocity="3" effort="40"/>'
    arm.write_text(urdf_text.chain(slide, kind='prismatic'))
    assert 'j1 has g = 0: its axis is perpendicular to gravity' in run('terms', arm)[1]
    assert 'g = 0' not in run('terms', arm, '--base-orientation', 0, 0.1, 0)[1]
