# SPDX-License-Identifier: Apache-2.0
import numpy as np

from robot_dynamics.core.algorithms import crba


def test_agrees_with_pinocchio(robot, relative):
    for q, _, _ in robot.states:
        assert relative(crba(robot.tree, q.tolist()), robot.pin.mass_matrix(q)) < 1e-12


def test_symmetric_and_positive_definite(robot):
    for q, _, _ in robot.states:
        M = np.array(crba(robot.tree, q))
        size = np.abs(M).max()
        assert np.abs(M - M.T).max() <= 1e-15 * size
        assert np.linalg.eigvalsh(M).min() > -1e-14 * size
