# SPDX-License-Identifier: Apache-2.0
import numpy as np

from robot_dynamics.core.algorithms import regressor, rnea


def test_agrees_with_pinocchio(robot, relative):
    for q, qd, qdd in robot.states:
        ours = regressor(robot.tree, q.tolist(), qd.tolist(), qdd.tolist())
        assert relative(ours, robot.pin.regressor(q, qd, qdd)) < 1e-12


def test_times_parameters_is_the_torque(robot, relative):
    for q, qd, qdd in robot.states:
        Y = np.array(regressor(robot.tree, q, qd, qdd))
        tau = Y @ robot.model.inertial_parameters() + robot.model.reflected_inertia * qdd
        assert relative(tau, rnea(robot.tree, q, qd, qdd)) < 1e-12
