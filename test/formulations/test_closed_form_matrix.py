# SPDX-License-Identifier: Apache-2.0
"""Properties of the stacked matrices, and of the three C matrices."""

import numpy as np
import pytest

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.spatial import adjoint, inverse_pose
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.formulations import (
    closed_form_matrix,
    euler_lagrange,
    lagrange_euler_4x4,
    twist_wrench,
)


def close(x, y, size=None):
    size = np.abs(y).max() if size is None else size
    np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 * max(1.0, size))


def mass_matrix_rate(robot, at):
    """Return dM/dt by a complex step."""
    h = 1e-30
    return np.imag(closed_form_matrix.mass_matrix(robot, at.q + 1j * h * at.qd)) / h


def test_gamma_is_nilpotent_and_solved_by_L(robot, at):
    s = closed_form_matrix.stack(robot, at.q)
    depth = max(len(robot.support(i)) for i in range(robot.nb))
    power, series = np.eye(6 * robot.nb), np.zeros((6 * robot.nb, 6 * robot.nb))
    for _ in range(depth):
        assert np.any(power != 0)
        power, series = power @ s.Gamma, series + power
    # Gamma^depth = 0, so that L = 1 + Gamma + Gamma^2 + ... ends
    assert np.all(power == 0)
    close(s.L, series)
    close(s.L @ (np.eye(6 * robot.nb) - s.Gamma), np.eye(6 * robot.nb), np.abs(s.L).max())


def test_L_contains_the_adjoints_of_all_pairs(robot, at):
    s = closed_form_matrix.stack(robot, at.q)
    for i in range(robot.nb):
        for j in range(robot.nb):
            block = s.L[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]
            carries = j in robot.support(i)
            Ad_ij = adjoint(inverse_pose(s.T[i]) @ s.T[j]) if carries else np.zeros((6, 6))
            close(block, Ad_ij)


def test_mass_matrix_is_the_sum_over_links(robot, at):
    """M = sum J_ib^T G_i J_ib (9.61), with the body Jacobians taken from kinematics."""
    s = closed_form_matrix.stack(robot, at.q)
    M = np.diag(robot.reflected_inertia)
    for i, J in enumerate(kin.com_jacobians(robot, kin.body_poses(robot, at.q))):
        R = s.T[i][:3, :3]
        J_ib = np.vstack([R.T @ J[:3], R.T @ J[3:]]) @ robot.S
        rows = slice(6 * i, 6 * i + 6)
        close(s.J[rows], J_ib)
        M = M + J_ib.T @ s.G[rows, rows] @ J_ib
    close(closed_form_matrix.mass_matrix(robot, at.q), M)


def test_partials_of_the_mass_matrix(robot, at):
    partials = closed_form_matrix.mass_matrix_partials(robot, at.q)
    h = 1e-30
    for k, e in enumerate(np.eye(robot.n)):
        step = np.imag(closed_form_matrix.mass_matrix(robot, at.q + 1j * h * e)) / h
        close(partials[k], step)


def test_one_index_dictionary_for_all_sources(robot, at):
    """Gamma_kij (Lynch and Park) = c_ijk (Spong et al.) = c_kij (notes) = h_kij (Milićević)."""
    Gamma = closed_form_matrix.christoffel_symbols(robot, at.q)
    close(Gamma, euler_lagrange.christoffel_symbols(robot, at.q).transpose(2, 0, 1))
    close(Gamma, lagrange_euler_4x4.velocity_coefficients(robot, at.q))


def coriolis_matrices(robot, at):
    return [
        f(robot, at.q, at.qd)
        for f in (
            closed_form_matrix.coriolis_matrix,
            closed_form_matrix.coriolis_matrix_skew,
            closed_form_matrix.coriolis_matrix_of_recursion,
        )
    ]


def test_three_coriolis_matrices_give_one_torque(robot, at):
    first, second, third = coriolis_matrices(robot, at)
    c = closed_form_matrix.coriolis_torque(robot, at.q, at.qd)
    for C in (first, second, third):
        close(C @ at.qd, c, np.abs(C).max())


def test_two_coriolis_matrices_are_skew(robot, at):
    christoffel, skew, _ = coriolis_matrices(robot, at)
    Md = mass_matrix_rate(robot, at)
    for C in (christoffel, skew):
        N = Md - 2 * C
        close(N, -N.T)


def test_the_third_matrix_is_not_skew_and_the_second_not_christoffels():
    """On an arm in space, the third C is not skew and the second is not Christoffel's."""
    robot = random_tree(4, np.random.default_rng(0), branching=0.0, prismatic=0.0)
    rng = np.random.default_rng(1)
    q, qd = rng.normal(size=(2, 4))
    C = closed_form_matrix.coriolis_matrix(robot, q, qd)
    size = np.abs(C).max()
    h = 1e-30
    Md = np.imag(closed_form_matrix.mass_matrix(robot, q + 1j * h * qd)) / h
    N = Md - 2 * closed_form_matrix.coriolis_matrix_of_recursion(robot, q, qd)
    assert np.abs(N + N.T).max() > 0.1 * size
    assert np.abs(closed_form_matrix.coriolis_matrix_skew(robot, q, qd) - C).max() > 0.1 * size


def test_velocity_torques_split_by_kind(robot, at):
    torques = closed_form_matrix.velocity_torques(robot, at.q, at.qd)
    rest = np.zeros(robot.n)
    g = twist_wrench.inverse_dynamics(robot, at.q, rest, rest)
    # One joint moving alone: only its own squared velocity acts.
    alone = sum(
        twist_wrench.inverse_dynamics(robot, at.q, at.qd * e, rest) - g for e in np.eye(robot.n)
    )
    bias = twist_wrench.inverse_dynamics(robot, at.q, at.qd, rest)
    size = np.abs(bias).max() + np.abs(g).max()
    close(torques.centrifugal, alone, size)
    close(torques.coriolis, bias - g - alone, size)


def test_the_stacked_form_equals_the_recursion(robot, at):
    V_0, Vd_0 = np.random.default_rng(7).normal(size=(2, 6))
    base = {'base_twist': V_0, 'base_acceleration': Vd_0}
    stacked = closed_form_matrix.recursion(
        robot, at.q, at.qd, at.qdd, tip_wrench=at.wrench, **base
    )
    gravity = np.concatenate([np.zeros(3), robot.gravity])
    motions = twist_wrench.forward_iteration(robot, at.q, at.qd, at.qdd, V_0, Vd_0 - gravity)
    close(stacked.V, np.concatenate([motion.V for motion in motions]))
    close(stacked.Vd, np.concatenate([motion.Vd for motion in motions]))
    tau = twist_wrench.inverse_dynamics(robot, at.q, at.qd, at.qdd, tip_wrench=at.wrench, **base)
    close(stacked.tau, tau, np.abs(stacked.F).max())


@pytest.mark.parametrize('verb', ['coriolis_matrix', 'coriolis_torque', 'velocity_torques'])
def test_wrong_velocities_are_named(robot, at, verb):
    with pytest.raises(ShapeError, match='qd has shape'):
        getattr(closed_form_matrix, verb)(robot, at.q, np.zeros(robot.n + 1))
