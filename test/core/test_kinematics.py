# SPDX-License-Identifier: Apache-2.0
"""Poses against the exponential, Jacobians against complex steps."""

import numpy as np
import pytest
from scipy.linalg import expm

from robot_dynamics.common.errors import FrameNotFound, ShapeError
from robot_dynamics.common.spatial import axis_rotation, pose, skew, unskew
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.core.model.joints import motion_subspace
from robot_dynamics.core.model.robots import planar_2r, random_inertial, random_tree

STEP = 1e-30  # of a complex step: exact to rounding


def derivative(f, x, direction):
    """Return the derivative of f at x along a direction."""
    return np.imag(f(x + 1j * STEP * np.asarray(direction))) / STEP


def with_tool(n: int, seed: int, **options):
    """Return a random tree with frames that are not at the joints, one of them on the base."""
    rng = np.random.default_rng(seed)
    tree = random_tree(n, rng, **options)
    axis = np.array([0.0, 0.6, 0.8])
    frames = [pose(axis_rotation(axis, rng.normal()), rng.normal(size=3)) for _ in range(n + 2)]
    return build_tree(
        'with_tool',
        list(tree.parent),
        list(tree.revolute),
        list(tree.axis),
        list(tree.placement),
        [random_inertial(rng) for _ in range(n)],
        frame_names=('camera', *(f'tool{i}' for i in range(n)), 'far'),
        frame_body=np.array([-1, *range(n), 0]),
        frame_placement=np.array(frames),
    )


def coupled():
    """Return three bodies on two coordinates."""
    rng = np.random.default_rng(8)
    return build_tree(
        'coupled',
        [-1, 0, 1],
        [True, True, False],
        list(np.eye(3)),
        [pose(np.eye(3), rng.normal(size=3)) for _ in range(3)],
        [random_inertial(rng) for _ in range(3)],
        joint_names=('a', 'b'),
        S=np.array([[1.0, 0.0], [-1.0, 1.0], [0.2, 0.5]]),
        s0=np.array([0.1, 0.0, 0.3]),
    )


ROBOTS = {
    'planar_2r': planar_2r(),
    'chain': with_tool(5, 1, branching=0.0),
    'tree': with_tool(8, 2),
    'prismatic': with_tool(4, 3, prismatic=1.0),
    'coupled': coupled(),
}


@pytest.fixture(params=ROBOTS, ids=str)
def robot(request):
    return ROBOTS[request.param]


@pytest.fixture
def state(robot):
    return np.random.default_rng(7).uniform(-2, 2, (2, robot.n))


def test_tip_of_the_planar_arm_agrees_with_trigonometry():
    arm, (a, b) = planar_2r(lengths=(0.7, 0.4)), (0.3, -1.1)
    T = kin.frame_pose(arm, np.array([a, b]), 'link2')
    assert T[:3, :3] == pytest.approx(axis_rotation(np.array([0.0, 0.0, 1.0]), a + b), abs=1e-15)
    assert T[:3, 3] == pytest.approx([0.7 * np.cos(a), 0.7 * np.sin(a), 0.0], abs=1e-15)


def test_poses_are_products_of_exponentials(robot, state):
    q, _ = state
    poses, position = kin.body_poses(robot, q), robot.S @ q + robot.s0
    assert poses.shape == (robot.nb, 4, 4)
    for i in range(robot.nb):
        T = np.eye(4)
        for j in robot.support(i):
            w, v = np.split(motion_subspace(robot.axis[j], bool(robot.revolute[j])), 2)
            twist = np.block([[skew(w), v[:, None]], [np.zeros((1, 4))]])
            T = T @ robot.placement[j] @ expm(twist * position[j])
        assert poses[i] == pytest.approx(T, abs=1e-13)


def test_axes_and_centres_of_mass_are_carried_by_their_bodies(robot, state):
    poses = kin.body_poses(robot, state[0])
    for i, T in enumerate(poses):
        # A point has the fourth coordinate 1, a direction has 0.
        com, axis = T @ [*robot.com[i], 1.0], T @ [*robot.axis[i], 0.0]
        assert kin.com_positions(robot, poses)[i] == pytest.approx(com[:3], abs=1e-14)
        assert kin.joint_axes(robot, poses)[i] == pytest.approx(axis[:3], abs=1e-14)


