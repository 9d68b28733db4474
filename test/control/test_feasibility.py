# SPDX-License-Identifier: Apache-2.0
"""Torque-feasible motion: limits by Pinocchio, and the largest speed is the largest."""

from dataclasses import replace

import numpy as np
import pin_model
import pytest
import robots
from tiers import soak

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.common.resources import share_file
from robot_dynamics.control.feasibility import check_feasibility, check_motion, slow_down
from robot_dynamics.control.feedforward import feedforward
from robot_dynamics.control.gains import pd_gains
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction, coulomb_friction
from robot_dynamics.core.friction.laws import friction_law
from robot_dynamics.core.friction.memory import FrictionWithOffset
from robot_dynamics.urdf.loading import load_urdf

COULOMB_SPEED = 1e-2  # rad/s: dry friction is tanh(qd / COULOMB_SPEED)


@pytest.fixture(scope='module')
def elbow():
    return load_urdf(share_file('urdf/planar_2r.urdf'))


def drives(model, rng, gravity_share=0.6, coulomb=0.05):
    """Return the model with drives that can hold it anywhere, and have friction."""
    arm = Dynamics(model)
    q = rng.uniform(-np.pi, np.pi, (500, model.n)) * np.where(model.angular, 1.0, 0.1)
    holding = np.abs(arm.gravity_torque(q)).max(axis=0)
    effort = np.maximum(holding / gravity_share, 0.2 * holding.max() + 0.1)
    return replace(
        model,
        effort_limit=effort,
        viscous=rng.uniform(0.0, 0.1, model.n) * effort,
        coulomb=rng.uniform(0.0, coulomb, model.n) * effort,
        velocity_limit=np.full(model.n, np.inf),
    )


def random_trajectory(model, rng, degree, points=6, duration=1.0):
    """Return points with random times, of smooth positions, cubics or quintics."""
    t = np.concatenate([[0.0], np.cumsum(rng.uniform(0.2, 1.0, points - 1))])
    t *= duration / t[-1]
    scale = np.where(model.angular, 1.0, 0.1)
    q, qd, qdd = (rng.uniform(-size, size, (points, model.n)) * scale for size in (1, 2, 10))
    qd[[0, -1]] = qdd[[0, -1]] = 0.0
    return Trajectory(model.joint_names, t, q, *[qd, qdd][: {1: 0, 3: 1, 5: 2}[degree]])


def pinocchio_load(model, trajectory, samples=1501):
    """Return the largest share of each effort limit (n,) by Pinocchio and the friction law."""
    t = np.linspace(trajectory.times[0], trajectory.duration, samples)
    # Accelerations may jump at the points, and dry friction where a joint stops for a moment.
    beside = [trajectory.times + dt for dt in (-1e-9, 0.0, 1e-9, *np.linspace(-2e-3, 2e-3, 41))]
    t = np.unique(np.clip(np.concatenate([t, *beside]), t[0], t[-1]))
    q, qd, qdd = trajectory.sample(t)
    other = pin_model.PinRobot(model)
    tau = np.array([other.inverse_dynamics(*row) for row in zip(q, qd, qdd, strict=True)])
    tau += model.viscous * qd + model.coulomb * np.tanh(qd / COULOMB_SPEED)
    return (np.abs(tau) / model.effort_limit).max(axis=0)


@pytest.mark.parametrize('name', robots.NAMES)
def test_no_torque_is_above_the_limit_by_pinocchio_after_slowing_down(name):
    rng = np.random.default_rng(list(name.encode()))
    model = drives(robots.load(name), rng)
    arm = Dynamics(model)
    for degree in (1, 3, 5):
        trajectory = random_trajectory(model, rng, degree)
        found = check_feasibility(arm, trajectory)
        before = pinocchio_load(model, trajectory).max()
        assert before * (1 - 1e-6) <= found.worst.share <= before * 1.001
        assert found.feasible == (found.worst.share <= 1 + 1e-6)
        slowed = slow_down(arm, trajectory)
        assert (pinocchio_load(model, slowed) <= 1 + 1e-6).all()
        assert slowed.duration == pytest.approx(trajectory.duration / found.speed, rel=1e-5)
        if degree > 1:
            assert found.speed < 1


