# SPDX-License-Identifier: Apache-2.0
import numpy as np

from robot_dynamics.core.algorithms import crba, inverse_dynamics_derivatives, rnea

STEP = 1e-30


def test_agrees_with_pinocchio(robot, relative):
    for q, qd, qdd in robot.states:
        ours = inverse_dynamics_derivatives(robot.tree, q.tolist(), qd.tolist(), qdd.tolist())
        dq, dqd = robot.pin.derivatives(q, qd, qdd)
        scale = 1e-3 * np.abs(robot.pin.inverse_dynamics(q, qd, qdd)).max()
        assert relative(ours.dtau_dq, dq, scale) < 1e-11
        assert relative(ours.dtau_dqd, dqd, scale) < 1e-11
        assert relative(ours.M, robot.pin.mass_matrix(q)) < 1e-12


def test_are_the_complex_step_derivatives(robot, relative):
    q, qd, qdd = robot.states[0]
    ours = inverse_dynamics_derivatives(robot.tree, q, qd, qdd)

    def column(*direction):
        steps = [1j * STEP * np.asarray(x) for x in direction]
        tau = rnea(robot.tree, q + steps[0], qd + steps[1], qdd + steps[2])
        return np.imag(tau) / STEP

    units, zero = np.eye(len(q)), np.zeros(len(q))
    scale = np.abs(rnea(robot.tree, q, qd, qdd)).max()
    by_q = np.transpose([column(e, zero, zero) for e in units])
    by_qd = np.transpose([column(zero, e, zero) for e in units])
    by_qdd = np.transpose([column(zero, zero, e) for e in units])
    assert relative(ours.dtau_dq, by_q, scale) < 1e-13
    assert relative(ours.dtau_dqd, by_qd, scale) < 1e-13
    assert relative(ours.M, by_qdd, np.abs(crba(robot.tree, q)).max()) < 1e-13
