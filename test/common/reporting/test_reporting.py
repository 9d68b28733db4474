# SPDX-License-Identifier: Apache-2.0
"""Results for people: aligned tables, numbers with errors, curves, JSON without infinities."""

import csv
import json
import math

import numpy as np
import pytest

from robot_dynamics.common.reporting.json_files import write_json
from robot_dynamics.common.reporting.numbers import decimals, measured, plural, three_digits
from robot_dynamics.common.reporting.tables import aligned, print_table, write_curves


@pytest.mark.parametrize(
    ('value', 'error', 'shown'),
    [
        (1.29653, 0.00547, '1.2965 ± 0.0055'),
        (-0.284, 0.081, '-0.284 ± 0.081'),
        (130.0, 12.3, '130 ± 12'),
        (130.0, 1234.0, '130 ± 1234'),
        (0.5, 0.0, '0.5'),
        (0.5, math.inf, '0.5'),
        (0.5, math.nan, '0.5'),
    ],
)
def test_a_number_has_the_digits_of_its_error(value, error, shown):
    assert measured(value, error) == shown


def test_a_bound_is_no_standard_deviation():
    assert measured(1.3, 0.08, 'within') == '1.300 within 0.080'


@pytest.mark.parametrize(
    ('value', 'shown'),
    [(1.0, '1.00'), (123.4, '123'), (1e-12, '0'), (-0.01234, '-0.0123'), (math.nan, '-')],
)
def test_three_digits(value, shown):
    assert three_digits(value) == shown


def test_a_count_and_its_noun():
    assert [plural(k, 'body', 'bodies') for k in (0, 1, 2)] == ['0 bodies', '1 body', '2 bodies']


def test_columns_are_aligned_to_their_sides(capsys):
    rows = [('a', 'bb', 'c'), ('aaa', 'b', '')]
    assert aligned(rows) == ['a    bb  c', 'aaa  b']
    assert aligned(rows, '<>') == ['a    bb  c', 'aaa   b']
    print_table(*[rows[0], rows[1:]])
    assert capsys.readouterr().out == '\na    bb  c\naaa  b\n'


def test_a_table_needs_as_many_cells_in_every_row():
    with pytest.raises(ValueError, match='zip'):
        aligned([('a', 'b'), ('a',)])


def test_curves_have_a_column_per_joint_and_quantity(tmp_path):
    rng = np.random.default_rng(0)
    t, q, qd = rng.random(4), rng.random((4, 2)), rng.random((4, 2))
    write_curves(tmp_path / 'a.csv', ['one', 'two'], t, {'': q, 'velocity': qd})
    head, *rows = csv.reader((tmp_path / 'a.csv').open(encoding='utf-8'))
    assert head == ['t', 'one', 'two', 'one velocity', 'two velocity']
    np.testing.assert_array_equal(np.array(rows, float), np.column_stack([t, q, qd]))


def test_json_of_arrays_without_infinities(tmp_path):
    content = {
        'array': np.array([[1.0, np.nan], [-np.inf, 2.0]]),
        'numbers': (np.float64(np.inf), np.int64(3), np.bool_(True), None, 'inf'),
        'nested': [{'value': math.nan}],
    }
    write_json(tmp_path / 'a.json', content)
    assert json.loads((tmp_path / 'a.json').read_text()) == {
        'array': [[1.0, None], [None, 2.0]],
        'numbers': [None, 3, True, None, 'inf'],
        'nested': [{'value': None}],
    }


def test_decimals_have_no_rounding_errors():
    values = [0.1 + 0.2, -0.0, 1 / 3, 5.55e-18, 2.5e-7, -np.inf]
    shown = decimals(values, 1e-2)
    assert repr(shown.tolist()) == f'[0.3, 0.0, {1 / 3!r}, 0.0, 2.5e-07, -inf]'
    assert decimals(5.55e-18) == 5.55e-18  # alone it is a number
