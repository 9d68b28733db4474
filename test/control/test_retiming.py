# SPDX-License-Identifier: Apache-2.0
"""The fastest motion: closed forms of one mass, toppra, limits by the check, and the path kept."""

import logging
from dataclasses import replace

import numpy as np
import pytest
import robots
from scipy.interpolate import CubicSpline
from tiers import slow

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.control.feasibility import check_feasibility
from robot_dynamics.control.gains import pd_gains
from robot_dynamics.control.limits import TO_FULL_SPEED, acceleration_limit
from robot_dynamics.control.retiming import retime
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import coulomb_friction
from robot_dynamics.core.model.robots import cartesian_arm
from robot_dynamics.urdf.loading import load_urdf

BRIEF = 1e-3  # s, of a window that costs nothing
FORCE, DISTANCE = 4.0, 0.8  # N, m


def mass(**limits):
    """Return two carriages of 3 and 1 kg on crossed horizontal rails."""
    unlimited = np.full(2, np.inf)
    model = replace(cartesian_arm(), gravity=np.zeros(3), velocity_limit=unlimited)
    return Dynamics(replace(model, **{name: np.full(2, x) for name, x in limits.items()}))


def straight(arm, *stops, duration=5.0):
    """Return a motion of the first joint from rest to rest, at each of the stops."""
    q = np.zeros((len(stops), arm.model.n))
    q[:, 0] = stops
    t = duration * np.arange(len(stops))
    return Trajectory(arm.model.joint_names, t, q, np.zeros_like(q), np.zeros_like(q))


def curved(model, rng, reach=0.35):
    """Return a smooth motion through five random postures, points every 0.2 s."""
    lower, upper = np.maximum(model.lower, -2.8), np.minimum(model.upper, 2.8)
    postures = (lower + upper) / 2 + rng.uniform(-reach, reach, (5, model.n)) * (upper - lower)
    path = CubicSpline(np.linspace(0.0, 4.0, 5), postures, bc_type='clamped')
    t = np.linspace(0.0, 4.0, 21)
    return Trajectory(model.joint_names, t, path(t), path(t, 1), path(t, 2))


def distance_from(trajectory, q):
    """Return how far positions (k, n) are from the path, rad or m."""
    path = trajectory.sample(np.linspace(trajectory.times[0], trajectory.duration, 20_001)).q
    return max(np.linalg.norm(path - row, axis=1).min() for row in q)


def reversed_in_time(trajectory):
    q, qd, qdd = trajectory.points[:, ::-1]
    t = trajectory.duration - trajectory.times[::-1]
    return Trajectory(trajectory.joint_names, t, q, -qd, qdd)


# -- closed forms -------------------------------------------------------------------------------


@pytest.mark.parametrize('side', [1, -1])
def test_a_force_limit_gives_the_time_of_bang_bang(side):
    arm = mass(effort_limit=FORCE)
    m = arm.mass_matrix(np.zeros(2))[0, 0]
    fastest = retime(arm, straight(arm, 0.0, side * DISTANCE), window=BRIEF, margin=1.0)
    # d = 2 (F/m) (T/2)^2 / 2
    assert fastest.duration == pytest.approx(2 * np.sqrt(DISTANCE * m / FORCE) + BRIEF, rel=1e-3)
    assert fastest.end.q[0] == pytest.approx(side * DISTANCE, abs=1e-12)


def test_the_margin_is_a_share_of_the_force():
    arm = mass(effort_limit=FORCE)
    motion = straight(arm, 0.0, DISTANCE)
    whole, half = (retime(arm, motion, window=BRIEF, margin=share) for share in (1.0, 0.5))
    assert half.duration == pytest.approx(np.sqrt(2) * whole.duration, rel=1e-3)


@pytest.mark.parametrize('side', [1, -1])
def test_dry_friction_delays_the_start_and_is_not_counted_on_to_stop(side):
    arm, dry = mass(effort_limit=FORCE), 1.0
    m = arm.mass_matrix(np.zeros(2))[0, 0]
    law = coulomb_friction(np.zeros(2), np.full(2, dry))
    fastest = retime(
        arm, straight(arm, 0.0, side * DISTANCE), friction=law, window=BRIEF, margin=1.0
    )
    # d = v^2 m / 2 (1 / (F - f) + 1 / F),   T = v m (1 / (F - f) + 1 / F)
    slopes = m / (FORCE - dry) + m / FORCE
    speed = np.sqrt(2 * DISTANCE / slopes)
    assert fastest.duration == pytest.approx(speed * slopes + BRIEF, rel=1e-3)


