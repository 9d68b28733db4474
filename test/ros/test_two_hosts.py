# SPDX-License-Identifier: Apache-2.0
"""An arm on one host, its dynamics on another: two network namespaces joined by a cable.

They share nothing but UDP: shared memory is switched off, as between real machines. Making network
namespaces takes the rights of the administrator; without them the test is skipped.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from domains import default_environment

pytest.importorskip('rclpy')

import robot_dynamics
from robot_dynamics.common.resources import share_file

pytestmark = pytest.mark.processes

PACKAGE = str(Path(robot_dynamics.__file__).parents[1])
WITNESS = Path(__file__).with_name('host_witness.py')
ROBOT = str(share_file('urdf/planar_2r.urdf'))
HOSTS = {'arm': '10.77.6.1', 'brain': '10.77.6.2'}
PATIENCE = 60.0  # s


def ip(*arguments):
    return subprocess.run(['ip', *arguments], capture_output=True, text=True, check=False)


class Hosts:
    """Two network namespaces and the cable between them."""

    def __init__(self):
        self.names = {host: f'rd{os.getpid()}{host}' for host in HOSTS}

    def make(self):
        """Return why they cannot be made, or None."""
        steps = [['netns', 'add', name] for name in self.names.values()]
        arm, brain = self.names.values()
        steps.append(
            ['link', 'add', 'cable', 'netns', arm, 'type', 'veth', 'peer', 'cable', 'netns', brain]
        )
        for host, name in self.names.items():
            steps += [
                ['-n', name, 'addr', 'add', f'{HOSTS[host]}/24', 'dev', 'cable'],
                ['-n', name, 'link', 'set', 'lo', 'up'],
                ['-n', name, 'link', 'set', 'cable', 'up'],
                ['-n', name, 'route', 'add', '224.0.0.0/4', 'dev', 'cable'],
            ]
        for step in steps:
            done = ip(*step)
            if done.returncode:
                return f'ip {" ".join(step)}: {done.stderr.strip()}'
        return None

    def remove(self):
        for name in self.names.values():
            ip('netns', 'del', name)

    def command(self, host, *arguments):
        return ['ip', 'netns', 'exec', self.names[host], sys.executable, *arguments]


@pytest.fixture
def hosts():
    if shutil.which('ip') is None:
        pytest.skip('no network namespaces: there is no ip command')
    hosts = Hosts()
    try:
        trouble = hosts.make()
        if trouble:
            pytest.skip(f'no network namespaces: {trouble}')
        yield hosts
    finally:
        hosts.remove()


def environment():
    return {
        **default_environment(),
        'PYTHONPATH': PACKAGE,
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET',
        'FASTDDS_BUILTIN_TRANSPORTS': 'UDPv4',
    }


@contextlib.contextmanager
def running(hosts, host, node):
    arguments = ['-m', 'robot_dynamics.ros.executables', node, '--ros-args']
    arguments += ['-p', f'robot_description_file:={ROBOT}']
    process = subprocess.Popen(hosts.command(host, *arguments), env=environment())
    try:
        yield
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_the_dynamics_of_an_arm_on_another_host(hosts):
    with running(hosts, 'arm', 'simulator_node'), running(hosts, 'brain', 'dynamics_node'):
        witness = subprocess.run(
            hosts.command('brain', str(WITNESS), ROBOT),
            env=environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    assert witness.returncode == 0, witness.stderr
    seen = json.loads(witness.stdout)
    assert seen['answered'] >= 50
    assert seen['error'] < 1e-12
