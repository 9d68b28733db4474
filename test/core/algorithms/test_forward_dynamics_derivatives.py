# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
import robots
from pin_model import PinRobot

from robot_dynamics.core.algorithms import crba, forward_dynamics, forward_dynamics_derivatives
from robot_dynamics.core.algorithms.forward_dynamics import dense, factorize
from robot_dynamics.core.algorithms.forward_dynamics_derivatives import inverse
from robot_dynamics.core.friction.coulomb import Friction
from robot_dynamics.core.model.canonical import canonical_tree

STEP = 1e-30
EPS = np.finfo(float).eps


def condition(robot, q):
    return np.linalg.cond(np.array(crba(robot.tree, q.tolist())))


def no_friction(robot):
    return Friction([0.0] * robot.model.n, [0.0] * robot.model.n)


def some_friction(robot):
    rng = np.random.default_rng(1)
    return Friction(*rng.uniform(0.1, 1.0, (2, robot.model.n)).tolist())


@pytest.mark.parametrize('friction', [no_friction, some_friction])
def test_are_the_complex_step_derivatives(robot, relative, friction):
    q, qd, tau = robot.states[0]
    # Dry friction that varies: some joints move at less than v_0.
    lost, qd = friction(robot), qd * np.resize([1.0, 0.005], qd.size)
    ours = forward_dynamics_derivatives(robot.tree, lost, q.tolist(), qd.tolist(), tau.tolist())

    def column(*direction):
        q_, qd_, tau_ = (
            x + 1j * STEP * np.asarray(d) for x, d in zip((q, qd, tau), direction, strict=True)
        )
        driven = [t - f for t, f in zip(tau_, lost.torque(qd_), strict=True)]
        return np.imag(forward_dynamics(robot.tree, q_, qd_, driven)) / STEP

    units, zero = np.eye(len(q)), np.zeros(len(q))
    qdd = forward_dynamics(
        robot.tree, q, qd, [t - f for t, f in zip(tau, lost.torque(qd), strict=True)]
    )
    by_q = np.transpose([column(e, zero, zero) for e in units])
    by_qd = np.transpose([column(zero, e, zero) for e in units])
    by_tau = np.transpose([column(zero, zero, e) for e in units])
    tolerance = 30 * len(q) * EPS * condition(robot, q)
    assert relative(ours.dqdd_dq, by_q, np.abs(qdd).max()) < tolerance
    assert relative(ours.dqdd_dqd, by_qd, np.abs(qdd).max()) < tolerance
    assert relative(ours.M_inverse, by_tau) < tolerance


@pytest.mark.parametrize('name', robots.NAMES)
def test_agree_with_the_articulated_body_derivatives_of_pinocchio(name, relative):
    model = replace(robots.load(name), reflected_inertia=np.zeros(robots.load(name).n))
    if not np.array_equal(model.S, np.eye(model.n)) or model.massless_joints():
        pytest.skip('Pinocchio has the joints of the bodies as coordinates, with inertia')
    robot, tree = PinRobot(model), canonical_tree(model)
    order = np.array(robot.order)
    zero = Friction([0.0] * model.n, [0.0] * model.n)
    for q, qd, tau in np.random.default_rng(3).uniform(-2, 2, (3, 3, model.n)):
        ours = forward_dynamics_derivatives(tree, zero, q.tolist(), qd.tolist(), tau.tolist())
        theirs = pin.computeABADerivatives(robot.pin, robot.data, *robot.body(q, qd), tau[order])
        *others, M_inverse = (np.array(x) for x in theirs)
        M_inverse = np.triu(M_inverse) + np.triu(M_inverse, 1).T
        qdd = np.abs(robot.forward_dynamics(q, qd, tau)).max()
        tolerance = 1000 * model.n * EPS * np.linalg.cond(robot.mass_matrix(q))
        for mine, other in zip(ours, (*others, M_inverse), strict=True):
            back = np.empty_like(other)
            back[np.ix_(order, order)] = other
            assert relative(mine, back, qdd) < tolerance


def test_inverse_of_a_dense_matrix():
    root = np.random.default_rng(0).normal(size=(6, 6))
    M = root @ root.T + np.eye(6)
    ours = np.array(inverse(factorize(M.tolist(), dense(6))))
    np.testing.assert_array_equal(ours, ours.T)
    np.testing.assert_allclose(ours @ M, np.eye(6), atol=6 * EPS * np.linalg.cond(M))
