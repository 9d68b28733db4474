# SPDX-License-Identifier: Apache-2.0
"""docs/textbook: formulations and the sources; names exist, tables are complete and current."""

import importlib
import re
from pathlib import Path

import pytest

from robot_dynamics import formulations
from robot_dynamics.formulations import (
    FORMULATIONS,
    closed_form_matrix,
    euler_lagrange,
    generalized_dalembert,
    hamiltonian,
    lagrange_euler_4x4,
    newton_euler_base_frame,
    newton_euler_link_frame,
    twist_wrench,
)
from robot_dynamics.textbook import operation_counts as oc

CHECKOUT = Path(__file__).resolve().parents[2]
DOC = (CHECKOUT / 'docs' / 'textbook' / 'formulations.md').read_text()
TESTS = '\n'.join(file.read_text() for file in (CHECKOUT / 'test').rglob('test_*.py'))


def section(title, page=DOC):
    """Return the text under a heading, up to the next one of its level or above."""
    level = len(title.split()[0])
    rest = page.split(f'\n{title}\n')[1]
    return re.split(rf'\n#{{1,{level}}} ', rest)[0]


def rows(text):
    """Return the cells of a Markdown table's rows, without its head."""
    lines = [line for line in text.splitlines() if line.startswith('|')]
    return [[cell.strip() for cell in line.strip('|').split('|')] for line in lines[2:]]


def resolve(name):
    """Return the object of a dotted name in robot_dynamics."""
    parts = name.split('.')
    for k in range(len(parts), 0, -1):
        try:
            found = importlib.import_module('.'.join(['robot_dynamics', *parts[:k]]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[k:]:
            found = getattr(found, attribute)
        return found
    raise AssertionError(f'robot_dynamics has no {name}')


SOURCES = ('spong', 'lynch_park', 'milicevic', 'lecture_notes')
PAGES = {
    source: (CHECKOUT / 'docs' / 'textbook' / f'{source}.md').read_text() for source in SOURCES
}
MAPPED = [
    (source, *row)
    for source, page in PAGES.items()
    for row in rows(section('## Equation by equation', page))
]


def test_every_equation_has_a_function():
    for source, equations, _, where in MAPPED:
        names = re.findall(r'`([^`]+)`', where)
        assert names, f'{source} {equations}'
        for name in names:
            if name.startswith('test_'):
                assert f'def {name}(' in TESTS
            else:
                found = resolve(name)
                # a function or class, or a method or property that a descriptor makes
                assert callable(found) or hasattr(found, '__get__'), name


def numbers(source):
    """Return the equation numbers that the map of a source covers, per chapter or section."""
    covered = {}
    for _, equations, *_ in (row for row in MAPPED if row[0] == source):
        match = re.fullmatch(r'(?:(\d+)\.)?(\d+)(?:–(?:\d+\.)?(\d+))?', equations)
        if match:
            chapter, first, last = match.groups()
            covered.setdefault(chapter, []).extend(range(int(first), int(last or first) + 1))
    return covered


@pytest.mark.parametrize(
    ('source', 'expected'),
    [
        # up to the last number of each document
        (SOURCES[0], {'6': range(1, 181)}),
        (SOURCES[1], {'9': range(1, 100)}),
        (SOURCES[2], {'2': range(1, 16), '4': range(1, 6)}),
        (SOURCES[3], {None: range(27, 51)}),
    ],
)
def test_every_equation_is_mapped_once_and_in_order(source, expected):
    assert numbers(source) == {chapter: list(values) for chapter, values in expected.items()}


MISPRINTS = [row for page in PAGES.values() for row in rows(section('## Misprints', page))]


def test_every_misprint_has_a_proof():
    for where, printed, right, proof in MISPRINTS:
        assert printed, where
        assert right, where
        (name,) = re.findall(r'`(test_\w+)`', proof)
        assert f'def {name}(' in TESTS


def test_every_proof_is_listed():
    proofs = re.findall(
        r'^def (test_\w+)\(', (CHECKOUT / 'test/textbook/test_misprints.py').read_text(), re.M
    )
    assert set(proofs) <= {row[3].strip('`') for row in MISPRINTS}


def name(formulation):
    return formulation.__name__.split('.')[-1]


def test_capability_table_has_the_rows_of_the_package():
    table = section('## What each formulation gives')
    package = formulations.__doc__
    for formulation in FORMULATIONS:
        (line,) = [
            line for line in package.splitlines() if line.split()[:1] == [name(formulation)]
        ]
        assert line.strip() in table


def test_symbols_are_those_of_the_package():
    (row,) = rows(section('## One symbol, four numberings'))
    for letter, word in zip(row, ('c_ijk', 'Gamma_kij', 'h_kij', 'c_kij'), strict=True):
        assert letter.replace('Γ', 'Gamma') == word
        assert word in euler_lagrange.__doc__


def test_agreement_tables():
    tables = re.findall(r'```text\n(.*?)\n```', section('## How well they agree'), re.S)
    titles = [table.split(':')[0] for table in tables]
    assert titles == ['puma560', 'panda', 'random_tree_12']
    for table in tables:
        lines = table.splitlines()
        assert 'all within tolerance' in lines[0]
        assert [line.split()[1] for line in lines[2:]] == [*map(name, FORMULATIONS), 'compiled']
        values = [float(x) for x in re.findall(r'\d\.\de-\d+', table)]
        # 9 implementations, each against 8 others.
        assert len(values) == 72
        assert max(values) < 1e-12


@pytest.mark.parametrize('n', [1, 2, 3, 4, 5])
def test_operation_counts(n):
    found = rows(section('## Operation counts'))[n - 1]
    arm = oc.general_arm(n)
    expected = [str(n)]
    for formulation in (lagrange_euler_4x4, newton_euler_link_frame, generalized_dalembert):
        expected += [
            shown(oc.published_operations(formulation, n)),
            shown(oc.counted_operations(formulation, arm)),
        ]
    for formulation in (
        newton_euler_base_frame,
        twist_wrench,
        euler_lagrange,
        closed_form_matrix,
        hamiltonian,
    ):
        expected.append(shown(oc.counted_operations(formulation, arm)))
    assert found == [*expected, shown(oc.compiled_operations(arm))]


def shown(operations):
    return f'{operations.products}+{operations.sums}'


@pytest.mark.parametrize('n', [1, 2, 3, 4, 7])
def test_linear_operation_counts(n):
    """129 n - 124 and 104 n - 110 in link frames; 86 n - 126 and 75 n - 117 compiled."""
    text = section('## Operation counts')
    arm = oc.general_arm(n)
    recursion, fast = (
        oc.counted_operations(newton_euler_link_frame, arm),
        oc.compiled_operations(arm),
    )
    for operations, first, products, sums in [
        (recursion, 2, (129, 124), (104, 110)),
        (fast, 3, (86, 126), (75, 117)),
    ]:
        assert f'{products[0]} n - {products[1]} products and {sums[0]} n - {sums[1]} sums' in text
        holds = operations == (products[0] * n - products[1], sums[0] * n - sums[1])
        assert holds == (n >= first)
