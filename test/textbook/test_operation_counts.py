# SPDX-License-Identifier: Apache-2.0
"""Operation counts of the formulations; Milićević, Golubović and Slavković, table 3."""

import numpy as np
import pytest

from robot_dynamics.formulations import (
    FORMULATIONS,
    closed_form_matrix,
    generalized_dalembert,
    hamiltonian,
    lagrange_euler_4x4,
    newton_euler_link_frame,
)
from robot_dynamics.textbook import operation_counts as oc

LISTED = (lagrange_euler_4x4, newton_euler_link_frame, generalized_dalembert)


def count(expression, *values):
    tally = oc.Tally()
    expression(*(oc.Counting(x, tally) for x in values))
    return oc.Operations(tally.products, tally.sums)


# -- counting numbers ------------------------------------------------------------------------


def name(formulation):
    return formulation.__name__.rpartition('.')[2]


@pytest.mark.parametrize(
    ('expression', 'operations'),
    [
        (lambda x, y: x * y + x, (1, 1)),
        (lambda x, y: x - y, (0, 1)),
        (lambda x, y: 2.0 - x * 3.0, (1, 1)),
        (lambda x, y: x / y + y / 2.0, (2, 1)),
        (lambda x, y: np.sin(x) * np.cos(y), (1, 0)),
        # operations that are not written down
        (lambda x, y: 1.0 * x + 0.0, (0, 0)),
        (lambda x, y: 0 - x * -1, (0, 0)),
        (lambda x, y: x * 0.0 * y, (0, 0)),
        # matrix times vector: nine products, six sums; zeros and ones are free
        (lambda x, y: np.array([[x, y, x]] * 3) @ np.array([x, y, y]), (9, 6)),
        (
            lambda x, y: np.array([[x, -y, 0.0], [y, x, 0.0], [0.0, 0.0, 1.0]]) @ [x, y, 2.0],
            (4, 2),
        ),
        (lambda x, y: np.eye(3) @ np.array([x, y, x]), (0, 0)),
        (lambda x, y: np.cross([x, y, x], np.array([y, y, x])), (6, 3)),
        (lambda x, y: 2.0 * np.array([x, y]) + np.array([1.0, 0.0]), (2, 1)),
    ],
)
def test_counting(expression, operations):
    assert count(expression, 0.3, 0.7) == operations


@pytest.mark.parametrize('formulation', FORMULATIONS, ids=name)
def test_counting_does_not_change_the_result_nor_depend_on_the_state(formulation):
    model, tally = oc.general_arm(3), oc.Tally()
    state = np.random.default_rng(1).uniform(-2, 2, (3, 3))
    counting = [np.array([oc.Counting(x, tally) for x in row], dtype=object) for row in state]
    tau = formulation.inverse_dynamics(model, *counting).astype(float)
    expected = formulation.inverse_dynamics(model, *state)
    assert np.abs(tau - expected).max() <= 1e-13 * np.abs(expected).max()
    # Those of other states, all of whose numbers are positive.
    assert (tally.products, tally.sums) == oc.counted_operations(formulation, model)


# -- table 3 --------------------------------------------------------------------------------------


def test_published_polynomials():
    """Six joints, by hand: 128/3 * 1296 + 512/3 * 216 + 739/3 * 36 + 160/3 * 6 = 101348, ..."""
    assert oc.published_operations(lagrange_euler_4x4, 6) == (101348, 77405)
    assert oc.published_operations(newton_euler_link_frame, 6) == (792, 662)
    assert oc.published_operations(generalized_dalembert, 6) == (2963, 2209)
    assert [f for f in FORMULATIONS if oc.published_operations(f, 6)] == list(LISTED)


@pytest.mark.parametrize('formulation', LISTED, ids=name)
def test_published_polynomials_are_whole_numbers(formulation):
    for n in range(1, 13):
        for polynomial in oc.PUBLISHED[formulation]:
            value = sum(c * n**k for k, c in enumerate(reversed(polynomial)))
            assert value.denominator == 1


@pytest.fixture(scope='module')
def counts():
    """Return operations[formulation][n - 1] for one to six joints."""
    arms = [oc.general_arm(n) for n in range(1, 7)]
    return {f: [oc.counted_operations(f, arm) for arm in arms] for f in FORMULATIONS}


def degree_of(series):
    """Return the degree of the polynomial through a sequence, but for its first two entries."""
    values = np.array(series[2:])
    degree = 0
    while np.any(values != values[0]):
        degree, values = degree + 1, np.diff(values)
    return degree


@pytest.mark.parametrize('formulation', FORMULATIONS, ids=name)
def test_only_the_recursions_are_linear(formulation, counts):
    recursive = ('newton_euler_base_frame', 'newton_euler_link_frame', 'twist_wrench')
    for series in zip(*counts[formulation], strict=True):
        degree = degree_of(series)
        assert degree == 1 if name(formulation) in recursive else degree > 1


def test_counts_are_below_the_published_ones(counts):
    """As docs/textbook/formulations.md states."""
    for n in range(1, 7):
        ours = {f: counts[f][n - 1] for f in LISTED}
        theirs = {f: oc.published_operations(f, n) for f in LISTED}
        for formulation in (lagrange_euler_4x4, newton_euler_link_frame):
            assert ours[formulation].products < theirs[formulation].products
            assert ours[formulation].sums < theirs[formulation].sums
        # d'Alembert: lower up to eight joints, 12 % at six.
        ratio = np.divide(ours[generalized_dalembert], theirs[generalized_dalembert])
        assert np.all(ratio < 0.88)
    assert counts[generalized_dalembert][5] == (2600, 1940)


def test_cubic_formulations(counts):
    """Exact polynomials from three joints on: d'Alembert's, and the matrix form's degree."""
    for n in range(3, 7):
        found = counts[generalized_dalembert][n - 1]
        assert found.products == 16 * n**3 / 3 + 24 * n**2 + 356 * n / 3 - 128
        assert found.sums == 4 * n**3 + 39 * n**2 / 2 + 161 * n / 2 - 109
    assert oc.counted_operations(generalized_dalembert, oc.general_arm(12)) == (13968, 10577)
    arms = [oc.general_arm(n) for n in range(7, 10)]
    for f in (generalized_dalembert, closed_form_matrix, hamiltonian):
        longer = [*counts[f], *(oc.counted_operations(f, arm) for arm in arms)]
        assert [degree_of(series) for series in zip(*longer, strict=True)] == [3, 3], f.__name__


def test_the_compiled_program_has_the_fewest_operations(counts):
    for n in range(1, 7):
        fast = oc.compiled_operations(oc.general_arm(n))
        for formulation in FORMULATIONS:
            ours = counts[formulation][n - 1]
            assert fast.products < ours.products
            assert fast.sums < ours.sums
    # About half of the published 132 n and 111 n - 4.
    assert fast.products < 0.55 * 132 * 6
    assert fast.sums < 0.55 * (111 * 6 - 4)


def test_table(counts):
    text = oc.operation_table([1, 2])
    header, *rows = text.splitlines()[1:]
    for formulation in FORMULATIONS:
        assert name(formulation) in header
        for n, row in enumerate(rows, start=1):
            products, sums = counts[formulation][n - 1]
            assert f'{products}+{sums}' in row
    assert '(513+390)' in rows[0]
