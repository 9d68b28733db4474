# SPDX-License-Identifier: Apache-2.0
"""Settings of all tests: which run once more if they fail, and the signals of their children."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tiers import soak

ROOT = Path(__file__).resolve().parents[1]
FAILS_ONCE = """
from pathlib import Path
import pytest

@pytest.mark.parametrize('marked', {cases})
def test_it(marked):
    first = Path({folder!r}, marked)
    if not first.exists():
        first.touch()
        raise AssertionError

@pytest.mark.processes
def test_that_always_fails():
    raise AssertionError
"""
CASES = """[
    'not',
    pytest.param('slow', marks=pytest.mark.slow),
    pytest.param('processes', marks=pytest.mark.processes),
    pytest.param('browsers', marks=[pytest.mark.slow, pytest.mark.browsers]),
]"""


def pytest_of(file, text, *options, **of_process):
    """Run a file of tests with our settings; return the completed process."""
    file.write_text(text)
    outer = {name: value for name, value in os.environ.items() if 'PYTEST' not in name}
    return subprocess.run(
        [
            *(sys.executable, '-m', 'pytest', '-p', 'conftest', '-p', 'no:cacheprovider'),
            *('-c', ROOT / 'pyproject.toml', '--rootdir', file.parent, '-q', *options, file),
        ],
        env={**outer, 'PYTHONPATH': str(ROOT / 'test')},
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=False,
        **of_process,
    )


def outcomes(folder, *options):
    """Return the summary of tests of which all but one fail once."""
    text = FAILS_ONCE.format(cases=CASES, folder=str(folder))
    ended = pytest_of(folder / 'test_once.py', text, '-rfR', *options)
    lines = ended.stdout.splitlines()
    words = {line.split(' - ')[0] for line in lines if line.startswith(('FAILED', 'RERUN'))}
    return {tuple(word.replace('test_once.py::', '').split(' ')) for word in words}


@pytest.mark.slow
@pytest.mark.parametrize('processes', [(), *soak([('-n', '1')])])
def test_only_tests_of_processes_and_browsers_run_again(tmp_path, processes):
    pytest.importorskip('pytest_rerunfailures')
    found = outcomes(tmp_path, '--reruns', '1', *processes)
    assert found == {
        ('FAILED', 'test_it[not]'),
        ('FAILED', 'test_it[slow]'),
        ('RERUN', 'test_it[processes]'),
        ('RERUN', 'test_it[browsers]'),
        ('RERUN', 'test_that_always_fails'),
        ('FAILED', 'test_that_always_fails'),
    }


@pytest.mark.slow
def test_without_the_option_none_runs_again(tmp_path):
    found = outcomes(tmp_path)
    assert {outcome for outcome, _ in found} == {'FAILED'}
    assert len(found) == 5


def test_continuous_integration_runs_them_once_more_and_lists_them():
    assert '--reruns 1 -raR' in (ROOT / '.ci' / 'run').read_text()


SENDS_SIGNALS = """
import os, signal, subprocess
import pytest

@pytest.mark.parametrize('name', ['SIGINT', 'SIGTERM', 'SIGHUP'])
def test_a_child_is_ended(name):
    child = subprocess.Popen(['sleep', '60'])
    child.send_signal(signal.Signals[name])
    try:
        assert child.wait(10) == -signal.Signals[name]
    finally:
        child.kill()

def test_the_tests_go_on_after_a_hangup():
    os.kill(os.getpid(), signal.SIGHUP)
"""


def ignore_signals():
    """As the shell does for a process in the background, and nohup."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


@pytest.mark.slow
@pytest.mark.parametrize('processes', [(), ('-n', '1')])
def test_children_of_tests_do_not_inherit_ignored_signals(tmp_path, processes):
    file = tmp_path / 'test_signals.py'
    ended = pytest_of(file, SENDS_SIGNALS, *processes, preexec_fn=ignore_signals)
    assert ended.returncode == 0, ended.stdout
    assert '4 passed' in ended.stdout
