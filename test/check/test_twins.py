# SPDX-License-Identifier: Apache-2.0
"""Mirrored twins: the same parts, whatever the axes of their inertias."""

from xml.etree import ElementTree

import clean_robots
import numpy as np
import pytest

from robot_dynamics.check.examination import examine
from robot_dynamics.check.twins import find_twins
from robot_dynamics.common.spatial import rotation_rpy
from robot_dynamics.core.model.inertia import symmetric

TENSOR = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


def turned(text, link, rpy):
    """Return a description with the tensor of a link in other axes of its <inertial>."""
    root = ElementTree.fromstring(text)
    inertial = root.find(f"link[@name='{link}']/inertial")
    numbers = inertial.find('inertia')
    R = rotation_rpy(*rpy)
    tensor = R.T @ symmetric([float(numbers.get(key)) for key in TENSOR]) @ R
    for key, value in zip(TENSOR, tensor[np.triu_indices(3)], strict=True):
        numbers.set(key, repr(float(value)))
    inertial.find('origin').set('rpy', ' '.join(map(repr, rpy)))
    return ElementTree.tostring(root)


@pytest.mark.parametrize('link', ['l1', 'r1'])
@pytest.mark.parametrize('rpy', [(0.0, 0.0, 0.0), (0.3, -0.5, 0.8), (0.0, 0.0, -1.2)])
def test_axes_of_inertias_change_no_twin(tmp_path, link, rpy):
    text = clean_robots.two_arms(tmp_path, 5)
    file = tmp_path / 'robot.urdf'
    file.write_bytes(turned(text, link, rpy))
    robot = examine(file, [tmp_path]).robot
    (twins,) = (
        pair for pair in find_twins(robot) if {pair.one.name, pair.two.name} == {'l1', 'r1'}
    )
    for source, target in ((twins.one, twins.two), (twins.two, twins.one)):
        image = twins.image(robot, source, target)
        assert image.mass == pytest.approx(target.body.mass)
        np.testing.assert_allclose(image.com, target.body.com, atol=1e-6)
        size = np.abs(target.body.inertia_com).max()
        np.testing.assert_allclose(image.inertia_com, target.body.inertia_com, atol=1e-3 * size)
    assert twins.related(robot)
    assert twins.same(robot)
