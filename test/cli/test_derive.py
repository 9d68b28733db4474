# SPDX-License-Identifier: Apache-2.0
"""The verb `derive`: LaTeX, a Python module, and errors in one line."""

import sys

import numpy as np
import pytest

from robot_dynamics import cli
from robot_dynamics.core.model import robots
from robot_dynamics.formulations.newton_euler_link_frame import inverse_dynamics
from robot_dynamics.textbook import derive
from robot_dynamics.urdf.loading import load_urdf

pytest.importorskip('sympy')


@pytest.fixture
def run(capsys):
    def run(*arguments):
        code = cli.main(['derive', *map(str, arguments)])
        output, errors = capsys.readouterr()
        return code, output, errors

    return run


def test_latex_is_printed(run):
    code, output, errors = run('planar_2r', '--notation', 'siciliano')
    assert (code, errors) == (0, '')
    assert output == derive(load_urdf('planar_2r'), 'siciliano').latex() + '\n'


def test_a_module_is_printed(run):
    code, output, _ = run('planar_2r', '--as', 'python', '--numbers')
    assert code == 0
    module = {}
    exec(output, module)
    assert module['gravity_torque']([0.0, 0.0]) == pytest.approx([19.62, 4.905])


def test_a_part_of_a_robot(run):
    assert run('panda', '--tip-link', 'panda_link2')[0] == 0


def test_too_many_joints_are_an_error(run):
    code, output, errors = run('panda')
    assert (code, output) == (2, '')
    assert errors.startswith("robot-dynamics: robot 'panda' has 7 joints")
    assert errors.count('\n') == 1


def test_an_unknown_notation_is_an_error(capsys):
    with pytest.raises(SystemExit, match='2'):
        cli.main(['derive', 'planar_2r', '--notation', 'craig'])
    assert "invalid choice: 'craig'" in capsys.readouterr().err


def test_without_sympy(run, monkeypatch):
    monkeypatch.setitem(sys.modules, 'sympy', None)
    code, _, errors = run('planar_2r')
    assert code == 2
    assert errors.endswith("pip install sympy, or in a checkout pip install '.[derive]'\n")


@pytest.mark.parametrize('name', robots.TEXTBOOK_ROBOTS)
def test_textbook_robots_are_known_by_name(run, name):
    code, output, _ = run(name, '--as', 'python')
    assert code == 0
    module = {}
    exec(output, module)
    model = robots.TEXTBOOK_ROBOTS[name]()
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, model.n))
    expected = inverse_dynamics(model, q, qd, qdd)
    np.testing.assert_allclose(module['inverse_dynamics'](q, qd, qdd), expected, atol=1e-12)


def test_gravity_of_a_textbook_robot_is_an_option(run):
    assert 'g_{1}(q) &= 0' in run('point_mass_2r', '--gravity', '0', '0', '-9.81')[1]


@pytest.mark.parametrize('verb', ['derive', 'terms', 'compare', 'simulate'])
def test_an_unknown_name_and_the_help_list_the_textbook_robots(verb, capsys):
    assert cli.main([verb, 'elbow']) == 2
    error = capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main([verb, '--help'])
    words = capsys.readouterr().out.replace(',', ' ').split()
    for name in robots.TEXTBOOK_ROBOTS:
        assert name in error
        assert name in words
    assert f'{verb}' in error.partition('; expected')[2]


def test_a_textbook_robot_has_no_urdf(capsys):
    assert cli.main(['check', 'five_bar']) == 2
    assert 'five_bar: is a textbook robot without a URDF; derive' in capsys.readouterr().err
