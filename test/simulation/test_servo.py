# SPDX-License-Identifier: Apache-2.0
"""Position servos: against closed forms and an adaptive solver, stiff, saturated and delayed."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from robot_dynamics import Dynamics, parse_urdf
from robot_dynamics.common.errors import ModelError, ShapeError
from robot_dynamics.simulation import (
    INTEGRATORS,
    Elasticity,
    FrictionSettings,
    JointModels,
    NotFinite,
    PerStep,
    Perturbations,
    Servo,
    ServoCommand,
    Simulator,
    simulate,
    simulate_batch,
)

INERTIA = 0.02  # kg m^2, of the wheel about its axis
H = 1e-3  # s


def urdf(links, axis, mass):
    """Return links in a row, each with inertia about its joint alone if it has little mass."""
    parts = ['<robot name="r"><link name="l0"/>']
    for k in range(links):
        parts.append(
            f'<link name="l{k + 1}"><inertial><origin xyz="0.2 0.03 0.01"/><mass value="{mass}"/>'
            f'<inertia ixx="{INERTIA}" iyy="{INERTIA}" izz="{INERTIA}" ixy="0" ixz="0" iyz="0"/>'
            f'</inertial></link><joint name="j{k}" type="continuous"><parent link="l{k}"/>'
            f'<child link="l{k + 1}"/><origin xyz="0.3 0 0"/><axis xyz="{axis}"/>'
            '<limit effort="1e5" velocity="1e4"/></joint>'
        )
    return ''.join([*parts, '</robot>'])


WHEEL = Dynamics(parse_urdf(urdf(1, '0 0 1', 1e-12)))
ARM = Dynamics(parse_urdf(urdf(2, '0 1 0', 0.7)))


def servo_run(arm, servo, commands, h=H, **more):
    """Return a simulator, and its positions (k + 1, n) under commands (k, n)."""
    friction = more.pop('friction', 'smooth')
    s = Simulator(arm, time_step=h, joint_models=JointModels(friction, servo=servo), **more)
    rows = [s.q]
    for command in commands:
        s.step(command)
        rows.append(s.q)
    return s, np.array(rows)


@pytest.mark.parametrize('integrator', INTEGRATORS)
def test_step_response_is_that_of_a_second_order_system(integrator):
    kp, kd = 8.0, 0.3
    t = np.arange(401) * H
    _, rows = servo_run(WHEEL, Servo(kp, kd), np.ones((400, 1)), integrator=integrator)
    sigma, omega = kd / (2 * INERTIA), np.sqrt(kp / INERTIA - (kd / (2 * INERTIA)) ** 2)
    exact = 1 - np.exp(-sigma * t) * (np.cos(omega * t) + sigma / omega * np.sin(omega * t))
    first_order = integrator in ('explicit_euler', 'semi_implicit_euler')
    assert np.abs(rows[:, 0] - exact).max() < (2 * H * 10 if first_order else 40 * H**2)


@pytest.mark.parametrize('integrator', ['semi_implicit_euler', 'rk4', 'implicit_midpoint'])
@pytest.mark.parametrize('stiffness', [0.1, 1.0, 10.0])  # h omega
def test_stiff_servo_neither_loses_nor_gains_amplitude(integrator, stiffness):
    kp = INERTIA * (stiffness / H) ** 2
    _, rows = servo_run(WHEEL, Servo(kp), np.zeros((3000, 1)), integrator=integrator, q=[0.1])
    # The midpoint rule keeps q^2 + (v / omega)^2, semi-implicit Euler a quadratic form near it.
    early, late = np.abs(rows[:1000]).max(), np.abs(rows[2000:]).max()
    assert late == pytest.approx(early, rel=2e-3)


@pytest.mark.parametrize('law', ['stick_slip', 'smooth'])
@pytest.mark.parametrize('limit', [3.0, np.inf])
def test_stiff_servo_against_friction_gravity_and_its_limit(law, limit):
    # h omega of about 3: a step does not resolve the servo.
    arm = Dynamics(ARM.model.with_actuation(coulomb=0.5, viscous=0.05))
    servo, start = Servo([1e6, 2e5], 1.0, torque_limit=limit), [0.3, 0.3]
    commands = 0.3 + 1e-3 * np.sin(0.02 * np.arange(600))[:, None] * [1, -1]
    s, rows = servo_run(arm, servo, commands, friction=law, q=start)
    if limit < np.inf:  # too weak for gravity on the first joint, which falls
        assert rows[-1, 0] > 0.5
        assert s.effort[0] == pytest.approx(-limit - 1.0 * s.qd[0], rel=0.01)
    else:
        assert np.abs(rows[1:] - commands).max() < 1e-4
        assert np.abs(s.effort - arm.gravity_torque(s.q)).max() < 1.0


@pytest.mark.parametrize('delay', [0.0, 0.004, 0.0073, 0.0195])
def test_delay_of_the_command_is_linear_between_steps(delay):
    # A ramp in steps of 20 ms, and a joint that is slow beside them.
    kp, kd = 4.0, 0.2
    hold, end = 0.02, 0.6

    def rate(t, x):
        u = 0.5 * max(0.0, np.floor((t - delay) / hold) * hold)
        return [x[1], (kp * (u - x[0]) - kd * x[1]) / INERTIA]

    exact = solve_ivp(rate, (0, end), [0, 0], max_step=1e-3, rtol=1e-9, atol=1e-12)
    for h in (1e-3, 2e-3):
        k = round(end / h)
        u = 0.5 * np.floor(np.arange(k) * h / hold + 1e-9)[:, None] * hold
        _, rows = servo_run(WHEEL, Servo(kp, kd, delay), u, h)
        # At 0.5 rad/s, 4 us of delay.
        assert rows[-1, 0] == pytest.approx(exact.y[0, -1], abs=2e-6)


def test_damping_is_outside_of_the_torque_limit():
    limit, kd = 0.4, 0.05
    for sign in (1, -1):
        s, rows = servo_run(
            WHEEL, Servo(500.0, kd, torque_limit=limit), sign * 1e3 * np.ones((2000, 1))
        )
        t = H * np.arange(2001)
        # I qdd = limit - kd qd
        exact = limit / kd * (t - INERTIA / kd * (1 - np.exp(-kd / INERTIA * t)))
        assert np.abs(rows[:, 0] - sign * exact).max() < 1e-6
        assert abs(s.effort[0]) < 0.02 * limit  # at the speed limit/kd the motor has no torque


@pytest.mark.parametrize('integrator', ['semi_implicit_euler', 'rk4', 'discrete_gradient'])
def test_coupled_arm_under_gravity_follows_the_differential_equation(integrator):
    kp, kd, limit = np.array([60.0, 25.0]), np.array([2.0, 0.8]), np.array([9.0, 1.2])
    target, speed, ahead = np.array([0.6, -0.9]), np.array([0.3, -0.2]), np.array([0.5, 0.1])

    def rate(t, x):
        q, qd = x[:2], x[2:]
        tau = np.clip(kp * (target - q) + kd * speed + ahead, -limit, limit) - kd * qd
        return np.concatenate([qd, ARM.forward_dynamics(q, qd, tau)])

    exact = solve_ivp(rate, (0, 0.5), np.zeros(4), rtol=1e-10, atol=1e-12).y[:, -1]
    errors = []
    for h in (2e-3, 1e-3):
        models = JointModels(servo=Servo(kp, kd, torque_limit=limit))
        s = Simulator(ARM, time_step=h, integrator=integrator, joint_models=models)
        for _ in range(round(0.5 / h)):
            s.step(ServoCommand(target, speed, ahead))
        errors.append(np.abs(s.q - exact[:2]).max())
    order = 1 if integrator == 'semi_implicit_euler' else 2
    assert errors[1] < (2e-3 if order == 1 else 2e-5)
    assert errors[1] < errors[0] / 1.6**order


def test_reported_effort_is_the_torque_of_the_servo():
    servo = Servo(30.0, 1.5, torque_limit=4.0)
    s = Simulator(ARM, time_step=H, joint_models=JointModels(servo=servo))
    for k in range(300):
        q, qd = s.q, s.qd
        s.step([0.5 * np.sin(0.02 * k), 0.3])
        middle = q + H / 4 * (qd + s.qd)
        tau = np.clip(30.0 * (np.array([0.5 * np.sin(0.02 * k), 0.3]) - middle), -4, 4)
        assert np.allclose(s.effort, tau - 1.5 * (s.q - q) / H, atol=1e-6)


def test_friction_holds_a_servo_within_its_dead_band():
    fc = 0.5
    arm = Dynamics(ARM.model.with_actuation(coulomb=fc, viscous=0.1))
    kp = np.array([60.0, 25.0])
    for law in ('stick_slip', FrictionSettings('coulomb_memory')):
        s, rows = servo_run(arm, Servo(kp, 1.0), np.full((4000, 2), 0.4), friction=law)
        assert np.abs(rows[-1] - rows[-500]).max() < 1e-5
        assert (np.abs(kp * (0.4 - s.q) - arm.gravity_torque(s.q)) <= fc * (1 + 1e-6)).all()


def test_damping_acts_without_friction_and_under_each_law():
    arm = Dynamics(WHEEL.model.with_actuation(viscous=0.07))
    servo, u = Servo(8.0, 0.3), np.ones((200, 1))
    expected = servo_run(arm, servo, u)[1]
    lawful = servo_run(arm, servo, u, friction=FrictionSettings('coulomb', viscous=0.07))[1]
    assert np.allclose(lawful, expected, atol=1e-9)
    bare = Simulator(arm, friction='none', joint_models=JointModels(servo=servo), time_step=H)
    for _ in u:
        bare.step([1.0])
    assert np.allclose(bare.q, servo_run(WHEEL, servo, u)[1][-1], atol=1e-9)


def test_elastic_joint_is_driven_at_its_motor():
    model = ARM.model.with_actuation(rotor_inertia=0.05)
    models = JointModels(elasticity=Elasticity(400.0, 2.0), servo=Servo([90.0, 40.0], 3.0))
    s = Simulator(Dynamics(model), joint_models=models, integrator='implicit_midpoint')
    for _ in range(4000):
        s.step([0.3, -0.2])
    g = ARM.gravity_torque(s.q)
    # Motors under kp (u - theta) = g(q), springs between: k (theta - q) = g(q)
    assert np.allclose(np.array([90.0, 40.0]) * ([0.3, -0.2] - s.motor_q), g, atol=1e-5)
    assert np.allclose(400.0 * (s.motor_q - s.q), g, atol=1e-5)


def test_reset_and_snapshot_repeat_the_same_bits():
    models = JointModels('stick_slip', servo=Servo(40.0, 1.0, [0.0031, 0.0074], 3.0))
    arm = Dynamics(ARM.model.with_actuation(coulomb=0.2, viscous=0.1))
    s = Simulator(arm, joint_models=models)
    commands = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    for command in commands[:30]:
        s.step(command)
    snapshot, ends = s.snapshot(), []
    for _ in range(2):
        for command in commands[30:]:
            s.step(command)
        ends.append(s.q)
        s.restore(snapshot)
    s.reset()
    for command in commands:
        s.step(command)
    assert np.array_equal(ends[0], ends[1])
    assert np.array_equal(ends[0], s.q)
    other = Simulator(arm, joint_models=JointModels(servo=Servo(40.0, delay=0.05)))
    with pytest.raises(ShapeError, match='servos of the snapshot store 8 commands'):
        other.restore(snapshot)


def test_servo_holds_its_start_before_the_first_command_arrives():
    models = JointModels(servo=Servo(300.0, 20.0, delay=0.5))
    s = Simulator(Dynamics(WHEEL.model), q=[0.7], joint_models=models)
    for _ in range(400):
        s.step([-5.0])
    assert s.q[0] == pytest.approx(0.7, abs=1e-12)
    assert simulate(s, None, 0.05).q[-1, 0] == pytest.approx(0.7, abs=1e-12)


def test_bad_commands_and_properties_are_named():
    s = Simulator(ARM, joint_models=JointModels(servo=Servo(10.0)))
    for command, why in (
        ([np.nan, 0], 'position command of joint'),
        (ServoCommand([0, 0], [0, np.inf]), 'velocity command of joint'),
        (ServoCommand([0, 0], None, [np.nan, 0]), 'torque command of joint'),
    ):
        with pytest.raises(NotFinite, match=why):
            s.step(command)
    assert s.steps == 0
    with pytest.raises(ModelError, match=r'expected .* torques, or joint_models with a servo'):
        Simulator(ARM).step(ServoCommand([0, 0]))
    for servo, why in (
        (Servo(0.0), 'kp is 0.0; it must be positive'),
        (Servo(1.0, -1.0), 'kd is -1.0; it must not be negative'),
        (Servo(1.0, delay=-0.1), 'delay is -0.1'),
        (Servo([1.0, 2.0, 3.0]), r'kp has shape \(3,\)'),
    ):
        with pytest.raises(ModelError, match=why):
            Simulator(ARM, joint_models=JointModels(servo=servo))


def test_batch_with_servos_is_that_of_single_arms():
    kp, kd, delay = np.array([40.0, 15.0]), 0.6, [0.0031, 0.0123]
    commands = 0.5 * np.sin(0.03 * np.arange(300))[:, None] * [1.0, -0.7]
    arm = Dynamics(ARM.model.with_actuation(viscous=0.1, coulomb=0.2))
    rotors = np.array([[0.01, 0.02], [0.2, 0.1]])
    for law in ('model', FrictionSettings('coulomb_memory')):
        run = simulate_batch(
            arm,
            np.zeros((2, 2)),
            np.zeros(2),
            PerStep(commands),
            steps=300,
            servo=Servo(kp, kd, delay),
            perturbations=Perturbations(rotor_inertia=rotors),
            friction=law,
            control_every=7,
        )
        for k in range(2):
            one = Dynamics(arm.model.with_actuation(rotor_inertia=rotors[k]))
            friction = 'smooth' if law == 'model' else law
            _, rows = servo_run(
                one,
                Servo(kp, kd, delay),
                commands,
                integrator='semi_implicit_euler',
                friction=friction,
            )
            assert np.abs(run.q[k, -1] - rows[-1]).max() < 1e-8


def test_batch_with_a_law_of_positions_saturates_and_is_stiff():
    wheels = Servo(INERTIA * (5 / H) ** 2, 0.02, torque_limit=0.3)  # h omega of 5
    run = simulate_batch(
        WHEEL,
        np.zeros((3, 1)),
        np.zeros(1),
        lambda t, q, qd: np.array([[1.0], [0.01], [0.0]]),
        steps=2000,
        servo=wheels,
        record_every=1,
    )
    assert not run.diverged.any()
    # Half of the way to 1 rad at most: a constant torque.
    t = H * np.arange(200)
    exact = 0.3 / 0.02 * (t - INERTIA / 0.02 * (1 - np.exp(-0.02 / INERTIA * t)))
    assert np.abs(run.q[0, :200, 0] - exact).max() < 0.3 / INERTIA * H * t[-1]
    assert np.abs(run.q[2]).max() == 0
    with pytest.raises(ValueError, match="integrator is 'rk4'; with a servo"):
        simulate_batch(WHEEL, [0], [0], [0.0], steps=1, servo=wheels, integrator='rk4')


@pytest.mark.parametrize('integrator', ['semi_implicit_euler', 'rk4'])
def test_rotor_inertia_of_each_arm_replaces_that_of_the_model(integrator):
    rotors = np.array([[0.0, 0.0], [0.3, 0.0], [0.05, 0.4]])
    arm = Dynamics(ARM.model.with_actuation(rotor_inertia=0.7))
    args = (np.zeros((3, 2)), np.zeros(2), [2.0, -1.0])
    more = {'steps': 100, 'integrator': integrator}
    run = simulate_batch(arm, *args, **more, perturbations=Perturbations(rotor_inertia=rotors))
    for k, rotor in enumerate(rotors):
        one = Dynamics(ARM.model.with_actuation(rotor_inertia=rotor))
        alone = simulate_batch(one, np.zeros((1, 2)), *args[1:], **more)
        assert np.allclose(run.q[k, -1], alone.q[0, -1], rtol=1e-12, atol=1e-14)
    assert np.ptp(run.q[:, -1, 0]) > 0.01
    for one_for_all in (0.05, [0.05, 0.05]):
        same = simulate_batch(
            arm, *args, **more, perturbations=Perturbations(rotor_inertia=one_for_all)
        )
        one = Dynamics(ARM.model.with_actuation(rotor_inertia=0.05))
        alone = simulate_batch(one, np.zeros((1, 2)), *args[1:], **more)
        assert np.allclose(same.q[2, -1], alone.q[0, -1], rtol=1e-12, atol=1e-14)


def test_rotor_inertia_of_a_batch_is_checked():
    for bad in (-0.1, [[0.1, np.nan]]):
        with pytest.raises(ModelError, match='rotor_inertia has a coefficient'):
            Perturbations(rotor_inertia=bad)
    massless = Dynamics(WHEEL.model.with_actuation(rotor_inertia=0.0))
    massless = Dynamics(
        replace(
            massless.model,
            inertia_com=0 * massless.model.inertia_com,
            mass=0 * massless.model.mass,
        )
    )
    rotors = Perturbations(rotor_inertia=[[0.1], [0.0]])
    with pytest.raises(ModelError, match="joint 'j0' moves no inertia"):
        simulate_batch(massless, [[0.0]], [0.0], [0.0], steps=1, perturbations=rotors)
    run = simulate_batch(
        massless,
        [[0.0]],
        [0.0],
        [1.0],
        steps=1000,
        perturbations=Perturbations(rotor_inertia=[[0.1]]),
    )
    assert run.qd[0, -1, 0] == pytest.approx(10.0)
