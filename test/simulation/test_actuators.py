# SPDX-License-Identifier: Apache-2.0
"""Drives: delay, rate, bandwidth and limits of their torque, gain errors and ripple."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.simulation import Actuators, Elasticity, JointModels, Simulator, simulate
from robot_dynamics.simulation.joint_models.actuators import Drives


def simulator(actuators, effort_limit=np.inf, **options):
    model = planar_2r().with_gravity((0.0, 0.0, 0.0))
    arm = Dynamics(replace(model, effort_limit=np.broadcast_to(effort_limit, 2)))
    return Simulator(arm, joint_models=JointModels(actuators=actuators), **options)


def efforts(drives, commands):
    applied = []
    for tau in commands:
        drives.step(tau)
        applied.append(drives.effort)
    return np.array(applied)


def test_drives_without_limits_change_nothing():
    commands = np.random.default_rng(0).normal(size=(50, 2))
    limited, plain = simulator(Actuators()), simulator(None)
    assert np.array_equal(efforts(limited, commands), commands)
    efforts(plain, commands)
    assert np.array_equal(limited.q, plain.q)
    assert np.array_equal(limited.qd, plain.qd)


@pytest.mark.parametrize(
    ('delay', 'steps'), [(0.0, 0), (0.003, 3), (0.0034, 3), (0.0036, 4), (0.0004, 0), (0.0025, 2)]
)
def test_commands_arrive_late_by_whole_steps(delay, steps):
    commands = np.random.default_rng(1).normal(size=(20, 2))
    applied = efforts(simulator(Actuators(delay=delay)), commands)
    assert not applied[:steps].any()
    assert np.array_equal(applied[steps:], commands[: 20 - steps])


def test_the_torque_changes_no_faster_than_its_rate():
    drives = simulator(Actuators(rate_limit=[200.0, np.inf]))
    applied = efforts(drives, [[1.0, 1.0]] * 8 + [[-1.0, -1.0]] * 12)
    assert applied[:, 0] == pytest.approx(
        [0.2, 0.4, 0.6, 0.8, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2, 0, -0.2, -0.4, -0.6, -0.8, -1, -1, -1]
    )
    assert np.array_equal(applied[:, 1], [1.0] * 8 + [-1.0] * 12)


@pytest.mark.parametrize('sign', [1, -1])
@pytest.mark.parametrize('rate', [np.inf, 2000.0])
def test_a_saturated_drive_leaves_its_limit_at_once(sign, rate):
    """The limit comes before the lag: lagged_k = c + (lagged_0 - c) (1 - share)^k."""
    step, bandwidth, limit, command = 1e-3, 10.0, 2.0, 6.0
    drives = simulator(
        Actuators(bandwidth=[bandwidth, np.inf], rate_limit=rate),
        effort_limit=[limit, np.inf],
        time_step=step,
    )
    ups, downs = 100, 60
    tau = sign * command * np.array([[1.0, 1.0]] * ups + [[-1.0, 0.0]] * downs)
    applied = efforts(drives, tau)
    keep = np.exp(-2 * np.pi * bandwidth * step)
    wanted, limited, lagged = [], 0.0, 0.0
    for c in np.clip(tau[:, 0], -limit, limit):
        limited = np.clip(c, limited - rate * step, limited + rate * step)
        lagged = limited + (lagged - limited) * keep
        wanted.append(lagged)
    assert applied[:, 0] == pytest.approx(wanted, rel=1e-12)
    assert np.abs(applied[:, 0]).max() <= limit
    # The command was far beyond the limit, and the torque leaves it at once.
    assert applied[ups - 1, 0] == pytest.approx(sign * limit, rel=0.01)
    assert (np.diff(sign * applied[ups - 1 :, 0]) < 0).all()


def test_the_torque_stays_within_the_limits_of_the_model():
    applied = efforts(
        simulator(Actuators(), effort_limit=[2.0, np.inf]), [[5.0, 5.0], [-5.0, 5.0]]
    )
    assert np.array_equal(applied, [[2.0, 5.0], [-2.0, 5.0]])


def test_the_limit_comes_before_the_rate():
    # 1 N m per step, towards 2 N m of the 4 N m commanded, and back at once.
    drives = simulator(Actuators(rate_limit=1000.0), effort_limit=2.0)
    applied = efforts(drives, [[4.0, 0.0]] * 4 + [[0.0, 0.0]] * 4)
    assert applied[:, 0] == pytest.approx([1, 2, 2, 2, 1, 0, 0, 0])


def test_the_speed_limit_applies_to_the_motor():
    # The springs are so soft that the links hardly move.
    model = planar_2r().with_gravity((0.0, 0.0, 0.0)).with_actuation(rotor_inertia=0.1)
    joint_models = JointModels(
        actuators=Actuators(velocity_limit=0.5), elasticity=Elasticity(stiffness=0.1)
    )
    drives = Simulator(Dynamics(model), joint_models=joint_models)
    for _ in range(200):
        drives.step([2.0, 0.0])
    assert drives.motor_qd[0] == pytest.approx(0.5, rel=0.05)
    assert drives.motor_qd[0] <= 0.5
    assert drives.qd[0] < 0.1


def test_a_drive_accelerates_up_to_its_speed_limit_only():
    # Joints without coupling.
    model = planar_2r(masses=(0.0, 0.0), inertias=(0.0, 0.0)).with_actuation(rotor_inertia=1.0)
    actuators = Actuators(velocity_limit=[1.5, np.inf])
    drives = Simulator(Dynamics(model), joint_models=JointModels(actuators=actuators))
    run = simulate(drives, lambda t, q, qd: [20.0, 0.0], 2.0)
    assert run.qd[-1, 0] == pytest.approx(1.5, rel=0.05)
    assert run.qd[:, 0].max() <= 1.5
    # Full torque up to nine tenths, then falling linearly.
    start = run.qd[:-1, 0]
    expected = 20.0 * np.clip((1.5 - start) / 0.15, 0.0, 1.0)
    assert run.effort[1:, 0] == pytest.approx(expected, abs=1e-9)


def test_above_its_speed_limit_a_drive_brakes_with_full_torque():
    drives = simulator(Actuators(velocity_limit=1.0), qd=[3.0, -3.0])
    applied = efforts(drives, [[-4.0, 4.0]])
    assert np.array_equal(applied, [[-4.0, 4.0]])
    assert not efforts(
        simulator(Actuators(velocity_limit=1.0), qd=[3.0, -3.0]), [[4.0, -4.0]]
    ).any()


def test_the_speed_limit_of_the_model_is_used_on_request():
    model = replace(planar_2r(), velocity_limit=np.array([0.5, 2.0]))
    drives = Simulator(
        Dynamics(model),
        qd=[0.5, 0.5],
        joint_models=JointModels(actuators=Actuators(velocity_limit=None)),
    )
    assert np.array_equal(efforts(drives, [[1.0, 1.0]]), [[0.0, 1.0]])


def test_a_reset_clears_delayed_commands():
    drives = simulator(Actuators(delay=0.002, rate_limit=100.0))
    first = efforts(drives, [[1.0, 2.0]] * 10)
    drives.reset()
    assert np.array_equal(efforts(drives, [[1.0, 2.0]] * 10), first)


@pytest.mark.parametrize(
    ('actuators', 'message'),
    [
        (Actuators(delay=-0.1), r'delay is -0.1 s; it must be finite and not negative'),
        (Actuators(delay=np.nan), r'delay is nan'),
        (Actuators(rate_limit=0.0), 'rate_limit is 0.0; it must be positive'),
        (Actuators(velocity_limit=[1.0, 2.0, 3.0]), r'velocity_limit has shape \(3,\)'),
        (Actuators(velocity_limit=np.nan), 'velocity_limit is nan'),
    ],
)
def test_invalid_numbers_are_rejected_by_name(actuators, message):
    with pytest.raises(ModelError, match=message):
        simulator(actuators)


@pytest.mark.parametrize('bandwidth', [5.0, [20.0, 80.0]])
def test_the_step_response_of_a_bandwidth_is_that_of_a_first_order_lag(bandwidth):
    applied = efforts(simulator(Actuators(bandwidth=bandwidth)), [[1.0, -2.0]] * 100)
    t = 1e-3 * np.arange(1, 101)[:, None]
    # 1 - exp(-2 pi f_c t)
    expected = [1.0, -2.0] * (1 - np.exp(-2 * np.pi * np.array(bandwidth) * t))
    assert applied == pytest.approx(expected, abs=1e-12)


def test_a_sine_at_the_bandwidth_is_reduced_to_the_root_of_a_half():
    t = 1e-4 * np.arange(20_000)
    drives = simulator(Actuators(bandwidth=20.0), time_step=1e-4)
    applied = efforts(drives, np.outer(np.sin(2 * np.pi * 20.0 * t), [1.0, 1.0]))
    assert np.abs(applied[10_000:]).max(axis=0) == pytest.approx([0.5**0.5] * 2, rel=5e-3)


def test_gain_offset_and_ripple_act_on_the_joints_and_not_on_the_reported_effort():
    model = planar_2r()
    drives = Drives(
        model,
        Actuators(
            gain=[1.05, 0.9], offset=[0.7, -0.2], ripple=[0.5, 0.1], ripple_periods=[30.0, 8.0]
        ),
        1e-3,
    )
    effort, q = np.random.default_rng(5).normal(size=(2, 400, 2))
    torque = drives.on_joints(effort, q)
    expected = [1.05, 0.9] * effort - [0.7, -0.2] + [0.5, 0.1] * np.sin([30.0, 8.0] * q)
    assert torque == pytest.approx(expected, rel=1e-12)
    assert drives.reported(torque, q) == pytest.approx(effort, abs=1e-12)
    # No work over a period of the ripple.
    turn = np.linspace(0, 2 * np.pi / 30, 1000, endpoint=False)
    ripple = drives.on_joints(np.zeros((1000, 2)), np.stack([turn, turn], axis=-1))[:, 0] + 0.7
    assert ripple.mean() == pytest.approx(0, abs=1e-12)
    assert np.abs(ripple).max() == pytest.approx(0.5, rel=1e-4)


def test_a_simulator_moves_by_the_torque_on_the_joints():
    properties = Actuators(gain=[1.1, 0.8], ripple=[2.0, 0.3], ripple_periods=[5.0, 9.0])
    real = simulator(properties, qd=[1.0, 2.0])
    ideal = simulator(None, qd=[1.0, 2.0])
    drives = Drives(real.arm.model, properties, real.time_step)
    for tau in np.random.default_rng(6).normal(size=(50, 2)):
        # Ripple is that of the middle of the step.
        ideal.step(drives.on_joints(tau, ideal.q + real.time_step / 2 * ideal.qd))
        real.step(tau)
        assert np.array_equal(real.effort, tau)
        assert np.array_equal(real.q, ideal.q)


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('integrator', ['rk4', 'implicit_midpoint'])
def test_ripple_adds_no_energy_to_a_joint_that_swings_in_it(integrator, side):
    ripple, periods = np.array([0.5, 0.3]), np.array([30.0, 12.0])
    well = np.pi / periods
    real = simulator(
        Actuators(ripple=ripple, ripple_periods=periods),
        q=side * np.add(well, (0.02, 0.05)),
        integrator=integrator,
    )

    def energy():
        # ripple sin(p q) = -dV/dq,   V = ripple cos(p q) / p
        return real.kinetic_energy() + (ripple / periods * np.cos(periods * real.q)).sum()

    before, peak = energy(), 0.0
    for _ in range(2000):
        real.step(np.zeros(2))
        peak = max(peak, real.kinetic_energy())
    assert energy() == pytest.approx(before, abs=1e-4 * peak)


def test_a_simulator_with_every_property_returns_to_a_snapshot_bit_for_bit():
    everything = Actuators(
        delay=2e-3, rate_limit=500.0, bandwidth=50.0, gain=1.02, ripple=0.3, ripple_periods=12.0
    )
    drives = simulator(everything)
    commands = np.random.default_rng(7).normal(size=(60, 2))
    efforts(drives, commands[:30])
    before = drives.snapshot()
    efforts(drives, commands[30:])
    end = drives.q
    drives.restore(before)
    efforts(drives, commands[30:])
    assert np.array_equal(drives.q, end)


@pytest.mark.parametrize(
    ('actuators', 'message'),
    [
        (Actuators(bandwidth=0.0), 'bandwidth is 0.0; it must be positive'),
        (Actuators(gain=0.0), 'gain is 0.0; it must be positive'),
        (Actuators(offset=np.inf), 'offset is .*inf.*; it must be finite'),
        (Actuators(ripple=-1.0), 'ripple is -1.0; it must not be negative'),
    ],
)
def test_invalid_drives_are_rejected(actuators, message):
    with pytest.raises(ModelError, match=message):
        simulator(actuators)


@pytest.mark.parametrize('sign', [1, -1])
@pytest.mark.parametrize('joint', [0, 1])
@pytest.mark.parametrize(('name', 'value'), [('gain', 1.2), ('offset', 0.3), ('ripple', 0.4)])
def test_one_drive_alone_may_report_another_torque(elbow, name, value, joint, sign):
    given = {'gain': np.ones(2), 'offset': np.zeros(2), 'ripple': np.zeros(2)}
    given[name][joint] = value
    drives = Drives(elbow.model, Actuators(**given), time_step=1e-3)
    assert not drives.ideal
    effort, theta = sign * np.array([2.0, -3.0]), sign * np.array([0.7, 0.4])
    # torque = gain effort - offset + ripple sin(theta)
    torque = given['gain'] * effort - given['offset'] + given['ripple'] * np.sin(theta)
    assert torque[joint] != effort[joint]
    np.testing.assert_allclose(drives.on_joints(effort, theta), torque, rtol=1e-14)
    np.testing.assert_allclose(drives.reported(torque, theta), effort, rtol=1e-14)
