# SPDX-License-Identifier: Apache-2.0
"""Trees, coordinates, mimic joints, locked joints and sub-chains."""

import numpy as np
import pytest
import urdf_text
from urdf_text import LIMIT, chain, joint, link

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.kinematics import frame_pose
from robot_dynamics.urdf.loading import parse_urdf

WIDE = '<limit lower="-99" upper="99" velocity="99" effort="4"/>'
MIMIC = WIDE + '<mimic joint="{}" multiplier="{}" offset="{}"/>'

# A trunk with two arms and a gripper whose second finger follows the first.
TREE = urdf_text.robot(
    joint('left', 'trunk', 'left_arm', f'<origin xyz="0 1 0"/>{LIMIT}'),
    link('left_arm'),
    link('hand'),
    link('base'),
    joint('waist', 'base', 'trunk', LIMIT),
    joint('finger2', 'hand', 'f2', MIMIC.format('finger1', -1, 0.02), kind='prismatic'),
    joint('right', 'trunk', 'right_arm', f'<origin xyz="0 -1 0"/>{LIMIT}'),
    joint('finger1', 'hand', 'f1', LIMIT, kind='prismatic'),
    joint('wrist', 'left_arm', 'hand', f'<origin xyz="1 0 0"/>{LIMIT}', kind='continuous'),
    *map(link, ('trunk', 'right_arm', 'f1', 'f2')),
)


def test_depth_first_with_siblings_in_document_order():
    model = parse_urdf(TREE)
    assert model.link_names == (
        'base', 'trunk', 'left_arm', 'hand', 'f2', 'f1', 'right_arm'
    )  # fmt: skip
    assert model.body_names == model.link_names[1:]
    assert model.joint_names == ('waist', 'left', 'wrist', 'finger1', 'right')
    assert list(model.parent) == [-1, 0, 1, 2, 2, 0]


def test_a_chain_longer_than_the_recursion_limit():
    model = parse_urdf(chain(*[LIMIT] * 1500))
    assert model.n == model.nb == 1500
    np.testing.assert_array_equal(model.parent, np.arange(-1, 1499))


# -- mimic ----------------------------------------------------------------------------------


def test_a_mimic_joint_is_a_row_of_the_coordinate_map():
    model = parse_urdf(TREE)
    row, leader = model.body_names.index('f2'), model.joint_names.index('finger1')
    expected = np.zeros(5)
    expected[leader] = -1
    np.testing.assert_array_equal(model.S[row], expected)
    np.testing.assert_array_equal(model.s0, [0, 0, 0, 0.02, 0, 0])


def test_multiplier_and_offset_have_defaults():
    model = parse_urdf(chain(LIMIT, f'{LIMIT}<mimic joint="j1"/>'))
    np.testing.assert_array_equal(model.S, [[1], [1]])
    np.testing.assert_array_equal(model.s0, [0, 0])


def test_mimics_of_mimics_compose():
    # q2 = 2 q3 + 0.5, q1 = -3 q2 + 1 = -6 q3 - 0.5
    text = chain(MIMIC.format('j2', -3, 1), MIMIC.format('j3', 2, 0.5), LIMIT)
    model = parse_urdf(text)
    assert model.joint_names == ('j3',)
    np.testing.assert_array_equal(model.S, [[-6], [2], [1]])
    np.testing.assert_array_equal(model.s0, [-0.5, 0.5, 0])


def test_wider_limits_of_a_mimic_change_nothing():
    follower = '<limit lower="-9" upper="9" velocity="9" effort="9"/><mimic joint="j1"/>'
    model = parse_urdf(chain(LIMIT, follower))
    assert (model.lower, model.upper, model.velocity_limit, model.effort_limit) == (-1, 2, 3, 4)


@pytest.mark.parametrize(
    ('limits', 'multiplier', 'offset', 'expected'),
    [
        # q2 = k q1 + o within [a, b], by hand; the leader's limits are -1 to 2, velocity 3
        ('lower="-0.5" upper="9" velocity="9"', 1, 0, (-0.5, 2, 3)),
        ('lower="-9" upper="0.5" velocity="9"', 2, -0.5, (-1, 0.5, 3)),
        ('lower="-3" upper="0.5" velocity="9"', -2, 0.5, (0, 1.75, 3)),
        ('lower="-9" upper="9" velocity="1"', -4, 0, (-1, 2, 0.25)),
    ],
)
def test_limits_of_a_mimic_narrow_those_of_its_leader(limits, multiplier, offset, expected):
    mimic = f'<mimic joint="j1" multiplier="{multiplier}" offset="{offset}"/>'
    with pytest.warns(UserWarning, match="limits of mimic joint 'j2' narrow") as caught:
        model = parse_urdf(chain(LIMIT, f'<limit {limits} effort="1"/>{mimic}'))
    lower, upper, velocity = expected
    assert (model.lower, model.upper, model.velocity_limit, model.effort_limit) == (*expected, 4)
    assert len(caught) == 1
    assert str(caught[0].message).endswith(
        f"joint 'j1' to [{lower:g}, {upper:g}], velocity {velocity:g}"
    )


