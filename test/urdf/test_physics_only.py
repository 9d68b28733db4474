# SPDX-License-Identifier: Apache-2.0
"""Reduced URDF text for other engines."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import urdf_text

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.urdf.physics_only import bare_urdf, for_engines, inertials

ARM = (Path(__file__).parents[1] / 'validation' / 'arm.urdf').read_text()


def test_the_reduced_text_describes_the_same_robot():
    bare = bare_urdf(ARM)
    tags = {element.tag for element in ElementTree.fromstring(bare).iter()}
    assert not tags & {'visual', 'collision', 'geometry', 'mesh', 'dynamics', 'mimic'}
    full, reduced = parse_urdf(ARM), parse_urdf(bare)
    assert reduced.joint_names == ('shoulder', 'elbow', 'grip', 'grip_too')
    assert np.array_equal(full.mass, reduced.mass)
    for field in ('placement', 'axis', 'com', 'inertia_com', 'lower', 'upper'):
        whole, rest = getattr(full, field), getattr(reduced, field)
        assert np.array_equal(whole, rest[: len(whole)]), field


def test_a_link_without_inertial_gets_zeros_and_the_root_none():
    bodies = inertials(bare_urdf(ARM))
    assert bodies['bracket'].mass == 0.0
    assert not bodies['bracket'].inertia_com.any()
    assert 'base' not in bodies
    assert set(bodies) == {'upper', 'bracket', 'fore', 'finger', 'thumb'}


def test_inertials_are_in_the_axes_of_the_link():
    body = inertials(ARM)['upper']
    assert body.mass == 3.0
    assert np.array_equal(body.com, [0.1, 0.02, 0.3])
    model = parse_urdf(ARM)
    i = model.body_names.index('upper')
    assert np.allclose(body.inertia_com, model.inertia_com[i], rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize('bad', ['<robot', '<!DOCTYPE x><robot name="x"/>'])
def test_text_that_is_no_urdf_is_rejected(bad):
    with pytest.raises(ModelError):
        bare_urdf(bad)


@pytest.mark.filterwarnings('ignore::UserWarning')
def test_engines_read_a_text_that_deviates_as_it_is_written_here():
    """Missing products, a quaternion and a prefix; what does not deviate is left as it is."""
    pin = pytest.importorskip('pinocchio')
    limit = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'
    plain = urdf_text.chain(limit, f'{limit}<mimic joint="j1" multiplier="2"/>')
    assert for_engines(plain) == (plain, '')
    text = plain.replace('ixy="0" ', '').replace('</robot>', '<gazebo><a:b/></gazebo></robot>')
    text = text.replace(limit, f'{limit}<origin quat_xyzw="0 0.6 0 0.8"/>', 1)
    written, reason = for_engines(text)
    assert reason.count(';') == 2
    assert '<mimic' in written
    model, other = parse_urdf(text), pin.buildModelFromXML(written)
    q = np.array([0.3])
    g = pin.computeGeneralizedGravity(other, other.createData(), model.S @ q + model.s0)
    expected = model.S.T @ g
    np.testing.assert_allclose(Dynamics(model).gravity_torque(q), expected, rtol=0, atol=1e-13)