@pytest.mark.parametrize('viscous', [0.5, 8.0])
@pytest.mark.parametrize('side', [1, -1])
def test_viscous_friction_bounds_the_speed_that_no_limit_bounds(viscous, side):
    """To brake it is not counted on; without it the motion would take 1.55 s."""
    arm = mass(effort_limit=FORCE)
    m = arm.mass_matrix(np.zeros(2))[0, 0]
    law = coulomb_friction(np.full(2, viscous), np.zeros(2))
    fastest = retime(
        arm, straight(arm, 0.0, side * DISTANCE), friction=law, window=BRIEF, margin=1.0
    )
    assert check_feasibility(arm, fastest, friction=law).margin > -1e-5

    # v' = (F - k v) / m, until v^2 m / (2 F) is the way that is left
    t, x, v = 0.0, 0.0, 0.0
    while DISTANCE - x > v * v * m / (2 * FORCE):
        v, x, t = v + 1e-5 * (FORCE - viscous * v) / m, x + 1e-5 * v, t + 1e-5
    best = t + v * m / FORCE
    # One tangent of the square root, at the speed without friction, costs up to a tenth.
    assert best < fastest.duration < 1.12 * best


@pytest.mark.parametrize(
    'limits', [{'effort_limit': 6.0}, {'effort_limit': 40.0}, {'acceleration_limit': 5.0}], ids=str
)
def test_a_velocity_limit_gives_the_time_of_a_trapezoid(limits):
    arm, speed = mass(**limits, velocity_limit=0.5), 0.5
    m = arm.mass_matrix(np.zeros(2))[0, 0]
    acceleration = min(
        limits.get('acceleration_limit', speed / TO_FULL_SPEED),
        limits.get('effort_limit', np.inf) / m,
    )
    fastest = retime(arm, straight(arm, 0.0, DISTANCE), window=BRIEF, margin=1.0)
    # T = d / v + v / a
    expected = DISTANCE / speed + speed / acceleration + BRIEF
    assert fastest.duration == pytest.approx(expected, rel=2e-3)
    assert check_feasibility(arm, fastest).feasible


def test_stops_and_pauses_stay():
    arm = mass(effort_limit=FORCE)
    there, back = (retime(arm, straight(arm, 0.0, d), window=BRIEF) for d in (DISTANCE, -0.3))
    both = retime(arm, straight(arm, 0.0, DISTANCE, 0.5), window=BRIEF)
    assert both.duration == pytest.approx(there.duration + back.duration, rel=1e-3)
    assert both.sample(there.duration).q[0] == pytest.approx(DISTANCE, abs=1e-5)
    paused = retime(arm, straight(arm, 0.0, DISTANCE, DISTANCE, 0.5, duration=2.0), window=BRIEF)
    assert paused.duration == pytest.approx(both.duration + 2.0, rel=1e-9)
    later = straight(arm, 0.0, DISTANCE)
    later = Trajectory(later.joint_names, later.times + 1.5, *later.points)
    assert retime(arm, later, window=BRIEF).times[0] == 1.5


# -- real arms ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('name', 'load'),
    [
        ('panda', 3.0),
        *[
            pytest.param(*x, marks=pytest.mark.slow)
            for x in (('panda', 0.0), ('ur5', 0.0), ('kuka_iiwa', 0.0))
        ],
    ],
)
def test_the_path_is_kept_within_the_limits_and_something_is_at_its_limit(name, load):
    arm = Dynamics(robots.load(name))
    if load:
        arm = arm.with_payload(arm.model.moving_links[-1], load)
    rng = np.random.default_rng(5)
    for _ in range(3):
        motion = curved(arm.model, rng)
        fastest = retime(arm, motion)
        assert check_feasibility(arm, fastest).feasible
        t = np.linspace(0.0, fastest.duration, 400)
        q, qd, qdd = fastest.sample(t)
        assert distance_from(motion, q) < 1e-3
        assert q[[0, -1]] == pytest.approx(motion.points[0, [0, -1]], abs=1e-9)
        assert not np.abs(qd[[0, -1]]).max() > 1e-9
        tau = arm.inverse_dynamics(q, qd, qdd) + arm.friction_torque(qd)
        shares = (
            np.abs(tau) / arm.model.effort_limit,
            np.abs(qd) / arm.model.velocity_limit,
            np.abs(qdd) / acceleration_limit(arm.model),
        )
        used = np.max(shares, axis=(0, 2))
        assert np.median(used) > 0.85


