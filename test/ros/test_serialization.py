# SPDX-License-Identifier: Apache-2.0
"""Joint states as bytes: the same content as by ROS, and rejection of anything else."""

import itertools
import struct

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.control.joint_reading import JointDataError
from robot_dynamics.ros import messages
from robot_dynamics.ros.serialization import (
    QUANTITIES,
    JointStateDecoder,
    JointStateWriter,
    MatrixWriter,
)

STAMP = 1_795_240_000_123_456_789


def joint_state(names, *lengths, frame='base', stamp=STAMP):
    rng = np.random.default_rng(len(names))
    position, velocity, effort = (rng.normal(size=length).tolist() for length in lengths)
    message = JointState(name=names, position=position, velocity=velocity, effort=effort)
    message.header.frame_id = frame
    message.header.stamp = messages.time_message(stamp)
    return message


MESSAGES = [
    joint_state(['shoulder', 'elbow'], 2, 2, 2),
    joint_state(['shoulder', 'elbow'], 2, 0, 2),
    joint_state(['shoulder', 'elbow'], 2, 2, 0, frame=''),
    joint_state(['elbow', 'shoulder'], 0, 0, 2),
    joint_state(['a', 'bc', 'def', 'ghij', 'über'], 5, 4, 3, frame='world'),
    joint_state(['a'], 1, 1, 1, stamp=0),
    joint_state(['', ''], 2, 2, 2),
    joint_state([], 0, 0, 0),
    joint_state([], 3, 0, 0, frame='odd'),
]


def assert_same(state, message):
    assert state.stamp == messages.nanoseconds(message.header.stamp)
    assert state.name == message.name
    for field in ('position', 'velocity', 'effort'):
        assert list(getattr(state, field)) == list(getattr(message, field))


@pytest.mark.parametrize('serialized', [serialize_message])
def test_decoded_fields_equal_those_of_ros(serialized):
    decode = JointStateDecoder()
    rng = np.random.default_rng(0)
    for k in (*range(len(MESSAGES)), *rng.integers(len(MESSAGES), size=100)):
        data = bytes(serialized(MESSAGES[k]))
        assert_same(decode(data), deserialize_message(data, JointState))


def test_numbers_and_stamps_change_while_names_stay():
    decode = JointStateDecoder()
    writer = JointStateWriter(('shoulder', 'elbow'), 'base', ('position', 'effort'))
    for k in range(5):
        state = decode(writer.fill(STAMP + k, np.array([k, -k]), np.array([np.nan, np.inf])))
        assert state.stamp == STAMP + k
        assert state.name == ['shoulder', 'elbow']
        assert state.position == (k, -k)
        assert state.velocity == ()
        assert np.isnan(state.effort[0])
        assert state.effort[1] == np.inf


def test_another_order_of_bytes_is_left_to_ros():
    numbers = struct.pack('>I4xd', 1, 2.5)
    data = b'\0\0\0\0' + struct.pack('>iI', 7, 9)
    data += struct.pack('>I5s3x', 5, b'base\0') + struct.pack('>II2s2x', 1, 2, b'a\0')
    data += numbers + struct.pack('>II', 0, 0)
    state = JointStateDecoder()(data)
    assert_same(state, deserialize_message(data, JointState))
    assert (state.stamp, state.name) == (7_000_000_009, ['a'])
    assert state.position == (2.5,)


def test_an_invalid_stamp_is_rejected():
    data = bytearray(serialize_message(MESSAGES[0]))
    data[8:12] = struct.pack('<I', 1_000_000_000)
    with pytest.raises(JointDataError, match='the stamp has 1000000000 ns'):
        JointStateDecoder()(bytes(data))


def test_truncated_messages_are_rejected_and_corrupted_ones_rejected_or_read():
    decode, rng = JointStateDecoder(), np.random.default_rng(1)
    data = bytes(serialize_message(MESSAGES[0]))
    for length in range(2, len(data)):
        with pytest.raises(JointDataError, match=f'{length} bytes that are no JointState'):
            decode(data[:length])
        assert_same(decode(data), MESSAGES[0])
        decode(bytes(serialize_message(MESSAGES[-1])))
    rejected = 0
    for _ in range(3000):
        broken = bytearray(data)
        for place in rng.integers(4, len(data), size=rng.integers(1, 9)):
            broken[place] = rng.integers(256)
        try:
            state = decode(bytes(broken))
        except JointDataError:
            rejected += 1
        else:
            assert 16 * len(state.position) < len(data)
    assert rejected > 500
    assert_same(decode(data), MESSAGES[0])


@pytest.mark.parametrize('names', [('a',), ('shoulder', 'elbow'), ('a', 'bc', 'def', 'über')])
@pytest.mark.parametrize('frame', ['b', 'base', 'left/link'])
@pytest.mark.parametrize(
    'quantities',
    [
        kinds
        for size in (1, 2, 3)
        for kinds in itertools.combinations(('position', 'velocity', 'effort'), size)
    ],
)
def test_ros_reads_the_joint_states_that_are_written(names, frame, quantities):
    rng = np.random.default_rng(0)
    writer = JointStateWriter(names, frame, quantities)
    for _ in range(2):
        values = [rng.normal(size=len(names)) for _ in quantities]
        message = deserialize_message(writer.fill(STAMP, *values), JointState)
        assert messages.nanoseconds(message.header.stamp) == STAMP
        assert (message.header.frame_id, tuple(message.name)) == (frame, names)
        written = dict(zip(quantities, values, strict=True))
        for quantity in ('position', 'velocity', 'effort'):
            assert list(getattr(message, quantity)) == list(written.get(quantity, []))


@pytest.mark.parametrize('quantities', [('effort',), ('position', 'velocity'), QUANTITIES])
@pytest.mark.parametrize('frame', ['b', 'base', 'left/link'])
def test_a_strict_reader_of_recordings_reads_what_is_written(quantities, frame):
    pytest.importorskip('rosbags')
    from rosbags.typesys import Stores, get_typestore

    tau = np.random.default_rng(0).normal(size=3)
    data = JointStateWriter(('a', 'bc', 'def'), frame, quantities).fill(
        STAMP, *len(quantities) * [tau]
    )
    store = get_typestore(Stores.LATEST)
    message = store.deserialize_cdr(data, 'sensor_msgs/msg/JointState')  # no bytes behind its end
    np.testing.assert_array_equal(getattr(message, quantities[-1]), tau)


@pytest.mark.parametrize('n', [1, 2, 7])
def test_ros_reads_the_matrices_that_are_written(n):
    names, frame = tuple(f'j{i}, "ü"; {"x" * i}' for i in range(n)), 'left/base; 1'
    rng = np.random.default_rng(n)
    writer = MatrixWriter(n, messages.matrix_label(names, frame))
    for stamp in (0, 9_999_999_999, 10_000_000_000, STAMP):
        M = rng.normal(size=(n, n))
        message = deserialize_message(writer.fill(stamp, M), Float64MultiArray)
        np.testing.assert_array_equal(messages.matrix(message), M)
        assert messages.matrix_stamp(message) == stamp
        assert messages.matrix_joints(message) == (names, frame)
        assert [dimension.stride for dimension in message.layout.dim] == [n * n, n]
