# SPDX-License-Identifier: Apache-2.0
"""interop.torch: values, derivatives, memory and errors, against `Dynamics` and differences."""

from dataclasses import replace

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.common.errors import ShapeError
from robot_dynamics.core.model.robots import random_tree

torch = pytest.importorskip('torch')

from robot_dynamics.export.interop import torch as interop  # noqa: E402

N, H = 3, 2e-3
PAYLOAD = [0.7, 0.07, -0.14, 0.035, 0.05, 0.01, -0.002, 0.03, 0.004, 0.06]
FUNCTIONS = [
    (interop.inverse_dynamics, {}),
    (interop.forward_dynamics, {}),
    (interop.forward_dynamics, {'friction': 'model'}),
    (interop.simulation_step, {'time_step': H}),
    (interop.simulation_step, {'time_step': H, 'integrator': 'explicit_euler'}),
]
RK4 = (interop.simulation_step, {'time_step': H, 'integrator': 'rk4', 'friction': 'none'})


@pytest.fixture(scope='module')
def arm():
    model = random_tree(N, np.random.default_rng(3))
    return rd.Dynamics(model.with_actuation(viscous=0.3, coulomb=[0.1, 0.2, 0.0]))


@pytest.fixture
def state():
    return [torch.from_numpy(x) for x in np.random.default_rng(4).uniform(-1, 1, (3, 5, N))]


@pytest.mark.parametrize(
    ('function', 'options', 'loaded'),
    [*((*case, loaded) for case in FUNCTIONS for loaded in (False, True)), (*RK4, False)],
)
def test_values_and_gradients(arm, state, function, options, loaded):
    given = {'payload': arm.model.link_names[-1]} if loaded else {}
    arguments = [*state, torch.tensor(PAYLOAD, dtype=torch.float64)] if loaded else state
    arguments[1] = arguments[1][0]  # its gradient is summed over the batch
    f = function(arm, **options, **given)
    leaves = [x.clone().requires_grad_() for x in arguments]
    assert torch.autograd.gradcheck(f, leaves, eps=1e-5, atol=1e-6, rtol=1e-6)
    if not loaded:
        arrays = [x.numpy() for x in arguments]
        if function is interop.simulation_step:
            theirs = arm.simulate(*arrays, steps=1, **options)
        else:
            theirs = (getattr(arm, function.__name__)(*arrays, **options),)
        ours = f(*leaves)
        for a, b in zip(ours if isinstance(ours, tuple) else (ours,), theirs, strict=True):
            np.testing.assert_allclose(a.detach(), b, rtol=0, atol=1e-14 * np.abs(b).max())


@pytest.mark.parametrize(
    ('name', 'vectors', 'order'),
    [
        ('forward_kinematics', 1, 2),
        ('jacobian', 1, 1),
        ('mass_matrix', 1, 1),
        ('gravity_torque', 1, 1),
        ('potential_energy', 1, 2),
        ('kinetic_energy', 2, 2),
        ('terms', 2, 1),
    ],
)
def test_functions_of_the_state(arm, state, name, vectors, order):
    frame = (arm.model.frame_names[-1],) if 'matics' in name or name == 'jacobian' else ()
    f = getattr(interop, name)(arm, *frame)
    for arguments in (state[:vectors], [x[0] for x in state[:vectors]]):
        ours = f(*arguments)
        theirs = getattr(arm, name)(*(x.numpy() for x in arguments), *frame)
        for a, b in zip(ours, theirs, strict=True) if name == 'terms' else [(ours, theirs)]:
            assert a.shape == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-13 * np.abs(b).max())
    leaves = [x.clone() for x in state[:vectors]]
    leaves[-1] = leaves[-1][0]  # with another shape than the batch, where there are two
    leaves = [x.requires_grad_() for x in leaves]
    close = {'eps': 1e-5, 'atol': 1e-6, 'rtol': 1e-6}
    assert torch.autograd.gradcheck(f, leaves, **close)
    if order == 2:
        assert torch.autograd.gradgradcheck(f, leaves, **close)


