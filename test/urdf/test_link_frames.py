# SPDX-License-Identifier: Apache-2.0
"""Every link's frame: against Pinocchio's reading of the same file, and against the model."""

import numpy as np
import pytest
import robots
import urdf_text

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.kinematics import frame_pose
from robot_dynamics.urdf.link_frames import link_frames

MIMIC = '<mimic joint="j1" multiplier="-0.5" offset="0.2"/>'


def in_base(links, positions):
    """Return the pose of every link in the root, by multiplying transforms as tf does."""
    poses = {links.root: np.eye(4)}
    for frame in links.frames:
        local = frame.pose(positions.get(frame.coordinate, 0.0))
        poses[frame.link] = poses[frame.parent] @ local
    return poses


def text_of(name):
    return robots.path(name).read_bytes()


@pytest.mark.parametrize('name', robots.NAMES)
def test_link_frames_are_those_of_pinocchio(name):
    pin = pytest.importorskip('pinocchio')
    links = link_frames(text_of(name))
    model = pin.buildModelFromUrdf(str(robots.path(name)))
    data, q = model.createData(), pin.neutral(model)
    rng = np.random.default_rng(3)
    positions = {joint: rng.uniform(-2, 2) for joint in links.coordinates}
    for joint_id in range(1, model.njoints):
        joint = model.joints[joint_id]
        angle = joint_position(links, robots.path(name), model.names[joint_id], positions)
        # Pinocchio has a continuous joint as a point of the circle.
        value = [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
        q[joint.idx_q : joint.idx_q + joint.nq] = value
    pin.framesForwardKinematics(model, data, q)
    poses = in_base(links, positions)
    # Pinocchio puts the root link at the origin as well.
    assert len(poses) == sum(f.type == pin.FrameType.BODY for f in model.frames)
    for link, T in poses.items():
        theirs = data.oMf[model.getFrameId(link, pin.FrameType.BODY)].homogeneous
        np.testing.assert_allclose(T, theirs, atol=1e-14 * len(poses), err_msg=link)


def joint_position(links, path, joint, positions):
    """Return the position of any joint of the file: its own, or its leader's times a factor."""
    from xml.etree import ElementTree

    element = next(e for e in ElementTree.parse(path).iter('joint') if e.get('name') == joint)
    child = element.find('child').get('link')
    (frame,) = [f for f in links.frames if f.link == child]
    return frame.motion.multiplier * positions[frame.coordinate] + frame.motion.offset


@pytest.mark.parametrize('name', robots.NAMES)
def test_link_frames_are_those_of_the_model(name):
    links, model = link_frames(text_of(name)), robots.load(name)
    assert links.coordinates == model.joint_names
    assert (links.root, *(frame.link for frame in links.frames)) == model.link_names
    q = np.random.default_rng(4).uniform(-2, 2, model.n)
    poses = in_base(links, dict(zip(model.joint_names, q, strict=True)))
    for link in model.link_names:
        np.testing.assert_allclose(poses[link], frame_pose(model, q, link), atol=1e-13)


def test_a_mimic_joint_follows_its_leader():
    links = link_frames(urdf_text.chain(urdf_text.LIMIT, urdf_text.LIMIT + MIMIC))
    assert links.coordinates == ('j1',)
    follower = links.frames[1]
    assert follower.coordinate == 'j1'
    # -0.5 * 0.6 + 0.2 = -0.1 about x
    np.testing.assert_allclose(follower.pose(0.6)[1:3, 1], [np.cos(0.1), -np.sin(0.1)])


def test_fixed_and_locked_joints_stand_still():
    text = urdf_text.robot(
        urdf_text.link('a'),
        urdf_text.link('b'),
        urdf_text.link('c'),
        urdf_text.joint('glued', 'a', 'b', '<origin xyz="1 2 3"/>', kind='fixed'),
        urdf_text.joint('slide', 'b', 'c', urdf_text.LIMIT, kind='prismatic'),
    )
    glued, slide = link_frames(text, locked={'slide': 0.25}).frames
    assert glued.coordinate is slide.coordinate is None
    np.testing.assert_array_equal(glued.pose()[:3, 3], [1, 2, 3])
    np.testing.assert_array_equal(slide.pose(), slide.pose(7.0))
    np.testing.assert_array_equal(slide.pose()[:3, 3], [0.25, 0, 0])


def test_a_robot_without_a_moving_joint_has_frames():
    text = urdf_text.robot(
        urdf_text.link('a'), urdf_text.link('b'), urdf_text.joint('j', 'a', 'b', '', kind='fixed')
    )
    assert link_frames(text).coordinates == ()


def test_a_wrong_description_is_rejected():
    with pytest.raises(ModelError, match='form a loop'):
        link_frames(
            urdf_text.robot(
                urdf_text.link('a'),
                urdf_text.link('b'),
                urdf_text.joint('1', 'a', 'b'),
                urdf_text.joint('2', 'b', 'a'),
            )
        )
