# SPDX-License-Identifier: Apache-2.0
"""Stick-slip friction: sticking, breakaway, dissipation."""

from dataclasses import replace

import numpy as np
import pytest
import robots
from scipy.integrate import solve_ivp

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.simulation import INTEGRATORS, JointModels, Simulator, simulate

STICKING = JointModels(friction='stick_slip')


def weightless(model):
    return model.with_gravity((0.0, 0.0, 0.0))


def one_joint(coulomb, viscous=0.0):
    """Return an arm of inertia 1 kg m^2 per joint, whose joints are decoupled."""
    model = weightless(planar_2r(masses=(0.0, 0.0), inertias=(0.0, 0.0)))
    model = replace(model, reflected_inertia=np.ones(2))
    return Dynamics(model.with_actuation(viscous=viscous, coulomb=coulomb, rotor_inertia=1.0))


def constant(*tau):
    return lambda t, q, qd: np.array(tau)


@pytest.mark.parametrize('name', INTEGRATORS)
def test_a_joint_held_below_breakaway_does_not_creep(name):
    arm = Dynamics(planar_2r().with_actuation(coulomb=60.0, viscous=0.3))
    q0 = np.array([0.4, -0.9])
    simulator = Simulator(arm, q=q0, joint_models=STICKING, integrator=name)
    assert (np.abs(arm.gravity_torque(q0)) < 60.0).all()
    run = simulate(simulator, constant(0.0, 0.0), 2.0)
    # Bit for bit.
    assert np.array_equal(run.q, np.tile(q0, (len(run.q), 1)))
    assert not run.qd.any()


def test_above_breakaway_the_joint_moves_with_the_net_torque():
    run = simulate(Simulator(one_joint(2.0), joint_models=STICKING), constant(5.0, 1.9), 1.0)
    # qdd = (5 - 2) / 1
    assert run.qd[-1] == pytest.approx([3.0, 0.0], abs=1e-9)
    assert run.q[-1] == pytest.approx([1.5, 0.0], abs=2e-3)


@pytest.mark.parametrize('rests', [0, 1])
@pytest.mark.parametrize('pull', [-1.0, 1.0])
@pytest.mark.parametrize('integrator', INTEGRATORS)
def test_a_resting_joint_keeps_its_position_bit_for_bit_while_another_reverses(
    rests, pull, integrator
):
    # Weight and the other joint's motion load the resting one: it would move by O(h^3) if its
    # position were that of the free step, put right by h/2 times the change of its velocity.
    coulomb = np.full(2, 0.5)
    coulomb[rests] = 500.0
    arm = Dynamics(planar_2r().with_actuation(coulomb=coulomb))
    moves, reversals = 1 - rests, 0
    for start in np.random.default_rng(0).uniform(-1.0, 1.0, (20, 2)):
        qd, tau = np.zeros(2), arm.gravity_torque(start)
        qd[moves] = -1e-3 * pull
        tau[moves] += 40.0 * pull
        simulator = Simulator(arm, q=start, qd=qd, joint_models=STICKING, integrator=integrator)
        simulator.step(tau)
        assert simulator.qd[rests] == 0.0
        assert simulator.q[rests].tobytes() == start[rests].tobytes()
        reversals += simulator.qd[moves] * pull > 0
    assert reversals == 20


@pytest.mark.parametrize('h', [1e-3, 1e-2])
def test_a_sliding_joint_stops_where_its_energy_is_spent(h):
    # 1/2 I v^2 = F_s distance
    simulator = Simulator(one_joint(2.0), qd=[3.0, -1.0], joint_models=STICKING, time_step=h)
    run = simulate(simulator, constant(0.0, 0.0), 2.0)
    assert run.q[-1] == pytest.approx([9 / 4, -1 / 4], abs=2 * h * 3.0)
    assert np.array_equal(run.qd[-1], [0.0, 0.0])
    # It stays at rest: no chatter.
    at_rest = run.qd == 0.0
    assert (np.diff(at_rest.astype(int), axis=0) >= 0).all()
    assert (np.diff(np.abs(run.qd), axis=0) <= 0.0).all()


def test_viscous_friction_slows_a_sliding_joint_by_its_own_law():
    # v' = -(b v + c) / I:   v = (v0 + c / b) exp(-b t) - c / b, until it stops
    b, c, v0 = 0.7, 2.0, 3.0
    simulator = Simulator(one_joint(c, b), qd=[v0, v0], joint_models=STICKING)
    run = simulate(simulator, constant(0.0, 0.0), 0.5)
    expected = (v0 + c / b) * np.exp(-b * run.t) - c / b
    # Runge-Kutta's order is kept while the joint slides.
    assert run.qd[:, 0] == pytest.approx(expected, abs=1e-12)


def test_viscous_friction_too_stiff_for_a_step_and_dry_friction_settle_where_they_balance():
    arm = Dynamics(weightless(planar_2r()).with_actuation(viscous=1e5, coulomb=[1.0, 2.0]))
    run = simulate(Simulator(arm, joint_models=STICKING), constant(301.0, -202.0), 0.05)
    # tau = b v + F_s sgn(v)
    assert run.qd[-1] == pytest.approx([3e-3, -2e-3], abs=1e-9)


