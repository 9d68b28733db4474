# SPDX-License-Identifier: Apache-2.0
"""The simulator: laws of physics, errors, and repeatability bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
import robots
from scipy.integrate import solve_ivp
from tiers import soak

from robot_dynamics.common.errors import ModelError, RobotDynamicsError, ShapeError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import geared_link, planar_2r, random_tree
from robot_dynamics.simulation import (
    INTEGRATORS,
    Actuators,
    Adaptive,
    Elasticity,
    InelasticStop,
    JointModels,
    NotFinite,
    SimulationDiverged,
    Simulator,
    SpringDamperStop,
    simulate,
)


def idle(t, q, qd):
    return np.zeros(len(q))


@pytest.fixture(scope='module')
def arm():
    return Dynamics(planar_2r())


def energy(arm, run):
    return arm.kinetic_energy(run.q, run.qd) + arm.potential_energy(run.q)


def test_a_pendulum_swings_with_its_small_angle_period(arm):
    # Locked in a straight line by symmetry: a mass far out on a massless rod.
    model = planar_2r(masses=(0.0, 1.0), inertias=(1e-9, 1e-9), com=(0.5, 0.0), lengths=(2.0, 1.0))
    model = replace(model, reflected_inertia=np.array([0.0, 1.0]))
    hanging = np.array([-np.pi / 2, 0.0])
    start = hanging + np.array([1e-3, 0.0])
    run = simulate(Simulator(Dynamics(model), q=start), idle, 3.0)
    period = 2 * np.pi * np.sqrt(2.0 / 9.81)
    expected = 1e-3 * np.cos(2 * np.pi * run.t / period)
    # The pendulum equation's own correction is amplitude^2 / 16 of the phase.
    assert np.abs(run.q[:, 0] - hanging[0] - expected).max() < 1e-8


def test_energy_drift_falls_with_the_order(arm):
    drifts = {}
    for integrator in ('explicit_euler', 'semi_implicit_euler', 'rk4'):
        for h in (2e-3, 1e-3):
            run = simulate(Simulator(arm, time_step=h, integrator=integrator), idle, 2.0)
            peak = arm.kinetic_energy(run.q, run.qd).max()
            drifts[integrator, h] = np.abs(np.ptp(energy(arm, run))) / peak
    assert drifts['explicit_euler', 2e-3] / drifts['explicit_euler', 1e-3] == pytest.approx(
        2, rel=0.1
    )
    assert drifts['rk4', 2e-3] / drifts['rk4', 1e-3] > 2**4 * 0.9
    assert drifts['rk4', 1e-3] < 1e-7
    assert drifts['semi_implicit_euler', 1e-3] < drifts['explicit_euler', 1e-3]


@pytest.mark.parametrize('name', ['kuka_iiwa', 'ur5'])
def test_a_falling_real_arm_agrees_with_pinocchio(name):
    pinocchio = pytest.importorskip('pinocchio')
    model = robots.load(name)
    arm = Dynamics(model.with_actuation(viscous=0.0, coulomb=0.0))
    # Later than this the wrist, at 90 rad/s, is chaotic.
    run = simulate(Simulator(arm), idle, 3.0)

    other = pinocchio.buildModelFromUrdf(str(robots.path(name)))
    data, zero, h = other.createData(), np.zeros(model.n), 1e-3
    state, states = np.zeros((2, model.n)), []

    def rate(y):
        return np.stack([y[1], pinocchio.aba(other, data, *y, zero)])

    for _ in run.t:
        states.append(state)
        k1 = rate(state)
        k2 = rate(state + h / 2 * k1)
        k3 = rate(state + h / 2 * k2)
        k4 = rate(state + h * k3)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    q, qd = np.swapaxes(states, 0, 1)
    # Rounding has grown a millionfold by now.
    assert np.abs(run.q - q).max() < 1e-6
    peak = arm.kinetic_energy(run.q, run.qd).max()
    theirs = [pinocchio.computeMechanicalEnergy(other, data, *y) for y in zip(q, qd, strict=True)]
    # The same drift of energy, that of the method.
    assert np.ptp(energy(arm, run)) / peak == pytest.approx(np.ptp(theirs) / peak, rel=0.01)
    assert np.ptp(energy(arm, run)) / peak < 3.3e-7


def test_work_of_the_drives_becomes_energy():
    rng = np.random.default_rng(2)
    arm = Dynamics(random_tree(5, rng))
    tau = rng.normal(size=5)
    simulator = Simulator(arm, q=rng.normal(size=5), time_step=2.5e-4)
    run = simulate(simulator, lambda t, q, qd: tau, 0.5)
    # Constant torque: its work is tau . (q1 - q0), exactly.
    work = tau @ (run.q[-1] - run.q[0])
    E, peak = energy(arm, run), arm.kinetic_energy(run.q, run.qd).max()
    assert E[-1] - E[0] == pytest.approx(work, abs=1e-8 * peak)


def test_gravity_torque_holds_the_arm_still(arm):
    q = np.array([0.4, -0.9])
    run = simulate(Simulator(arm, q=q), lambda t, q, qd: arm.gravity_torque(q), 1.0)
    assert np.abs(run.q - q).max() < 1e-12


def test_effort_is_the_applied_torque():
    arm = Dynamics(replace(planar_2r(), effort_limit=np.array([3.0, np.inf])))
    limited, reference = Simulator(arm), Simulator(arm)
    limited.step([100.0, -7.0])
    reference.step([3.0, -7.0])
    assert np.array_equal(limited.effort, [3.0, -7.0])
    assert np.array_equal(limited.q, reference.q)
    assert np.array_equal(limited.qd, reference.qd)


def test_external_torques_are_not_clamped_and_not_effort():
    arm = Dynamics(replace(planar_2r(), effort_limit=np.array([3.0, 3.0])))
    pushed, free = Simulator(arm), Simulator(Dynamics(planar_2r()))
    pushed.step([1.0, 0.0], external=[50.0, 0.0])
    free.step([51.0, 0.0])
    assert np.array_equal(pushed.effort, [1.0, 0.0])
    assert np.array_equal(pushed.qd, free.qd)


def test_time_is_a_count_of_steps(arm):
    simulator = Simulator(arm, time_step=0.1)
    for _ in range(30):
        simulator.step([0.0, 0.0])
    assert simulator.time == 30 * 0.1
    simulator.reset([1.0, 2.0])
    assert simulator.time == 0.0
    assert np.array_equal(simulator.q, [1.0, 2.0])
    assert not simulator.qd.any()
    assert not simulator.effort.any()


def test_the_same_commands_give_the_same_bits():
    arm = Dynamics(planar_2r().with_actuation(viscous=0.2, coulomb=1.0))
    commands = np.random.default_rng(0).normal(size=(200, 2))
    ends = []
    for _ in range(2):
        simulator = Simulator(arm)
        for tau in commands:
            simulator.step(tau)
        ends.append((simulator.q.tobytes(), simulator.qd.tobytes()))
    assert ends[0] == ends[1]


def test_returned_arrays_are_not_changed_by_later_steps(arm):
    simulator = Simulator(arm)
    q, qd = simulator.q, simulator.qd
    simulator.step([1.0, 1.0])
    assert not q.any()
    assert not qd.any()


def test_returned_arrays_are_read_only(arm):
    simulator = Simulator(arm, q=[0.1, 0.2])
    for _ in range(2):
        for array in (simulator.q, simulator.qd, simulator.effort, simulator.motor_q):
            with pytest.raises(ValueError, match='read-only'):
                array[0] = 1.0
        simulator.step([1.0, 1.0])
    elastic = JointModels(elasticity=Elasticity(1e3))
    geared = Dynamics(arm.model.with_actuation(rotor_inertia=0.1))
    with pytest.raises(ValueError, match='read-only'):
        Simulator(geared, joint_models=elastic).motor_qd[0] = 1.0


@pytest.mark.parametrize('setting', ['time_step', 'integrator', 'joint_models', 'time', 'arm'])
def test_settings_of_a_simulator_cannot_be_changed(arm, setting):
    simulator = Simulator(arm)
    with pytest.raises(AttributeError, match=setting):
        setattr(simulator, setting, getattr(simulator, setting))


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'duration': -1.0}, 'duration is -1.0 s; it must be finite'),
        ({'duration': np.nan}, 'duration is nan s'),
        ({'duration': 0.1, 'record_every': 0}, 'record_every is 0; it must be an integer, 1 or'),
        ({'duration': 0.1, 'record_every': -2}, 'record_every is -2'),
        ({'duration': 0.1, 'record_every': 2.0}, 'record_every is 2.0'),
    ],
)
def test_invalid_arguments_of_a_run_are_rejected(arm, options, message):
    with pytest.raises(ValueError, match=message):
        simulate(Simulator(arm), idle, **options)


def test_rows_are_recorded_at_the_given_period(arm):
    run = simulate(Simulator(arm), lambda t, q, qd: [t, 0.0], 0.01, record_every=5)
    assert np.allclose(run.t, [0.0, 0.005, 0.01])
    assert run.q.shape == run.qd.shape == run.effort.shape == (3, 2)
    assert np.allclose(run.effort[:, 0], [0.0, 0.004, 0.009])


@pytest.mark.parametrize('bad', [[np.nan, 0.0], [0.0, np.inf]])
def test_a_torque_that_is_not_finite_is_rejected_and_nothing_moves(arm, bad):
    simulator = Simulator(arm, q=[0.1, 0.2])
    with pytest.raises(NotFinite, match=r"tau of joint 'joint[12]' is (nan|inf)"):
        simulator.step(bad)
    assert np.array_equal(simulator.q, [0.1, 0.2])
    assert simulator.steps == 0


def test_wrong_sizes_and_settings_are_rejected_by_name(arm):
    simulator = Simulator(arm)
    with pytest.raises(ShapeError, match=r'tau has shape \(3,\)'):
        simulator.step([0.0, 0.0, 0.0])
    with pytest.raises(ShapeError, match=r'q has shape \(1,\)'):
        simulator.reset([0.0])
    for h in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match='time_step'):
            Simulator(arm, time_step=h)

    with pytest.raises(ValueError, match="integrator is 'leapfrog'; it must be one of"):
        Simulator(arm, integrator='leapfrog')


def test_a_joint_without_inertia_is_rejected_by_name():
    with pytest.raises(ModelError, match="joint 'joint2' moves no inertia"):
        Simulator(Dynamics(planar_2r(masses=(1.0, 0.0), inertias=(0.1, 0.0))))


def test_divergence_is_an_error_with_its_time_and_keeps_the_last_state(arm):
    simulator = Simulator(arm, time_step=1.0, integrator='explicit_euler')
    with (
        pytest.raises(SimulationDiverged, match=r"of joint 'joint[12]' became .* at t ="),
        np.errstate(all='ignore'),
    ):
        simulate(simulator, lambda t, q, qd: [1e200, 0.0], 50.0)
    assert np.isfinite(simulator.q).all()
    assert np.isfinite(simulator.qd).all()
    assert issubclass(SimulationDiverged, RobotDynamicsError)


# -- snapshots ------------------------------------------------------------------------------------

EVERYTHING = JointModels(
    friction='stick_slip',
    actuators=Actuators(delay=3e-3, rate_limit=900.0),
    stops=SpringDamperStop(1e4, 10.0),
    elasticity=Elasticity(2e3, 1.0),
)


@pytest.mark.parametrize('joint_models', [JointModels(), EVERYTHING])
def test_from_a_snapshot_the_same_commands_give_the_same_bits(joint_models):
    model = replace(planar_2r(), lower=np.full(2, -0.7), upper=np.full(2, 0.7))
    model = model.with_actuation(viscous=0.2, coulomb=1.0, rotor_inertia=0.1)
    simulator = Simulator(Dynamics(model), joint_models=joint_models)
    commands = 40.0 * np.random.default_rng(0).normal(size=(300, 2))

    def play(rows):
        states = []
        for k, tau in rows:
            if k == 150:
                simulator.attach('link2', 0.5)
            simulator.step(tau)
            states.append(
                (simulator.q.tobytes(), simulator.qd.tobytes(), simulator.effort.tobytes())
            )
        return states, simulator.time

    rows = list(enumerate(commands))
    play(rows[:100])
    early = simulator.snapshot()
    first = play(rows[100:])
    late = simulator.snapshot()
    simulator.restore(early)
    assert play(rows[100:]) == first
    # Once more, payloads included, and into another simulator with the same settings.
    simulator.restore(early)
    assert simulator.payloads == {}
    other = Simulator(Dynamics(model), joint_models=joint_models)
    other.restore(late)
    simulator.restore(late)
    for one in (simulator, other):
        one.step([1.0, 2.0])
    assert np.array_equal(simulator.q, other.q)
    assert other.payloads.keys() == {'link2'}


def test_a_snapshot_of_another_robot_is_rejected(arm):
    other = Simulator(Dynamics(random_tree(3, np.random.default_rng(0))))
    with pytest.raises(ShapeError, match='the snapshot has 3 coordinates, this simulator 2'):
        Simulator(arm).restore(other.snapshot())


def test_a_snapshot_of_other_drives_is_rejected(arm):
    late, prompt = (
        Simulator(arm, joint_models=JointModels(actuators=actuators))
        for actuators in (Actuators(delay=2e-3), None)
    )
    with pytest.raises(ShapeError, match='drives of the snapshot store 3 torques, those of t'):
        prompt.restore(late.snapshot())
    # It would have continued without its drives.
    with pytest.raises(ShapeError, match='drives of the snapshot store 0 torques'):
        late.restore(prompt.snapshot())


def test_a_snapshot_restores_the_payload(arm):
    simulator = Simulator(arm)
    simulator.attach('link2', 1.0)
    loaded = simulator.snapshot()
    simulator.drop('link2')
    # Of the same mass, with another centre of mass.
    simulator.attach('link2', 1.0, [0.3, 0.0, 0.0])
    simulator.restore(loaded)
    made = Dynamics(arm.model.with_payload('link2', 1.0))
    assert simulator.potential_energy() == pytest.approx(made.potential_energy([0.0, 0.0]))
    simulator.step([0.0, 0.0])
    expected = Simulator(made)
    expected.step([0.0, 0.0])
    assert simulator.qd == pytest.approx(expected.qd, rel=1e-12)


# -- divergence -----------------------------------------------------------------------------------


def test_diverging_energy_is_reported_before_it_overflows(arm):
    # A step far too long for how fast the arm falls.
    simulator = Simulator(arm, qd=[3.0, 30.0], time_step=0.02, integrator='semi_implicit_euler')
    with pytest.raises(SimulationDiverged, match=r'J more than the work done'):
        simulate(simulator, idle, 60.0)
    assert np.abs(simulator.qd).max() < 1e9
    # Its state is kept, and it continues after a reset.
    simulator.reset()
    simulator.step([0.0, 0.0])


@pytest.mark.parametrize('integrator', INTEGRATORS)
def test_large_work_of_the_drives_is_no_divergence(integrator):
    # Torques of a hundred times its weight, near the largest stable step.
    arm = Dynamics(planar_2r().with_actuation(viscous=20.0))
    simulator = Simulator(arm, integrator=integrator)
    run = simulate(simulator, lambda t, q, qd: 3000.0 * np.sin([20 * t, 31 * t]), 0.5)
    assert arm.kinetic_energy(run.q, run.qd).max() > 1000.0


def test_an_arm_at_rest_without_gravity_is_in_balance():
    arm = Dynamics(planar_2r().with_gravity((0.0, 0.0, 0.0)))
    for tau in (0.0, 1e-9, 1e2):
        simulate(Simulator(arm), lambda t, q, qd, tau=tau: np.array([tau, 0.0]), 0.05)


def test_energies_are_those_of_the_arm(arm):
    simulator = Simulator(arm, q=[0.3, 0.4], qd=[1.0, -2.0])
    assert simulator.kinetic_energy() == arm.kinetic_energy([0.3, 0.4], [1.0, -2.0])
    assert simulator.potential_energy() == arm.potential_energy([0.3, 0.4])


def test_an_unknown_friction_law_is_rejected():
    with pytest.raises(ValueError, match="friction is 'dry'; it must be one of smooth, st"):
        JointModels(friction='dry')


def test_rotors_and_gears_are_those_of_example_6_1():
    # (r^2 J_m + J_l) qdd + (r^2 B_m + B_l) qd + M g l sin(q) = u,   q = 0 hanging down
    r, Jm, Jl, mass, length, Bm, Bl = 60.0, 1e-4, 0.5, 2.0, 0.4, 1e-5, 0.02
    arm = Dynamics(geared_link(r, Jm, Jl, mass, length, Bm, Bl))
    run = simulate(Simulator(arm, q=[0.3], qd=[0.7]), lambda t, q, qd: [1.5], 1.0)

    def rate(_, y):
        left = 1.5 - (r**2 * Bm + Bl) * y[1] - mass * 9.81 * length * np.sin(y[0])
        return [y[1], left / (r**2 * Jm + Jl)]

    by_hand = solve_ivp(rate, (0, 1), [0.3, 0.7], 'DOP853', rtol=1e-12, atol=1e-12)
    assert [run.q[-1, 0], run.qd[-1, 0]] == pytest.approx(by_hand.y[:, -1], abs=1e-10)


@pytest.mark.parametrize('wrong', ['rk5', 'RK4', None, 4, np.linalg.solve])
def test_an_unknown_integrator_is_rejected_by_name(arm, wrong):
    with pytest.raises(ValueError, match=r'integrator is .*; it must be one of .*rk4'):
        Simulator(arm, integrator=wrong)


@pytest.mark.parametrize('solver', [None, Adaptive()])
def test_without_a_controller_the_arm_moves_freely(arm, solver):
    runs = [
        simulate(Simulator(arm, q=[0.3, -0.2]), torque, 0.05, solver=solver)
        for torque in (None, idle)
    ]
    assert runs[0].q.tobytes() == runs[1].q.tobytes()
    assert np.abs(runs[0].q[-1] - [0.3, -0.2]).min() > 1e-3
    assert not runs[0].effort.any()


@pytest.mark.parametrize('speed', [1e12, *soak([1e100]), 1e155, *soak([1e200]), 1e300])
@pytest.mark.parametrize('stops', [None, InelasticStop(), SpringDamperStop(1e4, 100.0)])
@pytest.mark.parametrize('friction', ['smooth', 'stick_slip'])
@pytest.mark.parametrize('elasticity', [None, Elasticity(1e3)])
@pytest.mark.filterwarnings('error')
def test_an_overflowing_velocity_diverges_without_a_warning(speed, stops, friction, elasticity):
    model = random_tree(3, np.random.default_rng(0)).with_actuation(
        viscous=0.1, coulomb=0.2, rotor_inertia=0.1
    )
    model = replace(model, lower=np.full(3, -1.0), upper=np.full(3, 1.0))
    joint_models = JointModels(friction=friction, stops=stops, elasticity=elasticity)
    arm = Dynamics(model)
    for integrator in INTEGRATORS:
        if elasticity is None or integrator != 'explicit_euler':
            simulator = Simulator(
                arm, qd=[speed] * 3, joint_models=joint_models, integrator=integrator
            )
            try:
                for _ in range(3):
                    simulator.step(np.zeros(3))
            except SimulationDiverged:
                assert simulator.steps < 3
