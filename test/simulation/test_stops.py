# SPDX-License-Identifier: Apache-2.0
"""Position limits: impacts dissipate, and no joint passes an inelastic stop."""

from dataclasses import replace

import numpy as np
import pytest
from tiers import soak

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.simulation import (
    INTEGRATORS,
    InelasticStop,
    JointModels,
    Simulator,
    SpringDamperStop,
    simulate,
)
from robot_dynamics.simulation.joint_models.stops import Yielding

STOPS = {
    'inelastic': InelasticStop(),
    'spring': SpringDamperStop(stiffness=2e4),
    'spring-damper': SpringDamperStop(stiffness=2e4, damping=[30.0] * 5),
    'stiff spring-damper': SpringDamperStop(stiffness=1e8, damping=1e4),
}


def weightless(model):
    return model.with_gravity((0.0, 0.0, 0.0))


def limited(model, at):
    n = model.n
    return replace(model, lower=np.full(n, -at), upper=np.full(n, at))


def still(t, q, qd):
    return np.zeros(len(q))


def beyond(run, at):
    return np.maximum(np.abs(run.q) - at, 0.0)


@pytest.mark.parametrize('stop', STOPS)
@pytest.mark.parametrize('seed', [0, *soak(range(1, 6))])
def test_random_impacts_never_add_energy(stop, seed):
    rng = np.random.default_rng(seed)
    at, h = 0.3, 1e-3
    arm = Dynamics(limited(random_tree(5, rng), at))
    simulator = Simulator(
        arm,
        q=rng.uniform(-0.25, 0.25, 5),
        qd=4 * rng.normal(size=5),
        joint_models=JointModels(stops=STOPS[stop]),
        integrator='semi_implicit_euler',
    )
    run = simulate(simulator, still, 0.5)
    # In the metric of the step, exactly: without stops it would end with
    free = run.qd[:-1] + h * arm.forward_dynamics(run.q[:-1], run.qd[:-1], np.zeros(5))
    M = arm.mass_matrix(run.q[:-1])
    stored = (0.5 * getattr(STOPS[stop], 'stiffness', 0.0) * beyond(run, at) ** 2).sum(axis=1)
    before = 0.5 * np.einsum('ki,kij,kj->k', free, M, free) + stored[:-1]
    after = 0.5 * np.einsum('ki,kij,kj->k', run.qd[1:], M, run.qd[1:]) + stored[1:]
    assert beyond(run, at - 1e-9).any(axis=1).sum() > 5
    assert (after <= before * (1 + 1e-12) + 1e-15).all()
    # Where a joint comes to a stop, nothing acts on those that do not.
    impulses = np.einsum('kij,kj->ki', M, run.qd[1:] - free)
    touching = np.abs(run.q) >= at
    hits = (touching[1:] & ~touching[:-1]).any(axis=1)
    untouched = hits[:, None] & ~touching[1:] & ~touching[:-1]
    assert untouched.any()
    assert np.abs(impulses[untouched]).max() <= 1e-12 * np.abs(impulses[hits]).max()


@pytest.mark.parametrize('name', ['rk4', *soak(n for n in INTEGRATORS if n != 'rk4')])
@pytest.mark.parametrize('stop', STOPS)
def test_an_arm_between_stops_loses_energy_with_every_integrator(name, stop):
    rng = np.random.default_rng(11)
    at = 0.3
    arm = Dynamics(limited(weightless(random_tree(5, rng)), at))
    simulator = Simulator(
        arm,
        qd=2 * rng.normal(size=5),
        joint_models=JointModels(stops=STOPS[stop]),
        integrator=name,
    )
    energy = [simulator.kinetic_energy() + simulator.potential_energy()]
    for _ in range(1000):
        simulator.step(np.zeros(5))
        energy.append(simulator.kinetic_energy() + simulator.potential_energy())
    # The integrators have an error of h^2 per step.
    assert np.diff(energy).max() < 1e-3 * energy[0]
    assert energy[-1] < energy[0]


