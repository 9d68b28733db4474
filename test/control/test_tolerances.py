# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.control import Reference
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.tolerances import Tolerances, none

NAMES = ('a', 'b')
ORIGIN = Reference(np.zeros(2), np.zeros(2), np.zeros(2))


def at(q, qd=(0.0, 0.0)):
    return JointReading(0, np.array(q), None if qd is None else np.array(qd), None)


def test_zero_is_no_limit():
    anywhere = at((1e6, -1e6), (1e6, 1e6))
    assert none(2).path_violation(ORIGIN, anywhere, NAMES) == ''
    assert none(2).goal_violation(ORIGIN, anywhere, NAMES) == ''


@pytest.mark.parametrize(('q', 'joint'), [((0.0, 0.3), ''), ((0.11, 0.0), 'a'), ((0, -0.4), 'b')])
def test_each_joint_has_its_own_tolerance(q, joint):
    tolerances = Tolerances(np.array([0.1, 0.31]), np.array([0.1, 0.31]))
    for violation in (tolerances.path_violation, tolerances.goal_violation):
        text = violation(ORIGIN, at(q), NAMES)
        assert bool(text) == bool(joint)
        assert text.startswith(f"joint '{joint}'" if joint else '')


def test_the_velocity_may_have_a_tolerance_on_the_path():
    tolerances = Tolerances(np.zeros(2), np.zeros(2), path_velocity=np.array([0.0, 0.1]))
    text = tolerances.path_violation(ORIGIN, at((0, 0), (5.0, -0.2)), NAMES)
    assert text == "joint 'b' is 0.2 in rad/s or m/s off its velocity; the tolerance is 0.1"
    assert tolerances.path_violation(ORIGIN, at((0, 0), (5.0, 0.05)), NAMES) == ''
    assert tolerances.path_violation(ORIGIN, at((0, 0), None), NAMES) == ''


@pytest.mark.parametrize('sign', [1, -1])
def test_positions_and_velocities_are_those_relative_to_the_reference(sign):
    limits = np.array([0.1, 0.3])
    tolerances = Tolerances(limits, np.zeros(2), path_velocity=limits)
    moving = Reference(sign * np.array([2.0, -3.0]), sign * np.array([1.0, -2.0]), np.zeros(2))

    def violation(off, faster):
        state = at(moving.q + sign * np.array(off), moving.qd + sign * np.array(faster))
        return tolerances.path_violation(moving, state, NAMES)

    assert violation((0.09, -0.29), (0.09, -0.29)) == ''
    assert violation((0.0, -0.31), (0.0, 0.0)).startswith("joint 'b' is 0.31 off its path")
    assert violation((0.0, 0.0), (0.11, 0.0)).startswith("joint 'a' is 0.11 in rad/s")
    # The position is named first.
    assert violation((0.0, 0.31), (0.11, 0.0)).startswith("joint 'b' is 0.31 off its path")


def test_a_goal_is_reached_at_rest_only():
    tolerances = Tolerances(np.zeros(2), np.zeros(2), stopped_velocity=0.1)
    assert "'b' is 0.2" in tolerances.goal_violation(ORIGIN, at((0, 0), (0.05, -0.2)), NAMES)
    assert tolerances.goal_violation(ORIGIN, at((0, 0), (0.05, -0.05)), NAMES) == ''
    assert tolerances.goal_violation(ORIGIN, at((0, 0), None), NAMES) == ''
