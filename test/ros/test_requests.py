# SPDX-License-Identifier: Apache-2.0
"""Requests, messages and timers whose callback raises: each node rejects the input and goes on."""

import itertools

import pytest

pytest.importorskip('rclpy')

from every_node import NODES, node_class
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.ros import qos
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode

TYPES = [0, *range(10, 256, 35), 255]
GOOD = Parameter(name='diagnostics_period', value=ParameterValue(type=3, double_value=2.5))


def of_type(number, name='diagnostics_period'):
    return Parameter(name=name, value=ParameterValue(type=number, double_value=5.0))


@pytest.mark.parametrize('name', NODES)
def test_no_parameter_request_ends_a_node(graph, name, monkeypatch):
    node = graph.start(node_class(name, monkeypatch), description=None, autostart=False)
    asked = [of_type(number) for number in TYPES]
    answer = graph.call(
        SetParameters, f'{name}/set_parameters', SetParameters.Request(parameters=[*asked, GOOD])
    )
    # Each parameter is answered alone, and those that fit are set.
    assert [result.successful for result in answer.results] == [False] * len(asked) + [True]
    assert all(result.reason for result in answer.results[:-1])
    assert node.parameters.diagnostics_period == 2.5
    invalid = sum(number >= 10 for number in TYPES)
    assert node.health.counts[f'request of {name}/set_parameters rejected'] == invalid
    for number in (10, 255):
        request = SetParametersAtomically.Request(parameters=[of_type(number)])
        result = graph.call(
            SetParametersAtomically, f'{name}/set_parameters_atomically', request
        ).result
        assert not result.successful
        assert f'{number} is not a valid Parameter.Type' in result.reason
    assert node.parameters.diagnostics_period == 2.5


@pytest.mark.parametrize('name', NODES)
def test_odd_names_and_values_of_parameters_are_answered(graph, name, monkeypatch):
    node = graph.start(node_class(name, monkeypatch), description=None, autostart=False)
    names = ['', '.', 'a' * 10_000, 'use_sim_time', 'diagnostics_period', '\n', 'payload.mass']
    for service, kind in (
        ('describe_parameters', DescribeParameters),
        ('get_parameters', GetParameters),
        ('get_parameter_types', GetParameterTypes),
    ):
        for one in names:
            graph.call(kind, f'{name}/{service}', kind.Request(names=[one]))
    for depth in (0, 1, 2**64 - 1):
        request = ListParameters.Request(prefixes=names, depth=depth)
        graph.call(ListParameters, f'{name}/list_parameters', request)
    for one, number in itertools.product(names, range(10)):
        request = SetParameters.Request(parameters=[of_type(number, one)])
        assert graph.call(SetParameters, f'{name}/set_parameters', request).results
    assert node.failure is None


class Raising(DynamicsNode):
    """A node whose further callbacks raise."""

    def __init__(self, error, **kwargs):
        super().__init__(**kwargs)
        self.error, self.ticks = error, 0
        self.create_service(Trigger, '~/trigger', self.raising)
        self.create_service(SetBool, '~/set', self.raising)
        self.create_subscription(String, 'text', self.raising, qos.COMMANDS_IN)
        self.subscribe(String, 'read', 'text', self.raising, lambda _: None, qos.COMMANDS_IN)
        self.create_steady_timer(0.01, self.tick)

    def raising(self, *_):
        raise self.error

    def tick(self):
        self.ticks += 1
        raise self.error


@pytest.mark.parametrize(
    'error', [ValueError('wrong'), RobotDynamicsError('wrong'), ZeroDivisionError('wrong')]
)
def test_an_exception_of_any_callback_rejects_its_input(graph, error, capfd):
    node = graph.start(lambda **kwargs: Raising(error, **kwargs))
    counts = node.health.counts
    for kind, name in ((Trigger, 'trigger'), (SetBool, 'set')):
        answer = graph.call(kind, f'dynamics_node/{name}')
        assert not answer.success
        assert 'wrong' in answer.message
        assert counts[f'request of ~/{name} rejected'] == 1
    for topic, what in (('text', 'message on text'), ('read', 'text')):
        publisher = graph.publisher(String, topic)
        publisher.publish(String(data='x'))
        graph.until(lambda w=what: counts[f'{w} rejected'], topic)
    graph.until(lambda: node.ticks > 3, 'the timer')
    assert counts['input of Raising.tick rejected'] == node.ticks
    assert node.active
    assert 'request of ~/trigger rejected: ' in capfd.readouterr().err


def test_a_view_of_a_live_robot_has_no_parameter_service(graph):
    from robot_dynamics.ros.live_robot import NODE, LiveRobot

    robot = LiveRobot()
    try:
        graph.until(lambda: NODE in graph.probe.get_node_names(), 'the view')
        graph.drain(0.2)
        services = graph.probe.get_service_names_and_types_by_node(NODE, '/')
        assert not [name for name, _ in services if 'set_parameters' in name]
    finally:
        robot.close()
