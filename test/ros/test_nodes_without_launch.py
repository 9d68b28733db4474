# SPDX-License-Identifier: Apache-2.0
"""The example of nodes as plain executables: every node starts, publishes and ends cleanly."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')

from elbow import ELBOW
from sensor_msgs.msg import JointState

from robot_dynamics.ros.nodes.state_publisher_node import WITHOUT_TF

pytestmark = pytest.mark.processes

CHECKOUT = Path(__file__).parents[2]
SCRIPT = CHECKOUT / 'examples' / 'nodes_without_launch.sh'
NODES = 'simulator_node', 'feedforward_node', 'dynamics_node', 'state_publisher_node'
MODULES = {
    'robot-dynamics': 'robot_dynamics.cli',
    **{node: f'robot_dynamics.ros.executables {node}' for node in NODES},
}


@pytest.fixture
def executables(tmp_path):
    """The programs of this checkout, as executables in a folder."""
    for name, module in MODULES.items():
        path = tmp_path / name
        path.write_text(f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n')
        path.chmod(0o755)
    return tmp_path


def started(command, executables):
    """Return a process of the checkout's programs, in a session of its own."""
    return subprocess.Popen(
        command,
        cwd=executables,
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


@pytest.mark.slow
def test_nodes_without_launch(graph, executables):
    process = started([str(SCRIPT)], executables)
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
    warnings = [line for line in log.splitlines() if '[WARN]' in line]
    assert all(WITHOUT_TF in line for line in warnings), log


@pytest.mark.slow
@pytest.mark.processes
def test_the_live_view_of_the_guide_shows_the_arm_of_the_nodes(graph, executables):
    pytest.importorskip('viser')
    guide = (CHECKOUT / 'docs' / 'guides' / 'view.md').read_text()
    section = guide.split('## Live robots', 1)[1].split('\n## ', 1)[0]
    (words,) = re.findall(r'```bash\n(.*?)```', section, re.DOTALL)
    (executables / 'arm.urdf').write_text(ELBOW)
    live = words.replace('view --live', 'view --live --port 0 --timeout 60')
    process = started(['bash', '-c', live], executables)
    try:
        log = []
        for line in process.stdout:
            log.append(line)
            if found := re.search(r'elbow: open (\S+) in a browser', line):
                break
        assert found, ''.join(log)
        with urllib.request.urlopen(found[1], timeout=60) as page:
            assert b'<html' in page.read()
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.communicate(timeout=60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
