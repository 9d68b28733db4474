# SPDX-License-Identifier: Apache-2.0
"""The robots that come with the package: their numbers against their sources."""

import re
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest
import robots

from robot_dynamics.common.spatial import pose, rotation_x
from robot_dynamics.core.kinematics import frame_pose
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.formulations import newton_euler_link_frame as newton_euler
from robot_dynamics.urdf.loading import load_urdf

FOLDER = Path(__file__).parents[2] / 'urdf'
FILES = sorted(FOLDER.glob('*.urdf'))
EPS = np.finfo(float).eps


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.stem)
def test_shipped_robots_load_without_a_warning(file):
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        model = load_urdf(file, strict_inertials=True)
    assert model.name == file.stem
    assert not model.massless_joints()
    assert np.isfinite([model.lower, model.upper, model.velocity_limit, model.effort_limit]).all()


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.stem)
def test_every_moving_link_is_drawn_by_primitives(file):
    root = ElementTree.parse(file).getroot()
    assert root.find('.//mesh') is None
    materials = {material.get('name') for material in root.findall('material')}
    moving = {
        joint.find('child').get('link')
        for joint in root.findall('joint')
        if joint.get('type') != 'fixed'
    }
    for link in root.findall('link'):
        if link.get('name') in moving:
            assert link.findall('visual')
        for visual in link.findall('visual'):
            assert visual.find('material').get('name') in materials


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.stem)
def test_motors_can_hold_every_posture(file):
    model = load_urdf(file)
    rng, still = np.random.default_rng(0), np.zeros(model.n)
    for _ in range(200):
        q = rng.uniform(model.lower, model.upper)
        torque = newton_euler.inverse_dynamics(model, q, still, still)
        assert (np.abs(torque) < model.effort_limit).all()


def test_planar_2r_is_the_textbook_arm_in_a_vertical_plane():
    model, textbook = load_urdf(FOLDER / 'planar_2r.urdf'), planar_2r()
    upright = pose(rotation_x(np.pi / 2), np.zeros(3))
    np.testing.assert_allclose(model.gravity, upright[:3, :3] @ textbook.gravity, atol=2e-15)
    rng = np.random.default_rng(1)
    for _ in range(10):
        q, qd, qdd = rng.uniform(-3, 3, (3, 2))
        expected = newton_euler.inverse_dynamics(textbook, q, qd, qdd)
        torque = newton_euler.inverse_dynamics(model, q, qd, qdd)
        np.testing.assert_allclose(torque, expected, rtol=0, atol=64 * EPS * 20)
        expected = upright @ frame_pose(textbook, q, 'link2')
        np.testing.assert_allclose(frame_pose(model, q, 'link2'), expected, atol=8 * EPS)


def solid(geometry, mass):
    """Return the principal moments of a uniform box or cylinder about its centre."""
    shape = geometry[0]
    if shape.tag == 'box':
        x, y, z = (float(value) for value in shape.get('size').split())
        return mass / 12 * np.array([y**2 + z**2, x**2 + z**2, x**2 + y**2])
    r, h = float(shape.get('radius')), float(shape.get('length'))
    return mass * np.array([(3 * r**2 + h**2) / 12, (3 * r**2 + h**2) / 12, r**2 / 2])


def test_scara_tensors_are_those_of_the_first_shapes():
    root = ElementTree.parse(FOLDER / 'scara_rrp.urdf').getroot()
    model = load_urdf(FOLDER / 'scara_rrp.urdf')
    assert list(model.revolute) == [True, True, False]
    for i, name in enumerate(model.body_names):
        visual = root.find(f"link[@name='{name}']/visual")
        moments = solid(visual.find('geometry'), model.mass[i])
        np.testing.assert_allclose(model.inertia_com[i], np.diag(moments), rtol=8 * EPS, atol=0)
        centre = [float(value) for value in visual.find('origin').get('xyz').split()]
        np.testing.assert_allclose(model.com[i], centre, rtol=0, atol=EPS)


def test_the_quill_of_the_scara_moves_down():
    model = load_urdf(FOLDER / 'scara_rrp.urdf')
    up, down = frame_pose(model, np.zeros(3), 'tool'), frame_pose(model, [0, 0, 0.1], 'tool')
    np.testing.assert_allclose(down[:3, 3] - up[:3, 3], [0, 0, -0.1], atol=4 * EPS)
    # The tool looks down, and gravity pulls the quill along its positive direction.
    np.testing.assert_allclose(up[:3, 2], [0, 0, -1], atol=4 * EPS)
    torque = newton_euler.inverse_dynamics(model, np.zeros(3), np.zeros(3), np.zeros(3))
    assert torque[2] == pytest.approx(-1.2 * 9.81)


