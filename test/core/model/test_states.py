# SPDX-License-Identifier: Apache-2.0
"""Random states within limits, given, blank or missing."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.core.model.states import extreme_postures, position_range, random_states


@pytest.fixture
def model():
    return replace(
        planar_2r(),
        lower=np.array([-0.1, 0.0]),
        upper=np.array([0.4, 0.0]),
        velocity_limit=np.array([0.2, np.inf]),
    )


def test_limits_are_respected_and_blank_ones_are_half_a_turn(model):
    lower, upper = position_range(model)
    assert np.array_equal(lower, [-0.1, -np.pi])
    assert np.array_equal(upper, [0.4, np.pi])


@pytest.mark.parametrize('limits', [(-np.inf, np.inf), (-1e16, 1e16), (0.0, np.inf)])
def test_no_limits_and_absurd_ones_are_blank(limits):
    model = replace(planar_2r(), lower=np.full(2, limits[0]), upper=np.full(2, limits[1]))
    assert np.array_equal(position_range(model)[1], np.full(2, np.pi))


def test_a_prismatic_joint_without_limits_moves_half_a_metre():
    model = random_tree(3, np.random.default_rng(0), prismatic=1.0)
    assert np.array_equal(position_range(model)[0], np.full(3, -0.5))


def test_a_long_slide_keeps_its_limits_and_an_absurd_one_has_none():
    model = random_tree(2, np.random.default_rng(0), prismatic=1.0)
    limited = replace(model, lower=np.array([-8.0, -1e9]), upper=np.array([2.0, 1e9]))
    assert position_range(limited)[0].tolist() == [-8.0, -0.5]
    assert position_range(limited)[1].tolist() == [2.0, 0.5]


def test_the_extreme_postures_lie_in_the_range():
    model = random_tree(4, np.random.default_rng(1), prismatic=0.5)
    one_sided = replace(model, lower=np.array([0.0, 4.0, -np.inf, -0.2]), upper=np.full(4, np.inf))
    lower, upper = position_range(one_sided)
    q = extreme_postures(one_sided)
    assert ((lower <= q) & (q <= upper)).all()
    assert (np.ptp(q, axis=0) > 0.9 * (upper - lower)).all()


def test_states_fill_the_range_and_repeat_with_the_seed(model):
    states = random_states(model, 500, np.random.default_rng(1))
    assert states.q.shape == states.qd.shape == states.qdd.shape == (500, 2)
    assert (states.q[:, 0] >= -0.1).all()
    assert (states.q[:, 0] <= 0.4).all()
    assert np.ptp(states.q[:, 0]) > 0.45
    assert np.abs(states.qd[:, 0]).max() <= 0.2
    assert 2.5 < np.abs(states.qd[:, 1]).max() <= 3.0
    again = random_states(model, 500, np.random.default_rng(1))
    assert all(np.array_equal(a, b) for a, b in zip(states, again, strict=True))
