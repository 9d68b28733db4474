# SPDX-License-Identifier: Apache-2.0
"""Extreme values of every number among the parameters of every node, live and at start.

Each is accepted, or rejected with a reason that names it; the node goes on.
"""

import math

import pytest
from every_node import NODES, node_class
from tiers import soak

pytest.importorskip('rclpy')

from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.ros.parameters import ParameterError, snapshot, specs
from robot_dynamics.ros.robot_parameters import RobotParameters

FLOATS = (0.0, 5e-324, -1e-30, 1e300, -1e300, math.inf, -math.inf, math.nan)


def numbers(table):
    """Return the parameters that are numbers, or lists of them."""
    return {
        name: spec
        for name, spec in specs(table).items()
        if type(spec.default if not isinstance(spec.default, (list, tuple)) else spec.default[0])
        in (int, float)
    }


def extremes(spec):
    """Return extreme values of a parameter, its bounds among them."""
    many = isinstance(spec.default, (list, tuple))
    first = spec.default[0] if many else spec.default
    if type(first) is int:
        return [0, -1, int(spec.bounds[0]), int(spec.bounds[1]), 2**63 - 1, -(2**63)]
    values = [*FLOATS, float(spec.bounds[0]), float(spec.bounds[1])]
    return [[value] * len(spec.default) for value in values] if many else values


@pytest.mark.parametrize('name', NODES)
def test_every_number_has_bounds(name, monkeypatch):
    for key, spec in numbers(node_class(name, monkeypatch).table).items():
        assert math.isfinite(spec.bounds[0]), key
        assert math.isfinite(spec.bounds[1]), key
        assert spec.bounds[0] < spec.bounds[1], key


def turns(graph, node, seconds=0.03):
    """Let a node work on joint states, or on commands."""
    outs = [
        graph.probe.create_publisher(JointState, topic, 10)
        for topic in ('joint_states', 'joint_effort')
    ]
    state = JointState(name=['shoulder', 'elbow'], position=[0.1, 0.2], velocity=[0.3, 0.4])
    state.effort = [1.0, 2.0]
    state.header.stamp.sec = graph.stamp = getattr(graph, 'stamp', 0) + 1
    for _ in range(3):
        state.header.stamp.nanosec += 1_000_000
        for out in outs:
            out.publish(state)
        graph.drain(seconds / 3)
    for out in outs:
        graph.probe.destroy_publisher(out)
    assert node.failure is None
    assert node.state == 'active'


FAST = 'dynamics_node', 'markers_node', 'simulator_node'


@pytest.mark.slow
@pytest.mark.parametrize('name', [*FAST, *soak(name for name in NODES if name not in FAST)])
def test_extremes_at_run_time(graph, name, monkeypatch):
    node = graph.start(node_class(name, monkeypatch))
    turns(graph, node)
    for key, spec in numbers(node.table).items():
        if spec.description_of_robot or not spec.live:
            continue
        before = node.get_parameter(key).value
        for value in extremes(spec):
            (result,) = node.set_parameters([Parameter(key, value=value)])
            if result.successful:
                turns(graph, node)
            else:
                assert result.reason, key
        (result,) = node.set_parameters([Parameter(key, value=before)])
        assert result.successful, (key, result.reason)
    turns(graph, node)


@pytest.mark.slow
@pytest.mark.parametrize(
    'name',
    ['markers_node', *soak(name for name in NODES if name != 'markers_node')],
)
def test_extremes_at_start(graph, name, monkeypatch):
    start = node_class(name, monkeypatch)
    # What all nodes have is tried with two: the payload of the simulator is made otherwise.
    known = specs(RobotParameters) if name not in ('dynamics_node', 'simulator_node') else {}
    for key, spec in numbers(start.table).items():
        for value in extremes(spec) if key not in known else ():
            try:
                snapshot(start.table, {key: value})
            except ParameterError:
                continue  # as the node does: see the test of declarations
            try:
                node = graph.start(start, **{key.replace('.', '__'): value})
            except RobotDynamicsError:
                continue
            turns(graph, node)
            graph.stop(node)
