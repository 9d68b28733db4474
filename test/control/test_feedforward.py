# SPDX-License-Identifier: Apache-2.0
"""Feed-forward: each part against its term of the equation of motion, and tracking."""

import numpy as np
import pytest
import robots

from robot_dynamics.common.errors import ShapeError, TrajectoryError
from robot_dynamics.control import (
    Gains,
    Reference,
    Switches,
    Trajectory,
    feedforward,
    waypoint_efforts,
)
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction, coulomb_friction
from robot_dynamics.core.friction.laws import friction_law
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.core.model.states import position_range
from robot_dynamics.simulation import Simulator, simulate

PARTS = ('gravity', 'coriolis', 'inertia', 'friction')
N = 4


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def arm(rng):
    model = random_tree(N, rng).with_actuation(viscous=0.4, coulomb=0.7)
    return Dynamics(model)


def state(rng, *shape):
    return Reference(*rng.normal(size=(3, *shape, N))), *rng.normal(size=(2, *shape, N))


def test_along_its_own_motion_it_is_inverse_dynamics_and_friction(arm, rng):
    reference, *_ = state(rng)
    tau = feedforward(arm, reference, reference.q, reference.qd).tau
    expected = arm.inverse_dynamics(*reference) + arm.friction_torque(reference.qd)
    assert np.allclose(tau, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


def test_each_part_is_its_term(arm, rng):
    reference, q, qd = state(rng)
    parts = feedforward(arm, reference, q, qd, gains=Gains(kp=[1, 2, 3, 4], kd=5.0))
    M, C, g = arm.terms(q, qd)
    scale = 1e-13 * np.abs(parts.tau).max()
    assert np.allclose(parts.inertia, M @ reference.qdd, rtol=0, atol=scale)
    assert np.allclose(parts.coriolis, C @ qd, rtol=0, atol=scale)
    assert np.allclose(parts.gravity, g, rtol=0, atol=scale)
    assert np.array_equal(parts.friction, arm.friction_torque(reference.qd))
    feedback = np.array([1, 2, 3, 4]) * (reference.q - q) + 5.0 * (reference.qd - qd)
    assert np.array_equal(parts.feedback, feedback)


@pytest.mark.parametrize('part', PARTS)
def test_a_part_switched_off_is_zero_and_the_others_stay(arm, rng, part):
    reference, q, qd = state(rng)
    everything = feedforward(arm, reference, q, qd)
    without = feedforward(arm, reference, q, qd, Switches(**{part: False}))
    assert not getattr(without, part).any()
    assert getattr(everything, part).any()
    for other in set(PARTS) - {part}:
        assert np.array_equal(getattr(without, other), getattr(everything, other))


def test_rows_are_states(arm, rng):
    reference, q, qd = state(rng, 2, 3)
    together = feedforward(arm, reference, q, qd, gains=Gains(2.0, 1.0)).tau
    assert together.shape == (2, 3, N)
    for i in np.ndindex(2, 3):
        one = Reference(*(rows[i] for rows in reference))
        alone = feedforward(arm, one, q[i], qd[i], gains=Gains(2.0, 1.0)).tau
        assert np.allclose(together[i], alone, rtol=1e-13, atol=1e-12)


def test_shapes_are_checked_by_name(arm, rng):
    reference, q, qd = state(rng)
    with pytest.raises(ShapeError, match=r'qd has shape \(3,\); it must be \(\.\.\., 4\)'):
        feedforward(arm, reference, q, qd[:3])
    with pytest.raises(ShapeError, match=r'reference.qdd has shape'):
        feedforward(arm, reference._replace(qdd=np.zeros(5)), q, qd)
    with pytest.raises(ShapeError, match=r'kp has shape \(2,\)'):
        feedforward(arm, reference, q, qd, gains=Gains(kp=[1.0, 2.0]))
    # A column would be broadcast against the joints.
    for wrong, name in (
        (coulomb_friction(np.ones((N, 1)), 0.0), 'viscous'),
        (coulomb_friction(0, [1]), 'coulomb'),
    ):
        with pytest.raises(ShapeError, match=f'{name} has shape .* one number or'):
            feedforward(arm, reference, q, qd, friction=wrong)


@pytest.mark.parametrize('wrong', [{'kp': -1.0}, {'kd': [0.0, np.nan]}])
def test_gains_must_be_finite_and_not_negative(wrong):
    with pytest.raises(ValueError, match='finite and not negative'):
        Gains(**wrong)


@pytest.mark.parametrize('wrong', [(-1.0, 0.0), (0.0, [0.0, np.inf]), (np.nan, 0.0)])
def test_friction_must_be_finite_and_not_negative(wrong):
    with pytest.raises(ValueError, match='must be finite and not negative'):
        coulomb_friction(*wrong)


def test_efforts_of_joints_in_another_order_are_rejected(arm, rng):
    names = arm.model.joint_names
    shuffled = Trajectory(names[::-1], [0.0], rng.normal(size=(1, N)))
    with pytest.raises(TrajectoryError, match='see `in_order`'):
        waypoint_efforts(arm, shuffled)
    waypoint_efforts(arm, shuffled.in_order(names))


def test_efforts_at_the_points_are_those_of_the_motion_there(arm, rng):
    times, rows = [0.0, 1.0, 2.0], rng.normal(size=(3, 3, N))
    trajectory = Trajectory(arm.model.joint_names, times, *rows)
    efforts = waypoint_efforts(arm, trajectory)
    expected = arm.inverse_dynamics(*rows) + arm.friction_torque(rows[1])
    assert np.allclose(efforts, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    gravity_left_out = waypoint_efforts(arm, trajectory, Switches(gravity=False))
    assert np.allclose(efforts - gravity_left_out, arm.gravity_torque(rows[0]))


def rms_error(arm, trajectory, switches):
    """Return how far an arm strays from a trajectory, rad, under feedback of 20 rad/s."""
    # What each joint moves while the others are free: its diagonal of M is too much where axes
    # align, and feedback that strong is unstable at 1 kHz.
    inertia = 1 / np.diag(np.linalg.inv(arm.mass_matrix(trajectory.waypoint(0).q)))
    gains = Gains(kp=400 * inertia, kd=40 * inertia)

    def law(t, q, qd):
        return feedforward(arm, trajectory.sample(t), q, qd, switches, gains).tau

    run = simulate(Simulator(arm, q=trajectory.waypoint(0).q), law, trajectory.duration)
    return np.sqrt(np.mean((run.q - trajectory.sample(run.t).q) ** 2))


NOTHING = Switches(gravity=False, coriolis=False, inertia=False, friction=False)


def test_it_follows_more_accurately_than_feedback_alone(arm, rng):
    q = rng.uniform(-0.5, 0.5, (2, N))
    trajectory = Trajectory(arm.model.joint_names, [0.0, 1.0], q, np.zeros((2, N)))
    assert rms_error(arm, trajectory, Switches()) < rms_error(arm, trajectory, NOTHING) / 100


# kuka_iiwa is damped enough to stop its wrist in 2 ms; xarm6 has dry friction as well, on a wrist
# that it could stop a hundred times over in one step.
@pytest.mark.parametrize('name', ['kuka_iiwa', 'xarm6', 'panda', 'ur5'])
def test_real_arms_follow_within_two_milliradians(name):
    model = robots.load(name)
    lower, upper = position_range(model)
    middle, rng = (lower + upper) / 2, np.random.default_rng(0)
    q = middle + 0.1 * (upper - lower) * rng.uniform(-1, 1, (2, model.n))
    trajectory = Trajectory(model.joint_names, [0.0, 2.0], q, np.zeros_like(q))
    arm = Dynamics(model)
    with_model = rms_error(arm, trajectory, Switches())
    assert with_model < 2e-3
    assert with_model < rms_error(arm, trajectory, NOTHING) / 20


@pytest.mark.parametrize('gravity', [True, False])
def test_load_friction_follows_the_whole_torque_of_the_drives(arm, rng, gravity):
    reference = Reference(*rng.normal(size=(3, arm.model.n)))
    zero, load = np.zeros(arm.model.n), np.full(arm.model.n, 0.1)
    friction = JointFriction(
        friction_law('load'), {'viscous': zero, 'coulomb': zero, 'load': load}
    )
    switches = Switches(gravity=gravity)
    parts = feedforward(arm, reference, reference.q, reference.qd, switches, friction=friction)
    tau = arm.inverse_dynamics(*reference)
    expected = 0.1 * np.abs(tau) * np.tanh(reference.qd / 0.01)
    np.testing.assert_allclose(parts.friction, expected, rtol=1e-12)
