# SPDX-License-Identifier: Apache-2.0
"""Progress of long runs: a bar, or lines without rich."""

import sys

import pytest

from robot_dynamics.simulation.ensembles.progress import progress_bar


def test_a_bar_accepts_every_call(capsys):
    pytest.importorskip('rich')
    with progress_bar('arms') as progress:
        for done in range(11):
            progress(done, 10)
    assert capsys.readouterr().out == ''


def test_lines_without_rich(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.split('.')[0] == 'rich'] + ['rich']:
        monkeypatch.setitem(sys.modules, name, None)
    with progress_bar('arms') as progress:
        for done in range(1, 1001):
            progress(done, 1000)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[0] == 'arms: 10 %'
    assert lines[-1] == 'arms: 100 %'
