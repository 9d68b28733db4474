# SPDX-License-Identifier: Apache-2.0
"""docs/reference/faults.md: rows are complete, their logged texts exist, each row has tests."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TEST = Path(__file__).parents[1]
ROOT = TEST.parent
PAGE = (ROOT / 'docs' / 'reference' / 'faults.md').read_text()
TESTS = (ROOT / 'docs' / 'appendices' / 'fault_tests.md').read_text()
COLUMNS = ['condition', 'what is published', 'what is logged', 'how it recovers']
OTHERS = {'incompatible QoS', 'requesting incompatible QoS', 'process has died'}  # logged by ROS
FIELDS = re.compile(r'(success|successful): (true|false)')  # of an answer
NAME = re.compile(r'[a-z_]+|~/\w+')  # of a parameter, a topic or a service


def table_rows(page):
    rows = [
        [cell.strip() for cell in line.strip('|').split(' | ')]
        for line in page.splitlines()
        if line.startswith('|') and not line.startswith('|---')
    ]
    return [row for row in rows if row not in (COLUMNS, ['condition', 'test'])]


ROWS = table_rows(PAGE)
TESTED = table_rows(TESTS)


@cache
def functions_of(path):
    tree = ast.parse((TEST / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def source_texts():
    """Return all text that the sources hold, names and values replaced by blanks."""
    words = []
    for path in (*ROOT.glob('robot_dynamics/**/*.py'), ROOT / 'run'):
        text = path.read_text()
        if path.suffix == '.py':
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.JoinedStr):
                    words += [
                        part.value if isinstance(part, ast.Constant) else '\0'
                        for part in node.values
                    ]
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    words.append(node.value)
                words.append('\n')
        else:
            words.append(re.sub(r'\$\w+', '\0', text))
    return ''.join(words)


def test_every_table_line_is_parsed():
    assert len(ROWS) > 50
    for page in (PAGE, TESTS):
        assert page.count('\n|---') == page.count('| condition |') == page.count('\n## ')


def test_rows_are_complete():
    assert [row for row in ROWS if len(row) != len(COLUMNS) or not all(row)] == []


def test_the_rows_of_both_pages_are_the_same():
    assert [row[0] for row in TESTED] == [row[0] for row in ROWS]


def test_the_tests_of_rows_exist():
    for condition, tests in TESTED:
        named = re.findall(r'`([\w/]+\.py)::(test_\w+)`', tests)
        assert named, condition
        assert tests == '<br>'.join(f'`{path}::{name}`' for path, name in named)
        for path, name in named:
            assert name in functions_of(path), f'{path}::{name}'


@pytest.mark.slow
def test_logged_texts_are_in_the_sources():
    texts, parts = source_texts(), []
    for _, _, logged, _ in ROWS:
        for phrase in re.findall('`([^`]+)`', logged):
            if phrase in OTHERS or FIELDS.fullmatch(phrase) or NAME.fullmatch(phrase):
                continue
            # The name of the message and "rejected" are separate texts in the sources.
            parts += [part.strip().removesuffix(' rejected:') for part in phrase.split('…')]
    assert len(parts) > 100
    assert [part for part in parts if part not in texts] == []


def test_every_node_has_a_row_about_being_killed():
    listed = re.search(r'^NODES = [\[(](.*?)[\])]', (ROOT / 'setup.py').read_text(), re.M | re.S)
    scripts = re.findall(r"'(\w+)'", listed[1])
    assert len(scripts) >= 6
    killed = [row[0] for row in ROWS if 'kill -9, restart' in row[0]]
    for script in scripts:
        assert f'`{script}`: kill -9, restart' in killed
