# SPDX-License-Identifier: Apache-2.0
import json
import os

import pytest

from benchmarks import compiling, run, single
from benchmarks.agreement import Disagreement
from benchmarks.functions import FUNCTIONS


@pytest.mark.slow
def test_a_complete_run(tmp_path, capsys):
    files = tmp_path / 'figures.json', tmp_path / 'table.md'
    cache = os.environ['ROBOT_DYNAMICS_CACHE_DIR']
    options = ['--quick', '--robots', 'chain2', 'missing', '--only', 'single', 'stepping']
    assert run.main([*options, '--json', str(files[0]), '--markdown', str(files[1])]) == 0
    figures = json.loads(files[0].read_text())
    assert {call['robot'] for call in figures['single']} == {'chain2'}
    assert {call['function'] for call in figures['single']} == set(FUNCTIONS)
    assert all(ns > 0 for call in figures['single'] for ns in call['ns'].values())
    assert figures['batches'] == []
    assert figures['stepping'][0]['error'] < 1e-10
    assert any(note.startswith('missing left out') for note in figures['notes'])
    printed = capsys.readouterr().out
    assert files[1].read_text() == printed.removesuffix('\n')
    assert '### Targets' in printed
    assert os.environ['ROBOT_DYNAMICS_CACHE_DIR'] == cache


def test_no_figures_are_written_after_a_disagreement(tmp_path, monkeypatch, capsys):
    def disagree(*_):
        raise Disagreement('chain2: mass_matrix of new array differs by 1.0e-03')

    monkeypatch.setattr(compiling, 'compile_all', lambda *_: ([], []))
    monkeypatch.setattr(single, 'measure', disagree)
    path = tmp_path / 'figures.json'
    assert run.main(['--robots', 'chain2', '--json', str(path)]) == 1
    assert not path.exists()
    captured = capsys.readouterr()
    assert captured.out == ''
    assert 'mass_matrix of new array differs' in captured.err