@pytest.mark.slow
@pytest.mark.parametrize('seed', [0, 1, *soak(range(2, 6))])
def test_the_largest_speed_is_tight(seed, elbow):
    rng = np.random.default_rng(seed)
    model = drives(elbow, rng)
    arm = Dynamics(model)
    trajectory = random_trajectory(model, rng, 3 + 2 * (seed % 2))
    found = check_feasibility(arm, trajectory)
    slowed = slow_down(arm, trajectory)
    assert found.speed < 1
    assert check_feasibility(arm, slowed).worst.share == pytest.approx(1.0, abs=1e-6)
    # One joint at its limit where Pinocchio finds the peak; faster is infeasible.
    assert pinocchio_load(model, slowed, 100_001).max() == pytest.approx(1.0, abs=1e-6)
    for speed in np.linspace(found.speed * (1 + 1e-5), 1.0, 10):
        assert not check_feasibility(arm, trajectory.at_speed(speed)).feasible


def test_a_speed_above_an_infeasible_one_is_found(elbow):
    # The arm falls with the acceleration of gravity: slower, the drives need more torque.
    model = drives(elbow, np.random.default_rng(0), gravity_share=0.99, coulomb=0.0)
    model = model.with_actuation(viscous=np.zeros(2), coulomb=np.zeros(2))
    arm = Dynamics(model)
    q0 = np.array([0.3, 0.2])
    fall = arm.forward_dynamics(q0, np.zeros(2), np.zeros(2))
    T = 0.05
    trajectory = Trajectory(
        model.joint_names,
        [0.0, T],
        [q0, q0 + fall * T**2 / 2],
        [np.zeros(2), fall * T],
        [fall, fall],
    )
    effort = np.abs(arm.gravity_torque(q0)) * 1.0001
    found = check_feasibility(arm, trajectory, effort_limit=effort)
    assert found.feasible
    assert found.speed == 1.0


@pytest.mark.parametrize('side', [1, -1])
def test_the_largest_speed_is_found_beyond_those_that_dry_friction_forbids(side, elbow):
    # A constant deceleration helps dry friction beyond the limit: |3 - s^2 m| <= 1.
    model = replace(elbow, gravity=np.zeros(3), effort_limit=np.ones(2), viscous=np.zeros(2))
    model = replace(model, coulomb=np.array([3.0, 0.0]), velocity_limit=np.full(2, np.inf))
    arm = Dynamics(model)
    a = -side * 4 / 0.24**2 / arm.mass_matrix(np.zeros(2))[0, 0]
    T, start = 0.1, 2 * abs(a) * 0.1 * side
    trajectory = Trajectory(
        model.joint_names,
        [0.0, T],
        [[0.0, 0.0], [start * T + a * T**2 / 2, 0.0]],
        [[start, 0.0], [start + a * T, 0.0]],
        [[a, 0.0]] * 2,
    )
    limit = np.array([1.0, np.inf])
    found = check_feasibility(arm, trajectory, effort_limit=limit)
    assert found.speed == pytest.approx(0.24, rel=1e-6)


def test_gravity_alone_is_reported_with_the_posture(elbow):
    weak = replace(elbow, effort_limit=np.array([1e-3, 50.0]))
    arm = Dynamics(weak)
    trajectory = Trajectory(weak.joint_names, [0.0, 1.0], [[0.3, 0.2], [0.4, 0.2]])
    found = check_feasibility(arm, trajectory)
    assert found.speed == 0
    with pytest.raises(TrajectoryError, match='against gravity alone') as error:
        slow_down(arm, trajectory)
    posture = found.gravity.posture
    expected = pin_model.PinRobot(weak).gravity_torque(posture)[0]
    assert found.gravity.torque == pytest.approx(expected)
    assert f'[{posture[0]:.4g}, {posture[1]:.4g}]' in str(error.value)
    assert repr(weak.joint_names[0]) in str(error.value)


