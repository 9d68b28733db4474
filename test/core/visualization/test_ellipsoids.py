# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import robots

from robot_dynamics.common.spatial import pose, rotation_rpy
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.kinematics import body_poses
from robot_dynamics.core.model import solids
from robot_dynamics.core.model.inertia import Inertial, transformed
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.core.visualization import (
    inertia_box,
    inertia_ellipsoid,
    manipulability_ellipsoid,
    tip_inertia_ellipsoid,
)

T = pose(rotation_rpy(0.3, -0.8, 1.9), np.array([0.1, 0.7, -0.4]))


@pytest.mark.parametrize(
    ('draw', 'solid', 'field'),
    [(inertia_ellipsoid, solids.ellipsoid, 'half_axes'), (inertia_box, solids.box, 'sides')],
)
def test_the_solid_drawn_has_the_inertia_of_the_body(draw, solid, field):
    for model in (robots.load('panda'), robots.load('ur5')):
        poses = body_poses(model, np.random.default_rng(0).uniform(-1, 1, model.n))
        for i in range(model.nb):
            body, shape = model.inertial(i), draw(model.inertial(i), poses[i])
            made = solid(body.mass, *getattr(shape, field))
            np.testing.assert_allclose(
                transformed(made, shape.pose).inertia_com,
                transformed(body, poses[i]).inertia_com,
                atol=1e-14,
            )
            com = poses[i] @ [*body.com, 1]
            np.testing.assert_allclose(shape.pose[:3, 3], com[:3], atol=1e-15)


def test_a_known_solid_is_drawn_as_itself():
    drawn = inertia_box(transformed(solids.box(3.0, 0.2, 0.3, 0.6), T), np.eye(4))
    np.testing.assert_allclose(sorted(drawn.sides), [0.2, 0.3, 0.6], rtol=1e-14)
    drawn = inertia_ellipsoid(solids.sphere(2.0, 0.15), T)
    np.testing.assert_allclose(drawn.half_axes, 0.15)


def test_an_inconsistent_inertia_is_drawn_flat_and_no_mass_not_at_all():
    impossible = Inertial(1.0, np.zeros(3), np.diag([0.1, 0.1, 0.5]))
    assert min(inertia_ellipsoid(impossible, T).half_axes) == 0
    assert inertia_ellipsoid(Inertial(), T) is inertia_box(Inertial(), T) is None


def test_manipulability_bounds_the_velocities_of_the_tip():
    arm = Dynamics(robots.load('panda'))
    q = np.random.default_rng(2).uniform(-1, 1, arm.model.n)
    J = arm.jacobian(q, 'panda_link8')
    tip = arm.forward_kinematics(q, 'panda_link8')[:3, 3]
    shape = manipulability_ellipsoid(J, tip, scale=0.5)
    np.testing.assert_array_equal(shape.pose[:3, 3], tip)
    qd = np.random.default_rng(3).normal(size=(500, arm.model.n))
    v = (qd / np.linalg.norm(qd, axis=1, keepdims=True)) @ J[3:].T
    local = 0.5 * v @ shape.pose[:3, :3] / shape.half_axes
    assert np.linalg.norm(local, axis=1).max() <= 1 + 1e-12
    # and is tight: the joint velocities of the singular vectors reach its surface
    qd = np.linalg.svd(J[3:])[2][:3]
    local = 0.5 * (qd @ J[3:].T) @ shape.pose[:3, :3] / shape.half_axes
    np.testing.assert_allclose(np.linalg.norm(local, axis=1), 1, rtol=1e-12)


def test_a_stretched_arm_cannot_move_its_tip_outwards():
    # Elbow straight, both links along x: the tip moves along y only.
    model = planar_2r()
    J = Dynamics(model).jacobian(np.zeros(2), model.frame_names[-1])
    a, b, c = manipulability_ellipsoid(J, np.zeros(3), 1.0).half_axes
    assert max(a, b) < 1e-8 < c


def test_tip_inertia_is_the_mass_a_force_feels():
    arm = Dynamics(robots.load('panda'))
    q = np.random.default_rng(5).uniform(-1, 1, arm.model.n)
    frame, zero = 'panda_link8', np.zeros(arm.model.n)
    J, M = arm.jacobian(q, frame), arm.mass_matrix(q)
    tip = arm.forward_kinematics(q, frame)[:3, 3]
    shape = tip_inertia_ellipsoid(J, M, tip, scale=1.0)
    for axis, half in zip(shape.pose[:3, :3].T, shape.half_axes, strict=True):
        # Pushed from rest along a principal axis: a = F / m, with m = 1 / half^2
        tau = arm.wrench_torque(q, np.concatenate([np.zeros(3), axis]), frame)
        qdd = arm.forward_dynamics(q, zero, arm.gravity_torque(q) + tau)
        np.testing.assert_allclose(J[3:] @ qdd, half**2 * axis, atol=1e-10 * half**2)
