# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from benchmarks.robots import chain_urdf, find
from robot_dynamics.core.model.robots import random_tree


def test_the_urdf_of_a_chain_gives_its_model():
    wanted = random_tree(6, np.random.default_rng(0), branching=0.0, prismatic=0.0)
    found = find('chain6').model
    for name in ('parent', 'revolute', 'mass'):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    for name in ('axis', 'placement', 'com', 'inertia_com'):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), atol=4e-16)


def test_a_chain_is_reproducible_and_has_short_lines():
    text = chain_urdf(100)
    assert text == chain_urdf(100)
    assert max(map(len, text.splitlines())) < 8191


@pytest.mark.parametrize(('name', 'joints'), [('ur5', 6), ('panda', 9), ('talos_reduced', 32)])
def test_real_robots(name, joints):
    assert find(name).model.n == joints