def test_dry_friction_that_no_speed_avoids_is_an_obstacle(elbow):
    model = replace(elbow, gravity=np.zeros(3), effort_limit=np.ones(2), coulomb=np.full(2, 1.1))
    trajectory = Trajectory(model.joint_names, [0.0, 1.0], [[0.0, 0.0], [50.0, 50.0]])
    with pytest.raises(TrajectoryError, match='at 1% of the speed'):
        slow_down(Dynamics(model), trajectory)


def test_friction_of_slow_joints_changes_with_the_speed(elbow):
    # Dry friction at speeds below its full size: no closed form, still tight.
    model = replace(
        elbow, gravity=np.zeros(3), effort_limit=np.ones(2), coulomb=np.array([1.5, 0.2])
    )
    trajectory = Trajectory(model.joint_names, [0.0, 1.0], [[0.0, 0.0], [0.02, 0.0]])
    slowed = slow_down(Dynamics(model), trajectory)
    assert pinocchio_load(model, slowed).max() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize('law', ['load', 'stribeck'])
def test_the_largest_speed_is_tight_with_other_friction_laws(law, elbow):
    rng = np.random.default_rng(7)
    model = drives(elbow, rng)
    arm = Dynamics(model)
    coefficients = {'viscous': np.array([0.3, 0.1]), law: np.array([0.15, 0.1])}
    friction = JointFriction(friction_law(law), coefficients)
    trajectory = random_trajectory(model, rng, 5)
    assert not check_feasibility(arm, trajectory, friction=friction).feasible
    slowed = slow_down(arm, trajectory, friction=friction)
    q, qd, qdd = slowed.sample(np.linspace(0.0, slowed.duration, 50_001))
    other = pin_model.PinRobot(model)
    tau = np.array([other.inverse_dynamics(*row) for row in zip(q, qd, qdd, strict=True)])
    level = np.abs(tau) if law == 'load' else np.exp(-((qd / 0.1) ** 2))
    tau += coefficients['viscous'] * qd + coefficients[law] * level * np.tanh(qd / COULOMB_SPEED)
    assert (np.abs(tau) / model.effort_limit).max() == pytest.approx(1.0, abs=1e-5)


def test_the_largest_speed_is_tight_with_an_offset_of_the_drives(elbow):
    rng = np.random.default_rng(3)
    model = drives(elbow, rng)
    arm, trajectory = Dynamics(model), random_trajectory(model, rng, 5)
    offset = np.array([0.2, -0.2]) * model.effort_limit
    friction = FrictionWithOffset(coulomb_friction(model.viscous, model.coulomb), offset)
    assert not check_feasibility(arm, trajectory, friction=friction).feasible
    slowed = slow_down(arm, trajectory, friction=friction)
    q, qd, qdd = slowed.sample(np.linspace(0.0, slowed.duration, 50_001))
    tau = arm.inverse_dynamics(q, qd, qdd) + arm.friction_torque(qd) + offset
    assert (np.abs(tau) / model.effort_limit).max() == pytest.approx(1.0, abs=1e-5)


def test_velocity_limits_are_kept(elbow):
    rng = np.random.default_rng(5)
    strong = replace(elbow, effort_limit=np.full(2, np.inf), velocity_limit=np.array([0.5, 9.0]))
    trajectory = random_trajectory(strong, rng, 3)
    found = check_feasibility(Dynamics(strong), trajectory)
    assert 'reaches the velocity' in found.reasons[0]
    assert found.margin == 1.0
    slowed = slow_down(Dynamics(strong), trajectory)
    _, qd, _ = slowed.sample(np.linspace(0.0, slowed.duration, 100_001))
    assert np.abs(qd[:, 0]).max() == pytest.approx(0.5, rel=1e-6)
    assert check_feasibility(Dynamics(strong), slowed).feasible


