# SPDX-License-Identifier: Apache-2.0
"""docs/appendices/architecture.md: its picture, its example, and the files that it names."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from extensions import wings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / 'docs' / 'appendices' / 'architecture.md').read_text()
PACKAGE = ROOT / 'robot_dynamics'


def test_the_picture_is_that_of_the_contract():
    assert f'```text\n{wings.picture()}\n```' in PAGE


def test_every_folder_is_a_wing():
    folders = {path.parent.name for path in PACKAGE.glob('*/__init__.py')}
    assert folders == {wing for row in wings.layers() for wing in row}


def test_the_way_from_a_text_to_a_torque_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r'```python\n(.*?)```', PAGE, re.DOTALL)
    exec(compile(code, 'architecture.md', 'exec'), {})


def test_files_and_names_of_the_way_exist():
    rows = re.findall(r'^\| \d \| (.*?) \| (.*?) \|', PAGE, re.MULTILINE)
    assert len(rows) == 9
    for wings_of_row, files in rows:
        folders = [PACKAGE / wing for wing in re.findall(r'`(\w+)`', wings_of_row)]
        for file, name in re.findall(r'`([\w/]+\.py)`(?:: `([\w.]+)`)?', files):
            (found,) = [folder / file for folder in folders if (folder / file).is_file()]
            assert name.split('.')[-1] in found.read_text()


# `main` of cli is the entry point of a script.
@pytest.mark.parametrize('wing', [w for row in wings.layers() for w in row if w != 'cli'])
def test_a_wing_states_input_output_and_the_names_that_others_use(wing):
    text = ' '.join((PACKAGE / wing / '__init__.py').read_text().split())
    assert 'Input: ' in text
    assert 'Output: ' in text
    sentence = text.partition('ther wings use')[2].partition('. ')[0]
    names = [name for name in re.findall(r'`(\w+)`', sentence) if name != wing]
    assert 1 <= len(names) <= 3
    used = {
        name
        for path in PACKAGE.rglob('*.py')
        if path.relative_to(PACKAGE).parts[0] != wing
        for name in imported_from(wing, path)
    }
    assert set(names) <= used


@cache
def imports(path):
    nodes = ast.walk(ast.parse(path.read_text()))
    return [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]


def imported_from(wing, path):
    """Return the names that a file imports from a wing."""
    for node in imports(path):
        if f'{node.module}.'.startswith(f'robot_dynamics.{wing}.'):
            yield from (alias.name for alias in node.names)
