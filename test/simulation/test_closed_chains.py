# SPDX-License-Identifier: Apache-2.0
"""Motion of mechanisms with loops: closure, energy, order of the integrators, errors."""

from dataclasses import replace

import linkages
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tiers import soak

from robot_dynamics.common.errors import LoopNotClosed, ShapeError, SingularityError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.coordinates import with_coordinates
from robot_dynamics.core.model.robots import five_bar, planar_2r
from robot_dynamics.simulation import (
    NotFinite,
    SimulationDiverged,
    Simulator,
)
from robot_dynamics.simulation.closed_chains import ClosedChain
from robot_dynamics.simulation.closed_chains.closed_loop_simulator import ClosedLoopSimulator
from robot_dynamics.textbook.closed_forms import SliderCrank

MOTORS = ('joint1', 'joint2')


def chain_of(linkage):
    return ClosedChain(Dynamics(linkage.tree), linkage.closures, near=linkage.near)


@pytest.fixture(scope='module')
def four_bar():
    return chain_of(linkages.four_bar())


@pytest.fixture(scope='module')
def five_bar_chain():
    return chain_of(linkages.five_bar_linkage())


def energy(chain, q, qd):
    return float(chain.arm.kinetic_energy(q, qd) + chain.arm.potential_energy(q))


def motors(t, q, qd):
    """Return torques that swing the five-bar's motors and never let it fold flat."""
    wanted = np.array([-0.4, 1.3]) + 0.5 * np.sin([1.3 * t, 2.1 * t])
    return np.array([*(40.0 * (wanted - q[:2]) - 4.0 * qd[:2]), 0.0, 0.0])


@pytest.mark.parametrize('setting', ['time_step', 'integrator', 'time'])
def test_settings_cannot_be_changed(four_bar, setting):
    simulator = ClosedLoopSimulator(four_bar)
    with pytest.raises(AttributeError, match=setting):
        setattr(simulator, setting, getattr(simulator, setting))


# -- the loops stay closed ----------------------------------------------------------------------


@pytest.mark.parametrize('duration', [6.0, *soak([60.0])])
def test_five_bar_stays_closed(five_bar_chain, duration):
    chain = five_bar_chain
    simulator = ClosedLoopSimulator(chain)
    worst = farthest = 0.0
    for _ in range(round(duration / 1e-3)):
        simulator.step(motors(simulator.time, simulator.q, simulator.qd))
        worst = max(worst, np.abs(chain.residual(simulator.q)).max())
        farthest = max(farthest, np.abs(simulator.q - chain.q0).max())
    assert simulator.time == pytest.approx(duration)
    assert worst <= 1e-9
    assert farthest > 0.3  # The linkage has moved.
    assert np.abs(chain.terms(simulator.q, simulator.qd).J @ simulator.qd).max() < 1e-12


@pytest.mark.parametrize('name', ['four_bar', 'slider_crank', 'spatial_four_bar', 'bennett'])
def test_falling_linkages_keep_their_energy(name):
    """The drift in ten seconds is that of the integrator on an open chain of the same speed."""
    chain = chain_of(getattr(linkages, name)())
    simulator = ClosedLoopSimulator(chain, time_step=2e-3)
    start, peak, drift = energy(chain, simulator.q, simulator.qd), 0.0, 0.0
    for _ in range(5_000):
        simulator.step(np.zeros(chain.arm.model.n))
        drift = max(drift, abs(energy(chain, simulator.q, simulator.qd) - start))
        peak = max(peak, float(chain.arm.kinetic_energy(simulator.q, simulator.qd)))
    assert peak > 0.1
    assert drift < 1e-6 * peak
    assert np.abs(chain.residual(simulator.q)).max() <= 1e-11


@pytest.mark.parametrize(
    ('integrator', 'order'), [('explicit_euler', 1), ('semi_implicit_euler', 1), ('rk4', 4)]
)
def test_projection_keeps_the_integrators_order(four_bar, integrator, order):
    """Against the linkage in its one free coordinate, which needs no closure."""
    chain, duration = four_bar, 0.4
    reference = reduced_motion(chain, 'crank', duration)
    errors, steps = [], [40, 80, 160] if order == 4 else [400, 800, 1600]
    for count in steps:
        simulator = ClosedLoopSimulator(chain, time_step=duration / count, integrator=integrator)
        for _ in range(count):
            simulator.step(np.zeros(3))
        errors.append(abs(simulator.q[0] - reference))
    slopes = np.diff(np.log(errors)) / np.log(0.5)
    assert slopes[-1] == pytest.approx(order, abs=0.1)


