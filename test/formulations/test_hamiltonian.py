# SPDX-License-Identifier: Apache-2.0
"""Momentum, energy and Hamilton's equations, against derivatives and the other formulations."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.common.errors import ShapeError, SingularityError
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.formulations import euler_lagrange, hamiltonian

STEP = 1e-30


def close(value, expected):
    return np.abs(value - expected).max() <= 1e-11 * max(1.0, np.abs(expected).max())


def partials(f, x):
    return np.array([np.imag(f(x + 1j * STEP * e)) / STEP for e in np.eye(len(x))])


@pytest.fixture
def p(robot, at):
    return hamiltonian.generalized_momentum(robot, at.q, at.qd)


def test_momentum_is_the_derivative_of_kinetic_energy(robot, at, p):
    # p_k = dL/dqd_k
    assert close(p, partials(lambda qd: euler_lagrange.kinetic_energy(robot, at.q, qd), at.qd))


def test_momentum_times_velocity_is_twice_the_kinetic_energy(robot, at, p):
    K = euler_lagrange.kinetic_energy(robot, at.q, at.qd)
    assert close(p @ at.qd, 2 * K)


def test_hamiltonian_is_the_total_energy(robot, at, p):
    K = euler_lagrange.kinetic_energy(robot, at.q, at.qd)
    V = euler_lagrange.potential_energy(robot, at.q)
    assert close(hamiltonian.hamiltonian(robot, at.q, p), K + V)


def test_gradient_of_the_hamiltonian(robot, at, p):
    dH_dq, dH_dp = hamiltonian.gradient(robot, at.q, p)
    assert close(dH_dq, partials(lambda q: hamiltonian.hamiltonian(robot, q, p), at.q))
    assert close(dH_dp, partials(lambda x: hamiltonian.hamiltonian(robot, at.q, x), p))
    assert close(dH_dp, at.qd)


def test_energy_changes_by_the_work_of_the_torques(robot, at, p):
    tau = np.random.default_rng(9).normal(size=robot.n)
    assert close(hamiltonian.energy_rate(robot, at.q, p, tau), at.qd @ tau)


def test_hamiltons_equations_follow_the_motion_of_inverse_dynamics(robot, at, p):
    tau = euler_lagrange.inverse_dynamics(robot, at.q, at.qd, at.qdd)
    qd, pd = hamiltonian.hamiltons_equations(robot, at.q, p, tau)
    # d/dt (M qd) along q + qd t, qd + qdd t
    M = euler_lagrange.mass_matrix
    along = M(robot, at.q + 1j * STEP * at.qd) @ (at.qd + 1j * STEP * at.qdd)
    assert close(qd, at.qd)
    assert close(pd, np.imag(along) / STEP)
    assert close(hamiltonian.momentum_rate(robot, at.q, at.qd, at.qdd), np.imag(along) / STEP)


def test_a_joint_that_moves_nothing_is_named():
    arm = random_tree(3, np.random.default_rng(1), branching=0.0)
    mass, tensor = arm.mass.copy(), arm.inertia_com.copy()
    mass[2], tensor[2] = 0.0, 0.0
    arm = replace(arm, mass=mass, inertia_com=tensor)
    with pytest.raises(SingularityError, match='joint3'):
        hamiltonian.velocity(arm, np.zeros(3), np.ones(3))


def test_shapes_are_checked(robot, at, p):
    with pytest.raises(ShapeError, match='p has shape'):
        hamiltonian.hamiltonian(robot, at.q, np.append(p, 0.0))
    with pytest.raises(ShapeError, match='tau has shape'):
        hamiltonian.hamiltons_equations(robot, at.q, p, p[:-1])
