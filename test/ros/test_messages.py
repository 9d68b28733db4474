# SPDX-License-Identifier: Apache-2.0
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Vector3, Wrench
from rclpy.serialization import deserialize_message, serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.ros import messages
from robot_dynamics.ros.serialization import JointStateWriter, MatrixWriter


def received(message):
    """Return the message as a subscriber would get it."""
    return deserialize_message(serialize_message(message), type(message))


def test_stamps_are_exact():
    for stamp in (0, 1, 999_999_999, 1_000_000_000, 1_795_240_000_123_456_789):
        assert messages.nanoseconds(messages.time_message(stamp)) == stamp
    assert messages.nanoseconds(Duration(sec=2, nanosec=5)) == 2_000_000_005
    assert messages.time_message(3_000_000_007) == Time(sec=3, nanosec=7)


def test_a_joint_state_is_filled_again_and_again():
    writer = JointStateWriter(('a', 'b'), 'base', ('position', 'effort'))
    for k in range(3):
        data = writer.fill(k * 10**9 + 5, np.array([1.0, k]), np.array([k, 2.0]))
        sent = deserialize_message(data, JointState)
        assert sent.header.frame_id == 'base'
        assert messages.nanoseconds(sent.header.stamp) == k * 10**9 + 5
        assert sent.name == ['a', 'b']
        assert sent.position.tolist() == [1.0, k]
        assert sent.effort.tolist() == [k, 2.0]
        assert len(sent.velocity) == 0
    with pytest.raises(ValueError, match='broadcast'):
        writer.fill(0, np.zeros(3), np.zeros(2))


def test_messages_filled_before_do_not_change():
    writer = JointStateWriter(('a', 'b'), 'base', ('effort',))
    first = writer.fill(1, np.array([1.0, 2.0]))
    writer.fill(2, np.array([3.0, 4.0]))
    assert deserialize_message(first, JointState).effort.tolist() == [1, 2]


def test_a_matrix_is_row_major_labelled_and_knows_its_stamp():
    matrix = np.arange(9.0).reshape(3, 3)
    sent = deserialize_message(MatrixWriter(3).fill(12_000_000_345, matrix), Float64MultiArray)
    assert sent.data.tolist() == list(range(9))
    rows, columns = sent.layout.dim
    assert (rows.label.split(';')[0], rows.size, rows.stride) == ('rows', 3, 9)
    assert (columns.label, columns.size, columns.stride) == ('columns', 3, 3)
    assert sent.layout.data_offset == 0
    np.testing.assert_array_equal(messages.matrix(sent), matrix)
    assert messages.matrix_stamp(sent) == 12_000_000_345


def test_two_matrices_of_each_stamp_however_many_digits_it_has():
    writer = MatrixWriter(2)
    for stamp in (0, 9_999_999_999, 10_000_000_000, 1_795_240_000_123_456_789, 3):
        for k in (1.0, 2.0):
            data = writer.fill(stamp, np.full((2, 2), k))
            sent = deserialize_message(data, Float64MultiArray)
            assert messages.matrix_stamp(sent) == stamp
            assert messages.matrix(sent).tolist() == [[k, k], [k, k]]


def point(seconds, positions, **rest):
    whole = int(seconds)
    return JointTrajectoryPoint(
        positions=positions,
        time_from_start=Duration(sec=whole, nanosec=round((seconds - whole) * 1e9)),
        **rest,
    )


def test_a_trajectory_message():
    message = JointTrajectory(
        joint_names=['b', 'a'],
        points=[
            point(0.0, [0.0, 0.0], velocities=[0.0, 0.0]),
            point(1.5, [2.0, 1.0], velocities=[0.0, 0.0], accelerations=[0.0, 0.0]),
        ],
    )
    trajectory = messages.trajectory(message)
    assert trajectory.joint_names == ('b', 'a')
    np.testing.assert_array_equal(trajectory.times, [0, 1.5])
    np.testing.assert_array_equal(trajectory.waypoint(1).q, [2, 1])
    assert trajectory.waypoint(0).qdd is None
    efforts = np.array([[1.0, 2.0], [3.0, 4.0]])
    filled = received(messages.trajectory_message(trajectory, message.header, efforts))
    assert filled.joint_names == ['b', 'a']
    assert [p.effort.tolist() for p in filled.points] == [[1, 2], [3, 4]]
    assert filled.points[1].positions.tolist() == [2, 1]
    assert filled.points[0].accelerations.tolist() == []
    assert filled.points[1].accelerations.tolist() == [0, 0]
    assert filled.points[1].time_from_start == message.points[1].time_from_start