def test_limits_of_urdf_1_2_are_those_of_the_coordinate_that_a_mimic_follows():
    own = '<limit lower="-1" upper="1" velocity="3" effort="4" {}/>'.format
    leader = own('acceleration="8" deceleration="0" jerk="20"')
    follower = own('acceleration="9" deceleration="6"') + '<mimic joint="j1" multiplier="-2"/>'
    with pytest.warns(UserWarning, match='velocity 1.5, acceleration 4.5, deceleration 3, jerk'):
        model = parse_urdf(chain(leader, follower))
    rates = model.acceleration_limit, model.deceleration_limit, model.jerk_limit
    assert rates == (4.5, 3, 20)
    # An arm with a payload, other gravity or drives is the same arm.
    for changed in (
        model.with_payload('l2', 1.0),
        model.with_gravity((0, 0, 0)),
        model.with_actuation(viscous=1.0),
    ):
        assert changed.jerk_limit == 20
        assert changed.deceleration_limit == 3


@pytest.mark.parametrize('limits', ['lower="5" upper="6"', 'lower="2" upper="3"'])
def test_limits_of_a_mimic_that_leave_no_range_are_named_and_not_applied(limits):
    follower = f'<limit {limits} velocity="9" effort="9"/><mimic joint="j1"/>'
    words = r"'j2', \d to \d, leave joint 'j1' no range and are not app.*own limits are \[-1, 2\]"
    with pytest.warns(UserWarning, match=words):
        model = parse_urdf(chain(LIMIT, follower))
    assert (model.lower, model.upper, model.velocity_limit) == (-1, 2, 3)


def test_friction_of_mimics_adds_to_the_leader():
    def friction(b, c):
        return f'<dynamics damping="{b}" friction="{c}"/>'

    text = chain(LIMIT + friction(1, 2), MIMIC.format('j1', -3, 0) + friction(0.5, 0.25), LIMIT)
    model = parse_urdf(text)
    # b = 1 + 3^2 0.5, c = 2 + |-3| 0.25
    np.testing.assert_allclose(model.viscous, [5.5, 0])
    np.testing.assert_allclose(model.coulomb, [2.75, 0])


def test_a_mimic_with_multiplier_zero_stands_still():
    turned = parse_urdf(chain(LIMIT, MIMIC.format('j1', 0, 0.5)))
    assert (turned.n, turned.nb) == (1, 1)
    locked = parse_urdf(chain(LIMIT, LIMIT), locked_joints={'j2': 0.5})
    assert turned.fingerprint() == locked.fingerprint()


def test_a_mimic_on_a_fixed_joint_is_ignored():
    text = urdf_text.robot(
        *map(link, 'abc'), joint('j', 'a', 'b'), joint('k', 'b', 'c', '<mimic/>', kind='fixed')
    )
    assert parse_urdf(text).joint_names == ('j',)


def test_mimics_of_fixed_joints_are_rejected():
    fixed = urdf_text.robot(
        *map(link, 'abc'),
        joint('j', 'a', 'b', MIMIC.format('k', 1, 0)),
        joint('k', 'b', 'c', '', kind='fixed'),
    )
    with pytest.raises(ModelError, match="'j' mimics 'k', which is fixed"):
        parse_urdf(fixed)


@pytest.mark.parametrize(
    ('leaders', 'loop'),
    [(('j1',), 'j1 -> j1'), (('j2', 'j1'), 'j1 -> j2 -> j1'), (('j2', 'j3', 'j2'), 'j3 -> j2')],
)
def test_mimics_in_a_loop_are_rejected(leaders, loop):
    text = chain(*[MIMIC.format(leader, 1, 0) for leader in leaders])
    with pytest.raises(ModelError, match=f'mimic each other in a loop: .*{loop}'):
        parse_urdf(text)


# -- locked joints --------------------------------------------------------------------------


def poses(model, q):
    return {name: frame_pose(model, q, name) for name in model.link_names}


def assert_same_poses(one, other):
    for name, T in one.items():
        np.testing.assert_allclose(other[name], T, atol=1e-14, err_msg=name)


def test_locked_joints_stand_still_at_their_value():
    full = parse_urdf(TREE)
    less = parse_urdf(TREE, locked_joints={'left': 0.3, 'finger1': -0.1})
    assert less.joint_names == ('waist', 'wrist', 'right')
    assert less.link_names == full.link_names
    # The second finger mimics the first, so it stands still at -1 (-0.1) + 0.02.
    assert less.body_names == ('trunk', 'hand', 'right_arm')
    rng = np.random.default_rng(5)
    for _ in range(5):
        waist, wrist, right = rng.uniform(-2, 2, 3)
        assert_same_poses(
            poses(full, np.array([waist, 0.3, wrist, -0.1, right])),
            poses(less, np.array([waist, wrist, right])),
        )


