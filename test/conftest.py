"""Settings of all tests."""

import faulthandler
import os
import signal

import pytest
from hypothesis import settings

from robot_dynamics.nodes.demo import supervisor

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
    before = supervisor.shared_memory()
    yield
    supervisor.remove_shared_memory(before)
