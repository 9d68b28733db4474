# SPDX-License-Identifier: Apache-2.0
"""interop.jax: values, derivatives, batches and errors, against `Dynamics` and differences."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.common.errors import ShapeError
from robot_dynamics.core.model.robots import random_tree

jax = pytest.importorskip('jax')

import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

from robot_dynamics.export.interop import jax as interop  # noqa: E402

N, H = 3, 2e-3
# JAX 0.6, the last one for Python 3.10, has it under another name.
enable_x64 = jax.enable_x64 if hasattr(jax, 'enable_x64') else jax.experimental.enable_x64


@pytest.fixture(autouse=True)
def float64():
    before = jax.config.read('jax_enable_x64')
    jax.config.update('jax_enable_x64', True)
    yield
    jax.config.update('jax_enable_x64', before)


@pytest.fixture(scope='module')
def arm():
    model = random_tree(N, np.random.default_rng(3))
    return rd.Dynamics(model.with_actuation(viscous=0.3, coulomb=[0.1, 0.2, 0.0]))


@pytest.fixture(scope='module')
def link(arm):
    return arm.model.link_names[-1]


@pytest.fixture
def state():
    return list(np.random.default_rng(4).uniform(-1, 1, (3, 5, N)))


MASS, COM, TENSOR = 0.7, np.array([0.1, -0.2, 0.05]), np.diag([2e-3, 3e-3, 4e-3])


def parameters():
    """Return the ten parameters of a payload; its tensor is about the centre of mass."""
    about_frame = TENSOR + MASS * (COM @ COM * np.eye(3) - np.outer(COM, COM))
    return np.concatenate([[MASS], MASS * COM, about_frame[np.triu_indices(3)]])


FUNCTIONS = {
    'inverse_dynamics': (interop.inverse_dynamics, {}),
    'forward_dynamics': (interop.forward_dynamics, {}),
    'with friction': (interop.forward_dynamics, {'friction': 'model'}),
    'step': (interop.simulation_step, {'time_step': H}),
    'explicit step': (interop.simulation_step, {'time_step': H, 'integrator': 'explicit_euler'}),
}
RK4 = (interop.simulation_step, {'time_step': H, 'integrator': 'rk4', 'friction': 'none'})
# Functions of the model, how many vectors they take, and their derivatives.
OF_STATE = {
    'forward_kinematics': (1, 2),
    'jacobian': (1, 1),
    'mass_matrix': (1, 1),
    'gravity_torque': (1, 1),
    'potential_energy': (1, 2),
    'kinetic_energy': (2, 2),
    'terms': (2, 1),
}
AT_FRAME = 'forward_kinematics', 'jacobian'


@pytest.mark.parametrize('name', FUNCTIONS)
def test_values_are_those_of_dynamics_with_the_payload(arm, link, state, name):
    function, options = FUNCTIONS[name]
    for carried, given, extra in (
        (arm, {}, []),
        (arm.with_payload(link, MASS, COM, TENSOR), {'payload': link}, [parameters()]),
    ):
        ours = jax.jit(function(arm, **options, **given))(*state, *extra)
        if function is interop.simulation_step:
            theirs = carried.simulate(*state, steps=1, **options)
        else:
            theirs = getattr(carried, function.__name__)(*state, **options)
        for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            assert isinstance(a, jax.Array)
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-13 * np.abs(b).max())


@pytest.mark.slow
@pytest.mark.parametrize(
    ('function', 'options', 'loaded'),
    [*((*case, loaded) for case in FUNCTIONS.values() for loaded in (False, True)), (*RK4, False)],
)
def test_gradients_forward_and_reverse(arm, link, state, function, options, loaded):
    given = {'payload': link} if loaded else {}
    arguments = [*state, np.tile(parameters(), (5, 1))] if loaded else state
    # Batches of arguments with fewer axes: their gradients are summed over the batch.
    arguments[1] = arguments[1][0]
    f = function(arm, **options, **given)
    check_grads(f, [jnp.asarray(x) for x in arguments], order=1, atol=1e-6, rtol=1e-6, eps=1e-5)


@pytest.mark.parametrize('axes', [(0, None, None), (None, 1, None), (0, 1, 0), (None, None, 0)])
def test_vmap_is_one_call_of_the_batch(arm, axes):
    rng = np.random.default_rng(5)
    shape, calls = {None: (4, N), 0: (6, 4, N), 1: (4, 6, N)}, []
    arguments = [jnp.asarray(rng.uniform(-1, 1, shape[axis])) for axis in axes]
    arguments[2] = arguments[2][..., 0, :]  # fewer axes than the others
    of = interop.differentiable.forward_dynamics(arm)
    counted = lambda *x, out: calls.append(1) or of.value(*x, out=out)  # noqa: E731
    f = interop._function(replace(of, value=counted))
    ours = jax.vmap(f, axes)(*arguments)
    jax.block_until_ready(ours)
    assert len(calls) == 1
    moved = [
        x[None] if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(arguments, axes, strict=True)
    ]
    for i in range(6):
        theirs = arm.forward_dynamics(*(x[i % len(x)] for x in moved))
        np.testing.assert_allclose(ours[i], theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())


def test_memory_is_shared_with_jax(arm, state):
    """The function reads JAX's arrays and fills its result where they are."""
    of, seen = interop.differentiable.inverse_dynamics(arm), []

    def value(*arrays, out):
        seen.append([x.ctypes.data for x in (*arrays, out)])
        return of.value(*arrays, out=out)

    f = interop._function(replace(of, value=value))
    arguments = [jnp.asarray(x) for x in state]
    result = jax.jit(f)(*arguments)
    assert [[x.unsafe_buffer_pointer() for x in (*arguments, result)]] == seen


