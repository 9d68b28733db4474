# SPDX-License-Identifier: Apache-2.0
"""Random states within limits, given, blank or missing."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.model.robots import planar_2r, random_tree
from robot_dynamics.model.states import position_range, random_states


@pytest.fixture
def model():
    return replace(
        planar_2r(),
        lower=np.array([-0.1, 0.0]),
        upper=np.array([0.4, 0.0]),
        velocity_limit=np.array([0.2, np.inf]),
    )


def test_limits_are_respected_and_blank_ones_are_a_quarter_turn(model):
    lower, upper = position_range(model)
    assert np.array_equal(lower, [-0.1, -np.pi / 2])
    assert np.array_equal(upper, [0.4, np.pi / 2])


@pytest.mark.parametrize('limits', [(-np.inf, np.inf), (-1e16, 1e16), (0.0, np.inf)])
def test_no_limits_and_absurd_ones_are_blank(limits):
    model = replace(planar_2r(), lower=np.full(2, limits[0]), upper=np.full(2, limits[1]))
    assert np.array_equal(position_range(model)[1], np.full(2, np.pi / 2))


def test_a_prismatic_joint_without_limits_moves_half_a_metre():
    model = random_tree(3, np.random.default_rng(0), prismatic=1.0)
    assert np.array_equal(position_range(model)[0], np.full(3, -0.5))


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
