# SPDX-License-Identifier: Apache-2.0
"""The state publisher. tf2_msgs comes with a ROS 2 distribution only: the topics of tf are tested
where it is, the transforms and the description without it everywhere.
"""

import importlib.util
import sys

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')

import urdf_text
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.qos import QoSProfile
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_dynamics.common.resources import share_file
from robot_dynamics.control.joint_reading import JointDataError, JointMap
from robot_dynamics.core.kinematics import frame_pose
from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.nodes.state_publisher_node import (
    WITHOUT_TF,
    StatePublisherNode,
    StatePublisherParameters,
    positions_of,
    transforms,
)
from robot_dynamics.ros.parameters import specs
from robot_dynamics.urdf.link_frames import link_frames
from robot_dynamics.urdf.loading import parse_urdf

needs_tf = pytest.mark.skipif(
    importlib.util.find_spec('tf2_msgs') is None,
    reason='tf2_msgs comes with a ROS 2 distribution only',
)
MS = 1_000_000
NOW = messages.time_message(12_000_000_345)
MIMIC = '<mimic joint="slide" multiplier="-2" offset="0.1"/>'
# A base, a turning link with a tool fixed to it, a slide, and a joint that mimics the slide.
ROBOT = urdf_text.robot(
    *(urdf_text.link(name) for name in ('base', 'arm', 'tool', 'left', 'right')),
    urdf_text.joint('turn', 'base', 'arm', '<axis xyz="0 0 1"/>' + urdf_text.LIMIT),
    urdf_text.joint('weld', 'arm', 'tool', '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>', 'fixed'),
    urdf_text.joint('slide', 'tool', 'left', urdf_text.LIMIT, 'prismatic'),
    urdf_text.joint('follow', 'tool', 'right', urdf_text.LIMIT + MIMIC, 'prismatic'),
)


def matrix(transform):
    """Return the pose (4, 4) of a transform message."""
    p, x = transform.translation, transform.rotation
    T = np.eye(4)
    T[:3, :3] = Rotation.from_quat([x.x, x.y, x.z, x.w]).as_matrix()
    T[:3, 3] = p.x, p.y, p.z
    return T


def in_base(found, prefix=''):
    """Return the pose of every frame in the base, by multiplying transforms as tf2 does."""
    parents = {t.child_frame_id: t for t in found}
    poses = {}
    for frame in parents:
        T, at = np.eye(4), frame
        while at in parents:
            T, at = matrix(parents[at].transform) @ T, parents[at].header.frame_id
        assert at == f'{prefix}base'
        poses[frame.removeprefix(prefix)] = T
    return poses


def assert_where_the_model_is(poses, q):
    model = parse_urdf(ROBOT)
    assert set(poses) == {'arm', 'tool', 'left', 'right'}
    for link, T in poses.items():
        np.testing.assert_allclose(T, frame_pose(model, np.array(q), link), atol=1e-14)


# -- everywhere -------------------------------------------------------------------------------


def test_the_transforms_put_every_link_where_the_model_has_it():
    frames = link_frames(ROBOT).frames
    found = transforms(frames, {'turn': 0.4, 'slide': 0.2}, NOW, 'left/')
    assert all(t.header.stamp == NOW for t in found)
    assert_where_the_model_is(in_base(found, 'left/'), [0.4, 0.2])


def test_positions_are_taken_by_name():
    message = JointState(name=['stranger', 'slide'], position=[9.0, 0.2])
    assert positions_of(message, JointMap(('turn', 'slide'))) == {'slide': 0.2}
    assert positions_of(JointState(), JointMap(('turn',))) == {}


@pytest.mark.parametrize(
    ('names', 'positions', 'why'),
    [
        (['turn', 'slide'], [0.1], '1 positions for 2 joint names'),
        (['turn', 'turn'], [0.1, 0.2], 'joint turn is named more than once'),
        (['slide'], [float('nan')], 'position must be finite: slide = nan'),
        (['slide'], [float('inf')], 'position must be finite: slide = inf'),
    ],
)
def test_an_invalid_joint_state_is_rejected(names, positions, why):
    with pytest.raises(JointDataError, match=why):
        positions_of(JointState(name=names, position=positions), JointMap(('turn', 'slide')))


def test_without_tf2_msgs_the_description_alone_is_published(graph, monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, 'tf2_msgs', None)
    monkeypatch.setitem(sys.modules, 'tf2_msgs.msg', None)
    node = graph.start(StatePublisherNode, description=ROBOT)
    received = graph.listen(String, 'robot_description', qos.LATCHED)
    graph.until(lambda: received, 'the description, for a late joiner')
    assert received[0].data == ROBOT
    assert graph.probe.count_publishers('/tf') == graph.probe.count_publishers('/tf_static') == 0
    states = graph.publisher(JointState, 'joint_states')
    message = JointState(name=['turn', 'slide'], position=[0.4, 0.2])
    graph.until(lambda: states.publish(message) or node.health.inputs, 'a joint state')
    assert capfd.readouterr().err.count(WITHOUT_TF) == 1
    assert node.status() == (health.WARN, WITHOUT_TF)
    # A new robot, from the parameter of an inactive node
    for transition in (node.trigger_deactivate, node.trigger_activate):
        assert transition() == TransitionCallbackReturn.SUCCESS
    graph.until(lambda: len(received) == 2, 'the description, again')