def test_a_joint_at_rest_acts_as_a_fixed_joint():
    # The elbow is held by its friction, the shoulder has none: a pendulum, to order 2.
    model, elbow = planar_2r(), 0.9
    free = Dynamics(model)

    def rate(_, y):
        q, qd = [y[0], elbow], [y[1], 0.0]
        return [y[1], -free.bias_torque(q, qd)[0] / free.mass_matrix(q)[0, 0]]

    exact = solve_ivp(rate, (0, 1), [0.3, 0.0], 'DOP853', rtol=1e-12, atol=1e-12).y[:, -1]
    errors = []
    for steps in (250, 500, 1000):
        arm = Dynamics(model.with_actuation(coulomb=[0.0, 1e4]))
        simulator = Simulator(arm, q=[0.3, elbow], time_step=1 / steps, joint_models=STICKING)
        run = simulate(simulator, constant(0.0, 0.0), 1.0)
        assert (run.q[:, 1] == elbow).all()
        errors.append(np.abs([run.q[-1, 0], run.qd[-1, 0]] - exact).max())
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx(2.0, abs=0.15)
    assert errors[-1] < 1e-5


def test_the_integrator_keeps_its_order_while_joints_slide():
    arm = Dynamics(weightless(planar_2r()).with_actuation(viscous=0.1, coulomb=0.5))
    ends = {
        steps: simulate(
            Simulator(arm, qd=[-4.0, 9.0], time_step=0.2 / steps, joint_models=STICKING),
            constant(0.0, 0.0),
            0.2,
        )
        for steps in (20, 40, 80, 1280)
    }
    assert (ends[1280].qd * [-1, 1] > 0).all()
    exact = ends[1280].q[-1]
    errors = [np.abs(ends[steps].q[-1] - exact).max() for steps in (20, 40, 80)]
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx(4.0, abs=0.15)


@pytest.mark.slow
@pytest.mark.parametrize('name', INTEGRATORS)
@pytest.mark.parametrize('coulomb', [2.0, 100.0])
def test_friction_dissipates_and_brings_every_joint_to_rest(name, coulomb):
    rng = np.random.default_rng(8)
    arm = Dynamics(weightless(random_tree(5, rng)).with_actuation(coulomb=coulomb))
    simulator = Simulator(
        arm,
        q=rng.normal(size=5),
        qd=rng.normal(size=5),
        joint_models=STICKING,
        integrator=name,
    )
    run = simulate(simulator, still, 4.0)
    energy = arm.kinetic_energy(run.q, run.qd)
    # The integrators have an error of h^2 per step.
    assert np.diff(energy).max() <= 1e-4 * energy[0]
    assert not run.qd[-1].any()
    rests = (run.qd == 0.0).all(axis=1)
    assert not energy[np.argmax(rests) :].any()


@pytest.mark.parametrize('coulomb', [0.05, 0.5, 5.0])
def test_no_step_of_a_falling_arm_adds_energy(coulomb):
    rng = np.random.default_rng(4)
    arm = Dynamics(random_tree(5, rng).with_actuation(coulomb=coulomb))
    run = simulate(Simulator(arm, qd=rng.normal(size=5), joint_models=STICKING), still, 2.0)
    energy = arm.kinetic_energy(run.q, run.qd) + arm.potential_energy(run.q)
    assert np.diff(energy).max() <= 1e-9 * arm.kinetic_energy(run.q, run.qd).max()
    assert energy[-1] < energy[0]


def still(t, q, qd):
    return np.zeros(len(q))


@pytest.mark.parametrize('name', ['kuka_iiwa', 'ur5', 'panda'])
def test_a_real_arm_sinks_joint_after_joint(name):
    model = robots.load(name)
    weight = np.abs(Dynamics(model).gravity_torque(np.full(model.n, 0.3)))
    model = model.with_actuation(viscous=0.05, coulomb=0.2 * weight + 0.05)
    arm = Dynamics(model)
    simulator = Simulator(arm, q=np.full(model.n, 0.3), joint_models=STICKING)
    run = simulate(simulator, still, 4.0)
    energy = arm.kinetic_energy(run.q, run.qd) + arm.potential_energy(run.q)
    peak = arm.kinetic_energy(run.q, run.qd).max()
    assert np.diff(energy).max() <= 1e-9 * peak
    resting = (run.qd[-1] == 0) & (run.qd[-2] == 0)
    assert resting.any()
    # Joints at rest are held by at most their dry friction.
    qdd = (run.qd[-1] - run.qd[-2]) / 1e-3
    needed = np.abs(arm.inverse_dynamics(run.q[-1], run.qd[-1], qdd))
    assert (needed <= model.coulomb * 1.01 + 1e-6)[resting].all()


def test_sticking_is_the_limit_of_steep_smooth_friction():
    # Pulled back and forth beyond breakaway: both laws give the same motion.
    arm = one_joint(2.0)

    def pull(t, q, qd):
        return np.array([3.0 * np.sin(2.0 * t), 0.0])

    sticking = simulate(Simulator(arm, joint_models=STICKING), pull, 4.0)
    smooth = simulate(Simulator(arm, integrator='rk4'), pull, 4.0)
    # The tanh law creeps at up to 0.01 rad/s where the other is at rest.
    assert np.abs(sticking.q - smooth.q).max() < 0.01 * 4.0
    assert (sticking.qd[:, 0] == 0.0).mean() > 0.2


def test_without_dry_friction_viscous_friction_remains_under_any_load():
    arm = Dynamics(planar_2r().with_actuation(viscous=[0.2, 0.3], coulomb=4.0))
    for lubricated in (
        arm.without_dry_friction(),
        arm.with_payload('link2', 1.0).without_dry_friction(),
        arm.without_dry_friction().with_payload('link2', 1.0),
    ):
        assert lubricated.friction_torque([2.0, -1.0]) == pytest.approx([0.4, -0.3])
        assert np.array_equal(lubricated.model.coulomb, [0.0, 0.0])
        step = lubricated.simulate([0.1, 0.2], [2.0, -1.0], [0.0, 0.0], steps=1)
        made = Dynamics(lubricated.model).simulate([0.1, 0.2], [2.0, -1.0], [0.0, 0.0], steps=1)
        assert step.qd == pytest.approx(made.qd, abs=1e-12)
