# SPDX-License-Identifier: Apache-2.0
"""Integrators: order, energy, and agreement with the integrators of other engines."""

import json
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import robots
from scipy.integrate import solve_ivp

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.simulation import (
    INTEGRATORS,
    Adaptive,
    Elasticity,
    InelasticStop,
    JointModels,
    NotFinite,
    SimulationDiverged,
    Simulator,
    simulate,
)
from robot_dynamics.urdf.physics_only import bare_urdf

ORDER = {
    'explicit_euler': 1,
    'semi_implicit_euler': 1,
    'rk4': 4,
    'implicit_midpoint': 2,
    'discrete_gradient': 2,
}
# Steps per second at which each is in its asymptotic range, and rounding far below its error.
STEPS = {1: (2000, 4000, 8000), 2: (500, 1000, 2000), 4: (500, 1000, 2000)}


def still(t, q, qd):
    return np.zeros(len(q))


def state(simulator):
    return np.concatenate([simulator.q, simulator.qd])


@pytest.fixture(scope='module')
def ur5():
    """An arm, a state, and where it is a second later, to twelve digits."""
    arm = Dynamics(robots.load('ur5')).without_friction()
    q0 = np.random.default_rng(0).uniform(-1.0, 1.0, 6)

    # Independent of the simulator, except for the accelerations.
    def rate(_, y):
        return np.concatenate([y[6:], arm.forward_dynamics(y[:6], y[6:], np.zeros(6))])

    start = np.concatenate([q0, np.zeros(6)])
    end = solve_ivp(rate, (0, 1), start, 'DOP853', rtol=1e-12, atol=1e-12)
    return arm, q0, end.y[:, -1]


def error(arm, q0, exact, name, steps):
    simulator = Simulator(arm, q=q0, time_step=1 / steps, integrator=name)
    simulate(simulator, still, 1.0)
    return np.abs(state(simulator) - exact).max()


@pytest.mark.parametrize('name', INTEGRATORS)
def test_each_integrator_converges_to_dop853_with_its_order(ur5, name):
    steps = STEPS[ORDER[name]]
    errors = [error(*ur5, name, k) for k in steps]
    slope = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(ORDER[name], abs=0.1)


def test_order_four_reaches_1e_9(ur5):
    assert error(*ur5, 'rk4', 4000) < 1e-9


@pytest.mark.parametrize('solver', [Adaptive(), Adaptive('Radau', rtol=1e-10, atol=1e-10)])
def test_the_solvers_of_scipy_are_a_reference(ur5, solver):
    arm, q0, exact = ur5
    simulator = Simulator(arm, q=q0)
    run = simulate(simulator, still, 1.0, solver=solver, record_every=100)
    assert state(simulator) == pytest.approx(exact, abs=1e-8)
    assert simulator.steps == 1000
    assert run.t == pytest.approx(np.linspace(0, 1, 11))
    assert np.array_equal(run.q[-1], simulator.q)
    # Between the samples as well.
    fine = simulate(Simulator(arm, q=q0, time_step=2.5e-4), still, 1.0, record_every=400)
    assert run.q == pytest.approx(fine.q, abs=1e-8)
    # A step can follow.
    simulator.step(np.zeros(6))


# Dry friction is held over each step: an error of first order where a joint starts or reverses.
@pytest.mark.parametrize(('coulomb', 'error'), [(0.0, 1e-6), (0.3, 1e-4)])
def test_a_solver_follows_friction_torque_limits_and_springs(coulomb, error):
    model = planar_2r().with_actuation(viscous=0.4, coulomb=coulomb, rotor_inertia=0.1)
    model = replace(model, effort_limit=np.array([3.0, 0.5]))
    for joint_models in (JointModels(), JointModels(elasticity=Elasticity(300.0, 0.5))):
        ends = []
        for solver in (Adaptive(), None):
            simulator = Simulator(Dynamics(model), joint_models=joint_models, time_step=2e-4)
            run = simulate(simulator, lambda t, q, qd: [30.0, -1.0], 0.5, solver=solver)
            assert np.array_equal(run.effort[-1], [3.0, -0.5])
            ends.append(state(simulator))
        assert ends[0] == pytest.approx(ends[1], abs=error)