@pytest.mark.parametrize('name', INTEGRATORS)
def test_no_joint_passes_an_inelastic_stop(name):
    rng = np.random.default_rng(1)
    arm = Dynamics(limited(random_tree(5, rng), 0.2))
    simulator = Simulator(
        arm,
        qd=3 * rng.normal(size=5),
        joint_models=JointModels(stops=InelasticStop()),
        integrator=name,
    )
    run = simulate(simulator, still, 1.0)
    assert np.abs(run.q).max() == 0.2
    # At a stop in two rows: at rest, or about to leave.
    pressed = (run.q[1:] == run.q[:-1]) & (np.abs(run.q[1:]) == 0.2)
    assert pressed.any()
    assert ((run.qd * np.sign(run.q))[1:][pressed] <= 0).all()


@pytest.mark.parametrize('friction', ['smooth', 'stick_slip'])
@pytest.mark.parametrize(('seed', 'speed'), [(1, 10.0), (1, 30.0), (3, 30.0)])
def test_a_fast_arm_does_not_pass_its_stops_while_other_joints_rest_at_theirs(
    friction, seed, speed
):
    # The second step, with what holds the resting joints, moves the others a little farther than
    # the first: in these motions to the other side of a limit.
    rng = np.random.default_rng(seed)
    model = limited(random_tree(5, rng), 0.2)
    if friction == 'stick_slip':
        model = model.with_actuation(coulomb=1.0)
    joint_models = JointModels(stops=InelasticStop(), friction=friction)
    simulator = Simulator(
        Dynamics(model), qd=speed * rng.normal(size=5), joint_models=joint_models
    )
    run = simulate(simulator, still, 1.0)
    assert np.abs(run.q).max() == 0.2
    assert ((np.abs(run.q) == 0.2).sum(axis=1) > 1).any()


def test_impacts_of_a_coupled_arm_err_by_the_square_of_the_step():
    # Friction and stops dissipate energy in the metric of the step; the energy at the end of the
    # step has an error of O(h^2) nevertheless.
    most = []
    for h in (1e-3, 2.5e-4):
        rng = np.random.default_rng(0)
        arm = Dynamics(limited(random_tree(5, rng), 0.2))
        joint_models = JointModels(stops=SpringDamperStop(1e4, 100.0))
        simulator = Simulator(
            arm, qd=5 * rng.normal(size=5), time_step=h, joint_models=joint_models
        )
        energy = []
        for _ in range(round(0.5 / h)):
            simulator.step(np.zeros(5))
            energy.append(simulator.kinetic_energy() + simulator.potential_energy())
        most.append(np.diff(energy).max() / np.ptp(energy))
    assert 0 < most[0] < 1e-2
    assert most[1] < most[0] / 8


def test_an_arm_falls_on_its_stops_and_rests_there():
    model = replace(planar_2r(), lower=np.array([-0.5, -0.3]), upper=np.array([2.0, 1.0]))
    arm = Dynamics(model)
    run = simulate(Simulator(arm, joint_models=JointModels(stops=InelasticStop())), still, 3.0)
    assert np.array_equal(run.q[-1], model.lower)
    assert not run.qd[-1].any()


def test_the_penetration_of_a_spring_stop_balances_the_weight():
    model = replace(planar_2r(), lower=np.array([-0.5, -0.3]))
    arm, k = Dynamics(model), 5e3
    joint_models = JointModels(stops=SpringDamperStop(stiffness=k, damping=100.0))
    run = simulate(Simulator(arm, joint_models=joint_models), still, 4.0)
    depth = model.lower - run.q[-1]
    assert k * depth == pytest.approx(arm.gravity_torque(run.q[-1]), rel=1e-6)


