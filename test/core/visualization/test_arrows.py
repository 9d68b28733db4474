# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import robots
import urdf_text

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.kinematics import body_poses, com_jacobians
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.core.visualization import joint_torque_arrows, weight_arrows
from robot_dynamics.urdf.loading import parse_urdf

NAMES = ('panda', 'tiago')


@pytest.mark.parametrize('name', NAMES)
def test_gravity_torques_balance_the_weight_arrows(name):
    """Virtual work: g = -sum J_i^T (m_i g), with every m_i g as its arrow shows it."""
    model = robots.load(name)
    q = np.random.default_rng(0).uniform(-1, 1, model.n)
    poses, scale = body_poses(model, q), 0.01
    arrows = weight_arrows(model, poses, scale)
    assert list(arrows) == [b for b, m in zip(model.body_names, model.mass, strict=True) if m > 0]
    held = np.zeros(model.n)
    for body, J in zip(model.body_names, com_jacobians(model, poses), strict=True):
        if body in arrows:
            force = (arrows[body].end - arrows[body].start) / scale
            held -= (J[3:] @ model.S).T @ force
    g = Dynamics(model).gravity_torque(q)
    np.testing.assert_allclose(held, g, atol=1e-12 * np.abs(g).max())


def test_a_torque_points_along_its_axis_and_a_force_along_its_slide():
    turn = '<origin xyz="0 0 0.5" rpy="0 0 1.5707963267948966"/><axis xyz="0 1 0"/>'
    slide = '<axis xyz="0 0 -1"/>'
    text = urdf_text.robot(
        *(urdf_text.link(name) for name in 'abc'),
        urdf_text.joint('turn', 'a', 'b', turn + urdf_text.LIMIT),
        urdf_text.joint('slide', 'b', 'c', slide + urdf_text.LIMIT, kind='prismatic'),
    )
    model = parse_urdf(text)
    q, tau = np.array([0.0, 0.1]), np.array([-3.0, 5.0])
    arrows = joint_torque_arrows(model, body_poses(model, q), tau, 0.1)
    # y turned by 90 degrees about z is -x.
    np.testing.assert_allclose(arrows['turn'].start, [0, 0, 0.5])
    np.testing.assert_allclose(arrows['turn'].end, [0.3, 0, 0.5], atol=1e-16)
    np.testing.assert_allclose(
        arrows['slide'].end - arrows['slide'].start, [0, 0, -0.5], atol=1e-16
    )


def test_torques_of_another_robot_are_rejected():
    model = planar_2r()
    with pytest.raises(ShapeError, match=r'tau has shape \(3,\)'):
        joint_torque_arrows(model, body_poses(model, np.zeros(2)), np.zeros(3), 1.0)


@pytest.mark.parametrize(('multiplier', 'offset'), [(2, 0), (1, 0.3)])
def test_a_leader_has_the_arrow_not_its_mimic(multiplier, offset):
    mimic = f'<mimic joint="leader" multiplier="{multiplier}" offset="{offset}"/>'
    text = urdf_text.robot(
        *(urdf_text.link(name) for name in 'abc'),
        urdf_text.joint('follower', 'a', 'b', urdf_text.LIMIT + mimic),
        urdf_text.joint('leader', 'a', 'c', '<origin xyz="0 1 0"/>' + urdf_text.LIMIT),
    )
    model = parse_urdf(text)
    arrows = joint_torque_arrows(model, body_poses(model, np.zeros(1)), np.ones(1), 1.0)
    np.testing.assert_array_equal(arrows['leader'].start, [0, 1, 0])
