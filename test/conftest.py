"""Settings of all tests."""

import signal

from hypothesis import settings

# A shell ignores SIGINT for what it runs in the background, and whatever the tests start would
# inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says something about the machine, not about the code.
settings.register_profile('robot_dynamics', deadline=None)
settings.load_profile('robot_dynamics')
