"""Drives: late, no faster than they can, no stronger than they are."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError
from robot_dynamics.model.robots import planar_2r
from robot_dynamics.simulation import Actuators, Elasticity, JointModels, Simulator, simulate


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


def test_the_torque_stays_within_the_limits_of_the_model():
    applied = efforts(
        simulator(Actuators(), effort_limit=[2.0, np.inf]), [[5.0, 5.0], [-5.0, 5.0]]
    )
    assert np.array_equal(applied, [[2.0, 5.0], [-2.0, 5.0]])


def test_the_rate_is_that_of_the_torque_before_its_limit():
    # The order in which they act: 1 N m per step towards 4 N m and back, of which 2 N m come out.
    drives = simulator(Actuators(rate_limit=1000.0), effort_limit=2.0)
    applied = efforts(drives, [[4.0, 0.0]] * 4 + [[0.0, 0.0]] * 4)
    assert applied[:, 0] == pytest.approx([1, 2, 2, 2, 2, 2, 1, 0])


def test_the_speed_that_counts_is_the_motors():
    # On springs this soft the links hardly follow.
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


def test_a_drive_pushes_up_to_its_speed_and_no_further():
    # Joints that do not feel each other.
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


def test_above_its_speed_a_drive_brakes_with_all_it_has():
    drives = simulator(Actuators(velocity_limit=1.0), qd=[3.0, -3.0])
    applied = efforts(drives, [[-4.0, 4.0]])
    assert np.array_equal(applied, [[-4.0, 4.0]])
    assert not efforts(
        simulator(Actuators(velocity_limit=1.0), qd=[3.0, -3.0]), [[4.0, -4.0]]
    ).any()


def test_the_speed_limit_of_the_model_is_taken_on_request():
    model = replace(planar_2r(), velocity_limit=np.array([0.5, 2.0]))
    drives = Simulator(
        Dynamics(model),
        qd=[0.5, 0.5],
        joint_models=JointModels(actuators=Actuators(velocity_limit=None)),
    )
    assert np.array_equal(efforts(drives, [[1.0, 1.0]]), [[0.0, 1.0]])


def test_a_reset_forgets_what_is_under_way():
    drives = simulator(Actuators(delay=0.002, rate_limit=100.0))
    first = efforts(drives, [[1.0, 2.0]] * 10)
    drives.reset()
    assert np.array_equal(efforts(drives, [[1.0, 2.0]] * 10), first)


@pytest.mark.parametrize(
    ('actuators', 'message'),
    [
        (Actuators(delay=-0.1), r'delay is -0.1 s; it must be finite and >= 0'),
        (Actuators(delay=np.nan), r'delay is nan'),
        (Actuators(rate_limit=0.0), 'rate_limit is 0.0; it must be positive'),
        (Actuators(velocity_limit=[1.0, 2.0, 3.0]), r'velocity_limit has shape \(3,\)'),
        (Actuators(velocity_limit=np.nan), 'velocity_limit is nan'),
    ],
)
def test_wrong_numbers_are_refused_by_name(actuators, message):
    with pytest.raises(ModelError, match=message):
        simulator(actuators)
