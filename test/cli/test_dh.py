# SPDX-License-Identifier: Apache-2.0
"""`--dh TABLE.csv --convention ...` takes the place of the robot in every verb that has one."""

import numpy as np
import pytest
from verbs import options_of, verbs

import robot_dynamics as rd
from robot_dynamics import cli
from robot_dynamics.cli import commands, options

TABLE = """a,   alpha, d, theta, type,     mass, com,      inertia
0.4, 0,     0, 0,     revolute, 3,    -0.2 0 0, 0.0009 0.0404 0.0404
0.3, pi/2,  0, 0,     revolute, 1.5,  -0.15 0 0, 0.0003 0.0114 0.0114
"""


@pytest.fixture
def table(tmp_path):
    file = tmp_path / 'arm.csv'
    file.write_text(TABLE)
    return file


@pytest.fixture
def run(capsys):
    def run(*arguments):
        try:
            code = cli.main(list(map(str, arguments)))
        except SystemExit as error:
            code = error.code
        return code, *capsys.readouterr()

    return run


def test_every_verb_with_a_robot_takes_a_table():
    having = {
        name: {option.dest for option in options_of(parser)} for name, parser in verbs().items()
    }
    robots = {name for name, found in having.items() if 'robot' in found}
    assert robots == {name for name, found in having.items() if {'dh', 'convention'} <= found}
    assert {'check', 'view', 'derive', 'evaluate', 'trajectory', 'demo'} <= robots


@pytest.mark.parametrize('convention', ['standard', 'modified'])
def test_a_verb_gets_the_robot_of_the_table(convention, table):
    """The convention is that of the option: the same letters are two robots."""
    given = commands.parser().parse_args(['terms', '--dh', str(table), '--convention', convention])
    expected = rd.load_dh(table, convention=convention)
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 2))
    with options.urdf_of_table(given), pytest.warns(UserWarning, match='limits are not'):
        arm = rd.Dynamics(rd.load_urdf(given.robot))
    assert arm.model.name == 'arm'
    tau = rd.Dynamics(expected).inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(arm.inverse_dynamics(q, qd, qdd), tau, rtol=1e-12)
    assert not given.robot.exists()


def test_a_table_is_checked_and_nothing_is_wrong(table, run):
    code, shown, errors = run('check', '--dh', table, '--convention', 'standard', '--strict')
    assert (code, errors) == (0, '')
    assert 'arm: 2 joints, 2 moving bodies of 4.5 kg' in shown
    assert shown.endswith(
        'no faults found; 2 things cannot be checked without --reference OTHER.urdf: sign of 2 '
        'joint axes, kg or pounds of 2 masses\n'
    )


def test_a_table_is_derived(table, run):
    pytest.importorskip('sympy')
    code, shown, _ = run('derive', '--dh', table, '--convention', 'standard')
    assert code == 0
    assert 'd_{11}' in shown


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['check'], 'one of the arguments robot --dh is required'),
        (['check', 'panda', '--dh', 'TABLE'], 'argument --dh: not allowed with argument robot'),
        (['check', '--dh', 'TABLE'], '--dh and --convention belong together'),
        (['check', 'panda', '--convention', 'standard'], '--dh and --convention belong together'),
        (['check', '--dh', '/no.csv', '--convention', 'standard'], '--dh /no.csv: No such file'),
        (
            ['evaluate', 'bag', '--robot', 'panda', '--dh', 'TABLE'],
            'not allowed with argument --r',
        ),
        (['trajectory', 'file'], 'one of the arguments --robot --dh is required'),
    ],
)
def test_other_combinations_are_rejected_in_one_line(words, message, table, run):
    code, shown, errors = run(*(str(table) if word == 'TABLE' else word for word in words))
    assert (code, shown) == (2, '')
    assert message in errors
    assert errors.count('\n') == 1


def test_a_wrong_cell_is_named_with_its_file_and_option(table, run):
    table.write_text(TABLE.replace('pi/2', 'right'))
    code, _, errors = run('terms', '--dh', table, '--convention', 'standard')
    assert code == 2
    assert errors.startswith(f"robot-dynamics: --dh {table}: row 1: alpha is 'right'; it must be")


@pytest.mark.parametrize('verb', ['terms', 'derive', 'compare'])
def test_verbs_that_apply_no_limits_do_not_warn_of_them(verb, run, table):
    code, _, errors = run(verb, '--dh', table, '--convention', 'standard')
    assert code == 0
    assert 'limits' not in errors


def test_a_verb_that_applies_limits_warns_in_one_line(run, table):
    _, _, errors = run('gains', '--dh', table, '--convention', 'standard')
    assert errors.count('velocity, effort of joint1, joint2') == 1
    assert errors.count('\n') == 1
