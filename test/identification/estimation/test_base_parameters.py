# SPDX-License-Identifier: Apache-2.0
"""Base parameters by two methods, and torques computed from them."""

from dataclasses import replace

import numpy as np
import pytest
import robots
from regrouping_rules import number_by_rules, regrouping_rules

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.dh import from_dh
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.identification.estimation.base_parameters import base_parameters

RNG = np.random.default_rng

TREES = {
    f'{n} joints, {prismatic:.0%} prismatic, {branching:.0%} branching, {seed}': random_tree(
        n, RNG(100 * n + seed), prismatic=prismatic, branching=branching
    )
    for n in (1, 2, 4, 6)
    for prismatic in (0.0, 0.4, 1.0)
    for branching in (0.0, 0.5)
    for seed in range(2)
}
every_tree = pytest.mark.parametrize(
    'model',
    [
        pytest.param(tree, id=name, marks=[] if name.endswith('0') else pytest.mark.soak)
        for name, tree in TREES.items()
    ],
)
SERIAL = ('ur5', 'talos_left_arm', 'double_pendulum', 'kuka_iiwa', 'xarm6')


@every_tree
def test_both_methods_give_the_same_number(model):
    arm = Dynamics(model, backend='python')
    assert base_parameters(arm, RNG(0)).number == number_by_rules(model)


@pytest.mark.parametrize('name', SERIAL)
def test_both_methods_on_real_robots(name):
    model = robots.load(name)
    arm = Dynamics(model, backend='python')
    assert base_parameters(arm, RNG(0)).number == number_by_rules(model)


@every_tree
def test_changes_of_the_rules_have_no_torque(model):
    changes = regrouping_rules(model)
    assert np.linalg.matrix_rank(changes) == len(changes)
    Y = Dynamics(model, backend='python').regressor(*RNG(1).normal(size=(3, model.n)))
    np.testing.assert_allclose(Y @ changes.T, 0, atol=1e-12 * np.abs(Y).max())


@every_tree
def test_base_parameters_give_every_torque(model):
    arm = Dynamics(model, backend='python')
    base = base_parameters(arm, RNG(0))
    for seed in range(3):
        state = RNG(10 + seed).normal(size=(3, model.n))
        Y, pi = arm.regressor(*state), RNG(seed).normal(size=10 * model.nb)
        tau = Y @ pi
        reduced = Y[:, base.columns] @ (base.grouping @ pi)
        np.testing.assert_allclose(reduced, tau, rtol=0, atol=1e-10 * np.abs(Y).max())


def test_three_parameters_regroup_over_a_revolute_joint_and_six_over_a_prismatic_one():
    """The known rule for joints that the base does not restrict: 7 and 4 remain."""
    table = [(0.3, 0.7, 0.2, 0.1, 'revolute')] * 5
    for kind, remaining in (('revolute', 7), ('prismatic', 4)):
        longer = [*table, (0.3, 0.7, 0.2, 0.1, kind)]
        numbers = [
            number_by_rules(
                from_dh(rows, convention='modified', inertias=[Inertial(1.0)] * len(rows))
            )
            for rows in (table, longer)
        ]
        assert numbers[1] - numbers[0] == remaining


def test_planar_elbow():
    """Both links turn about z: Izz each, and the first moments seen by gravity and coupling."""
    assert number_by_rules(planar_2r()) == 6
    assert number_by_rules(planar_2r().with_gravity([0.0, 0.0, -9.81])) == 4
    assert base_parameters(Dynamics(planar_2r(), backend='python'), RNG(0)).number == 6


def test_a_single_pendulum():
    # A vertical axis determines its moment of inertia; a horizontal one the first moments too.
    pendulum = random_tree(1, RNG(0), prismatic=0.0)
    axis = pendulum.placement[0, :3, :3] @ pendulum.axis[0]
    assert number_by_rules(pendulum.with_gravity(9.81 * axis)) == 1
    assert number_by_rules(pendulum.with_gravity(np.cross(axis, [0.3, 0.4, 9.0]))) == 3
    slide = random_tree(1, RNG(0), prismatic=1.0)
    assert number_by_rules(slide) == 1


def test_the_rules_reject_coupled_coordinates():
    geared = replace(planar_2r(), S=np.array([[1.0, 0.0], [-1.0, 1.0]]))
    with pytest.raises(ModelError, match=r"'planar_2r' moves its 2 joints by 2 coupled coord"):
        number_by_rules(geared)
    # The regressor knows the map, and the number is then its own.
    arm = Dynamics(geared, backend='python')
    assert base_parameters(arm, RNG(0)).number <= 6
