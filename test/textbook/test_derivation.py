# SPDX-License-Identifier: Apache-2.0
"""Derived equations of motion: the printed results of the books, and the library's numbers."""

import ast
import re
import sys

import numpy as np
import pytest

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model import robots as samples
from robot_dynamics.core.model.dh import from_dh
from robot_dynamics.textbook import SympyMissing, check, derive
from robot_dynamics.textbook.derivation.notations import NOTATIONS
from robot_dynamics.urdf.loading import load_urdf

sympy = pytest.importorskip('sympy')

ELBOW = samples.planar_2r((0.7, 0.5), (0.3, 0.25), (3.1, 1.7), (0.12, 0.05))


def expression(text):
    return sympy.sympify(text, locals={name: sympy.Symbol(name) for name in ('I1', 'I2', 'g')})


def parts(sum_):
    return set(sympy.Add.make_args(sum_))


# -- printed results --------------------------------------------------------------------------


def test_the_elbow_of_spong_term_by_term():
    """Section 6.4.2, (6.86)-(6.90)."""
    d = derive(ELBOW, 'spong')
    # The same terms, not only the same function.
    assert parts(d.M[0, 0]) == {
        expression('m1*lc1**2'),
        expression('m2*(l1**2 + lc2**2 + 2*l1*lc2*cos(q2))'),
        expression('I1'),
        expression('I2'),
    }
    assert d.M[0, 1] == d.M[1, 0]
    assert parts(d.M[0, 1]) == {expression('m2*(lc2**2 + l1*lc2*cos(q2))'), expression('I2')}
    assert parts(d.M[1, 1]) == {expression('m2*lc2**2'), expression('I2')}
    ((h, value),) = d.h.items()
    assert str(h) == 'h'
    assert value == expression('-m2*l1*lc2*sin(q2)')
    rows = [[h * d.qd[1], h * (d.qd[0] + d.qd[1])], [-h * d.qd[0], sympy.Integer(0)]]
    assert d.C.tolist() == rows
    assert parts(d.g[0]) == {
        expression('(m1*lc1 + m2*l1)*g*cos(q1)'),
        expression('m2*lc2*g*cos(q1 + q2)'),
    }
    assert d.g[1] == expression('m2*lc2*g*cos(q1 + q2)')


def test_the_elbow_of_the_bundled_urdf_has_the_same_letters():
    assert derive(load_urdf('planar_2r')).M == derive(ELBOW).M


def test_the_latex_of_the_elbow():
    text = derive(ELBOW, 'spong').latex()
    for row in (
        'd_{11} &= m_{1} \\ell_{c1}^{2} + m_{2} (\\ell_{1}^{2} + \\ell_{c2}^{2} '
        '+ 2 \\ell_{1} \\ell_{c2} c_{2}) \\\\\n&\\qquad {} + I_{1} + I_{2} \\\\\n',
        'h &= -m_{2} \\ell_{1} \\ell_{c2} s_{2} \\\\\n',
        'c_{12}(q, \\dot{q}) &= h (\\dot{q}_{1} + \\dot{q}_{2}) \\\\\n',
        'g_{1}(q) &= (m_{1} \\ell_{c1} + m_{2} \\ell_{1}) g c_{1} + m_{2} \\ell_{c2} g c_{12}',
        '\nc_{12} &= \\cos (q_{1} + q_{2})\n',
    ):
        assert row in text
    assert text.startswith('% planar_2r, in the letters of Spong')
    assert text.endswith('\\end{align*}')


def test_the_parameters_of_spong():
    """Y and Theta of the elbow, (6.123)-(6.133), in their order."""
    Y, Theta = derive(ELBOW, 'spong').regressor()
    expected = [
        'm1*lc1**2 + m2*(l1**2 + lc2**2) + I1 + I2',
        'm2*l1*lc2',
        'm2*lc2**2 + I2',
        'm1*lc1 + m2*l1',
        'm2*lc2',
    ]
    assert [(x - expression(e)).expand() for x, e in zip(Theta, expected, strict=True)] == [0] * 5
    row = ['cos(q2)*(2*qdd1 + qdd2) - sin(q2)*(2*qd1*qd2 + qd2**2)', 'g*cos(q1 + q2)']
    assert (Y[0, 1] - expression(row[0])).expand() == 0
    assert Y[1, 4] == expression(row[1])
    assert Y[1, 0] == Y[1, 3] == 0


