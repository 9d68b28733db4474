# SPDX-License-Identifier: Apache-2.0
"""The seven nodes of the package, for tests that hold for every node."""

import sys
from types import SimpleNamespace

import pytest

NODES = {
    'dynamics_node': 'DynamicsNode',
    'feedforward_node': 'FeedforwardNode',
    'simulator_node': 'SimulatorNode',
    'momentum_observer_node': 'MomentumObserverNode',
    'markers_node': 'MarkersNode',
    'state_publisher_node': 'StatePublisherNode',
    'pybullet_validator_node': 'PyBulletValidatorNode',
}


def node_class(name, monkeypatch):
    """Return a node's class; without tf2_msgs the state publisher publishes another type."""
    module = pytest.importorskip(f'robot_dynamics.ros.nodes.{name}')
    if name == 'state_publisher_node':
        from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint

        package = SimpleNamespace(TFMessage=MultiDOFJointTrajectoryPoint)
        monkeypatch.setitem(sys.modules, 'tf2_msgs.msg', package)
        monkeypatch.setattr(module, 'transforms', lambda *_: [])
    return getattr(module, NODES[name])
