# SPDX-License-Identifier: Apache-2.0
"""Planted differences are named, with the torque they cost; other ways of writing are the same."""

from dataclasses import replace

import numpy as np
import planted
import pytest
import robots
from rerooted import rerooted
from tiers import slow, slow_rows

from robot_dynamics import load_mjcf, load_urdf, write_mjcf
from robot_dynamics.check.sameness import same
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import pose, rotation_rpy
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.core.model.states import random_postures
from robot_dynamics.formulations import newton_euler_link_frame as newton_euler
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.urdf.robot_files import robot_file
from robot_dynamics.urdf.writing import write_urdf

pytestmark = pytest.mark.filterwarnings('ignore::UserWarning')  # of descriptions
EPS = np.finfo(float).eps
ROBOTS = [('scara_rrp', 1), *slow_rows([('puma560', 2), ('panda', 3), ('panda', 1)])]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def subjects(found):
    return [(one.kind, one.subject) for one in found.findings]


# -- planted differences --------------------------------------------------------------------


@pytest.mark.parametrize(('name', 'joint'), ROBOTS)
def test_planted_differences_are_named_and_no_others(name, joint):
    model, wrong = load_urdf(name), []
    for label, other, code, kind, subject in planted.planted(model, joint):
        found = same(model, other)
        if code == 3:
            right = subject in found.other
        elif label == 'mass 0':
            right = {body for _, body in subjects(found)} >= {*model.body_names[1:]}
        else:
            right = subjects(found) == [(kind, subject)]
        if not right or found.exit_code != code:
            wrong.append((label, found.other, found.findings, found.remarks))
    assert not wrong


COSTS = ('mass', 'centre', 'axis tilted', 'frame tilted', 'link longer', 'zero', 'reversed')


@pytest.mark.parametrize('label', [*slow(COSTS), 'joint along axis', 'gravity tilted'])
def test_the_cost_is_the_difference_of_gravity_torques(label):
    model = load_urdf('panda')
    rows = {name: other for name, other, *_ in planted.planted(model, 3)}
    q, still = random_postures(model, 200), np.zeros(model.n)
    here, there = (
        np.array([newton_euler.inverse_dynamics(one, x, still, still) for x in q])
        for one in (model, rows[label])
    )
    cost, size = np.abs(there - here).max(axis=0), np.abs(here).max()
    found = same(model, rows[label])
    assert cost.max() > 1e-3 * size
    np.testing.assert_allclose(found.torque_difference, cost, rtol=0, atol=1e3 * EPS * size)
    np.testing.assert_allclose(
        found.torque, np.abs(here).max(axis=0), rtol=0, atol=1e3 * EPS * size
    )
    assert found.findings[0].size == pytest.approx(cost.max(), abs=1e3 * EPS * size)
    assert model.joint_names[int(np.argmax(cost))] in found.findings[0].words


def test_several_differences_come_in_the_order_of_their_costs():
    model = load_urdf('panda')
    other = planted.changed(model, 'mass', 4, lambda m: m + 0.3)
    other = planted.changed(other, 'mass', 2, lambda m: m + 0.3)
    other = planted.turned(other, 3, 2.0)
    other = planted.changed(other, 'effort_limit', 0, lambda _: 1.0)
    found = same(model, other)
    assert set(subjects(found)) == {
        ('inertia', 'panda_link3'),
        ('inertia', 'panda_link5'),
        ('zero', 'panda_joint4'),
        ('effort', 'panda_joint1'),
    }
    sizes = [one.size or 0.0 for one in found.findings]
    assert sizes == sorted(sizes, reverse=True)
    assert found.findings[-1].kind == 'effort'


def test_an_absent_hand_is_named_with_its_links():
    found = same(load_urdf('panda'), robots.load('panda'))
    inertia = [one for one in found.findings if one.kind == 'inertia']
    assert [one.subject for one in inertia] == ['panda_link7']
    assert 'only B has panda_hand' in inertia[0].words
    assert 'locked, since only B has them: panda_finger_joint1' in found.remarks


def test_exchanged_names_are_a_difference():
    model = load_urdf('puma560')
    names = list(model.joint_names)
    names[1], names[2] = names[2], names[1]
    found = same(model, replace(model, joint_names=tuple(names)))
    assert subjects(found) == [('names', 'joint2=joint3, joint3=joint2')]
    given = {'joint2': 'joint3', 'joint3': 'joint2'}
    assert same(model, replace(model, joint_names=tuple(names)), given).exit_code == 0


def test_mimic_joints_are_compared_at_their_leaders():
    model = robots.load('panda')
    finger = model.body_names.index('panda_rightfinger')
    k = model.joint_names.index('panda_finger_joint1')
    ratio = planted.changed(model, 'S', (finger, k), lambda x: 0.5 * x)
    offset = planted.changed(model, 's0', finger, lambda x: x + 0.01)
    for other, words in ((ratio, 'mimic ratio 1 / 0.5'), (offset, 'mimic offset')):
        found = same(model, other)
        assert subjects(found) == [('mimic', 'panda_rightfinger')]
        assert words in found.findings[0].words
    # A coordinate of half the size is the same robot in other units.
    scaled = planted.changed(model, 'S', (slice(None), k), lambda column: 2 * column)
    assert 'B moves by 0.5 where A moves by 1' in same(model, scaled).findings[0].words


