# SPDX-License-Identifier: Apache-2.0
"""The notebooks run from their first to their last cell, and the index lists all of them."""

import re
from pathlib import Path

import pytest

jupytext = pytest.importorskip('jupytext')
nbclient = pytest.importorskip('nbclient')
pytest.importorskip('ipykernel')

FOLDER = Path(__file__).parents[2] / 'examples' / 'notebooks'
NOTEBOOKS = sorted(path for path in FOLDER.glob('*.md') if path.name != 'README.md')
CELL_TIMEOUT = 300  # s

every_notebook = pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
executed = pytest.mark.parametrize(
    'path',
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if k else [])
        for k, path in enumerate(NOTEBOOKS)
    ],
)


def code_of(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == 'code']


def run(notebook, folder):
    resources = {'metadata': {'path': str(folder)}}
    nbclient.NotebookClient(notebook, timeout=CELL_TIMEOUT, resources=resources).execute()


@executed
def test_every_cell_runs_and_its_checks_hold(path, tmp_path, monkeypatch):
    monkeypatch.setenv('OMP_NUM_THREADS', '1')
    notebook = jupytext.read(path)
    run(notebook, tmp_path)
    outputs = [output for cell in notebook.cells for output in cell.get('outputs', ())]
    assert any('image/png' in output.get('data', {}) for output in outputs)


@pytest.mark.slow
def test_a_check_that_fails_is_an_error(tmp_path):
    path = tmp_path / 'broken.md'
    header = NOTEBOOKS[0].read_text().split('# ')[0]
    path.write_text(header + '```{code-cell}\nassert 1 > 2\n```\n')
    with pytest.raises(nbclient.exceptions.CellExecutionError, match='AssertionError'):
        run(jupytext.read(path), tmp_path)


@every_notebook
def test_code_is_checked_by_assertions(path):
    notebook = jupytext.read(path)
    assert notebook.metadata['kernelspec']['name'] == 'python3'
    code = code_of(notebook)
    for source in code:
        compile(source, path.name, 'exec')
        assert all(len(line) <= 99 for line in source.splitlines())
    assert sum('assert ' in source for source in code) >= 5
    # Every figure has labels with units.
    for source in code:
        if 'plt.' in source and 'import' not in source:
            for axis in 'xy':
                assert re.search(rf'{axis}label.*\[', source)


def test_the_index_lists_every_notebook():
    index = (FOLDER / 'README.md').read_text()
    assert re.findall(r'\]\((\d_\w+\.md)\)', index) == [path.name for path in NOTEBOOKS]
