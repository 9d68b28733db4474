# SPDX-License-Identifier: Apache-2.0
"""Nodes and their peers, as processes that can be killed."""

import os
import subprocess
import sys
from pathlib import Path

import robot_dynamics

PACKAGE = str(Path(robot_dynamics.__file__).parents[1])
STARTED = []  # processes of the present test


def start_python(*arguments):
    """Start an interpreter that finds this package; its log comes on stdout, line by line."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={
            **os.environ,
            'PYTHONPATH': os.pathsep.join([PACKAGE, os.environ.get('PYTHONPATH', '')]),
            'PYTHONUNBUFFERED': '1',
            'RCUTILS_LOGGING_USE_STDOUT': '1',
        },
    )
    STARTED.append(process)
    return process


def start_node(node, *arguments):
    """Start a node of this package with ROS arguments."""
    return start_python('-m', 'robot_dynamics.ros.executables', node, '--ros-args', *arguments)


def line_with(process, text):
    """Return the first line that contains the text."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return line
    raise AssertionError(f'{text!r} is not in\n{"".join(lines)}')


def kill(process):
    """Kill a process that has not ended; it has no time to clean up."""
    process.kill()
    process.wait()
    process.stdout.close()


def kill_all():
    """Kill what the present test has started and not ended, and close its output."""
    while STARTED:
        kill(STARTED.pop())
