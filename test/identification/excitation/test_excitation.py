# SPDX-License-Identifier: Apache-2.0
"""Excitations: within all limits at any time, smooth, and worth more than random motions."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import robots
import threadpoolctl

from robot_dynamics.common.resources import share_file
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.limits import violations
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.spline import rest_to_rest
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.states import random_postures
from robot_dynamics.identification.excitation.capsules import capsules_of
from robot_dynamics.identification.excitation.clearance import Capsule, clearance
from robot_dynamics.identification.excitation.excitation import (
    ExcitationError,
    Fourier,
    Limits,
    limits_of,
    time_of_approach,
)
from robot_dynamics.identification.excitation.excitation_search import excite
from robot_dynamics.urdf.geometry.meshes import mesh_folders
from robot_dynamics.urdf.loading import load_urdf, urdf_text

PANDA = load_urdf(share_file('urdf/panda.urdf')).with_actuation(rotor_inertia=0.1)
SHORT = {'period': 10.0, 'harmonics': 5, 'repeats': 2}


@pytest.fixture(scope='module')
def found():
    return excite(Dynamics(PANDA), limits_of(PANDA), **SHORT, seed=1)


def times(found, per_second):
    return np.linspace(found.approach, found.duration, round(per_second * found.duration))


def dense(found):
    """Return the times of a grid ten times as fine as that of the final check."""
    return times(found, 10 * 10 * 16 * 5 / 10)


def assert_within(motion, limits, joints=slice(None)):
    q, qd, qdd = (x[:, joints] for x in motion)
    low, high, speed, acceleration, _ = (x[joints] for x in limits)
    slack = 1 + 1e-4  # between the samples of the final check
    assert (np.abs(q - (low + high) / 2) <= slack * (high - low) / 2).all()
    assert (np.abs(qd) <= slack * speed).all()
    assert (np.abs(qdd) <= slack * acceleration).all()


@pytest.mark.slow
def test_limits_hold_between_the_samples(found):
    motion = found.sample(dense(found))
    assert_within(motion, found.limits)
    assert (found.limits.lower > PANDA.lower).all()
    assert (found.limits.upper < PANDA.upper).all()
    assert np.allclose(found.limits.velocity, 0.8 * PANDA.velocity_limit)
    # The motion uses what the limits allow.
    assert (np.abs(motion.qd).max(axis=0) > 0.85 * found.limits.velocity).all()


@pytest.mark.slow
def test_efforts_hold_by_another_engine(found):
    pytest.importorskip('pinocchio')
    from pin_model import PinRobot

    q, qd, qdd = found.sample(times(found, 200.0))
    pin = PinRobot(PANDA)
    tau = np.array([pin.inverse_dynamics(*state) for state in zip(q, qd, qdd, strict=True)])
    tau += PANDA.viscous * qd + PANDA.coulomb * np.tanh(qd / 0.01)
    share = np.abs(tau) / (0.8 * PANDA.effort_limit)
    assert share.max() <= 1 + 1e-4
    assert share.max() > 0.5


def test_the_motion_is_smooth_over_ramps_and_periods(found):
    """Velocities and accelerations are the derivatives, and have no steps anywhere."""
    h = 1e-4
    t = np.arange(found.approach - 1.0, found.duration + 1.0, h)
    q, qd, qdd = found.sample(t)
    assert np.abs((q[2:] - q[:-2]) / (2 * h) - qd[1:-1]).max() < 1e-5
    assert np.abs((qd[2:] - qd[:-2]) / (2 * h) - qdd[1:-1]).max() < 1e-4
    w = 2 * np.pi * 5 / 10  # of the highest harmonic
    assert np.abs(np.diff(qdd, axis=0)).max() < 4 * w * h * found.limits.acceleration.max()
    for rates in (qd, qdd):
        assert not rates[[0, -1]].any()


def test_periods_repeat(found):
    begin = found.approach + found.ramp
    t = begin + np.linspace(0.0, 10.0, 101)
    for first, second in zip(found.sample(t), found.sample(t + 10.0), strict=True):
        assert np.abs(first - second).max() < 1e-9
    assert found.duration == pytest.approx(begin + 20.0 + found.ramp)


@pytest.mark.slow
def test_the_motion_is_worth_more_than_random_ones(found):
    """The condition number by another path: the regressor at random parameters, without QR."""
    arm = Dynamics(PANDA)
    assert found.relative_error < 0.4
    assert found.condition < 0.7 * np.median(found.random_conditions)
    q, qd, qdd = found.motion.at(np.arange(400) / 40.0)
    rng = np.random.default_rng(3)
    other = rng.uniform(found.limits.lower, found.limits.upper, (1, 7))
    slow = Fourier.of(10.0, other[0], 0.1 * found.motion.coefficients).at(np.arange(400) / 40.0)
    ranks = [np.linalg.svd(arm.regressor(*m).reshape(-1, 70))[1] for m in ((q, qd, qdd), slow)]
    assert ranks[0][42] > 10 * ranks[1][42]  # the weakest of 43 base parameters


def assert_worth_more_than_any(model, **narrowed):
    found = excite(Dynamics(model), limits_of(model, **narrowed), **SHORT)
    assert found.relative_error < 0.6
    assert found.condition < found.random_conditions.min()


def test_no_random_motion_is_worth_as_much_on_a_small_robot():
    model = load_urdf(share_file('urdf/planar_2r.urdf'))
    assert_worth_more_than_any(model, lower=-2, upper=2, velocity=3, effort=50)


@pytest.mark.slow
@pytest.mark.parametrize('name', sorted({'kuka_iiwa', 'ur5'} & set(robots.NAMES)))
def test_no_random_motion_is_worth_as_much_on_real_robots(name):
    assert_worth_more_than_any(robots.load(name))


def test_a_seed_gives_the_same_motion_again():
    arm = Dynamics(load_urdf(share_file('urdf/scara_rrp.urdf')))
    one, same, other = (
        excite(arm, limits_of(arm.model), **SHORT, seed=seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(one.motion.coefficients, same.motion.coefficients)
    assert not np.array_equal(one.motion.coefficients, other.motion.coefficients)


@pytest.mark.slow
def test_the_motion_does_not_depend_on_the_threads_of_linear_algebra():
    """Rounding differs with them, and a search of many steps amplifies it."""
    arm, motions = Dynamics(load_urdf(share_file('urdf/scara_rrp.urdf'))), []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(limits=threads):
            found = excite(arm, limits_of(arm.model), harmonics=15)
        motions.append(found.motion.coefficients)
    assert np.array_equal(*motions)


def test_progress_is_reported():
    arm, calls = Dynamics(load_urdf(share_file('urdf/planar_2r.urdf'))), []
    limits = limits_of(arm.model, lower=-2, upper=2, velocity=3, effort=50)
    excite(arm, limits, **SHORT, progress=lambda *call: calls.append(call))
    done, total = zip(*calls, strict=True)
    assert list(done) == sorted(done)
    assert {done[-1]} == set(total)


def test_a_prismatic_joint_is_excited():
    model = load_urdf(share_file('urdf/scara_rrp.urdf'))
    found = excite(Dynamics(model), limits_of(model), **SHORT)
    motion = found.sample(dense(found))
    assert_within(motion, found.limits)
    assert np.ptp(motion.q[:, 2]) > 0.05
    assert found.limits.upper[2] == pytest.approx(0.95 * 0.18)


# -- limits ---------------------------------------------------------------------------------


def test_missing_limits_are_named_and_can_be_given():
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        model = robots.load('double_pendulum')
    names = ', '.join(model.joint_names)
    with pytest.raises(ExcitationError, match=f'{names}: no position limit.*--lower and --upper'):
        limits_of(model)
    with pytest.raises(ExcitationError, match=r'no velocity limit.*give --velocity'):
        limits_of(model, lower=-3.0, upper=3.0)
    limits = limits_of(model, lower=-3.0, upper=3.0, velocity=2.0, effort=5.0)
    assert np.isfinite(np.array(limits)).all()


def test_limits_are_narrowed_and_never_widened():
    limits = limits_of(
        PANDA, upper=0.5, velocity=[9, 9, 9, 9, 9, 9, 1], acceleration=2, velocity_scale=1.0
    )
    assert (limits.upper < 0.5).all()
    assert np.allclose(limits.velocity, [*PANDA.velocity_limit[:6], 1.0])
    assert (limits.acceleration <= 2).all()
    with pytest.raises(ExcitationError, match='panda_joint4: an empty position range'):
        limits_of(PANDA, lower=0.0)


@pytest.mark.parametrize(
    ('option', 'wider'),
    [('lower', -9.0), ('upper', 9.0), ('velocity', 99.0), ('acceleration', 1e3), ('effort', 1e3)],
)
def test_a_limit_wider_than_that_of_the_description_has_no_effect(option, wider):
    for own, found in zip(limits_of(PANDA), limits_of(PANDA, **{option: wider}), strict=True):
        assert np.array_equal(found, own)


def test_drives_that_cannot_hold_the_arm_are_named():
    with pytest.raises(ExcitationError, match=r'none of 500 postures.*the effort limit of panda'):
        excite(Dynamics(PANDA), limits_of(PANDA, effort=1.0), **SHORT)


# -- the way to the start -------------------------------------------------------------------


@pytest.mark.slow
def test_the_way_from_a_posture_is_slow_and_part_of_the_motion():
    arm, start = Dynamics(PANDA), np.array([0.1, 0.2, 0.3, -1.5, 0.2, 1.8, 0.4])
    found = excite(arm, limits_of(PANDA), **SHORT, start=start)
    q, qd, qdd = found.sample(np.linspace(0.0, found.approach, 5000))
    assert np.allclose(q[0], start)
    assert np.abs(qd).max() <= 0.2 * found.limits.velocity.max()
    assert np.abs(np.diff(qdd, axis=0)).max() < 1e-3
    assert found.trajectory().times[0] == 0.0
    assert np.allclose(q[-1], found.sample(np.array([found.approach + 1e-9])).q, atol=1e-6)


def test_the_time_of_the_approach_is_enough_from_every_posture_within_the_limits(found):
    """Also from the farther limit of each joint; the time is no longer than that takes."""
    limits, t = found.limits, np.linspace(0.0, found.approach, 2001)
    share = []
    for start in (limits.lower, limits.upper):
        way = replace(found, start=start).sample(t)
        share += [
            np.abs(way.qd).max(axis=0) / (0.2 * limits.velocity),
            np.sqrt(np.abs(way.qdd).max(axis=0) / (0.2 * limits.acceleration)),
        ]
    assert 0.95 < np.max(share) <= 1 + 1e-6


@pytest.mark.parametrize('binding', ['velocity', 'acceleration'])
@pytest.mark.parametrize('j', [0, 1, 2])
def test_the_way_to_the_start_is_as_slow_as_the_slowest_joint_needs(binding, j):
    distance, many = np.array([0.4, 1.5, 0.9]), np.full(3, 1e3)
    size = np.where(np.arange(3) == j, 0.05, 1e3)
    limits = Limits(-many, many, many, many, many)._replace(**{binding: size})
    time = time_of_approach(distance, limits)
    _, rate, change = rest_to_rest(np.linspace(0.0, 1.0, 2001))
    peak = {'velocity': rate.max() / time, 'acceleration': change.max() / time**2}[binding]
    assert 0.98 < peak * distance[j] / (0.2 * size[j]) <= 1 + 1e-6


def test_a_trajectory_is_accepted_from_anywhere(found):
    """By the reference follower of feedforward_node: it goes to the start, slowly, by itself."""
    trajectory = found.trajectory(100.0)
    assert violations(trajectory, PANDA) == []
    assert np.diff(trajectory.times) == pytest.approx(0.01, rel=1e-3)
    for q in random_postures(PANDA, 5):
        follower = ReferenceFollower(PANDA, np.full(7, 0.1), 0.1)
        follower.reference(JointReading(1, 0.95 * q, np.zeros(7), None))
        follower.follow(trajectory, 0)
        follower.reference(JointReading(2, 0.95 * q, np.zeros(7), None))
        assert follower.doing.startswith('following a trajectory')


# -- contact and floor ----------------------------------------------------------------------


@pytest.mark.slow
def test_links_stay_above_the_floor():
    arm = Dynamics(PANDA)
    kept = clearance(arm, [], floor=0.4, floor_links=['panda_link7'])
    found = excite(arm, limits_of(PANDA), **SHORT, clearance=kept)
    heights = arm.forward_kinematics(found.sample(times(found, 100.0)).q, 'panda_link7')[:, 2, 3]
    assert 0.4 <= heights.min() < 0.6
    free = excite(arm, limits_of(PANDA), **SHORT)
    below = arm.forward_kinematics(free.sample(times(free, 100.0)).q, 'panda_link7')[:, 2, 3]
    assert below.min() < 0.3


def test_friction_beyond_the_effort_limit_is_rejected():
    sticky = PANDA.with_actuation(coulomb=np.array([0, 0, 0, 0, 0, 11, 0]))
    with pytest.raises(ExcitationError, match='panda_joint6: dry friction beyond the usable'):
        limits_of(sticky)


@pytest.mark.slow
def test_a_way_through_the_floor_is_rejected():
    arm = Dynamics(PANDA)
    kept = clearance(arm, [], floor=0.4, floor_links=['panda_link7'])
    with pytest.raises(ExcitationError, match='height of panda_link7 above the floor'):
        excite(
            arm,
            limits_of(PANDA),
            **SHORT,
            clearance=kept,
            start=[0.0, 1.5, 0.0, -0.5, 0.0, 1.8, 0.0],
        )


def test_shapes_that_always_touch_are_reported():
    arm = Dynamics(PANDA)
    large = [Capsule(link, np.zeros((2, 3)), 0.4) for link in ('panda_link2', 'panda_link5')]
    assert clearance(arm, large).unchecked == (('panda_link2', 'panda_link5'),)


@pytest.mark.slow
def test_links_do_not_touch_by_another_library():
    """Distances of the meshes themselves, by Coal; motions without the check do touch."""
    pin = pytest.importorskip('pinocchio')
    path = robots.path('panda')
    locked = {'panda_finger_joint1': 0.0}
    model = robots.load('panda', locked_joints=locked)
    arm, limits = Dynamics(model), limits_of(model)
    capsules, remarks = capsules_of(urdf_text(path), mesh_folders(path))
    assert remarks == []
    kept = clearance(arm, capsules)
    found = excite(arm, limits, **SHORT, clearance=kept)
    near = {frozenset(pair) for pair in kept.unchecked}
    whole = pin.buildModelFromUrdf(str(path))
    folder = str(robots.example_robot_data().parents[1])
    geometry = pin.buildGeomFromUrdf(
        whole, str(path), pin.GeometryType.COLLISION, package_dirs=[folder]
    )
    geometry.addAllCollisionPairs()
    data, distances = whole.createData(), pin.GeometryData(geometry)

    def distance(q):
        """Return the distance of the closest links that were checked."""
        full = np.concatenate([q, [0.0] * (whole.nq - len(q))])
        pin.computeDistances(whole, data, geometry, distances, full)
        least = np.inf
        for pair, result in zip(geometry.collisionPairs, distances.distanceResults, strict=True):
            links = [
                whole.frames[geometry.geometryObjects[k].parentFrame]
                for k in (pair.first, pair.second)
            ]
            names = frozenset(frame.name for frame in links)
            if names in checked:
                least = min(least, result.min_distance)
        return least

    checked = {frozenset(kept.links[k] for k in pair) for pair in kept.pairs} - near
    assert frozenset(('panda_link0', 'panda_link5')) in checked
    assert min(map(distance, found.sample(times(found, 20.0)).q)) > 0.0
    random = random_postures(model, 200)
    assert min(map(distance, random)) <= 0.0


def test_described_limits_of_acceleration_and_jerk_hold():
    """Those of a description replace the rule that a joint reaches its speed in 0.25 s."""
    assert np.allclose(limits_of(PANDA).acceleration, 0.8 * PANDA.velocity_limit / 0.25)
    own = np.where(np.arange(PANDA.n) == 2, np.inf, 3.0)
    model = replace(PANDA, acceleration_limit=own, jerk_limit=np.full(PANDA.n, 6.0))
    limits = limits_of(model)
    expected = np.where(np.isfinite(own), 0.8 * own, 0.8 * PANDA.velocity_limit / 0.25)
    assert np.allclose(limits.acceleration, expected)
    start = PANDA.lower + 0.5 * (PANDA.upper - PANDA.lower)
    found = excite(Dynamics(model), limits, **SHORT, seed=1, start=start)
    t = np.arange(0.0, found.duration, 1e-3)
    qdd = found.sample(t).qdd
    assert (np.abs(qdd) <= limits.acceleration * (1 + 1e-4)).all()
    jerk = np.abs(np.diff(qdd, axis=0)).max() / 1e-3
    assert 2.0 < jerk <= 6.0 * (1 + 1e-3)
