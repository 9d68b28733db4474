# SPDX-License-Identifier: Apache-2.0
"""The nodes of the demonstration: their parameters and processes."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from robot_dynamics.common.resources import share_file
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.yaml_text import parameters_text
from robot_dynamics.control import Gains

NODES = ('simulator_node', 'feedforward_node', 'dynamics_node', 'pybullet_validator_node')
TIME_STEP = 1e-3  # s, of the simulation
TERMS_RATE = 50.0  # Hz, as much as the figure shows
END_TIMEOUT = 5.0  # s, for a node to end after SIGINT
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def node_parameters(
    source: Mapping[str, Any], locked: Mapping[str, float], home: Array, gains: Gains
) -> dict[str, dict[str, Any]]:
    """Return the parameters of each node that differ from those in `config/`.

    Simulated time waits for the torque computed from each state (lock-step) and otherwise runs as
    fast as the machine allows.

    Args:
        source: parameters of the description and of gravity.
        locked: positions of the locked joints, rad or m.
        home: (n,) positions at the start.
        gains: of the feedback.
    """
    common = {
        **source,
        'locked_joints': list(locked) or [''],
        'locked_positions': list(locked.values()) or [0.0],
    }
    simulator = {
        'lockstep': True,
        'real_time_factor': 0.0,
        'command_timeout': 30.0,
        'time_step': TIME_STEP,
        'start_paused': True,
        'initial_positions': home.tolist(),
    }
    feedforward = {
        'kp': gains.kp.tolist(),
        'kd': gains.kd.tolist(),
        # Brakes hold the arm until the first torque, which has to carry it at once.
        'ramp_time': 0.0,
        'max_torque_rate': [0.0],
    }
    dynamics = {'publish_rate': TERMS_RATE}
    particular: tuple[dict[str, Any], ...] = (simulator, feedforward, dynamics, {})
    return {name: common | row for name, row in zip(NODES, particular, strict=True)}


def start_node(name: str, parameters: dict[str, Any], folder: Path) -> subprocess.Popen[bytes]:
    """Start a node as a process; its log goes to the standard error of this one."""
    file = folder / f'{name}.yaml'
    file.write_text(parameters_text(parameters))
    remapping = ['-r', '~/feedforward_torque:=joint_effort']
    command = [
        *(sys.executable, '-m', 'robot_dynamics.ros.executables', name, '--ros-args'),
        *('--log-level', 'error'),  # four nodes would repeat the warnings of one description
        *('--params-file', str(share_file(f'config/{name}.yaml'))),
        *('--params-file', str(file)),
        *(remapping if name == 'feedforward_node' else []),
    ]
    # In a session of its own: this process passes Ctrl-C on, once its own work is done.
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)


@contextmanager
def started_nodes(
    parameters: dict[str, dict[str, Any]],
) -> Iterator[tuple[Any, dict[str, subprocess.Popen[bytes]]]]:
    """Run the four nodes and the client; all of them have ended when the context ends.

    Raises:
        DemoFailed: a node ended early.
        KeyboardInterrupt: this process received SIGINT, SIGTERM or SIGHUP.
    """
    from robot_dynamics.cli.demo_client import DemoClient, DemoFailed

    # An exception raised by a signal inside the ROS client library would come out as another one:
    # signals are noted here, and looked at by `check`.
    received: list[int] = []
    for stop in STOPS:
        signal.signal(stop, lambda caught, _frame: received.append(caught))
    nodes: dict[str, subprocess.Popen[bytes]] = {}

    def check() -> None:
        if received:
            raise KeyboardInterrupt
        for name, node in nodes.items():
            if node.poll() is not None:
                code = node.returncode
                raise DemoFailed(f'{name} ended with exit code {code}: see its log above')

    client = DemoClient(check)
    with tempfile.TemporaryDirectory(prefix='robot_dynamics-') as folder:
        try:
            for name, row in parameters.items():
                nodes[name] = start_node(name, row, Path(folder))
            yield client, nodes
        finally:
            for stop in STOPS:  # another Ctrl-C must not leave processes behind
                signal.signal(stop, signal.SIG_IGN)
            end(nodes.values())
            client.close()


def end(nodes: Any) -> None:
    """Send SIGINT to the nodes; kill those that do not end within END_TIMEOUT."""
    for node in nodes:
        node.send_signal(signal.SIGINT)
    for node in nodes:
        try:
            node.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            node.kill()
            node.wait()