@pytest.mark.parametrize('name', ['panda', *slow(['ur5', 'kuka_iiwa'])])
def test_durations_are_those_of_toppra(name):
    """The peer takes no margin and no window; 3 % are what both cost at most."""
    toppra = pytest.importorskip('toppra')
    logging.getLogger('toppra').setLevel('ERROR')
    arm = Dynamics(robots.load(name))
    model, rng = arm.model, np.random.default_rng(7)
    both = toppra.constraint.DiscretizationType.Interpolation
    most = acceleration_limit(model)
    limits = [
        toppra.constraint.JointAccelerationConstraint(
            np.stack([-most, most], axis=1), discretization_scheme=both
        ),
        toppra.constraint.JointVelocityConstraint(
            np.stack([-model.velocity_limit, model.velocity_limit], axis=1)
        ),
        toppra.constraint.JointTorqueConstraint(
            lambda *motion: np.array(arm.inverse_dynamics(*motion)),
            np.stack([-model.effort_limit, model.effort_limit], axis=1),
            np.zeros(model.n),
            discretization_scheme=both,
        ),
    ]
    for _ in range(3):
        motion = curved(model, rng)
        t = np.linspace(0.0, motion.duration, 801)
        path = toppra.SplineInterpolator(t, motion.sample(t).q)
        instance = toppra.algorithm.TOPPRA(
            limits, path, gridpoints=np.linspace(0.0, motion.duration, 401)
        )
        peer = instance.compute_trajectory(0, 0).duration
        none = coulomb_friction(np.zeros(model.n), np.zeros(model.n))
        own = retime(arm, motion, friction=none, window=BRIEF, margin=1.0).duration
        assert 0.99 * peer < own < 1.03 * peer


def test_the_time_law_of_the_input_and_its_direction_do_not_count():
    arm = Dynamics(robots.load('panda'))
    motion = curved(arm.model, np.random.default_rng(3))
    none = coulomb_friction(np.zeros(arm.model.n), np.zeros(arm.model.n))
    durations = [
        retime(arm, each, friction=none).duration
        for each in (motion, motion.at_speed(0.1), motion.at_speed(7.0), reversed_in_time(motion))
    ]
    assert durations[1:3] == pytest.approx([durations[0]] * 2, rel=1e-6)
    # Without friction the equation of motion is the same backward in time.
    assert durations[3] == pytest.approx(durations[0], rel=5e-3)
    loaded = arm.with_payload('panda_link7', 3.0)
    weak = 0.8 * arm.model.effort_limit
    assert retime(loaded, motion, weak).duration > 1.02 * durations[0]


@pytest.mark.parametrize('name', ['panda', *slow(['puma560'])])
def test_it_is_followed_within_the_rate_of_torques_that_nodes_allow(name):
    """By feed-forward and feedback of 1 kHz, with full effort in 0.1 s at most."""
    arm = Dynamics(load_urdf(name))
    if not np.isfinite(arm.model.effort_limit).all():
        arm = Dynamics(replace(arm.model, effort_limit=np.full(6, 120.0)))
    fastest = retime(arm, curved(arm.model, np.random.default_rng(3), 0.3))
    h, most = 1e-3, arm.model.effort_limit
    q, qd, qdd = fastest.sample(np.arange(0.0, fastest.duration, h))
    feed_forward = arm.inverse_dynamics(q, qd, qdd) + arm.friction_torque(qd)
    gains = pd_gains(arm, q[::50], h)
    at, rate, last, error = q[0], qd[0], feed_forward[0], 0.0
    for k, tau in enumerate(feed_forward):
        wanted = tau + gains.kp * (q[k] - at) + gains.kd * (qd[k] - rate)
        last = last + np.clip(np.clip(wanted, -most, most) - last, -h * most / 0.1, h * most / 0.1)
        error = max(error, np.abs(q[k] - at).max())
        at, rate = arm.simulate(at, rate, last, steps=1, time_step=h)[:2]
    assert error < 2e-3


