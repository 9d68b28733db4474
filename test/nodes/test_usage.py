"""`--help` of every node prints what is in the graph; without ROS a node says what to install."""

import contextlib
import subprocess
import sys
import textwrap

import pytest
from every_node import NODES, node_class

from robot_dynamics.ros.parameters import specs
from robot_dynamics.ros.usage import INTERFACES, usage

rclpy = pytest.importorskip('rclpy')

# With these a node has every topic it can have.
OPTIONS = {
    'dynamics_node': {'acceleration_source': 'reference'},
    'feedforward_node': {'publish_commands': True},
    'simulator_node': {'publish_clock': True},
}
OF_RCLPY = {'/parameter_events', '/rosout'}


@pytest.mark.parametrize('name', NODES)
def test_the_interfaces_are_those_of_the_node_in_the_graph(graph, name, monkeypatch):
    node = graph.start(node_class(name, monkeypatch), **OPTIONS.get(name, {}))
    interface = INTERFACES[name]

    def resolved(names):
        return {node.resolve_topic_name(n): kind for n, kind in names.items()}

    def of_graph(method):
        found = {}
        for owner in (name, f'{name}_streams'):  # the validator has a second node
            with contextlib.suppress(rclpy.node.NodeNameNonExistentError):
                found |= {n: kinds[0] for n, kinds in getattr(graph.probe, method)(owner, '/')}
        return {
            n: k for n, k in found.items() if n not in OF_RCLPY and 'transition_event' not in n
        }

    for names, method in (
        (interface.subscriptions, 'get_subscriber_names_and_types_by_node'),
        (interface.publications, 'get_publisher_names_and_types_by_node'),
    ):
        wanted = resolved(names)
        graph.until(lambda m=method, w=wanted: of_graph(m).keys() >= w.keys(), f'{method}')
        found = of_graph(method)
        assert found.keys() == wanted.keys()
        # Where tf2_msgs is missing the tests publish another type.
        assert {n: k for n, k in found.items() if 'tf' not in n} == {
            n: k for n, k in wanted.items() if 'tf' not in n
        }
    services = of_graph('get_service_names_and_types_by_node')
    assert resolved(interface.services).items() <= services.items()
    offered = {n for n, kind in services.items() if kind.startswith('std_srvs')}
    assert offered == resolved(interface.services).keys()


@pytest.mark.parametrize('name', NODES)
def test_the_text_has_every_parameter_with_its_meaning(name, monkeypatch):
    table = node_class(name, monkeypatch).table
    text = usage(name, table)
    assert text.startswith(f'usage: {name} ')
    for key, spec in specs(table).items():
        assert f'\n  {key} (default ' in text
        assert ' '.join(spec.description.split()) in ' '.join(text.split())


@pytest.mark.parametrize('flag', ['--help', '-h'])
def test_help_is_printed_and_nothing_is_started(flag):
    ended = subprocess.run(
        [sys.executable, '-m', 'robot_dynamics.nodes.dynamics_node', flag],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (0, '')
    assert ended.stdout.startswith('usage: dynamics_node')


@pytest.mark.parametrize('name', NODES)
def test_without_ros_one_line_says_what_to_install(name):
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
