# SPDX-License-Identifier: Apache-2.0
"""Loop code generation: algorithms on kinds of bodies equal those on all bodies."""

import numpy as np
import pytest

from robot_dynamics.codegen.backends import scalarize
from robot_dynamics.codegen.backends.python import interpreted_loops
from robot_dynamics.codegen.calls.kernels import PythonKernels
from robot_dynamics.codegen.loops import LoopForm, Rows
from robot_dynamics.codegen.loops.branch_vectorization import trace_branches
from robot_dynamics.codegen.loops.loop_assembly import trace_loops
from robot_dynamics.codegen.loops.loop_trace import LoopTracer
from robot_dynamics.core import algorithms as alg
from robot_dynamics.core.algorithms.repeated_bodies import (
    LoopTree,
    coordinate_terms,
    independent,
    kind_keys,
    loop_tree,
)
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.coordinates import with_coordinates
from robot_dynamics.core.model.robots import random_tree

EPS = np.finfo(float).eps
FUNCTIONS = {
    alg.gravity_torque: ('q',),
    alg.gravity_torque_derivative: ('q',),
    alg.rnea: ('q', 'qd', 'qdd'),
    alg.bias_torque: ('q', 'qd'),
    alg.crba: ('q',),
    alg.coriolis_matrix: ('q', 'qd'),
    alg.terms: ('q', 'qd'),
    alg.inverse_dynamics_derivatives: ('q', 'qd', 'qdd'),
    alg.forward_dynamics: ('q', 'qd', 'tau'),
}
VECTORS = (alg.gravity_torque, alg.rnea, alg.bias_torque, alg.forward_dynamics)


def model(seed, n, **options):
    rng = np.random.default_rng(seed)
    arm = random_tree(n, rng, **options)
    rotors = rng.uniform(0.0, 0.1, n) * (rng.random(n) < 0.5)
    return arm.with_actuation(gear_ratio=10.0, rotor_inertia=rotors)


TREES = {
    'chain': lambda: random_tree(12, np.random.default_rng(0), branching=0.0, prismatic=0.0),
    'mixed': lambda: model(1, 12, branching=0.0, prismatic=0.4),
    'star': lambda: model(2, 9, branching=1.0),
    'slides': lambda: random_tree(6, np.random.default_rng(3), prismatic=1.0),
    'one': lambda: random_tree(1, np.random.default_rng(4)),
    'tree40': lambda: model(5, 40, branching=0.2, prismatic=0.3),
    'tree60': lambda: model(6, 60, branching=0.1, prismatic=0.2),
}


@pytest.fixture(params=TREES)
def tree(request):
    return canonical_tree(TREES[request.param]())


def recorded(function, tree, trace=trace_loops):
    rows = Rows.of([joint.parent for joint in tree.joints], kind_keys(tree))
    inputs = dict.fromkeys(FUNCTIONS[function], tree.n)
    rolled = LoopForm(lambda way, *x: function(loop_tree(tree, way), *x), rows, tuple(inputs))
    return trace(rolled, inputs, name='rolled')


@pytest.mark.parametrize('function', FUNCTIONS)
def test_generated_loops_agree_with_the_algorithm(function, tree, relative):
    program = recorded(function, tree)
    check(function, tree, program, PythonKernels(program, interpreted_loops), relative)


@pytest.mark.parametrize('function', [f for f in FUNCTIONS if f in VECTORS])
def test_branch_vectorization_agrees_with_the_algorithm(function, tree, relative):
    program = recorded(function, tree, trace_branches)
    check(function, tree, program, PythonKernels(scalarize.scalarize(program)), relative)


def check(function, tree, program, run, relative):
    inputs = np.random.default_rng(9).uniform(-1, 1, (len(FUNCTIONS[function]), 1, tree.n))
    outputs = [np.empty((1, size)) for size in program.signature.output_sizes]
    run.run(list(inputs), outputs)
    expected = function(tree, *inputs[:, 0].tolist())
    expected = expected if len(outputs) > 1 else (expected,)
    # Accelerations inherit the condition of the mass matrix.
    M = np.array(alg.crba(tree, inputs[0, 0].tolist()))
    condition = np.linalg.cond(M) if function is alg.forward_dynamics else 1.0
    tolerance = 100 * tree.n * EPS * min(condition, 1e4)
    for output, reference in zip(outputs, expected, strict=True):
        assert relative(output[0], np.ravel(reference)) <= tolerance


def test_bodies_of_a_chain_are_of_two_kinds():
    tree = canonical_tree(TREES['chain']())
    rows = Rows.of([joint.parent for joint in tree.joints], kind_keys(tree))
    assert rows.kinds == (0, *[1] * 11)
    rolled = loop_tree(tree, LoopTracer(rows))
    assert isinstance(rolled, LoopTree)
    assert rolled.nb == rolled.n == 2
    # Every frame of a chain is turned about its x axis, and base parameters leave no mass.
    assert [rolled.joints[1].R[i][j] for i, j in ((0, 0), (0, 1), (2, 0))] == [1.0, 0.0, 0.0]
    assert rolled.bodies[1].m == 0.0


def test_a_separate_body_is_of_its_own_kind_and_its_frames_can_be_named():
    arm = TREES['chain']()
    tree = canonical_tree(arm)
    rows = Rows.of([joint.parent for joint in tree.joints], kind_keys(tree, {5}))
    rolled = loop_tree(tree, LoopTracer(rows), {5})
    assert rows.members[rows.kinds[5]] == [5]
    [*names] = rolled.frames
    assert names == [name for name, place in tree.frames.items() if place.body == 5]
    assert rolled.frame(names[0]).body == rows.kinds[5]


def test_coordinates_are_those_of_the_model():
    arm = random_tree(4, np.random.default_rng(0))
    assert independent(canonical_tree(arm))
    S = np.eye(4)[:, :3]
    S[3, 2] = 1.5
    follower = canonical_tree(with_coordinates(arm, S))
    assert not independent(follower)
    assert coordinate_terms(follower) == [(0, 0, 1.0), (1, 1, 1.0), (2, 2, 1.0), (3, 2, 1.5)]


def test_coordinates_may_have_offsets():
    arm = random_tree(4, np.random.default_rng(0))
    shifted = canonical_tree(with_coordinates(arm, np.eye(4), np.ones(4)))
    assert independent(shifted)
    program = recorded(alg.rnea, shifted)
    run = PythonKernels(program, interpreted_loops)
    x = np.random.default_rng(1).normal(size=(3, 1, 4))
    tau = np.empty((1, 4))
    run.run(list(x), [tau])
    np.testing.assert_allclose(tau[0], alg.rnea(shifted, *x[:, 0].tolist()), rtol=1e-12)