def test_energies_and_torques_belong_together(arm, state):
    """g = dP/dq;  M = d2K/dqd2."""
    q, qd, _ = (x[0] for x in state)
    M, _, g = interop.terms(arm)(q, qd)
    q.requires_grad_()
    potential, kinetic = interop.potential_energy(arm), interop.kinetic_energy(arm)
    torch.testing.assert_close(torch.autograd.grad(potential(q), q)[0], g, rtol=1e-12, atol=1e-12)
    H = torch.autograd.functional.hessian(lambda qd: kinetic(q.detach(), qd), qd)
    torch.testing.assert_close(H, M, rtol=1e-12, atol=1e-12)


def test_second_derivatives_that_are_missing_raise_also_those_of_sums(arm, state):
    link = arm.model.link_names[-1]
    q, qd, qdd = (x[0] for x in state)
    for name, f, rest in (
        ('inverse_dynamics', interop.inverse_dynamics(arm), (qd, qdd)),
        ('mass_matrix', interop.mass_matrix(arm), ()),
        ('jacobian', interop.jacobian(arm, link), ()),
    ):
        at = q.clone().requires_grad_()
        message = rf'{name}\(q.*no second derivatives.*Gauss-Newton'
        with pytest.raises(RuntimeError, match=message):
            torch.autograd.grad(f(at, *rest).sum(), at, create_graph=True)
        with pytest.raises(RuntimeError, match=message):
            torch.autograd.functional.hessian(lambda q, f=f, rest=rest: f(q, *rest).sum(), q)
        assert torch.autograd.grad(f(at, *rest).sum(), at)[0].shape == q.shape


def test_a_step_that_diverges_says_so(arm, state):
    step = interop.simulation_step(arm, time_step=0.2)
    x, tau = state[:2], 1e3 * state[2]
    free = interop.simulation_step(arm, time_step=0.2, check_finite=False)
    while all(part.isfinite().all() for part in x):
        before, x = x, free(*x, tau)
    with pytest.raises(FloatingPointError, match=r'simulation_step: the motion diverges.* of 5'):
        step(*before, tau)
    assert free(state[0] * torch.nan, *state[1:])[0].isnan().all()


def test_memory_is_shared_with_torch(arm, state):
    """The function reads the tensors where they are, and its result becomes one."""
    of, seen = interop.differentiable.inverse_dynamics(arm), []

    def value(*arrays):
        result = of.value(*arrays)
        seen.append([x.ctypes.data for x in (*arrays, result)])
        return result

    f = interop._function(replace(of, value=value))
    state[0].requires_grad_()
    result = f(*state)
    assert [[x.data_ptr() for x in (*state, result)]] == seen


def test_results_keep_their_memory(arm, state):
    f = interop.inverse_dynamics(arm)
    kept = [f(x, state[1], state[2]) for x in state]
    copies = [x.clone() for x in kept]
    for _ in range(100):
        f(*(2.0 * x for x in state))
    assert all(map(torch.equal, kept, copies))


def test_a_tensor_changed_in_place_is_an_error(arm, state):
    q, qd, qdd = state
    q.requires_grad_()
    torque = interop.inverse_dynamics(arm)(q, qd, qdd)
    qd += 1.0
    with pytest.raises(RuntimeError, match='modified by an inplace operation'):
        torque.sum().backward()


def test_other_types_and_shapes_are_named(arm, state):
    f = interop.inverse_dynamics(arm)
    q, qd, qdd = state
    with pytest.raises(TypeError, match=r'qd is torch.float32 on cpu, expected torch.float64'):
        f(q, qd.float(), qdd)
    with pytest.raises(ShapeError, match='qdd'):
        f(q, qd, qdd[:, :2])
    with pytest.raises(TypeError, match='got 2 arguments, expected q, qd, qdd'):
        f(q, qd)
