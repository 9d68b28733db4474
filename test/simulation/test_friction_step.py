# SPDX-License-Identifier: Apache-2.0
"""A step under a friction law: the law, dissipation, sticking, and agreement of batches."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.common.errors import ModelError, RobotDynamicsError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.laws import LAWS, STRIBECK_SPEED
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.simulation import (
    INTEGRATORS,
    Actuators,
    Adaptive,
    Elasticity,
    FrictionSettings,
    InelasticStop,
    JointModels,
    Simulator,
    SpringDamperStop,
    simulate,
)
from robot_dynamics.simulation.joint_models.friction_step import friction_step, step_inputs
from robot_dynamics.simulation.steps import rigid_arm

ARM = Dynamics(planar_2r())
FREE = Dynamics(planar_2r().with_gravity((0.0, 0.0, 0.0)))
H = 1e-3


def friction(law, **changes):
    given = {'viscous': [0.3, 0.1], 'coulomb': [2.0, 0.4], 'presliding': 1e-3, **changes}
    if 'load' in LAWS[law].terms:
        given.setdefault('load', [0.05, 0.02])
    if 'stribeck' in LAWS[law].terms:
        given.setdefault('stribeck', [1.0, 0.3])
    return FrictionSettings(law, **given).of(ARM.model)


def motion(arm, joint_friction, torques, q, qd, h=H):
    """Return the states (k + 1, n) under torques (k, n)."""
    step = friction_step(arm, joint_friction.law.memory)
    zero = np.zeros_like(q)
    return step.iterate(
        len(torques),
        q=q,
        qd=qd,
        z=zero,
        lost=zero,
        tau=torques,
        time_step=[h],
        **step_inputs(joint_friction),
    )


@pytest.mark.parametrize('law', LAWS)
def test_friction_of_a_step_is_that_of_the_law_at_its_end(law):
    f = friction(law)
    t = np.arange(4000)[:, None] * H
    tau = np.hstack([15 * np.sin(3 * t), 4 * np.sin(5 * t)])
    path = motion(ARM, f, tau, np.array([-1.5, 0.2]), np.zeros(2))
    q, qd, z, lost = path
    direction = f.law.sliding_direction(q, qd, f.presliding)
    assert z[1:] == pytest.approx(direction[1:], abs=1e-9)
    # The factor of z is that of the start of the step.
    level = f.sliding_level(qd[:-1], tau - lost[:-1])
    expected = f.coefficients['viscous'] * qd[1:] + level * z[1:]
    error = np.abs(lost[1:] - expected)
    # Where a joint reverses, four iterations of the step leave a larger residual.
    assert np.median(error) < 1e-9
    assert np.quantile(error, 0.99) < 1e-3


@pytest.mark.parametrize('law', LAWS)
def test_the_mirrored_motion_has_the_mirrored_friction(law):
    f = friction(law)
    t = np.arange(2000)[:, None] * H
    # Starts, slides, sticks and reverses.
    tau = np.hstack([15 * np.sin(3 * t), 4 * np.sin(5 * t)])
    q, qd = np.array([0.4, 0.9]), np.array([0.3, -0.5])
    paths = [motion(FREE, f, sign * tau, sign * q, sign * qd) for sign in (1.0, -1.0)]
    for one, other in zip(*paths, strict=True):
        np.testing.assert_allclose(one, -other, rtol=1e-9, atol=1e-12)
    assert (np.abs(paths[0].lost[1:]).max(axis=0) > 0.3).all()


@pytest.mark.parametrize('law', LAWS)
@pytest.mark.parametrize('h', [1e-4, 1e-3, 1e-2])
def test_the_momentum_of_a_step_balances(law, h):
    f = friction(law)
    tau = np.random.default_rng(1).normal(scale=5.0, size=(50, 2))
    q, qd, _, lost = motion(ARM, f, tau, np.array([-1.0, 0.3]), np.array([0.5, -0.2]), h)
    M = ARM.mass_matrix(q[:-1])
    left = (M @ (np.diff(qd, axis=0) / h)[..., None])[..., 0] + ARM.bias_torque(q[:-1], qd[:-1])
    assert left + lost[1:] == pytest.approx(tau, rel=1e-9, abs=1e-8)


@pytest.mark.parametrize('law', LAWS)
def test_a_joint_without_torque_comes_to_rest_and_loses_energy_in_every_step(law):
    f = friction(law, presliding=1e-4)
    qd = np.array([1.0, -2.0])
    path = motion(FREE, f, np.zeros((6000, 2)), np.zeros(2), qd)
    energy = FREE.kinetic_energy(path.q, path.qd)
    # With memory, the deflection of the contact returns at most L delta / 2 per joint.
    level = f.sliding_level(np.zeros(2), np.zeros(2))
    spring = 0.5 * float(np.sum(level * f.presliding)) if f.law.memory else 0.0
    assert np.all(np.diff(energy) <= spring + 1e-3 * energy[0] * H)
    assert energy[-1] < 1e-6 * energy[0] + spring


@pytest.mark.parametrize('law', ['coulomb_memory', 'load_memory'])
def test_a_joint_with_memory_sticks_under_less_than_its_dry_friction(law):
    f = friction(law, viscous=[40.0, 4.0])
    push = 0.5 * f.coefficients['coulomb']
    path = motion(FREE, f, np.broadcast_to(push, (5000, 2)), np.zeros(2), np.zeros(2))
    # z rests where c z = tau, after a deflection of -delta log(1 - z)
    assert path.qd[-1] == pytest.approx([0, 0], abs=1e-6)
    assert path.lost[-1] == pytest.approx(push, rel=1e-4)
    assert (path.q[-1] < 2 * f.presliding).all()
    assert (path.q[-1] > 0).all()


@pytest.mark.parametrize('law', ['coulomb', 'load', 'stribeck'])
def test_without_memory_friction_never_drives_a_joint(law):
    tau = np.random.default_rng(2).normal(scale=4.0, size=(3000, 2))
    path = motion(ARM, friction(law), tau, np.array([-1.0, 0.5]), np.zeros(2))
    assert (path.lost[1:] * path.qd[1:] >= 0).all()


def test_a_closed_path_with_memory_dissipates():
    f = friction('coulomb_memory', viscous=0.0)
    t = np.arange(20_000)[:, None] * 1e-3
    tau = np.hstack([3.5 * np.sin(2 * np.pi * t), 0.8 * np.sin(4 * np.pi * t)])
    path = motion(FREE, f, tau, np.zeros(2), np.zeros(2))
    # Over whole periods, from the same state of z to itself.
    work = (path.lost[1:] * np.diff(path.q, axis=0))[10_000:].sum(axis=0)
    assert (work > 0).all()


def test_steady_sliding_follows_the_curve_of_stribeck():
    f = friction('stribeck')
    speeds = np.array([0.02, 0.05, 0.1, 0.2, 0.5, 1.0])
    step = friction_step(FREE, memory=False)
    q, zero = np.zeros((6, 2)), np.zeros((6, 2))
    qd = np.stack([speeds, zero[:, 0]], axis=-1)
    # Torques that keep the speed of joint 1, and joint 2 at rest.
    b, c, s = (f.coefficients[name] for name in ('viscous', 'coulomb', 'stribeck'))
    curve = b[0] * speeds + (c[0] + s[0] * np.exp(-((speeds / STRIBECK_SPEED) ** 2))) * np.tanh(
        speeds / 0.01
    )
    rest = FREE.inverse_dynamics(q, qd, zero)
    tau = rest + np.stack([curve, zero[:, 0]], axis=-1)
    after = step(q=q, qd=qd, z=zero, lost=zero, tau=tau, time_step=[H], **step_inputs(f))
    assert after.lost[:, 0] == pytest.approx(curve, rel=1e-9)
    assert after.qd == pytest.approx(qd, abs=1e-9)
    # It falls where Stribeck's part falls faster than viscous friction grows.
    assert after.lost[1, 0] > after.lost[3, 0]


@pytest.mark.parametrize('law', LAWS)
def test_arms_of_a_batch_have_the_bits_of_single_arms(law):
    f = friction(law)
    rng = np.random.default_rng(4)
    q, qd = rng.normal(size=(2, 9, 2))
    tau = rng.normal(size=(9, 40, 2))
    step, zero = friction_step(ARM, f.law.memory), np.zeros((9, 2))
    inputs = {**step_inputs(f), 'time_step': [H]}
    several = step.advance(40, changing=['tau'], q=q, qd=qd, z=zero, lost=zero, tau=tau, **inputs)
    for k in range(9):
        path = motion(ARM, f, tau[k], q[k], qd[k])
        for batch, alone in zip(several, path, strict=True):
            assert np.array_equal(batch[k], alone[-1])


def test_settings_take_missing_coefficients_from_the_model():
    model = planar_2r().with_actuation(viscous=[1.0, 2.0], coulomb=[3.0, 4.0])
    f = FrictionSettings('load', load=0.1).of(model)
    assert np.array_equal(f.coefficients['viscous'], [1.0, 2.0])
    assert np.array_equal(f.coefficients['coulomb'], [3.0, 4.0])
    assert np.array_equal(f.coefficients['load'], [0.1, 0.1])


@pytest.mark.parametrize(
    ('settings', 'error', 'message'),
    [
        (FrictionSettings('sticky'), RobotDynamicsError, "friction law 'sticky' is unknown"),
        (FrictionSettings('coulomb', load=0.1), RobotDynamicsError, "has no coefficient 'load'"),
        (FrictionSettings('coulomb', load=[0, 0.1]), RobotDynamicsError, "no coefficient 'load'"),
        (FrictionSettings('load', stribeck=[1, 0]), RobotDynamicsError, "no coefficient 'stri"),
        (FrictionSettings(viscous=-1.0), ModelError, 'viscous is -1.0'),
        (FrictionSettings(coulomb=[1.0, -1.0]), ModelError, r'coulomb is .*-1'),
        (FrictionSettings('coulomb_memory', presliding=0.0), ModelError, 'presliding is 0.0'),
    ],
)
def test_invalid_settings_are_rejected(settings, error, message):
    with pytest.raises(error, match=message):
        settings.of(ARM.model)


# -- the simulator --------------------------------------------------------------------------


def simulator(law, arm=ARM, integrator='rk4', **options):
    settings = FrictionSettings(
        law,
        viscous=[0.3, 0.1],
        coulomb=[2.0, 0.4],
        load=0.05 if 'load' in LAWS[law].terms else 0.0,
        stribeck=0.5 if 'stribeck' in LAWS[law].terms else 0.0,
        presliding=1e-3,
    )
    return Simulator(
        arm, integrator=integrator, joint_models=JointModels(settings, **options), qd=[1.0, -0.5]
    )


@pytest.mark.parametrize('law', LAWS)
def test_a_reset_clears_what_friction_remembers(law):
    again, fresh = simulator(law), simulator(law)
    for _ in range(20):
        again.step([-5.0, 2.0])
    again.reset(fresh.q, fresh.qd)
    for one in (again, fresh):
        one.step([5.0, -2.0])
    assert np.array_equal(again.qd, fresh.qd)


@pytest.mark.parametrize('law', LAWS)
def test_friction_is_that_of_the_arm_with_its_present_payload(law):
    load = ('link2', 4.0, (0.5, 0.0, 0.0))
    moving, loaded = simulator(law), simulator(law, Dynamics(ARM.model.with_payload(*load)))
    moving.step([1.0, 0.5])
    moving.attach(*load)
    moving.reset(loaded.q, loaded.qd)
    for _ in range(200):
        for one in (moving, loaded):
            one.step([5.0, -2.0])
    assert moving.q == pytest.approx(loaded.q, abs=1e-9)
    assert moving.qd == pytest.approx(loaded.qd, abs=1e-9)
    moving.drop('link2')
    unloaded = simulator(law)
    moving.reset(unloaded.q, unloaded.qd)
    for one in (moving, unloaded):
        one.step([5.0, -2.0])
    assert moving.qd == pytest.approx(unloaded.qd, abs=1e-12)


@pytest.mark.parametrize('law', LAWS)
@pytest.mark.parametrize('integrator', INTEGRATORS)
def test_the_simulator_follows_the_same_law_with_every_integrator(law, integrator):
    reference, other = (
        simulator(law, integrator='semi_implicit_euler'),
        simulator(law, integrator=integrator),
    )
    f = reference.joint_models.friction.of(ARM.model)
    t = np.arange(400)[:, None] * H
    tau = np.hstack([15 * np.sin(9 * t), 4 * np.sin(15 * t)])
    path = motion(ARM, f, tau, reference.q, reference.qd)
    for row in tau:
        reference.step(row)
        other.step(row)
    assert reference.q == pytest.approx(path.q[-1], abs=1e-9)
    assert reference.qd == pytest.approx(path.qd[-1], abs=1e-7)
    # The integrators differ by their errors of first order.
    assert other.q == pytest.approx(path.q[-1], abs=0.02)


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('stops', [None, InelasticStop(), SpringDamperStop(1e4, 10.0)])
@pytest.mark.parametrize('integrator', INTEGRATORS)
def test_the_law_coulomb_is_the_friction_of_the_model(integrator, stops, side):
    given = {'viscous': [0.3, 0.1], 'coulomb': [2.0, 0.4]}
    model = replace(FREE.model, lower=np.full(2, -0.2), upper=np.full(2, 0.2))
    by_law = JointModels(FrictionSettings('coulomb', **given), stops=stops)
    ends = []
    for arm, joint_models in (
        (Dynamics(model), by_law),
        (Dynamics(model.with_actuation(**given)), JointModels(stops=stops)),
    ):
        simulator = Simulator(
            arm, qd=[side, -0.5 * side], integrator=integrator, joint_models=joint_models
        )
        met = False
        for k in range(300):
            simulator.step(side * np.array([30 * np.sin(0.02 * k), 8 * np.sin(0.03 * k)]))
            met |= bool((np.abs(simulator.q) >= 0.2).any())
        assert met or stops is None
        ends.append(np.concatenate([simulator.q, simulator.qd]))
    np.testing.assert_allclose(*ends, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize('law', LAWS)
def test_a_snapshot_of_a_friction_law_repeats_the_motion_bit_for_bit(law):
    arm = simulator(law, stops=InelasticStop(), actuators=Actuators(bandwidth=50.0))
    tau = np.random.default_rng(8).normal(scale=5.0, size=(60, 2))
    for row in tau[:30]:
        arm.step(row)
    before = arm.snapshot()
    for row in tau[30:]:
        arm.step(row)
    end = arm.q, arm.qd
    arm.restore(before)
    for row in tau[30:]:
        arm.step(row)
    assert np.array_equal(arm.q, end[0])
    assert np.array_equal(arm.qd, end[1])


def test_a_light_wrist_with_large_friction_stays_stable_in_the_simulator():
    # Friction stops the second joint within far less than a step.
    light = Dynamics(planar_2r(masses=(1.0, 1e-3), inertias=(0.1, 1e-6)))
    for law in LAWS:
        arm = Simulator(
            light,
            qd=[1.0, 3.0],
            joint_models=JointModels(FrictionSettings(law, viscous=5.0, coulomb=10.0)),
        )
        for _ in range(300):
            arm.step([0.0, 0.0])
        assert np.abs(arm.qd).max() < 0.02


def test_a_law_needs_rigid_joints_and_a_fixed_step():
    with pytest.raises(ValueError, match='needs rigid joints'):
        JointModels(FrictionSettings(), elasticity=Elasticity(1e3))
    with pytest.raises(ValueError, match='the simulator has friction with a law'):
        simulate(simulator('coulomb'), None, 0.1, solver=Adaptive())


@pytest.mark.parametrize('integrator', ['semi_implicit_euler', 'explicit_euler', 'rk4'])
@pytest.mark.parametrize('sign', [1, -1])
def test_joints_too_many_for_compiled_rounds_take_the_same_steps(monkeypatch, integrator, sign):
    """Joint 2 sticks now and then."""
    model = replace(planar_2r(), viscous=np.array([0.3, 0.2]), coulomb=np.array([1.5, 4.0]))
    arm = Dynamics(model.with_gravity((0.0, 0.0, 0.0)))
    ends = []
    for most in (2, 1):
        monkeypatch.setattr(rigid_arm, 'MOST_COUPLED', most)
        q, qd = sign * np.array([[0.3, -0.2], [0.5, -0.3]])
        simulator = Simulator(arm, q=q, qd=qd, integrator=integrator)
        for _ in range(300):
            simulator.step(sign * np.array([3.0, -1.0]))
        ends.append([simulator.q, simulator.qd])
    np.testing.assert_allclose(*ends, rtol=1e-7, atol=1e-9)
