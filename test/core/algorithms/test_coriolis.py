# SPDX-License-Identifier: Apache-2.0
import numpy as np

from robot_dynamics.core.algorithms import (
    bias_torque,
    coriolis_matrix,
    crba,
    gravity_torque,
    rnea,
    terms,
)
from robot_dynamics.core.algorithms.coriolis import mass_and_coriolis_matrix
from robot_dynamics.core.model.canonical import canonical_tree


def test_agrees_with_pinocchio(robot, relative):
    for q, qd, _ in robot.states:
        theirs = robot.pin.coriolis_matrix(q, qd)
        scale = 1e-3 * np.abs(robot.pin.mass_matrix(q)).max() * np.abs(qd).max()
        ours = coriolis_matrix(robot.tree, q.tolist(), qd.tolist())
        assert relative(ours, theirs, scale) < 1e-11


def test_the_same_pass_gives_the_mass_matrix(robot, relative):
    q, qd, _ = robot.states[0]
    assert relative(mass_and_coriolis_matrix(robot.tree, q, qd)[0], crba(robot.tree, q)) < 1e-14


def test_times_velocity_is_the_coriolis_torque(robot, relative):
    q, qd, _ = robot.states[1]
    expected = np.subtract(bias_torque(robot.tree, q, qd), gravity_torque(robot.tree, q))
    scale = np.abs(bias_torque(robot.tree, q, qd)).max()
    assert relative(coriolis_matrix(robot.tree, q, qd) @ qd, expected, scale) < 1e-12


def test_mass_matrix_rate_less_twice_c_is_skew(robot):
    q, qd, _ = robot.states[2]
    # dM/dt = Im M(q + i h qd) / h
    h = 1e-30
    rate = np.imag(crba(robot.tree, q + 1j * h * qd)) / h
    N = rate - 2 * np.array(coriolis_matrix(robot.tree, q, qd))
    size = np.abs(crba(robot.tree, q)).max() * np.abs(qd).max()
    assert np.abs(N + N.T).max() < 1e-13 * len(q) * size


def test_is_made_of_christoffel_symbols(make_random):
    model = make_random(5, largest=5)
    tree, n, h = canonical_tree(model), model.n, 1e-30
    q, qd = np.random.default_rng(0).uniform(-2, 2, (2, n))
    # dM_ij/dq_k
    dM = np.array([np.imag(crba(tree, q + 1j * h * e)) / h for e in np.eye(n)])
    # c_ijk = 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i)
    c = 0.5 * (np.einsum('kij->ijk', dM) + np.einsum('jik->ijk', dM) - np.einsum('ijk->ijk', dM))
    C = np.array(coriolis_matrix(tree, q, qd))
    assert np.abs(C - c @ qd).max() < 1e-13 * max(np.abs(C).max(), np.abs(dM).max())


def test_the_equation_of_motion_holds(robot, relative):
    for q, qd, qdd in robot.states:
        M, C, g = map(np.array, terms(robot.tree, q.tolist(), qd.tolist()))
        assert relative(M @ qdd + C @ qd + g, rnea(robot.tree, q, qd, qdd)) < 1e-12
