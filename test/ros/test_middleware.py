# SPDX-License-Identifier: Apache-2.0
"""Fast DDS as the launch files and the demonstration have it."""

import os
import time

import live_nodes
import pytest
from domains import default_environment

from robot_dynamics.common.resources import share_file
from robot_dynamics.ros import middleware
from robot_dynamics.ros.middleware import VARIABLES, quick_discovery

HALF_A_LEASE = 10.0  # s, of what Fast DDS waits without the profile


@pytest.fixture
def untold(monkeypatch):
    """Return the environment without a profile of the user."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ('release', 'name'),
    [('3.3.17', VARIABLES[0]), ('7.1.6', VARIABLES[0]), ('9.1.2', VARIABLES[1])],
)
def test_each_distribution_gets_the_variable_that_it_reads(untold, release, name):
    untold.setattr(middleware, 'version', lambda _: release)
    assert quick_discovery() == {name: str(share_file('config/fastdds_profile.xml'))}


@pytest.mark.parametrize('name', VARIABLES)
def test_the_profile_of_the_user_stays(untold, name):
    untold.setenv(name, '/somewhere/else.xml')
    assert quick_discovery() == {}


@pytest.mark.slow
@pytest.mark.processes
def test_a_node_that_was_killed_is_soon_forgotten(graph, untold):
    implementation = os.environ.get('RMW_IMPLEMENTATION', 'rmw_fastrtps_cpp')
    if implementation != 'rmw_fastrtps_cpp':
        pytest.skip(f'the profile is for rmw_fastrtps_cpp, this is {implementation}')
    for name, value in {**default_environment(), **quick_discovery()}.items():
        untold.setenv(name, value)
    process = live_nodes.start_node('dynamics_node')
    try:
        graph.until(lambda: 'dynamics_node' in graph.probe.get_node_names(), 'the node')
    finally:
        live_nodes.kill(process)
    killed = time.monotonic()
    graph.until(lambda: 'dynamics_node' not in graph.probe.get_node_names(), 'its end')
    assert time.monotonic() - killed < HALF_A_LEASE
