# SPDX-License-Identifier: Apache-2.0
"""Every equation on a base that moves, against a robot with a free-flying base in Pinocchio."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import robots
from pin_model import PinOnMovingBase

from robot_dynamics.common.spatial import axis_rotation
from robot_dynamics.core import algorithms as alg
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.coordinates import with_coordinates
from robot_dynamics.core.model.inertia import Inertial, to_parameters
from robot_dynamics.core.model.robots import puma560, random_tree
from robot_dynamics.urdf.loading import load_urdf

EPS = np.finfo(float).eps


def branched():
    """Return two trees on one base with mass, rotors, sliding joints, and joints that follow."""
    rng = np.random.default_rng(4)
    model = random_tree(7, rng, branching=0.5, prismatic=0.4)
    model = replace(model, parent=[-1, *model.parent[1:3], -1, *model.parent[4:]])
    S = rng.uniform(-1.0, 1.0, (7, 5))
    S[np.arange(5), np.arange(5)] = 2.0
    base = Inertial(12.0, np.array([0.1, -0.2, 0.3]), np.diag([0.5, 0.6, 0.7]))
    model = with_coordinates(model, S, rng.uniform(-1.0, 1.0, 7))
    return replace(model, base=base, reflected_inertia=rng.uniform(0.0, 1.0, 5))


MODELS = {
    'puma560': puma560,
    'scara': lambda: load_urdf('scara_rrp'),
    'branched': branched,
    **{name: lambda name=name: robots.load(name) for name in ('panda', 'ur5', 'talos_left_arm')},
}


@cache
def case(name):
    model = MODELS[name]()
    rng = np.random.default_rng(11)
    states = []
    for sign in (1.0, -1.0):
        q, qd, qdd = sign * rng.uniform(-2.0, 2.0, (3, model.n))
        w, wd, a = sign * rng.normal(size=(3, 3)) * [[2.0], [5.0], [8.0]]
        axis = rng.normal(size=3)
        R = axis_rotation(axis / np.linalg.norm(axis), 2.0)
        states.append((q, qd, qdd, np.concatenate([w, wd, a]), R, rng.normal(size=3)))
    return SimpleNamespace(
        model=model, tree=canonical_tree(model), pin=PinOnMovingBase(model), states=states
    )


@pytest.fixture(params=MODELS)
def robot(request):
    return case(request.param)


def error(ours, theirs, size=0.0):
    theirs = np.asarray(theirs)
    return np.abs(np.asarray(ours) - theirs).max() / max(np.abs(theirs).max(), size)


def test_torques_and_base_wrench_are_those_of_a_free_flyer(robot):
    for q, qd, qdd, base, R, v in robot.states:
        tree, still = robot.tree.on_moving_base(base), np.zeros(robot.model.n)
        tau, wrench = robot.pin.torque_and_base_wrench(q, qd, qdd, base, R, v)
        bias, _ = robot.pin.torque_and_base_wrench(q, qd, still, base, R, v)
        g, _ = robot.pin.torque_and_base_wrench(q, still, still, base, R, v)
        size = max(np.abs(x).max() for x in (tau, bias, g))
        assert error(alg.rnea(tree, q, qd, qdd), tau, size) < 1e-12
        assert error(alg.bias_torque(tree, q, qd), bias, size) < 1e-12
        assert error(alg.gravity_torque(tree, q), g, size) < 1e-12
        assert error(alg.base_wrench(tree, q, qd, qdd), wrench) < 1e-12
        M, C, own = alg.terms(tree, q, qd)
        assert error(np.array(C) @ qd, bias - g, size) < 1e-12
        assert error(np.array(M) @ qdd + np.array(C) @ qd + own, tau, size) < 1e-12
        np.testing.assert_array_equal(M, alg.crba(robot.tree, q))


def test_coriolis_matrix_keeps_its_symmetry(robot):
    """dM/dt - 2 C is skew, and C is linear in the velocities of joints and base together."""
    for q, qd, _, base, *_ in robot.states:
        tree = robot.tree.on_moving_base(base)
        C = np.array(alg.coriolis_matrix(tree, q, qd))
        fixed = np.array(alg.coriolis_matrix(robot.tree, q, qd))
        N = np.array(alg.coriolis_matrix(tree, q, 0.0 * qd))
        # C + C^T = dM/dt does not depend on the base; N = C - C0 is skew
        assert error(C + C.T, fixed + fixed.T, np.abs(C).max()) < 1e-12
        assert error(C - N, fixed, np.abs(C).max()) < 1e-12
        assert np.abs(N).max() > 0.01


def test_accelerations_are_those_of_the_torques(robot):
    for q, qd, qdd, base, R, v in robot.states:
        tree = robot.tree.on_moving_base(base)
        tau, _ = robot.pin.torque_and_base_wrench(q, qd, qdd, base, R, v)
        M = np.array(alg.crba(robot.tree, q))
        bound = 1e3 * EPS * np.linalg.cond(M)
        size = np.abs(tau).max() / np.linalg.norm(M, 2)
        assert error(alg.forward_dynamics(tree, q, qd, tau), qdd, size) < bound
        if robot.model.n == robot.model.nb:
            assert error(alg.aba(tree, q, qd, tau), qdd, size) < bound


def test_regressors_times_parameters_are_torque_and_wrench(robot):
    pi, own = robot.model.inertial_parameters(), to_parameters(robot.model.base)
    for q, qd, qdd, base, R, v in robot.states:
        tree = robot.tree.on_moving_base(base)
        tau, wrench = robot.pin.torque_and_base_wrench(q, qd, qdd, base, R, v)
        Y = np.array(alg.regressor(tree, q, qd, qdd))
        assert error(Y @ pi + robot.model.reflected_inertia * qdd, tau) < 1e-12
        Y = np.array(alg.base_wrench_regressor(tree, q, qd, qdd))
        assert error(Y @ np.append(pi, own), wrench) < 1e-12


def differences(function, x):
    """Return the derivative (m, n) of a function by central differences, 1e-9 of its size."""
    h = 1e-5
    return np.transpose(
        [(np.array(function(x + h * e)) - function(x - h * e)) / (2 * h) for e in np.eye(len(x))]
    )


def test_derivatives_are_those_of_differences(robot):
    for q, qd, qdd, base, *_ in robot.states:
        tree = robot.tree.on_moving_base(base)
        D = alg.inverse_dynamics_derivatives(tree, q, qd, qdd)
        by_q = differences(lambda x, t=tree, v=qd, a=qdd: alg.rnea(t, x, v, a), q)
        by_qd = differences(lambda x, t=tree, p=q, a=qdd: alg.rnea(t, p, x, a), qd)
        assert error(D.dtau_dq, by_q) < 1e-8
        assert error(D.dtau_dqd, by_qd) < 1e-8
        dg = np.array(alg.gravity_torque_derivative(tree, q))
        assert error(dg, differences(lambda x, t=tree: alg.gravity_torque(t, x), q)) < 1e-8
        # dg/dq - dg/dq^T = N(q, wd): g has a potential only without angular acceleration
        turned = robot.tree.on_moving_base(np.concatenate([base[3:6], base[3:]]))
        N = alg.coriolis_matrix(turned, q, 0.0 * qd)
        assert error(dg - dg.T, N, np.abs(dg).max()) < 1e-12


def test_momentum_needs_no_angular_acceleration(robot):
    h = 1e-5
    for q, qd, qdd, base, *_ in robot.states:
        tree = robot.tree.on_moving_base(base)
        tau = np.array(alg.rnea(tree, q, qd, qdd))
        without = np.concatenate([base[:3], np.zeros(3), base[6:]])
        p, rate = alg.momentum(robot.tree.on_moving_base(without), q, qd)
        np.testing.assert_array_equal(alg.momentum(tree, q, qd).p, p)
        np.testing.assert_array_equal(alg.momentum(tree, q, qd).rate, rate)

        def after(t, q=q, qd=qd, qdd=qdd, base=base):
            w = base[:3] + t * base[3:6]
            moved = robot.tree.on_moving_base(np.concatenate([w, base[3:]]))
            return np.array(alg.momentum(moved, q + t * qd + t * t / 2 * qdd, qd + t * qdd).p)

        # dp/dt = dT/dq - g(a) + tau
        assert error((after(h) - after(-h)) / (2 * h), rate + tau, np.abs(tau).max()) < 1e-8


def test_a_base_of_constant_velocity_is_a_fixed_one(robot):
    for q, qd, qdd, *_ in robot.states:
        tree = robot.tree.on_moving_base(np.append(np.zeros(6), -robot.model.gravity))
        for function in (alg.rnea, alg.base_wrench, alg.regressor):
            np.testing.assert_array_equal(
                function(tree, q, qd, qdd), function(robot.tree, q, qd, qdd)
            )


def test_a_turning_base_pulls_outwards():
    """A mass on a slide along x of a base that turns about z: F = m (xdd - w^2 x), both signs."""
    model = random_tree(1, np.random.default_rng(0), prismatic=1.0)
    along_x = {'placement': np.eye(4)[None], 'axis': [[1.0, 0.0, 0.0]]}
    model = replace(model, **along_x, mass=[2.0], com=np.zeros((1, 3)))
    tree = canonical_tree(model)
    for w in (3.0, -3.0):
        for x in (0.5, -0.5):
            turned = tree.on_moving_base([0.0, 0.0, w, 0.0, 0.0, 0.0, 0.0, 0.0, 9.81])
            force = alg.gravity_torque(turned, [x])
            np.testing.assert_allclose(force, [-2.0 * w**2 * x], rtol=1e-14)
            n = alg.base_wrench(turned, [x], [0.4], [0.0])
            # Coriolis: 2 m w xd across the slide, its moment about z
            np.testing.assert_allclose(n[2], 2 * 2.0 * w * 0.4 * x, rtol=1e-13)
            np.testing.assert_allclose(n[3:], [-2.0 * w**2 * x, 1.6 * w, 2 * 9.81], rtol=1e-13)
