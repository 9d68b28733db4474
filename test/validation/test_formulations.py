# SPDX-License-Identifier: Apache-2.0
"""Comparison of all derivations: agreement, and detection of a wrong one."""

import sys
from types import ModuleType

import numpy as np
import pytest
import robots

from robot_dynamics import cli
from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.reporting.figures import MatplotlibMissing
from robot_dynamics.common.resources import share_file
from robot_dynamics.core.model.robots import cartesian_arm, five_bar, puma560, random_tree
from robot_dynamics.core.model.states import States
from robot_dynamics.formulations import (
    FORMULATIONS,
    closed_form_matrix,
    newton_euler_link_frame,
)
from robot_dynamics.validation import formulations as comparison_module
from robot_dynamics.validation.formulations import TOLERANCE, Comparison, compare, plot

NAMES = [f.__name__.split('.')[-1] for f in FORMULATIONS]
SAMPLES = {
    'puma560': puma560,
    'random_tree_12': lambda: random_tree(12, np.random.default_rng(112)),
    # torques that vanish
    'decoupled_five_bar': lambda: five_bar(com=(0.5, 0.25, 0.5, 0.25)),
    'cartesian_arm': cartesian_arm,
}


@pytest.fixture(autouse=True)
def one_timing_run(monkeypatch):
    monkeypatch.setattr(comparison_module, 'TIMING_RUNS', 1)
    monkeypatch.setattr(comparison_module, 'SHORTEST_RUN', 0.0)


@pytest.mark.parametrize('name', [*SAMPLES, 'panda', 'ur5'])
def test_all_agree(name):
    model = SAMPLES[name]() if name in SAMPLES else robots.load(name)
    comparison = compare(model, states=4)
    assert comparison.robot == model.name
    assert comparison.names == (*NAMES, 'compiled')
    assert comparison.agrees
    assert comparison.largest < 1e-12
    k = len(comparison.names)
    assert comparison.differences.shape == (k, k)
    assert np.array_equal(comparison.differences, comparison.differences.T)
    assert np.all(np.diag(comparison.differences) == 0)
    # Independent derivations round differently in some state.
    if name == 'random_tree_12':
        assert np.all(comparison.differences[~np.eye(k, dtype=bool)] > 0)
    assert comparison.seconds.shape == (k,)
    assert np.all(comparison.seconds > 0)


def disguised(**changes) -> ModuleType:
    """Return a formulation that is the recursion of link frames, but for some verbs."""
    module = ModuleType('formulations.disguised')
    module.inverse_dynamics = newton_euler_link_frame.inverse_dynamics
    vars(module).update(changes)
    return module


@pytest.mark.parametrize('error', [1e-6, 1e-3])
def test_a_wrong_torque_stands_out(monkeypatch, error):
    def slightly_off(model, q, qd, qdd):
        tau = newton_euler_link_frame.inverse_dynamics(model, q, qd, qdd)
        return tau + error * np.abs(tau).max() * np.eye(model.n)[0]

    wrong = disguised(inverse_dynamics=slightly_off)
    monkeypatch.setattr(comparison_module, 'FORMULATIONS', (*FORMULATIONS, wrong))
    comparison = compare(puma560(), states=3)
    k = comparison.names.index('disguised')
    others = np.arange(len(comparison.names)) != k
    assert not comparison.agrees
    # Its row shows the error, and no other entry does.
    assert comparison.differences[k, others] == pytest.approx(error, rel=1e-3)
    assert comparison.differences[others][:, others].max() < 1e-12
    assert 'NOT ALL WITHIN' in comparison.table()


def test_a_wrong_matrix_differs_from_those_that_exist(monkeypatch):
    """A C with the right C qd that is not the Christoffel matrix differs from those that are."""

    other = disguised(coriolis_matrix=closed_form_matrix.coriolis_matrix_of_recursion)
    monkeypatch.setattr(comparison_module, 'FORMULATIONS', (*FORMULATIONS, other))
    comparison = compare(puma560(), states=3)
    row = comparison.differences[comparison.names.index('disguised')]
    with_C = ['euler_lagrange', 'lagrange_euler_4x4', 'closed_form_matrix', 'compiled']
    for name, value in zip(comparison.names, row, strict=True):
        assert (value > 1e-3) == (name in with_C)


