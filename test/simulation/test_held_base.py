# SPDX-License-Identifier: Apache-2.0
"""The simulator on a moving base: equations of textbooks, joint models, energy, errors."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import robot_dynamics as rd
from robot_dynamics.common.errors import ModelError, ShapeError
from robot_dynamics.common.spatial import rotation_rpy
from robot_dynamics.core.model.robots import cartesian_arm, geared_link, puma560
from robot_dynamics.simulation import (
    INTEGRATORS,
    Actuators,
    Adaptive,
    Elasticity,
    Environment,
    FrictionSettings,
    InelasticStop,
    JointModels,
    Material,
    MotionComponent,
    NotFinite,
    Plane,
    PrescribedBaseMotion,
    Ramp,
    Simulator,
    Sine,
    SpringDamperStop,
    TouchPoint,
    simulate,
)
from robot_dynamics.simulation.plant import EffortCommand, Plant

G, MASS, LENGTH = 9.81, 2.0, 0.7
SHAKEN = PrescribedBaseMotion(
    x=MotionComponent(sines=[Sine(0.2, 0.9)]), y=MotionComponent(sines=[Sine(0.1, 1.3, 0.4)])
)
TURNING = PrescribedBaseMotion(
    yaw=MotionComponent(velocity=1.0, sines=[Sine(0.4, 0.8)], ramps=[Ramp(0.3, 1.0, velocity=2.0)])
)
SHIP = PrescribedBaseMotion(
    x=MotionComponent(sines=[Sine(0.5, 0.4)]),
    roll=MotionComponent(sines=[Sine(0.4, 0.7)]),
    pitch=MotionComponent(offset=0.3, sines=[Sine(0.3, 0.5, 1.0)]),
    yaw=MotionComponent(velocity=0.5),
)
TORQUE = [10.0, -20.0, 8.0, 1.0, -0.5, 0.2]


@pytest.fixture(scope='module')
def puma():
    model = puma560()
    # The rotor of joint 1 would turn with the base.
    rotors = model.reflected_inertia * [0, 1, 1, 1, 1, 1]
    return rd.Dynamics(replace(model, reflected_inertia=rotors)).without_friction()


@pytest.fixture(scope='module')
def pendulum():
    """A point mass on a rod that hangs along -y and turns about z."""
    return rd.Dynamics(geared_link(1.0, 0.0, MASS * LENGTH**2, MASS, LENGTH))


def swung(t):
    """Return the angle of the pendulum on SHAKEN by the equation of a textbook."""

    def rate(t, x):
        # l qdd = -(g + ydd) sin q - xdd cos q
        xdd, ydd = SHAKEN.coordinates(t).xdd[:2]
        return x[1], -((G + ydd) * np.sin(x[0]) + xdd * np.cos(x[0])) / LENGTH

    found = solve_ivp(rate, (0.0, t), [0.4, 0.0], method='DOP853', rtol=1e-12, atol=1e-12)
    return found.y[0, -1]


def test_a_pendulum_on_a_shaken_base_swings_as_in_textbooks(pendulum):
    expected = swung(2.0)
    simulator = Simulator(pendulum, q=[0.4], base_motion=SHAKEN)
    run = simulate(simulator, None, 2.0, solver=Adaptive())
    assert run.q[-1, 0] == pytest.approx(expected, abs=1e-9)
    # The motion of the base is held over the step: order 2
    errors = []
    for h in (4e-3, 2e-3, 1e-3):
        simulator = Simulator(pendulum, q=[0.4], time_step=h, base_motion=SHAKEN)
        errors.append(abs(simulate(simulator, None, 2.0).q[-1, 0] - expected))
    assert errors[-1] < 2e-6
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize(
    'integrator', [name for name in INTEGRATORS if name != 'discrete_gradient']
)
def test_every_integrator_approaches_the_same_motion(pendulum, integrator):
    errors = []
    for h in (2e-3, 1e-3):
        simulator = Simulator(
            pendulum, q=[0.4], time_step=h, integrator=integrator, base_motion=SHAKEN
        )
        errors.append(abs(simulate(simulator, None, 1.0).q[-1, 0] - swung(1.0)))
    order = 1 if 'euler' in integrator else 2
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.1)


def test_a_slider_on_a_turning_base_is_flung_outward():
    rate, start, t = 3.0, 0.1, 0.8
    base = PrescribedBaseMotion(yaw=MotionComponent(velocity=rate))
    arm = rd.Dynamics(cartesian_arm())
    run = simulate(Simulator(arm, q=[0.0, start], base_motion=base), None, t)
    # xdd = w^2 x,  zdd = -g
    assert run.q[-1, 1] == pytest.approx(start * np.cosh(rate * t), rel=1e-9)
    assert run.q[-1, 0] == pytest.approx(-G * t**2 / 2, rel=1e-9)


@pytest.mark.parametrize('law', ['adaptive', 'held'])
def test_a_base_that_turns_about_the_free_first_joint_changes_no_other_motion(puma, law):
    """Centrifugal, Coriolis and Euler forces together: joint 1 and the base have one axis."""
    tau = np.array([0.0, *TORQUE[1:]])
    start = TURNING.coordinates(0.0)
    q, qd = np.array([0.3, -0.5, 0.8, 0.2, 0.7, 0.0]), np.array([0.5, 0.2, -0.3, 1.0, 0.0, 0.4])
    first = np.eye(6)[0]
    solver = Adaptive() if law == 'adaptive' else None
    still = simulate(Simulator(puma, q=q, qd=qd), lambda *_: tau, 1.0, solver=solver)
    moved = Simulator(
        puma, q=q - first * start.x[5], qd=qd - first * start.xd[5], base_motion=TURNING
    )
    run = simulate(moved, lambda *_: tau, 1.0, solver=solver)
    yaw = TURNING.coordinates(run.t).x[:, 5]
    bound = 1e-8 if law == 'adaptive' else 1e-5
    np.testing.assert_allclose(run.q + yaw[:, None] * first, still.q, rtol=0.0, atol=bound)


def test_a_base_at_constant_velocity_is_one_that_leans_and_conserves_energy(puma):
    base = PrescribedBaseMotion(
        x=MotionComponent(velocity=3.0),
        z=MotionComponent(velocity=-1.0),
        roll=MotionComponent(offset=0.6),
        pitch=MotionComponent(offset=-0.4),
    )
    leaning = puma.with_gravity(rotation_rpy(0.6, -0.4, 0.0).T @ [0.0, 0.0, -G])
    run = simulate(Simulator(puma, base_motion=base), None, 1.0)
    expected = simulate(Simulator(leaning), None, 1.0)
    np.testing.assert_allclose(run.q, expected.q, rtol=0.0, atol=1e-10)
    energy = leaning.kinetic_energy(run.q, run.qd) + leaning.potential_energy(run.q)
    assert np.ptp(energy) < 1e-6 * leaning.kinetic_energy(run.q, run.qd).max()


def test_gravity_is_that_of_the_model_and_rest_is_the_fixed_base():
    upside_down = rd.Dynamics(puma560().with_gravity([1.0, 2.0, 9.0]))
    fixed, still = (
        simulate(Simulator(upside_down, base_motion=base), None, 0.5)
        for base in (None, PrescribedBaseMotion())
    )
    np.testing.assert_allclose(still.q, fixed.q, rtol=0.0, atol=1e-10)


def test_kinetic_energy_grows_by_the_work_of_drives_weight_and_inertial_forces(puma):
    h, moving = 5e-4, puma.on_moving_base()
    simulator = Simulator(puma, q=[0.3] * 6, qd=[0.5] * 6, time_step=h, base_motion=SHIP)
    before, work = simulator.kinetic_energy(), 0.0
    assert simulator.potential_energy() == 0.0
    for k in range(1000):
        q, qd = simulator.q, simulator.qd
        simulator.step(TORQUE)
        held = SHIP.motion((k + 0.5) * h).array()
        # Simpson's rule of qd . (tau - g), with the velocity of the middle from the positions
        middle = (q + simulator.q) / 2 + h / 8 * (qd - simulator.qd)
        speed = 1.5 * (simulator.q - q) / h - (qd + simulator.qd) / 4
        rows = ((1, q, qd), (4, middle, speed), (1, simulator.q, simulator.qd))
        work += h / 6 * sum(w * v @ (TORQUE - moving.gravity_torque(x, held)) for w, x, v in rows)
    change = simulator.kinetic_energy() - before
    assert abs(change) > 1.0
    assert change == pytest.approx(work, abs=1e-6)


# -- joint models ---------------------------------------------------------------------------------


def test_friction_holds_a_link_until_the_base_accelerates_faster():
    model = cartesian_arm().with_actuation(coulomb=[0.0, 5.0])
    arm = rd.Dynamics(model.with_gravity([0.0, 0.0, 0.0]))
    # The slider of 1 kg along x breaks loose above 5 m/s^2.
    for acceleration, moves in ((4.9, False), (-4.9, False), (6.0, True), (-6.0, True)):
        base = PrescribedBaseMotion(
            x=MotionComponent(ramps=[Ramp(0.0, 9.0, velocity=9 * acceleration)])
        )
        simulator = Simulator(
            arm, joint_models=JointModels(friction='stick_slip'), base_motion=base
        )
        run = simulate(simulator, None, 0.5)
        # x = -(a - mu) t^2 / 2
        slid = -np.sign(acceleration) * (abs(acceleration) - 5.0) * 0.5**2 / 2 if moves else 0.0
        assert run.q[-1, 1] == pytest.approx(slid, rel=1e-9, abs=0.0)


@pytest.mark.parametrize('stops', [InelasticStop(), SpringDamperStop(2e4, 200.0)])
def test_stops_hold_a_slider_on_a_base_that_accelerates(stops):
    model = replace(cartesian_arm(), lower=np.array([0.0, -0.1]), upper=np.array([1.0, 0.1]))
    base = PrescribedBaseMotion(x=MotionComponent(ramps=[Ramp(0.0, 5.0, velocity=15.0)]))
    arm = rd.Dynamics(model)
    simulator = Simulator(arm, joint_models=JointModels(stops=stops), base_motion=base)
    run = simulate(simulator, None, 1.0)
    pressed = 0.0 if isinstance(stops, InelasticStop) else 3.0 / 2e4
    assert run.q[-1, 1] == pytest.approx(-0.1 - pressed, abs=1e-6)
    pressed = 0.0 if isinstance(stops, InelasticStop) else 3 * G / 2e4
    assert run.q[-1, 0] == pytest.approx(-pressed, abs=1e-6)


def test_a_floor_that_moves_with_the_base_carries_weight_and_acceleration():
    base = PrescribedBaseMotion(z=MotionComponent(ramps=[Ramp(0.0, 9.0, velocity=27.0)]))
    arm = rd.Dynamics(cartesian_arm())
    link = arm.model.link_names[-1]
    floor = Plane((0.0, 0.0, -0.01), (0.0, 0.0, 1.0), Material(stiffness=1e5, damping=2e3))
    around = Environment({'floor': floor}, {'foot': TouchPoint(link)})
    simulator = Simulator(arm, environment=around, base_motion=base)
    simulate(simulator, None, 1.0)
    np.testing.assert_allclose(simulator.contact_forces, [[0.0, 0.0, 3.0 * (G + 3.0)]], atol=1e-6)


def test_a_stiff_elastic_joint_moves_as_a_rigid_one(pendulum):
    arm = rd.Dynamics(pendulum.model.with_actuation(rotor_inertia=0.05, gear_ratio=1.0))
    rigid = simulate(Simulator(arm, q=[0.4], base_motion=SHAKEN), None, 1.0)
    ends = []
    for stiffness in (1e4, 1e5):
        models = JointModels(elasticity=Elasticity(stiffness))
        simulator = Simulator(
            arm, q=[0.4], integrator='implicit_midpoint', joint_models=models, base_motion=SHAKEN
        )
        ends.append(abs(simulate(simulator, None, 1.0).q[-1, 0] - rigid.q[-1, 0]))
    assert ends[0] < 2e-3
    assert ends[1] < ends[0] / 5


def test_all_joint_models_together_give_the_same_bits_again(puma):
    models = JointModels(
        FrictionSettings('load_memory', load=0.1, presliding=1e-3),
        Actuators(bandwidth=50.0, offset=0.3),
        InelasticStop(),
    )
    arm = rd.Dynamics(puma.model.with_actuation(viscous=0.5, coulomb=1.0))
    simulator = Simulator(arm, joint_models=models, base_motion=SHIP)
    ends = []
    for _ in range(2):
        simulator.reset([0.2] * 6)
        for _ in range(60):
            simulator.step(TORQUE)
        half = simulator.snapshot()
        for _ in range(60):
            simulator.step(TORQUE)
        ends.append(simulator.q)
        simulator.restore(half)
        assert simulator.base_steps == 60
        for _ in range(60):
            simulator.step(TORQUE)
        ends.append(simulator.q)
    assert all((end == ends[0]).all() for end in ends)
    assert np.isfinite(ends[0]).all()


def test_a_constant_payload_is_part_of_the_arm(puma):
    loaded = puma.with_payload('link6', 2.0, [0.0, 0.0, 0.1])
    within = rd.Dynamics(puma.model.with_payload('link6', 2.0, [0.0, 0.0, 0.1]))
    one, other = (simulate(Simulator(x, base_motion=SHIP), None, 0.2) for x in (loaded, within))
    np.testing.assert_allclose(one.q, other.q, rtol=0.0, atol=1e-11)


# -- brakes ---------------------------------------------------------------------------------------


def test_the_base_moves_on_while_brakes_hold_the_arm(pendulum):
    plant = Plant(Simulator(pendulum, q=[0.4], base_motion=SHAKEN))
    for _ in range(700):
        plant.step()
    assert plant.q == 0.4
    plant.apply(EffortCommand(np.zeros(1)))
    plant.step()
    ahead = Simulator(pendulum, q=[0.4], base_motion=SHAKEN)
    ahead.base_steps = 700
    ahead.step([0.0])
    assert plant.q == ahead.q != 0.4
    plant.apply(EffortCommand(None))
    assert (plant.simulator.base_steps, plant.simulator.steps) == (701, 0)


# -- errors ---------------------------------------------------------------------------------------


def test_what_needs_a_fixed_base_is_rejected_with_the_reason(puma):
    with pytest.raises(ModelError, match=r"payload on 'link6': .* need a fixed base"):
        Simulator(puma, payload_links=['link6'], base_motion=SHIP)
    with pytest.raises(ModelError, match=r'need a fixed base.*Dynamics\.with_payload'):
        Simulator(puma, base_motion=SHIP).attach('link6', 1.0)
    with pytest.raises(ModelError, match=r'discrete_gradient.*implicit_midpoint'):
        Simulator(puma, integrator='discrete_gradient', base_motion=SHIP)


@pytest.mark.parametrize(
    'component',
    [
        MotionComponent(ramps=[Ramp(0.1013, 0.004, velocity=-1.0)]),
        MotionComponent(ramps=[Ramp(0.1, 0.004, position=0.1)]),
        MotionComponent(sines=[Sine(1e-4, 250.0)]),
    ],
)
def test_a_motion_that_changes_within_few_steps_is_rejected(pendulum, component):
    """Held over each step, a ramp of a millisecond is lost or four times as large in 4 ms."""
    base = PrescribedBaseMotion(x=component)
    with pytest.raises(ModelError, match=r'0\.004 s, and the time step is 0\.001 s; .* 5 steps'):
        Simulator(pendulum, time_step=1e-3, base_motion=base)
    Simulator(pendulum, time_step=0.004 / 5, base_motion=base)


def test_a_motion_that_is_no_motion_is_rejected_and_leaves_the_state(puma):
    class Given:
        row = np.zeros((3, 3))

        def motion(self, t, gravity):
            return rd.BaseMotion(*self.row)

    base = Given()
    simulator = Simulator(puma, base_motion=base)
    base.row = np.array([[0, 0, 0], [0, 0, 0], [0, np.nan, 0]])
    with pytest.raises(NotFinite, match=r'motion of the base at t = 0.0005 s is .*finite'):
        simulator.step(np.zeros(6))
    base.row = np.zeros((3, 4))
    with pytest.raises(ShapeError, match=r'has shape \(12,\); it must be \(9,\)'):
        simulator.step(np.zeros(6))
    assert simulator.steps == simulator.base_steps == 0
    assert not simulator.q.any()