def reduced_motion(chain, joint, duration):
    """Return the joint's position after falling freely, by an adaptive solver of order 8."""
    j = chain.arm.model.joint_names.index(joint)
    near = [chain.q0]

    def rates(_, y):
        q, qd = near[0].copy(), np.zeros(len(chain.q0))
        q[j], qd[j] = y
        q = near[0] = chain.posture(q, hold=[joint])
        qd = chain.velocity(q, qd, hold=[joint])
        M, b = chain.driven_terms(q, qd, [joint])
        return [y[1], -b[0] / M[0, 0]]

    start = [chain.q0[j], 0.0]
    run = solve_ivp(rates, (0, duration), start, method='DOP853', rtol=1e-12, atol=1e-13)
    return run.y[0, -1]


def test_slider_crank_moves_by_its_equation_derived_by_hand():
    r, l, density, piston = 0.2, 0.7, 2.0, 1.5
    chain = chain_of(linkages.slider_crank(r, l, density, piston))
    by_hand = SliderCrank(
        r=r,
        l=l,
        c=(r / 2, l / 2),
        m=(density * r, density * l, piston),
        I=(density * r**3 / 12, density * l**3 / 12),
    )

    def rates(_, y):
        q, qd = y[:1], y[1:]
        bias = by_hand.inverse_dynamics(q, qd, np.zeros(1))
        return [y[1], (0.5 - bias[0]) / by_hand.mass_matrix(q)[0, 0]]

    run = solve_ivp(rates, (0, 1), [chain.q0[0], 0], method='DOP853', rtol=1e-12, atol=1e-12)
    simulator = ClosedLoopSimulator(chain, time_step=5e-4)
    for _ in range(2000):
        simulator.step([0.5, 0.0, 0.0])
    assert simulator.q[0] == pytest.approx(run.y[0, -1], abs=1e-9)
    assert simulator.q[2] == pytest.approx(by_hand.piston(run.y[:1, -1])[0], abs=1e-9)


@pytest.mark.parametrize('name', ['four_bar', 'spatial_four_bar', 'bennett'])
def test_the_compiled_step_is_used_and_agrees_with_the_careful_one(name, monkeypatch):
    linkage = getattr(linkages, name)()
    tree = linkage.tree.with_actuation(viscous=0.05)
    chain = chain_of(linkage._replace(tree=tree))
    tau = np.linspace(-1, 1, tree.n)
    careful, quick = (ClosedLoopSimulator(chain) for _ in range(2))
    monkeypatch.setattr(careful, '_quick_step', lambda load: None)
    monkeypatch.setattr(quick, '_careful_step', None)
    step_often(careful, tau, 200)
    step_often(quick, tau, 200)
    assert np.abs(careful.qd).max() > 0.3
    assert np.abs(careful.q - quick.q).max() < 1e-11
    assert np.abs(careful.qd - quick.qd).max() < 1e-10


# -- agreement with coordinate maps ---------------------------------------------------------------


def test_parallelogram_by_map_equals_parallelogram_by_closure(five_bar_chain):
    mapped, chain = Dynamics(five_bar()), five_bar_chain
    S, s0 = mapped.model.S, mapped.model.s0
    by_closure = ClosedLoopSimulator(chain)
    by_map = Simulator(mapped, q=by_closure.q[:2])
    for _ in range(2000):
        tau = motors(by_closure.time, by_closure.q, by_closure.qd)
        by_closure.step(tau)
        by_map.step(tau[:2])
    assert np.abs(by_closure.qd).max() > 0.5
    assert np.abs(by_closure.q - (S @ by_map.q + s0)).max() < 1e-9
    assert np.abs(by_closure.qd - S @ by_map.qd).max() < 1e-9


