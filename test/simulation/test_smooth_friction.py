# SPDX-License-Identifier: Apache-2.0
"""Smooth friction of any stiffness: no chatter, balance, dissipation."""

from dataclasses import replace

import numpy as np
import pytest
import robots

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coulomb import Friction
from robot_dynamics.core.friction.impulses import without_memory
from robot_dynamics.core.model.robots import planar_2r, puma560, random_tree
from robot_dynamics.simulation import INTEGRATORS, Simulator, simulate
from robot_dynamics.simulation.converged import inverse, solved_by_arrays


def weightless(model):
    return model.with_gravity((0.0, 0.0, 0.0))


def idle(t, q, qd):
    return np.zeros(len(q))


def test_a_stiff_joint_comes_to_rest_without_chatter():
    # Friction alone would change the velocity a thousandfold in one step.
    arm = Dynamics(weightless(planar_2r()).with_actuation(coulomb=2000.0))
    run = simulate(Simulator(arm, qd=[3.0, -2.0]), idle, 0.1)
    assert np.abs(run.qd[-1]).max() < 1e-9
    speeds = np.abs(run.qd).max(axis=1)
    assert (np.diff(speeds) <= 1e-12).all()


def test_a_joint_pushed_less_than_its_dry_friction_only_creeps():
    arm = Dynamics(weightless(planar_2r()).with_actuation(coulomb=50.0))
    simulator = Simulator(arm)
    run = simulate(simulator, lambda t, q, qd: [25.0, 0.0], 0.5)
    # 25 = 50 tanh(qd / v0): the smooth law's balance, met exactly by the implicit step
    assert np.allclose(run.qd[-1], [0.01 * np.arctanh(0.5), 0.0], rtol=0, atol=1e-9)


def test_a_stiff_damper_settles_at_the_velocity_that_balances_the_torque():
    arm = Dynamics(weightless(planar_2r()).with_actuation(viscous=1e5))
    run = simulate(Simulator(arm), lambda t, q, qd: [300.0, -200.0], 0.05)
    assert np.allclose(run.qd[-1], [3e-3, -2e-3], rtol=0, atol=1e-9)


@pytest.mark.parametrize('name', INTEGRATORS)
def test_a_damper_too_stiff_for_a_step_stops_a_joint_with_every_integrator(name):
    # A wrist without rotor inertia: the damper settles within 1/200 of a step.
    model = puma560()
    model = replace(model, reflected_inertia=np.zeros(6), viscous=np.full(6, 2.0))
    qd = np.array([0.0, 0.0, 0.0, 1.5, -2.0, 2.0])
    simulator = Simulator(Dynamics(weightless(model)), qd=qd, integrator=name, time_step=4e-3)
    run = simulate(simulator, idle, 0.2)
    # Velocities of O(h) follow from the joints before the wrist, which are slower.
    assert np.abs(run.qd[2:, 4:]).max() < 0.02
    assert np.abs(run.qd[-1]).max() < 0.05


@pytest.mark.parametrize('friction', [{'viscous': 0.5}, {'coulomb': 2.0}, {'coulomb': 100.0}])
@pytest.mark.parametrize('name', ['semi_implicit_euler', 'rk4'])
def test_friction_never_adds_energy(friction, name):
    rng = np.random.default_rng(8)
    arm = Dynamics(weightless(random_tree(5, rng)).with_actuation(**friction))
    simulator = Simulator(arm, q=rng.normal(size=5), qd=3 * rng.normal(size=5), integrator=name)
    run = simulate(simulator, idle, 1.0)
    energy = arm.kinetic_energy(run.q, run.qd)
    # The error of this integrator in a step without friction.
    free = Dynamics(replace(arm.model, viscous=np.zeros(5), coulomb=np.zeros(5)))
    drift = simulate(Simulator(free, q=run.q[0], qd=run.qd[0], integrator=name), idle, 1.0)
    slack = np.abs(np.diff(free.kinetic_energy(drift.q, drift.qd))).max()
    assert np.diff(energy).max() <= slack
    assert energy[-1] < 0.9 * energy[0]