def test_on_other_devices_arrays_are_copied(arm, state, monkeypatch):
    """The same numbers; a CPU takes the part of the device."""
    monkeypatch.setattr(jax.lax, 'platform_dependent', lambda *x, cpu, default: default(*x))
    f = interop.simulation_step(arm, time_step=H)
    assert 'buffer_callback' not in str(jax.make_jaxpr(f)(*state))
    np.testing.assert_array_equal(f(*state), arm.simulate(*state, steps=1, time_step=H))
    J = jax.jacfwd(lambda tau: f(*(x[0] for x in state[:2]), tau)[1])(state[2][0])
    B = arm.linearize(*(x[0] for x in state), time_step=H, friction='model').B
    np.testing.assert_allclose(J, B[N:], rtol=0, atol=1e-14 * np.abs(B).max())


def test_jacobian_of_a_scan_is_that_of_the_rollout(arm, state):
    step = interop.simulation_step(arm, time_step=H)
    q, qd, tau = state

    def end(tau):
        return jax.lax.scan(lambda x, _: (step(*x, tau), None), (q[0], qd[0]), length=20)[0]

    def reference(tau):
        return np.concatenate(arm.simulate(q[0], qd[0], tau, steps=20, time_step=H))

    ours = np.concatenate(jax.jit(jax.jacfwd(end))(tau[0]))
    backward = np.concatenate(jax.jit(jax.jacrev(end))(tau[0]))
    e = 1e-4
    theirs = [(reference(tau[0] + d) - reference(tau[0] - d)) / (2 * e) for d in e * np.eye(N)]
    np.testing.assert_allclose(ours, np.transpose(theirs), rtol=0, atol=1e-6 * np.abs(ours).max())
    np.testing.assert_allclose(backward, ours, rtol=0, atol=1e-12 * np.abs(ours).max())


def both_modes(f):
    """Return the second derivatives of f, in every order of the two modes."""
    modes = jax.jacfwd, jax.jacrev
    return [outer(inner(f)) for outer in modes for inner in modes]