def test_mimic_joint_by_map_equals_its_gears_by_hand():
    """q2 = -2 q1 + 0.3: stepped in one coordinate, as the equation S^T M S of the two says."""
    open_arm = planar_2r()
    S, s0 = np.array([[1.0], [-2.0]]), np.array([0.0, 0.3])
    mapped = Dynamics(with_coordinates(open_arm, S, s0))
    arm = Dynamics(open_arm)

    def rates(_, y):
        q, qd = S[:, 0] * y[0] + s0, S[:, 0] * y[1]
        M = S.T @ arm.mass_matrix(q) @ S
        return [y[1], (0.4 - S[:, 0] @ arm.bias_torque(q, qd)) / M[0, 0]]

    run = solve_ivp(rates, (0, 1), [0.2, 0.0], method='DOP853', rtol=1e-12, atol=1e-12)
    simulator = Simulator(mapped, q=[0.2])
    for _ in range(1000):
        simulator.step([0.4])
    assert simulator.q[0] == pytest.approx(run.y[0, -1], abs=1e-9)


def test_remote_drive_by_map_is_the_parallelogram_without_masses():
    """Spong, Hutchinson and Vidyasagar: 6.4.3 is 6.4.4 with massless bars 2 and 3."""
    light = 1e-9
    heavy = chain_of(
        linkages.five_bar_linkage(
            (1.0, 0.5), (0.5, 0.25, 0.5, 0.5), (1.0, light, light, 1.0), (0.1, light, light, 0.1)
        )
    )
    remote = Dynamics(
        with_coordinates(planar_2r(com=(0.5, 0.5), inertias=(0.1, 0.1)), [[1, 0], [-1, 1]])
    )
    qd = heavy.velocity(heavy.q0, [0.3, -0.8, 0.0, 0.0], hold=MOTORS)
    qdd = heavy.forward_dynamics(heavy.q0, qd, [0.2, -0.1, 0.0, 0.0]).qdd
    # link 4 points from the elbow the other way: its angle is q2 - pi
    theirs = remote.forward_dynamics([heavy.q0[0], heavy.q0[1] - np.pi], qd[:2], [0.2, -0.1])
    assert np.abs(qdd[:2] - theirs).max() < 1e-6


# -- forces, friction, limits -------------------------------------------------------------------


def test_reactions_hold_the_rocker_by_newtons_law(four_bar):
    """The rocker alone: its angular momentum changes by the moments of gravity and pin."""
    chain = four_bar
    simulator = ClosedLoopSimulator(chain)
    tau = np.array([0.8, 0.0, 0.0])
    for _ in range(300):
        simulator.step(tau)
    q, qd = simulator.q, simulator.qd
    (wrench,) = simulator.wrenches()
    qdd = chain.forward_dynamics(q, qd, tau).qdd
    mass, length, angle = 1.2, 0.6, q[2]
    arm = length * np.array([np.cos(angle), np.sin(angle)])
    weight = -mass * 9.81 * arm[0] / 2
    moment = arm[0] * wrench[4] - arm[1] * wrench[3]
    assert mass * length**2 / 3 * qdd[2] == pytest.approx(weight + moment, rel=1e-10)
    # a pin in the plane takes no moment about its axis, and nothing pulls out of the plane
    assert np.abs(wrench[[0, 1, 2, 5]]).max() < 1e-12


def test_reactions_are_those_of_joints_with_friction():
    """The rocker alone again, whose own bearing now brakes it."""
    linkage = linkages.four_bar()
    viscous, coulomb = 0.5, 0.2
    tree = linkage.tree.with_actuation(viscous=viscous, coulomb=coulomb)
    chain = chain_of(linkage._replace(tree=tree))
    simulator = ClosedLoopSimulator(chain, time_step=1e-4)
    step_often(simulator, [12.0, 0.0, 0.0], 2000)
    q, qd = simulator.q, simulator.qd
    assert np.abs(qd).min() > 0.1
    (wrench,) = simulator.wrenches()
    simulator.step([12.0, 0.0, 0.0])
    qdd = (simulator.qd - qd) / 1e-4
    mass, length, angle = 1.2, 0.6, q[2]
    arm = length * np.array([np.cos(angle), np.sin(angle)])
    weight = -mass * 9.81 * arm[0] / 2
    moment = arm[0] * wrench[4] - arm[1] * wrench[3]
    braking = -viscous * qd[2] - coulomb * np.sign(qd[2])
    # The acceleration is that of the middle of a step, a tenth of a millisecond late.
    expected = weight + moment + braking
    assert mass * length**2 / 3 * qdd[2] == pytest.approx(expected, abs=1e-3)
    assert abs(braking) > 0.1