def test_a_joint_may_leave_its_stop():
    model = replace(weightless(planar_2r()), lower=np.array([0.0, -np.inf]))
    simulator = Simulator(Dynamics(model), joint_models=JointModels(stops=InelasticStop()))
    simulate(simulator, lambda t, q, qd: [-5.0, 0.0], 0.1)
    assert simulator.q[0] == 0.0
    simulate(simulator, lambda t, q, qd: [5.0, 0.0], 0.1)
    free = Simulator(Dynamics(weightless(planar_2r())), q=[0.0, simulator.q[1]])
    assert simulator.q[0] > 0.0
    assert simulator.qd[0] > 0.0
    assert free.q[0] == 0.0


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('stop', STOPS)
def test_a_joint_that_starts_beyond_its_limit_may_return(stop, side):
    model = limited(weightless(random_tree(5, np.random.default_rng(0))), 0.2)
    arm = Dynamics(model)
    q = np.array([0.3 * side, 0.0, 0.0, 0.0, 0.0])
    simulator = Simulator(arm, q=q, joint_models=JointModels(stops=STOPS[stop]))
    run = simulate(simulator, still, 0.2)
    if stop == 'inelastic':
        # Without a torque nothing moves.
        assert np.array_equal(run.q[-1], q)
    else:
        assert (side * run.q[:, 0]).min() < 0.2
        spring = 0.5 * STOPS[stop].stiffness * 0.1**2
        assert arm.kinetic_energy(run.q[-1], run.qd[-1]) <= spring


def test_a_spring_stop_returns_the_energy_its_damper_does_not_dissipate():
    # One joint against a spring: the speed comes back as a damped half oscillation leaves it.
    model = replace(
        weightless(planar_2r(masses=(0.0, 0.0), inertias=(0.0, 0.0))),
        upper=np.array([0.1, np.inf]),
    ).with_actuation(rotor_inertia=1.0)
    k, d = 1000.0, 5.0
    joint_models = JointModels(stops=SpringDamperStop(stiffness=k, damping=d))
    back = []
    for h in (4e-4, 2e-4, 1e-4):
        simulator = Simulator(
            Dynamics(model), qd=[1.0, 0.0], joint_models=joint_models, time_step=h
        )
        back.append(-simulate(simulator, still, 0.4).qd[-1, 0])
    # I x'' + d x' + k x = 0 from x = 0; it leaves where the force would become tensile.
    w, z = np.sqrt(k), d / (2 * np.sqrt(k))
    wd = w * np.sqrt(1 - z**2)
    t = np.linspace(1e-6, np.pi / wd, 200_001)
    x = np.exp(-z * w * t) * np.sin(wd * t) / wd
    v = np.exp(-z * w * t) * (np.cos(wd * t) - z * w / wd * np.sin(wd * t))
    leaves = np.argmax(k * x + d * v < 0)
    errors = np.abs(np.array(back) - -v[leaves])
    assert errors[-1] < 5e-3
    # First order, as contact steps are.
    assert errors[:-1] / errors[1:] == pytest.approx(2.0, abs=0.3)


def one_joint(**limits):
    """Return an arm of inertia 1 kg m^2 per joint, whose joints are decoupled."""
    model = weightless(planar_2r(masses=(0.0, 0.0), inertias=(0.0, 0.0)))
    return replace(model, **{k: np.array([v, np.inf]) for k, v in limits.items()}).with_actuation(
        rotor_inertia=1.0
    )


@pytest.mark.parametrize('gap', [1e-9, 1e-4, 5e-4, 9.99e-4])
def test_a_stop_exerts_no_force_before_contact(gap):
    # However strong its damper: the step in which the joint arrives ends at the stop or beyond.
    joint_models = JointModels(stops=SpringDamperStop(1e3, 1e5))
    simulator = Simulator(Dynamics(one_joint(upper=gap)), qd=[1.0, 0.0], joint_models=joint_models)
    simulator.step([0.0, 0.0])
    assert simulator.q[0] >= gap
    assert 0.0 < simulator.qd[0] < 1.0


