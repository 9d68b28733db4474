# SPDX-License-Identifier: Apache-2.0
"""Task-space dynamics against joint space, with redundancy, and at singularities."""

import numpy as np
import pytest

from robot_dynamics.common.errors import ShapeError, SingularityError
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.formulations import closed_form_matrix, task_space, twist_wrench

POSITION = slice(3, 6)


def in_joint_space(robot, q, qd, rows=slice(0, 6)):
    """Return M, C, g, J and dJ/dt of the robot's last frame."""
    frame = robot.frame_names[-1]
    return (
        closed_form_matrix.mass_matrix(robot, q),
        closed_form_matrix.coriolis_matrix(robot, q, qd),
        closed_form_matrix.gravity_torque(robot, q),
        kin.jacobian(robot, q, frame)[rows],
        kin.jacobian_dot(robot, q, qd, frame)[rows],
    )


def chain(n, seed=0):
    rng = np.random.default_rng(seed)
    robot = random_tree(n, rng, branching=0.0)
    return robot, *rng.normal(size=(3, n))


def close(x, y, factor=1.0):
    np.testing.assert_allclose(x, y, rtol=0, atol=1e-10 * factor * max(1.0, np.abs(y).max()))


@pytest.mark.parametrize('seed', range(5))
def test_square_jacobian_gives_the_book_s_formulas(seed):
    robot, q, qd, qdd = chain(6, seed)
    M, C, g, J, Jd = in_joint_space(robot, q, qd)
    task = task_space.task_dynamics(M, C, g, J, Jd, qd)
    inverse = np.linalg.inv(J)
    amplified = np.linalg.cond(J) ** 2
    # Lambda = J^-T M J^-1,   eta = J^-T b - Lambda Jd J^-1 V        (9.98), (9.99)
    close(task.Lambda, inverse.T @ M @ inverse, amplified * 1e-2)
    close(task.eta, inverse.T @ (C @ qd + g) - task.Lambda @ Jd @ qd, amplified * 1e-2)
    # F = J^-T tau, for the same motion seen from both spaces        (9.96), (9.97)
    tau = M @ qdd + C @ qd + g
    F = task_space.task_force(task, J @ qdd + Jd @ qd)
    close(J.T @ F, tau, amplified * 1e-2)
    # No null-space motion remains.
    close(task.N, np.zeros((6, 6)), amplified * 1e-2)


@pytest.mark.parametrize('seed', range(5))
def test_joint_motion_of_a_task_motion(seed):
    """Lynch and Park, draft, (9.93) to (9.95)."""
    robot, q, qd, qdd = chain(6, seed)
    M, C, g, J, Jd = in_joint_space(robot, q, qd)
    amplified = np.linalg.cond(J)
    V, Vd = J @ qd, J @ qdd + Jd @ qd
    found = task_space.joint_velocity(J, V)
    close(found, qd, amplified * 1e-2)
    Jd_found = kin.jacobian_dot(robot, q, found, robot.frame_names[-1])
    qdd_found = task_space.joint_acceleration(J, Jd_found, found, Vd)
    close(qdd_found, qdd, amplified * 1e-2)
    expected = twist_wrench.inverse_dynamics(robot, q, qd, qdd)
    close(M @ qdd_found + C @ found + g, expected, amplified * 1e-2)


def test_joint_motion_of_a_redundant_arm_is_the_least():
    robot, q, qd, qdd = chain(8, seed=5)
    _, _, _, J, Jd = in_joint_space(robot, q, qd)
    V = J @ qd
    found = task_space.joint_velocity(J, V)
    close(J @ found, V)
    assert found @ found < qd @ qd
    acceleration = task_space.joint_acceleration(J, Jd, qd, J @ qdd + Jd @ qd)
    close(J @ acceleration, J @ qdd)
    assert acceleration @ acceleration < qdd @ qdd


def test_joint_motion_names_wrong_shapes():
    robot, q, qd, _ = chain(6)
    J = kin.jacobian(robot, q, robot.frame_names[-1])
    with pytest.raises(ShapeError, match=r'V has shape \(3,\); J is \(6, 6\)'):
        task_space.joint_velocity(J, np.zeros(3))
    with pytest.raises(ShapeError, match=r'Jd has shape \(3, 6\)'):
        task_space.joint_acceleration(J, J[:3], qd, np.zeros(6))


