# SPDX-License-Identifier: Apache-2.0
"""The tool `./run fuzz` finds planted faults, and repeats the files of a seed."""

import os
import subprocess
import sys
import time

import fuzz
import numpy as np
import pytest
from fuzz_surfaces import SURFACES, Surface

from robot_dynamics.common.errors import ModelError


def number_of(path):
    """Return the number in a file, with a fault for each of some texts."""
    text = path.read_bytes()
    if b'hang' in text:
        time.sleep(60.0)
    if b'crash' in text:
        os._exit(3)
    if b'rejected' in text:
        raise ModelError('expected a number')
    return float(text)


def same_number(path, value):
    text = path.read_bytes()
    if text.startswith(b'+'):
        raise ValueError('no sign')
    assert value == float(text) + (text == b'2'), 'another number'


# A file of each outcome.
OUTCOMES = {
    b'1': 'compared',
    b'2': 'difference',
    b'+3': 'read',
    b'four': 'traceback',
    b'hang': 'hang',
    b'crash': 'crash',
    b'rejected': 'rejected',
}


@pytest.fixture
def planted(monkeypatch):
    """A surface whose files are those of OUTCOMES in turn, unchanged."""
    surface = Surface('planted', '.txt', lambda: [b''], number_of, 'itself', same_number)
    monkeypatch.setattr(fuzz, 'file_of', lambda _surface, _seed, k: [*OUTCOMES][k % len(OUTCOMES)])
    monkeypatch.setattr(fuzz, 'LONGEST', 0.5)
    return surface


@pytest.mark.slow
def test_each_fault_is_found_and_the_next_files_are_read(planted):
    number = 2 * len(OUTCOMES)
    found = [(k, one.kind) for k, one in fuzz.outcomes(planted, 0, number)]
    assert found == list(enumerate([*OUTCOMES.values()] * 2))


def test_files_with_faults_are_kept_and_counted(planted, tmp_path, capsys):
    assert fuzz.fuzz(planted, 0, len(OUTCOMES), tmp_path / 'kept') == 4
    kept = {path.read_bytes() for path in (tmp_path / 'kept').iterdir()}
    assert kept == {text for text, kind in OUTCOMES.items() if kind in fuzz.FAULTS}
    last = capsys.readouterr().out.splitlines()[-1]
    assert '1 rejected, 1 compared with itself, 1 that it does not read' in last
    assert last.endswith('traceback: 1, hang: 1, crash: 1, difference: 1')


@pytest.mark.parametrize('name', SURFACES)
def test_valid_files_are_read_as_by_the_other_library(name, tmp_path):
    surface = SURFACES[name]
    path = tmp_path / f'valid{surface.suffix}'
    for data in surface.files():
        path.write_bytes(data)
        assert fuzz.outcome(surface, path) == ('compared', '')


@pytest.mark.parametrize('name', SURFACES)
def test_changed_files_of_a_seed_are_the_same(name):
    files = [[fuzz.file_of(SURFACES[name], seed, k) for k in range(20)] for seed in (1, 1, 2)]
    assert files[0] == files[1] != files[2]


def test_few_changed_files_of_every_surface_have_no_faults(tmp_path):
    """In a process of its own: children that are forked beside ROS wait forever."""
    found = subprocess.run(
        [sys.executable, fuzz.__file__, 'all', '--number', '20', '--output', tmp_path / 'kept'],
        capture_output=True,
        text=True,
    )
    assert (found.returncode, found.stderr) == (0, '')
    assert [line.split(',')[0] for line in found.stdout.splitlines()] == [*SURFACES]
    assert 'compared' in found.stdout
    assert not (tmp_path / 'kept').exists()


def test_every_change_changes_any_file():
    rng = np.random.default_rng(0)
    for change in fuzz.CHANGES:
        assert any(change(b'a: 1\nb: 2\n', rng) != b'a: 1\nb: 2\n' for _ in range(20))
        assert isinstance(change(b'', rng), bytes)
