# SPDX-License-Identifier: Apache-2.0
"""`--help` of every node prints its interfaces; without ROS a line names the installation."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import yaml
from every_node import NODES, node_class

from robot_dynamics.ros.parameters import specs

pytest.importorskip('rclpy')

from robot_dynamics.ros.executable import usage

INTERFACES = yaml.safe_load(Path(__file__).with_name('interfaces.yaml').read_text())
OF_RCLPY = 'lifecycle_msgs'


@pytest.mark.parametrize('name', INTERFACES)
def test_the_text_has_every_interface_of_the_node(name, monkeypatch):
    text = usage(node_class(name, monkeypatch))
    assert text.startswith(f'usage: {name} ')
    record = INTERFACES[name]
    for entry in [*record['subscribes'], *record['publishes'], *record['services']]:
        topic, kind = entry.split()[:2]
        kind = kind.replace('/msg/', '/').replace('/srv/', '/').rstrip(':')
        short = topic.replace(f'/{name}/', '~/')
        if OF_RCLPY in kind:
            continue
        # The type is in the line of the name, or in the next one of a longer list.
        pattern = rf'{re.escape(short.removeprefix("/"))}\b[^\n]*(\n[^\n]*)?{kind}'
        assert re.search(pattern, text), (short, kind)


@pytest.mark.parametrize('name', NODES)
def test_the_text_has_every_parameter_with_its_meaning(name, monkeypatch):
    node = node_class(name, monkeypatch)
    text = usage(node)
    for key, spec in specs(node.table).items():
        assert f'\n    {key} (default ' in text
        assert ' '.join(spec.description.split()) in ' '.join(text.split())


@pytest.mark.parametrize('flag', ['--help', '-h'])
def test_help_is_printed_and_nothing_is_started(flag):
    ended = subprocess.run(
        [
            sys.executable,
            '-c',
            'from robot_dynamics.ros import executables as them; them.dynamics_node()',
            flag,
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (0, '')
    assert ended.stdout.startswith('usage: dynamics_node')


@pytest.mark.parametrize('name', NODES)
def test_without_ros_one_line_names_the_installation(name):
    program = f"""
        import sys
        sys.modules['rclpy'] = None
        from robot_dynamics.ros import executables
        executables.{name}()
    """
    ended = subprocess.run(
        [sys.executable, '-c', textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f'{name} needs ROS 2')
    assert "pip install '.[ros]'" in line


def test_a_node_without_machine_code_warns_when_it_is_configured(graph, monkeypatch, capfd):
    from robot_dynamics.codegen.backends import machine_code

    monkeypatch.setattr(machine_code, 'why_not', lambda: 'llvmlite cannot be imported (gone)')
    node = graph.start(node_class('feedforward_node', monkeypatch))
    graph.drain(0.1)
    lines = capfd.readouterr().err.splitlines()
    assert sum('llvmlite cannot be imported (gone): results are' in line for line in lines) == 1
    assert node.active