@pytest.mark.parametrize('side', [1, -1])
@pytest.mark.parametrize('joint', [0, 1])
def test_velocity_limits_hold_in_both_directions(joint, side, elbow):
    strong = replace(elbow, effort_limit=np.full(2, np.inf))
    arm, goal, T = Dynamics(strong), np.zeros(2), 0.602
    goal[joint] = 2.0 * T * side
    # The cubic from rest to rest reaches 1.5 times its mean velocity, between two samples.
    trajectory = Trajectory(strong.joint_names, [0.0, T], [[0.0, 0.0], goal], np.zeros((2, 2)))
    for limit, speed in ((2.5, 2.5 / 3), (3 * (1 - 5e-6), 1 - 5e-6), (4.0, 1.0)):
        found = check_feasibility(arm, trajectory, velocity_limit=np.full(2, limit))
        assert found.feasible == (limit == 4.0)
        assert found.velocity[joint] == pytest.approx(3.0, rel=2e-5)
        assert found.speed == pytest.approx(speed, rel=1e-9)


@pytest.mark.parametrize('side', [1, -1])
def test_a_mirrored_motion_of_a_symmetric_arm_needs_the_opposite_torques(side, elbow):
    # Hanging along x at zero: M is even in q, and g odd.
    rng = np.random.default_rng(4)
    model = drives(replace(elbow, gravity=np.array([9.81, 0.0, 0.0])), rng)
    arm, trajectory = Dynamics(model), random_trajectory(model, rng, 3)
    rows = trajectory.points[:2]
    mirrored = Trajectory(model.joint_names, trajectory.times, *(side * rows))
    found, other = (check_feasibility(arm, motion) for motion in (trajectory, mirrored))
    for peak, of_mirrored in zip(found.peaks, other.peaks, strict=True):
        assert of_mirrored.torque == pytest.approx(side * peak.torque, rel=1e-9)
    assert other.speed == pytest.approx(found.speed, rel=1e-9)
    assert found.speed < 1


# -- corners ------------------------------------------------------------------------------------


STRETCHED = (0.0, 0.8, 0.0, -1.0, 0.0, 1.2, 0.0)  # the Panda far from the axis of its first joint


def zigzag(model, speed, segment=0.5, **how):
    """Return four points, joined at a speed in the first joint."""
    rows = np.zeros((4, model.n))
    rows[:] = STRETCHED[: model.n]
    rows[:, 0] = np.array([0.0, 1.0, 0.0, 1.0]) * speed * segment
    return Trajectory(model.joint_names, segment * np.arange(4), rows, **how)


@pytest.mark.parametrize('side', [1, -1])
@pytest.mark.parametrize('name', ['planar_2r', 'panda'])
def test_a_corner_needs_the_torque_of_pinocchio_for_its_step_of_the_velocity(name, side):
    model = load_urdf(share_file('urdf/planar_2r.urdf') if name == 'planar_2r' else name)
    model = drives(model, np.random.default_rng(8))
    times = np.array([0.0, 0.15, 0.16, 0.9])
    rng = np.random.default_rng(9)
    q = side * rng.uniform(-0.5, 0.5, (4, model.n))
    trajectory = Trajectory(model.joint_names, times, q, interpolation='linear')
    found = check_feasibility(Dynamics(model), trajectory, corner_time=0.2)
    still = np.zeros((1, model.n))
    qd = np.concatenate([still, np.diff(q, axis=0) / np.diff(times)[:, None], still])
    other = pin_model.PinRobot(model)
    # At most half of the segments beside it, (0.15 + 0.01) / 2 s; at rest there is time enough.
    for k, T in enumerate([0.2, 0.08, 0.2, 0.2]):
        step = qd[k + 1] - qd[k]
        rigid = other.inverse_dynamics(q[k], np.zeros(model.n), step / T)
        sides = [
            rigid + model.viscous * v + model.coulomb * np.tanh(v / COULOMB_SPEED)
            for v in (qd[k], qd[k + 1])
        ]
        torque = np.where(np.abs(sides[0]) > np.abs(sides[1]), *sides)
        j = int((np.abs(torque) / model.effort_limit).argmax())
        corner = found.corners[k]
        assert (corner.point, corner.peak.time) == (k, times[k])
        assert corner.peak.joint == model.joint_names[j]
        assert corner.peak.torque == pytest.approx(torque[j], rel=1e-9)
        assert corner.joint == model.joint_names[int(np.abs(step).argmax())]
        assert corner.step == pytest.approx(step[np.abs(step).argmax()], rel=1e-9)


