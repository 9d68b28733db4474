# SPDX-License-Identifier: Apache-2.0
"""Findings about whole descriptions: structure, clean robots, single rules."""

import re
import sys

import clean_robots
import faults
import numpy as np
import pytest
import robots
from drawn_faults import ORIGIN, scaled
from rerooted import rerooted

from robot_dynamics.check import gravity_rules
from robot_dynamics.check.description import Link
from robot_dynamics.check.evidence import best_fit
from robot_dynamics.check.examination import examine, parsed
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.resources import bundled_robots
from robot_dynamics.common.spatial import rotation_rpy
from robot_dynamics.core.kinematics import body_poses
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.urdf.geometry.link_solids import Geometry, Solid
from robot_dynamics.urdf.loading import parse_urdf

DEGREE = np.pi / 180
IMPOSSIBLE = 'inertia-inconsistent'
LIMIT = '<limit lower="-1" upper="1" effort="50" velocity="2"/>'
LINK = (
    '<link name="{}"><inertial><mass value="1"/><inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" '
    'iyz="0" izz="0.04"/></inertial></link>'
)
MASSLESS = {'mass value="1"': 'mass value="0"', '"0.02"': '"0"', '"0.03"': '"0"', '"0.04"': '"0"'}
JOINT = (
    '<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/>' + LIMIT + '</joint>'
)


def robot(*parts):
    return f'<robot name="r">{"".join(parts)}</robot>'


@pytest.fixture
def examined(tmp_path):
    """Return a function that examines a text."""

    def examined(text, *folders, **options):
        file = tmp_path / 'robot.urdf'
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return examine(file, folders, **options)

    return examined


@pytest.fixture
def folder(tmp_path):
    """Return the folder of the package that the clean robots name."""
    result = tmp_path / 'robot'
    result.mkdir()
    return result


def alarms(examination):
    return [(f.kind, f.element) for f in examination.findings if f.severity != 'info']


# -- robots whose numbers are right ------------------------------------------------------------


@pytest.mark.parametrize('name', bundled_robots())
def test_the_bundled_robots_have_no_fault(name):
    assert alarms(examine(name)) == []


@pytest.mark.parametrize('seed', range(6))
def test_robots_of_true_density_have_no_fault(examined, folder, seed):
    source = ('collision', 'visual')[seed % 2]
    assert alarms(examined(clean_robots.arm(folder, seed, source=source), folder)) == []
    assert alarms(examined(clean_robots.two_arms(folder, seed, source=source), folder)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    'path',
    [
        'xarm_description/urdf/xarm7.urdf',
        'panda_description/urdf/panda.urdf',
        'kinova_description/robots/kinova.urdf',
        'laikago_description/urdf/laikago.urdf',
        'go2_description/urdf/go2.urdf',
        'g1_description/urdf/g1_29dof_rev_1_0.urdf',
        'alex_description/urdf/alex_nub_hands.urdf',
    ],
)
def test_published_robots_of_sound_numbers_have_no_fault(path):
    assert alarms(examine(robots.example_robot_data() / path)) == []


# -- structure ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('text', 'kind', 'element'),
    [
        (robot(LINK.format('a'), LINK.format('a')), 'duplicate-name', 'a'),
        (robot(LINK.format('a'), JOINT.format('j', 'a', 'x')), 'unknown-link', 'j'),
        (robot(LINK.format('a'), JOINT.format('j', 'x', 'a')), 'unknown-link', 'j'),
        (
            robot(*map(LINK.format, 'abc'), *(JOINT.format(p + 'c', p, 'c') for p in 'ab')),
            'two-parents',
            'c',
        ),
        (robot(*map(LINK.format, 'abc'), JOINT.format('i', 'a', 'b')), 'several-roots', 'c'),
        (
            robot(*map(LINK.format, 'abc'), JOINT.format('i', 'b', 'c'), JOINT.format('j', *'cb')),
            'loop',
            'b',
        ),
        (
            robot(
                *map(LINK.format, 'ab'),
                JOINT.format('j', 'a', 'b').replace(LIMIT, LIMIT + '<mimic joint="no"/>'),
            ),
            'mimic-leader',
            'j',
        ),
        (robot(LINK.format('a').replace('"0.02"', '"nan"')), 'invalid-element', 'a'),
        (robot(LINK.format('a').replace('"1"', '"-1"')), 'invalid-element', 'a'),
        (
            robot(*map(LINK.format, 'ab'), JOINT.format('j', 'a', 'b').replace('-1', 'inf')),
            'invalid-element',
            'j',
        ),
        (
            robot(*map(LINK.format, 'ab'), JOINT.format('j', 'a', 'b').replace(LIMIT, '')),
            'invalid-element',
            'j',
        ),
        (robot(LINK.format('a')), 'rejected', 'r'),
        (robot(), 'rejected', 'r'),
        (robot('<link/>', '<joint/>'), 'invalid-element', 'number 1'),
    ],
)  # fmt: skip
def test_faults_of_the_structure_are_findings(examined, text, kind, element):
    assert (kind, element) in alarms(examined(text))


