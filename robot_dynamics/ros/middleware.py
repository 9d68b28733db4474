# SPDX-License-Identifier: Apache-2.0
"""Discovery profile of Fast DDS, the default middleware.

By default Fast DDS takes up to 3 s to discover a node that starts late, and keeps a killed node in
the graph for 20 s. With config/fastdds_profile.xml it is tenths of a second, and 2 s. Other
middleware ignores the profile.
"""

from __future__ import annotations

import os
import random
from importlib.metadata import version

from robot_dynamics.common.resources import share_file

PROFILE = 'config/fastdds_profile.xml'
# The first of these is read up to ROS 2 jazzy, the second later.
VARIABLES = ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE')
JAZZY = 7  # the rclpy of that distribution


def quick_discovery() -> dict[str, str]:
    """Return the environment variable that names the profile; none if the user has named one."""
    if any(name in os.environ for name in VARIABLES):
        return {}
    older = int(version('rclpy').split('.')[0]) <= JAZZY
    return {VARIABLES[0 if older else 1]: str(share_file(PROFILE))}


def isolate() -> None:
    """Give this process and its children a ROS graph of their own, unless one was chosen."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    os.environ.setdefault('ROS_DOMAIN_ID', str(random.SystemRandom().randint(1, 100)))
    os.environ.update(quick_discovery())
