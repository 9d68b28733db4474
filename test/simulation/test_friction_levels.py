# SPDX-License-Identifier: Apache-2.0
"""Dry friction of every integrator: at most its level, and the motion that belongs to it."""

import functools

import numpy as np
import pytest
from tiers import soak

import robot_dynamics as rd
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coulomb import COULOMB_SPEED
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.simulation import FrictionSettings, JointModels, Simulator, simulate_batch
from robot_dynamics.simulation.joint_models.friction_step import friction_step, step_inputs
from robot_dynamics.simulation.steps.integrators import INTEGRATORS

H, WRIST = 1e-3, 6
Q = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.5])
COMPILED = ('semi_implicit_euler', 'rk4', 'explicit_euler')


@pytest.fixture(scope='module')
def arm():
    return Dynamics(rd.load_urdf('panda'))


def pushed(arm, torque):
    """Return the torques that hold the arm at Q and push the last joint."""
    tau = arm.gravity_torque(Q)
    tau[WRIST] += torque
    return tau


def speeds_of_simulator(arm, integrator, tau, steps, friction='smooth'):
    simulator = Simulator(
        arm, q=Q, time_step=H, integrator=integrator, joint_models=JointModels(friction=friction)
    )
    for _ in range(steps):
        simulator.step(tau)
    return simulator.qd


def fine(arm, tau):
    """Return the velocities after 5 ms, by steps of a microsecond."""
    return arm.simulate(Q, 0 * Q, tau, steps=5000, time_step=1e-6).qd


@pytest.mark.parametrize('torque', [0.4, -0.4, 1.0, 5.0, 12.0, -12.0])
def test_a_joint_pushed_from_rest_is_as_fast_as_its_friction_allows(arm, torque):
    tau = pushed(arm, torque)
    expected = fine(arm, tau)[WRIST]
    for integrator in COMPILED:
        end = arm.simulate(Q, 0 * Q, tau, steps=5, time_step=H, integrator=integrator)
        assert end.qd[WRIST] == pytest.approx(expected, rel=0.05)
    batch = simulate_batch(arm, Q, 0 * Q, np.array([tau, tau]), steps=5, time_step=H)
    np.testing.assert_allclose(batch.qd[:, -1, WRIST], expected, rtol=0.05)
    for integrator in INTEGRATORS:
        assert speeds_of_simulator(arm, integrator, tau, 5)[WRIST] == pytest.approx(
            expected, rel=0.05
        )


@pytest.mark.parametrize('law', ['coulomb', 'load'])
def test_laws_of_friction_push_no_less_than_the_model(arm, law):
    for torque in (1.0, -12.0):
        tau = pushed(arm, torque)
        ends = [
            speeds_of_simulator(arm, name, tau, 5, FrictionSettings(law))[WRIST]
            for name in INTEGRATORS
        ]
        np.testing.assert_allclose(ends, fine(arm, tau)[WRIST], rtol=0.05)


@pytest.mark.parametrize('mirror', [1.0, -1.0])
def test_compiled_friction_is_the_law_at_the_velocities_of_the_end(arm, mirror):
    rng = np.random.default_rng(0)
    model, n = arm.model, arm.model.n
    q = rng.uniform(model.lower, model.upper, (300, n))
    qd = rng.normal(size=q.shape) * 10.0 ** rng.uniform(-4, 0.3, q.shape)
    qd[rng.random(q.shape) < 0.3] = 0.0
    for pushing in (1.0, 30.0):
        friction = pushing * model.coulomb * rng.uniform(-2, 2, q.shape)
        tau = arm.gravity_torque(q) + mirror * friction
        after = arm.simulate(q, mirror * qd, tau, steps=1, time_step=H)
        # p = h (tau - C qd - g) - M (v' - v) - h F_v v'
        p = H * (tau - arm.bias_torque(q, mirror * qd))
        p -= np.einsum('kij,kj->ki', arm.mass_matrix(q), after.qd - mirror * qd)
        p -= H * model.viscous * after.qd
        exerted = p / (H * model.coulomb)
        assert abs(exerted).max() <= 1.0 + 1e-9
        np.testing.assert_allclose(exerted, np.tanh(after.qd / COULOMB_SPEED), atol=1e-6)


@pytest.mark.parametrize('presliding', [5e-4, 5e-3])
@pytest.mark.parametrize('mirror', [1.0, -1.0])
def test_compiled_friction_with_memory_is_its_equation_at_the_velocities_of_the_end(
    arm, mirror, presliding
):
    rng = np.random.default_rng(0)
    model, n = arm.model, arm.model.n
    friction = FrictionSettings('coulomb_memory', presliding=presliding).of(model)
    q = rng.uniform(model.lower, model.upper, (300, n))
    qd = mirror * rng.normal(size=q.shape) * 10.0 ** rng.uniform(-4, 0.3, q.shape)
    qd[rng.random(q.shape) < 0.3] = 0.0
    z = mirror * rng.uniform(-1, 1, q.shape)
    tau = arm.gravity_torque(q) + mirror * model.coulomb * rng.uniform(-2, 2, q.shape)
    after = friction_step(arm, memory=True)(
        q=q, qd=qd, z=z, lost=0 * z, tau=tau, time_step=[H], **step_inputs(friction)
    )
    p = H * (tau - arm.bias_torque(q, qd) - model.viscous * after.qd)
    p -= np.einsum('kij,kj->ki', arm.mass_matrix(q), after.qd - qd)
    exerted, end = p / (H * model.coulomb), np.sign(after.qd)
    # z = sgn v' + (z_0 - sgn v') exp(-h |v'| / delta)
    expected = end + (z - end) * np.exp(-H * np.abs(after.qd) / presliding)
    np.testing.assert_allclose(exerted, expected, atol=1e-6)
    assert abs(exerted).max() <= 1.0 + 1e-9