@pytest.mark.parametrize(
    'text', [b'', b'<robot', b'\xff\xfe', b'<a/>', b'<!DOCTYPE robot><robot/>']
)
def test_what_is_no_robot_is_rejected(examined, text):
    """The reader's sentence is the first finding."""
    first, *others = examined(text).findings
    assert (first.severity, first.kind) == ('error', 'rejected')
    assert others == []
    with pytest.raises(ModelError) as error:
        parse_urdf(text)
    assert first.message == str(error.value)


@pytest.mark.slow
def test_a_chain_of_hundreds_of_links_is_examined(examined):
    names = [f'l{i}' for i in range(800)]
    joints = [JOINT.format(f'j{i}', f'l{i}', f'l{i + 1}') for i in range(799)]
    found = examined(robot(*map(LINK.format, names), *joints))
    expected = {'not-checked', 'cannot-tell', 'gravity-above-effort', 'density'}
    assert {f.kind for f in found.findings} <= expected


# -- single rules ------------------------------------------------------------------------------


def test_gravity_torques_are_the_slopes_of_potential_energy():
    model = robots.load('tiago')
    rng = np.random.default_rng(1)
    q = rng.uniform(-1, 1, model.n)
    step = 1e-6

    def energy(q):
        poses = body_poses(model, q)
        at = np.einsum('bij,bj->bi', poses[:, :3, :3], model.com) + poses[:, :3, 3]
        return -model.mass @ at @ model.gravity

    slopes = [(energy(q + step * e) - energy(q - step * e)) / (2 * step) for e in np.eye(model.n)]
    g = gravity_rules._gravity_torque(model, body_poses(model, q))
    np.testing.assert_allclose(g, slopes, atol=1e-5)


def test_a_weak_motor_is_named(examined, folder):
    text = clean_robots.arm(folder, 0, n=3)
    weak = text.replace('effort="150.0"', 'effort="0.5"')
    assert {kind for kind, _ in alarms(examined(weak, folder))} == {'gravity-above-effort'}


def test_a_load_without_lever_is_named(examined):
    swing = JOINT.replace('<parent', '<axis xyz="0 1 0"/><origin xyz="{}"/><parent')
    empty = LINK.format('c')
    for old, new in MASSLESS.items():
        empty = empty.replace(old, new)
    joints = swing.format('i', '0 0 1', 'a', 'b'), swing.format('j', '0 0 0.5', 'b', 'c')
    text = robot('<link name="a"/>', LINK.format('b'), empty, *joints)
    assert ('gravity-zero', 'i') in alarms(examined(text))
    loaded = robot('<link name="a"/>', LINK.format('b'), LINK.format('c'), *joints)
    assert ('gravity-zero', 'i') not in alarms(examined(loaded))


@pytest.mark.parametrize(('carrier', 'severity'), [('part_1', 'error'), ('pedestal', 'info')])
def test_an_inconsistent_tensor_is_no_slip_of_a_unit(examined, folder, carrier, severity):
    """Equal entries of a frame: in other units the tensor would be as inconsistent."""
    text = clean_robots.arm(folder, 0, n=3)
    frame = LINK.format('frame').replace('"1"', '"1e-6"').replace('</link>', '<visual>{}</link>')
    for old in ('"0.02"', '"0.03"', '"0.04"', '"0"'):
        frame = frame.replace(old, '"1e-6"')
    frame = frame.format('<geometry><box size="0.001 0.001 0.001"/></geometry></visual>')
    fixed = f'<joint name="f" type="fixed"><parent link="{carrier}"/><child link="frame"/></joint>'
    found = examined(text.replace('</robot>', f'{frame}{fixed}</robot>'), folder)
    expected = (severity, 'inertia-inconsistent', 'frame')
    named = [f for f in found.findings if f.kind != 'cannot-tell']
    assert [(f.severity, f.kind, f.element) for f in named] == [expected]
    assert alarms(examined(found.repaired()[0], folder)) == []