def test_squares_are_squares():
    d = derive(load_urdf('panda', tip_link='panda_link2'))
    waves = d.M[0, 0].atoms(sympy.cos, sympy.sin)
    assert waves == {sympy.cos(d.q[1]), sympy.sin(d.q[1])}
    assert sympy.sin(d.q[1]) ** 2 * sympy.Symbol('I2xx') in parts(d.M[0, 0])


def test_three_links_have_factors():
    """Without them the Coriolis matrix of three links repeats each Christoffel symbol."""
    d = derive(load_urdf('puma560', tip_link='link3'))
    assert [str(h) for h in d.h] == ['h1', 'h2', 'h3', 'h4', 'h5']
    assert d.C.free_symbols <= {*d.h, *d.qd}
    assert d.coriolis_torque().free_symbols <= {*d.h, *d.qd}


def test_the_two_link_arm_of_lynch_and_park():
    """Draft, section 9.1.1, with the misprints corrected."""
    d = derive(samples.point_mass_2r(), 'lynch-park')
    M = [
        ['(m1 + m2)*L1**2 + m2*(2*L1*L2*cos(theta2) + L2**2)', 'm2*(L1*L2*cos(theta2) + L2**2)'],
        ['m2*(L1*L2*cos(theta2) + L2**2)', 'm2*L2**2'],
    ]
    assert (
        (d.M - sympy.Matrix([[expression(x) for x in row] for row in M])).expand().is_zero_matrix
    )
    c = [
        '-m2*L1*L2*sin(theta2)*(2*thetad1*thetad2 + thetad2**2)',
        'm2*L1*L2*thetad1**2*sin(theta2)',
    ]
    torque = d.coriolis_torque()
    assert (torque - sympy.Matrix([expression(x) for x in c])).expand().is_zero_matrix
    g = [
        '(m1 + m2)*L1*g*cos(theta1) + m2*g*L2*cos(theta1 + theta2)',
        'm2*g*L2*cos(theta1 + theta2)',
    ]
    assert (d.g - sympy.Matrix([expression(x) for x in g])).expand().is_zero_matrix
    assert '\\mathfrak{m}_{2} L_{2}^{2}' in d.latex()


def test_the_five_bar_linkage_of_spong():
    """Section 6.4.4, (6.107)-(6.110)."""
    d = derive(samples.five_bar())
    coupling = '(m3*l2*lc3 - m4*l1*lc4)*cos(q2 - q1)'
    assert parts(d.M[0, 0]) == {
        expression(x) for x in ('m1*lc1**2', 'm3*lc3**2', 'm4*l1**2', 'I1', 'I3')
    }
    assert (d.M[0, 1] - expression(coupling)).expand() == 0
    assert d.g[0] == expression('g*cos(q1)*(m1*lc1 + m3*lc3 + m4*l1)')
    assert d.g[1] == expression('g*cos(q2)*(m2*lc2 + m3*l2 - m4*lc4)')


def test_the_remotely_driven_elbow_of_spong():
    """Section 6.4.3: the coupling of (6.96) depends on p2 - p1 alone, g1 on p1, g2 on p2."""
    d = derive(samples.remote_elbow())
    assert d.M[0, 1] == expression('m2*l1*lc2*cos(q1 - q2)')
    assert d.g[1] == expression('m2*lc2*g*cos(q2)')


def test_letters_of_the_other_books():
    d = derive(ELBOW, 'siciliano')
    assert parts(d.M[1, 1]) == {expression('ml2*l2**2'), sympy.Symbol('Il2')}
    assert 'b_{22} &= m_{\\ell_2} \\ell_{2}^{2} + I_{\\ell_2}' in d.latex()
    text = derive(ELBOW, 'milicevic').latex()
    assert 'D_{22} &=' in text
    assert 'h_{2}(q, \\dot{q}) &= m_{2} a_{1} \\bar{r}_{2} s_{2} \\dot{q}_{1}^{2}' in text
    assert 'c_{2}(q) &= m_{2} \\bar{r}_{2} g c_{12}' in text


# -- numbers ----------------------------------------------------------------------------------


