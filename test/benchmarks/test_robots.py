import numpy as np
import pytest

from benchmarks.robots import QUICK, RobotMissing, chain_urdf, find
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


def test_a_file_is_a_robot(tmp_path):
    path = tmp_path / 'mine.urdf'
    path.write_text(chain_urdf(2))
    robot = find(str(path))
    assert (robot.name, robot.model.n) == ('mine', 2)


def test_what_is_not_there_is_named():
    with pytest.raises(RobotMissing, match='panzer'):
        find('panzer')


@pytest.mark.parametrize(('name', 'joints'), [('ur5', 6), ('panda', 9), ('talos_reduced', 32)])
def test_real_robots(name, joints):
    assert find(name).model.n == joints


def test_the_quick_run_has_robots_of_all_kinds():
    assert any(name.startswith('chain') for name in QUICK)
    assert not all(name.startswith('chain') for name in QUICK)
