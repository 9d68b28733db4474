# SPDX-License-Identifier: Apache-2.0
"""Robots of many joints: loop code generation and branch vectorization against Pinocchio."""

from dataclasses import replace

import numpy as np
import pytest
from pin_model import PinRobot
from tiers import slow, soak

from robot_dynamics.codegen.backends import machine_code
from robot_dynamics.codegen.calls import recipe
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.coordinates import with_coordinates
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.core.rollout import MOST_COUPLED

EPS = np.finfo(float).eps
METHODS = {
    'inverse_dynamics': 3,
    'mass_matrix': 1,
    'coriolis_matrix': 2,
    'gravity_torque': 1,
    'gravity_torque_derivative': 1,
    'terms': 2,
    'inverse_dynamics_derivatives': 3,
    'forward_dynamics': 3,
    'forward_dynamics_derivatives': 3,
}


def model(n, **options):
    rng = np.random.default_rng(n)
    return random_tree(n, rng, **options).with_actuation(
        gear_ratio=10.0, rotor_inertia=rng.uniform(0, 0.05, n), viscous=0.1, coulomb=0.2
    )


def on_legs(legs, joints, prismatic):
    """Return a trunk with legs, each of its own sizes."""
    parents = [-1]
    for _ in range(legs):
        parents += [0, *range(len(parents), len(parents) + joints - 1)]
    return replace(
        model(len(parents), branching=0.0, prismatic=prismatic), parent=np.array(parents)
    )


MODELS = {
    'chain100': lambda: model(100, branching=0.0, prismatic=0.0),
    'chain50': lambda: model(50, branching=0.0, prismatic=0.3),
    'tree40': lambda: model(40, branching=0.2, prismatic=0.3),
    'tree60': lambda: model(60, branching=0.1, prismatic=0.2),
    'legs': lambda: on_legs(4, 6, 0.1),
}


@pytest.fixture(autouse=True, scope='module')
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROBOT_DYNAMICS_CACHE_DIR', str(tmp_path_factory.mktemp('compiled')))
        yield


# Loops and vectors of branches; trees in loops: test_many_joints_may_follow_others.
@pytest.fixture(
    scope='module', params=['chain50', *slow(['legs']), *soak(['chain100', 'tree40', 'tree60'])]
)
def arm(request):
    return Dynamics(MODELS[request.param]())


def state(arm, *leading):
    return np.random.default_rng(3).uniform(-1, 1, (3, *leading, arm.model.n))


def several(result):
    return result if isinstance(result, tuple) else (result,)


def assert_agrees(ours, theirs, tolerance=1e-12):
    assert np.abs(ours - theirs).max() <= tolerance * np.abs(theirs).max()


def assert_same_as_pinocchio(arm, model):
    pin, (q, qd, x) = PinRobot(model), state(arm)
    M, C, g = arm.terms(q, qd)
    for inertia in (M, arm.mass_matrix(q)):
        assert_agrees(inertia, pin.mass_matrix(q))
    for coriolis in (C, arm.coriolis_matrix(q, qd)):
        assert_agrees(coriolis, pin.coriolis_matrix(q, qd))
    for gravity in (g, arm.gravity_torque(q)):
        assert_agrees(gravity, pin.gravity_torque(q))
    assert_agrees(arm.inverse_dynamics(q, qd, x), pin.inverse_dynamics(q, qd, x))
    at_rest = np.zeros(model.n)
    assert_agrees(arm.gravity_torque_derivative(q), pin.derivatives(q, at_rest, at_rest)[0])
    dq, dqd = pin.derivatives(q, qd, x)
    ours = arm.inverse_dynamics_derivatives(q, qd, x)
    for result, reference in zip(ours, (dq, dqd, pin.mass_matrix(q)), strict=True):
        assert_agrees(result, reference)
    condition = max(1.0, np.linalg.cond(M) / 1e4)
    # M dqdd = -dID, at the accelerations under the torques x.
    by_q, by_qd, inverse = arm.forward_dynamics_derivatives(q, qd, x)
    dq, dqd = pin.derivatives(q, qd, pin.forward_dynamics(q, qd, x))
    for found, dID in ((by_q, dq), (by_qd, dqd), (inverse, -np.eye(model.n))):
        wanted = -np.linalg.solve(pin.mass_matrix(q), dID)
        assert_agrees(found, wanted, 1e-9 * condition)
    np.testing.assert_array_equal(inverse, inverse.T)
    assert_agrees(
        arm.forward_dynamics(q, qd, x), pin.forward_dynamics(q, qd, x), 1e-10 * condition
    )


def test_every_function_agrees_with_pinocchio(arm):
    assert_same_as_pinocchio(arm, arm.model)


