# SPDX-License-Identifier: Apache-2.0
"""Interrupted benchmarks end the nodes that they started."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from domains import use_free_domain
from waiting import wait_until

from robot_dynamics.common.resources import share_file

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

pytestmark = pytest.mark.processes

CHECKOUT = Path(__file__).resolve().parents[2]
ROBOT = ('--robot', str(share_file('urdf/planar_2r.urdf')))
DEADLINE = 60.0  # s
STARTING = 0.3  # s; a signal that comes in the middle of Popen leaves an unknown child
SCRIPTS = {
    'nodes': ('benchmarks.nodes', '--seconds', '100', '--rate', '100', *ROBOT),
    'simulator_node': ('benchmarks.simulator_node', '--seconds', '1', *ROBOT),
}
CHILDREN = {'nodes': 2, 'simulator_node': 1}  # the node and its echo; a command publisher


def children(process):
    """Return the modules that it runs as processes."""
    found = []
    for file in Path('/proc').glob('[0-9]*/stat'):
        with contextlib.suppress(OSError):
            fields = file.read_text().rpartition(')')[2].split()
            command = (file.parent / 'cmdline').read_bytes().split(b'\0')
            if int(fields[1]) == process.pid and b'-m' in command:
                found.append(int(file.parent.name))
    return found


def end(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ('name', 'number'),
    [
        ('nodes', signal.SIGINT),
        pytest.param('nodes', signal.SIGTERM, marks=pytest.mark.soak),
        pytest.param('simulator_node', signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_the_benchmark_and_its_nodes(name, number):
    use_free_domain()
    process = subprocess.Popen(
        [sys.executable, '-m', *SCRIPTS[name]],
        cwd=CHECKOUT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    started = []
    try:

        def all_started():
            assert process.poll() is None
            started[:] = children(process)
            return len(started) == CHILDREN[name]

        wait_until(all_started, 'the processes of the benchmark', DEADLINE)
        time.sleep(STARTING)
        process.send_signal(number)
        assert process.wait(DEADLINE) != 0
        assert not [pid for pid in started if Path(f'/proc/{pid}').exists()]
    finally:
        end([*started, process.pid])
        process.wait()