@pytest.mark.parametrize('side', [1, -1])
def test_lines_are_feasible_at_a_low_speed_and_not_at_a_high_one(side):
    arm = Dynamics(load_urdf('panda'))
    slow, fast = (zigzag(arm.model, side * v, interpolation='linear') for v in (0.3, 2.0))
    assert check_feasibility(arm, slow).feasible
    assert [corner.point for corner in check_feasibility(arm, slow).corners] == [0, 1, 2, 3]
    found = check_feasibility(arm, fast)
    assert found.worst.share > 1
    for k, reason in enumerate(found.reasons, start=4 - len(found.reasons)):
        step = side * (2.0, -4.0, 4.0, -2.0)[k]
        assert reason.startswith(
            f"point {k}, at {0.5 * k:g} s, is a corner: the velocity of joint 'panda_joint1' "
            f'steps by {step:g} rad/s, which takes '
        )
        assert reason.endswith('its effort limit is 87: add velocities')
    assert len(found.reasons) >= 3
    with pytest.raises(TrajectoryError, match=r'not slowed down: point .* add velocities'):
        slow_down(arm, fast)
    # Torques that an infeasible corner needs do not depend on the length of the lines.
    longer = check_feasibility(arm, zigzag(arm.model, 2.0 * side, 1.0, interpolation='linear'))
    assert [c.step for c in longer.corners] == pytest.approx([c.step for c in found.corners])
    smooth = check_feasibility(arm, zigzag(arm.model, 0.3 * side))
    assert smooth.feasible
    assert smooth.corners == ()


