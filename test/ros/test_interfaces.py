# SPDX-License-Identifier: Apache-2.0
"""Topics, types, QoS, services and parameters of every node, against a written record.

What a launch file or another node relies on changes only together with `interfaces.yaml`. After an
intended change: `WRITE_INTERFACES=1 pytest test/ros/test_interfaces.py`, and review the diff.
"""

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

pytest.importorskip('rclpy')

from rclpy.parameter import Parameter

RECORD = Path(__file__).with_name('interfaces.yaml')

NODES = {  # class, and the parameters that switch optional topics on
    'dynamics_node': ('DynamicsNode', {}),
    'feedforward_node': ('FeedforwardNode', {'publish_commands': True}),
    'simulator_node': ('SimulatorNode', {'publish_clock': True, 'publish_true_state': True}),
    'pybullet_validator_node': ('PyBulletValidatorNode', {}),
    'momentum_observer_node': ('MomentumObserverNode', {}),
    'markers_node': ('MarkersNode', {}),
    'state_publisher_node': ('StatePublisherNode', {}),
}
# Of rclpy itself; their number differs between distributions.
FROM_RCLPY = (
    '/rosout',
    '/parameter_events',
    '_parameters',
    '_parameter_types',
    '_type_description',
)


def type_name(message_type):
    package, _, name = message_type.__module__.partition('.')
    return f'{package}/{name.split(".")[0]}/{message_type.__name__}'


def quality(profile):
    kinds = profile.reliability, profile.durability, profile.history
    return ' '.join([*(kind.name for kind in kinds), str(profile.depth)])


def endpoints(items):
    found = {
        f'{item.topic_name} {type_name(item.msg_type)}': quality(item.qos_profile)
        for item in items
        if not item.topic_name.endswith(FROM_RCLPY)
    }
    return dict(sorted(found.items()))


def services(node):
    return sorted(
        f'{item.srv_name} {type_name(item.srv_type)}'
        for item in node.services
        if not item.srv_name.rsplit('/', 1)[-1].endswith(('_parameters', '_parameters_atomically'))
        and not item.srv_name.endswith(FROM_RCLPY)
    )


def parameters(node):
    found = {}
    for name in sorted(node._parameters):
        if name.startswith('qos_overrides') or name in (
            'use_sim_time',
            'start_type_description_service',
        ):
            continue
        value, descriptor = node.get_parameter(name), node.describe_parameter(name)
        ranges = [*descriptor.floating_point_range, *descriptor.integer_range]
        allowed = [f'{item.from_value:g} to {item.to_value:g}' for item in ranges]
        found[name] = ', '.join(
            [
                Parameter.Type(value.type_).name,
                'read-only' if descriptor.read_only else 'live',
                *allowed,
                *filter(None, [descriptor.additional_constraints]),
            ]
        )
    return found


def interfaces(graph, name):
    class_name, options = NODES[name]
    module = import_module(f'robot_dynamics.ros.nodes.{name}')
    node = graph.start(getattr(module, class_name), **options)
    subscriptions = [*node.subscriptions]
    if node.has_parameter('base_motion.source'):  # each source has topics of its own
        for source in ('imu', 'odometry', 'command'):
            moving = graph.start(
                getattr(module, class_name), base_motion__source=source, autostart=False
            )
            subscriptions += moving.subscriptions
    return {
        'publishes': endpoints(node.publishers),
        'subscribes': endpoints(subscriptions),
        'services': services(node),
        'parameters': parameters(node),
    }


@pytest.mark.parametrize('name', NODES)
def test_the_interfaces_are_those_of_the_record(graph, monkeypatch, name):
    for package in ('control_msgs.msg', 'control_msgs.action'):  # optional: not in the record
        monkeypatch.setitem(sys.modules, package, None)
    found = interfaces(graph, name)
    record = yaml.safe_load(RECORD.read_text()) if RECORD.exists() else {}
    if os.environ.get('WRITE_INTERFACES'):
        if name == 'state_publisher_node':
            pytest.importorskip('tf2_msgs')
        RECORD.write_text(yaml.safe_dump({**record, name: found}, sort_keys=True, width=120))
        pytest.skip(f'{RECORD.name} written')
    if find_spec('tf2_msgs') is None:  # only the state publisher has topics of tf
        publishers = record[name]['publishes']
        record[name]['publishes'] = {t: q for t, q in publishers.items() if '/tf' not in t}
    assert found == record[name]
