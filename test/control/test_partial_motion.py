# SPDX-License-Identifier: Apache-2.0
import numpy as np

from robot_dynamics.control import Reference, Trajectory
from robot_dynamics.control.partial_motion import Combined, combined
from robot_dynamics.control.transitions import Stop

NAMES = ('a', 'b', 'c')
REST = np.zeros(3)


def motion(T, goal):
    return Trajectory(NAMES, [0.0, T], [REST, goal], [REST, REST])


def joints(*names):
    return np.array([name in names for name in NAMES])


def columns(path, t, j):
    return [row[j] for row in path.sample(t)]


def test_each_joint_follows_its_own_path_in_its_own_time():
    first, second = motion(2.0, [1.0, 2.0, 3.0]), motion(1.0, [-1.0, -2.0, -3.0])
    both = combined(second, joints('b'), first, offset=0.5)
    for t in (0.0, 0.3, 1.0, 1.4):
        for j, path, time in ((0, first, t + 0.5), (1, second, t), (2, first, t + 0.5)):
            np.testing.assert_array_equal(columns(both, t, j), columns(path, time, j))
    assert both.duration == 1.5
    np.testing.assert_array_equal(both.end.q, [1.0, -2.0, 3.0])
    np.testing.assert_array_equal(both.end.qd, REST)


def test_a_part_whose_joints_all_move_otherwise_is_dropped():
    path = motion(2.0, [1.0, 2.0, 3.0])
    for k in range(50):
        name = NAMES[k % 3]
        path = combined(motion(2.0, REST + k), joints(name), path, offset=0.01)
    assert isinstance(path, Combined)
    assert len(path.parts) == 3
    np.testing.assert_array_equal(path.end.q, [48.0, 49.0, 47.0])
    np.testing.assert_allclose([part.offset for part in path.parts], [0.0, 0.01, 0.02])


def test_joints_of_a_stop_come_to_rest():
    stopping = Stop(Reference(REST, np.array([0.0, 1.0, -1.0]), REST), np.array([0.0, 0.5, 0.5]))
    both = combined(motion(0.2, [0.1, 0.0, 0.0]), joints('a'), stopping, offset=0.0)
    np.testing.assert_allclose(both.sample(0.25).qd, [0.0, 0.5, -0.5])
    np.testing.assert_allclose(both.sample(0.5).q, [0.1, 0.25, -0.25])
