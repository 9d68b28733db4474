# SPDX-License-Identifier: Apache-2.0
"""Columns that meet in the base frame, as in generated loops, or step by step: equal matrices."""

import numpy as np
import pytest

from robot_dynamics.codegen.tracing.trace import trace
from robot_dynamics.core import algorithms as alg
from robot_dynamics.core.model.canonical import CanonicalTree, canonical_tree
from robot_dynamics.core.model.robots import random_tree

EPS = np.finfo(float).eps
FUNCTIONS = [
    (alg.crba, 1),
    (alg.gravity_torque_derivative, 1),
    (alg.mass_and_coriolis_matrix, 2),
    (alg.inverse_dynamics_derivatives, 3),
    (alg.forward_dynamics, 3),
]


@pytest.mark.parametrize('seed', range(10))
@pytest.mark.parametrize(('function', 'count'), FUNCTIONS)
def test_results_in_the_base_frame_equal_those_of_propagation(monkeypatch, function, count, seed):
    rng = np.random.default_rng(seed)
    tree = canonical_tree(random_tree(9, rng, prismatic=0.4))
    arguments = rng.normal(size=(count, 9)).tolist()
    propagated = np.array(function(tree, *arguments))
    monkeypatch.setattr(CanonicalTree, 'by_kind', True)
    in_base = np.array(function(tree, *arguments))
    scale = np.abs(propagated).max()
    if function is alg.forward_dynamics:
        monkeypatch.undo()
        scale *= np.linalg.cond(np.array(alg.crba(tree, arguments[0])))
    np.testing.assert_allclose(in_base, propagated, rtol=0, atol=2000 * EPS * scale)


@pytest.mark.slow
def test_a_long_chain_takes_fewer_operations_in_the_base_frame(monkeypatch):
    chain = canonical_tree(random_tree(30, np.random.default_rng(0), branching=0.0))
    for function, inputs in [(alg.crba, ('q',)), (alg.coriolis_matrix, ('q', 'qd'))]:
        counts = []
        for by_kind in (False, True):
            monkeypatch.setattr(CanonicalTree, 'by_kind', by_kind)
            program = trace(lambda *x, f=function: f(chain, *x), dict.fromkeys(inputs, chain.n))
            counts.append(sum(program.operation_counts().values()))
        assert counts[1] < 0.7 * counts[0]
