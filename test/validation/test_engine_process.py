# SPDX-License-Identifier: Apache-2.0
"""Worker processes of engines that are missing, crash, hang, or print to stdout."""

import os
import signal

import pytest

from robot_dynamics.validation.engines import ENGINES, installed, title
from robot_dynamics.validation.engines.process import (
    EngineCrashed,
    EngineMissing,
    EngineProcess,
    EngineRejected,
)

LOAD = {'engine': 'pybullet', 'urdf': '<robot/>', 'gravity': [0, 0, 0]}
STATES = {'q': [[0.0]], 'qd': [[0.0]], 'qdd': [[0.0]]}

# Stands in for the engine's package in the worker.
FAKE = """
import sys
{first}
def __getattr__(name):
    if name == 'error': return RuntimeError
    return lambda *a, **k: {then}
"""


@pytest.fixture
def fake_pybullet(tmp_path, monkeypatch):
    """Write a pybullet.py that runs a statement on import; its functions return `then`."""

    def write(first, then='0'):
        (tmp_path / 'pybullet.py').write_text(FAKE.format(first=first, then=then))
        monkeypatch.setenv('PYTHONPATH', str(tmp_path))

    return write


def test_an_engine_that_is_not_installed_is_missing(fake_pybullet):
    fake_pybullet('raise ImportError("No module named pybullet")')
    with (
        EngineProcess('pybullet') as worker,
        pytest.raises(EngineMissing, match='no PyBullet: No'),
    ):
        worker.request(LOAD)


def test_a_crash_is_reported_with_its_signal(fake_pybullet):
    fake_pybullet('import os, signal; os.kill(os.getpid(), signal.SIGSEGV)')
    with (
        EngineProcess('pybullet') as worker,
        pytest.raises(EngineCrashed, match='PyBullet ended: signal 11'),
    ):
        worker.request(LOAD)


def test_an_exception_in_the_worker_is_reported_with_its_last_line(fake_pybullet):
    fake_pybullet('raise KeyError("what it was")')
    with (
        EngineProcess('pybullet') as worker,
        pytest.raises(EngineCrashed, match=r"exit code 1, KeyError: 'what it was'"),
    ):
        worker.request(LOAD)


def test_a_worker_that_hangs_is_killed(fake_pybullet):
    fake_pybullet('import time; time.sleep(600)')
    worker = EngineProcess('pybullet', timeout=0.5)
    pid = worker.pid
    with pytest.raises(EngineCrashed, match=r'did not reply within 0\.5 s'):
        worker.request(LOAD)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_output_of_the_engine_is_kept_out_of_the_replies(fake_pybullet):
    noise = 'print("{}" * 1000); sys.stdout.flush(); import os; os.write(1, b"{}\\n" * 9999)'
    fake_pybullet(noise + '\nraise ImportError("after all that")')
    with EngineProcess('pybullet') as worker, pytest.raises(EngineMissing, match='after all that'):
        worker.request(LOAD)


def test_a_worker_killed_between_two_requests_is_a_crash():
    with EngineProcess('pybullet') as worker:
        with pytest.raises(EngineRejected, match='no robot is loaded'):
            worker.request(STATES)
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(EngineCrashed, match='signal 9'):
            worker.request(STATES)
        with pytest.raises(EngineCrashed, match='has ended'):
            worker.request(STATES)


def test_a_worker_ignores_an_interrupt_from_the_keyboard():
    with EngineProcess('pybullet') as worker:
        with pytest.raises(EngineRejected):
            worker.request(STATES)
        os.kill(worker.pid, signal.SIGINT)
        with pytest.raises(EngineRejected):
            worker.request(STATES)


@pytest.mark.parametrize('name', ENGINES)
def test_a_text_that_is_not_a_urdf_is_rejected_by_name_of_the_engine(name):
    if not installed(name):
        pytest.skip(f'{title(name)} is not installed')
    with EngineProcess(name) as worker, pytest.raises(EngineRejected, match=title(name)):
        worker.request({**LOAD, 'engine': name, 'urdf': '<nonsense/>'})