def test_hessian_of_a_scan_whose_state_passes_through_an_energy(arm, state):
    """x' = x + 0.5 P(x): four Hessians agree with each other, and with the loop without scan."""
    P = interop.potential_energy(arm)

    def body(x, _):
        return x + 0.5 * P(x), None

    def cost(x):
        return jnp.sum(jax.lax.scan(body, x, length=3)[0] ** 2)

    def unrolled(x):
        for _ in range(3):
            x, _ = body(x, None)
        return jnp.sum(x**2)

    q = jnp.asarray(state[0][0])
    theirs = jax.hessian(unrolled)(q)
    assert float(jnp.abs(theirs - 2 * jnp.eye(N)).max()) > 0.1
    for second in both_modes(cost):
        np.testing.assert_allclose(
            jax.jit(second)(q), theirs, rtol=0, atol=1e-12 * float(jnp.abs(theirs).max())
        )


def test_hessian_of_a_scan_of_steps_raises_our_error(arm, state):
    step = interop.simulation_step(arm, time_step=H)
    q, qd, tau = (jnp.asarray(x[0]) for x in state)

    def cost(tau):
        return jax.lax.scan(lambda x, _: (step(*x, tau), None), (q, qd), length=3)[0][0].sum()

    for second in both_modes(cost):
        with pytest.raises(ValueError, match=r'simulation_step.*no second deriv.*Gauss-Newton'):
            second(tau)


def test_without_jit_the_numbers_are_the_same(arm, state):
    f = interop.inverse_dynamics(arm)
    with jax.disable_jit():
        np.testing.assert_array_equal(f(*state), arm.inverse_dynamics(*state))


SLOW = 'forward_kinematics', 'kinetic_energy'


@pytest.mark.parametrize(
    'name', [pytest.param(k, marks=[pytest.mark.slow] * (k in SLOW)) for k in OF_STATE]
)
def test_functions_of_the_state(arm, state, name):
    """Values, shapes, derivatives, forms of the call, in a batch and for one state."""
    vectors, order = OF_STATE[name]
    frame = (arm.model.frame_names[-1],) if name in AT_FRAME else ()
    f = getattr(interop, name)(arm, *frame)
    for arguments in (state[:vectors], [x[0] for x in state[:vectors]]):
        ours, theirs = jax.jit(f)(*arguments), getattr(arm, name)(*arguments, *frame)
        assert jax.tree.structure(ours).num_leaves == (3 if name == 'terms' else 1)
        pairs = zip(ours, theirs, strict=True) if name == 'terms' else [(ours, theirs)]
        for a, b in pairs:
            assert isinstance(a, jax.Array)
            assert a.shape == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-13 * np.abs(b).max())
    for one, batch in zip(
        jax.tree.leaves(jax.vmap(f)(*state[:vectors])),
        jax.tree.leaves(f(*state[:vectors])),
        strict=True,
    ):
        np.testing.assert_array_equal(one, batch)
    arguments = [jnp.asarray(x) for x in state[:vectors]]
    arguments[-1] = arguments[-1][0]  # with another shape than the batch, where there are two
    check_grads(f, arguments, order=order, atol=1e-6, rtol=1e-6, eps=1e-5)


def test_the_terms_are_named(arm, state):
    found = interop.terms(arm)(*state[:2])
    np.testing.assert_array_equal(found.C, arm.coriolis_matrix(*state[:2]))


def test_energies_and_torques_belong_together(arm, state):
    """g = dP/dq;  M = d2K/dqd2;  C qd = dM/dt qd - dK/dq, dM/dt by jvp."""
    q, qd, _ = (jnp.asarray(x[0]) for x in state)
    M, C, g = interop.terms(arm)(q, qd)
    K, inertia = interop.kinetic_energy(arm), interop.mass_matrix(arm)
    close = {'rtol': 0, 'atol': 1e-12 * float(jnp.abs(M).max())}
    np.testing.assert_allclose(jax.grad(interop.potential_energy(arm))(q), g, **close)
    np.testing.assert_allclose(jax.hessian(K, 1)(q, qd), M, **close)
    Md = jax.jvp(inertia, (q,), (qd,))[1]
    np.testing.assert_allclose(C @ qd, Md @ qd - jax.grad(K)(q, qd), **close)
    # d2K/dq2 is symmetric, also under jit
    H = jax.jit(jax.hessian(K))(q, qd)
    np.testing.assert_allclose(H, H.T, **close)


