# SPDX-License-Identifier: Apache-2.0
"""Latency of the nodes of contact: `python -m benchmarks.touch_nodes`, requires ROS 2.

A client publishes joint states at 1 kHz for one node at a time, in short turns, and records when
the torque for each state is received. The nodes are `feedforward_node` with pd_plus and with
Cartesian impedance, and `momentum_observer_node`, in processes of their own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from rclpy.qos import ReliabilityPolicy
from sensor_msgs.msg import JointState

from benchmarks.ending import tidy_on_sigterm
from benchmarks.node_client import Answer, Client, torque_stamp
from benchmarks.node_process import NodeDied, NodeProcess, running
from benchmarks.nodes import TURN, WARM_UP
from benchmarks.shared_memory import remove_shared_memory, shared_memory
from robot_dynamics.common.resources import share_file
from robot_dynamics.ros.middleware import isolate
from robot_dynamics.urdf.loading import load_urdf

ROBOT = share_file('urdf/panda.urdf')
RATE = 1000.0  # Hz
FEEDFORWARD, OBSERVER = 'feedforward_node', 'momentum_observer_node'
# Name of each: the node, its output, and its parameters
NODES = {
    'pd_plus': (FEEDFORWARD, 'feedforward_torque', {'control_law': 'pd_plus'}),
    'cartesian_impedance': (
        FEEDFORWARD,
        'feedforward_torque',
        {'control_law': 'cartesian_impedance', 'impedance.frame': 'panda_link8'},
    ),
    'observer': (OBSERVER, 'external_torque', {}),
    # With the test whether a payload is the cause
    'observer_in_contact': (
        OBSERVER,
        'external_torque',
        {'thresholds.noise': [0.1], 'thresholds.level': [5.0]},
    ),
}


@tidy_on_sigterm()
def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if a node fails, else 0."""
    parser = argparse.ArgumentParser(description='Measure the latency of the nodes of contact.')
    parser.add_argument('--seconds', type=float, default=20.0, help='duration for each node')
    seconds = parser.parse_args(arguments).seconds
    before = shared_memory()
    isolate()
    try:
        measure(seconds)
    except NodeDied as error:
        print(f'benchmarks.touch_nodes: {error}', file=sys.stderr)
        return 1
    finally:
        remove_shared_memory(before)
    return 0


def measure(seconds: float) -> None:
    """Measure the nodes in alternation, and print a table."""
    joints = load_urdf(ROBOT).joint_names
    quantities = ('position', 'velocity', 'effort')
    client = Client(joints, RATE, ReliabilityPolicy.BEST_EFFORT, quantities)
    with contextlib.closing(client), processes() as asked:
        for process in asked:
            node, topic, _ = NODES[process.name]
            client.add(process, [Answer(f'{node}/{topic}', JointState, torque_stamp)])
            client.ask(process, WARM_UP)
        turns = range(max(1, round(seconds / TURN)))
        blocks = [[client.ask(process, round(TURN * RATE)) for process in asked] for _ in turns]
    print('| node | median us | p99 us | CPU % | answers lost |\n|---|---|---|---|---|')
    for process, row in zip(asked, zip(*blocks, strict=True), strict=True):
        latency = 1e6 * np.concatenate([block.answered for block in row])
        median, p99 = np.percentile(latency, (50, 99))
        cpu, lost = 100 * np.mean([block.cpu for block in row]), sum(b.lost for b in row)
        print(f'| {process.name} | {median:.0f} | {p99:.0f} | {cpu:.0f} | {lost} |')


@contextlib.contextmanager
def processes() -> Iterator[list[NodeProcess]]:
    """Run the nodes, each in its own namespace."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        started = []
        for name, (node, _, parameters) in NODES.items():
            file = folder / f'{name}.yaml'
            given = {'robot_description_file': str(ROBOT), **parameters}
            # JSON is YAML.
            file.write_text(json.dumps({'/**': {'ros__parameters': given}}))
            ros = ('--params-file', str(file), '-r', f'__ns:=/{name}')
            program = ('robot_dynamics.ros.executables', node)
            started.append(stack.enter_context(running(name, program, *ros)))
        yield started


if __name__ == '__main__':
    sys.exit(main())