def test_jacobian_is_the_derivative_of_the_pose(robot, state):
    q, qd = state
    for frame in robot.frame_names:
        T, V = kin.frame_pose(robot, q, frame), kin.jacobian(robot, q, frame) @ qd
        T_dot = derivative(lambda x, f=frame: kin.frame_pose(robot, x, f), q, qd)
        # [w] = Rdot R^T,  v = pdot
        assert V[:3] == pytest.approx(unskew(T_dot[:3, :3] @ T[:3, :3].T), abs=1e-13)
        assert V[3:] == pytest.approx(T_dot[:3, 3], abs=1e-13)


def test_jacobian_dot_is_the_derivative_of_the_jacobian(robot, state):
    q, qd = state
    for frame in robot.frame_names:
        expected = derivative(lambda x, f=frame: kin.jacobian(robot, x, f), q, qd)
        assert kin.jacobian_dot(robot, q, qd, frame) == pytest.approx(expected, abs=1e-12)


def test_partials_are_the_derivatives_of_the_com_jacobians(robot, state):
    q, _ = state
    partials = kin.com_jacobian_partials(robot, kin.body_poses(robot, q))
    for k in range(robot.n):
        expected = derivative(
            lambda x: np.stack(kin.com_jacobians(robot, kin.body_poses(robot, x))),
            q,
            np.eye(robot.n)[k],
        )
        # Along a coordinate, the bodies move by the column k of S.
        along = np.stack([np.tensordot(robot.S[:, k], dJ, axes=1) for dJ in partials])
        assert along == pytest.approx(expected, abs=1e-12)


def test_com_jacobian_dots_are_the_partials_along_the_motion(robot, state):
    q, qd = state
    poses, rates = kin.body_poses(robot, q), kin.body_velocities(robot, qd)
    dots = kin.com_jacobian_dots(robot, poses, rates)
    for J_dot, dJ in zip(dots, kin.com_jacobian_partials(robot, poses), strict=True):
        # Jdot = sum_k dJ/dq_k qd_k
        assert J_dot == pytest.approx(np.tensordot(rates, dJ, axes=1), abs=1e-12)


def test_a_frame_of_the_base_does_not_move():
    robot = ROBOTS['tree']
    q, qd = np.ones(robot.n), np.ones(robot.n)
    assert np.array_equal(kin.frame_pose(robot, q, 'camera'), robot.frame_placement[0])
    assert not kin.jacobian(robot, q, 'camera').any()
    assert not kin.jacobian_dot(robot, q, qd, 'camera').any()


def test_a_wrench_does_the_same_work_at_the_frame_and_at_the_joints(robot, state):
    q, qd = state
    F = np.random.default_rng(5).normal(size=6)
    for frame in robot.frame_names:
        V = kin.jacobian(robot, q, frame) @ qd
        tau = kin.wrench_torque(robot, q, F, frame)
        assert tau @ qd == pytest.approx(F @ V, abs=1e-12)


def test_a_wrench_in_the_frame_s_axes_acts_through_the_body_jacobian(robot, state):
    """Lynch and Park, draft, (9.81): tau = J_b^T F, both in end-effector coordinates."""
    q, frame = state[0], robot.frame_names[-1]
    F_tip = np.random.default_rng(5).normal(size=6)
    R = kin.frame_pose(robot, q, frame)[:3, :3]
    J_b = np.kron(np.eye(2), R.T) @ kin.jacobian(robot, q, frame)
    in_base = kin.wrench_in_base_axes(robot, q, F_tip, frame)
    assert kin.wrench_torque(robot, q, in_base, frame) == pytest.approx(J_b.T @ F_tip, abs=1e-12)


def test_shapes_and_names_are_checked():
    robot = ROBOTS['chain']
    q = np.zeros(robot.n)
    with pytest.raises(FrameNotFound, match=r"'hand'.*camera, tool0"):
        kin.frame_pose(robot, q, 'hand')
    with pytest.raises(ShapeError, match=r'q has shape \(4,\).*5 joints.*\(5,\)'):
        kin.body_poses(robot, q[:-1])
    with pytest.raises(ShapeError, match='qd has shape'):
        kin.jacobian_dot(robot, q, q[:-1], 'tool1')
    with pytest.raises(ShapeError, match=r'wrench has shape \(3,\).*\(6,\)'):
        kin.wrench_torque(robot, q, np.zeros(3), 'tool1')
