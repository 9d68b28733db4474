# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.algorithms import aba, crba, forward_dynamics, rnea
from robot_dynamics.core.algorithms.forward_dynamics import (
    factorize,
    fill_in,
    solve,
    solve_transposed,
)


def tolerance(M):
    """Return what rounding the model's numbers may do to accelerations."""
    return 1e-10 * max(1.0, np.linalg.cond(M) / 1e4)


def moves_on_its_own(robot) -> bool:
    return robot.model.n == robot.model.nb and np.array_equal(robot.model.S, np.eye(robot.model.n))


@pytest.mark.parametrize('algorithm', [forward_dynamics, aba])
def test_agrees_with_pinocchio(robot, relative, algorithm):
    if algorithm is aba and not moves_on_its_own(robot):
        with pytest.raises(ModelError, match='use forward_dynamics'):
            aba(robot.tree, *robot.states[0])
        return
    for q, qd, tau in robot.states:
        M = robot.pin.mass_matrix(q)
        ours = algorithm(robot.tree, q.tolist(), qd.tolist(), tau.tolist())
        assert relative(ours, robot.pin.forward_dynamics(q, qd, tau)) < tolerance(M)
        if moves_on_its_own(robot) and not robot.model.reflected_inertia.any():
            theirs = robot.pin.articulated_body(q, qd, tau)
            assert relative(ours, theirs) < tolerance(M)


def test_is_the_inverse_of_inverse_dynamics(robot, relative):
    for q, qd, qdd in robot.states:
        tau = rnea(robot.tree, q, qd, qdd)
        ours = forward_dynamics(robot.tree, q, qd, tau)
        # Torques of rounding size are all that is lost: eps |tau| through M^-1.
        lost = np.finfo(float).eps * np.abs(tau).max()
        bound = 100 * robot.model.nb * lost * np.linalg.norm(np.linalg.inv(crba(robot.tree, q)))
        assert np.abs(ours - qdd).max() < max(bound, 1e-12)


def test_factors_reproduce_the_mass_matrix(robot, relative):
    q = robot.states[0][0]
    M = np.array(crba(robot.tree, q))
    factors = factorize(M.tolist(), fill_in(robot.tree))
    L = np.eye(len(q))
    for i, columns in enumerate(factors.coupled):
        L[i, columns] = [factors.L[i][j] for j in columns]
    assert relative(L.T @ np.diag(1 / np.array(factors.D_inverse)) @ L, M) < 1e-13
    b = robot.states[0][1]
    assert relative(solve_transposed(factors, b), np.linalg.solve(L.T, b)) < 1e-11
    assert relative(M @ solve(factors, b), b) < 1e-15 * np.linalg.cond(M) + 1e-14


def test_nothing_is_eliminated_between_branches(robot):
    q = robot.states[0][0]
    coupled = fill_in(robot.tree)
    M = np.array(crba(robot.tree, q))
    for i in range(len(q)):
        apart = sorted(set(range(i)) - set(coupled[i]))
        assert np.all(M[i, apart] == 0.0)
    if moves_on_its_own(robot):
        # Plain trees fill in nothing: exactly the joints that carry this one.
        expected = [set(robot.model.support(i)) - {i} for i in range(len(q))]
        assert [set(columns) for columns in coupled] == expected
