"""Nodes of one name: each says that there is another, and is quiet again when it is alone."""

import pytest

pytest.importorskip('rclpy')

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from robot_dynamics.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros import diagnostics
from robot_dynamics.ros import duplicate_names as namesakes
from robot_dynamics.ros.duplicate_names import Namesakes


class Node:
    """As much of a node as is asked, in a graph and with a log that can be written to."""

    def __init__(self):
        self.graph, self.log = [('arm', '/left'), ('arm', '/right')], []

    def get_name(self):
        return 'arm'

    def get_namespace(self):
        return '/left'

    def get_fully_qualified_name(self):
        return '/left/arm'

    def get_node_names_and_namespaces(self):
        return self.graph

    def get_logger(self):
        return self

    def warning(self, text):
        self.log.append(text)


def test_a_namesake_that_stays_is_named_once_in_the_log_and_each_time_in_the_report(monkeypatch):
    now = 100.0
    monkeypatch.setattr(namesakes.time, 'monotonic', lambda: now)
    node = Node()
    watch = Namesakes(node)
    fine = diagnostics.OK, 'running'
    assert watch.added_to(*fine) == fine
    node.graph.append(('arm', '/left'))
    assert watch.added_to(*fine) == fine  # it may just make way
    now += namesakes.PERSISTS
    sentence = '2 nodes are named /left/arm; stop all but one'
    assert watch.added_to(*fine) == (diagnostics.WARN, f'running; {sentence}')
    worse = diagnostics.ERROR, 'refused'
    assert watch.added_to(*worse) == (diagnostics.ERROR, f'refused; {sentence}')
    assert node.log == [sentence]
    node.graph.pop()
    assert watch.added_to(*fine) == fine
    node.graph.append(('arm', '/left'))
    assert watch.added_to(*fine) == fine
    now += namesakes.PERSISTS
    assert watch.added_to(*fine)[0] == diagnostics.WARN
    assert len(node.log) == 2


def test_one_that_makes_way_in_time_is_not_mentioned(monkeypatch):
    now = 100.0
    monkeypatch.setattr(namesakes.time, 'monotonic', lambda: now)
    node = Node()
    watch = Namesakes(node)
    for _ in range(5):
        node.graph.append(('arm', '/left'))
        assert watch.added_to(diagnostics.OK, 'running')[0] == diagnostics.OK
        node.graph.pop()
        now += 0.6 * namesakes.PERSISTS
        assert watch.added_to(diagnostics.OK, 'running')[0] == diagnostics.OK
    assert not node.log


def test_a_node_with_a_namesake_warns_until_it_is_alone(graph, monkeypatch, capfd):
    monkeypatch.setattr(namesakes, 'PERSISTS', 0.3)
    node = graph.start(DynamicsNode, remap=['__ns:=/pair'], diagnostics_period=0.1)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    twin = rclpy.create_node('dynamics_node', namespace='pair', context=graph.context)
    sentence = '2 nodes are named /pair/dynamics_node; stop all but one'

    def warns():
        status = reports[-1].status[0] if reports else DiagnosticStatus()
        return status.level == DiagnosticStatus.WARN and status.message.endswith(sentence)

    graph.until(warns, 'the warning')
    graph.drain(0.3)
    assert capfd.readouterr().err.count(sentence) == 1
    twin.destroy_node()
    graph.until(lambda: sentence not in reports[-1].status[0].message, 'its end')
    assert node.failure is None
