import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import FrameNotFound, ModelError, ShapeError
from robot_dynamics.model.robots import planar_2r, random_tree
from robot_dynamics.simulation import (
    NotFinite,
    Payload,
    SimulationDiverged,
    Simulator,
    semi_implicit_euler,
)
from robot_dynamics.simulation.commands import Drive, Load, Place, Plant, Push
from robot_dynamics.simulation.replay import Seen, replay

TAU = np.array([3.0, -1.0])


@pytest.fixture(scope='module')
def arm():
    return Dynamics(planar_2r())


@pytest.fixture
def plant(arm):
    return Plant(Simulator(arm, integrator=semi_implicit_euler))


def bits(plant):
    return plant.q.tobytes() + plant.qd.tobytes()


def tip(arm):
    return arm.model.link_names[-1]


def test_brakes_hold_and_let_go(plant, arm):
    plant.apply(Place(np.array([0.5, 0.2]), np.zeros(2)))
    for _ in range(10):
        plant.step()
    np.testing.assert_array_equal(plant.q, [0.5, 0.2])
    np.testing.assert_array_equal(plant.effort, [0, 0])
    assert plant.steps == 10
    plant.apply(Drive(TAU))
    free = Simulator(arm, q=[0.5, 0.2], integrator=semi_implicit_euler)
    for _ in range(10):
        plant.step()
        free.step(TAU)
    assert bits(plant) == free.q.tobytes() + free.qd.tobytes()
    np.testing.assert_array_equal(plant.effort, TAU)
    plant.apply(Drive(None))
    where = plant.q.copy()
    plant.step()
    np.testing.assert_array_equal(plant.q, where)
    np.testing.assert_array_equal(plant.qd, [0, 0])


def test_a_wrench_is_given_in_the_axes_of_its_frame():
    # Any arm, any posture: the torque is that of the wrench turned into the world's axes.
    rng = np.random.default_rng(0)
    arm = Dynamics(random_tree(4, rng))
    frame, F = arm.model.link_names[-1], rng.uniform(-1, 1, 6)
    q = rng.uniform(-1, 1, 4)
    plant = Plant(Simulator(arm, integrator=semi_implicit_euler))
    plant.apply(Place(q, np.zeros(4)))
    plant.apply(Drive(np.zeros(4)))
    plant.apply(Push(frame, F))
    plant.step()
    R = arm.forward_kinematics(q, frame)[:3, :3]
    external = arm.jacobian(q, frame).T @ np.concatenate([R @ F[:3], R @ F[3:]])
    qdd = arm.forward_dynamics(q, np.zeros(4), external)
    np.testing.assert_allclose(plant.qd, 1e-3 * qdd, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(plant.effort, np.zeros(4))


def test_a_load_is_attached_and_dropped(plant, arm):
    load = Payload(2.0, np.array([0.1, 0.0, 0.0]), np.zeros((3, 3)))
    plant.apply(Place(np.zeros(2), np.zeros(2)))
    plant.apply(Load(tip(arm), load))
    plant.apply(Drive(TAU))
    loaded = Dynamics(arm.model.with_payload(tip(arm), *load))
    plant.step()
    qdd = loaded.forward_dynamics(np.zeros(2), np.zeros(2), TAU)
    np.testing.assert_allclose(plant.qd, 1e-3 * qdd, rtol=1e-9)
    q, qd = plant.q.copy(), plant.qd.copy()
    plant.apply(Load(tip(arm), None))
    plant.step()
    np.testing.assert_allclose(plant.qd, qd + 1e-3 * arm.forward_dynamics(q, qd, TAU), rtol=1e-9)


@pytest.mark.parametrize(
    ('deed', 'error'),
    [
        (Load('link2', Payload(-1.0)), ModelError),
        (Load('elbow', Payload(1.0)), FrameNotFound),
        (Place(np.array([np.nan, 0.0]), np.zeros(2)), NotFinite),
        (Place(np.zeros(3), np.zeros(3)), ShapeError),
        (Push('elbow', np.ones(6)), FrameNotFound),
        (Push('link2', np.ones(7)), ShapeError),
        (Push('link2', np.full(6, np.inf)), NotFinite),
    ],
    ids=str,
)
def test_what_cannot_be_done_leaves_arm_and_journal_as_they_were(plant, deed, error):
    plant.apply(Load('link2', Payload(2.0)))
    plant.apply(Push('link2', np.ones(6)))
    plant.apply(Drive(TAU))
    plant.step()
    told, before = [], (bits(plant), plant.simulator.payloads['link2'], plant.pushes.keys())
    plant.journal = lambda steps, deed: told.append(deed)
    with pytest.raises(error):
        plant.apply(deed)
    assert told == []
    assert (bits(plant), plant.simulator.payloads['link2'], plant.pushes.keys()) == before
    np.testing.assert_array_equal(plant.pushes['link2'], np.ones(6))
    plant.step()


def test_the_journal_is_told_of_changes_only(plant, arm):
    told = []
    plant.journal = lambda steps, deed: told.append((steps, type(deed)))
    for _ in range(3):
        plant.apply(Drive(TAU.copy()))
        plant.apply(Push(tip(arm), np.ones(6)))
        plant.apply(Load(tip(arm), Payload(1.0)))
        plant.step()
    assert told == [(0, Drive), (0, Push), (0, Load)]
    plant.apply(Drive(-0.0 * TAU))
    plant.apply(Drive(0.0 * TAU))  # other bits
    plant.apply(Push(tip(arm), None))
    plant.apply(Load(tip(arm), None))
    assert told[3:] == [(3, Drive), (3, Drive), (3, Push), (3, Load)]


def test_what_diverges_is_held_where_it_was_and_the_journal_says_so(plant):
    plant.apply(Drive(TAU))
    plant.step()
    good = plant.q.copy()
    told = []
    plant.journal = lambda steps, deed: told.append((steps, deed))
    plant.simulator.reset(plant.q, [1e200, 1e200])
    with pytest.raises(SimulationDiverged):
        plant.step()
    assert told == [(1, Drive(None))]
    assert plant.braked
    np.testing.assert_array_equal(plant.q, good)
    np.testing.assert_array_equal(plant.qd, [0, 0])


# -- replay -----------------------------------------------------------------------------------


def eventful(plant, arm, log, steps=300):
    """Do all kinds of things at random steps, and keep some states."""
    rng = np.random.default_rng(7)
    loads = (None, Payload(0.7), Payload(1.5, np.array([0.1, 0.2, 0.0]), 0.01 * np.eye(3)))
    for k in range(steps):
        if k % 3 == 0:
            plant.apply(Drive(rng.uniform(-5, 5, 2) if k % 7 else None))
        if k % 20 == 10:
            plant.apply(Push(tip(arm), rng.uniform(-1, 1, 6) if k % 40 == 10 else None))
        if k % 50 == 25:
            plant.apply(Load(tip(arm), loads[rng.integers(3)]))
        if k == 150:
            plant.apply(Place(rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 2)))
        plant.step()
        if k % 5 == 0:
            log.append((plant.steps, Seen(plant.q.copy(), plant.qd.copy())))