@pytest.mark.parametrize(('n', 'rows'), [(7, slice(0, 6)), (9, slice(0, 6)), (6, POSITION)])
def test_redundant_arm(n, rows):
    robot, q, qd, _ = chain(n, seed=n)
    M, C, g, J, Jd = in_joint_space(robot, q, qd, rows)
    task = task_space.task_dynamics(M, C, g, J, Jd, qd)
    m = len(J)
    close(J @ task.J_bar, np.eye(m))
    close(task.Lambda @ (J @ np.linalg.solve(M, J.T)), np.eye(m))
    # N is a projection, N N = N; it does not accelerate the hand.
    close(task.N @ task.N, task.N)
    close(J @ task.N, np.zeros((m, n)))
    assert np.linalg.matrix_rank(task.N, tol=1e-8) == n - m

    # The hand accelerates as commanded, with any torque in the null space.
    rng = np.random.default_rng(0)
    Vd, tau_null = rng.normal(size=m), 10 * rng.normal(size=n)
    F = task_space.task_force(task, Vd)
    for extra in (np.zeros(n), tau_null):
        tau = task_space.joint_torque(task, J, F, extra)
        qdd = np.linalg.solve(M, tau - C @ qd - g)
        close(J @ qdd + Jd @ qd, Vd, 10.0)
    # The null torque does move the arm.
    assert np.abs(np.linalg.solve(M, task.N.T @ tau_null)).max() > 1e-3


def test_consistent_inverse_takes_the_least_energy():
    robot, q, qd, _ = chain(8, seed=3)
    M, _, _, J, _ = in_joint_space(robot, q, qd)
    V = np.random.default_rng(0).normal(size=6)
    best = task_space.consistent_inverse(M, J) @ V
    moore_penrose = task_space.right_pseudo_inverse(J, np.eye(8))
    close(moore_penrose, np.linalg.pinv(J))
    other = moore_penrose @ V
    close(J @ other, J @ best)
    assert best @ M @ best < other @ M @ other
    assert other @ other < best @ best


def test_task_energy_is_joint_energy():
    robot, q, qd, _ = chain(6, seed=8)
    M, C, g, J, Jd = in_joint_space(robot, q, qd)
    task = task_space.task_dynamics(M, C, g, J, Jd, qd)
    V = J @ qd
    assert V @ task.Lambda @ V == pytest.approx(qd @ M @ qd, rel=1e-9)


def test_singular_posture_is_reported_with_its_condition():
    elbow = planar_2r()
    # The tip of the second link, in the plane.
    J_tip = np.array([[-0.0, 0.0], [2.0, 1.0]])
    M = closed_form_matrix.mass_matrix(elbow, np.zeros(2))
    with pytest.raises(SingularityError, match=r'condition number inf.*smallest singular value 0'):
        task_space.consistent_inverse(M, J_tip)
    nearly = np.array([[1e-7, 0.0], [2.0, 1.0]])
    with pytest.raises(SingularityError, match=r'condition number 5e\+07, allowed 1e\+06'):
        task_space.consistent_inverse(M, nearly)
    # It can be accepted explicitly.
    J_bar = task_space.consistent_inverse(M, nearly, max_condition=1e9)
    np.testing.assert_allclose(nearly @ J_bar, np.eye(2), atol=1e-8)


NEARLY = np.array([[1e-7, 0.0], [2.0, 1.0]])
FUNCTIONS = {
    'task_dynamics': (np.eye(2), np.zeros((2, 2)), np.ones(2), NEARLY, 0 * NEARLY, np.ones(2)),
    'joint_velocity': (NEARLY, np.ones(2)),
    'joint_acceleration': (NEARLY, 0 * NEARLY, np.ones(2), np.ones(2)),
    'consistent_inverse': (np.eye(2), NEARLY),
    'right_pseudo_inverse': (NEARLY, np.eye(2)),
}


@pytest.mark.parametrize('name', FUNCTIONS)
def test_every_function_takes_the_condition_number_that_counts_as_regular(name):
    function = getattr(task_space, name)
    with pytest.raises(SingularityError, match=r'5e\+07, allowed 1e\+06'):
        function(*FUNCTIONS[name])
    with pytest.raises(SingularityError, match=r'5e\+07, allowed 4e\+07'):
        function(*FUNCTIONS[name], max_condition=4e7)
    function(*FUNCTIONS[name], max_condition=1e9)


def test_too_many_directions_are_rejected():
    robot, q, qd, _ = chain(4)
    with pytest.raises(SingularityError, match='expected at most 4 rows for an arm of 4 joints'):
        task_space.task_dynamics(*in_joint_space(robot, q, qd), qd)


@pytest.mark.parametrize('position', range(6))
def test_wrong_shapes_are_named(position):
    robot, q, qd, _ = chain(7)
    arguments = [*in_joint_space(robot, q, qd), qd]
    arguments[position] = np.zeros(3)
    name = ('M', 'C', 'g', 'J', 'Jd', 'qd')[position]
    with pytest.raises(ShapeError, match=rf'^{name} has shape \(3,\)'):
        task_space.task_dynamics(*arguments)
