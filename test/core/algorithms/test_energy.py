# SPDX-License-Identifier: Apache-2.0
import numpy as np

from robot_dynamics.core.algorithms import (
    crba,
    gravity_torque,
    kinetic_energy,
    potential_energy,
    rnea,
)

STEP = 1e-30


def test_agrees_with_pinocchio(robot):
    weight = 9.81 * robot.model.mass.sum()
    for q, qd, _ in robot.states:
        kinetic, potential = robot.pin.energies(q, qd)
        assert abs(kinetic_energy(robot.tree, q.tolist(), qd.tolist()) - kinetic) < 1e-12 * kinetic
        assert abs(potential_energy(robot.tree, q.tolist()) - potential) < 1e-13 * weight


def test_kinetic_energy_is_that_of_the_mass_matrix(robot):
    q, qd, _ = robot.states[0]
    expected = 0.5 * qd @ np.array(crba(robot.tree, q)) @ qd
    assert abs(kinetic_energy(robot.tree, q, qd) - expected) < 1e-13 * expected


def test_gravity_torque_is_the_gradient_of_potential_energy(robot):
    q = robot.states[1][0]
    gradient = [
        np.imag(potential_energy(robot.tree, q + 1j * STEP * e)) / STEP for e in np.eye(len(q))
    ]
    weight = 9.81 * robot.model.mass.sum()
    assert np.abs(gravity_torque(robot.tree, q) - np.array(gradient)).max() < 1e-13 * weight


def test_power_is_the_rate_of_energy(robot):
    q, qd, qdd = robot.states[2]
    # dE/dt along the motion, by a complex step in time, equals qd . tau
    moved, faster = q + 1j * STEP * qd, qd + 1j * STEP * qdd
    energy = kinetic_energy(robot.tree, moved, faster) + potential_energy(robot.tree, moved)
    power = qd @ np.array(rnea(robot.tree, q, qd, qdd))
    scale = np.abs(qd * rnea(robot.tree, q, qd, qdd)).sum()
    assert abs(np.imag(energy) / STEP - power) < 1e-12 * scale