def test_a_reference_is_one_point():
    one = JointTrajectory(joint_names=['b', 'a'], points=[point(0.0, [2.0, 1.0])])
    np.testing.assert_array_equal(messages.one_point(one, ('a', 'b')).q, [1, 2])
    assert messages.one_point(one, ('a', 'b')).qdd is None
    two = JointTrajectory(joint_names=['a'], points=[point(0.0, [0.0]), point(1.0, [1.0])])
    for wrong in (two, JointTrajectory(joint_names=['a'])):
        with pytest.raises(TrajectoryError, match='it must have one'):
            messages.one_point(wrong, ('a',))


def test_a_window_has_the_times_of_its_points_or_those_of_a_frequency():
    names = ('a', 'b')
    rows = [[2.0, 1.0], [4.0, 3.0], [6.0, 5.0]]
    timed = [point(0.1 * (k + 1), q, velocities=q[::-1]) for k, q in enumerate(rows)]
    window = messages.window(JointTrajectory(joint_names=['b', 'a'], points=timed), names, 0.0)
    np.testing.assert_allclose(window.times, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(window.waypoint(2).q, [5, 6])
    np.testing.assert_array_equal(window.waypoint(2).qd, [6, 5])
    chunk = JointTrajectory(joint_names=['b', 'a'], points=[point(0.0, q) for q in rows])
    found = messages.window(chunk, names, 50.0)
    np.testing.assert_allclose(found.times, [0.02, 0.04, 0.06])
    assert found.waypoint(0).qd is None
    with pytest.raises(TrajectoryError, match='3 points have no time_from_start, and policy_freq'):
        messages.window(chunk, names, 0.0)
    with pytest.raises(TrajectoryError, match='no points'):
        messages.window(JointTrajectory(joint_names=['b', 'a']), names, 50.0)


def test_a_payload_has_each_of_its_numbers():
    stamp = Time(sec=3, nanosec=4)
    sent = received(
        messages.inertia_message(stamp, 'tool', 1.0, (2.0, 3.0, 4.0), np.arange(5.0, 11))
    )
    assert (sent.header.stamp, sent.header.frame_id) == (stamp, 'tool')
    inertia = sent.inertia
    assert (inertia.m, inertia.com.x, inertia.com.y, inertia.com.z) == (1, 2, 3, 4)
    moments = inertia.ixx, inertia.ixy, inertia.ixz, inertia.iyy, inertia.iyz, inertia.izz
    assert moments == (5, 6, 7, 8, 9, 10)


def test_a_matrix_names_its_joints_and_its_frame():
    label = messages.matrix_label(('a', 'b; "c"'), 'base; link')
    sent = deserialize_message(MatrixWriter(2, label).fill(0, np.eye(2)), Float64MultiArray)
    assert messages.matrix_joints(sent) == (('a', 'b; "c"'), 'base; link')


def test_bytes_are_the_message_or_are_rejected():
    for seconds in (0, 5):
        clock = Clock(clock=Time(sec=seconds, nanosec=6))
        assert messages.decode(serialize_message(clock), Clock) == clock
    state = JointState(name=['a'], position=[-1.0])
    state.header.stamp.sec = -5  # of a state: rejected elsewhere
    assert messages.decode(serialize_message(state), JointState) == state
    with pytest.raises(messages.MalformedMessage, match='the clock is at -1 s'):
        messages.decode(serialize_message(Clock(clock=Time(sec=-1))), Clock)
    with pytest.raises(messages.MalformedMessage, match='7 bytes are not a JointState'):
        messages.decode(serialize_message(state)[:7], JointState)


def test_a_wrench_becomes_angular_first():
    wrench = Wrench(force=Vector3(x=1.0, y=2.0, z=3.0), torque=Vector3(x=4.0, y=5.0, z=6.0))
    assert messages.wrench(wrench).tolist() == [4, 5, 6, 1, 2, 3]


@pytest.mark.parametrize(
    'error', [ImportError('undefined symbol'), RuntimeError('no type support'), AttributeError()]
)
@pytest.mark.parametrize('kind', ['message', 'action'])
def test_a_package_that_is_found_and_cannot_be_loaded_is_as_absent(error, kind, monkeypatch):
    """Its Python files are there, and its libraries are of another distribution."""

    class Broken(type):
        _TYPE_SUPPORT = None

        @classmethod
        def __import_type_support__(cls):
            raise error

    class State(metaclass=Broken):
        pass

    if kind == 'action':
        State.Goal = object
    package = SimpleNamespace(State=State)
    monkeypatch.setitem(sys.modules, 'found_msgs.msg', package)
    reports = []
    assert messages.installed('found_msgs.msg', 'State', reports.append) is None
    assert messages.installed('found_msgs.msg', 'Other', reports.append) is None
    first, second = reports
    assert first.startswith('found_msgs.msg is installed, but State cannot be loaded')
    assert type(error).__name__ in first
    assert 'Other' in second
    assert messages.installed('absent_msgs.msg', 'State', reports.append) is None
    assert len(reports) == 2
    assert messages.installed('sensor_msgs.msg', 'JointState', reports.append) is JointState