@pytest.mark.parametrize('h', [1e-3, 1e-2])
def test_friction_that_could_reverse_joints_within_a_step_only_slows_them(h):
    linkage = linkages.four_bar()
    tree = linkage.tree.with_gravity((0.0, 0.0, 0.0)).with_actuation(coulomb=30.0)
    chain = chain_of(linkage._replace(tree=tree))
    start = chain.velocity(chain.q0, [5.0, 0.0, 0.0])
    simulator = ClosedLoopSimulator(chain, qd=start, time_step=h)
    speeds = [np.abs(start)]
    for _ in range(100):
        simulator.step(np.zeros(3))
        speeds.append(np.abs(simulator.qd))
        assert (simulator.qd * start >= -1e-12).all()
    assert (np.diff(speeds, axis=0) <= 1e-12).all()
    assert speeds[-1].max() < 1e-6
    # Pushed less than its dry friction the linkage creeps, where the friction of all joints and
    # the torque are in balance: d/dt of the energy is zero.
    step_often(simulator, [20.0, 0.0, 0.0], 100)
    qd = simulator.qd
    assert qd[0] > 1e-3
    assert 20.0 * qd[0] == pytest.approx(chain.arm.friction_torque(qd) @ qd, rel=1e-2)


def test_friction_never_adds_energy_and_stops_the_linkage():
    linkage = linkages.four_bar()
    # dry friction so stiff that an explicit step of this length would make the joints chatter
    tree = linkage.tree.with_actuation(viscous=0.02, coulomb=[0.3, 0.2, 0.3])
    chain = chain_of(linkage._replace(tree=tree))
    simulator = ClosedLoopSimulator(chain, time_step=2e-3)
    before = energy(chain, simulator.q, simulator.qd)
    for _ in range(2500):
        simulator.step(np.zeros(3))
        after = energy(chain, simulator.q, simulator.qd)
        assert after <= before + 1e-9
        before = after
    # dry friction stops it, except for the creep of its law near standstill
    assert np.abs(simulator.qd).max() < 0.02
    assert np.abs(chain.residual(simulator.q)).max() <= 1e-11


def test_friction_none_omits_friction(four_bar):
    linkage = linkages.four_bar()
    rough = chain_of(linkage._replace(tree=linkage.tree.with_actuation(viscous=2.0, coulomb=1.0)))
    with_friction, without, smooth = (
        ClosedLoopSimulator(rough),
        ClosedLoopSimulator(rough, friction='none'),
        ClosedLoopSimulator(four_bar),
    )
    for simulator in (with_friction, without, smooth):
        for _ in range(20):
            simulator.step([2.0, 0.0, 0.0])
    assert np.array_equal(without.q, smooth.q)
    assert abs(with_friction.q[0] - smooth.q[0]) > 1e-4
    with pytest.raises(ValueError, match="friction is 'some'"):
        ClosedLoopSimulator(rough, friction='some')


def test_weak_friction_is_integrated_with_the_integrators_order():
    linkage = linkages.four_bar()
    chain = chain_of(linkage._replace(tree=linkage.tree.with_actuation(viscous=0.05)))
    ends = []
    for count in (50, 100, 200):
        simulator = ClosedLoopSimulator(chain, time_step=0.4 / count)
        for _ in range(count):
            simulator.step(np.zeros(3))
        ends.append(simulator.q[0])
    assert np.log2((ends[0] - ends[1]) / (ends[1] - ends[2])) == pytest.approx(4, abs=0.3)


def test_efforts_are_clamped_and_external_torques_are_not(four_bar):
    linkage = linkages.four_bar()
    weak = replace(linkage.tree, effort_limit=np.array([0.5, 0.0, 0.0]))
    simulator = ClosedLoopSimulator(chain_of(linkage._replace(tree=weak)))
    simulator.step([3.0, 1.0, 0.0], external=[0.0, 0.0, 2.0])
    assert np.array_equal(simulator.effort, [0.5, 0.0, 0.0])
    other = ClosedLoopSimulator(four_bar)
    other.step([0.5, 0.0, 2.0])
    assert np.array_equal(simulator.q, other.q)