def spatial_arm(n):
    rng = np.random.default_rng(n)
    kinematics = [(0.0, np.pi / 2, 0.3, 0.0), (0.4, 0.0, 0.0, 0.0), (0.3, 0.2, 0.1, 0.0)]
    return from_dh(
        [(*row, 'revolute') for row in kinematics[:n]],
        convention='standard',
        inertias=[samples.random_inertial(rng) for _ in range(n)],
        name=f'spatial_{n}',
    )


def geared():
    return samples.geared_link(37.0, 2e-4, 0.61, 2.1, 0.43)


MODELS = {
    'elbow': ELBOW,
    'urdf': load_urdf('planar_2r'),
    'scara': load_urdf('scara_rrp'),
    'five_bar': samples.five_bar(),
    'remote_elbow': samples.remote_elbow(),
    'cartesian': samples.cartesian_arm(),
    'geared_link': geared(),
    'panda_2': load_urdf('panda', tip_link='panda_link2'),
    'tree': samples.random_tree(3, np.random.default_rng(0)),
    'spatial_2': spatial_arm(2),
}


def assert_the_same(model, **options):
    module = {}
    text = derive(model, **options).python()
    ast.parse(text)
    exec(text, module)
    report = check(
        Dynamics(model),
        mass_matrix=module['mass_matrix'],
        coriolis_matrix=module['coriolis_matrix'],
        gravity_torque=module['gravity_torque'],
        inverse_dynamics=module['inverse_dynamics'],
        tolerance=2e-13,
    )
    assert report.passed, report


@pytest.mark.parametrize('name', MODELS)
@pytest.mark.parametrize('numbers', [False, True])
def test_the_module_has_the_numbers_of_the_library(name, numbers):
    assert_the_same(MODELS[name], numbers=numbers)


@pytest.mark.parametrize('notation', NOTATIONS)
def test_every_notation_has_the_same_numbers(notation):
    assert_the_same(ELBOW, notation=notation)


@pytest.mark.slow
@pytest.mark.parametrize('numbers', [False, True])
def test_three_joints_in_space(numbers):
    assert_the_same(spatial_arm(3), numbers=numbers)


# -- printed equations, read back and evaluated --------------------------------------------------


def read_back(text, derived, state):
    """Return the values of all left sides of printed equations, by their text."""
    numbers = {}
    for symbols, values, mark in zip(
        (derived.q, derived.qd, derived.qdd),
        state,
        ('{}', r'\dot{{{}}}', r'\ddot{{{}}}'),
        strict=True,
    ):
        letter = mark.format(derived.notation.q[1])
        numbers |= {f'{letter}_{{{j}}}': x for j, x in enumerate(values, start=1) if symbols}
    numbers |= {derived.notation.latex(p): p.value for p in derived.parameters if p.kind != 'd'}
    body = text.split('\\begin{align*}\n')[1].split('\n\\end')[0]
    rows = body.replace(' \\\\\n&\\qquad {}', '').replace('\n  ', ' ').split(' \\\\\n')
    equations = [row.split(' &= ') for row in reversed(rows)]
    # Cosines are defined below the lines that use them, factors above.
    for left, right in sorted(equations, key=lambda row: '(' in row[0]):
        used = sorted(numbers, key=len, reverse=True)
        for name in used:
            right = right.replace(name, f'@{used.index(name)}@')
        assert '_' not in right, (left, right)  # a symbol without a value
        right = re.sub(r'\\tfrac\{(\d+)\}\{(\d+)\}', r'(\1/\2)', right)
        right = re.sub(r'\\(cos|sin) (@\d+@)', r'\1(\2)', right)
        right = re.sub(r'\\(cos|sin)(?:\^\{2\})? ?', r'\1', right.replace('^{2}', '**2'))
        right = re.sub(r'(?<=[@\d)]) (?=[@\d(cs])', '*', right)
        right = re.sub(r'@(\d+)@', lambda m: f'v[{m[1]}]', right)
        value = eval(right, {'cos': np.cos, 'sin': np.sin, 'v': [numbers[n] for n in used]})
        numbers |= dict.fromkeys(left.split(' = '), value)
    return numbers