def test_the_work_of_a_solver_is_no_divergence():
    arm = Dynamics(planar_2r().with_gravity((0.0, 0.0, 0.0)))
    simulator = Simulator(arm)
    simulate(simulator, lambda t, q, qd: [100.0, 0.0], 0.5, solver=Adaptive())
    assert simulator.kinetic_energy() > 100.0
    simulate(simulator, still, 0.05)


def test_a_solver_checks_a_torque_law_as_a_step_does():
    arm = Dynamics(planar_2r())
    with pytest.raises(ShapeError, match=r'tau has shape \(1,\)'):
        simulate(Simulator(arm), lambda t, q, qd: [1.0], 0.1, solver=Adaptive())
    with pytest.raises(NotFinite, match="tau of joint 'joint2' is nan"):
        simulate(Simulator(arm), lambda t, q, qd: [1.0, np.nan], 0.1, solver=Adaptive())
    assert simulate(Simulator(arm), still, 0.0, solver=Adaptive()).t == [0.0]


@pytest.mark.parametrize(
    'joint_models', [JointModels(friction='stick_slip'), JointModels(stops=InelasticStop())]
)
def test_a_solver_rejects_models_that_are_no_function_of_the_state(joint_models):
    arm = Dynamics(planar_2r().with_actuation(coulomb=1.0))
    with pytest.raises(ValueError, match='not a function of the state'):
        simulate(Simulator(arm, joint_models=joint_models), still, 0.1, solver=Adaptive())


# -- energy ---------------------------------------------------------------------------------


def drift(name, integrator, seconds, h=1e-3):
    arm = Dynamics(robots.load(name)).without_friction()
    run = simulate(Simulator(arm, integrator=integrator, time_step=h), still, seconds)
    kinetic = arm.kinetic_energy(run.q, run.qd)
    energy = kinetic + arm.potential_energy(run.q)
    return (energy - energy[0]) / kinetic.max()