def test_the_same_commands_give_the_same_bits(four_bar):
    simulators = [ClosedLoopSimulator(four_bar) for _ in range(2)]
    for k in range(100):
        for simulator in simulators:
            simulator.step([np.sin(0.1 * k), 0.0, 0.0])
    assert np.array_equal(simulators[0].q, simulators[1].q)
    assert np.array_equal(simulators[0].qd, simulators[1].qd)
    simulators[0].reset()
    assert simulators[0].steps == 0
    assert np.array_equal(simulators[0].q, ClosedLoopSimulator(four_bar).q)


# -- rejected input -------------------------------------------------------------------------------


def test_a_start_with_open_loops_is_rejected_and_rounding_corrected(four_bar):
    with pytest.raises(LoopNotClosed, match=r'open by .* start from chain\.posture\(q\)'):
        ClosedLoopSimulator(four_bar, q=four_bar.q0 + 0.1 * np.eye(3)[0])
    with pytest.raises(LoopNotClosed, match=r'violate the closures .* start from chain\.velocity'):
        ClosedLoopSimulator(four_bar, qd=[1.0, 0.0, 0.0])
    rounded = np.round(four_bar.q0, 8)
    simulator = ClosedLoopSimulator(four_bar, q=rounded)
    assert np.abs(four_bar.residual(simulator.q)).max() <= 1e-12
    fitting = four_bar.velocity(four_bar.q0, [1.0, 0.0, 0.0])
    assert np.array_equal(ClosedLoopSimulator(four_bar, qd=fitting).q, four_bar.q0)


def test_invalid_arguments_do_not_change_the_state(four_bar):
    simulator = ClosedLoopSimulator(four_bar)
    simulator.step(np.zeros(3))
    q = simulator.q
    with pytest.raises(ShapeError, match=r'tau has shape \(2,\)'):
        simulator.step([0.0, 0.0])
    with pytest.raises(NotFinite, match="tau of joint 'coupler' is nan"):
        simulator.step([0.0, np.nan, 0.0])
    with pytest.raises(NotFinite, match="external of joint 'rocker' is inf"):
        simulator.step([0.0, 0.0, 0.0], external=[0.0, 0.0, np.inf])
    with pytest.raises(ValueError, match=r'time_step is 0\.0 s'):
        ClosedLoopSimulator(four_bar, time_step=0.0)
    with pytest.raises(ValueError, match=r"integrator is .*'rk5'.*; expected one of .*rk4"):
        ClosedLoopSimulator(four_bar, integrator='rk5')
    with pytest.raises(ValueError, match="integrator is 'implicit_midpoint'; expected"):
        ClosedLoopSimulator(four_bar, integrator='implicit_midpoint')
    assert simulator.steps == 1
    assert np.array_equal(simulator.q, q)
    for array in (simulator.q, simulator.qd, simulator.effort):
        with pytest.raises(ValueError, match='read-only'):
            array[0] = 1.0


def test_a_singular_posture_is_reported_when_it_is_passed(five_bar_chain):
    """Falling freely, the parallelogram folds flat and could continue crossed."""
    simulator = ClosedLoopSimulator(five_bar_chain)
    with pytest.raises(SingularityError, match=r'after t = 0\.\d+ s .* passes a singular posture'):
        step_often(simulator, np.zeros(4), 2000)
    before, steps = simulator.q, simulator.steps
    assert abs(np.sin(before[0] - before[1])) < 0.02
    with pytest.raises(SingularityError):
        simulator.step(np.zeros(4))
    assert simulator.steps == steps
    assert np.array_equal(simulator.q, before)


def test_divergence_is_reported(four_bar):
    simulator = ClosedLoopSimulator(four_bar, time_step=0.05)
    with pytest.raises((SimulationDiverged, SingularityError)):
        step_often(simulator, [1e9, 0.0, 0.0], 50)
    assert np.isfinite(simulator.q).all()


def step_often(simulator, tau, steps):
    for _ in range(steps):
        simulator.step(tau)


def simulate_steps(simulator, count):
    for _ in range(count):
        simulator.step(np.zeros(3))


@pytest.mark.parametrize('speed', [1e100, 1e200, 1e300])
@pytest.mark.filterwarnings('error')
def test_an_overflowing_velocity_diverges_without_a_warning(four_bar, speed):
    qd = four_bar.velocity(four_bar.q0, np.full(3, speed))
    simulator = ClosedLoopSimulator(four_bar, qd=qd)
    with pytest.raises(SimulationDiverged):
        simulate_steps(simulator, 3)