def test_locking_keeps_the_total_mass():
    full = parse_urdf(TREE)
    less = parse_urdf(TREE, locked_joints={'left': 0.3, 'finger1': -0.1, 'waist': 1.0})
    assert less.mass.sum() + less.base.mass == full.mass.sum() + full.base.mass == 14


@pytest.mark.parametrize(
    ('locked', 'message'),
    [
        ({'elbow': 0}, r"'elbow' is not a moving joint; expected one of 'left', 'waist', 'right'"),
        ({'finger2': 0}, "'finger2' mimics 'finger1'; lock 'finger1' instead"),
        ({'left': float('nan')}, "'left' has value nan; it must be a finite number"),
        ({'left': None}, "'left' has value None"),
        ({'left': 10**400}, "'left' has value 1000"),
    ],
)
def test_wrong_locks_are_rejected(locked, message):
    with pytest.raises(ModelError, match=message):
        parse_urdf(TREE, locked_joints=locked)


def test_a_robot_with_every_joint_locked_is_rejected():
    with pytest.raises(ModelError, match='no moving joint'):
        parse_urdf(chain(LIMIT), locked_joints={'j1': 0})


# -- sub-chains -----------------------------------------------------------------------------


def test_tip_link_keeps_the_joints_that_move_it():
    model = parse_urdf(TREE, tip_link='hand')
    assert model.joint_names == ('waist', 'left', 'wrist')
    others = {'right': 0.0, 'finger1': 0.0}
    assert model.fingerprint() == parse_urdf(TREE, locked_joints=others).fingerprint()
    full = parse_urdf(TREE)
    assert model.mass.sum() + model.base.mass == full.mass.sum() + full.base.mass


def test_tip_link_respects_locked_joints():
    model = parse_urdf(TREE, tip_link='hand', locked_joints={'right': 0.7, 'left': 0.1})
    assert model.joint_names == ('waist', 'wrist')
    others = {'right': 0.7, 'finger1': 0.0, 'left': 0.1}
    assert model.fingerprint() == parse_urdf(TREE, locked_joints=others).fingerprint()


def test_tip_link_keeps_a_leader_that_is_elsewhere():
    model = parse_urdf(TREE, tip_link='f2')
    assert model.joint_names == ('waist', 'left', 'wrist', 'finger1')
    assert model.body_names == ('trunk', 'left_arm', 'hand', 'f2', 'f1')


def test_an_unknown_tip_link_is_rejected():
    with pytest.raises(ModelError, match=r"tip_link is 'nose'; expected one of 'left_arm'"):
        parse_urdf(TREE, tip_link='nose')


def test_a_tip_that_does_not_move_is_rejected():
    with pytest.raises(ModelError, match='no moving joint'):
        parse_urdf(TREE, tip_link='base')


# -- rejected structures --------------------------------------------------------------------


@pytest.mark.parametrize(
    ('elements', 'message'),
    [
        ([], "robot 'test' has no link"),
        ([link('a'), link('a')], "link 'a' is defined twice"),
        (
            [*map(link, 'abc'), joint('j', 'a', 'b'), joint('j', 'b', 'c')],
            "joint 'j' is defined twice",
        ),
        ([link('a'), joint('j', 'a', 'b')], r"joint 'j': its child link 'b' .* links are 'a'"),
        ([link('b'), joint('j', 'a', 'b')], "joint 'j': its parent link 'a' is not defined"),
        ([link('a'), link('b')], "links 'a', 'b' have no parent joint; exactly one"),
        (
            [*map(link, 'abc'), joint('j', 'a', 'c'), joint('k', 'b', 'c')],
            "link 'c' has two parents, by joints 'j' and 'k'",
        ),
        ([link('a'), joint('j', 'a', 'a')], 'links a <- a form a loop'),
        ([*map(link, 'ab'), joint('j', 'a', 'b'), joint('k', 'b', 'a')], 'a <- b <- a form'),
        (
            [*map(link, 'abcd'), joint('j', 'b', 'c'), joint('k', 'c', 'b'), joint('i', 'c', 'd')],
            'links b <- c <- b form a loop; a URDF is a tree',
        ),
        ([link('a')], 'no moving joint'),
        ([*map(link, 'ab'), joint('j', 'a', 'b', '', kind='fixed')], 'no moving joint'),
    ],
)
def test_descriptions_that_are_no_tree_are_rejected(elements, message):
    with pytest.raises(ModelError, match=message):
        parse_urdf(urdf_text.robot(*elements))
