"""The example of nodes as plain executables: every node starts, publishes and ends cleanly."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')

from sensor_msgs.msg import JointState

pytestmark = pytest.mark.processes

CHECKOUT = Path(__file__).parents[2]
SCRIPT = CHECKOUT / 'examples' / 'nodes_without_launch.sh'
MODULES = {
    'robot-dynamics': 'robot_dynamics.cli',
    'simulator_node': 'robot_dynamics.nodes.simulator_node',
    'feedforward_node': 'robot_dynamics.nodes.feedforward_node',
    'dynamics_node': 'robot_dynamics.nodes.dynamics_node',
}


@pytest.fixture
def executables(tmp_path):
    """The programs of this checkout, as executables in a folder."""
    for name, module in MODULES.items():
        path = tmp_path / name
        path.write_text(f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n')
        path.chmod(0o755)
    return tmp_path


def test_nodes_without_launch(graph, executables):
    process = subprocess.Popen(
        [str(SCRIPT)],
        env={
            **os.environ,
            'PATH': f'{executables}{os.pathsep}{os.environ["PATH"]}',
            'PYTHONPATH': str(CHECKOUT),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        joint_torques = graph.listen(JointState, 'joint_effort')
        gravity_torques = graph.listen(JointState, 'dynamics_node/gravity_torque')
        graph.until(lambda: joint_torques and gravity_torques, 'torques')
    finally:
        # As Ctrl-C does: to the script and to all that it started.
        os.killpg(process.pid, signal.SIGINT)
        try:
            log, _ = process.communicate(timeout=60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    for message in (joint_torques[0], gravity_torques[0]):
        assert len(message.name) == 7
        assert np.all(np.isfinite(message.effort))
    assert process.returncode == 0, log
    assert 'Traceback' not in log
    assert '[WARN]' not in log