def test_other_robots_are_one_line():
    puma, panda = load_urdf('puma560'), load_urdf('panda')
    assert 'deg off' in same(puma, panda).other
    crossed = {'joint1': 'joint2', 'joint2': 'joint1'}
    assert 'has no counterpart' in same(puma, puma, crossed).other
    assert '--joints a=b' in same(load_urdf('scara_rrp'), panda).other
    assert same(puma, panda).exit_code == 3


def test_wrong_pairs_are_rejected():
    model = planar_2r()
    with pytest.raises(ModelError, match=r"'hip' is unknown; expected one of joint1, joint2"):
        same(model, model, {'hip': 'joint1'})
    with pytest.raises(ModelError, match='twice'):
        same(model, model, {'joint1': 'joint1', 'joint2': 'joint1'})


@pytest.mark.slow
@pytest.mark.parametrize('name', ['ur5', 'talos_left_arm'])
def test_differences_are_named_in_other_frames_on_another_base(name, rng):
    """Nothing but the mechanism itself is common: no frame, and no base."""
    model = robots.load(name)
    T = pose(rotation_rpy(0.0, 0.0, 2.0), np.array([0.3, -0.2, 0.1]))
    wrong = []
    for label, other, code, kind, subject in planted.planted(model, 2):
        if label not in ('mass 0', 'axis of another robot'):  # several; another base is nearer
            found = same(model, planted.on_base(planted.in_other_frames(other, rng), T))
            right = subject in found.other if code == 3 else subjects(found) == [(kind, subject)]
            if not right:
                wrong.append((label, found.other, found.findings, found.remarks))
    assert not wrong


def test_a_difference_beside_a_turned_base_of_a_tree_is_named_alone():
    """Several joints on the base: one that differs has no effect on where the base is."""
    model = robots.load('talos_reduced')
    T = pose(rotation_rpy(0.0, 0.0, 2.0), np.array([0.3, -0.2, 0.1]))
    k = model.joint_names.index('arm_left_4_joint')
    found = same(model, planted.on_base(planted.turned(model, k, 5.0), T))
    assert subjects(found) == [('zero', 'arm_left_4_joint')]


# -- one robot, written differently ---------------------------------------------------------


@pytest.mark.parametrize('name', ['scara_rrp', *slow(['panda', 'puma560'])])
def test_other_ways_of_writing_are_the_same(name, rng):
    model = load_urdf(name)
    alarms = {
        label: (found.other, found.findings)
        for label, other, pairs in planted.rewritten(model, rng)
        if (found := same(model, other, pairs)).exit_code
    }
    assert not alarms


@pytest.mark.parametrize('name', slow(['panda', 'talos_reduced']))
def test_grippers_and_trees_written_differently_are_the_same(name, rng):
    """Mimic joints; several joints on the base."""
    model = robots.load(name)
    for label, other, pairs in planted.rewritten(model, rng):
        if label in ('body frames', 'names', 'order', 'base turned'):
            found = same(model, other, pairs)
            assert (found.exit_code, found.other, found.findings) == (0, '', ()), label


def test_split_and_merged_links_are_the_same(tmp_path, rng):
    """Links on fixed joints, in frames of their own, against one body each."""
    text = robot_file('panda').read_text()
    split, model = parse_urdf(rerooted(text, rng)), parse_urdf(text)
    merged = load_urdf(write_urdf(model, tmp_path / 'merged.urdf'))
    for one, other in ((model, split), (merged, split), (split, merged)):
        found = same(one, other)
        assert (found.exit_code, found.other, found.findings) == (0, '', ())
    heavier = planted.changed(split, 'mass', 5, lambda m: m + 0.1)
    assert subjects(same(model, heavier)) == [('inertia', model.body_names[5])]


@pytest.mark.parametrize(('name', 'joint'), ROBOTS)
def test_urdf_and_mjcf_are_compared_as_two_urdfs_are(name, joint, tmp_path):
    pytest.importorskip('mujoco')

    def in_mjcf(model):
        return load_mjcf(write_mjcf(model, tmp_path / 'a.xml'))

    model, wrong = load_urdf(name), []
    for pair in ((model, in_mjcf(model)), (in_mjcf(model), model)):
        assert same(*pair).exit_code == 0
    for label, other, code, kind, subject in planted.planted(model, joint):
        if label == 'mass 0':  # which MuJoCo rejects
            continue
        found = same(model, in_mjcf(other))
        if (code != 3 and subjects(found) != [(kind, subject)]) or found.exit_code != code:
            wrong.append((label, found.other, found.findings, found.remarks))
    assert not wrong


def test_what_no_torque_depends_on_is_a_remark():
    model = load_urdf('panda')
    found = same(model, planted.regrouped(model))
    assert found.exit_code == 0
    assert any('panda_link1 (mass 4.971 / 4.771 kg' in remark for remark in found.remarks)
    # With a difference beside it, this one alone is named.
    found = same(model, planted.changed(planted.regrouped(model), 'com', 4, lambda c: c + 0.005))
    assert subjects(found) == [('inertia', 'panda_link5')]
