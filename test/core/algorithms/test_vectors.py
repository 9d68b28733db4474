# SPDX-License-Identifier: Apache-2.0
"""Every algorithm on floats, complex numbers, batches and recording scalars."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.codegen.tracing.trace import trace
from robot_dynamics.core import algorithms as alg
from robot_dynamics.core.friction.coulomb import Friction
from robot_dynamics.core.model.canonical import canonical_tree

Q, QD, QDD = ('q',), ('q', 'qd'), ('q', 'qd', 'qdd')


def viscous(tree):
    return Friction([0.3] * tree.n, [0.0] * tree.n)


def with_friction(function):
    return lambda tree, *x: function(tree, viscous(tree), *x)


AT_REST_AND_MOVING = {
    'rnea': (alg.rnea, QDD),
    'bias_torque': (alg.bias_torque, QD),
    'gravity_torque': (alg.gravity_torque, Q),
    'gravity_torque_derivative': (alg.gravity_torque_derivative, Q),
    'crba': (alg.crba, Q),
    'coriolis_matrix': (alg.coriolis_matrix, QD),
    'terms': (alg.terms, QD),
    'forward_dynamics': (alg.forward_dynamics, QDD),
    'aba': (alg.aba, QDD),
    'inverse_dynamics_derivatives': (alg.inverse_dynamics_derivatives, QDD),
    'forward_dynamics_derivatives': (with_friction(alg.forward_dynamics_derivatives), QDD),
    'linearization': (with_friction(alg.linearization), QDD),
    'step_linearization': (
        lambda t, *x: alg.step_linearization(t, viscous(t), 'rk4', *x, 1e-3),
        QDD,
    ),
    'regressor': (alg.regressor, QDD),
    'kinetic_energy': (alg.kinetic_energy, QD),
    'potential_energy': (alg.potential_energy, Q),
    'forward_kinematics': (lambda t, q: alg.forward_kinematics(t, q, 'tool'), Q),
    'jacobian': (lambda t, q: alg.jacobian(t, q, 'tool'), Q),
    'jacobian_dot': (lambda t, q, qd: alg.jacobian_dot(t, q, qd, 'tool'), QD),
    'operational_space': (lambda t, q, qd: alg.operational_space(t, q, qd, 'tool', (3,)), QD),
}


@pytest.fixture(params=AT_REST_AND_MOVING)
def algorithm(request):
    return AT_REST_AND_MOVING[request.param]


def flat(value) -> list:
    """Return the entries of nested lists, tuples and numbers, in order."""
    return [x for row in value for x in flat(row)] if isinstance(value, list | tuple) else [value]


def close(ours, theirs, tolerance=1e-11) -> bool:
    ours, theirs = np.array(ours), np.array(theirs)
    return bool(np.abs(ours - theirs).max() <= tolerance * max(1.0, np.abs(theirs).max()))


def test_a_batch_equals_single_calls(algorithm, make_random):
    function, inputs = algorithm
    model = make_random(1)
    tree = canonical_tree(model)
    batch = np.random.default_rng(0).uniform(-2, 2, (len(inputs), model.n, 4))
    together = [np.broadcast_to(x, 4) for x in flat(function(tree, *(list(x) for x in batch)))]
    single = [flat(function(tree, *(x[:, k].tolist() for x in batch))) for k in range(4)]
    assert close(together, np.transpose(single))


def test_complex_numbers_carry_real_results(algorithm, make_random):
    function, inputs = algorithm
    model = make_random(2)
    tree = canonical_tree(model)
    state = np.random.default_rng(0).uniform(-2, 2, (len(inputs), model.n))
    real = flat(function(tree, *state.tolist()))
    step = flat(function(tree, *(state + 1e-30j).tolist()))
    assert close(np.real(step), real)


def test_every_algorithm_can_be_recorded(algorithm, make_random):
    function, inputs = algorithm
    model = make_random(3, largest=5)
    tree = canonical_tree(model)
    program = trace(lambda *x: function(tree, *x), dict.fromkeys(inputs, model.n))
    assert program.operation_counts()


def test_gravity_can_be_an_input(make_random):
    model = make_random(4)
    tree = canonical_tree(model)

    def torque(gravity, q):
        return alg.gravity_torque(replace(tree, gravity=gravity), q)

    program = trace(torque, {'gravity': 3, 'q': model.n})
    assert {'gravity', 'q'} <= {node[1] for node in program.nodes if node[0] == 'input'}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_laws_hold_on_random_trees(make_random, seed):
    laws_hold(make_random(seed), seed)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_laws_hold_in_other_coordinates(make_mimic, seed):
    laws_hold(make_mimic(seed), seed)


def laws_hold(model, seed):
    tree = canonical_tree(model)
    q, qd, qdd = np.random.default_rng(seed).uniform(-2, 2, (3, model.n))
    M, C, g = map(np.array, alg.terms(tree, q, qd))
    tau = np.array(alg.rnea(tree, q, qd, qdd))
    size = np.abs(M).max() * (1 + np.abs(qd).max()) ** 2 + np.abs(g).max()
    # M qdd + C qd + g = tau
    assert np.abs(M @ qdd + C @ qd + g - tau).max() < 1e-13 * model.nb * size
    # M is symmetric and positive definite
    assert np.abs(M - M.T).max() < 1e-15 * size
    assert np.linalg.eigvalsh(M).min() > 0
    # qd^T (Md - 2 C) qd and the rest of the skew matrix
    rate = np.imag(alg.crba(tree, q + 1e-30j * qd)) / 1e-30
    N = rate - 2 * C
    assert np.abs(N + N.T).max() < 1e-13 * model.nb * size
    # forward dynamics is the inverse
    back = np.array(alg.forward_dynamics(tree, q, qd, tau))
    assert np.abs(back - qdd).max() < 1e-13 * model.nb * size * np.linalg.norm(np.linalg.inv(M))
    # Y pi + B qdd = tau
    Y = np.array(alg.regressor(tree, q, qd, qdd))
    assert (
        np.abs(Y @ model.inertial_parameters() + model.reflected_inertia * qdd - tau).max()
        < 1e-13 * model.nb * size
    )
