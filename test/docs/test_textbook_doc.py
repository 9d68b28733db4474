# SPDX-License-Identifier: Apache-2.0
"""docs/textbook/textbook.md: its examples run, and every exported name is listed."""

import ast
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics import Dynamics, cli, load_urdf, textbook
from robot_dynamics.core.model.robots import planar_2r

DOC = (Path(__file__).resolve().parents[2] / 'docs' / 'textbook' / 'textbook.md').read_text()


def test_the_examples_run_and_print_the_values_of_their_comments(capsys):
    names = {}
    for code in re.findall(r'```python\n(.*?)```', DOC, re.DOTALL):
        capsys.readouterr()
        exec(compile(code, 'textbook.md', 'exec'), names)
        printed = capsys.readouterr().out
        for expected in re.findall(r'# (Operations\(.*\))', code):
            assert expected in printed


def test_the_printed_report_is_that_of_the_example(capsys):
    names = {}
    for code in re.findall(r'```python\n(.*?)```', DOC, re.DOTALL):
        exec(compile(code, 'textbook.md', 'exec'), names)
        if 'report' in names:
            break
    (text,) = re.findall(r'```text\n(.*?)\n```', DOC, re.DOTALL)
    assert repr(names['report']) == text


def test_the_commands_print_what_the_page_shows(capsys):
    for command, output in re.findall(
        r'```console\n\$ robot-dynamics (.*?)\n(.*?)```', DOC, re.DOTALL
    ):
        assert cli.main(command.split()) == 0
        assert capsys.readouterr().out == output


def test_every_exported_name_is_listed():
    table = DOC.split('| name | contents |')[1].split('\n\n')[0]
    assert set(re.findall(r'`(\w+)`', table)) == set(textbook.__all__)


@pytest.mark.parametrize('code', re.findall(r'```python\n(.*?)```', DOC, re.DOTALL))
def test_examples_import_only_exported_names(code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module == 'robot_dynamics.textbook':
            assert {alias.name for alias in node.names} <= set(textbook.__all__)


PROBLEMS = DOC.split('### Problems at the end of the chapter')[1].split('\n## ')[0]
ANSWERS = re.findall(r'^\| (?:.*) \| (.*`.*) \|$', PROBLEMS, re.MULTILINE)
MODEL = planar_2r().with_actuation(viscous=[0.3, 0.2])
ELBOW = textbook.PlanarElbow(l1=0.7, lc1=0.3, lc2=0.25, m1=3.1, m2=1.7, I1=0.12, I2=0.05)
PLACES = ('robot_dynamics', 'robot_dynamics.textbook', 'robot_dynamics.core.model.robot_model')


def robot_of(text):
    """Return the robot that a row names, and one with its functions."""
    if text.startswith('PlanarElbow'):
        return ELBOW, ELBOW
    if text in ('robot', 'model'):
        return MODEL, Dynamics(MODEL)
    if text == "'planar_2r'":
        return load_urdf('planar_2r'), Dynamics(load_urdf('planar_2r'))
    name, values = text.rstrip(')').split('(')
    system = getattr(textbook, name)(*map(float, values.split(',')))
    return system, system


def passes(code):
    """Return the laws that a call `check(robot, name=mine, ...)` of a row checks, if all hold."""
    call = ast.parse(code, mode='eval').body
    robot, right = robot_of(ast.unparse(call.args[0]))
    names = {keyword.arg for keyword in call.keywords}
    place = {'frame': 'tip', 'directions': (3, 4)} if 'frame' in names else {}

    def at_tip(q, qd):
        return right.operational_space(q, qd, **place)

    own = {
        'task_inertia': lambda q: at_tip(q, np.zeros(2)).Lambda,
        'task_bias': lambda q, qd: at_tip(q, qd).eta,
        'generalized_momentum': lambda q, qd: right.mass_matrix(q) @ qd,
        'hamiltonian': lambda q, p: (
            p @ np.linalg.solve(right.mass_matrix(q), p) / 2 + right.potential_energy(q)
        ),
    }
    functions = {name: own.get(name) or getattr(right, name) for name in names - place.keys()}
    report = textbook.check(robot, **functions, **place)
    assert report.passed, report
    return report.checked


def is_found(name):
    for place in ('', *(f'{place}.' for place in PLACES)):
        try:
            pkgutil.resolve_name(place + name)
        except (ModuleNotFoundError, AttributeError):
            continue
        return True
    return False


@pytest.mark.parametrize('answer', ANSWERS)
def test_the_answers_to_problems_are_commands_that_work(answer, capsys):
    checked = []
    for code in re.findall('`([^`]*)`', answer):
        if ' ' in code and code.split()[0] in ('derive', 'terms', 'compare', 'simulate'):
            assert cli.main(code.replace('ROBOT', 'planar_2r').split()) == 0
        elif code.startswith('check('):
            checked += passes(code)
        else:
            assert code in checked or is_found(code.split('(')[0]), code


def test_both_books_have_problems():
    assert len(ANSWERS) > 20
