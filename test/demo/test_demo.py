"""The whole demonstration as a user runs it: four nodes as processes, and one that is killed."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from robot_dynamics.nodes.demo.supervisor import left_in_shared_memory, shared_memory

pytest.importorskip('rclpy')

CHECKOUT = Path(__file__).resolve().parents[2]
NODES = ('dynamics_node', 'pybullet_validator_node', 'feedforward_node', 'simulator_node')
DOMAIN = 1 + (os.getpid() + 50) % 100  # others in this process may use 1 + getpid() % 100
PATIENCE = 180  # s, for what takes ten
PROGRAM = ('-m', 'robot_dynamics.cli')

# The demonstration, but each message it hears brings a signal, while C++ waits for its conversion.
SIGNALS_IN_MESSAGES = """
import signal, sys
from sensor_msgs.msg import JointState
from robot_dynamics.cli import main

plain = JointState.__init__

def interrupted(self, *arguments, **fields):
    signal.raise_signal(signal.SIGINT)
    plain(self, *arguments, **fields)

JointState.__init__ = interrupted
sys.exit(main())
"""


class Demo:
    """A demonstration in a process of its own, with its output line by line."""

    def __init__(self, folder, duration, *options, program=PROGRAM):
        self.figures, self.picture = folder / 'figures.json', folder / 'demo.png'
        self.process = subprocess.Popen(
            [
                *(sys.executable, *program, 'demo', '--headless'),
                *('--duration', str(duration), '--json', self.figures, '--picture', self.picture),
                *options,
            ],
            cwd=CHECKOUT,
            env={**os.environ, 'ROS_DOMAIN_ID': str(DOMAIN)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines = []

    def until(self, words):
        """Read on until a line contains these words."""
        for line in self.process.stdout:
            self.lines.append(line)
            if words in line:
                return
        raise AssertionError(f'{words!r} was never said:\n{"".join(self.lines)}')

    def end(self):
        """Return the exit code and all that was said."""
        self.lines += self.process.stdout
        return self.process.wait(PATIENCE), ''.join(self.lines)

    def children(self):
        """Return the processes of the nodes by name."""
        found = {}
        for file in Path('/proc').glob('[0-9]*/stat'):
            with contextlib.suppress(OSError):
                parent = int(file.read_text().rpartition(')')[2].split()[1])
                command = (file.parent / 'cmdline').read_text()
                if parent == self.process.pid:
                    found |= {name: int(file.parent.name) for name in NODES if name in command}
        return found


def of_domain(file):
    """Say whether shared memory belongs to a port of our domain, not to some other test."""
    port = re.search(r'port(\d+)', file.name)
    # RTPS, section 9.6.2: port 7400 + 250 * domain + ...
    return port is not None and 7400 + 250 * DOMAIN <= int(port[1]) < 7400 + 250 * (DOMAIN + 1)


@pytest.fixture
def start(tmp_path):
    """Start demonstrations; in the end nothing of them may be left."""
    before = shared_memory()
    started = []

    def start(*arguments, **options):
        started.append(Demo(tmp_path, *arguments, **options))
        return started[-1]

    yield start
    for demo in started:
        left = demo.children() if demo.process.poll() is None else {}
        for pid in (*left.values(), demo.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        demo.process.wait()
        assert not left, 'nodes were left behind'
    assert not [file for file in left_in_shared_memory(before) if of_domain(file)]


def test_feedforward_follows_and_another_engine_agrees(start):
    demo = start(3.0)
    code, said = demo.end()
    assert code == 0, said
    found = json.loads(demo.figures.read_text())
    assert found['robot'] == 'panda'
    assert len(found['joints']) == 7
    assert found['simulated_s'] == pytest.approx(6.0, abs=0.1)
    assert found['rms_error_feedforward_rad'] < 2e-3
    assert found['rms_error_pd_rad'] > 20 * found['rms_error_feedforward_rad']
    assert found['missed_commands'] == 0
    assert 0 < found['latency_p50_us'] <= found['latency_p99_us']
    assert found['real_time_factor'] > 0
    assert not any(found['restarts'].values())
    assert demo.picture.stat().st_size > 10_000
    assert found['verdict'] in ('PASS', 'NO ENGINE'), said
    if found['verdict'] == 'PASS':
        assert found['pybullet_residual_rel'] <= 1e-6


def test_nodes_that_are_killed_come_back(start):
    demo = start(4.0)
    for node, said in (
        ('dynamics_node', 'dynamics_node was restarted: the others carry on'),
        ('pybullet_validator_node', 'pybullet_validator_node was restarted: the others carry on'),
        ('feedforward_node', 'feedforward_node was restarted: it is sent the remaining'),
        ('simulator_node', 'simulator_node was restarted: this run starts over'),
    ):
        demo.until('of 4 s   error')
        os.kill(demo.children()[node], signal.SIGKILL)
        demo.until(said)
    code, said = demo.end()
    assert code == 0, said
    found = json.loads(demo.figures.read_text())
    assert found['restarts'] == dict.fromkeys(NODES, 1)
    assert found['rms_error_pd_rad'] > 20 * found['rms_error_feedforward_rad']
    assert found['simulated_s'] == pytest.approx(8.0, abs=0.1)
    assert found['verdict'] in ('PASS', 'NO ENGINE'), said


def test_an_interrupted_demo_takes_its_nodes_along(start):
    demo = start(20.0)
    demo.until('of 20 s   error')
    nodes = demo.children()
    assert set(nodes) == set(NODES)
    demo.process.send_signal(signal.SIGINT)
    code, said = demo.end()
    assert code == 130, said
    assert 'did not end well' not in said
    assert not any(Path(f'/proc/{pid}').exists() for pid in nodes.values())


def test_a_demo_that_is_interrupted_while_it_hears_a_message_ends_as_well(start):
    code, said = start(20.0, program=('-c', SIGNALS_IN_MESSAGES)).end()
    assert code == 130, said
    assert 'did not end well' not in said


def test_a_robot_that_is_none_is_refused_in_a_line(start, tmp_path):
    file = tmp_path / 'none.urdf'
    file.write_text('<robot name="none"/>')
    code, said = start(1.0, '--robot', file).end()
    assert code != 0
    assert str(file) in said
    assert 'Traceback' not in said
