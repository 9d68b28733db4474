# SPDX-License-Identifier: Apache-2.0
"""Swing trajectories of any robot, within its limits."""

from dataclasses import replace

import numpy as np
import pytest
import robots

from robot_dynamics.common.resources import share_file
from robot_dynamics.control import pd_gains, violations
from robot_dynamics.control.swing import NoMotion, home, swing
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.urdf.loading import load_urdf
from robot_dynamics.validation.identities import derivative

DURATION = 6.0
OURS = ('panda', 'planar_2r', 'scara_rrp', 'puma560')
STEP = 1e-3  # s


@pytest.fixture(params=[*(f'ours: {name}' for name in OURS), *robots.NAMES])
def arm(request):
    """Each bundled robot and each of the installed ones, one test after another."""
    name = request.param.removeprefix('ours: ')
    if name != request.param:
        return Dynamics(load_urdf(share_file(f'urdf/{name}.urdf')))
    return Dynamics(robots.load(name))


@pytest.fixture(scope='session')
def panda():
    return Dynamics(load_urdf(share_file('urdf/panda.urdf')))


def test_a_robot_can_follow_it(arm):
    points = swing(arm, DURATION).trajectory(arm.model.joint_names)
    assert points.duration == DURATION
    assert violations(points, arm.model) == []
    reference = points.sample(np.linspace(0.0, DURATION, 1000))
    tau = arm.inverse_dynamics(*reference) + arm.friction_torque(reference.qd)
    assert (np.abs(tau) < 0.9 * arm.model.effort_limit).all()


def test_it_moves_most_joints_and_no_two_alike(panda):
    motion = swing(panda, DURATION)
    q = motion.at(np.linspace(0.0, DURATION, 500)).q - motion.home
    assert (np.abs(q).max(axis=0) > 0.1).all()
    shapes = q / np.linalg.norm(q, axis=0)
    alike = shapes.T @ shapes - np.eye(panda.model.n)
    assert alike.max() < 0.9


def test_velocities_and_accelerations_are_the_derivatives(panda):
    motion = swing(panda, DURATION)
    for t in (0.3, 2.1, 4.7):
        at = motion.at(np.array([t]))
        qd = derivative(lambda s, t=t: motion.at(np.array([t + s])).q[0], 1.0)
        qdd = derivative(lambda s, t=t: motion.at(np.array([t + s])).qd[0], 1.0)
        assert np.allclose(at.qd[0], qd, rtol=0, atol=1e-10)
        assert np.allclose(at.qdd[0], qdd, rtol=0, atol=1e-10)


def test_it_begins_and_ends_at_rest_at_home(panda):
    motion = swing(panda, DURATION)
    trajectory = motion.trajectory(panda.model.joint_names)
    for point in (trajectory.waypoint(0), trajectory.waypoint(-1)):
        assert np.allclose(point.q, motion.home, rtol=0, atol=1e-12)
        assert not point.qd.any()
        assert not point.qdd.any()


def test_the_points_hold_the_curve_between_them(panda):
    motion = swing(panda, DURATION)
    t = np.linspace(0.0, DURATION, 777)
    between = motion.trajectory(panda.model.joint_names).sample(t)
    assert np.abs(between.q - motion.at(t).q).max() < 1e-4


def test_a_joint_whose_drive_barely_exceeds_friction_does_not_move(panda):
    friction = np.zeros(7)
    friction[0] = 0.95 * panda.model.effort_limit[0]
    motion = swing(Dynamics(panda.model.with_actuation(coulomb=friction)), DURATION)
    assert motion.amplitude[0] == 0
    assert (motion.amplitude[1:] != 0).all()


def test_home_is_where_weak_drives_can_hold_the_arm(panda):
    # Amid its limits the arm leans over; these drives only manage when it is more upright.
    centre = (panda.model.lower + panda.model.upper) / 2
    limit = np.full(7, 0.8 * np.abs(panda.gravity_torque(centre)).max())
    weak = Dynamics(replace(panda.model, effort_limit=limit))
    assert not np.allclose(home(weak), centre)
    assert (np.abs(weak.gravity_torque(home(weak))) < 0.5 * limit).all()
    assert np.allclose(home(panda), centre)


def test_drives_that_cannot_hold_the_arm_are_named(panda):
    weak = Dynamics(replace(panda.model, effort_limit=np.full(7, 1e-3)))
    with pytest.raises(NoMotion, match=r"cannot move it: .* effort limit 0.001 of joint 'panda_"):
        swing(weak, DURATION)


def test_gains_are_stable_in_every_posture_of_the_motion(arm):
    motion = swing(arm, DURATION)
    gains = pd_gains(arm, motion.at(np.linspace(0.0, DURATION, 50)).q, STEP)
    n = arm.model.n
    for M in arm.mass_matrix(motion.at(np.linspace(0.0, DURATION, 23)).q):
        # One step of semi-implicit Euler: v' = v - h M^-1 (Kp e + Kd v),  e' = e + h v'
        stiffness, damping = (np.linalg.solve(M, np.diag(gain)) for gain in (gains.kp, gains.kd))
        velocity = np.hstack([-STEP * stiffness, np.eye(n) - STEP * damping])
        position = np.hstack([np.eye(n), np.zeros((n, n))]) + STEP * velocity
        modes = np.abs(np.linalg.eigvals(np.vstack([position, velocity])))
        assert modes.max() < 1