@pytest.mark.parametrize(
    ('path', 'root'),
    [
        *(
            pytest.param(f'{name}_description/urdf/{name}.urdf', 'base', marks=pytest.mark.soak)
            for name in ('go1', 'b1')
        ),
        ('hyq_description/robots/hyq_no_sensors.urdf', 'base_link'),
    ],
)
def test_an_impossible_tensor_of_a_root_is_a_remark(path, root):
    found = examine(robots.example_robot_data() / path).findings
    assert [f.severity for f in found if (f.kind, f.element) == (IMPOSSIBLE, root)] == ['info']


@pytest.mark.parametrize('at_rest', [True, False])
@pytest.mark.parametrize('fault', [faults.scaled_mass, faults.duplicated, faults.swapped])
def test_faults_of_links_that_no_joint_moves_are_remarks(examined, folder, fault, at_rest):
    text = clean_robots.arm(folder, 1, n=3)
    if at_rest:
        first = text.index('name="hinge_0" type="revolute"')
        text = text[:first] + text[first:].replace('type="revolute"', 'type="fixed"', 1)
    factor = (1e3,) if fault is faults.scaled_mass else ()
    wrong = fault(text.encode(), 'part_0', *factor)
    found = [
        f
        for f in examined(wrong.text, folder).findings
        if f.element == wrong.element and f.kind in wrong.kinds
    ]
    assert [f.severity == 'info' for f in found] == [at_rest]


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('axis', range(3))
def test_a_centre_of_mass_outside_the_geometry_is_reported_on_every_side(axis, side):
    corner = np.array([0.1, 0.2, 0.3])
    solid = Solid(8 * corner.prod(), np.zeros(3), np.diag(corner**2 / 3), -corner, corner)
    link = Link('l', True, Inertial(), np.eye(3), Geometry((solid,), 1))
    com = side * 1.5 * corner * (np.arange(3) == axis)
    found = best_fit(link, Inertial(40.0, com, np.diag([0.5, 0.4, 0.3])))
    excess = 0.5 * corner[axis] / np.linalg.norm(2 * corner)
    assert found.excess == pytest.approx(excess)


FRAME = (
    '<link name="f"><inertial><origin xyz="0 0 0.05"/><mass value="{}"/><inertia ixx="{}" ixy="0" '
    'ixz="0" iyy="{}" iyz="0" izz="{}"/></inertial></link><joint name="jf" type="fixed">'
    '<parent link="part_2"/><child link="f"/><origin xyz="0 0 0.1"/></joint>'
)


@pytest.mark.parametrize(
    ('frame', 'reason'),
    [
        (('2', '0.003', '0.003', '0.002'), None),  # a payload
        (('21.25', '0.5', '0.5', '0.5'), None),
        (('3', '0.02', '0.02', '0.02'), 'equal moments'),
        (('part_2', '0.01', '0.02', '0.025'), 'the same mass'),
    ],
)
def test_a_frame_with_a_mass_is_a_remark_and_is_not_removed(examined, folder, frame, reason):
    text = clean_robots.arm(folder, 3, n=3)
    mass = faults.Numbers(text.encode(), 'link', 'part_2').get('inertial/mass/@value')
    frame = FRAME.format(*(repr(mass) if value == 'part_2' else value for value in frame))
    found = examined(text.replace('</robot>', f'{frame}</robot>'), folder)
    (finding,) = (f for f in found.findings if f.kind == 'frame-mass')
    assert finding.severity == 'info'
    assert found.repaired() == (found.text, [])
    assert bool(finding.repair) == (reason is not None)
    assert (reason or '') in finding.message
    # Only if its kind is named is the mass removed.
    removed, _ = found.repaired(['frame-mass'])
    expected = parsed(text.encode()) if reason else parsed(found.text)
    assert parsed(removed).mass.sum() == pytest.approx(expected.mass.sum(), rel=1e-12)


