# SPDX-License-Identifier: Apache-2.0
"""Velocities after a step with dry friction: balance, the law, its bound, convergence."""

import numpy as np
import pytest

from robot_dynamics.core.algorithms import crba
from robot_dynamics.core.algorithms.forward_dynamics import dense, factorize
from robot_dynamics.core.algorithms.friction_step import ROUNDS, free_inertia, slowed_velocity
from robot_dynamics.core.friction.coulomb import COULOMB_SPEED
from robot_dynamics.core.friction.impulses import with_memory, without_memory
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.robots import random_tree


def mass_matrix(n, rng):
    if rng.random() < 0.3:  # coupled more strongly than those of arms
        A = rng.normal(size=(n, n))
        return A @ A.T + 10.0 ** rng.uniform(-3, 0) * np.eye(n)
    tree = canonical_tree(random_tree(n, rng))
    return np.array(crba(tree, rng.uniform(-3, 3, n).tolist()))


def step(seed, mirror=1.0):
    """Return H, b, largest impulses d, z and h / delta of a step at breakaway."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 4, 7, 12]))
    H, h = mass_matrix(n, rng), 10.0 ** rng.uniform(-5, -2)
    d = h * 10.0 ** rng.uniform(-3, 2, n)
    speed = rng.normal(size=n) * 10.0 ** rng.uniform(-4, 1, n)
    b = mirror * (H @ speed + d * rng.uniform(-3, 3, n))
    return H, b, d, mirror * rng.uniform(-1, 1, n), np.full(n, h / 5e-4)


def plain(d):
    return lambda s, m: [without_memory(*joint) for joint in zip(s, m, d.tolist(), strict=True)]


def memory(d, z, rate):
    own = d.tolist(), z.tolist(), rate.tolist()
    return lambda s, m: [with_memory(*joint) for joint in zip(s, m, *own, strict=True)]


def solved(H, b, law, rounds):
    return slowed_velocity(H.tolist(), dense(len(b)), b.tolist(), law, rounds)


@pytest.mark.parametrize('seed', range(60))
@pytest.mark.parametrize('mirror', [1.0, -1.0])
def test_friction_is_that_of_the_velocities_at_the_end(seed, mirror):
    H, b, d, z, rate = step(seed, mirror)
    free = abs(np.linalg.solve(H, b)).max()
    v, p, _, error = map(np.array, solved(H, b, plain(d), rounds=12))
    assert abs(error).max() <= 1e-9 * free
    np.testing.assert_allclose(p, d * np.tanh(v / COULOMB_SPEED), atol=1e-6 * d.max())
    v, p, _, error = map(np.array, solved(H, b, memory(d, z, rate), rounds=12))
    assert abs(error).max() <= 1e-9 * free
    slid = np.sign(v) + (z - np.sign(v)) * np.exp(-rate * abs(v))
    np.testing.assert_allclose(p, d * slid, atol=1e-5 * d.max())


@pytest.mark.parametrize('seed', range(20))
@pytest.mark.parametrize('rounds', [0, 1, 2, ROUNDS])
def test_momentum_balances_and_impulses_are_bounded_after_any_number_of_rounds(seed, rounds):
    H, b, d, z, rate = step(seed)
    for law in (plain(d), memory(d, z, rate)):
        v, p, _, _ = map(np.array, solved(H, b, law, rounds))
        assert (abs(p) <= d * (1 + 1e-14)).all()
        size = abs(H) @ abs(v) + abs(b) + d
        np.testing.assert_allclose(H @ v + p, b, atol=1e-9 * size.max())


def test_rounds_continue_where_they_ended():
    H, b, d, _, _ = step(5)
    two = solved(H, b, plain(d), rounds=2)
    four = slowed_velocity(H.tolist(), dense(len(b)), b.tolist(), plain(d), 2, two.s)
    np.testing.assert_allclose(four.v, solved(H, b, plain(d), rounds=4).v, rtol=1e-12)


def test_free_inertia_is_that_of_a_joint_while_the_others_move_freely():
    H = mass_matrix(6, np.random.default_rng(4))
    m = free_inertia(factorize(H.tolist(), dense(6)))
    np.testing.assert_allclose(m, 1 / np.diag(np.linalg.inv(H)), rtol=1e-9)


def test_friction_dissipates_and_slows_the_joint_on_which_it_acts_alone():
    for seed in range(40):
        H, b, d, _, _ = step(seed)
        free = np.linalg.solve(H, b)
        v, p, _, _ = map(np.array, solved(H, b, plain(d), rounds=12))
        assert p @ v >= 0.0
        assert v @ H @ v <= free @ H @ free * (1 + 1e-12)
