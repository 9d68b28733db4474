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

# A shell ignores SIGINT for what it runs in the background, and whatever the tests start would
# inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says something about the machine, not about the code.
settings.register_profile('robot_dynamics', deadline=None)
settings.load_profile('robot_dynamics')


def pytest_configure():
    """Let a crash be seen in the terminal.

    The executor of rclpy sends what is said of one to the standard error of the moment, which
    pytest holds back and then loses.
    """
    enable, terminal = faulthandler.enable, os.dup(2)
    faulthandler.enable = lambda *_arguments, **_options: enable(terminal)


@pytest.fixture(scope='session', autouse=True)
def _no_shared_memory_is_left():
    """Remove what nodes that tests have killed could not remove themselves."""
    from benchmarks.shared_memory import remove_shared_memory, shared_memory

    before = shared_memory()
    yield
    remove_shared_memory(before)


@pytest.fixture(scope='session')
def elbow_urdf():
    return ELBOW


@pytest.fixture(scope='session')
def elbow():
    from robot_dynamics.dynamics import Dynamics
    from robot_dynamics.urdf.loading import parse_urdf

    return Dynamics(parse_urdf(ELBOW))
