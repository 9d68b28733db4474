# SPDX-License-Identifier: Apache-2.0
"""Reduced URDF text for other engines."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from robot_dynamics.common.errors import ModelError
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.urdf.physics_only import bare_urdf, inertials

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
