# SPDX-License-Identifier: Apache-2.0
"""`Dynamics.linearize`, `forward_dynamics_derivatives`: what they are the derivatives of."""

import numpy as np
import pytest
import robots

import robot_dynamics as rd
from robot_dynamics.core.model.coordinates import with_coordinates
from robot_dynamics.core.model.robots import planar_2r, random_tree

N, H = 3, 2e-3
INTEGRATORS = ('explicit_euler', 'semi_implicit_euler', 'rk4')


@pytest.fixture(scope='module')
def arm():
    model = random_tree(N, np.random.default_rng(3))
    return rd.Dynamics(model.with_actuation(viscous=0.3, coulomb=[0.1, 0.2, 0.0]))


@pytest.fixture
def state():
    return np.random.default_rng(4).uniform(-1, 1, (3, 5, N))


def differences(function, x, e=1e-5):
    """Return derivatives (..., m, k) of a function of x (..., k), by central differences."""
    columns = [(function(x + e * u) - function(x - e * u)) / (2 * e) for u in np.eye(x.shape[-1])]
    return np.moveaxis(columns, 0, -1)


@pytest.mark.parametrize('friction', ['none', 'model'])
def test_derivatives_of_forward_dynamics(arm, state, friction):
    def qdd(x):
        return arm.forward_dynamics(*np.split(x, 3, -1), friction=friction)

    theirs = differences(qdd, np.concatenate(state, -1))
    ours = np.concatenate(arm.forward_dynamics_derivatives(*state, friction=friction), -1)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())


@pytest.mark.parametrize('friction', ['none', 'model'])
@pytest.mark.parametrize('integrator', INTEGRATORS)
def test_linear_model_of_the_step_that_simulate_takes(arm, state, integrator, friction):
    options = {'time_step': H, 'integrator': integrator, 'friction': friction}

    def end(x):
        return np.concatenate(arm.simulate(*np.split(x, 3, -1), steps=1, **options), -1)

    theirs = differences(end, np.concatenate(state, -1))
    ours = np.concatenate(arm.linearize(*state, **options), -1)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())


@pytest.mark.parametrize('time_step', [None, H])
def test_batches_single_states_and_given_memory_agree(arm, state, time_step):
    q, qd, tau = state
    model = arm.linearize(q[:, None], qd, tau[0], time_step=time_step)
    assert model._fields == ('A', 'B')
    assert (model.A.shape, model.B.shape) == ((5, 5, 2 * N, 2 * N), (5, 5, 2 * N, N))
    out = np.full((2 * N, 2 * N), np.nan), np.full((2 * N, N), np.nan)
    given = arm.linearize(q[1], qd[2], tau[0], time_step=time_step, out=out)
    assert given.A is out[0]
    assert given.B is out[1]
    for single, batch in zip(out, model, strict=True):
        np.testing.assert_allclose(single, batch[1, 2], rtol=0, atol=1e-13 * np.abs(single).max())


def test_step_tends_to_the_continuous_model(arm, state):
    A, B = arm.linearize(*state)
    h = 1e-7
    stepped = arm.linearize(*state, time_step=h)
    np.testing.assert_allclose(stepped.B / h, B, atol=1e-5 * np.abs(B).max())
    np.testing.assert_allclose(
        (stepped.A - np.eye(2 * N)) / h, A, atol=1e-5 * max(1.0, np.abs(A).max())
    )


def test_gravity_makes_the_upright_pendulum_unstable_and_the_hanging_one_swing():
    arm, zero = rd.Dynamics(planar_2r()), np.zeros(2)
    for q, growing in (([-np.pi / 2, 0.0], 0), ([np.pi / 2, 0.0], 2)):
        A, _ = arm.linearize(q, zero, zero)
        rates = np.linalg.eigvals(A)
        assert np.count_nonzero(rates.real > 1e-6) == growing
        # M y w^2 = dg/dq y
        M, K = arm.mass_matrix(q), arm.gravity_torque_derivative(q)
        squares = np.repeat(np.linalg.eigvals(-np.linalg.solve(M, K)), 2)
        np.testing.assert_allclose(
            np.sort((rates**2).real), np.sort(squares.real), atol=1e-10 * np.abs(squares).max()
        )


def test_values_out_of_range_are_named(arm, state):
    for options, message in (
        ({'time_step': 0.0}, 'time_step is 0.0 s'),
        ({'time_step': H, 'integrator': 'euler'}, "integrator is 'euler'"),
        ({'friction': 'some'}, "friction is 'some'"),
    ):
        with pytest.raises(ValueError, match=message):
            arm.linearize(*state, **options)
    with pytest.raises(rd.ShapeError, match='qd'):
        arm.linearize(state[0], np.zeros(N + 1), state[2])
    stiff = rd.Dynamics(arm.model.with_actuation(viscous=1e4))
    with pytest.raises(ValueError, match='viscous friction brakes joint'):
        stiff.linearize(*state, time_step=H, integrator='rk4', friction='model')
    massless_tip = rd.Dynamics(planar_2r(masses=(1.0, 0.0), inertias=(0.1, 0.0)))
    with pytest.raises(rd.ModelError, match="joint 'joint2' moves no inertia"):
        massless_tip.linearize(*np.zeros((3, 2)))


def test_robots_of_many_joints_are_rejected_with_the_way_round():
    model = random_tree(42, np.random.default_rng(0), branching=0.0)
    chain = rd.Dynamics(model)
    last_follows = np.vstack([np.eye(41), np.eye(41)[-1]])
    follower = rd.Dynamics(with_coordinates(model, last_follows))
    for call in (
        lambda: chain.linearize(*np.zeros((3, 42))),
        lambda: follower.forward_dynamics_derivatives,
    ):
        with pytest.raises(rd.ModelError, match=r'as in a chain of 40.*has more'):
            call()
    assert 'linearize' not in chain.precompilable()
    # Loops solve for the accelerations of a tree whose joints do not follow others.
    assert 'forward_dynamics_derivatives' in chain.precompilable()
    assert 'forward_dynamics_derivatives' not in follower.precompilable()


@pytest.mark.parametrize('name', ['panda', 'talos_left_arm'])
def test_bundled_arms_with_a_payload(name):
    arm = rd.Dynamics(robots.load(name)).with_payload(robots.load(name).body_names[-1], 1.5)
    q, qd, tau = np.random.default_rng(5).uniform(-1, 1, (3, arm.model.n))
    dqdd_dq, dqdd_dqd, M_inverse = arm.forward_dynamics_derivatives(q, qd, tau)
    qdd = arm.forward_dynamics(q, qd, tau)
    dtau_dq, dtau_dqd, M = arm.inverse_dynamics_derivatives(q, qd, qdd)
    tolerance = 1e-13 * np.linalg.cond(M)
    for ours, residual in (
        (dqdd_dq, M @ dqdd_dq + dtau_dq),
        (dqdd_dqd, M @ dqdd_dqd + dtau_dqd),
        (M_inverse, M @ M_inverse - np.eye(arm.model.n)),
    ):
        assert np.abs(residual).max() <= tolerance * max(1.0, np.abs(ours).max())