def recorded(plant, arm):
    log = []
    plant.begin_journal(lambda steps, deed: log.append((steps, deed)))
    eventful(plant, arm, log)
    return log


def test_the_same_deeds_give_the_same_bits(plant, arm):
    log = recorded(plant, arm)
    again = Plant(Simulator(arm, integrator=semi_implicit_euler))
    result = replay(again, log)
    assert result.agrees, result.difference
    assert (result.steps, result.states) == (297, 60)
    while again.steps < plant.steps:
        again.step()
    assert bits(again) == bits(plant)


def test_a_journal_that_begins_in_the_middle_of_a_motion_suffices(plant, arm):
    eventful(plant, arm, [], steps=100)
    plant.apply(Load(tip(arm), Payload(0.3)))
    assert not plant.braked
    assert plant.pushes
    assert plant.simulator.payloads
    before = plant.steps
    log = [(steps - before, entry) for steps, entry in recorded(plant, arm)]
    result = replay(Plant(Simulator(arm, integrator=semi_implicit_euler)), log)
    assert result.agrees, result.difference
    assert result.states == 60


def test_beginning_a_journal_does_not_disturb_the_motion(arm):
    ends = []
    for begins in (False, True):
        plant = Plant(Simulator(arm, integrator=semi_implicit_euler))
        eventful(plant, arm, [], steps=40)
        if begins:
            plant.begin_journal(lambda steps, deed: None)
        eventful(plant, arm, [], steps=40)
        ends.append(bits(plant))
    assert ends[0] == ends[1]


def test_one_bit_more_or_less_is_found(plant, arm):
    log = recorded(plant, arm)
    later = (k for k, (steps, _) in enumerate(log) if steps > 100)
    place = next(k for k in later if isinstance(log[k][1], Seen))
    steps, seen = log[place]
    log[place] = steps, Seen(seen.q, np.nextafter(seen.qd, np.inf))
    result = replay(Plant(Simulator(arm, integrator=semi_implicit_euler)), log)
    assert not result.agrees
    assert result.steps == steps
    joint = arm.model.joint_names[0]
    assert f'after {steps} steps, velocity of joint {joint!r}' in result.difference