def test_second_derivatives_that_are_missing_raise(arm, link, state):
    """The error names the function, and Gauss and Newton's way."""
    q, qd, qdd = (x[0] for x in state)
    pose = interop.forward_kinematics(arm, link)
    gradient = jax.grad(interop.potential_energy(arm))
    loaded = interop.kinetic_energy(arm, payload=link)
    for name, order, f, rest in (
        ('inverse_dynamics', 'second', interop.inverse_dynamics(arm), (qd, qdd)),
        ('mass_matrix', 'second', interop.mass_matrix(arm), ()),
        ('jacobian', 'second', interop.jacobian(arm, link), ()),
        ('gravity_torque', 'second', interop.gravity_torque(arm), ()),
        ('kinetic_energy', 'second', loaded, (qd, parameters())),
        ('forward_kinematics', 'third', jax.jacrev(pose), ()),
        ('potential_energy', 'third', gradient, ()),
    ):
        message = rf'^{name}\(q.*no {order} derivatives.*Gauss-Newton'

        def total(q, f=f, rest=rest):
            return f(q, *rest).sum()

        for second in (jax.hessian(total), jax.jit(jax.jacrev(jax.grad(total)))):
            with pytest.raises(ValueError, match=message):
                second(q)


@pytest.mark.parametrize('jit', [jax.jit, lambda f: f])
def test_a_rollout_that_diverges_says_so(arm, state, jit):
    q, qd, tau = (jnp.asarray(x[0]) for x in state)
    step = interop.simulation_step(arm, time_step=0.2)

    def end(tau):
        return jax.lax.scan(lambda x, _: (step(*x, tau), None), (q, qd), length=80)[0][0].sum()

    for function in (jit(end), jit(jax.grad(end))):
        # JAX raises one or the other for an error in a callback.
        with pytest.raises((ValueError, RuntimeError), match='simulation_step: the motion diver'):
            jax.block_until_ready(function(1e3 * tau))


def test_large_batch(arm):
    q = np.random.default_rng(6).uniform(-1, 1, (100_000, N))
    ours = jax.jit(interop.inverse_dynamics(arm))(q, q, q)
    np.testing.assert_array_equal(ours, arm.inverse_dynamics(q, q, q))


def test_other_types_and_shapes_are_named(arm, state):
    f = interop.inverse_dynamics(arm)
    q, qd, qdd = state
    with pytest.raises(TypeError, match=r'qd has dtype float32, expected float64.*astype'):
        f(q, qd.astype(np.float32), qdd)
    with pytest.raises(ShapeError, match=rf'qdd has shape \(5, 2\), expected \(\.\.\., {N}\)'):
        f(q, qd, qdd[:, :2])
    with pytest.raises(TypeError, match='got 2 arguments, expected q, qd, qdd'):
        f(q, qd)
    with pytest.raises(ValueError, match='rk4'):
        interop.simulation_step(arm, time_step=H, integrator='rk4', payload='tool')
    with pytest.raises(ValueError, match='friction'):
        interop.forward_dynamics(arm, friction='some')
    with pytest.raises(rd.FrameNotFound):
        interop.inverse_dynamics(arm, payload='tool')


def test_float64_off_is_an_error_that_says_what_to_set(arm, state):
    f = interop.inverse_dynamics(arm)
    jax.config.update('jax_enable_x64', False)
    with pytest.raises(TypeError, match='jax_enable_x64'):
        f(*state)
    # This is for one thread alone; callbacks may run in another.
    with enable_x64(True), pytest.raises(TypeError, match='jax_enable_x64'):
        interop.inverse_dynamics(arm)


def test_package_does_not_need_jax():
    code = 'import sys, robot_dynamics, robot_dynamics.cli; assert "jax" not in sys.modules'
    subprocess.run([sys.executable, '-c', code], check=True, env=os.environ, timeout=60)
