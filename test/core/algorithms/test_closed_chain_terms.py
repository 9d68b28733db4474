# SPDX-License-Identifier: Apache-2.0
"""Constraint equations of loop closures: derivatives, and wrenches by virtual work."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.algorithms import closed_chain_terms
from robot_dynamics.core.algorithms.crba import crba
from robot_dynamics.core.algorithms.rnea import bias_torque
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.closures import LoopClosure
from robot_dynamics.core.model.robots import random_tree

N = 7
STEP = 1e-200  # of complex steps, which lose no digits
CLOSURES = [
    LoopClosure('link4', 'link7', 'rigid'),
    LoopClosure('link7', 'link3', 'pin', axis=(0.3, -0.5, 0.8)),
    LoopClosure('base', 'link6', 'ball'),
]


@pytest.fixture(params=range(3))
def case(request):
    rng = np.random.default_rng(request.param)
    model = random_tree(N, rng)
    return model, canonical_tree(model), rng.normal(size=N), rng.normal(size=N)


def evaluate(tree, q, qd):
    return closed_chain_terms.chain_terms(tree, CLOSURES, list(q), list(qd))


def test_terms_of_the_tree_are_unchanged(case):
    _, tree, q, qd = case
    terms = evaluate(tree, q, qd)
    assert crba(tree, list(q)) == terms.M
    assert terms.b == bias_torque(tree, list(q), list(qd))


def test_phi_is_the_constraint_error(case):
    model, tree, q, qd = case
    phi, expected = evaluate(tree, q, qd).phi, []
    for closure in CLOSURES:
        a, b = (kin.frame_pose(model, q, f) for f in (closure.frame_a, closure.frame_b))
        R, d = a[:3, :3].T @ b[:3, :3], a[:3, :3].T @ (b[:3, 3] - a[:3, 3])
        expected += [x @ R @ np.array(y) for x, y in closure.perpendicular]
        expected += list(d)
    assert np.abs(np.array(phi) - expected).max() < 1e-13


def test_jacobian_is_the_derivative(case):
    _, tree, q, qd = case
    J = np.array(evaluate(tree, q, qd).J)
    for j, direction in enumerate(np.eye(N)):
        stepped = evaluate(tree, q + 1j * STEP * direction, qd).phi
        assert np.abs(np.imag(stepped) / STEP - J[:, j]).max() < 1e-13


def test_c_is_the_rest_of_the_acceleration(case):
    _, tree, q, qd = case
    terms = evaluate(tree, q, qd)
    # dJ/dt = dJ/dq qd
    J_dot = np.imag(np.array(evaluate(tree, q + 1j * STEP * qd, qd).J)) / STEP
    c = np.array(terms.c)
    assert np.abs(J_dot @ qd - c).max() < 1e-13 * (1 + np.abs(c).max())


def test_the_multipliers_work_is_the_wrenches_work(case):
    model, tree, q, _ = case
    # Where the loops are not closed, the force acts at two places: compare where it is one.
    closure = LoopClosure('link3', 'turned', 'rigid')
    placement = np.array(kin.frame_pose(model, q, 'link3'))
    T_b = kin.body_poses(model, q)[6]
    model = with_frame(model, 'turned', 6, np.linalg.inv(T_b) @ placement)
    tree = canonical_tree(model)
    values = np.random.default_rng(9).normal(size=6)
    terms = closed_chain_terms.chain_terms(tree, [closure], list(q), [0.0] * N)
    assert np.abs(np.array(terms.phi)).max() < 1e-13
    (wrench,) = closed_chain_terms.wrenches(tree, [closure], list(q), list(values))
    torque = kin.wrench_torque(model, q, np.array(wrench), 'turned')
    torque -= kin.wrench_torque(model, q, np.array(wrench), 'link3')
    assert np.abs(torque - np.array(terms.J).T @ values).max() < 1e-12


def test_facing_distinguishes_opposite_directions(case):
    model, tree, q, _ = case
    cosines = closed_chain_terms.facing(tree, CLOSURES, list(q))
    R = [kin.frame_pose(model, q, f)[:3, :3] for f in ('link4', 'link7', 'link3')]
    expected = list(np.diag(R[0].T @ R[1]))
    axis = np.array(CLOSURES[1].axis)
    expected.append(axis @ R[1].T @ R[2] @ axis)
    assert np.abs(np.array(cosines) - expected).max() < 1e-14


def with_frame(model, name, body, placement):
    return replace(
        model,
        frame_names=(*model.frame_names, name),
        frame_body=[*model.frame_body, body],
        frame_placement=[*model.frame_placement, placement],
    )
