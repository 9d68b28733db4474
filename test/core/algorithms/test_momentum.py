# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.core.algorithms import (
    bias_torque,
    coriolis_matrix,
    crba,
    gravity_torque,
    kinetic_energy,
    momentum,
    rnea,
)

H = 1e-30  # complex step


@pytest.mark.parametrize('sign', [1, -1])
def test_is_the_mass_matrix_times_velocity(robot, relative, sign):
    for q, qd, _ in robot.states:
        expected = np.array(crba(robot.tree, sign * q)) @ (sign * qd)
        assert relative(momentum(robot.tree, sign * q, sign * qd).p, expected) < 1e-12


@pytest.mark.parametrize('sign', [1, -1])
def test_rate_is_that_of_the_coriolis_matrix_and_gravity(robot, relative, sign):
    for q, qd, _ in robot.states:
        C = np.array(coriolis_matrix(robot.tree, sign * q, sign * qd))
        expected = C.T @ (sign * qd) - gravity_torque(robot.tree, sign * q)
        scale = np.abs(bias_torque(robot.tree, sign * q, sign * qd)).max()
        assert relative(momentum(robot.tree, sign * q, sign * qd).rate, expected, scale) < 1e-12


def test_rate_without_gravity_is_the_gradient_of_kinetic_energy(robot, relative):
    q, qd, _ = robot.states[1]
    gradient = [
        np.imag(kinetic_energy(robot.tree, q + 1j * H * e, qd)) / H for e in np.eye(len(q))
    ]
    rate = np.add(momentum(robot.tree, q, qd).rate, gravity_torque(robot.tree, q))
    scale = np.abs(bias_torque(robot.tree, q, qd)).max()
    assert relative(rate, gradient, scale) < 1e-12


def test_changes_by_the_torques(robot, relative):
    q, qd, qdd = robot.states[2]
    # dp/dt along the motion, by a complex step in time:  C^T qd - g + tau
    moved = momentum(robot.tree, q + 1j * H * qd, qd + 1j * H * qdd)
    tau = rnea(robot.tree, q, qd, qdd)
    here = momentum(robot.tree, q, qd)
    expected = np.add(here.rate, tau)
    scale = np.abs(tau).max() + np.abs(here.rate).max()
    assert relative(np.imag(moved.p) / H, expected, scale) < 1e-12
