# SPDX-License-Identifier: Apache-2.0
"""ROS domains, each used by one process of the tests on this machine at a time."""

import fcntl
import itertools
import os
import tempfile
from pathlib import Path

from robot_dynamics.ros.middleware import VARIABLES

# Other programs may use the ports of domains above 101. Each graph has a new domain, as killed
# nodes remain visible in theirs for a while.
FIRST = os.getpid() % 100
DOMAINS = itertools.cycle(1 + (FIRST + k) % 100 for k in range(100))
# The byte at the offset of a domain is locked while the domain is in use.
IN_USE = os.open(
    Path(tempfile.gettempdir(), 'robot_dynamics_test_domains'), os.O_CREAT | os.O_RDWR
)


def use_free_domain():
    """Set ROS_DOMAIN_ID to a domain in which no other process of the tests is, and return it.

    The domain that this process used before is released.
    """
    fcntl.lockf(IN_USE, fcntl.LOCK_UN)
    while True:
        domain = next(DOMAINS)
        try:
            fcntl.lockf(IN_USE, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, domain)
        except BlockingIOError:
            continue
        os.environ['ROS_DOMAIN_ID'] = str(domain)
        return str(domain)


def default_environment():
    """Return the environment with the default transports of Fast DDS, on this machine alone.

    Tests of nodes in this process have others: see ros/conftest.py.
    """
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return {**kept, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