@pytest.mark.parametrize(
    ('name', 'error'),
    [
        ('explicit_euler', 2e-3),
        ('semi_implicit_euler', 2e-3),
        ('rk4', 1e-12),
        ('implicit_midpoint', 1e-6),
        ('discrete_gradient', 1e-6),
    ],
)
def test_a_sliding_joint_is_slowed_by_the_smooth_law(name, error):
    # I v' = -(b v + c), as long as v is far above v0: tanh(v / v0) = 1
    b, c, v0 = 0.7, 2.0, 3.0
    model = weightless(planar_2r(masses=(0.0, 0.0), inertias=(0.0, 0.0)))
    model = model.with_actuation(viscous=b, coulomb=c, rotor_inertia=1.0)
    simulator = Simulator(Dynamics(model), qd=[v0, -v0], integrator=name)
    run = simulate(simulator, idle, 0.5)
    speed = (v0 + c / b) * np.exp(-b * run.t) - c / b
    assert speed[-1] > 1.0
    assert np.abs(run.qd - np.outer(speed, [1.0, -1.0])).max() < error


def test_resolved_friction_keeps_the_order_of_the_integrator():
    arm = Dynamics(planar_2r().with_actuation(viscous=0.1))
    ends = {
        steps: simulate(Simulator(arm, time_step=0.2 / steps), idle, 0.2).q[-1]
        for steps in (10, 20, 40, 400)
    }
    errors = [np.abs(ends[steps] - ends[400]).max() for steps in (10, 20, 40)]
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx(4.0, abs=0.2)


@pytest.mark.slow
def test_the_implicit_step_converges_to_the_smooth_law():
    # The same stiff arm, once with steps that resolve its friction and once without.
    arm = Dynamics(planar_2r().with_actuation(coulomb=0.8))
    q0 = np.array([0.3, -0.2])
    fine = simulate(Simulator(arm, q=q0, time_step=1e-5), idle, 0.5).q[-1]
    errors = [
        np.abs(simulate(Simulator(arm, q=q0, time_step=h), idle, 0.5).q[-1] - fine).max()
        for h in (4e-3, 1e-3)
    ]
    assert errors[1] < 1e-3
    assert errors[1] < errors[0]


@pytest.mark.parametrize('name', INTEGRATORS)
@pytest.mark.parametrize('robot', ['ur5', 'panda'])
def test_no_step_of_a_falling_arm_adds_energy_whatever_the_integrator(robot, name):
    model = robots.load(robot)
    weight = np.abs(Dynamics(model).gravity_torque(np.full(model.n, 0.3)))
    arm = Dynamics(model.with_actuation(viscous=0.05, coulomb=0.2 * weight + 0.05))
    simulator = Simulator(arm, q=np.full(model.n, 0.3), integrator=name)
    run = simulate(simulator, idle, 0.5)
    kinetic = arm.kinetic_energy(run.q, run.qd)
    gained = np.diff(kinetic + arm.potential_energy(run.q)).max()
    # Integrators of order 1 have an error of h^2 per step.
    first_order = name in ('explicit_euler', 'semi_implicit_euler')
    assert gained <= (1e-3 if first_order else 1e-9) * kinetic.max()


def slowed(H, b, d):
    W = inverse(H)
    return solved_by_arrays(W, W @ b, lambda s, m: without_memory(s, m, d))


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize('h', [1e-4, 1e-2])
def test_slowed_velocities_balance_the_momentum(h, sign):
    """H v + h f(v) = b: for joints that slide, with viscous friction alone, and without."""
    rng = np.random.default_rng(0)
    friction = Friction(np.array([0.3, 5.0, 0.0]), np.array([2.0, 0.0, 0.0]))
    for _ in range(20):
        root = rng.normal(size=(3, 3))
        H, b = root @ root.T + np.eye(3), sign * rng.uniform(1.0, 3.0, 3)
        end = H + h * np.diag(friction.viscous)
        given = end.copy(), b.copy()
        v, p, *_ = slowed(end, b, h * friction.coulomb)
        torque = np.array(friction.torque(v))
        np.testing.assert_allclose(H @ v + h * torque, b, rtol=1e-8)
        dry = h * (torque - friction.viscous * v)
        np.testing.assert_allclose(p, dry, rtol=1e-6, atol=1e-15)
        mirrored = slowed(end, -b, h * friction.coulomb)
        np.testing.assert_array_equal(v, -mirrored.v)
        np.testing.assert_array_equal(end, given[0])
        np.testing.assert_array_equal(b, given[1])
