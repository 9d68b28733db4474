# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.core.algorithms import bias_torque, rnea


def test_agrees_with_pinocchio(robot, relative):
    for q, qd, qdd in robot.states:
        ours = rnea(robot.tree, q.tolist(), qd.tolist(), qdd.tolist())
        assert relative(ours, robot.pin.inverse_dynamics(q, qd, qdd)) < 1e-12


def test_bias_is_the_torque_without_acceleration(robot, relative):
    for q, qd, _ in robot.states:
        ours = bias_torque(robot.tree, q, qd)
        assert relative(ours, robot.pin.inverse_dynamics(q, qd, 0 * q)) < 1e-12


def test_columns_of_the_mass_matrix(robot, relative):
    q = robot.states[0][0]
    rest = np.zeros_like(q)
    g = np.array(rnea(robot.tree, q, rest, rest))
    columns = [rnea(robot.tree, q, rest, e) - g for e in np.eye(len(q))]
    scale = np.abs(g).max()
    assert relative(columns, robot.pin.mass_matrix(q), scale) < 1e-12


def test_wrong_size_is_not_ignored(robot):
    q, qd, qdd = robot.states[0]
    with pytest.raises(ValueError):
        rnea(robot.tree, np.append(q, 0.0), qd, qdd)
