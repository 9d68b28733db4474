# SPDX-License-Identifier: Apache-2.0
"""Operation counts of recorded algorithms, on a robot with the usual right angles.

Upper bounds, so that a change that loses a zero is seen.
"""

import pytest
import robots

from robot_dynamics.codegen.tracing.trace import trace
from robot_dynamics.core import algorithms as alg
from robot_dynamics.core.friction.coulomb import Friction
from robot_dynamics.core.model.canonical import canonical_tree

Q, QD, QDD = ('q',), ('q', 'qd'), ('q', 'qd', 'qdd')


def without_friction(function):
    return lambda tree, *x: function(tree, Friction([0.0] * tree.n, [0.0] * tree.n), *x)


# multiplications, additions and subtractions
KUKA = [
    (alg.rnea, QDD, 230, 210),
    (alg.gravity_torque, Q, 36, 20),
    (alg.gravity_torque_derivative, Q, 999, 999),
    (alg.crba, Q, 140, 110),
    (alg.coriolis_matrix, QD, 550, 410),
    (alg.terms, QD, 600, 440),
    (alg.forward_dynamics, QDD, 480, 400),
    (alg.aba, QDD, 580, 435),
    (alg.inverse_dynamics_derivatives, QDD, 1240, 950),
    (without_friction(alg.forward_dynamics_derivatives), QDD, 2200, 1800),
]


def counts(tree, algorithm, inputs):
    program = trace(lambda *x: algorithm(tree, *x), dict.fromkeys(inputs, tree.n))
    return program.operation_counts()


@pytest.mark.parametrize(('algorithm', 'inputs', 'products', 'sums'), KUKA)
def test_kuka_iiwa_with_right_angles(algorithm, inputs, products, sums):
    tree = canonical_tree(robots.load('kuka_iiwa'), snap=1e-11)
    found = counts(tree, algorithm, inputs)
    assert found['mul'] <= products
    assert found['add'] + found['sub'] <= sums


def test_an_exact_model_of_parallel_and_crossing_axes_costs_hardly_more():
    model = robots.load('ur5')
    exact = counts(canonical_tree(model), alg.rnea, QDD)
    snapped = counts(canonical_tree(model, snap=1e-11), alg.rnea, QDD)
    assert exact['mul'] == snapped['mul'] <= 155
