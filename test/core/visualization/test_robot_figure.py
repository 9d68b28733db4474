# SPDX-License-Identifier: Apache-2.0
"""Figures of robots: links at their places, one scale for all axes, files."""

import sys

import numpy as np
import pytest
import robots

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.reporting.figures import (
    AnimationFormatError,
    MatplotlibMissing,
    animation_writer,
)
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.kinematics import body_poses, frame_pose, joint_axes
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.core.visualization import plot_robot
from robot_dynamics.core.visualization.robot_figure import extent, skeleton
from robot_dynamics.urdf.loading import load_urdf

ELBOW = planar_2r((0.7, 0.5), (0.3, 0.25))


def test_links_of_an_elbow():
    shape = skeleton(ELBOW, np.array([np.pi / 2, -np.pi / 2]))
    expected = [[[0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0.7, 0]], [[0, 0.7, 0], [0.5, 0.7, 0]]]
    np.testing.assert_allclose(shape.links, expected, atol=1e-15)
    np.testing.assert_allclose(shape.tip, [0.5, 0.7, 0], atol=1e-15)


@pytest.mark.parametrize('name', ['panda', 'double_pendulum'])
def test_links_end_at_joints_and_the_tip(name):
    model = robots.load(name)
    q = np.random.default_rng(0).uniform(-1, 1, model.n)
    shape, poses = skeleton(model, q), body_poses(model, q)
    np.testing.assert_array_equal(shape.links[: model.nb, 1], poses[:, :3, 3])
    directions = shape.axes[:, 1] - shape.axes[:, 0]
    assert np.abs(np.cross(directions, joint_axes(model, poses))).max() < 1e-12
    np.testing.assert_allclose(shape.axes.mean(axis=1), poses[:, :3, 3], atol=1e-12)


def test_the_tip_is_the_farthest_frame_of_the_last_link():
    model = load_urdf('panda')
    q = np.array([0.1, -0.4, 0.2, -1.8, 0.0, 1.9, 0.8])
    tip = frame_pose(model, q, 'panda_link8')[:3, 3]
    np.testing.assert_allclose(skeleton(model, q).tip, tip, atol=1e-12)


def test_every_branch_has_an_end():
    tree = random_tree(8, np.random.default_rng(3), branching=0.6)
    leaves = set(range(tree.nb)) - set(tree.parent.tolist())
    assert len(skeleton(tree, np.zeros(8)).links) == tree.nb + len(leaves)


def test_the_figure_has_one_scale_and_contains_the_robot(tmp_path):
    pytest.importorskip('matplotlib')
    file = tmp_path / 'elbow.png'
    q = [0.4, 1.0]
    figure = Dynamics(ELBOW).plot(q, file)
    assert file.read_bytes().startswith(b'\x89PNG')
    (axes,) = figure.axes
    limits = np.array([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()])
    assert np.ptp(np.diff(limits)) < 1e-12
    low, high = extent(ELBOW, np.array([q]))
    assert (limits[:, 0] <= low).all()
    assert (limits[:, 1] >= high).all()
    assert len(axes.collections) == ELBOW.nb  # an ellipsoid per link
    assert axes.get_title() == 'planar_2r'


def test_prismatic_joints_have_a_colour_of_their_own():
    pytest.importorskip('matplotlib')
    figure = plot_robot(load_urdf('scara_rrp'), np.zeros(3))
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ['revolute joint', 'prismatic joint', 'inertia of a link']


def test_a_wrong_number_of_positions():
    pytest.importorskip('matplotlib')
    with pytest.raises(ShapeError, match='q'):
        Dynamics(ELBOW).plot([0.0, 0.0, 0.0])


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, 'matplotlib.figure', None)
    with pytest.raises(MatplotlibMissing, match='pip install matplotlib'):
        Dynamics(ELBOW).plot([0.0, 0.0])


# -- formats of animations ------------------------------------------------------------------


def test_formats_of_animations(tmp_path, monkeypatch):
    animation = pytest.importorskip('matplotlib.animation')
    assert isinstance(animation_writer(tmp_path / 'a.GIF', 25), animation.PillowWriter)
    with pytest.raises(AnimationFormatError, match=r'a\.avi; expected .* \.gif or \.mp4'):
        animation_writer(tmp_path / 'a.avi', 25)
    monkeypatch.setattr(animation.FFMpegWriter, 'isAvailable', lambda: False)
    with pytest.raises(AnimationFormatError, match='needs the program ffmpeg'):
        animation_writer(tmp_path / 'a.mp4', 25)
    monkeypatch.setattr(animation.FFMpegWriter, 'isAvailable', lambda: True)
    assert isinstance(animation_writer(tmp_path / 'a.mp4', 25), animation.FFMpegWriter)
