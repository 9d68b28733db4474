"""Deep trees take other ways: to the same numbers, with fewer operations."""

import importlib

import numpy as np
import pytest

from robot_dynamics import algorithms as alg
from robot_dynamics.algorithms import base_frame as deep
from robot_dynamics.codegen.tracing.trace import trace
from robot_dynamics.model.canonical import canonical_tree
from robot_dynamics.model.robots import random_tree

EPS = np.finfo(float).eps


def count(function, tree, inputs):
    program = trace(lambda *x: function(tree, *x), dict.fromkeys(inputs, tree.n))
    return sum(program.operation_counts().values())


def both_ways(monkeypatch, function, tree, *arguments):
    """Return what a function gives for a shallow and for a deep tree."""
    results = []
    for answer in (False, True):
        for file in ('crba', 'coriolis', 'derivatives'):
            module = importlib.import_module(f'robot_dynamics.algorithms.{file}')
            monkeypatch.setattr(module, 'is_deep', lambda _tree, answer=answer: answer)
        results.append(function(tree, *arguments))
    return results


@pytest.mark.parametrize('seed', range(10))
@pytest.mark.parametrize(
    ('function', 'count'),
    [(alg.crba, 1), (alg.mass_and_coriolis_matrix, 2), (alg.inverse_dynamics_derivatives, 3)],
)
def test_both_ways_give_the_same_matrices(monkeypatch, function, count, seed):
    rng = np.random.default_rng(seed)
    tree = canonical_tree(random_tree(9, rng, prismatic=0.4))
    arguments = rng.normal(size=(count, 9)).tolist()
    walked, seen = map(np.array, both_ways(monkeypatch, function, tree, *arguments))
    np.testing.assert_allclose(seen, walked, rtol=0, atol=2000 * EPS * np.abs(walked).max())


@pytest.mark.parametrize('n', [10, 11])
def test_eleven_joints_in_a_row_are_deep(n):
    chain = canonical_tree(random_tree(n, np.random.default_rng(n), branching=0.0))
    assert deep.is_deep(chain) == (n == 11)
    inputs = ('q', 'qd', 'tau')
    recursion = count(alg.aba, chain, inputs)
    assert (count(alg.forward_dynamics, chain, inputs) == recursion) == (n == 11)


def test_a_deep_chain_takes_fewer_operations(monkeypatch):
    chain = canonical_tree(random_tree(30, np.random.default_rng(0), branching=0.0))
    for function, inputs in [(alg.crba, ('q',)), (alg.coriolis_matrix, ('q', 'qd'))]:
        walked, seen = both_ways(
            monkeypatch, lambda tree, f=function, i=inputs: count(f, tree, i), chain
        )
        assert seen < 0.7 * walked
