# SPDX-License-Identifier: Apache-2.0
"""Batches of arms: agreement with single arms, bit for bit, on threads and processes."""

import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest

from robot_dynamics.codegen.calls import threads
from robot_dynamics.common.errors import FrameNotFound, ModelError, ShapeError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.inertia import to_parameters
from robot_dynamics.core.model.robots import planar_2r, random_inertial, random_tree
from robot_dynamics.simulation import FrictionSettings, JointModels, Simulator
from robot_dynamics.simulation.ensembles.batch import PerStep, simulate_batch
from robot_dynamics.simulation.ensembles.perturbations import Perturbations, payload_parameters

N, ARMS, STEPS = 4, 13, 30


@pytest.fixture(scope='module')
def arm():
    model = random_tree(N, np.random.default_rng(3))
    return Dynamics(model.with_actuation(viscous=0.3, coulomb=[0.1, 0.2, 0.0, 0.4]))


@pytest.fixture(scope='module')
def start():
    return np.random.default_rng(0).uniform(-1, 1, (2, ARMS, N))


@pytest.fixture(scope='module')
def perturbations(arm):
    rng = np.random.default_rng(1)
    loads = [to_parameters(random_inertial(rng)) for _ in range(ARMS)]
    viscous, coulomb = rng.uniform(0, 1, (2, ARMS, N))
    return Perturbations(arm.model.link_names[-1], loads, viscous, coulomb)


def law(t, q, qd):
    """A torque that depends on time, position and velocity."""
    return 3.0 * np.cos(40.0 * t) - 2.0 * q - 0.5 * qd


def assert_same(run, other):
    # In machine code the same bits; the math module and NumPy may differ in the last.
    tolerance = 1e-12 if machine_code_is_missing() else 0.0
    for result, reference in zip(run, other, strict=True):
        np.testing.assert_allclose(result, reference, rtol=tolerance, atol=tolerance)


def machine_code_is_missing():
    program = Dynamics(planar_2r()).simulation_step('semi_implicit_euler')
    return program.backend == 'python'


# -- agreement with single arms -------------------------------------------------------------------


@pytest.mark.parametrize('backend', ['auto', 'python'])
@pytest.mark.parametrize('integrator', ['semi_implicit_euler', 'rk4'])
def test_a_perturbed_arm_moves_as_an_arm_with_its_parameters(arm, start, backend, integrator):
    rng = np.random.default_rng(2)
    bodies = [random_inertial(rng) for _ in range(ARMS)]
    viscous, coulomb = rng.uniform(0, 0.3, (2, ARMS, N))
    link = arm.model.link_names[-1]
    tau = rng.normal(size=(ARMS, N))
    run = simulate_batch(
        Dynamics(arm.model, backend=backend),
        *start,
        tau,
        steps=STEPS,
        integrator=integrator,
        perturbations=Perturbations(link, [to_parameters(b) for b in bodies], viscous, coulomb),
    )
    assert run.q.shape == run.qd.shape == (ARMS, 2, N)
    for i in range(0, ARMS, 5):
        body = bodies[i]
        model = arm.model.with_payload(link, body.mass, body.com, body.inertia_com)
        alone = Dynamics(model.with_actuation(viscous=viscous[i], coulomb=coulomb[i]))
        motion = alone.simulate(
            start[0, i], start[1, i], tau[i], steps=STEPS, integrator=integrator
        )
        np.testing.assert_allclose(run.q[i, -1], motion.q, rtol=0, atol=1e-11)
        np.testing.assert_allclose(run.qd[i, -1], motion.qd, rtol=0, atol=1e-9)


def test_unperturbed_parameters_are_those_of_the_model(arm, start):
    tau = np.zeros(N)
    expected = arm.simulate(*start, tau, steps=STEPS)
    run = simulate_batch(arm, *start, tau, steps=STEPS)
    np.testing.assert_array_equal(run.q[:, -1], expected.q)
    np.testing.assert_array_equal(run.q[:, 0], start[0])
    link = arm.model.link_names[-1]
    for same in (
        Perturbations(viscous=arm.model.viscous),
        Perturbations(coulomb=np.tile(arm.model.coulomb, (ARMS, 1))),
        Perturbations(link, payload_parameters(0.0)),
    ):
        run = simulate_batch(arm, *start, tau, steps=STEPS, perturbations=same)
        np.testing.assert_allclose(run.qd[:, -1], expected.qd, rtol=0, atol=1e-11)


