# SPDX-License-Identifier: Apache-2.0
"""Springs between motors and links: against example 6.2, and against the rigid arm."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm
from tiers import soak

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.formulations import elastic_joints, forward_dynamics, newton_euler_link_frame
from robot_dynamics.simulation import (
    INTEGRATORS,
    Adaptive,
    Elasticity,
    InelasticStop,
    JointModels,
    SimulationDiverged,
    Simulator,
    SpringDamperStop,
    simulate,
)


def geared(model, rotor_inertia=2e-5, gear_ratio=100.0, **friction):
    return model.with_actuation(rotor_inertia=rotor_inertia, gear_ratio=gear_ratio, **friction)


def weightless(model):
    return model.with_gravity((0.0, 0.0, 0.0))


def still(t, q, qd):
    return np.zeros(len(q))


def elastic(stiffness, damping=0.0, **joint_models):
    return JointModels(elasticity=Elasticity(stiffness, damping), **joint_models)


def total_energy(simulator):
    return simulator.kinetic_energy() + simulator.potential_energy()


@pytest.mark.parametrize('damping', [0.0, 0.1])
@pytest.mark.parametrize(
    ('name', 'error'),
    [
        ('semi_implicit_euler', 2e-2),
        ('rk4', 5e-7),
        ('implicit_midpoint', 3e-4),
        ('discrete_gradient', 3e-4),
    ],
)
def test_motor_and_link_swing_as_in_example_6_2(name, error, damping):
    # One joint without gravity: J q1'' + k (q1 - q2) = 0,  B q2'' + k (q2 - q1) = u,
    # and a damper d (q1' - q2') beside the spring.
    model = geared(weightless(random_tree(1, np.random.default_rng(0))))
    arm = Dynamics(model)
    B, k, d, u = 0.2, 150.0, damping, 10.0
    J = arm.mass_matrix([0.0])[0, 0] - B
    A = np.zeros((5, 5))
    A[:2, 2:4] = np.eye(2)
    A[2, :4] = np.array([-k, k, -d, d]) / J
    A[3] = np.array([k, -k, d, -d, u]) / B
    expected = (expm(A * 0.5) @ [0.0, 0.0, 1.0, 1.0, 1.0])[:4]
    simulator = Simulator(arm, qd=[1.0], joint_models=elastic(k, damping), integrator=name)
    simulate(simulator, lambda t, q, qd: [u], 0.5)
    state = simulator.snapshot()
    assert state.y == pytest.approx(expected[:2], abs=error)
    assert state.yd == pytest.approx(expected[2:], abs=100 * error)


def test_smooth_friction_of_a_motor_is_that_of_the_velocity_a_step_ends_with():
    # 25 = 50 tanh(v / v0) of a motor pushed less than its dry friction, which only creeps
    model = geared(weightless(planar_2r()), coulomb=50.0)
    simulator = Simulator(Dynamics(model), joint_models=elastic(300.0, 20.0))
    simulate(simulator, lambda t, q, qd: [25.0, 0.0], 3.0)
    assert simulator.motor_qd == pytest.approx([0.01 * np.arctanh(0.5), 0.0], abs=1e-5)


def test_the_accelerations_are_those_of_the_formulation():
    rng = np.random.default_rng(3)
    model = geared(random_tree(4, rng))
    K = rng.uniform(50, 500, 4)
    simulator = Simulator(Dynamics(model), joint_models=elastic(K))
    for _ in range(10):
        q, theta, qd, thetad, u = rng.normal(size=(5, 4))
        expected = elastic_joints.accelerations(
            model,
            K,
            q,
            qd,
            theta,
            u,
            forward_dynamics=lambda m, q, qd, tau: forward_dynamics.joint_acceleration(
                m, q, qd, tau, inverse_dynamics=newton_euler_link_frame.inverse_dynamics
            ),
        )
        body = simulator.body
        found = body.acceleration(
            np.append(q, theta), np.append(qd, thetad), body.force(u, np.zeros(4))
        )
        assert found == pytest.approx(np.append(*expected), rel=1e-9, abs=1e-9)


@pytest.mark.slow
def test_the_difference_to_a_rigid_joint_falls_as_one_over_k():
    arm = Dynamics(geared(planar_2r()))
    q0 = np.array([0.4, -0.9])
    rigid = simulate(Simulator(arm, q=q0), still, 0.5, solver=Adaptive())
    stiffness = np.array([1e4, 1e5, 1e6])
    gaps = []
    for k in stiffness:
        simulator = Simulator(
            arm, q=q0, joint_models=elastic(k, damping=k / 500), integrator='implicit_midpoint'
        )
        run = simulate(simulator, still, 0.5, solver=Adaptive('Radau', 1e-10, 1e-12))
        gaps.append(np.abs(run.q[-1] - rigid.q[-1]).max())
    slopes = np.diff(np.log(gaps)) / np.diff(np.log(stiffness))
    assert slopes == pytest.approx([-1.0, -1.0], abs=0.1)


@pytest.mark.parametrize('name', ['implicit_midpoint', 'discrete_gradient'])
def test_implicit_integrators_are_stable_at_any_stiffness(name):
    arm = Dynamics(geared(planar_2r()))
    q0 = np.array([0.4, -0.9])
    simulator = Simulator(arm, q=q0, joint_models=elastic(1e9), integrator=name)
    run = simulate(simulator, still, 0.5)
    rigid = simulate(Simulator(arm, q=q0, integrator=name), still, 0.5)
    assert run.q[-1] == pytest.approx(rigid.q[-1], abs=1e-5)


@pytest.mark.parametrize('name', INTEGRATORS)
def test_a_conservative_elastic_arm_keeps_its_energy(name):
    simulator = Simulator(
        Dynamics(geared(planar_2r())),
        q=[0.4, -0.9],
        joint_models=elastic(2000.0),
        integrator=name,
        time_step=5e-4,
    )
    energies = [total_energy(simulator)]
    for _ in range(2000):
        simulator.step([0.0, 0.0])
        energies.append(total_energy(simulator))
    drift = np.abs(np.array(energies) - energies[0]).max() / 30.0
    bound = {
        'explicit_euler': 20.0,
        'semi_implicit_euler': 0.2,
        'rk4': 2e-3,
        'implicit_midpoint': 1e-2,
        'discrete_gradient': 1e-11,
    }
    assert drift < bound[name]


def test_springs_balance_gravity_at_the_start():
    arm = Dynamics(geared(planar_2r()))
    q = np.array([0.4, -0.9])
    simulator = Simulator(arm, q=q, joint_models=elastic(500.0, damping=1.0))
    weight = arm.gravity_torque(q)
    assert 500.0 * (simulator.motor_q - q) == pytest.approx(weight)
    run = simulate(simulator, lambda t, q, qd: weight, 1.0)
    assert np.abs(run.q - q).max() < 1e-12


@pytest.mark.parametrize('friction', ['smooth', 'stick_slip'])
def test_friction_and_damping_only_dissipate(friction):
    model = geared(planar_2r(), viscous=0.5, coulomb=3.0)
    simulator = Simulator(
        Dynamics(model), q=[0.4, -0.9], joint_models=elastic(800.0, 0.5, friction=friction)
    )
    energies = [total_energy(simulator)]
    for _ in range(2000):
        simulator.step([0.0, 0.0])
        energies.append(total_energy(simulator))
    assert np.diff(energies).max() < 1e-6 * abs(energies[0])
    assert energies[-1] < energies[0] - 1.0


def test_stuck_motors_leave_links_swinging_on_their_springs():
    model = geared(weightless(planar_2r()), coulomb=50.0)
    simulator = Simulator(
        Dynamics(model),
        qd=[0.5, -0.5],
        joint_models=elastic(500.0, friction='stick_slip'),
    )
    # Both start with the speed: the motors stop, the links continue.
    run = simulate(simulator, still, 1.0)
    assert not simulator.motor_qd.any()
    late = run.qd[500:]
    assert (late.max(axis=0) > 0.05).all()
    assert (late.min(axis=0) < -0.05).all()


def test_links_reach_stops_while_motors_continue():
    model = geared(weightless(planar_2r()))
    model = replace(model, upper=np.array([0.1, np.inf]), lower=np.full(2, -np.inf))
    simulator = Simulator(Dynamics(model), joint_models=elastic(300.0, 1.0, stops=InelasticStop()))
    run = simulate(simulator, lambda t, q, qd: [6.0, 0.0], 1.5)
    assert run.q[:, 0].max() == 0.1
    # The spring transmits the torque of the drive.
    assert simulator.motor_q[0] - simulator.q[0] == pytest.approx(6.0 / 300.0, rel=0.3)


@pytest.mark.parametrize('name', ['implicit_midpoint', 'discrete_gradient'])
@pytest.mark.parametrize('stiffness', [1e5, 1e7, 1e9])
def test_rounding_of_stiff_springs_does_not_move_an_arm_at_rest(name, stiffness):
    # K (q - theta) of equal positions is exactly zero, and rounding is not reported as divergence.
    for seed in range(5):
        rng = np.random.default_rng(seed)
        arm = Dynamics(geared(weightless(random_tree(4, rng))), backend='python')
        q = rng.uniform(-3, 3, 4)
        simulator = Simulator(arm, q=q, joint_models=elastic(stiffness), integrator=name)
        for _ in range(20):
            simulator.step(np.zeros(4))
        assert np.abs(simulator.q - q).max() < 1e-9


@pytest.mark.parametrize('name', ['implicit_midpoint', 'discrete_gradient'])
def test_a_motor_that_comes_to_rest_in_smooth_friction_is_no_divergence(name):
    # Close to standstill the law is curved within a step: the iteration converges slowly.
    for inertia, stiffness, h in ((7e-3, 4e4, 5e-3), (1e-2, 1e6, 1e-3), (0.2, 5e6, 5e-3)):
        model = weightless(random_tree(1, np.random.default_rng(1), prismatic=0.0))
        model = model.with_actuation(rotor_inertia=inertia, coulomb=100.0)
        simulator = Simulator(
            Dynamics(model, backend='python'),
            qd=[1.0],
            joint_models=elastic(stiffness),
            integrator=name,
            time_step=h,
        )
        before = total_energy(simulator)
        simulate(simulator, still, 150 * h)
        assert total_energy(simulator) < 1.001 * before


EVENTS = {
    'inelastic stop': {'stops': InelasticStop()},
    'yielding stop': {'stops': SpringDamperStop(1e4, 100.0)},
    'sticking': {'friction': 'stick_slip'},
    'smooth friction': {'friction': 'smooth'},
    'both': {'stops': InelasticStop(), 'friction': 'stick_slip'},
}


@pytest.mark.slow
@pytest.mark.parametrize('event', [*soak([name for name in EVENTS if name != 'both']), 'both'])
@pytest.mark.parametrize('stiffness', [*soak([1e5, 1e7]), 1e9])
def test_springs_too_fast_for_a_step_gain_no_energy_from_stops_and_friction(stiffness, event):
    # Of up to 1e5 rad/s: a position error of h^2 would store hundreds of joules in them.
    coulomb = 5.0 if 'friction' in EVENTS[event] else 0.0
    model = replace(geared(planar_2r(), coulomb=coulomb), lower=np.array([-0.5, -0.3]))
    ends = []
    for elasticity in (Elasticity(stiffness, stiffness * 1e-5), None):
        joint_models = JointModels(elasticity=elasticity, **EVENTS[event])
        simulator = Simulator(
            Dynamics(model), joint_models=joint_models, integrator='implicit_midpoint'
        )
        energies = [total_energy(simulator)]
        for _ in range(2000):
            simulator.step([0.0, 0.0])
            energies.append(total_energy(simulator))
        assert np.diff(energies).max() < 1e-4
        assert energies[-1] < energies[0] - 5.0
        ends.append(simulator.q)
    # The springs end as the rigid arm does; if motors stick, part of the oscillation remains.
    assert ends[0] == pytest.approx(ends[1], abs=0.02 if coulomb else 1e-3)


@pytest.mark.parametrize('name', ['implicit_midpoint', 'discrete_gradient'])
def test_friction_and_springs_both_too_stiff_for_a_step_only_dissipate(name):
    # Friction could stop a motor 800 times over in a step, its spring turns by 2 rad and more.
    for seed in range(5):
        rng = np.random.default_rng(seed)
        model = weightless(random_tree(2, rng))
        model = model.with_actuation(viscous=1e3, coulomb=0.1, rotor_inertia=6e-3)
        simulator = Simulator(
            Dynamics(model, backend='python'),
            qd=rng.normal(size=2),
            joint_models=elastic(1.3e4, 1.0),
            integrator=name,
            time_step=5e-3,
        )
        energies = [total_energy(simulator)]
        for _ in range(150):
            simulator.step(np.zeros(2))
            energies.append(total_energy(simulator))
        assert np.diff(energies).max() <= 1e-12 * energies[0]


def test_wrenches_act_on_links_and_torques_on_motors():
    model = geared(weightless(planar_2r()))
    pushed = Simulator(
        Dynamics(model), joint_models=elastic(100.0), integrator='semi_implicit_euler'
    )
    pushed.step([0.0, 0.0], external=[1.0, 0.0])
    assert pushed.qd[0] > 0.0
    assert not pushed.motor_qd.any()
    driven = Simulator(
        Dynamics(model), joint_models=elastic(100.0), integrator='semi_implicit_euler'
    )
    driven.step([1.0, 0.0])
    assert driven.motor_qd[0] == pytest.approx(1e-3 / 0.2)
    assert not driven.qd.any()


def test_invalid_springs_are_rejected():
    arm = Dynamics(geared(planar_2r()))
    with pytest.raises(ModelError, match="motor of joint 'joint1' has no inertia"):
        Simulator(Dynamics(planar_2r()), joint_models=elastic(100.0))
    with pytest.raises(ModelError, match=r'stiffness is 0.0; it must be positive'):
        Simulator(arm, joint_models=elastic(0.0))
    with pytest.raises(ModelError, match=r'stiffness is inf; it must be finite'):
        Simulator(arm, joint_models=elastic(np.inf))
    with pytest.raises(ModelError, match=r'damping is -1.0; it must not be negative'):
        Simulator(arm, joint_models=elastic(10.0, -1.0))
    with pytest.raises(ValueError, match=r'stiffness oscillates at .* rk4 needs a step of at'):
        Simulator(arm, joint_models=elastic(1e8))
    for name in ('rk4', 'semi_implicit_euler'):
        with pytest.raises(ValueError, match=rf'damping settles at .* {name} needs a step'):
            Simulator(arm, joint_models=elastic(100.0, 1e4), integrator=name)


def test_energy_that_an_integrator_puts_into_springs_is_divergence():
    # Explicit Euler adds energy to springs, whatever the step: in play is what swung at the start.
    model = weightless(planar_2r()).with_actuation(rotor_inertia=0.1)
    simulator = Simulator(
        Dynamics(model),
        qd=[0.1, -0.1],
        joint_models=elastic(1e4),
        integrator='explicit_euler',
        time_step=1e-3,
    )
    before = total_energy(simulator)
    with pytest.raises(SimulationDiverged, match='more than the work done'):
        simulate(simulator, still, 1.0)
    assert simulator.steps > 10
    assert total_energy(simulator) < 100 * before
