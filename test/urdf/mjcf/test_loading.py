# SPDX-License-Identifier: Apache-2.0
"""Robots of MJCF files against MuJoCo itself: trees, bases, frames, and what is rejected."""

import warnings

import mjcf_text
import numpy as np
import pytest
from mjcf_text import ARM, BODY, link, world

from robot_dynamics import load_mjcf, load_urdf
from robot_dynamics.common.errors import ModelError
from robot_dynamics.control.start_posture import start_posture
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.urdf.mjcf.loading import read_mjcf

JOINTS = ['lift', 'turn', 'follow']


def test_dynamics_and_frames_are_those_of_mujoco(write):
    model = load_mjcf(write(ARM))
    assert model.name == 'arm'
    assert model.joint_names == ('lift', 'turn')
    assert model.body_names == ('upper/lift', 'upper', 'lower')
    assert model.link_names == ('world', 'base', 'upper', 'mount', 'lower')
    assert model.frame_names == (*model.link_names, 'tool')
    np.testing.assert_array_equal(model.gravity, (1, 2, -9))
    mjcf_text.compare(model, ARM, JOINTS)


def test_the_start_posture_is_that_of_the_keyframe_home(write):
    model = load_mjcf(write(ARM))
    assert model.home == {'lift': 0.2, 'turn': 0.5}
    np.testing.assert_array_equal(start_posture(Dynamics(model)), (0.2, 0.5))
    other = load_mjcf(write(ARM.replace('"home"', '"away"')))
    assert other.home == {}


@pytest.mark.parametrize(
    ('gravity', 'expected'), [(None, (9.81, 0, 0)), ((0, 0, -9.81), (0, 0, -9.81))]
)
def test_a_base_that_moves_freely_is_held_with_gravity_in_its_axes(write, gravity, expected):
    text = world(link('trunk', '<freejoint/>', link('leg'), 'euler="0 90 0" pos="0 0 1"'))
    with pytest.warns(UserWarning, match="held where the file puts it: 'trunk'"):
        model = load_mjcf(write(text), gravity=gravity)
    np.testing.assert_allclose(model.gravity, expected, atol=1e-14)
    assert model.link_names == ('trunk', 'leg')
    if gravity is None:
        named = text.replace('<joint/>', '<joint name="joint1"/>')
        mjcf_text.compare(model, named, ['joint1'], base='trunk')
    with pytest.raises(ModelError, match=r"'trunk' moves freely.*free_base='fix'"):
        load_mjcf(write(text), free_base='reject')
    with pytest.raises(ModelError, match=r"free_base is 'hold'; expected one of fix, reject"):
        load_mjcf(write(text), free_base='hold')


def test_gravity_that_is_switched_off_is_zero(write):
    text = world(link('a'), '<option><flag gravity="disable"/></option>')
    np.testing.assert_array_equal(load_mjcf(write(text)).gravity, np.zeros(3))


def test_several_robots_want_a_root(write):
    text = world(
        link('one', '<freejoint/>', link('leg', '<joint name="j"/>'))
        + link('two', '', link('arm', '<joint name="k" axis="0 1 0"/>'), 'pos="1 0 0"')
        + link('box', '<freejoint/>')
    )
    with pytest.raises(ModelError, match=r"several robots.*'one', 'two'; choose one with root="):
        load_mjcf(write(text))
    for root, joints, base in (
        ('two', ['k'], 'two'),
        ('arm', ['k'], 'two'),
        ('one', ['j'], 'one'),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            model = load_mjcf(write(text), root=root)
        assert list(model.joint_names) == joints
        mjcf_text.compare(model, text, joints, base)
    with pytest.raises(ModelError, match=r"of body 'one' is a free joint"):
        load_mjcf(write(text), root='world')
    with pytest.raises(ModelError, match=r"root is 'three'; expected one of 'world', 'one'"):
        load_mjcf(write(text), root='three')


def test_free_bodies_without_joints_are_left_out_by_name(write):
    with pytest.warns(UserWarning, match="carry no joint are left out: 'box', 'ball'"):
        model = load_mjcf(
            write(world(link('a') + link('box', '<freejoint/>') + link('ball', '<freejoint/>')))
        )
    assert model.link_names == ('world', 'a')


def test_bodies_and_joints_without_names_have_numbers(write):
    text = world(f'<body>{BODY}<joint/><body>{BODY}<joint/></body></body>' + link('body1'))
    model = load_mjcf(write(text))
    assert model.joint_names == ('joint0', 'joint1', 'joint2')
    assert model.body_names == ('body1_', 'body2', 'body1')


def test_a_site_with_the_name_of_a_body_has_another(write):
    model = load_mjcf(write(world(link('a', inside='<site name="a" pos="1 2 3"/>'))))
    assert model.frame_names == ('world', 'a', 'a_site')
    np.testing.assert_array_equal(model.frame_placement[2][:3, 3], (1, 2, 3))


@pytest.mark.parametrize(
    ('joint', 'kind'),
    [('<joint name="j" type="ball"/>', 'ball'), ('<freejoint name="j"/>', 'free')],
)
def test_joints_without_a_coordinate_are_rejected_by_name(write, joint, kind):
    text = world(link('a', inside=link('b', joint)) if kind == 'ball' else link('b', joint))
    message = f"'j' of body 'b' is a {kind} joint" if kind == 'ball' else 'no hinge or slide joint'
    with pytest.raises(ModelError, match=message):
        load_mjcf(write(text))
    # elsewhere in the file it does not matter
    beside = world(link('arm') + link('b', joint))
    if kind == 'ball':
        assert load_mjcf(write(beside), root='arm').n == 1


def test_a_urdf_is_no_mjcf_and_the_reverse(write):
    file = write('<robot name="r"><link name="a"/></robot>', 'r.urdf')
    with pytest.raises(
        ModelError, match=r'r\.urdf: the root element is <robot>; expected an MJCF'
    ):
        load_mjcf(file)
    assert load_urdf(write(ARM, 'named.urdf')).joint_names == ('lift', 'turn')


def test_joints_of_bodies_are_in_the_order_of_the_file(write):
    robot = read_mjcf(write(ARM))
    assert [robot.compiled.joints[j] for j in robot.joints] == JOINTS


def test_a_root_that_slides_moves(write):
    text = world(link('rail', '<joint name="s" type="slide" axis="1 0 0"/>', link('arm')))
    model = load_mjcf(write(text), root='rail')
    assert model.link_names == ('world', 'rail', 'arm')
    assert model.revolute.tolist() == [False, True]