def test_states_are_reproducible_and_can_be_given():
    model = puma560()
    first, second = (compare(model, states=2) for _ in range(2))
    assert np.array_equal(first.differences, second.differences)
    other = compare(model, states=2, rng=np.random.default_rng(5))
    assert not np.array_equal(first.differences, other.differences)
    chosen = States(*np.random.default_rng(6).uniform(-1, 1, (3, 7, 6)))
    assert compare(model, states=chosen).states == 7
    with pytest.raises(ShapeError, match=r'q of the states has shape \(2, 3\); all three must be'):
        compare(model, states=States(*np.zeros((3, 2, 3))))


COMPARISON = Comparison(
    'arm', 10, ('one', 'other_one'), np.array([[0, 2.5e-16], [2.5e-16, 0]]), np.array([3e-3, 4e-7])
)


def test_table():
    assert COMPARISON.table() == (
        'arm: maximum relative difference in 10 states, all within tolerance\n'
        '                    [1]      [2]  time/call\n'
        ' [1] one              ·  2.5e-16       3 ms\n'
        ' [2] other_one  2.5e-16        ·     0.4 µs'
    )
    assert COMPARISON.largest == 2.5e-16
    different = COMPARISON._replace(differences=COMPARISON.differences * 1e8)
    assert not different.agrees
    assert f'NOT ALL WITHIN {TOLERANCE:g}' in different.table()


def test_plot(tmp_path):
    pytest.importorskip('matplotlib')
    file = tmp_path / 'comparison.png'
    figure = plot(COMPARISON, file)
    assert file.read_bytes().startswith(b'\x89PNG')
    agreement, cost = figure.axes[:2]
    assert 'arm' in agreement.get_title()
    assert [bar.get_width() for bar in cost.patches] == pytest.approx([3e-3, 4e-7])
    image = agreement.images[0].get_array()
    assert image[0, 1] == pytest.approx(np.log10(2.5e-16))
    assert plot(COMPARISON).axes  # without a file


def test_comparison_works_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    monkeypatch.setitem(sys.modules, 'matplotlib.figure', None)
    with pytest.raises(MatplotlibMissing, match='pip install matplotlib'):
        plot(COMPARISON)
    assert compare(cartesian_arm(), states=1).agrees


# -- the command line ---------------------------------------------------------------------------

ELBOW = str(share_file('urdf/planar_2r.urdf'))


def test_verb_prints_the_table_and_draws_it(capsys, tmp_path):
    pytest.importorskip('matplotlib')
    picture = tmp_path / 'comparison.png'
    assert cli.main(['compare', ELBOW, '--states', '3', '--picture', str(picture)]) == 0
    title, _, *lines = capsys.readouterr().out.splitlines()
    assert title == 'planar_2r: maximum relative difference in 3 states, all within tolerance'
    assert [line.split()[1] for line in lines] == [*NAMES, 'compiled']
    assert picture.read_bytes().startswith(b'\x89PNG')


def test_verb_fails_where_formulations_differ(capsys, monkeypatch):
    wrong = disguised(gravity_torque=lambda model, q: np.ones(model.n))
    monkeypatch.setattr(comparison_module, 'FORMULATIONS', (*FORMULATIONS, wrong))
    assert cli.main(['compare', ELBOW]) == 1
    assert 'NOT ALL WITHIN' in capsys.readouterr().out


def test_verb_rejects_zero_states_in_one_line(capsys):
    with pytest.raises(SystemExit) as exit_:
        cli.main(['compare', ELBOW, '--states', '0'])
    assert exit_.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert 'argument --states: is 0; expected an integer from 1 to 1000000' in line