@pytest.mark.parametrize(
    ('order', 'turned'), [([1, 2, 0], False), ([2, 0, 1], True), ([0, 2, 1], False)]
)
def test_one_slip_of_the_axes_is_repaired_in_centre_and_tensor(examined, folder, order, turned):
    text = clean_robots.arm(folder, 1, n=3, shapes=('box',)).encode()
    text = rerooted(text, np.random.default_rng(2)) if turned else text
    at = faults.Numbers(text, 'link', 'part_1')
    rpy = faults.numbers(at.element.find('inertial/origin').get('rpy', '0 0 0'))
    R = rotation_rpy(*rpy)
    # A turn, or with two axes exchanged also one axis reversed.
    Q = np.eye(3)[order]
    Q[2] *= np.linalg.det(Q)
    turn = R.T @ Q @ R
    entries = (turn @ at.tensor() @ turn.T)[np.triu_indices(3)].tolist()
    names = (faults.INERTIA + key for key in faults.TENSOR)
    com = (Q @ at.get('inertial/origin/@xyz')).tolist()
    values = {'inertial/origin/@xyz': com, **dict(zip(names, entries, strict=True))}
    found = examined(at.changed(values, ()).text, folder)
    assert alarms(found) == [('inertial-axes', 'part_1')]
    repaired = parsed(found.repaired()[0])
    np.testing.assert_allclose(repaired.com, parsed(text).com, atol=1e-12)
    np.testing.assert_allclose(repaired.inertia_com, parsed(text).inertia_com, atol=1e-12)


def test_a_centre_of_mass_in_the_frame_of_the_root_is_no_unit(examined, folder):
    text = clean_robots.arm(folder, 3, n=4).encode()
    robot = examined(text, folder).robot
    at = faults.Numbers(text, 'link', 'part_3')
    T = robot.placements['part_3']
    com = (T[:3, :3] @ at.get('inertial/origin/@xyz') + T[:3, 3]).tolist()
    found = examined(at.changed({'inertial/origin/@xyz': com}, ()).text, folder)
    (finding,) = (f for f in found.findings if f.severity != 'info')
    assert finding.element == 'part_3'
    assert not finding.repair
    assert found.repaired() == (found.text, [])


def test_a_tensor_that_only_geometry_contradicts_is_repaired_by_name(examined, folder):
    text = clean_robots.arm(folder, 1, n=3, shapes=('mesh',)).encode()
    found = examined(faults.negated_products(text, 'part_1').text, folder)
    assert alarms(found) == [('products-sign', 'part_1')]
    assert found.repaired() == (found.text, [])
    by_name = parsed(found.repaired(['products-sign'])[0])
    np.testing.assert_allclose(by_name.inertia_com, parsed(text).inertia_com, atol=1e-12)


@pytest.mark.parametrize('turned', [False, True])
def test_six_of_nine_numbers_of_a_tensor_are_recognized(examined, folder, turned):
    text = clean_robots.arm(folder, 1, n=3, shapes=('mesh',)).encode()
    text = rerooted(text, np.random.default_rng(2)) if turned else text
    at = faults.Numbers(text, 'link', 'part_1')
    rows = at.tensor().ravel()[:6].tolist()
    names = (faults.INERTIA + key for key in faults.TENSOR)
    found = examined(at.changed(dict(zip(names, rows, strict=True)), ()).text, folder)
    (finding,) = (f for f in found.findings if f.severity != 'info')
    assert 'first six of nine numbers' in finding.message
    new = {r.attribute: r.new for r in finding.repair}
    entries = at.tensor()[np.triu_indices(3)]
    for key, value in zip(faults.TENSOR, entries, strict=True):
        repaired = new.get(faults.INERTIA + key, rows[faults.TENSOR.index(key)])
        assert repaired == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize('fault', ['mass', 'tensor', 'com', 'origin', 'swapped'])
def test_parts_in_frames_fixed_to_a_moving_link_have_equal_findings(examined, folder, fault):
    text = clean_robots.arm(folder, 1, n=4).encode()
    wrong = {
        'mass': lambda: faults.scaled_mass(text, 'part_1', 1e3),
        'tensor': lambda: faults.scaled_tensor(text, 'part_1', 1e9),
        'com': lambda: faults.com_in_mm(text, 'part_1'),
        'origin': lambda: scaled(ORIGIN, 1e3, 'origin-unit')(text, 'joint', 'hinge_2', None),
        'swapped': lambda: faults.swapped(text, 'part_1'),
    }[fault]()
    turned = rerooted(wrong.text, np.random.default_rng(0))
    plain, fixed = (alarms(examined(t, folder)) for t in (wrong.text, turned))
    assert plain == fixed
    assert [element for _, element in plain] == [wrong.element]