def test_a_held_torque_delays_the_arm_by_half_its_period():
    """What an arm at 10 rad/s lags at 1 kHz is that delay, and none of the time law."""
    arm = Dynamics(robots.load('kuka_iiwa'))
    fastest = retime(arm, curved(arm.model, np.random.default_rng(0), 0.3))
    h = 1e-3
    t = np.arange(0.0, fastest.duration, h)
    q, qd, _ = fastest.sample(t)
    gains = pd_gains(arm, q[::50], h)
    errors = []
    for shift in (0.0, h / 2):
        ahead = fastest.sample(np.minimum(t + shift, fastest.duration))
        feed_forward = arm.inverse_dynamics(*ahead) + arm.friction_torque(ahead[1])
        at, rate, error = q[0], qd[0], 0.0
        for k, tau in enumerate(feed_forward):
            tau = tau + gains.kp * (q[k] - at) + gains.kd * (qd[k] - rate)
            error = max(error, np.abs(q[k] - at).max())
            at, rate = arm.simulate(at, rate, tau, steps=1, time_step=h, integrator='rk4')[:2]
        errors.append(error)
    assert np.abs(qd).max() == pytest.approx(10.0, rel=0.01)
    assert errors[0] == pytest.approx(h / 2 * 10.0, rel=0.2)
    assert errors[1] < 2e-4


# -- what cannot be -----------------------------------------------------------------------------


def test_corners_and_turns_between_points_are_named():
    arm = mass(effort_limit=FORCE)
    names, t = arm.model.joint_names, [0.0, 1.0, 2.0]
    lines = Trajectory(names, t, [[0, 0], [1, 0], [1, 1]], interpolation='linear')
    with pytest.raises(TrajectoryError, match=r'point 1, at 1 s, is a corner of the path'):
        retime(arm, lines)
    back = Trajectory(names, [0.0, 1.0], [[0, 0], [0.1, 0]], [[0, 0], [-2.0, 0]])
    with pytest.raises(TrajectoryError, match=r'turns back at about 0\.\d+ s'):
        retime(arm, back)


def test_a_posture_that_cannot_be_held_and_wrong_arguments_are_named():
    arm = Dynamics(robots.load('panda'))
    motion = curved(arm.model, np.random.default_rng(3))
    with pytest.raises(TrajectoryError, match=r"joint 'panda_joint\d' needs .* posture \["):
        retime(arm, motion, 0.2 * arm.model.effort_limit)
    with pytest.raises(TrajectoryError, match='see `in_order`'):
        retime(arm, motion.in_order(arm.model.joint_names[::-1]))
    for wrong in ({'window': 0.0}, {'margin': 0.0}, {'margin': 1.1}):
        with pytest.raises(TrajectoryError, match='expected a time above 0, and a share'):
            retime(arm, motion, **wrong)


@pytest.mark.parametrize('prescribed', ['positions', 'velocities', 'accelerations'])
@pytest.mark.parametrize('first', [0.0, 0.7])
def test_a_path_that_begins_elsewhere_stops_at_its_first_point(prescribed, first):
    arm = mass(effort_limit=FORCE)
    q = np.array([[0.1, 0.2], [0.5, 0.2], [0.9, 0.2]])
    rates = [np.array([[0.1, 0.0], [0.4, 0.0], [0.0, 0.0]]), np.zeros((3, 2))]
    given = rates[: ('positions', 'velocities', 'accelerations').index(prescribed)]
    names = arm.model.joint_names
    trajectory = Trajectory(names, first + np.array([0.0, 1.0, 2.0]), q, *given)
    same = retime(arm, trajectory, start=q[0])
    np.testing.assert_array_equal(same.points, retime(arm, trajectory).points)
    # Behind the first point: without a stop the path would turn back.
    for start in (q[0] + [0.03, 0.0], q[0] + [0.0, -0.03]):
        fastest = retime(arm, trajectory, start=start)
        assert check_feasibility(arm, fastest).feasible
        assert fastest.times[0] == 0.0
        np.testing.assert_allclose(fastest.points[0, [0, -1]], [start, q[-1]], atol=1e-9)
        stop = int(np.abs(fastest.points[0] - q[0]).max(axis=1).argmin())
        assert 0 < stop < len(fastest.times) - 1
        np.testing.assert_array_equal(fastest.points[1, stop], 0.0)
        way = fastest.sample(np.linspace(0.0, fastest.times[stop], 50)).q - start
        whole = q[0] - start
        np.testing.assert_allclose(way, np.outer(way @ whole, whole) / (whole @ whole), atol=1e-9)


def test_a_corner_has_its_number_and_time_wherever_the_motion_begins():
    arm = mass(effort_limit=FORCE)
    q = [[0.0, 0.0], [0.3, 0.0], [0.3, 0.3]]
    trajectory = Trajectory(arm.model.joint_names, [0.0, 0.5, 1.0], q, interpolation='linear')
    for start in (None, np.array([0.0, 0.01])):
        with pytest.raises(TrajectoryError, match=r'point 1, at 0\.5 s, is a corner'):
            retime(arm, trajectory, start=start)
