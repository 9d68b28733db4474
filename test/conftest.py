# SPDX-License-Identifier: Apache-2.0
"""Settings of all tests."""

import faulthandler
import os
import signal
import sys
from pathlib import Path

import pytest
from elbow import ELBOW
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks/ is not installed

# Background processes of a shell ignore SIGINT, those of nohup SIGHUP, and children of the tests
# would inherit that. They do not inherit a handler: this one ignores SIGHUP in the tests alone.
# Processes of pytest-xdist are children as well.
signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN or 'PYTEST_XDIST_WORKER' in os.environ:
    signal.signal(signal.SIGHUP, lambda _number, _frame: None)

# The duration of an example depends on the load of the machine.
settings.register_profile('robot_dynamics', deadline=None)
settings.load_profile('robot_dynamics')


def pytest_configure():
    """Print crashes to the terminal.

    The executor of rclpy enables faulthandler on the present standard error, which pytest captures
    and loses in a crash.
    """
    enable, terminal = faulthandler.enable, os.dup(2)
    faulthandler.enable = lambda *_arguments, **_options: enable(terminal)


# What these tests wait for may be late on a busy machine; elsewhere a failure is a fault.
RERUN = ('processes', 'browsers')


def pytest_collection_modifyitems(config, items):
    """Restrict --reruns, which .ci/run passes, to tests of processes and browsers."""
    if not config.getoption('reruns', default=None):
        return
    for item in items:
        if not any(map(item.get_closest_marker, RERUN)):
            item.add_marker(pytest.mark.flaky(reruns=0))


@pytest.fixture(scope='session', autouse=True)
def _remove_shared_memory():
    """Remove the shared memory of nodes that tests have killed."""
    from benchmarks.shared_memory import remove_shared_memory, shared_memory

    before = shared_memory()
    yield
    # One of several processes would remove files of the others; `./run` removes them in the end.
    if 'PYTEST_XDIST_WORKER' not in os.environ:
        remove_shared_memory(before)


@pytest.fixture(scope='session')
def elbow_urdf():
    return ELBOW


@pytest.fixture(scope='session')
def elbow():
    from robot_dynamics.core.dynamics import Dynamics
    from robot_dynamics.urdf.loading import parse_urdf

    return Dynamics(parse_urdf(ELBOW))
