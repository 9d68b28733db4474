# SPDX-License-Identifier: Apache-2.0
"""Parameters that the verbs write arrive in a node as they were meant."""

import numpy as np
import pytest
import yaml
from elbow import ELBOW

pytest.importorskip('rclpy')

import rclpy
import rclpy.parameter

from robot_dynamics import cli
from robot_dynamics.cli.thresholds import node_parameters
from robot_dynamics.common.resources import share_file
from robot_dynamics.common.yaml_text import yaml_text
from robot_dynamics.control.contact_thresholds import ContactThresholds, Learned
from robot_dynamics.control.momentum_observer import ObserverSettings
from robot_dynamics.ros.nodes.momentum_observer_node import MomentumObserverNode

NAMES = ['on', '1e5', '1:30', 'a\nkp: 1e6', 'nan', '~', 'null', 'l/arm', 'ü', 'a: b', '0x1', '.5']


def arrived(graph, file, name):
    node = rclpy.create_node(
        name,
        context=graph.context,
        cli_args=['--ros-args', '--params-file', str(file)],
        automatically_declare_parameters_from_overrides=True,
    )
    found = {key: value.value for key, value in node.get_parameters_by_prefix('').items()}
    node.destroy_node()
    return found


def test_names_arrive_as_they_are(graph, tmp_path):
    file = tmp_path / 'a.yaml'
    file.write_text(yaml_text({'/**': {'ros__parameters': {'joints': NAMES, 'kp': [1.0, 2e9]}}}))
    found = arrived(graph, file, 'any_node')
    assert found['joints'] == NAMES
    assert list(found['kp']) == [1.0, 2e9]


def test_gains_of_an_arm_with_such_names(graph, tmp_path, capsys):
    text = share_file('urdf/planar_2r.urdf').read_text()
    injected = 'a&#10;/**: {ros__parameters: {kp: [1e6]}}'
    names = {'planar_2r': injected, 'joint1': '1e5', 'joint2': 'on'}
    for name, other in names.items():
        text = text.replace(f'"{name}"', f'"{other}"')
    (tmp_path / 'a.urdf').write_text(text)
    assert cli.main(['gains', str(tmp_path / 'a.urdf')]) == 0
    shown = capsys.readouterr().out
    (tmp_path / 'a.yaml').write_text(shown)
    assert list(yaml.safe_load(shown)) == ['/**/feedforward_node']
    found = arrived(graph, tmp_path / 'a.yaml', 'feedforward_node')
    assert found['joints'] == ['1e5', 'on']
    (entry,) = yaml.safe_load(shown).values()
    assert list(found['kp']) == entry['ros__parameters']['kp'] != [1e6]


def test_thresholds_arrive_in_the_observer(graph, tmp_path, elbow):
    thresholds = ContactThresholds([0.1, 0.2], [0.0, 0.03], [4.0, 5.0], 600.0)
    settings = ObserverSettings(poles=200.0, poles_along_momentum=60.0)
    robot = {'effort_delay': -2e-3, 'effort_scale': [1.5, 2.0], 'joints': ['shoulder', 'elbow']}
    learned = Learned(thresholds, 1.2, 0.9, (), True, ())
    file = tmp_path / 'observer.yaml'
    file.write_text(node_parameters(elbow.model, robot, learned, settings, 1.7))
    node = MomentumObserverNode(
        context=graph.context,
        cli_args=['--ros-args', '--params-file', str(file)],
        parameter_overrides=[rclpy.parameter.Parameter('robot_description', value=ELBOW)],
    )
    graph.nodes.append(node)
    graph.executor.add_node(node)
    assert node.active
    found = node.detector.thresholds
    for name in ('noise', 'noise_per_momentum', 'level', 'learned'):
        assert np.array_equal(getattr(found, name), getattr(thresholds, name))
    assert node.observer.settings.poles == 200.0
    assert node.observer.settings.poles_along_momentum == 60.0
    assert node.observer.settings.effort_lead == 2e-3
    assert node.parameters.detection.contact_factor == 1.7
    assert node.parameters.effort_scale == (1.5, 2.0)