def test_a_tensor_about_the_origin_of_a_fixed_frame_is_repaired(examined, folder):
    text = rerooted(clean_robots.arm(folder, 1, n=3).encode(), np.random.default_rng(1))
    found = examined(faults.tensor_about_origin(text, 'part_1').text, folder)
    assert alarms(found) == [('inertia-about-origin', 'part_1')]
    repaired = parsed(found.repaired(['inertia-about-origin'])[0])
    np.testing.assert_allclose(repaired.inertia_com, parsed(text).inertia_com, atol=1e-12)


@pytest.mark.parametrize(
    ('lower', 'upper', 'named'),
    [
        (-2.618, 2.168, True),
        (-2.168, 2.618, True),
        (-2.618, 2.618, False),
        (-2.618, 2.861, False),
        (-1.2, 2.1, False),
        (-2.09, 2.9, False),
    ],
)
def test_transposed_digits_of_a_limit_are_a_remark(examined, lower, upper, named):
    joint = JOINT.format('j', 'a', 'b').replace('"-1"', f'"{lower}"').replace('"1"', f'"{upper}"')
    text = robot(*map(LINK.format, 'ab'), joint)
    found = [f for f in examined(text).findings if f.kind == 'limit-digits']
    assert [f.severity for f in found] == ['info'] * named
    assert all('2.618 rad are' in f.message and '150 degrees' in f.message for f in found)


@pytest.mark.parametrize(('ends', 'repaired'), [((-2, 1), 0), ((-1, 2), 0), ((-2, 2), 1)])
def test_a_missing_range_is_symmetric_only_if_the_others_are(examined, ends, repaired):
    limits = 'lower="{}" upper="{}"'
    joints = [
        JOINT.format(f'j{i}', f'l{i}', f'l{i + 1}').replace(
            'lower="-1" upper="1"', limits.format(*(ends if i > 1 else (1.5, 1.5)))
        )
        for i in range(5)
    ]
    text = robot(*(LINK.format(f'l{i}') for i in range(6)), *joints)
    found = [f for f in examined(text).findings if f.kind == 'limit-empty']
    assert [f.element for f in found] == ['j0', 'j1']
    assert all(len(f.repair) == repaired and not f.applied for f in found)


@pytest.mark.parametrize(('velocity', 'kind'), [(124.6, 'limit-degrees'), (100.7, 'limit-absurd')])
def test_a_velocity_in_degrees_is_like_those_of_the_other_joints(examined, velocity, kind):
    usual = {'limit-degrees': '2', 'limit-absurd': '20'}[kind]
    joints = [
        JOINT.format(f'j{i}', f'l{i}', f'l{i + 1}').replace(
            'velocity="2"', f'velocity="{usual if i else velocity}"'
        )
        for i in range(4)
    ]
    found = examined(robot(*(LINK.format(f'l{i}') for i in range(5)), *joints)).findings
    (found,) = (f for f in found if f.element == 'j0' and f.kind.startswith('limit'))
    assert (found.kind, found.applied) == (kind, kind == 'limit-degrees')


@pytest.mark.parametrize(
    'value', [',', '', '1,2,3', '1e308', '-1e308', '1e-320', 'inf', 'nan', '٣']
)
def test_values_that_are_no_numbers_are_findings(examined, value):
    joint = JOINT.format('j', 'a', 'b')
    for old in ('velocity="2"', 'effort="50"', 'lower="-1"', 'iyy="0.03"', 'mass value="1"'):
        name = old.partition('"')[0]
        text = robot(*map(LINK.format, 'ab'), joint).replace(old, f'{name}"{value}"')
        found = examined(text)
        found.repaired()
        kinds = {f.kind for f in found.findings}
        # A limit of any size and a light body have a meaning, if an odd one.
        odd = value == '1e-320' or (old.startswith(('v', 'e', 'l')) and value.endswith(('8', 'f')))
        assert 'invalid-element' in kinds or odd, (old, value)


