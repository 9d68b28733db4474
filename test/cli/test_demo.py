# SPDX-License-Identifier: Apache-2.0
"""Demonstration as a user runs it: four nodes as processes."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from domains import default_environment, use_free_domain
from tiers import slow, soak

from robot_dynamics.cli.demo_nodes import NODES

pytest.importorskip('rclpy')

pytestmark = pytest.mark.processes

CHECKOUT = Path(__file__).resolve().parents[2]
TIMEOUT = 180  # s, for what takes ten
PROGRAM = ('-m', 'robot_dynamics.cli')

# The demonstration, but each message brings a signal, while C++ waits for its conversion.
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
            env={**default_environment(), 'ROS_DOMAIN_ID': use_free_domain()},
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
        raise AssertionError(f'{words!r} is not in\n{"".join(self.lines)}')

    def end(self):
        """Return the exit code and the whole output."""
        self.lines += self.process.stdout
        return self.process.wait(TIMEOUT), ''.join(self.lines)

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


@contextlib.contextmanager
def starting(folder):
    """Start demonstrations; in the end none of their nodes may be left."""
    started = []

    def start(*arguments, **options):
        started.append(Demo(folder, *arguments, **options))
        return started[-1]

    yield start
    for demo in started:
        left = demo.children() if demo.process.poll() is None else {}
        for pid in (*left.values(), demo.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        demo.process.wait()
        assert not left, 'nodes were left behind'


@pytest.fixture
def start(tmp_path):
    with starting(tmp_path) as start:
        yield start


@pytest.fixture(scope='module')
def ended(tmp_path_factory):
    """A demonstration at its end, and its output."""
    with starting(tmp_path_factory.mktemp('demo')) as start:
        demo = start(3.0)
        code, output = demo.end()
        assert code == 0, output
        yield demo, output


@pytest.mark.slow
def test_feedforward_follows_and_the_reference_engine_agrees(ended):
    demo, output = ended
    found = json.loads(demo.figures.read_text())
    assert found['robot'] == 'panda'
    assert len(found['joints']) == 7
    assert found['simulated_s'] == pytest.approx(6.0)
    assert found['states_recorded'] > 0.5
    assert found['rms_error_feedforward_rad'] < 2e-3
    assert found['rms_error_pd_rad'] > 20 * found['rms_error_feedforward_rad']
    assert found['missed_commands'] == 0
    assert 0 < found['latency_p50_us'] <= found['latency_p99_us']
    assert found['real_time_factor'] > 0
    assert demo.picture.stat().st_size > 10_000
    assert found['verdict'] in ('PASS', 'NO ENGINE'), output
    if found['verdict'] == 'PASS':
        assert found['pybullet_residual_rel'] <= 1e-6


@pytest.mark.slow
def test_the_json_has_its_documented_keys(ended):
    demo, _ = ended
    assert set(json.loads(demo.figures.read_text())) == {
        'robot', 'joints', 'simulated_s', 'rms_error_feedforward_rad', 'rms_error_pd_rad',
        'max_error_feedforward_rad', 'max_error_pd_rad', 'error_ratio', 'torque_scale',
        'pybullet_residual_rel', 'reference_engine', 'verdict', 'verdict_notes',
        'real_time_factor', 'state_rate_hz', 'states_recorded', 'latency_p50_us',
        'latency_p99_us', 'latency_max_us', 'missed_commands', 'restarts',
        'locked_joints', 'still_joints',
    }  # fmt: skip


@pytest.mark.slow
def test_a_realistic_arm_tracks_worse_than_the_exact_one_and_better_than_without_a_model(start):
    demo = start(2.0, '--realistic')
    code, output = demo.end()
    assert code == 0, output
    exact = json.loads(demo.figures.read_text())
    real = exact['realistic']
    assert real['profile'].endswith('realistic_panda.yaml')
    assert real['rms_error_feedforward_rad'] > 3 * exact['rms_error_feedforward_rad']
    assert real['rms_error_feedforward_rad'] < 0.5 * real['rms_error_pd_rad']
    assert 'realistic arm, with feed-forward' in output


@pytest.mark.slow
def test_a_profile_that_does_not_exist_is_rejected_in_a_line(start, tmp_path):
    code, output = start(1.0, '--realistic', tmp_path / 'none.yaml').end()
    assert code == 2
    assert 'none.yaml: No such file or directory' in output
    assert 'Traceback' not in output


@pytest.mark.parametrize('node', [*slow(NODES[:1]), *soak(NODES[1:])])
def test_a_node_that_ends_early_ends_the_demo_with_an_error(start, node):
    demo = start(20.0)
    demo.until('of 20 s   error')
    os.kill(demo.children()[node], signal.SIGKILL)
    code, output = demo.end()
    assert code == 1
    assert f'robot-dynamics demo: {node} ended with exit code -9' in output
    assert 'Traceback' not in output


@pytest.mark.slow
def test_an_interrupted_demo_ends_its_nodes(start):
    demo = start(20.0)
    demo.until('of 20 s   error')
    nodes = demo.children()
    assert set(nodes) == set(NODES)
    demo.process.send_signal(signal.SIGINT)
    code, output = demo.end()
    assert code == 130, output
    assert not any(Path(f'/proc/{pid}').exists() for pid in nodes.values())


@pytest.mark.slow
def test_an_interrupt_during_message_conversion_ends_the_nodes(start):
    code, output = start(20.0, program=('-c', SIGNALS_IN_MESSAGES)).end()
    assert code == 130, output
    assert 'Traceback' not in output


@pytest.mark.slow
def test_a_robot_without_links_is_rejected_in_a_line(start, tmp_path):
    file = tmp_path / 'none.urdf'
    file.write_text('<robot name="none"/>')
    code, output = start(1.0, '--robot', file).end()
    assert code == 2
    assert str(file) in output
    assert 'Traceback' not in output
