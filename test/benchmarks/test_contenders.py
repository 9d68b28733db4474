# SPDX-License-Identifier: Apache-2.0
"""Results of each library in the form of this package, for any joint order."""

import importlib.util

import numpy as np
import pytest

from benchmarks.agreement import TOLERANCE, relative_error
from benchmarks.contenders import RobotRefused, load
from benchmarks.contenders.ours import Ours, OursInPlace
from benchmarks.functions import FUNCTIONS, random_state
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.formulations import newton_euler_link_frame

NEEDS_BOOK = pytest.mark.skipif(
    importlib.util.find_spec('modern_robotics') is None, reason='modern_robotics is not installed'
)


def state_of(robot):
    return random_state(robot.model, np.random.default_rng(3))


@pytest.fixture(params=['chain', 'fork'])
def robot(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize(
    ('name', 'kind'),
    [
        ('pinocchio', 'chain'),
        ('pinocchio', 'fork'),
        ('mujoco', 'chain'),
        ('mujoco', 'fork'),
        pytest.param('modern_robotics', 'chain', marks=NEEDS_BOOK),
    ],
)
def test_libraries_agree_with_this_package(name, kind, request):
    robot = request.getfixturevalue(kind)
    library, ours = load(name, robot), load('ours', robot)
    state = state_of(robot)
    known = library.prepare(state)
    assert 'inverse_dynamics' in known
    assert set(known) <= set(ours.prepare(state)) == set(FUNCTIONS)
    for function in known:
        found, wanted = library.evaluate(function), ours.evaluate(function)
        assert relative_error(found, wanted) < TOLERANCE, function


def test_this_package_fulfills_the_equation_of_motion(robot):
    state = state_of(robot)
    ours = load('ours', robot)
    ours.prepare(state)
    wanted = newton_euler_link_frame.inverse_dynamics(robot.model, state.q, state.qd, state.qdd)
    assert relative_error(ours.evaluate('inverse_dynamics'), [wanted]) < 1e-13


def test_results_with_out_are_equal(robot):
    state, functions = state_of(robot), list(FUNCTIONS)
    arm = Dynamics(robot.model)
    new, in_place = Ours(arm, functions), OursInPlace(arm, functions)
    new.prepare(state)
    in_place.prepare(state)
    for function in functions:
        for a, b in zip(new.evaluate(function), in_place.evaluate(function), strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_state_has_the_joint_order_of_the_library(fork):
    pinocchio = load('pinocchio', fork)
    state = state_of(fork)
    assert list(fork.model.joint_names) == ['turn', 'z_swing', 'a_slide']
    np.testing.assert_array_equal(pinocchio.theirs(state).qd, state.qd[[0, 2, 1]])
    # A continuous joint is a cosine and a sine.
    q = pinocchio.configuration(pinocchio.theirs(state).q)
    turn, swing, slide = state.q
    np.testing.assert_array_equal(q, [np.cos(turn), np.sin(turn), slide, swing])


def test_joints_of_another_robot_are_rejected():
    from benchmarks.contenders import Local

    with pytest.raises(RobotRefused, match="'elbow'"):
        Local('a library', ['shoulder'], ['elbow'])