def test_a_comma_that_may_separate_thousands_is_not_repaired(examined):
    joint = JOINT.format('j', 'a', 'b')
    for value, repaired in (('1,500', False), ('1,5', True), ('0,500', True)):
        text = robot(*map(LINK.format, 'ab'), joint).replace('effort="50"', f'effort="{value}"')
        (found,) = (f for f in examined(text).findings if f.kind == 'invalid-element')
        assert found.applied == repaired
    places = (('1,234 0 0', False), ('0 -2,500 1,000', False), ('0,1 1,234 0', True))
    for value, repaired in places:
        text = robot(*map(LINK.format, 'ab'), joint)
        text = text.replace('<limit', f'<origin xyz="{value}"/><limit')
        (found,) = (f for f in examined(text).findings if f.kind == 'invalid-element')
        assert (found.applied, bool(found.repair)) == (repaired, repaired), value


def test_a_mimic_without_a_leader_is_one_finding(examined):
    for mimic in ('<mimic/>', '<mimic joint=""/>'):
        joint = JOINT.format('j', 'a', 'b').replace(LIMIT, LIMIT + mimic)
        found = examined(robot(*map(LINK.format, 'ab'), joint)).findings
        kinds = [f.kind for f in found if f.severity != 'info']
        assert (kinds.count('invalid-element'), kinds.count('mimic-leader')) == (1, 0)


@pytest.mark.parametrize('mirrored', [False, True])
@pytest.mark.parametrize(
    ('written', 'meant'),
    [
        ((-170.0, 10.0), (-170 * DEGREE, 10 * DEGREE)),
        ((-170.0, 175.0), (-170 * DEGREE, 175 * DEGREE)),
        ((-170.0, -20.0), (-170 * DEGREE, -20 * DEGREE)),
        ((-170.0, 0.0), (-170 * DEGREE, 0.0)),
        ((-170.0, 2.9), (-170 * DEGREE, 2.9)),  # one end in radians
        ((-3.1, 3.1), None),
        ((-4 * np.pi, 1.0), None),
    ],
)
def test_position_limits_in_degrees_are_reported_at_either_end(examined, written, meant, mirrored):
    if mirrored:
        written, meant = (x and (-x[1], -x[0]) for x in (written, meant))
    joint = JOINT.format('j', 'a', 'b')
    joint = joint.replace('lower="-1" upper="1"', 'lower="{}" upper="{}"'.format(*written))
    found = examined(robot(*map(LINK.format, 'ab'), joint)).findings
    found = [f for f in found if f.kind.startswith('limit')]
    if meant is None:
        assert found == []
        return
    (finding,) = found
    assert finding.kind == 'limit-degrees'
    new = dict(zip(('lower', 'upper'), written, strict=True))
    new |= {repair.attribute.rpartition('@')[2]: repair.new for repair in finding.repair}
    assert (new['lower'], new['upper']) == pytest.approx(meant)


def test_axes_of_other_lengths_are_those_of_twins(examined, folder):
    text = clean_robots.two_arms(folder, 5).encode()
    for joint in ('l_hinge0', 'r_hinge1'):
        longer = faults.axis(text, joint, 2).text
        assert alarms(examined(longer, folder)) == [('axis-not-unit', joint)]
        flipped = faults.axis(text, joint, -2).text
        kinds = [('axis-not-unit', joint), ('joint-flipped', joint)]
        assert sorted(alarms(examined(flipped, folder))) == kinds


@pytest.mark.slow
def test_moments_that_no_torque_sees_stay_remarks_without_a_tree(examined):
    """The first link's identified tensor is implausible, but not about the axis of its joint."""
    path = robots.example_robot_data() / 'panda_description/urdf/panda.urdf'
    broken = faults.axis(path.read_bytes(), 'panda_joint7', 0).text
    assert alarms(examined(broken, *path.parents)) == [('axis-zero', 'panda_joint7')]


def test_repairs_keep_every_other_byte(examined, folder):
    text = clean_robots.arm(folder, 2, n=3).replace('\n', '\r\n')
    text = text.replace('<robot', '<!-- by hand -->\r\n<robot').encode()
    wrong = faults.scaled_mass(text, 'part_1', 1000.0).text
    found = examined(wrong, folder)
    repaired, done = found.repaired()
    assert [finding.kind for finding in done] == ['mass-unit']
    old, new = (re.split(rb'(?<=<mass value=")[^"]*', t) for t in (wrong, repaired))
    assert old == new
    assert repaired != wrong
    np.testing.assert_allclose(parse_urdf(repaired).mass, parse_urdf(text).mass, rtol=1e-14)
    assert found.repaired(['com-unit']) == (wrong, [])


