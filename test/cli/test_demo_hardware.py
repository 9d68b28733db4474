# SPDX-License-Identifier: Apache-2.0
"""The realistic arm of the demo: a hardware profile as parameters of the simulator node."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from robot_dynamics.cli.demo_hardware import hardware, simulator_parameters
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.resources import share_file
from robot_dynamics.ros.parameters import snapshot
from robot_dynamics.ros.simulator_parameters import SimulatorParameters
from robot_dynamics.simulation import load_profile
from robot_dynamics.simulation.joint_models.actuators import Drives
from robot_dynamics.simulation.sensors import Sensing
from robot_dynamics.urdf.loading import load_urdf

PANDA = share_file('urdf/panda.urdf')
PROFILE = share_file('config/realistic_panda.yaml')


def test_the_node_simulates_the_arm_of_the_profile():
    nominal = load_urdf(PANDA)
    found = snapshot(
        SimulatorParameters, hardware(PROFILE, PANDA.read_bytes(), nominal, 1e-3).parameters
    )
    actual = found.robot(found.robot_description)
    profile = load_profile(PROFILE)

    error = np.abs(actual.mass / nominal.mass - 1)
    assert error.min() >= 0.05 - 1e-12
    assert error.max() <= 0.10 + 1e-12
    assert 0 < np.abs(actual.coulomb / nominal.coulomb - 1).max() <= 0.10

    models = found.joint_models(actual)
    assert models.friction.law == 'coulomb_memory'
    expected, drives = (
        Drives(actual, actuators, 1e-3) for actuators in (profile.drives, models.actuators)
    )
    for name in ('share', 'gain', 'ripple', 'ripple_periods', 'change', 'delay_steps'):
        assert np.array_equal(getattr(drives, name), getattr(expected, name)), name

    rng = np.random.default_rng(0)
    path = rng.normal(size=(3, 40, 1, 7))
    one, other = found.sensing(actual), Sensing(actual, profile.sensors, 1e-3)
    for a, b in zip(one.read(*path), other.read(*path), strict=True):
        assert np.array_equal(a, b)


def test_a_profile_of_another_robot_is_rejected_by_name():
    path = share_file('urdf/planar_2r.urdf')
    with pytest.raises(ModelError, match=r'realistic_panda\.yaml, for the 2 joints of .*\(7,\)'):
        hardware(PROFILE, path.read_text(), load_urdf(path), 1e-3)


def test_a_velocity_limit_is_rejected(tmp_path):
    profile = tmp_path / 'profile.yaml'
    profile.write_text('drives: {velocity_limit: 1.0}')
    with pytest.raises(ModelError, match='drives has velocity_limit'):
        hardware(profile, PANDA.read_bytes(), load_urdf(PANDA), 1e-3)


def test_a_profile_with_servos_is_rejected_by_a_demo_that_commands_efforts():
    model = load_urdf(share_file('urdf/planar_2r.urdf'))
    with pytest.raises(ModelError, match=r'hobby_servo\.yaml has a servo.*commands efforts'):
        hardware(share_file('config/hobby_servo.yaml'), b'', model, 1e-3)


def test_the_node_simulates_the_servos_of_a_profile():
    nominal, profile = load_urdf(PANDA), load_profile(share_file('config/hobby_servo.yaml'))
    table = snapshot(SimulatorParameters, simulator_parameters(profile, PANDA.read_bytes()))
    servo = table.joint_models(nominal).servo
    for name in ('kp', 'kd', 'delay', 'torque_limit'):
        assert np.all(getattr(servo, name) == getattr(profile.servo, name)), name
    assert (table.robot(table.robot_description).reflected_inertia == 0.028).all()
