# SPDX-License-Identifier: Apache-2.0
"""MJCF of robots: it reads back as the same robot, or names the link that MuJoCo rejects."""

from dataclasses import replace

import mjcf_text
import numpy as np
import pytest
from mjcf_text import ARM

from robot_dynamics import load_mjcf, load_urdf, write_mjcf
from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.algorithms import forward_kinematics, rnea
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.inertia import inconsistency

VALUES = ('lower', 'upper', 'effort_limit', 'viscous', 'coulomb', 'reflected_inertia')


def assert_same(one, other, tolerance=1e-14):
    """Assert that two models have the same coordinates, frames, dynamics and values of joints."""
    assert one.joint_names == other.joint_names
    assert one.body_names == other.body_names
    trees = [canonical_tree(model) for model in (one, other)]
    for q, qd, qdd in np.random.default_rng(0).uniform(-1, 1, (3, 3, one.n)):
        tau, again = (np.array(rnea(tree, q, qd, qdd)) for tree in trees)
        np.testing.assert_allclose(again, tau, rtol=0, atol=tolerance * np.abs(tau).max())
        for frame in one.frame_names:
            T, T_again = (np.array(forward_kinematics(tree, q, frame)) for tree in trees)
            np.testing.assert_allclose(T_again, T, rtol=0, atol=tolerance)
    for name in VALUES:
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-15)


@pytest.mark.parametrize('name', ['panda', 'puma560', 'scara_rrp'])
def test_bundled_robots_return(name, tmp_path):
    model = load_urdf(name).with_actuation(rotor_inertia=0.3, viscous=0.2, coulomb=0.1)
    assert_same(model, load_mjcf(write_mjcf(model, tmp_path / 'robot.xml')))


def test_what_was_read_from_mjcf_returns(write, tmp_path):
    model = load_mjcf(write(ARM))
    again = load_mjcf(write_mjcf(model, tmp_path / 'again.xml'))
    assert again.home == model.home
    np.testing.assert_array_equal(again.gravity, model.gravity)
    trees = [canonical_tree(one) for one in (model, again)]
    for q, qd, qdd in np.random.default_rng(0).uniform(-1, 1, (3, 3, model.n)):
        tau, back = (np.array(rnea(tree, q, qd, qdd)) for tree in trees)
        np.testing.assert_allclose(back, tau, rtol=0, atol=1e-14 * np.abs(tau).max())


def test_other_directions_and_zeros_of_coordinates_return(write, tmp_path):
    model = load_mjcf(write(ARM))
    zeros = np.array([0.1, 0.2, -0.3])
    turned = replace(model, S=model.S * (1, -1), s0=model.s0 + zeros, home={})
    file = write_mjcf(turned, tmp_path / 'again.xml')
    again, tree = load_mjcf(file), canonical_tree(turned)
    for q, qd, qdd in np.random.default_rng(0).uniform(-1, 1, (3, 3, model.n)):
        tau = np.array(rnea(tree, q, qd, qdd))
        back = np.array(rnea(canonical_tree(again), q, qd, qdd))
        np.testing.assert_allclose(back, tau, rtol=0, atol=1e-14 * np.abs(tau).max())


def test_mujoco_moves_the_written_robot_as_we_do(tmp_path):
    model = load_urdf('puma560')
    file = write_mjcf(model, tmp_path / 'robot.xml')
    mjcf_text.compare(load_mjcf(file), file.read_text(), model.joint_names)


def test_a_link_that_mujoco_rejects_is_named_and_repaired(tmp_path):
    model, file = load_urdf('planar_2r'), tmp_path / 'rods.xml'
    message = r"rejects link 'link1', of 1 kg with principal moments \(0, .*repair=True"
    with pytest.raises(ModelError, match=message):
        write_mjcf(model, file)
    assert not file.exists()
    assert_same(model, load_mjcf(write_mjcf(model, file, repair=True)), 1e-9)


@pytest.mark.parametrize('moments', [(1, 1, 3), (0, 0, 0), (1e-20, 1, 1), (1, 1, 2 + 1e-12)])
@pytest.mark.parametrize('mass', [0.0, 2.0])
def test_repaired_inertias_are_consistent_and_near(tmp_path, moments, mass):
    model = load_urdf('panda')
    inertia, masses = model.inertia_com.copy(), model.mass.copy()
    axes = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    inertia[2], masses[2] = axes * np.array(moments, dtype=float) @ axes.T, mass
    broken = replace(model, inertia_com=inertia, mass=masses)
    again = load_mjcf(write_mjcf(broken, tmp_path / 'again.xml', repair=True))
    assert inconsistency(again.inertial(2)) is None
    np.testing.assert_allclose(again.mass, masses, atol=1e-9)
    if inconsistency(broken.inertial(2)) is None:
        np.testing.assert_allclose(again.inertia_com[2], inertia[2], atol=1e-8)


def test_a_base_named_world_is_that_of_mujoco(tmp_path):
    model = load_urdf('planar_2r')
    names = ('world', *model.frame_names[1:])
    renamed = replace(model, frame_names=names, link_names=('world', *model.link_names[1:]))
    again = load_mjcf(write_mjcf(renamed, tmp_path / 'again.xml', repair=True))
    assert set(again.frame_names) == set(names)


def test_limits_return_or_are_rejected(tmp_path):
    model, file = load_urdf('planar_2r'), tmp_path / 'robot.xml'
    for lower, upper in ((-np.inf, 1), (-1, np.inf), (-2e7, 1)):
        one = replace(model, lower=np.array([lower, -1]), upper=np.array([upper, 1]))
        back = load_mjcf(write_mjcf(one, file, repair=True))
        np.testing.assert_array_equal((back.lower, back.upper), (one.lower, one.upper))
    parked = replace(model, lower=np.array([0.3, -1]), upper=np.array([0.3, 1]))
    with pytest.raises(ModelError, match=r"joint 'joint1': both limits are 0\.3"):
        write_mjcf(parked, file, repair=True)
    with pytest.raises(ModelError, match=r"joint 'joint2': the effort limit is 0"):
        write_mjcf(replace(model, effort_limit=np.array([1.0, 0.0])), file, repair=True)


def test_the_name_of_the_file_ends_in_xml(tmp_path):
    with pytest.raises(ModelError, match=r"is '.*arm\.urdf'; expected a name that ends in \.xml"):
        write_mjcf(load_urdf('panda'), tmp_path / 'arm.urdf')