@pytest.mark.parametrize(
    ('name', 'order'), [('rk4', 4), ('implicit_midpoint', 2), ('semi_implicit_euler', 1)]
)
@pytest.mark.parametrize('friction', [{'viscous': 2.0}, {'viscous': 0.5, 'coulomb': [0.8, 0.3]}])
@pytest.mark.parametrize('law', ['model', 'coulomb', 'stribeck'])
@pytest.mark.parametrize('side', [1.0, -1.0])
def test_viscous_friction_and_sliding_keep_the_order(name, order, friction, law, side):
    arm, joint_models = Dynamics(planar_2r().with_actuation(**friction)), JointModels()
    if law != 'model':
        joint_models = JointModels(FrictionSettings(law))
    q, qd, tau = side * np.array([[0.3, -0.4], [4.0, 3.0], [9.0, 3.0]])

    def end(h):
        simulator = Simulator(
            arm, q=q, qd=qd, time_step=h, integrator=name, joint_models=joint_models
        )
        for _ in range(round(0.064 / h)):
            simulator.step(tau)
        assert (abs(simulator.qd) > 10 * COULOMB_SPEED).all()
        return np.concatenate([simulator.q, simulator.qd])

    coarse, middle, best = end(4e-3), end(2e-3), end(2.5e-4)
    ratio = np.linalg.norm(coarse - best) / np.linalg.norm(middle - best)
    assert np.log2(ratio) == pytest.approx(order, abs=0.35)


def mean_friction(free, q, qd, tau, integrator, end):
    """Return the constant torque that leads an arm without friction to the velocities `end`."""
    simulator = Simulator(free, q=q, qd=qd, time_step=H, integrator=integrator)
    M, f = free.mass_matrix(q), 0.0 * q
    for _ in range(20):
        simulator.reset(q, qd)
        simulator.step(0.0 * q, external=tau - f)
        f = f + M @ (simulator.qd - end) / H
    np.testing.assert_allclose(simulator.qd, end, rtol=1e-9, atol=1e-11)
    return f


def one_step(arm, law, integrator):
    """Return a function of q, qd and tau: the velocities after a step under a friction law."""
    if law == 'compiled':
        return lambda *state: arm.simulate(*state, steps=1, time_step=H, integrator=integrator).qd
    friction = FrictionSettings(law) if law == 'coulomb' else law
    joint_models = JointModels(friction=friction)
    simulator = Simulator(arm, time_step=H, integrator=integrator, joint_models=joint_models)

    def end(q, qd, tau):
        simulator.reset(q, qd)
        simulator.step(tau)
        return simulator.qd

    return end


@functools.cache
def rubbing(viscous, coulomb):
    """Return a panda with some friction."""
    model = rd.load_urdf('panda')
    given = viscous * np.array([0.5, 0.5, 0.3, 0.3, 0.2, 0.1, 0.05]), coulomb * model.coulomb
    return Dynamics(model.with_actuation(viscous=given[0], coulomb=given[1]))


# Compiled steps evaluate viscous friction at given velocities unless they are semi-implicit.
FRICTION = [(0, 1), (1, 0), (30, 1)]
STEPS = [(*case, law) for case in FRICTION for law in ('smooth', 'stick_slip', 'coulomb')]


@pytest.mark.parametrize('side', [1.0, *soak([-1.0])])
@pytest.mark.parametrize(
    ('viscous', 'coulomb', 'law', 'integrator'),
    [(*step, name) for step in STEPS for name in INTEGRATORS]
    + [(*case, 'compiled', name) for case in FRICTION[:2] for name in COMPILED]
    + [(*FRICTION[2], 'compiled', 'semi_implicit_euler')],
)
def test_no_step_exerts_more_friction_than_its_level_and_its_largest_velocity(
    viscous, coulomb, law, integrator, side
):
    """|f| <= F_s + F_v max|v|: the error is that of a mean of varying torques, 0 in dry ones."""
    arm, rng = rubbing(viscous, coulomb), np.random.default_rng(0)
    model, free, step = arm.model, arm.without_friction(), one_step(arm, law, integrator)
    error = 1e-3 if viscous else 1e-8
    for _ in range(8):
        q = rng.uniform(model.lower, model.upper)
        qd = side * rng.normal(size=7) * 10.0 ** rng.uniform(-4, 0.3, 7) * (rng.random(7) < 0.7)
        push = side * rng.choice([-8.0, -0.8, -0.2, 0.2, 0.8, 8.0], 7)
        tau = np.clip(arm.gravity_torque(q) + push, -model.effort_limit, model.effort_limit)
        end = step(q, qd, tau)
        path = arm.rollout(
            q, qd, np.tile(tau, (256, 1)), time_step=H / 256, integrator='semi_implicit_euler'
        )
        fastest = np.maximum(np.abs(path.qd).max(axis=0), np.abs(end))
        largest = model.coulomb + model.viscous * fastest
        f = mean_friction(free, q, qd, tau, integrator, end)
        assert (np.abs(f) <= largest + error * largest.max()).all()
