import numpy as np
import pytest

from benchmarks.robots import chain_urdf, find
from robot_dynamics.model.robots import random_tree


def test_a_chain_reads_back_as_the_model_it_was_made_from():
    wanted = random_tree(6, np.random.default_rng(0), branching=0.0, prismatic=0.0)
    found = find('chain6').model
    for name in ('parent', 'revolute', 'mass'):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    for name in ('axis', 'placement', 'com', 'inertia_com'):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), atol=4e-16)


def test_a_chain_is_always_the_same_and_has_no_line_that_pybullet_breaks():
    text = chain_urdf(100)
    assert text == chain_urdf(100)
    assert max(map(len, text.splitlines())) < 8191


@pytest.mark.parametrize(('name', 'joints'), [('ur5', 6), ('panda', 9), ('talos_reduced', 32)])
def test_real_robots(name, joints):
    assert find(name).model.n == joints
