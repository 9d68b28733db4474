# SPDX-License-Identifier: Apache-2.0
"""MJCF files where a URDF is expected: the text is the same robot."""

import numpy as np
import pytest
from mjcf_text import ARM, link, world

from robot_dynamics import load_mjcf, load_urdf, parse_urdf
from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.algorithms import forward_kinematics, rnea
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.urdf.loading import urdf_text
from robot_dynamics.urdf.physics_only import inertials

pytestmark = pytest.mark.filterwarnings('ignore:robot .arm.')


def test_the_text_is_the_robot_of_the_file(write):
    file = write(ARM)
    model, again = load_mjcf(file), load_urdf(file, gravity=(1, 2, -9))
    assert again.joint_names == model.joint_names
    assert again.home == model.home
    assert set(model.frame_names) <= set(again.frame_names)
    trees = canonical_tree(model), canonical_tree(again)
    for q, qd, qdd in np.random.default_rng(0).uniform(-1, 1, (3, 3, model.n)):
        tau, back = (np.array(rnea(tree, q, qd, qdd)) for tree in trees)
        np.testing.assert_allclose(back, tau, rtol=0, atol=1e-14 * np.abs(tau).max())
        for frame in model.frame_names:
            T, T_back = (np.array(forward_kinematics(tree, q, frame)) for tree in trees)
            np.testing.assert_allclose(T_back, T, rtol=0, atol=1e-14)
    for name in ('lower', 'upper', 'effort_limit', 'viscous', 'coulomb', 'reflected_inertia'):
        np.testing.assert_allclose(getattr(again, name), getattr(model, name), rtol=1e-15)


def test_links_have_the_inertias_of_their_bodies(write):
    found = inertials(urdf_text(write(ARM)))
    for name in ('upper', 'mount', 'lower'):
        np.testing.assert_allclose(found[name].com, (0.02, -0.03, 0.1), rtol=1e-14)
        assert found[name].mass == pytest.approx(2, rel=1e-15)


def test_joints_that_follow_keep_their_names(write):
    text = urdf_text(write(ARM))
    assert '<joint name="follow" type=' in text
    assert '<mimic joint="turn"' in text


def test_the_gravity_of_the_file_is_not_that_of_a_text(write):
    with pytest.warns(UserWarning, match=r'gravity of the file .* 1\.0 2\.0 -9\.0 m/s\^2'):
        urdf_text(write(ARM))


def test_the_root_is_an_argument(write):
    text = world(
        link('one', '<freejoint/>', link('leg')) + link('two', '<freejoint/>', link('arm'))
    )
    with pytest.warns(UserWarning, match="held where the file puts it: 'two'"):
        assert parse_urdf(urdf_text(write(text), {'root': 'two'})).body_names == ('arm',)
    with pytest.raises(ModelError, match=r"argument 'side' is given; an MJCF file takes root and"):
        urdf_text(write(text), {'side': 'left'})


def test_shapes_are_visual_or_collision(write):
    mesh = '<geom type="mesh" mesh="m" contype="0" conaffinity="0" rgba="0 1 0 1"/>'
    text = world(
        link('a', inside=f'{mesh}<geom type="capsule" size="0.1 0.2"/>'),
        '<asset><mesh name="m" file="part.stl"/></asset>',
    )
    found = urdf_text(file := write(text))
    assert f'filename="file://{file.parent / "part.stl"}"' in found
    assert '<capsule radius="0.1" length="0.4"' in found
    assert found.count('<visual>') == found.count('<collision>') == 1


def test_a_text_is_never_mjcf():
    with pytest.raises(ModelError, match=r'this is an MJCF file, .* load it by its path'):
        parse_urdf(ARM)


def test_armature_and_home_of_a_urdf_are_read(write):
    text = urdf_text(write(ARM))
    assert parse_urdf(text).reflected_inertia == pytest.approx([0.1, 0.445], rel=1e-15)
    with pytest.raises(ModelError, match=r"armature='-0.1', which must be a number between 0"):
        parse_urdf(text.replace('armature="0.1"', 'armature="-0.1"'))
    with pytest.raises(ModelError, match=r"'home': joint 'lift' has value='x', which must be"):
        parse_urdf(text.replace('value="0.2"', 'value="x"'))