def test_arms_of_a_batch_are_independent(arm, start, perturbations):
    options = {'steps': STEPS, 'record_every': 7}
    together = simulate_batch(arm, *start, law, perturbations=perturbations, **options)
    for i in (0, 6, 12):
        own = perturbations.part(i, i + 1)
        alone = simulate_batch(arm, start[0, i], start[1, i], law, perturbations=own, **options)
        assert_same((alone.q[0], alone.qd[0]), (together.q[i], together.qd[i]))


def test_an_arm_that_diverges_does_not_affect_others(arm, start):
    good = simulate_batch(arm, *start, np.zeros(N), steps=STEPS)
    assert not good.diverged.any()
    qd = start[1].copy()
    qd[4] = 1e200
    run = simulate_batch(arm, start[0], qd, np.zeros(N), steps=STEPS)
    np.testing.assert_array_equal(run.diverged, np.arange(ARMS) == 4)
    others = ~run.diverged
    np.testing.assert_array_equal(run.q[others], good.q[others])


# -- torques ------------------------------------------------------------------------------------


@pytest.mark.parametrize('own', [False, True])
def test_torques_step_by_step_are_those_of_a_rollout(arm, start, own):
    tau = np.random.default_rng(4).normal(size=(ARMS, STEPS, N) if own else (STEPS, N))
    run = simulate_batch(arm, *start, PerStep(tau), steps=STEPS, record_every=1)
    for i in (0, 5, 12):
        path = arm.rollout(start[0, i], start[1, i], tau[i] if own else tau)
        assert_same((run.q[i], run.qd[i]), path)


@pytest.mark.parametrize('every', [1, 4])
def test_a_law_is_evaluated_once_per_period(arm, start, every):
    asked = []

    def recording_law(t, q, qd):
        asked.append(t)
        return law(t, q, qd)

    run = simulate_batch(
        arm, *start, recording_law, steps=10, time_step=2e-3, control_every=every, record_every=5
    )
    np.testing.assert_allclose(asked, 2e-3 * np.arange(0, 10, every))
    q, qd = start
    for k in range(10):
        if k % every == 0:
            tau = law(2e-3 * k, q, qd)
        q, qd = arm.simulate(q, qd, tau, steps=1, time_step=2e-3)
        if k == 4:
            np.testing.assert_array_equal(run.q[:, 1], q)
    np.testing.assert_array_equal(run.qd[:, -1], qd)
    np.testing.assert_allclose(run.t, [0.0, 0.01, 0.02])


def test_torques_are_clamped_to_the_limits():
    model = replace(planar_2r(), effort_limit=np.array([2.0, 1.0]))
    arm, q = Dynamics(model), np.zeros((3, 2))
    expected = arm.simulate(q, q, [2.0, -1.0], steps=5)
    for torques in (
        [50.0, -50.0],
        PerStep(np.tile([50.0, -50.0], (5, 1))),
        lambda t, q, qd: [50.0, -50.0],
    ):
        run = simulate_batch(arm, q, q, torques, steps=5)
        np.testing.assert_array_equal(run.q[:, -1], expected.q)


# -- threads and processes ------------------------------------------------------------------------


@pytest.mark.parametrize('torques', ['law', 'per step', 'constant'])
def test_batches_threads_and_single_arms_give_the_same_bits(
    arm, start, perturbations, torques, monkeypatch
):
    rng = np.random.default_rng(5)
    given = {
        'law': law,
        'per step': PerStep(rng.normal(size=(ARMS, STEPS, N))),
        'constant': rng.normal(size=(ARMS, N)),
    }[torques]
    options = {'steps': STEPS, 'record_every': 10, 'perturbations': perturbations}
    here = simulate_batch(arm, *start, given, **options)
    assert not here.diverged.any()
    monkeypatch.setattr(threads, 'SMALLEST_PART', 1)
    assert_same(simulate_batch(arm, *start, given, **options), here)
    with ThreadPoolExecutor(2) as pool:
        for tasks in (1, 3, 100):
            run = simulate_batch(arm, *start, given, executor=pool, tasks=tasks, **options)
            assert_same(run, here)


@pytest.mark.slow
def test_other_processes_give_the_same_bits(arm, start, perturbations):
    options = {'steps': STEPS, 'record_every': 10, 'perturbations': perturbations}
    # Python functions pickle by name, and other processes do not import this test.
    here = simulate_batch(arm, *start, np.ones(N), **options)
    with ProcessPoolExecutor(2, mp_context=get_context('spawn')) as pool:
        there = simulate_batch(arm, *start, np.ones(N), executor=pool, tasks=2, **options)
    assert_same(there, here)