def assert_printed(model, notation):
    derived, arm = derive(model, notation), Dynamics(model)
    state = np.random.default_rng(4).uniform(-1.5, 1.5, (3, model.n))
    q, qd, qdd = state
    tau, n = arm.inverse_dynamics(q, qd, qdd), range(1, model.n + 1)
    text, regressor = derived.latex(), derived.regressor_latex()
    # Directions of axes that are no simple numbers are printed with six digits.
    relative = 1e-5 if re.search(r'\d\.\d', text) else 1e-12
    tolerance = {'rtol': relative, 'atol': relative * np.abs(tau).max()}
    letters = derived.notation
    x, xd = letters.q[1], f'\\dot{{{letters.q[1]}}}'
    values = read_back(text, derived, state)
    M = [[values[f'{letters.M}_{{{i}{j}}}'] for j in n] for i in n]
    np.testing.assert_allclose(M, arm.mass_matrix(q), **tolerance)
    if letters.has_coriolis_matrix:
        C = [[values[f'{letters.C}_{{{i}{j}}}({x}, {xd})'] for j in n] for i in n]
        np.testing.assert_allclose(C, arm.coriolis_matrix(q, qd), **tolerance)
    else:
        c = [values[f'{letters.C}_{{{i}}}({x}, {xd})'] for i in n]
        np.testing.assert_allclose(c, arm.coriolis_torque(q, qd), **tolerance)
    g = [values[f'{letters.g}_{{{i}}}({x})'] for i in n]
    np.testing.assert_allclose(g, arm.gravity_torque(q), **tolerance)
    values = read_back(regressor, derived, state)
    parameters = range(1, len(derived.regressor()[1]) + 1)
    Y = np.array([[values[f'Y_{{{i}{k}}}'] for k in parameters] for i in n])
    Theta = np.array([values[f'\\Theta_{{{k}}}'] for k in parameters])
    np.testing.assert_allclose(Y @ Theta, tau, **tolerance)


@pytest.mark.parametrize('name', MODELS)
def test_printed_equations_are_those_of_the_model(name):
    assert_printed(MODELS[name], 'spong')


@pytest.mark.parametrize('notation', NOTATIONS)
@pytest.mark.parametrize('name', ['elbow', 'puma_3'])
def test_printed_equations_in_every_notation(name, notation):
    models = {**MODELS, 'puma_3': load_urdf('puma560', tip_link='link3')}
    assert_printed(models[name], notation)


@pytest.mark.parametrize(
    ('name', 'tip'),
    [
        ('planar_2r', None),
        ('scara_rrp', None),
        ('panda', 'panda_link2'),
        ('puma560', 'link2'),
        pytest.param('puma560', 'link3', marks=pytest.mark.soak),
    ],
)
def test_lines_have_at_most_a_hundred_characters(name, tip):
    """In every form, with the break at their ends."""
    model = load_urdf(name, tip_link=tip)
    for notation in NOTATIONS:
        derived, numbers = (derive(model, notation, numbers=numbers) for numbers in (False, True))
        texts = [x.latex() + '\n' + x.python() for x in (derived, numbers)]
        for line in '\n'.join([*texts, derived.regressor_latex()]).splitlines():
            assert len(line) <= 100, line


def test_numbers_have_no_regressor():
    with pytest.raises(ModelError, match='Y and Theta need parameters with letters'):
        derive(ELBOW, numbers=True).regressor()


def test_values_are_those_of_the_model():
    values = {str(symbol): value for symbol, value in derive(ELBOW).values.items()}
    assert values == {
        **{'l1': 0.7, 'lc1': 0.3, 'lc2': 0.25, 'm1': 3.1, 'm2': 1.7, 'I1': 0.12, 'I2': 0.05},
        'g': pytest.approx(9.81),
    }


# -- errors -----------------------------------------------------------------------------------


def test_too_many_joints():
    with pytest.raises(ModelError, match=r'has 7 joints .*expected 1 to 3 joints with letters'):
        derive(load_urdf('panda'))
    with pytest.raises(ModelError, match='to 4 with numbers'):
        derive(load_urdf('puma560'), numbers=True)


def test_an_unknown_notation():
    with pytest.raises(ModelError, match="notation is 'craig'; expected one of spong, lynch-park"):
        derive(ELBOW, 'craig')


def test_without_sympy(monkeypatch):
    monkeypatch.setitem(sys.modules, 'sympy', None)
    with pytest.raises(SympyMissing, match='pip install sympy'):
        derive(ELBOW)