def test_panda_agrees_with_example_robot_data():
    """The arm of example-robot-data, read by Pinocchio, without its hand."""
    model = load_urdf(FOLDER / 'panda.urdf')
    theirs = pin.buildModelFromUrdf(str(robots.path('panda')))
    assert model.joint_names == tuple(theirs.names)[1:8]
    data = theirs.createData()
    rng = np.random.default_rng(2)
    for _ in range(10):
        q = rng.uniform(model.lower, model.upper)
        pin.framesForwardKinematics(theirs, data, np.append(q, [0, 0]))
        for link in model.link_names:
            expected = data.oMf[theirs.getFrameId(link, pin.BODY)].homogeneous
            np.testing.assert_allclose(frame_pose(model, q, link), expected, atol=32 * EPS)
    for i in range(7):
        # Their last link carries the hand.
        if i < 6:
            other = theirs.inertias[i + 1]
            assert model.mass[i] == other.mass
            np.testing.assert_allclose(model.com[i], other.lever, atol=EPS)
            np.testing.assert_allclose(model.inertia_com[i], other.inertia, atol=8 * EPS)
    np.testing.assert_array_equal(model.lower, theirs.lowerPositionLimit[:7])
    np.testing.assert_array_equal(model.upper, theirs.upperPositionLimit[:7])
    np.testing.assert_array_equal(model.effort_limit, theirs.upperEffortLimit[:7])


# Gaz et al. (2019): the sigmoid friction of the seven joints.
PHI_1 = np.array([0.54615, 0.87224, 0.64068, 1.2794, 0.83904, 0.30301, 0.56489])
PHI_2 = np.array([5.1181, 9.0657, 10.136, 5.5903, 8.3469, 17.133, 10.336])
PHI_3 = np.array([0.039533, 0.025882, -0.04607, 0.036194, 0.026226, -0.021047, 0.0035526])


def test_panda_friction_is_the_fit_to_the_identified_sigmoid():
    model = load_urdf(FOLDER / 'panda.urdf')
    for i in range(7):
        v = np.linspace(-model.velocity_limit[i], model.velocity_limit[i], 20001)
        sigmoid = PHI_1[i] / (1 + np.exp(-PHI_2[i] * (v + PHI_3[i])))
        sigmoid -= PHI_1[i] / (1 + np.exp(-PHI_2[i] * PHI_3[i]))
        (b, c), *_ = np.linalg.lstsq(np.stack([v, np.sign(v)], axis=1), sigmoid, rcond=None)
        # Given with four decimals.
        assert model.viscous[i] == pytest.approx(b, abs=6e-5)
        assert model.coulomb[i] == pytest.approx(c, abs=6e-5)


def test_puma560_has_the_published_gravity_terms():
    """The closed form of Armstrong, Khatib and Burdick, constants to three digits."""
    model = load_urdf(FOLDER / 'puma560.urdf')
    g1, g2, g3, g4, g5 = -37.2, -8.44, 1.02, 0.249, -0.0282
    rng, still = np.random.default_rng(3), np.zeros(6)
    for _ in range(20):
        q = rng.uniform(model.lower, model.upper)
        C2, S2, C23, S23 = np.cos(q[1]), np.sin(q[1]), np.cos(q[1] + q[2]), np.sin(q[1] + q[2])
        C4, S4, C5, S5 = np.cos(q[3]), np.sin(q[3]), np.cos(q[4]), np.sin(q[4])
        forearm = g2 * S23 + g4 * C23 + g5 * (S23 * C5 + C23 * C4 * S5)
        wrist = [-g5 * S23 * S4 * S5, g5 * (C23 * S5 + S23 * C4 * C5), 0]
        expected = [0, g1 * C2 + g3 * S2 + forearm, forearm, *wrist]
        torque = newton_euler.inverse_dynamics(model, q, still, still)
        assert (np.abs(torque - expected) < [1e-12, 0.1, 0.05, 1e-3, 1e-3, 1e-12]).all()


def test_sources_are_cited():
    for file in FILES:
        comment = re.search(r'<!--(.*?)-->', file.read_text(), re.DOTALL)
        assert comment
        assert len(comment.group(1)) > 200