@pytest.mark.parametrize('in_processes', [False, True])
def test_progress_is_reported_to_the_end(arm, start, in_processes):
    calls = []
    with ThreadPoolExecutor(1) as pool:
        simulate_batch(
            arm,
            *start,
            np.zeros(N),
            steps=500,
            progress=lambda done, total: calls.append((done, total)),
            executor=pool if in_processes else None,
            tasks=3,
        )
    done, totals = zip(*calls, strict=True)
    assert len(done) > 2
    assert list(done) == sorted(done)
    assert done[-1] == 500
    assert set(totals) == {500}


@pytest.mark.parametrize('fails', [None, 0, 1, 2])
@pytest.mark.parametrize('slow', [0, 1, 2])
def test_every_task_has_ended_and_a_failure_of_any_arrives(arm, slow, fails):
    ended, q = [], np.repeat(np.arange(3.0)[:, None], N, axis=1)

    def law(_, q, qd):
        task = round(q[0, 0])
        if task == slow:
            time.sleep(0.05)
        ended.append(task)
        if task == fails:
            raise ArithmeticError(f'task {task}')
        return 0 * q

    expected = nullcontext() if fails is None else pytest.raises(ArithmeticError, match=f'{fails}')
    with ThreadPoolExecutor(3) as pool:
        with expected:
            run = simulate_batch(arm, q, 0 * q[0], law, steps=1, executor=pool, tasks=3)
            assert_same(run, simulate_batch(arm, q, 0 * q[0], np.zeros(N), steps=1))
        assert sorted(ended) == [0, 1, 2]


def test_zero_steps_and_zero_arms_give_empty_results(arm, start):
    run = simulate_batch(arm, *start, law, steps=0)
    assert run.t.tolist() == [0.0]
    np.testing.assert_array_equal(run.q[:, 0], start[0])
    assert simulate_batch(arm, *start[:, :0], np.zeros(N), steps=3).q.shape == (0, 2, N)


# -- payloads -----------------------------------------------------------------------------------


def test_payload_parameters_are_those_of_a_body():
    rng = np.random.default_rng(6)
    bodies = [random_inertial(rng) for _ in range(5)]
    names = ('mass', 'com', 'inertia_com')
    fields = [np.array([getattr(body, name) for body in bodies]) for name in names]
    expected = [to_parameters(body) for body in bodies]
    np.testing.assert_allclose(payload_parameters(*fields), expected, rtol=1e-14, atol=1e-15)
    point = payload_parameters([1.0, 2.0], [0.0, 0.0, 0.3])
    np.testing.assert_allclose(point[1], [2, 0, 0, 0.6, 0.18, 0, 0, 0.18, 0, 0], atol=1e-15)


# -- rejected input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('options', 'error', 'message'),
    [
        ({'steps': -1}, ValueError, 'steps is -1'),
        ({'time_step': 0.0}, ValueError, 'time_step is 0.0'),
        ({'integrator': 'rk5'}, ValueError, "integrator is 'rk5'"),
        ({'control_every': 0}, ValueError, 'control_every is 0'),
        ({'record_every': 1.5}, ValueError, 'record_every is 1.5'),
        ({'q': np.zeros((ARMS, N + 1))}, ShapeError, 'simulate_batch: q has shape'),
        ({'q': np.zeros((2, 3, N))}, ShapeError, 'arms have shape|do not broadcast'),
        ({'q': np.zeros((ARMS + 1, N))}, ShapeError, 'do not broadcast'),
        ({'torques': np.zeros(N + 1)}, ShapeError, 'simulate_batch: tau has shape'),
        ({'torques': PerStep(np.zeros((4, N)))}, ShapeError, 'tau has shape .*expected'),
        ({'torques': lambda t, q, qd: np.zeros(N + 1)}, ShapeError, 'tau has shape'),
    ],
)
def test_invalid_arguments_are_rejected(arm, start, options, error, message):
    arguments = {'q': start[0], 'qd': start[1], 'torques': np.zeros(N), 'steps': 2} | options
    with pytest.raises(error, match=message):
        simulate_batch(arm, **arguments)


@pytest.mark.parametrize(
    'wrong', [{'viscous': np.inf}, {'coulomb': [0.0, np.nan]}, {'viscous': -1.0}]
)
def test_invalid_friction_is_rejected(wrong):
    with pytest.raises(ModelError, match='has a coefficient that is not finite, or not 0 or more'):
        Perturbations(**wrong)