def runge_kutta(rate, y, steps, h):
    """Return the states (steps + 1, 2, n) of an independent Runge-Kutta method."""
    states = [y]
    for _ in range(steps):
        k1 = rate(y)
        k2 = rate(y + h / 2 * k1)
        k3 = rate(y + h / 2 * k2)
        k4 = rate(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(y)
    return np.array(states)


@pytest.mark.parametrize('name', [name for name in ('ur5', 'kuka_iiwa') if name in robots.NAMES])
def test_energy_drift_of_a_fall_is_at_most_that_of_an_independent_runge_kutta(name):
    pinocchio = pytest.importorskip('pinocchio')
    model = robots.load(name)
    arm, n = Dynamics(model).without_friction(), model.n
    other = pinocchio.buildModelFromUrdf(str(robots.path(name)))
    data, zero = other.createData(), np.zeros(n)

    def rate(y):
        return np.stack([y[1], pinocchio.aba(other, data, *y, zero)])

    simulator = Simulator(arm)
    ours, theirs, peak = [], [], 0.0
    # The wrist is chaotic: every second both begin in the same state.
    for _ in range(10):
        start = np.stack([simulator.q, simulator.qd])
        run = simulate(simulator, still, 1.0)
        for drifts, q, qd in (
            (ours, run.q, run.qd),
            (theirs, *np.swapaxes(runge_kutta(rate, start, 1000, 1e-3), 0, 1)),
        ):
            kinetic = arm.kinetic_energy(q, qd)
            energy = kinetic + arm.potential_energy(q)
            drifts.append(np.abs(energy - energy[0]).max())
        peak = max(peak, arm.kinetic_energy(run.q, run.qd).max())
    assert sum(ours) <= 1.5 * sum(theirs)
    assert sum(ours) < 1e-5 * peak
    # In the worst second of each as well.
    assert max(ours) <= 1.5 * max(theirs)


@pytest.mark.slow
def test_the_midpoint_rule_keeps_the_energy_bounded_without_trend():
    errors = drift('ur5', 'implicit_midpoint', 20.0)
    first, second = np.abs(errors[:10_000]), np.abs(errors[10_000:])
    assert second.max() < 1.5 * first.max()
    assert second.mean() < 1.2 * first.mean()
    # O(h^2): a step of twice the length has four times the error.
    twice = np.abs(drift('ur5', 'implicit_midpoint', 5.0, h=2e-3)).max()
    assert twice / np.abs(errors[:5000]).max() == pytest.approx(4.0, rel=0.1)


@pytest.mark.slow
def test_the_discrete_gradient_keeps_the_energy_to_rounding():
    errors = np.abs(drift('ur5', 'discrete_gradient', 5.0))
    assert errors.max() < 1e-12
    # However long the step.
    assert np.abs(drift('ur5', 'discrete_gradient', 1.0, h=1e-2)).max() < 1e-12


@pytest.mark.parametrize('integrator', ['implicit_midpoint', 'discrete_gradient'])
def test_the_energy_of_a_driven_arm_changes_by_the_work_done(integrator):
    rng = np.random.default_rng(2)
    arm = Dynamics(random_tree(5, rng))
    tau = rng.normal(size=5)
    simulator = Simulator(arm, q=rng.normal(size=5), integrator=integrator)
    q0, before = simulator.q, simulator.kinetic_energy() + simulator.potential_energy()
    peak = 0.0
    for _ in range(500):
        simulator.step(tau)
        peak = max(peak, simulator.kinetic_energy())
    gained = simulator.kinetic_energy() + simulator.potential_energy() - before
    tolerance = 1e-12 if integrator == 'discrete_gradient' else 1e-4
    assert gained == pytest.approx(tau @ (simulator.q - q0), abs=tolerance * peak)


def test_implicit_steps_are_time_reversible():
    # Time-reversible: with the velocities turned round, the arm returns along its path.
    arm = Dynamics(planar_2r())
    start = np.array([0.3, -0.8])
    for integrator in ('implicit_midpoint', 'discrete_gradient'):
        simulator = Simulator(arm, q=start, integrator=integrator)
        simulate(simulator, still, 1.0)
        simulator.reset(simulator.q, -simulator.qd)
        simulate(simulator, still, 1.0)
        assert simulator.q == pytest.approx(start, abs=1e-9)


@pytest.mark.parametrize('turning', [1.0, -1.0])
def test_the_midpoint_rule_keeps_the_momentum_about_a_free_axis_and_the_discrete_gradient_not(
    turning,
):
    # Nothing acts about the first joint of ur5, which is vertical.
    arm = Dynamics(robots.load('ur5')).without_friction()
    q0 = np.random.default_rng(3).uniform(-1, 1, 6)

    def change(integrator, h):
        qd0 = turning * np.array([1.0, 0, 0, 0, 0, 0])
        run = simulate(
            Simulator(arm, q=q0, qd=qd0, integrator=integrator, time_step=h), still, 1.0
        )
        momentum = np.einsum('kj,kj->k', arm.mass_matrix(run.q)[:, 0], run.qd)
        return np.ptp(momentum) / np.abs(momentum).max()

    assert change('implicit_midpoint', 1e-3) < 1e-12
    off, less = (change('discrete_gradient', h) for h in (1e-3, 5e-4))
    assert 1e-9 < off < 1e-5
    assert off / less == pytest.approx(4.0, rel=0.05)  # O(h^2)


@pytest.mark.slow
def test_semi_implicit_euler_loses_track_of_the_energy_of_an_arm():
    """It is symplectic only where the mass matrix is constant."""
    of_steps = [np.abs(drift('ur5', 'semi_implicit_euler', 10.0, h)).max() for h in (1e-3, 2.5e-4)]
    assert of_steps[0] > 1e-2
    assert of_steps[0] / of_steps[1] == pytest.approx(4.0, rel=0.5)  # O(h)
    minute = drift('ur5', 'semi_implicit_euler', 60.0)
    assert np.abs(minute[40_000:]).mean() > 3 * np.abs(minute[:20_000]).mean()


def test_a_step_that_is_too_long_is_reported():
    arm = Dynamics(planar_2r())
    with pytest.raises(SimulationDiverged, match=r'not solved in 60 rounds: 0.5 s is too long'):
        simulate(
            Simulator(arm, time_step=0.5, integrator='implicit_midpoint'),
            lambda t, q, qd: [400.0, -400.0],
            20.0,
        )


# -- other engines ----------------------------------------------------------------------------


def bare(name):
    root = ElementTree.fromstring(bare_urdf(robots.path(name).read_text()))
    options = {'balanceinertia': 'false', 'fusestatic': 'false'}
    ElementTree.SubElement(ElementTree.SubElement(root, 'mujoco'), 'compiler', options)
    return ElementTree.tostring(root, encoding='unicode')


@pytest.mark.parametrize('scheme', ['semi_implicit_euler', 'rk4'])
def test_mujoco_agrees_with_the_same_scheme(ur5, scheme):
    mujoco = pytest.importorskip('mujoco')
    arm, q0, exact = ur5
    other = mujoco.MjModel.from_xml_string(bare('ur5'))
    other.opt.disableflags |= (
        mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    )
    other.opt.timestep = 1e-3
    schemes = mujoco.mjtIntegrator
    other.opt.integrator = schemes.mjINT_RK4 if scheme == 'rk4' else schemes.mjINT_EULER
    other.dof_damping[:] = 0.0
    data = mujoco.MjData(other)
    data.qpos[:] = q0
    mujoco.mj_step(other, data, nstep=1000)
    simulator = Simulator(arm, q=q0, integrator=scheme)
    simulate(simulator, still, 1.0)
    theirs = np.concatenate([data.qpos, data.qvel])
    own_error = np.abs(state(simulator) - exact).max()
    # The same scheme: far closer to each other than to the exact solution.
    assert np.abs(theirs - state(simulator)).max() < 1e-3 * own_error + 1e-10


BULLET = """
import json, sys
import pybullet as p
path, q0, steps = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
p.connect(p.DIRECT)
p.setGravity(0, 0, -9.81)
p.setTimeStep(1e-3)
arm = p.loadURDF(path, useFixedBase=True, flags=p.URDF_USE_INERTIA_FROM_FILE)
moving = [j for j in range(p.getNumJoints(arm)) if p.getJointInfo(arm, j)[2] != p.JOINT_FIXED]
for j in range(-1, p.getNumJoints(arm)):
    p.changeDynamics(arm, j, linearDamping=0, angularDamping=0, jointDamping=0)
for j in moving:
    p.changeDynamics(arm, j, jointLowerLimit=-1e3, jointUpperLimit=1e3)
for j, angle in zip(moving, q0):
    p.resetJointState(arm, j, angle, 0)
    p.setJointMotorControl2(arm, j, p.VELOCITY_CONTROL, force=0)
for _ in range(steps):
    p.stepSimulation()
states = p.getJointStates(arm, moving)
print('state', json.dumps([[s[0] for s in states], [s[1] for s in states]]))
"""


def test_pybullet_agrees_with_the_same_scheme(ur5, tmp_path):
    pytest.importorskip('pybullet')
    arm, q0, exact = ur5
    path = tmp_path / 'bare.urdf'
    path.write_text(bare_urdf(robots.path('ur5').read_text()))
    # In a process of its own: it prints, and it may crash.
    done = subprocess.run(
        [sys.executable, '-c', BULLET, str(path), json.dumps(q0.tolist()), '1000'],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    line = next(row for row in done.stdout.splitlines() if row.startswith('state'))
    theirs = np.concatenate(json.loads(line.removeprefix('state')))
    simulator = Simulator(arm, q=q0, integrator='semi_implicit_euler')
    simulate(simulator, still, 1.0)
    own_error = np.abs(state(simulator) - exact).max()
    difference = np.abs(theirs - state(simulator)).max()
    assert difference < 1e-6 * own_error


@pytest.mark.parametrize('integrator', ['implicit_midpoint', 'discrete_gradient'])
def test_an_arm_under_its_gravity_torque_stays_at_rest(integrator):
    # Rounding alone moves it: the residual of a step has no scale.
    arm = Dynamics(robots.load('ur5')).without_friction()
    for q in (np.zeros(6), np.full(6, 0.7), np.array([0.0, -np.pi / 2, 0.0, 0.0, 0.0, 0.0])):
        tau = arm.gravity_torque(q)
        run = simulate(Simulator(arm, q=q, integrator=integrator), lambda *_: tau, 0.3)  # noqa: B023
        assert np.abs(run.q - q).max() < 1e-9