@pytest.mark.parametrize('friction', ['smooth', 'stick_slip'])
def test_friction_acts_within_a_spring_stop(friction):
    # I x'' + b x' + k x = 0: it leaves the spring with the speed that b does not dissipate.
    k, b, depth, h = 1000.0, 5.0, 0.1, 1e-4
    model = one_joint(upper=0.0).with_actuation(rotor_inertia=1.0, viscous=b)
    joint_models = JointModels(stops=SpringDamperStop(k), friction=friction)
    simulator = Simulator(Dynamics(model), q=[depth, 0.0], joint_models=joint_models, time_step=h)
    while simulator.q[0] > 0.0:
        simulator.step([0.0, 0.0])
    w, decay = np.sqrt(k - b**2 / 4), b / 2
    t = np.linspace(0.0, np.pi / w, 200_001)
    x = depth * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
    out = np.argmax(x < 0)
    speed = (x[out + 1] - x[out]) / (t[1] - t[0])
    assert simulator.qd[0] == pytest.approx(speed, rel=5e-3)
    # Without friction it would return with its full speed.
    assert abs(speed) < 0.95 * np.sqrt(k) * depth


@pytest.mark.slow
@pytest.mark.parametrize('viscous', [0.0, 2e3])
@pytest.mark.parametrize('side', ['lower', 'upper'])
def test_a_joint_ends_exactly_at_its_stop_however_stiff_its_damping(side, viscous):
    # Viscous friction that could stop the joint within a step: the step of that has stops, too.
    sign, h = {'lower': -1.0, 'upper': 1.0}[side], 1e-3
    # Where h (at / h) is not at: just before the stop, or beyond it.
    places = np.random.default_rng(0).uniform(0.0, 0.01, 2000)
    awkward = places[h * (places / h) != places]
    assert len(awkward) > 10
    for at in awkward:
        model = one_joint(**{side: sign * at})
        model = model.with_actuation(rotor_inertia=1.0, viscous=viscous, coulomb=1.0)
        joint_models = JointModels(stops=InelasticStop(), friction='stick_slip')
        simulator = Simulator(Dynamics(model, backend='python'), joint_models=joint_models)
        for _ in range(2):
            simulator.step([1e7 * sign, 0.0])
            assert simulator.q[0] == sign * at
        assert simulator.qd[0] == 0.0


def test_invalid_numbers_are_rejected_by_name():
    arm = Dynamics(planar_2r())
    for stop, message in (
        (SpringDamperStop(stiffness=0.0), 'stiffness of the stops is 0.0; it must be pos'),
        (
            SpringDamperStop(1e3, damping=-1.0),
            'damping of the stops is -1.0; it must not',
        ),
        (SpringDamperStop(np.inf), 'stiffness of the stops is inf; it must be finite'),
        (SpringDamperStop([1.0, 2.0, 3.0]), r'stiffness of the stops has shape \(3,\)'),
    ):
        with pytest.raises(ModelError, match=message):
            Simulator(arm, joint_models=JointModels(stops=stop))
    # The class instead of an instance would be no stop.
    with pytest.raises(ValueError, match=r'stops is <class .*; it must be an InelasticStop\(\)'):
        JointModels(stops=InelasticStop)


@pytest.mark.parametrize('beyond', [-0.01, 0.0, 0.01])
def test_springs_and_dampers_of_both_stops_are_each_other_mirrored(beyond):
    k, d, h = np.array([100.0, 50.0, 0.0]), np.array([7.0, 0.0, 0.0]), 1e-3
    stops = Yielding(k, d, np.full(3, -1.0), np.full(3, 1.0))
    y = np.full(3, 1.0 + beyond)
    upper, lower = stops.pads(y, h), stops.pads(-y, h)
    # The damper acts in contact: h F = s (v - edge) = h (k (x + h v) + d v)
    wanted = h * h * k + (h * d if beyond >= 0 else 0.0)
    for pads in (upper, lower):
        np.testing.assert_allclose(pads.s, wanted)
    np.testing.assert_allclose(upper.upper[:2], -h * k[:2] * beyond / wanted[:2], atol=1e-15)
    np.testing.assert_array_equal(upper.upper, -lower.lower)
    np.testing.assert_array_equal(upper.lower, -lower.upper)
    # Without a spring and a damper there is no stop.
    assert (upper.upper[2], upper.lower[2]) == (np.inf, -np.inf)
    assert stops.energy(y) == stops.energy(-y)
    assert stops.energy(y) == pytest.approx(0.5 * 150.0 * max(beyond, 0.0) ** 2)