@pytest.mark.parametrize('wrong', [{'com': [np.nan, 0, 0]}, {'inertia': np.full((3, 3), np.inf)}])
def test_a_payload_that_is_not_finite_is_rejected(wrong):
    with pytest.raises(ModelError, match='of a payload is not finite'):
        payload_parameters(1.0, **wrong)


def test_invalid_perturbations_are_rejected(arm, start):
    link = arm.model.link_names[-1]
    for options, error, message in (
        ({'payload': np.zeros(10)}, ModelError, 'needs a link'),
        ({'viscous': [-1.0] * N}, ModelError, 'viscous has a coefficient that is not'),
        ({'coulomb': np.zeros(N + 1)}, ShapeError, r'coulomb has shape \(5,\)'),
        ({'payload_link': link, 'payload': np.zeros(9)}, ShapeError, 'payload has shape'),
        ({'payload_link': 'x', 'payload': np.zeros(10)}, FrameNotFound, "no frame 'x'"),
        ({'viscous': np.zeros((ARMS + 1, N))}, ShapeError, 'do not broadcast'),
    ):
        with pytest.raises(error, match=message):
            simulate_batch(
                arm, *start, np.zeros(N), steps=1, perturbations=Perturbations(**options)
            )
    with pytest.raises(ModelError, match=r'mass -1.0 kg'):
        payload_parameters([1.0, -1.0])
    massless = Dynamics(planar_2r(masses=(1.0, 0.0), inertias=(0.1, 0.0)))
    with pytest.raises(ModelError, match="joint 'joint2' moves no inertia"):
        simulate_batch(
            massless,
            *np.zeros((2, 2)),
            np.zeros(2),
            steps=1,
            perturbations=Perturbations(viscous=np.zeros(2)),
        )


@pytest.mark.parametrize('law', ['stribeck', 'load_memory'])
def test_a_friction_law_acts_on_each_arm_as_on_a_single_arm(arm, start, law):
    rng = np.random.default_rng(8)
    settings = FrictionSettings(law, coulomb=0.4, presliding=1e-3)
    viscous = rng.uniform(0.1, 0.5, (ARMS, N))
    link = arm.model.link_names[-1]
    payload = payload_parameters(rng.uniform(0.1, 1.0, ARMS), [0.0, 0.1, 0.0])
    tau = rng.normal(size=(ARMS, 60, N))
    options = {'steps': 60, 'friction': settings, 'record_every': 20}
    run = simulate_batch(
        arm, *start, PerStep(tau), perturbations=Perturbations(link, payload, viscous), **options
    )
    for k in (0, ARMS - 1):
        one = simulate_batch(
            arm,
            start[0][k],
            start[1][k],
            PerStep(tau[k]),
            perturbations=Perturbations(link, payload[k], viscous[k]),
            **options,
        )
        assert np.array_equal(one.q[0], run.q[k])
        loaded = arm.with_payload(link, payload[k][0], [0.0, 0.1, 0.0])
        simulator = Simulator(
            loaded,
            q=start[0][k],
            qd=start[1][k],
            integrator='semi_implicit_euler',
            joint_models=JointModels(
                FrictionSettings(law, viscous=viscous[k], coulomb=0.4, presliding=1e-3)
            ),
        )
        for row in tau[k]:
            simulator.step(row)
        assert simulator.q == pytest.approx(run.q[k, -1], abs=1e-9)


def test_friction_none_omits_friction(arm, start):
    options = {'steps': 50, 'record_every': 10}
    run = simulate_batch(arm, *start, np.zeros(N), friction='none', **options)
    same = simulate_batch(arm.without_friction(), *start, np.zeros(N), **options)
    assert np.array_equal(run.q, same.q)
    for coefficient in ('viscous', 'coulomb'):
        with pytest.raises(ValueError, match="friction is 'none', but the perturbations"):
            simulate_batch(
                arm,
                *start,
                np.zeros(N),
                friction='none',
                perturbations=Perturbations(**{coefficient: 1.0}),
                **options,
            )
    with pytest.raises(ValueError, match="friction is 'some'"):
        simulate_batch(arm, *start, np.zeros(N), friction='some', **options)
    with pytest.raises(ValueError, match='with a friction law it must be semi_implicit_euler'):
        simulate_batch(
            arm, *start, np.zeros(N), friction=FrictionSettings(), integrator='rk4', **options
        )
