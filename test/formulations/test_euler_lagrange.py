# SPDX-License-Identifier: Apache-2.0
"""Energies, the derivatives of the inertia matrix, and the three forms of one equation."""

import numpy as np
import pytest

from robot_dynamics.common.errors import FrameNotFound, ShapeError
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.formulations import euler_lagrange as el

STEP = 1e-30


def partials(f, x):
    """Return df/dx_k for every k, k first, by complex steps."""
    return np.stack([np.imag(f(x + 1j * STEP * e)) / STEP for e in np.eye(len(x))])


def close(value, expected):
    """Return whether two arrays agree to rounding, at the size of the larger entries."""
    return np.abs(value - expected).max() <= 1e-12 * max(1.0, np.abs(expected).max())


def test_kinetic_energy_is_the_quadratic_form_of_the_inertia_matrix(robot, at):
    M = el.mass_matrix(robot, at.q)
    assert close(el.kinetic_energy(robot, at.q, at.qd), at.qd @ M @ at.qd / 2)


def test_inertia_matrix_is_symmetric_and_positive_definite(robot, at):
    M = el.mass_matrix(robot, at.q)
    assert close(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0


def test_partials_of_the_inertia_matrix_against_complex_steps(robot, at):
    expected = partials(lambda q: el.mass_matrix(robot, q), at.q)
    assert close(el.mass_matrix_partials(robot, at.q), expected)


def test_gravity_torque_is_the_gradient_of_the_potential_energy(robot, at):
    expected = partials(lambda q: el.potential_energy(robot, q), at.q)
    assert close(el.gravity_torque(robot, at.q), expected)


def test_christoffel_symbols_are_symmetric_in_the_two_velocities(robot, at):
    c = el.christoffel_symbols(robot, at.q)
    assert close(c, c.swapaxes(0, 1))


def test_christoffel_symbols_term_by_term(robot, at):
    dM, c = el.mass_matrix_partials(robot, at.q), el.christoffel_symbols(robot, at.q)
    for i, j, k in np.ndindex(c.shape):
        # Spong, Hutchinson and Vidyasagar, (6.63)
        expected = (dM[i, k, j] + dM[j, k, i] - dM[k, i, j]) / 2
        assert c[i, j, k] == pytest.approx(expected, abs=1e-13)


def test_detailed_symbols_term_by_term(robot, at):
    dM, h = el.mass_matrix_partials(robot, at.q), el.detailed_symbols(robot, at.q)
    for i, j, k in np.ndindex(h.shape):
        # Lecture notes, (41)
        assert h[i, j, k] == pytest.approx(dM[k, i, j] - dM[i, j, k] / 2, abs=1e-13)


def test_detailed_symbols_made_symmetric_are_christoffel_symbols(robot, at):
    h, c = el.detailed_symbols(robot, at.q), el.christoffel_symbols(robot, at.q)
    # c_ijk of the lecture notes is c_jki of Spong, Hutchinson and Vidyasagar
    assert close((h + h.swapaxes(1, 2)) / 2, np.moveaxis(c, 2, 0))


def test_m_dot_minus_two_c_is_skew(robot, at):
    C = el.coriolis_matrix(robot, at.q, at.qd)
    M_dot = np.imag(el.mass_matrix(robot, at.q + 1j * STEP * at.qd)) / STEP
    N = M_dot - 2 * C
    assert np.abs(N + N.T).max() <= 1e-12 * max(1.0, np.abs(M_dot).max())


def test_a_joint_has_no_centrifugal_torque_of_its_own_velocity(robot, at):
    # A law of plain joint coordinates: a coordinate map breaks it, so every body gets its own.
    bodies = [robot.inertial(i) for i in range(robot.nb)]
    plain = build_tree('plain', robot.parent, robot.revolute, robot.axis, robot.placement, bodies)
    c = el.christoffel_symbols(plain, robot.S @ at.q + robot.s0)
    assert np.abs(np.einsum('iii->i', c)).max() <= 1e-12 * max(1.0, np.abs(c).max())


def test_the_three_forms_are_one_equation(robot, at):
    tau = el.inverse_dynamics(robot, at.q, at.qd, at.qdd)
    assert close(el.inverse_dynamics_vector_form(robot, at.q, at.qd, at.qdd), tau)
    assert close(el.inverse_dynamics_detailed_form(robot, at.q, at.qd, at.qdd), tau)


def test_lagranges_equation_itself(robot, at):
    """d/dt (dL/dqd) - dL/dq = tau, straight from the two energies."""
    x, y = at.q, at.qd

    def momentum(q, qd):
        # K is quadratic in qd, so a central difference of any step is exact.
        e = np.eye(robot.n)
        K = el.kinetic_energy
        return np.array([(K(robot, q, qd + d) - K(robot, q, qd - d)) / 2 for d in e])

    d_dt = np.imag(momentum(x + 1j * STEP * y, y + 1j * STEP * at.qdd)) / STEP
    dL_dq = partials(lambda q: el.kinetic_energy(robot, q, y) - el.potential_energy(robot, q), x)
    assert close(d_dt - dL_dq, el.inverse_dynamics(robot, x, y, at.qdd))


def test_wrong_arguments_are_named(robot, at):
    with pytest.raises(ShapeError, match='qdd has shape'):
        el.inverse_dynamics(robot, at.q, at.qd, np.zeros(robot.n + 1))
    with pytest.raises(ShapeError, match='wrench has shape'):
        el.inverse_dynamics(robot, at.q, at.qd, at.qdd, tip_wrench=np.zeros(3))
    with pytest.raises(FrameNotFound, match='nowhere'):
        el.inverse_dynamics(
            robot, at.q, at.qd, at.qdd, tip_wrench=np.zeros(6), tip_frame='nowhere'
        )
