"""Springs between motors and links: against example 6.2, and against the rigid arm."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError
from robot_dynamics.formulations import elastic_joints, forward_dynamics, newton_euler_link_frame
from robot_dynamics.model.samples import planar_2r, random_tree
from robot_dynamics.simulation import (
    INTEGRATORS,
    Adaptive,
    Elasticity,
    InelasticStop,
    JointEffects,
    Simulator,
    implicit_midpoint,
    semi_implicit_euler,
    simulate,
)


def geared(model, rotor_inertia=2e-5, gear_ratio=100.0, **friction):
    return model.with_actuation(rotor_inertia=rotor_inertia, gear_ratio=gear_ratio, **friction)


def weightless(model):
    return model.with_gravity((0.0, 0.0, 0.0))


def still(t, q, qd):
    return np.zeros(len(q))


def elastic(stiffness, damping=0.0, **effects):
    return JointEffects(elasticity=Elasticity(stiffness, damping), **effects)


def total_energy(simulator):
    return simulator.kinetic_energy() + simulator.potential_energy()


def test_motor_and_link_swing_as_example_6_2_has_it():
    # One joint without gravity: J q1'' + k (q1 - q2) = 0,  B q2'' + k (q2 - q1) = u
    model = geared(weightless(random_tree(1, np.random.default_rng(0))))
    arm = Dynamics(model)
    B, k, u = 0.2, 150.0, 0.4
    J = arm.mass_matrix([0.0])[0, 0] - B
    A = np.zeros((5, 5))
    A[:2, 2:4] = np.eye(2)
    A[2, :2] = [-k / J, k / J]
    A[3, [0, 1, 4]] = [k / B, -k / B, u / B]
    expected = (expm(A * 0.5) @ [0.0, 0.0, 1.0, 1.0, 1.0])[:2]
    simulator = Simulator(arm, qd=[1.0], effects=elastic(k))
    simulate(simulator, lambda t, q, qd: [u], 0.5)
    assert np.append(simulator.q, simulator.motor_q) == pytest.approx(expected, abs=1e-7)


def test_the_accelerations_are_those_of_the_formulation():
    rng = np.random.default_rng(3)
    model = geared(random_tree(4, rng))
    K = rng.uniform(50, 500, 4)
    simulator = Simulator(Dynamics(model), effects=elastic(K))
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


def test_a_stiffer_joint_is_closer_to_a_rigid_one_by_one_over_k():
    arm = Dynamics(geared(planar_2r()))
    q0 = np.array([0.4, -0.9])
    rigid = simulate(Simulator(arm, q=q0), still, 0.5, solver=Adaptive())
    stiffness = np.array([1e4, 1e5, 1e6])
    gaps = []
    for k in stiffness:
        simulator = Simulator(
            arm, q=q0, effects=elastic(k, damping=k / 500), integrator=implicit_midpoint
        )
        run = simulate(simulator, still, 0.5, solver=Adaptive('Radau', 1e-10, 1e-12))
        gaps.append(np.abs(run.q[-1] - rigid.q[-1]).max())
    slopes = np.diff(np.log(gaps)) / np.diff(np.log(stiffness))
    assert slopes == pytest.approx([-1.0, -1.0], abs=0.1)


@pytest.mark.parametrize('name', ['implicit_midpoint', 'discrete_gradient'])
def test_implicit_integrators_take_any_stiffness(name):
    arm = Dynamics(geared(planar_2r()))
    q0 = np.array([0.4, -0.9])
    simulator = Simulator(arm, q=q0, effects=elastic(1e9), integrator=INTEGRATORS[name])
    run = simulate(simulator, still, 0.5)
    rigid = simulate(Simulator(arm, q=q0, integrator=INTEGRATORS[name]), still, 0.5)
    assert run.q[-1] == pytest.approx(rigid.q[-1], abs=1e-5)


@pytest.mark.parametrize('name', INTEGRATORS)
def test_a_conservative_elastic_arm_keeps_its_energy(name):
    simulator = Simulator(
        Dynamics(geared(planar_2r())),
        q=[0.4, -0.9],
        effects=elastic(2000.0),
        integrator=INTEGRATORS[name],
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


def test_it_starts_with_its_springs_taut_and_hangs_still():
    arm = Dynamics(geared(planar_2r()))
    q = np.array([0.4, -0.9])
    simulator = Simulator(arm, q=q, effects=elastic(500.0, damping=1.0))
    held = arm.gravity_torque(q)
    assert 500.0 * (simulator.motor_q - q) == pytest.approx(held)
    run = simulate(simulator, lambda t, q, qd: held, 1.0)
    assert np.abs(run.q - q).max() < 1e-12


@pytest.mark.parametrize('friction', ['smooth', 'stick_slip'])
def test_friction_of_the_drives_and_damping_only_take_energy(friction):
    model = geared(planar_2r(), viscous=0.5, coulomb=3.0)
    simulator = Simulator(
        Dynamics(model), q=[0.4, -0.9], effects=elastic(800.0, 0.5, friction=friction)
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
        effects=elastic(500.0, friction='stick_slip'),
    )
    # Both are given the speed: the motors stop, the links go on.
    run = simulate(simulator, still, 1.0)
    assert not simulator.motor_qd.any()
    late = run.qd[500:]
    assert (late.max(axis=0) > 0.05).all()
    assert (late.min(axis=0) < -0.05).all()


def test_links_meet_stops_while_motors_run_on():
    model = geared(weightless(planar_2r()))
    model = replace(model, upper=np.array([0.1, np.inf]), lower=np.full(2, -np.inf))
    simulator = Simulator(Dynamics(model), effects=elastic(300.0, 1.0, stops=InelasticStop()))
    run = simulate(simulator, lambda t, q, qd: [6.0, 0.0], 1.5)
    assert run.q[:, 0].max() == 0.1
    # The spring carries the torque of the drive on.
    assert simulator.motor_q[0] - simulator.q[0] == pytest.approx(6.0 / 300.0, rel=0.3)


def test_wrenches_act_on_links_and_torques_on_motors():
    model = geared(weightless(planar_2r()))
    pushed = Simulator(Dynamics(model), effects=elastic(100.0), integrator=semi_implicit_euler)
    pushed.step([0.0, 0.0], external=[1.0, 0.0])
    assert pushed.qd[0] > 0.0
    assert not pushed.motor_qd.any()
    driven = Simulator(Dynamics(model), effects=elastic(100.0), integrator=semi_implicit_euler)
    driven.step([1.0, 0.0])
    assert driven.motor_qd[0] == pytest.approx(1e-3 / 0.2)
    assert not driven.qd.any()


def test_what_cannot_be_is_refused():
    arm = Dynamics(geared(planar_2r()))
    with pytest.raises(ModelError, match="motor of joint 'joint1' has no inertia"):
        Simulator(Dynamics(planar_2r()), effects=elastic(100.0))
    with pytest.raises(ModelError, match=r'stiffness is 0.0; it must be positive'):
        Simulator(arm, effects=elastic(0.0))
    with pytest.raises(ModelError, match=r'damping is -1.0; it must not be negative'):
        Simulator(arm, effects=elastic(10.0, -1.0))
    with pytest.raises(ValueError, match=r'but .* rk4 needs a step of at most'):
        Simulator(arm, effects=elastic(1e8))