@pytest.mark.parametrize('rate', [60.0, 100.0, 1000.0])
def test_corners_of_a_dense_path_need_the_torque_of_the_path(rate):
    # Lines between samples of a smooth motion: Dv over half of both segments is its acceleration.
    arm = Dynamics(load_urdf('panda'))
    t = np.arange(0.0, 2.0 + 0.5 / rate, 1 / rate)
    q = np.tile(STRETCHED, (len(t), 1))
    q[:, 0] = 0.5 * (1 - np.cos(np.pi * t))
    path = Trajectory(arm.model.joint_names, t, q, interpolation='linear')
    limits = np.where(np.arange(7) == 0, 40.0, np.inf)
    found = check_feasibility(arm, path, effort_limit=limits)
    assert found.feasible
    middle = found.corners[len(t) // 2]
    qd, qdd = np.zeros((2, 7))
    qd[0] = 0.5 * np.pi * np.sin(np.pi * middle.peak.time)
    qdd[0] = 0.5 * np.pi**2 * np.cos(np.pi * middle.peak.time)
    tau = arm.inverse_dynamics(q[middle.point], np.zeros(7), qdd) + arm.friction_torque(qd)
    assert middle.peak.joint == 'panda_joint1'
    assert middle.peak.torque == pytest.approx(tau[0], rel=0.05)
    assert check_feasibility(arm, Trajectory(arm.model.joint_names, t, q)).feasible


def test_a_trajectory_with_velocities_has_no_corners(elbow):
    rng = np.random.default_rng(11)
    for degree in (1, 3, 5):
        found = check_feasibility(Dynamics(elbow), random_trajectory(elbow, rng, degree))
        assert found.corners == ()
    moving = Trajectory(elbow.joint_names, [0.0, 1.0], np.zeros((2, 2)), np.full((2, 2), 0.7))
    assert check_feasibility(Dynamics(elbow), moving).corners == ()


def test_a_motion_to_the_first_point_leaves_no_corner_there(elbow):
    strong = replace(elbow, effort_limit=np.full(2, np.inf))
    line = zigzag(strong, 1.0, interpolation='linear')
    later = Trajectory(
        strong.joint_names, line.times + 1.0, line.points[0], interpolation='linear'
    )
    for trajectory in (line, later):
        found = check_motion(Dynamics(strong), trajectory, np.array([0.05, 0.0]))
        assert [corner.point for corner in found.corners] == [1, 2, 3]


@pytest.mark.parametrize('side', [1, -1])
def test_the_slower_of_the_motion_and_the_way_to_it_decides(side, elbow):
    model = replace(elbow, effort_limit=np.full(2, np.inf), velocity_limit=np.ones(2))
    arm, goal = Dynamics(model), side * np.array([0.6, 0.0])
    # 1.5 times the mean velocity: 3 rad/s on the way of 0.3 s, and 0.9 rad/s after it.
    slow = Trajectory(model.joint_names, [0.3, 1.3], [goal, 2 * goal], np.zeros((2, 2)))
    assert check_motion(arm, slow, np.zeros(2)).speed == pytest.approx(1 / 3)
    assert check_motion(arm, slow, goal).speed == 1.0
    fast = Trajectory(model.joint_names, [1.0, 1.3], [goal, 2 * goal], np.zeros((2, 2)))
    assert check_motion(arm, fast, np.zeros(2)).speed == pytest.approx(1 / 3)


def test_forces_and_velocities_of_prismatic_joints_have_their_units():
    model = load_urdf(share_file('urdf/scara_rrp.urdf'))
    limits = np.array([np.inf, np.inf, 1e-3])
    rows = np.zeros((2, 3))
    rows[1, 2] = 0.05
    trajectory = Trajectory(model.joint_names, [0.0, 0.1], rows, interpolation='linear')
    corner = check_feasibility(Dynamics(model), trajectory, effort_limit=limits).corners[0]
    assert (corner.unit, corner.peak.unit) == ('m/s', 'N')
    assert corner.step == pytest.approx(0.5)
    assert f'steps by 0.5 m/s, which takes {corner.peak.torque:.6g} N at joint' in corner.reason


def tracked(arm, trajectory, h=1e-3):
    """Return the largest share of a limit, and error, of an arm with clamped torques."""
    q, qd = trajectory.points[0, 0].copy(), np.zeros(arm.model.n)
    gains, load, error = pd_gains(arm, q, h), 0.0, 0.0
    for k in range(round((trajectory.duration + 0.2) / h)):
        desired = trajectory.sample(k * h)
        tau = feedforward(arm, desired, q, qd, gains=gains).tau
        load = max(load, (np.abs(tau) / arm.model.effort_limit).max())
        error = max(error, np.abs(desired.q - q).max())
        tau = np.clip(tau, -arm.model.effort_limit, arm.model.effort_limit)
        qd = qd + h * arm.forward_dynamics(q, qd, tau - arm.friction_torque(qd))
        q = q + h * qd
    return load, error


@pytest.mark.parametrize('side', [1, -1])
def test_what_is_feasible_is_tracked_and_a_corner_that_is_not_clamps_the_torques(side):
    arm = Dynamics(load_urdf('panda'))
    smooth, lines = (
        zigzag(arm.model, 1.2 * side, interpolation=word) for word in ('smooth', 'linear')
    )
    assert check_feasibility(arm, smooth).feasible
    load, error = tracked(arm, smooth)
    assert load < 1
    assert error < 0.003
    assert not check_feasibility(arm, lines).feasible
    load, error = tracked(arm, lines)
    assert load > 1
    assert error > 0.01


def test_many_corners_are_counted(elbow):
    weak = replace(elbow, gravity=np.zeros(3), effort_limit=np.full(2, 1e-3))
    rows = np.zeros((30, 2))
    rows[::2, 1] = 1.0
    trajectory = Trajectory(weak.joint_names, np.arange(30.0), rows, interpolation='linear')
    reasons = check_feasibility(Dynamics(weak), trajectory).reasons
    assert sum('is a corner' in reason for reason in reasons) == 10
    assert reasons[-1] == '20 more points are such corners'


def test_a_payload_counts(elbow):
    rng = np.random.default_rng(2)
    model = drives(elbow, rng)
    arm = Dynamics(model)
    trajectory = slow_down(arm, random_trajectory(model, rng, 5))
    loaded = arm.with_payload(model.frame_names[-1], 0.1)
    found = check_feasibility(loaded, trajectory)
    assert not found.feasible
    slowed = slow_down(loaded, trajectory)
    assert (pinocchio_load(loaded.model, slowed) <= 1 + 1e-6).all()


def test_other_limits_and_friction_replace_those_of_the_model(elbow):
    rng = np.random.default_rng(3)
    model = drives(elbow, rng)
    arm = Dynamics(model)
    trajectory = random_trajectory(model, rng, 5)
    friction = coulomb_friction(viscous=np.array([0.3, 0.1]), coulomb=np.array([0.2, 0.1]))
    given = check_feasibility(
        arm, trajectory, effort_limit=2 * model.effort_limit, friction=friction
    )
    changed = replace(
        model,
        effort_limit=2 * model.effort_limit,
        **friction.coefficients,
    )
    own = check_feasibility(Dynamics(changed), trajectory)
    assert given.worst.share == pytest.approx(own.worst.share, rel=1e-12)
    assert given.speed == pytest.approx(own.speed, rel=1e-12)


def test_the_path_and_the_kind_of_segments_stay_the_same(elbow):
    points = [[0.0, 0.0], [0.5, 0.2], [0.1, 0.4]]
    trajectory = Trajectory(elbow.joint_names, [0.5, 1.0, 2.0], points, [[0, 0], [], [0, 0]])
    slowed = trajectory.at_speed(0.5)
    t = np.linspace(0.5, 2.0, 50)
    for order, (before, after) in enumerate(
        zip(trajectory.sample(t), slowed.sample(2 * t), strict=True)
    ):
        assert after == pytest.approx(before * 0.5**order, abs=1e-12)
    assert slowed.waypoint(1).qd is None


def test_a_single_point_is_a_posture(elbow):
    trajectory = Trajectory(elbow.joint_names, [1.0], [[0.3, 0.2]])
    found = check_feasibility(Dynamics(elbow), trajectory)
    assert found.worst.torque == pytest.approx(found.gravity.torque)
    assert slow_down(Dynamics(elbow), trajectory) is trajectory or not found.feasible


def test_other_joints_are_rejected(elbow):
    trajectory = Trajectory(['a', 'b'], [1.0], [[0.3, 0.2]])
    with pytest.raises(TrajectoryError, match='in_order'):
        check_feasibility(Dynamics(elbow), trajectory)


@pytest.mark.parametrize(('name', 'power'), [('acceleration_limit', 2), ('jerk_limit', 3)])
def test_described_limits_of_acceleration_and_jerk_slow_a_motion_down(elbow, name, power):
    """A cubic from rest to rest: its acceleration is 6 h / T^2 at most, its jerk 12 h / T^3."""
    path = Trajectory(elbow.joint_names, [0.0, 1.0], [[0.0, 0.0], [0.5, -1.0]], np.zeros((2, 2)))
    largest = {2: 6.0, 3: 12.0}[power]
    limits = replace(elbow, **{name: np.full(2, 0.25 * largest)})
    found = check_feasibility(Dynamics(limits), path)
    assert found.speed == pytest.approx(0.25 ** (1 / power), rel=1e-9)
    assert [reason.split(';')[0][-9:].split()[-1] for reason in found.reasons] == (
        ['3', '6'] if power == 2 else ['6', '12']
    )
    slower = slow_down(Dynamics(limits), path)
    assert check_feasibility(Dynamics(limits), slower).feasible
    assert slower.duration == pytest.approx(4.0 ** (1 / power), rel=1e-9)