def test_without_trimesh_meshes_are_not_checked(examined, folder, monkeypatch):
    text = clean_robots.arm(folder, 0, n=3, shapes=('mesh',))
    monkeypatch.setitem(sys.modules, 'trimesh', None)
    found = examined(text, folder)
    assert alarms(found) == []
    assert {f.kind for f in found.findings} == {'not-checked', 'cannot-tell'}
    meshes = [f for f in found.findings if f.kind == 'not-checked']
    assert [f.element for f in meshes] == ['part_0', 'part_1', 'part_2']
    assert all('trimesh is not installed' in f.message for f in meshes)


def test_an_unresolved_mesh_is_a_warning(examined, folder):
    text = clean_robots.arm(folder, 0, n=3, shapes=('mesh',))
    for file in folder.iterdir():
        file.unlink()
    assert {kind for kind, _ in alarms(examined(text, folder))} == {'mesh-unresolved'}


def test_products_below_the_diagonal_alone_are_not_portable_and_not_repaired_by_zeros(examined):
    joint = JOINT.format('j', 'a', 'b')
    for below, repaired in (('iyx="0.001" izx="0" izy="0"', False), ('', True)):
        text = robot(*map(LINK.format, 'ab'), joint)
        text = text.replace('ixy="0" ixz="0"', below, 1).replace('iyz="0"', '', 1)
        found = examined(text, portable=True).findings
        (found,) = (f for f in found if f.kind == 'not-portable' and f.severity == 'warning')
        assert 'has no ixy, ixz, iyz: urdfdom drops the tensor' in found.message
        assert bool(found.repair) == repaired


def test_a_text_in_another_encoding_than_declared_is_a_finding(tmp_path):
    file = tmp_path / 'a.urdf'
    for declared, used in (('gbk', 'utf-8'), ('utf-16', 'utf-8'), ('no-such', 'utf-8')):
        text = robot(LINK.format('臂')).encode(used)
        file.write_bytes(f'<?xml version="1.0" encoding="{declared}"?>'.encode() + text)
        (found,) = examine(file, portable=True).findings
        assert (found.severity, found.kind) == ('error', 'rejected')
        assert declared in found.message


def test_portable_findings_are_those_of_urdfdom(tmp_path):
    """Pinocchio reads by it: it drops a mass or rejects the robot where one is named, only."""
    pin = pytest.importorskip('pinocchio')
    whole = robot(*map(LINK.format, 'ab'), JOINT.format('j', 'a', 'b'))
    axis = '<axis xyz="0 1 0"/><limit'
    whole = whole.replace('<limit', axis)
    mass = 'link name="b"><inertial><mass value="1'
    changes = {
        'as it is': (whole, ''),
        'tab behind a mass': (whole.replace(mass, f'{mass}\t'), 'massless'),
        'blank behind a mass': (whole.replace(mass, f'{mass} '), 'massless'),
        'blank before a mass': (whole.replace(mass, f'{mass[:-1]} 1'), ''),
        'line break in an axis': (whole.replace('<axis xyz="0 ', '<axis xyz="0\n'), 'rejects'),
        'no effort': (re.sub(r' effort="[^"]*"', '', whole), 'rejects'),
        'infinite velocity': (re.sub(r'velocity="[^"]*"', 'velocity="inf"', whole), 'rejects'),
        'no name': (re.sub(r'<robot name="[^"]*"', '<robot', whole), 'rejects'),
        'version 2': (whole.replace('<robot ', '<robot version="2.0" '), 'rejects'),
        'version 1.1': (whole.replace('<robot ', '<robot version="1.1" '), ''),
    }
    for what, (text, then) in changes.items():
        assert (text != whole) == (what != 'as it is'), what
        file = tmp_path / 'a.urdf'
        file.write_text(text)
        named = [f for f in examine(file, portable=True).findings if f.kind == 'not-portable']
        try:
            masses = [body.mass for body in pin.buildModelFromXML(text).inertias]
            found = 'massless' if masses[1] == 0 else ''
        except ValueError:
            found = 'rejects'
        assert found == then, what
        assert [then in f.message for f in named if f.severity == 'warning'] == [True] * bool(
            then
        ), what