def test_the_yaml_file_has_every_parameter_with_its_default():
    text = share_file('config/state_publisher_node.yaml').read_text()
    configured = yaml.safe_load(text)['/**']['ros__parameters']
    for key, spec in specs(StatePublisherParameters).items():
        group, _, last = key.rpartition('.')
        section = configured[group] if group else configured
        assert section.pop(last) == spec.default, key
    assert not any(configured.values())


# -- with tf2_msgs ----------------------------------------------------------------------------


class Frames:
    """The node, its output on /tf and /tf_static, and joint states for it."""

    def __init__(self, graph, **parameters):
        from tf2_msgs.msg import TFMessage

        self.graph = graph
        self.node = graph.start(StatePublisherNode, description=ROBOT, **parameters)
        self.moving = graph.listen(TFMessage, '/tf', QoSProfile(depth=100))
        self.still = graph.listen(TFMessage, '/tf_static', qos.LATCHED)
        self.states = graph.publisher(JointState, 'joint_states')

    def publish_state(self, stamp, **positions):
        message = JointState(name=list(positions), position=list(positions.values()))
        message.header.stamp = messages.time_message(stamp)
        self.states.publish(message)

    def at(self, stamp):
        """Return the transforms of a stamp, once they are there."""

        def found():
            return [
                t
                for message in self.moving
                for t in message.transforms
                if messages.nanoseconds(t.header.stamp) == stamp
            ]

        self.graph.until(found, f'transforms at {stamp}')
        return found()


@needs_tf
def test_tf_and_tf_static_together_are_the_whole_robot(graph):
    frames = Frames(graph, frame_prefix='left/')
    frames.publish_state(50 * MS, slide=0.2, turn=0.4, stranger=1.0)
    moving = frames.at(50 * MS)
    graph.until(lambda: frames.still, 'the fixed frames')
    still = frames.still[-1].transforms
    assert [t.child_frame_id for t in still] == ['left/tool']
    assert_where_the_model_is(in_base([*moving, *still], 'left/'), [0.4, 0.2])


@needs_tf
def test_a_transform_is_published_for_each_received_joint(graph):
    frames = Frames(graph)
    frames.publish_state(50 * MS, turn=0.4)
    assert [t.child_frame_id for t in frames.at(50 * MS)] == ['arm']
    frames.publish_state(51 * MS, slide=0.1)
    assert [t.child_frame_id for t in frames.at(51 * MS)] == ['left', 'right']


@needs_tf
def test_transforms_are_limited_to_the_publish_frequency(graph):
    frames = Frames(graph, publish_frequency=250.0)
    for k in range(1, 10):
        frames.publish_state(k * MS, turn=0.01 * k)
    frames.at(9 * MS)
    stamps = [messages.nanoseconds(m.transforms[0].header.stamp) // MS for m in frames.moving]
    assert stamps == [1, 5, 9]


@needs_tf
def test_locked_joints_are_static(graph):
    frames = Frames(graph, locked_joints=['slide'], locked_positions=[0.3])
    graph.until(lambda: frames.still, 'the fixed frames')
    found = {t.child_frame_id: matrix(t.transform) for t in frames.still[-1].transforms}
    assert set(found) == {'tool', 'left', 'right'}
    np.testing.assert_allclose(found['right'][:3, 3], [-2 * 0.3 + 0.1, 0, 0])


@needs_tf
def test_the_description_is_there_for_late_joiners(graph):
    Frames(graph)
    received = graph.listen(String, 'robot_description', qos.LATCHED)
    graph.until(lambda: received, 'the description')
    assert received[0].data == ROBOT


@needs_tf
def test_a_description_from_the_topic_is_not_published_again_and_may_change(graph):
    given = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    given.publish(String(data=ROBOT))
    node = graph.start(StatePublisherNode, description='')
    graph.until(lambda: node.active, 'the description')
    assert graph.probe.count_publishers('robot_description') == 1
    from tf2_msgs.msg import TFMessage

    still = graph.listen(TFMessage, '/tf_static', qos.LATCHED)
    given.publish(String(data=ROBOT.replace('xyz="1 2 3"', 'xyz="4 5 6"')))
    graph.until(
        lambda: still and still[-1].transforms[0].transform.translation.x == 4.0, 'the new frames'
    )


@needs_tf
def test_states_without_stamps_get_the_present_time(graph):
    frames = Frames(graph, ignore_timestamp=True)
    before = frames.node.get_clock().now().nanoseconds
    frames.publish_state(0, turn=0.4)
    graph.until(lambda: frames.moving, 'a transform')
    stamp = messages.nanoseconds(frames.moving[0].transforms[0].header.stamp)
    assert before <= stamp <= frames.node.get_clock().now().nanoseconds
