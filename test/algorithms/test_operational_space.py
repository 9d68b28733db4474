import numpy as np
import pytest

from robot_dynamics.algorithms import (
    forward_dynamics,
    jacobian,
    jacobian_dot,
    operational_space,
    terms,
)
from robot_dynamics.model.canonical import canonical_tree
from robot_dynamics.model.robots import planar_2r, random_tree

CHAINS = {
    n: random_tree(n, np.random.default_rng(20 + n), branching=0.0, prismatic=0.1)
    for n in (6, 7, 9)
}


@pytest.mark.parametrize('n', CHAINS)
def test_matches_the_definition(n, relative):
    tree, frame = canonical_tree(CHAINS[n]), f'link{n}'
    q, qd = np.random.default_rng(n).uniform(-2, 2, (2, n))
    ours = operational_space(tree, q, qd, frame)
    M, C, g = map(np.array, terms(tree, q, qd))
    J, Jd = np.array(jacobian(tree, q, frame)), np.array(jacobian_dot(tree, q, qd, frame))
    J_M = J @ np.linalg.inv(M)
    Lambda = np.linalg.inv(J_M @ J.T)
    tolerance = 1e-14 * np.linalg.cond(J_M @ J.T) * np.linalg.cond(M)
    assert relative(ours.Lambda, Lambda) < tolerance
    assert relative(ours.mu, Lambda @ (J_M @ C @ qd - Jd @ qd)) < tolerance
    assert relative(ours.p, Lambda @ J_M @ g) < tolerance
    assert relative(ours.eta, np.add(ours.mu, ours.p)) < 1e-15


def test_a_wrench_at_the_frame_accelerates_it_as_stated(relative):
    tree, frame = canonical_tree(CHAINS[7]), 'link7'
    q, qd = np.random.default_rng(1).uniform(-2, 2, (2, 7))
    J, Jd = np.array(jacobian(tree, q, frame)), np.array(jacobian_dot(tree, q, qd, frame))
    at = operational_space(tree, q, qd, frame)
    F = np.array([1.0, -2.0, 3.0, 10.0, 20.0, -30.0])
    qdd = np.array(forward_dynamics(tree, q, qd, J.T @ F))
    Vd = J @ qdd + Jd @ qd
    # Lambda Vd + mu + p = F
    assert relative(at.Lambda @ Vd + at.eta, F, np.abs(at.eta).max()) < 1e-9


def test_a_planar_arm_in_the_directions_it_can_move(relative):
    tree = canonical_tree(planar_2r())
    q, qd = np.array([0.3, 1.1]), np.array([0.5, -0.7])
    at = operational_space(tree, q, qd, 'link2', directions=(2, 4))
    J = np.array(jacobian(tree, q, 'link2'))[[2, 4]]
    M = np.array(terms(tree, q, qd).M)
    # Lambda = J^-T M J^-1. 001, (9.98)
    inverse = np.linalg.inv(J)
    assert relative(at.Lambda, inverse.T @ M @ inverse) < 1e-12
    # eta = J^-T (C qd + g) - Lambda Jd J^-1 V. 001, (9.99)
    C, g = map(np.array, terms(tree, q, qd)[1:])
    Jd = np.array(jacobian_dot(tree, q, qd, 'link2'))[[2, 4]]
    assert relative(at.mu, inverse.T @ C @ qd - at.Lambda @ Jd @ qd) < 1e-12
    assert relative(at.p, inverse.T @ g) < 1e-12
