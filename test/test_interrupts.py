# SPDX-License-Identifier: Apache-2.0
"""SIGINT while programs import: one line or none, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
HOOK = """
import os, signal, sys

class Hook:
    def find_spec(self, name, path, target=None):
        {action}

sys.meta_path.insert(0, Hook())
"""
PRINT = "os.write(2, b'import ' + name.encode() + b'\\n')"
INTERRUPT = 'name == {name!r} and os.kill(os.getpid(), signal.{signal})'
CLI = 'from robot_dynamics.cli import main; sys.exit(main())'
NODE = 'from robot_dynamics.ros.executables import {name}; {name}()'


def run(action, program, *arguments):
    """Run a program that acts on the name of each module that it imports."""
    return subprocess.run(
        [sys.executable, '-c', f'{HOOK.format(action=action)}\n{program}', *arguments],
        cwd=CHECKOUT,
        env={**os.environ, 'PYTHONPATH': str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=False,
    )


def imported(first, program, *arguments):
    """Return the names of the modules that a program imports, from its first own one on."""
    lines = run(PRINT, program, *arguments).stderr.splitlines()
    names = [line.removeprefix('import ') for line in lines if line.startswith('import ')]
    return names[names.index(first) :]


def every(count, names):
    """Return some names, evenly spaced, the first and the last among them."""
    last = len(names) - 1
    return [names[round(k * last / (count - 1))] for k in range(count)]


COUNTS = [8, pytest.param(100, marks=pytest.mark.soak)]


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize('count', COUNTS)
def test_an_interrupt_during_an_import_is_one_line(count):
    pytest.importorskip('viser')
    # The verb imports most of what it needs when it runs, then it serves a page without end.
    view = ('view', '--port', '0')
    names = imported('robot_dynamics.cli.commands', CLI, *view, '--payload', 'nowhere', '1')
    for name in every(count, names):
        ended = run(INTERRUPT.format(name=name, signal='SIGINT'), CLI, *view)
        assert (ended.returncode, ended.stderr) == (130, 'robot-dynamics: interrupted\n'), name


@pytest.mark.slow
@pytest.mark.processes
def test_an_interrupt_is_raised_after_the_import_that_would_replace_it(tmp_path):
    # As NumPy and others do: an extension that cannot be imported is another error.
    (tmp_path / 'extension.py').write_text(
        'import os, signal\nos.kill(os.getpid(), signal.SIGINT)'
    )
    (tmp_path / 'package.py').write_text(
        'try:\n    import extension\n'
        'except BaseException as error:\n    raise ImportError("broken") from error\n'
    )
    before = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from robot_dynamics.cli import commands

def check(_):
    'Import the package.'
    import package
    import time
    time.sleep(60)

commands.check = check
"""
    ended = run('pass', before + CLI, 'check', 'panda')
    found = ended.returncode, ended.stdout, ended.stderr
    assert found == (130, '', 'robot-dynamics: interrupted\n')


def ended_by(signal, name, program, *words):
    """Return exit code, output and errors of a node that receives a signal at an import."""
    ended = run(INTERRUPT.format(name=name, signal=signal), program, *words)
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize('count', COUNTS)
def test_an_interrupt_during_an_import_ends_a_node(count):
    pytest.importorskip('rclpy')
    program = NODE.format(name='feedforward_node')
    for name in every(count, imported('rclpy', program, '--help')):
        assert ended_by('SIGINT', name, program, '--help') == (0, '', ''), name


@pytest.mark.processes
@pytest.mark.parametrize('signal', ['SIGINT', 'SIGTERM', 'SIGHUP'])
@pytest.mark.parametrize('module', ['rclpy', 'numpy._core._multiarray_umath', 'rclpy.node'])
def test_a_signal_during_an_import_ends_several_nodes(module, signal):
    pytest.importorskip('rclpy')
    program = NODE.format(name='robot_dynamics_nodes')
    assert ended_by(signal, module, program, 'dynamics_node', 'markers_node') == (0, '', '')
