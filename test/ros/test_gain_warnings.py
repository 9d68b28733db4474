# SPDX-License-Identifier: Apache-2.0
"""Warnings about gains: unstable damping by joint and number, and no feedback at all."""

import re
import warnings

import pytest
import urdf_text

pytest.importorskip('rclpy', reason='the parameters of the nodes need ROS 2')

from rclpy.parameter import Parameter

from robot_dynamics.common.resources import share_file
from robot_dynamics.control import free_inertias
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.states import random_postures
from robot_dynamics.ros.feedforward_parameters import (
    FeedforwardParameters,
    gain_warnings,
)
from robot_dynamics.ros.launching import feedback_gains
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.ros.parameters import snapshot
from robot_dynamics.urdf.loading import load_urdf, parse_urdf

PANDA = share_file('urdf/panda.urdf')


def warned(model=None, **values):
    model = load_urdf(PANDA) if model is None else model
    parameters = snapshot(FeedforwardParameters, values)
    inertias = free_inertias(Dynamics(model), random_postures(model))
    settings = parameters.settings(model)
    return gain_warnings(parameters, settings, inertias, model.joint_names)


def joint_of(warning):
    return re.match("joint '(.*?)'", warning).group(1)


def test_gains_of_one_size_for_all_joints_are_reported_where_they_are_unstable():
    (warning,) = warned(kp=[100.0], kd=[10.0])
    number = re.fullmatch(r"joint 'panda_joint7': kd dt \(M\^-1\)_jj is (\S+) with .*", warning)
    assert 2.5 < float(number.group(1)) < 2.8  # worst posture of 100,000: 2.68
    assert 'at 1000 Hz (expected_rate)' in warning


def test_the_rate_counts():
    assert warned(kp=[100.0], kd=[10.0], expected_rate=5000.0) == []
    reported = warned(kp=[100.0], kd=[10.0], expected_rate=100.0)
    assert [joint_of(warning) for warning in reported] == [
        f'panda_joint{k}' for k in (1, 3, 5, 6, 7)
    ]


def test_a_rotor_counts():
    heavy = load_urdf(PANDA).with_actuation(rotor_inertia=0.1)
    assert warned(heavy, kp=[100.0], kd=[10.0]) == []


@pytest.mark.parametrize('rate', [100.0, 1000.0])
def test_gains_from_the_mass_matrix_pass(rate):
    gains = feedback_gains(PANDA, 1 / rate)
    assert gains['expected_rate'] == pytest.approx(rate)
    assert warned(**gains) == []


def test_computed_torque_has_gains_in_other_units():
    # Feedback is multiplied by M: kd dt alone counts, the same for every joint.
    assert warned(control_law='computed_torque', kp=[1600.0], kd=[80.0]) == []
    reported = warned(control_law='computed_torque', kp=[1600.0], kd=[1500.0])
    assert [joint_of(warning) for warning in reported] == [f'panda_joint{k}' for k in range(1, 8)]
    assert all('kd dt is 1.5 with kd = 1500 at 1000 Hz' in warning for warning in reported)


def test_joint_impedance_has_a_damping_ratio():
    assert warned(control_law='joint_impedance', kp=[100.0], kd=[10.0]) == []
    (warning,) = warned(control_law='joint_impedance', kd=[10.0])
    assert warning.startswith('kp is 0 for every joint')
    stiff = warned(control_law='joint_impedance', kp=[100.0], damping_ratio=[10.0])
    assert stiff
    assert all('with damping_ratio = 10 at 1000 Hz' in line for line in stiff)


def test_no_feedback_is_reported_where_torques_are_published():
    (warning,) = warned(publish_commands=True, start_enabled=False)
    assert warning.startswith('kp and kd are 0 for every joint')
    assert len(warned()) == 1
    assert warned(start_enabled=False) == []
    assert warned(control_law='gravity_only') == []
    assert warned(kd=[0.01]) == []


def test_joints_without_mass_are_reported_and_end_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        model = parse_urdf(
            urdf_text.robot(
                urdf_text.link('a'), urdf_text.link('b', ''), urdf_text.joint('idle', 'a', 'b')
            )
        )
    (warning,) = warned(model, kd=[1.0])
    assert warning.startswith("joint 'idle': kd dt (M^-1)_jj is inf with kd = 1 at 1000 Hz")
    assert warned(model, kp=[1.0]) == []


def test_the_node_logs_them_at_configure_and_when_gains_change(graph, capfd):
    node = graph.start(FeedforwardNode, kp=[100.0], kd=[50.0], expected_rate=20.0)
    assert "joint 'elbow': kd dt (M^-1)_jj is " in capfd.readouterr().err
    # Too little to name: the joints are heavy enough at this rate.
    node.set_parameters([Parameter('expected_rate', value=20000.0)])
    assert 'kd dt' not in capfd.readouterr().err
    node.set_parameters([Parameter('kp', value=[0.0]), Parameter('kd', value=[1000.0])])
    assert "joint 'elbow': kd dt (M^-1)_jj is " in capfd.readouterr().err
    node.set_parameters([Parameter('input_timeout', value=0.2)])
    assert 'kd dt' not in capfd.readouterr().err
