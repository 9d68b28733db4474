# SPDX-License-Identifier: Apache-2.0
"""Commands of a simulated arm: brakes, wrenches, payloads; the same ones give the same bits."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.common.errors import FrameNotFound, ModelError, ShapeError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.simulation import (
    Actuators,
    Elasticity,
    FrictionSettings,
    InelasticStop,
    JointModels,
    NotFinite,
    SimulationDiverged,
    Simulator,
    SpringDamperStop,
)
from robot_dynamics.simulation.plant import (
    EffortCommand,
    ExternalWrench,
    Plant,
    SetPayload,
    SetState,
)

TAU = np.array([3.0, -1.0])


@pytest.fixture(scope='module')
def arm():
    return Dynamics(planar_2r())


@pytest.fixture
def plant(arm):
    return Plant(Simulator(arm, integrator='semi_implicit_euler'))


def bits(plant):
    return plant.q.tobytes() + plant.qd.tobytes()


def tip(arm):
    return arm.model.link_names[-1]


def test_brakes_hold_and_release(plant, arm):
    plant.apply(SetState(np.array([0.5, 0.2]), np.zeros(2)))
    for _ in range(10):
        plant.step()
    np.testing.assert_array_equal(plant.q, [0.5, 0.2])
    np.testing.assert_array_equal(plant.effort, [0, 0])
    plant.apply(EffortCommand(TAU))
    free = Simulator(arm, q=[0.5, 0.2], integrator='semi_implicit_euler')
    for _ in range(10):
        plant.step()
        free.step(TAU)
    assert bits(plant) == free.q.tobytes() + free.qd.tobytes()
    np.testing.assert_array_equal(plant.effort, TAU)
    plant.apply(EffortCommand(None))
    where = plant.q.copy()
    plant.step()
    np.testing.assert_array_equal(plant.q, where)
    np.testing.assert_array_equal(plant.qd, [0, 0])


@pytest.mark.parametrize('error', [np.linalg.LinAlgError('singular'), NotFinite('torque is nan')])
def test_the_brakes_hold_the_arm_where_a_step_failed(plant, monkeypatch, error):
    def failing(*_args, **_options):
        raise error

    plant.apply(EffortCommand(TAU))
    plant.step()
    q = plant.q.copy()
    monkeypatch.setattr(plant.simulator, 'step', failing)
    with pytest.raises(SimulationDiverged, match=str(error)):
        plant.step()
    assert plant.braked
    assert not plant.qd.any()
    np.testing.assert_array_equal(plant.q, q)


def test_a_wrench_that_is_taken_away_acts_no_longer(plant, arm):
    plant.apply(EffortCommand(TAU))
    plant.apply(ExternalWrench(tip(arm), np.ones(6)))
    plant.apply(ExternalWrench(tip(arm), None))
    plant.apply(ExternalWrench(tip(arm), None))
    plant.step()
    free = Simulator(arm, integrator='semi_implicit_euler')
    free.step(TAU)
    np.testing.assert_array_equal(plant.qd, free.qd)


def test_a_wrench_is_given_in_the_axes_of_its_frame():
    # Any arm, any posture: the torque is that of the wrench turned into the world's axes.
    rng = np.random.default_rng(0)
    arm = Dynamics(random_tree(4, rng))
    frame, F = arm.model.link_names[-1], rng.uniform(-1, 1, 6)
    q = rng.uniform(-1, 1, 4)
    plant = Plant(Simulator(arm, integrator='semi_implicit_euler'))
    plant.apply(SetState(q, np.zeros(4)))
    plant.apply(EffortCommand(np.zeros(4)))
    plant.apply(ExternalWrench(frame, F))
    plant.step()
    R = arm.forward_kinematics(q, frame)[:3, :3]
    external = arm.jacobian(q, frame).T @ np.concatenate([R @ F[:3], R @ F[3:]])
    qdd = arm.forward_dynamics(q, np.zeros(4), external)
    np.testing.assert_allclose(plant.qd, 1e-3 * qdd, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(plant.effort, np.zeros(4))


def test_a_payload_is_attached_and_detached(plant, arm):
    load = Inertial(2.0, np.array([0.1, 0.0, 0.0]), np.zeros((3, 3)))
    plant.apply(SetState(np.zeros(2), np.zeros(2)))
    plant.apply(SetPayload(tip(arm), load))
    plant.apply(EffortCommand(TAU))
    loaded = Dynamics(arm.model.with_payload(tip(arm), load.mass, load.com))
    plant.step()
    qdd = loaded.forward_dynamics(np.zeros(2), np.zeros(2), TAU)
    np.testing.assert_allclose(plant.qd, 1e-3 * qdd, rtol=1e-9)
    q, qd = plant.q.copy(), plant.qd.copy()
    plant.apply(SetPayload(tip(arm), None))
    plant.step()
    np.testing.assert_allclose(plant.qd, qd + 1e-3 * arm.forward_dynamics(q, qd, TAU), rtol=1e-9)


@pytest.mark.parametrize(
    ('command', 'error'),
    [
        (SetPayload('link2', Inertial(-1.0)), ModelError),
        (SetPayload('elbow', Inertial(1.0)), FrameNotFound),
        (SetState(np.array([np.nan, 0.0]), np.zeros(2)), NotFinite),
        (SetState(np.zeros(3), np.zeros(3)), ShapeError),
        (ExternalWrench('elbow', np.ones(6)), FrameNotFound),
        (ExternalWrench('link2', np.ones(7)), ShapeError),
        (ExternalWrench('link2', np.full(6, np.inf)), NotFinite),
    ],
    ids=str,
)
def test_an_invalid_command_changes_nothing(plant, command, error):
    plant.apply(SetPayload('link2', Inertial(2.0)))
    plant.apply(ExternalWrench('link2', np.ones(6)))
    plant.apply(EffortCommand(TAU))
    plant.step()
    before = (bits(plant), plant.simulator.payloads['link2'], plant.wrenches.keys())
    with pytest.raises(error):
        plant.apply(command)
    assert (bits(plant), plant.simulator.payloads['link2'], plant.wrenches.keys()) == before
    np.testing.assert_array_equal(plant.wrenches['link2'], np.ones(6))
    plant.step()


def test_brakes_that_are_applied_again_leave_an_arm_that_was_set_in_motion(plant):
    plant.apply(SetState(np.zeros(2), np.array([0.1, 0.2])))
    plant.apply(EffortCommand(None))
    np.testing.assert_array_equal(plant.qd, [0.1, 0.2])


TENSOR = np.array([[0.02, 0.001, 0.002], [0.001, 0.03, 0.003], [0.002, 0.003, 0.04]])
LOAD = Inertial(1.0, np.array([0.1, 0.2, 0.3]), TENSOR)
ELEMENTS = [(i, j) for i in range(3) for j in range(i, 3)]


def with_element(array, index, change=1e-3):
    """Return a copy with one element changed, and its mirror image in a tensor."""
    array = array.copy()
    for place in {index, index[::-1]}:
        array[place] += change
    return array


@pytest.mark.parametrize(
    'other',
    [
        replace(LOAD, mass=1.5),
        *(replace(LOAD, com=with_element(LOAD.com, (i,))) for i in range(3)),
        *(replace(LOAD, inertia_com=with_element(TENSOR, index)) for index in ELEMENTS),
    ],
    ids=['mass', *'xyz', *(f'I{"xyz"[i]}{"xyz"[j]}' for i, j in ELEMENTS)],
)
def test_each_number_of_a_payload_counts(other):
    arm = Dynamics(random_tree(3, np.random.default_rng(1)))
    plant = Plant(Simulator(arm))
    plant.apply(SetPayload(tip(arm), LOAD))
    attached = plant.simulator.arm
    plant.apply(SetPayload(tip(arm), Inertial(1.0, LOAD.com.copy(), TENSOR.copy())))
    assert plant.simulator.arm is attached
    plant.apply(SetPayload(tip(arm), other))
    assert plant.simulator.arm is not attached
    q = np.array([0.3, -0.5, 0.7])
    loaded = Dynamics(arm.model.with_payload(tip(arm), other.mass, other.com, other.inertia_com))
    np.testing.assert_allclose(
        plant.simulator.arm.mass_matrix(q), loaded.mass_matrix(q), rtol=1e-12, atol=1e-14
    )


def test_an_arm_that_diverges_is_braked_in_its_last_state(plant):
    plant.apply(EffortCommand(TAU))
    plant.step()
    good = plant.q.copy()
    plant.simulator.reset(plant.q, [1e200, 1e200])
    with pytest.raises(SimulationDiverged):
        plant.step()
    assert plant.braked
    np.testing.assert_array_equal(plant.q, good)
    np.testing.assert_array_equal(plant.qd, [0, 0])


def eventful(plant, seed, steps=300):
    """Apply all kinds of commands at random steps; return the bits of all states and efforts."""
    rng, link = np.random.default_rng(seed), 'link2'
    payloads = (None, Inertial(0.7), Inertial(1.5, np.array([0.1, 0.2, 0.0]), 0.01 * np.eye(3)))
    states = []
    for k in range(steps):
        if k % 3 == 0:
            plant.apply(EffortCommand(rng.uniform(-5, 5, 2) if k % 7 else None))
        if k % 20 == 10:
            plant.apply(ExternalWrench(link, rng.uniform(-1, 1, 6) if k % 40 == 10 else None))
        if k % 50 == 25:
            plant.apply(SetPayload(link, payloads[rng.integers(3)]))
        if k == 150:
            plant.apply(SetState(rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 2)))
        plant.step()
        states.append((bits(plant), plant.effort.tobytes()))
    return states


@pytest.mark.parametrize(
    'models',
    [
        JointModels(stops=InelasticStop()),
        JointModels(
            'stick_slip',
            Actuators(0.003, rate_limit=[np.inf, 200.0], velocity_limit=None, bandwidth=50.0),
            SpringDamperStop(1e4, [1.0, 2.0]),
        ),
        JointModels(FrictionSettings('load_memory', load=[0.1, 0.2]), stops=InelasticStop()),
        JointModels(elasticity=Elasticity(2e3, 1.0), actuators=Actuators(delay=2e-3)),
    ],
    ids=['stops', 'drives', 'friction', 'elastic'],
)
def test_the_same_commands_give_the_same_bits(models):
    model = replace(planar_2r(), lower=np.full(2, -0.7), upper=np.full(2, 0.7))
    model = model.with_actuation(viscous=0.2, coulomb=1.0, rotor_inertia=0.1)
    first, again, other = (
        eventful(Plant(Simulator(Dynamics(model), joint_models=models)), seed)
        for seed in (7, 7, 8)
    )
    assert first == again
    assert first != other
