# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the transforms, and properties of the dynamic coefficients."""

import numpy as np
import pytest

from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.formulations import euler_lagrange
from robot_dynamics.formulations import lagrange_euler_4x4 as le

STEP = 1e-30


@pytest.fixture
def tree():
    return random_tree(6, np.random.default_rng(21))


@pytest.fixture
def q(tree):
    return np.random.default_rng(22).uniform(-2, 2, tree.n)


def along(joint, n):
    return 1j * STEP * np.eye(n)[joint]


def test_first_derivatives_of_the_transforms(tree, q):
    U = le.first_derivatives(tree, kin.body_poses(tree, q))
    for i, j in np.ndindex(tree.n, tree.n):
        expected = np.imag(kin.body_poses(tree, q + along(j, tree.n))[i]) / STEP
        # A pair that is left out is a joint that does not carry the link.
        assert U.get((i, j), np.zeros((4, 4))) == pytest.approx(expected, abs=1e-13)


def test_second_derivatives_of_the_transforms(tree, q):
    U2 = le.second_derivatives(tree, kin.body_poses(tree, q))
    for k in range(tree.n):
        U = le.first_derivatives(tree, kin.body_poses(tree, q + along(k, tree.n)))
        for (i, j), U_ij in U.items():
            U_ijk = U2.get((i, j, k), np.zeros((4, 4)))
            assert U_ijk == pytest.approx(np.imag(U_ij) / STEP, abs=1e-13)


def test_velocity_coefficients_are_symmetric_and_h_iii_vanishes(tree, q):
    h = le.velocity_coefficients(tree, q)
    assert h == pytest.approx(h.swapaxes(1, 2), abs=1e-13)
    assert np.einsum('iii->i', h) == pytest.approx(0, abs=1e-13)


def test_index_dictionary(robot, at):
    # h_kij of Milićević et al. is c_ijk of Spong et al.
    h, c = le.velocity_coefficients(robot, at.q), euler_lagrange.christoffel_symbols(robot, at.q)
    assert np.moveaxis(h, 0, 2) == pytest.approx(c, abs=1e-12 * max(1.0, np.abs(c).max()))


def test_m_dot_minus_two_c_is_skew(robot, at):
    C = le.coriolis_matrix(robot, at.q, at.qd)
    M_dot = np.imag(le.mass_matrix(robot, at.q + 1j * STEP * at.qd)) / STEP
    N = M_dot - 2 * C
    assert np.abs(N + N.T).max() <= 1e-12 * max(1.0, np.abs(M_dot).max())


def test_lagrangian_is_kinetic_less_potential_energy(robot, at):
    kinetic = euler_lagrange.kinetic_energy(robot, at.q, at.qd)
    expected = kinetic - euler_lagrange.potential_energy(robot, at.q)
    assert le.lagrangian(robot, at.q, at.qd) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_torque_follows_from_the_lagrangian(tree, q):
    """(2.4): tau = d/dt dL/dqd - dL/dq, in complex steps; d/dt by central differences."""
    qd, qdd = np.random.default_rng(23).normal(size=(2, tree.n))
    basis = 1j * STEP * np.eye(tree.n)

    def momentum(t):
        at_q, at_qd = q + t * qd + t * t / 2 * qdd, qd + t * qdd
        return np.array([np.imag(le.lagrangian(tree, at_q, at_qd + e)) / STEP for e in basis])

    slope = np.array([np.imag(le.lagrangian(tree, q + e, qd)) / STEP for e in basis])
    h = 1e-5
    tau = (momentum(h) - momentum(-h)) / (2 * h) - slope
    assert tau == pytest.approx(le.inverse_dynamics(tree, q, qd, qdd), abs=1e-6)
