# SPDX-License-Identifier: Apache-2.0
from importlib import import_module

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from feedforward_view import MS, Q, Robot
from rclpy.parameter import Parameter
from std_msgs.msg import String

from robot_dynamics.ros import health, qos
from robot_dynamics.ros.diagnostics import diagnostic
from robot_dynamics.ros.executables import NODES
from robot_dynamics.ros.health import Health
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode


def test_health_reports_rates_ages_latencies_and_counts(monkeypatch):
    now = 100.0
    monkeypatch.setattr(health.time, 'monotonic', lambda: now)
    counted = Health()
    assert counted.report(now) == {}
    for k in range(50):
        counted.received(age=1e-3 * k)
    counted.latencies.extend(np.linspace(1e-4, 2e-4, 101))
    counted.counts['joint state rejected'] += 3
    assert counted.news() == {'joint state rejected': 3}
    figures = counted.report(now + 0.5)
    assert figures == {
        'joint state rejected': '3',
        'input rate [Hz]': '100.0',
        'input age [ms]': '49.000',
        'last input [s ago]': '0.500',
        'latency p50 [us]': '150',
        'latency p99 [us]': '199',
        'latency p100 [us]': '200',
    }
    assert not counted.news()
    assert counted.report(now + 1.5)['input rate [Hz]'] == '0.0'


def test_a_status_is_what_aggregators_expect():
    array = diagnostic(Time(sec=7), '/left/node: health', 'arm', health.WARN, 'so', {'a': '1'})
    assert array.header.stamp.sec == 7
    (status,) = array.status
    assert (status.name, status.hardware_id) == ('/left/node: health', 'arm')
    assert (status.level, status.message) == (DiagnosticStatus.WARN, 'so')
    assert [(value.key, value.value) for value in status.values] == [('a', '1')]


def test_the_life_of_a_node_in_its_diagnostics(graph, elbow_urdf):
    node = graph.start(
        DynamicsNode, remap=['__ns:=/left'], description=None, diagnostics_period=0.1
    )
    reports = graph.listen(DiagnosticArray, '/diagnostics')

    def has_status(level, text):
        status = reports[-1].status[0] if reports else DiagnosticStatus()
        return status.level == level and text in status.message

    graph.until(
        lambda: has_status(DiagnosticStatus.STALE, 'waiting for robot_description'), 'STALE'
    )
    assert reports[-1].status[0].name == '/left/dynamics_node: health'
    descriptions = graph.probe.create_publisher(String, '/left/robot_description', qos.LATCHED)
    descriptions.publish(String(data=elbow_urdf))
    graph.until(lambda: has_status(DiagnosticStatus.WARN, 'no joint_states'), 'WARN')
    node.trigger_deactivate()
    graph.until(lambda: has_status(DiagnosticStatus.OK, 'inactive'), 'inactive')
    node.trigger_cleanup()
    graph.until(lambda: has_status(DiagnosticStatus.OK, 'unconfigured'), 'unconfigured')
    node.trigger_shutdown()
    graph.until(lambda: has_status(DiagnosticStatus.OK, 'finalized'), 'finalized')


@pytest.mark.parametrize('name', NODES)
def test_every_node_publishes_its_status(graph, name):
    node_class = getattr(import_module(f'robot_dynamics.ros.nodes.{name}'), NODES[name])
    graph.start(node_class, description=None, diagnostics_period=0.1)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    graph.until(lambda: reports, f'/diagnostics of {name}')
    (status,) = reports[-1].status
    assert (status.name, status.level) == (f'/{name}: health', DiagnosticStatus.STALE)
    assert status.message == 'waiting for robot_description'
    assert {'lifecycle': 'unconfigured'}.items() <= {v.key: v.value for v in status.values}.items()


@pytest.mark.parametrize('begin', [60.0, 0.1])
def test_the_period_may_change_any_time(graph, begin):
    node = graph.start(DynamicsNode, diagnostics_period=begin)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    other = 60.1 - begin
    assert node.set_parameters([Parameter('diagnostics_period', value=other)])[0].successful
    if other < begin:
        graph.until(lambda: len(reports) > 1, 'two reports')
    else:
        before = len(reports)
        graph.drain(0.5)
        assert len(reports) <= before + 1


@pytest.mark.slow
def test_saturations_are_reported_while_they_last(graph):
    robot = Robot(graph, kp=[1e4], diagnostics_period=0.1)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    stamp = 0

    def send(q):
        nonlocal stamp
        stamp += MS
        robot.send(stamp, q)
        return reports[-1].status[0] if reports else DiagnosticStatus()

    robot.torque(0)
    off = Q + np.array([0.1, 0.0])
    graph.until(lambda: 'torque at its limit' in send(off).message, 'the saturation')
    values = {value.key: value.value for value in reports[-1].status[0].values}
    assert int(values['torque at its limit']) > 0
    assert values['joints at their limit'] == 'shoulder'
    graph.until(lambda: send(Q).level == DiagnosticStatus.OK, 'its end')
    assert reports[-1].status[0].message == 'holding'


def test_a_second_node_of_the_same_name_is_a_warning_until_it_is_gone(graph):
    import rclpy

    graph.start(DynamicsNode, remap=['__ns:=/pair'], diagnostics_period=0.1)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    twin = rclpy.create_node('dynamics_node', namespace='pair', context=graph.context)
    sentence = '2 nodes are named /pair/dynamics_node; stop all but one'

    def warns():
        status = reports[-1].status[0] if reports else DiagnosticStatus()
        return status.level == DiagnosticStatus.WARN and status.message.endswith(sentence)

    graph.until(warns, 'the warning')
    twin.destroy_node()
    graph.until(lambda: sentence not in reports[-1].status[0].message, 'its end')