@pytest.mark.slow
def test_gravity_and_a_payload_can_be_given_at_run_time(arm):
    link = arm.model.body_names[arm.model.nb // 2]
    load = 1.5, [0.1, -0.2, 0.3], np.diag([0.01, 0.02, 0.02])
    varied = arm.with_gravity([1.0, 2.0, -3.0]).with_payload(link, *load)
    assert_same_as_pinocchio(
        varied, arm.model.with_gravity([1.0, 2.0, -3.0]).with_payload(link, *load)
    )


@pytest.mark.parametrize('method', METHODS)
def test_batches_have_the_bits_of_single_calls_on_any_number_of_threads(arm, method, monkeypatch):
    call, arguments = getattr(arm, method), state(arm, 19)[: METHODS[method]]
    alone = [several(call(*each)) for each in zip(*arguments, strict=True)]
    monkeypatch.setattr('robot_dynamics.codegen.calls.threads.SMALLEST_PART', 1)
    for threads in ('1', '3'):
        monkeypatch.setenv('ROBOT_DYNAMICS_THREADS', threads)
        for k, result in enumerate(several(call(*arguments))):
            np.testing.assert_array_equal(result, np.stack([each[k] for each in alone]))


@pytest.mark.parametrize('method', METHODS)
def test_out_is_filled(arm, method):
    arguments = state(arm)[: METHODS[method]]
    call = getattr(arm, method)
    expected = call(*arguments)
    out = tuple(np.full_like(array, np.nan) for array in several(expected))
    call(*arguments, out=out if isinstance(expected, tuple) else out[0])
    for array, reference in zip(out, several(expected), strict=True):
        np.testing.assert_array_equal(array, reference)


@pytest.mark.slow
def test_without_a_compiler_results_agree(arm):
    slow, (q, qd, x) = Dynamics(arm.model, backend='python'), state(arm)
    for method, count in METHODS.items():
        results = getattr(slow, method)(*(q, qd, x)[:count])
        expected = getattr(arm, method)(*(q, qd, x)[:count])
        tolerance = 1e-10 if method.startswith('forward_dynamics') else 1e-12
        for result, reference in zip(several(results), several(expected), strict=True):
            assert_agrees(result, reference, tolerance)


@pytest.mark.slow
@pytest.mark.parametrize(
    ('arm', 'integrator'),
    [
        ('chain50', 'rk4'),
        ('legs', 'semi_implicit_euler'),
        *(
            pytest.param(name, integrator, marks=pytest.mark.soak)
            for name in MODELS
            for integrator in ('semi_implicit_euler', 'rk4')
            if (name, integrator) not in (('chain50', 'rk4'), ('legs', 'semi_implicit_euler'))
        ),
    ],
    indirect=['arm'],
)
def test_a_simulation_takes_steps_of_the_same_accelerations(arm, integrator):
    q, qd, tau = state(arm)
    if arm.model.n > MOST_COUPLED and arm.model.coulomb.any():
        # Dry friction couples all joints in one equation.
        with pytest.raises(ValueError, match=f'has {arm.model.n} joints with dry friction'):
            arm.simulate(q, qd, tau, steps=1)
        arm = arm.without_dry_friction()
    h = 1e-6
    after = arm.simulate(q, qd, tau, steps=1, time_step=h, integrator=integrator)
    free = arm.forward_dynamics(q, qd, tau - arm.friction_torque(qd))
    # The first order in h is that of explicit Euler, which leaves errors of the second.
    assert_agrees((after.qd - qd) / h, free, 1e-3)
    path = arm.rollout(q, qd, np.tile(tau, (5, 1)), time_step=h, integrator=integrator)
    together = arm.simulate(
        np.stack([q, -q, q]), qd, tau, steps=5, time_step=h, integrator=integrator
    )
    np.testing.assert_array_equal(together.q[0], path.q[-1])
    np.testing.assert_array_equal(together.qd[2], path.qd[-1])


@pytest.mark.soak
def test_many_joints_may_follow_others():
    n, rng = 40, np.random.default_rng(0)
    S = np.eye(n)[:, :37]
    for row, column in ((37, 5), (38, 20), (39, 36)):
        S[row, column] = rng.uniform(0.5, 2.0)
    tree = random_tree(n, rng, branching=0.1, prismatic=0.2)
    follower = with_coordinates(tree, S, rng.uniform(-1, 1, n))
    assert_same_as_pinocchio(Dynamics(follower), follower)
    # Rotors turn with coordinates.
    geared = replace(follower, reflected_inertia=np.full(37, 0.1))
    arm, pin = Dynamics(geared), PinRobot(geared)
    q, qd, x = state(arm)
    assert_agrees(arm.inverse_dynamics(q, qd, x), pin.inverse_dynamics(q, qd, x))
    assert_agrees(arm.coriolis_matrix(q, qd), pin.coriolis_matrix(q, qd))


@pytest.mark.skipif(machine_code.why_not() is not None, reason='no machine code here')
def test_legs_are_vectorized():
    arm = Dynamics(on_legs(4, 6, 0.0))
    q, qd, x = state(arm)
    arm.inverse_dynamics(q, qd, x)
    arm.forward_dynamics(q, qd, x)
    for made in arm.programs.made.values():
        chosen = made.kernels.recipe.program
        lanes = [len(node) - 1 for node in chosen.nodes if node[0] == 'pack']
        assert max(lanes) == 4


def test_nothing_is_recorded_when_the_cache_has_it(monkeypatch):
    model = MODELS['chain50']()
    q = state(Dynamics(model))[0]
    expected = Dynamics(model).mass_matrix(q)
    if machine_code.why_not():
        pytest.skip(machine_code.why_not())
    for recorder in ('_straight', '_vectorized', '_loops'):
        monkeypatch.setattr(recipe.Recipe, recorder, lambda *_: pytest.fail('recorded again'))
    np.testing.assert_array_equal(Dynamics(model).mass_matrix(q), expected)
