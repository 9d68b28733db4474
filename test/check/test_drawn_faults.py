# SPDX-License-Identifier: Apache-2.0
"""Kinematic and inertial faults are named, repaired where something tells, or cannot be told."""

from collections import Counter

import clean_robots
import drawn_faults
import faults
import numpy as np
import pytest
import robots
from drawn_faults import COM, MASS, ORIGIN, TURN, same, scaled
from tiers import slow, soak

from robot_dynamics.check.examination import examine
from robot_dynamics.common.resources import bundled_robots
from robot_dynamics.common.spatial import rotation_rpy
from robot_dynamics.urdf.loading import parse_urdf

POUND = 0.45359237
SLIPS = {
    'origin in mm': ('joint', 'hinge_2', scaled(ORIGIN, 1e3, 'origin-unit')),
    'origin in cm': ('joint', 'hinge_1', scaled(ORIGIN, 1e2, 'origin-unit')),
    'angles in degrees': ('joint', 'hinge_2', scaled(TURN, 180 / np.pi, 'rpy-degrees')),
    'com negated': ('link', 'part_1', scaled(COM, -1, 'com-sign')),
    'com in cm': ('link', 'part_1', scaled(COM, 1e2, 'com-unit')),
    'com in inches': ('link', 'part_2', scaled(COM, 1 / 0.0254, 'com-unit')),
    'mass times 100': ('link', 'part_1', scaled(MASS, 100, 'mass-unit')),
    'moments': ('link', 'part_2', drawn_faults.exchanged),
    'comma in a link': ('link', 'part_1', drawn_faults.decimal_comma),
    'comma in a joint': ('joint', 'hinge_2', drawn_faults.decimal_comma),
}
WITH_REFERENCE = SLIPS | {
    'axis negated': ('joint', 'hinge_1', scaled('axis/@xyz', -1, 'joint-flipped')),
    'lower = upper': ('joint', 'hinge_1', drawn_faults.empty_limits),
    'mass in pounds': ('link', 'part_1', scaled(MASS, 1 / POUND, 'mass-unit')),
}


@pytest.fixture
def folder(tmp_path):
    result = tmp_path / 'robot'
    result.mkdir()
    return result


def findings(text, folder, reference=None):
    file = folder / 'robot.urdf'
    file.write_bytes(text)
    return examine(file, [folder], reference).findings


def loud(found):
    return [f for f in found if f.severity != 'info']


@pytest.mark.parametrize('seed', [3, 4])
@pytest.mark.parametrize('slip', SLIPS)
def test_a_slip_is_named_and_repaired_by_geometry_alone(folder, slip, seed):
    tag, name, fault = SLIPS[slip]
    text = clean_robots.arm(folder, seed, n=3).encode()
    wrong = fault(text, tag, name, np.random.default_rng(seed))
    (found,) = loud(findings(wrong.text, folder))
    assert (found.element, found.tag) == (name, tag)
    assert found.kind in wrong.kinds
    assert same(wrong.repair, found.repair)


@pytest.mark.parametrize('slip', WITH_REFERENCE)
def test_a_slip_is_repaired_by_a_reference_without_geometry(folder, slip):
    tag, name, fault = WITH_REFERENCE[slip]
    text = clean_robots.arm(folder, 3, n=3, shapes=('mesh',)).encode()
    text = text.replace(b'<collision>', b'<other>').replace(b'</collision>', b'</other>')
    right = folder / 'right.urdf'
    right.write_bytes(text)
    wrong = fault(text, tag, name, np.random.default_rng(0))
    (found,) = (f for f in loud(findings(wrong.text, folder, right)) if f.repair)
    assert (found.element, found.tag) == (name, tag)
    assert found.kind in wrong.kinds
    assert same(wrong.repair, found.repair)


@pytest.mark.parametrize('name', bundled_robots())
def test_a_description_does_not_differ_from_itself(name):
    found = examine(name, reference=name).findings
    assert not {f.kind for f in found} & {'differs-from-reference', 'cannot-tell'}


@pytest.mark.parametrize(('shift', 'severity'), [(0.0005, 'info'), (0.05, 'warning')])
def test_a_calibration_is_a_remark_and_another_place_a_warning(folder, shift, severity):
    text = clean_robots.arm(folder, 3, n=3).encode()
    right = folder / 'right.urdf'
    right.write_bytes(text)
    at = faults.Numbers(text, 'joint', 'hinge_1')
    new = (np.array(at.get(ORIGIN)) + np.array([shift, 0, 0])).tolist()
    moved = at.changed({ORIGIN: new}, ())
    found = [f for f in findings(moved.text, folder, right) if f.element == 'hinge_1']
    assert [(f.severity, f.kind) for f in found] == [(severity, 'differs-from-reference')]


@pytest.mark.parametrize(
    ('axis', 'kind'),
    [('0 0 0', 'axis-zero'), ('1', 'invalid-element'), ('nan 0 0', 'invalid-element')],
)
def test_an_axis_without_direction_is_compared_with_a_reference(folder, axis, kind):
    text = clean_robots.arm(folder, 3, n=3)
    right = folder / 'right.urdf'
    right.write_text(text)
    wrong = text.replace('<axis xyz="0 1 0"/>', f'<axis xyz="{axis}"/>').encode()
    assert {f.kind for f in loud(findings(wrong, folder, right))} == {kind}


def test_other_axes_of_the_inertial_frame_are_no_difference(folder):
    text = clean_robots.arm(folder, 3, n=3).encode()
    right = folder / 'right.urdf'
    right.write_bytes(text)
    at = faults.Numbers(text, 'link', 'part_1')
    R = rotation_rpy(0.3, -0.2, 0.5)
    entries = (R.T @ at.tensor() @ R)[np.triu_indices(3)]
    values = dict(zip((faults.INERTIA + key for key in faults.TENSOR), entries, strict=True))
    turned = at.changed(values, ()).text.replace(
        b'<origin xyz="' + ' '.join(map(repr, at.get(COM))).encode() + b'"/>',
        b'<origin xyz="' + ' '.join(map(repr, at.get(COM))).encode() + b'" rpy="0.3 -0.2 0.5"/>',
    )
    np.testing.assert_allclose(parse_urdf(turned).inertia_com, parse_urdf(text).inertia_com)
    assert not [f for f in findings(turned, folder, right) if f.kind == 'differs-from-reference']


def test_a_wrong_place_is_not_blamed_on_gravity(folder):
    text = clean_robots.arm(folder, 0, n=3).encode()
    wrong = scaled(ORIGIN, 1e3, 'origin-unit')(text, 'joint', 'hinge_1', None)
    assert {f.kind for f in loud(findings(wrong.text, folder))} == {'origin-unit'}


@pytest.mark.parametrize('joint', ['l_hinge1', 'r_hinge1'])
@pytest.mark.parametrize(('wrong', 'right'), [('lower', 'upper'), ('upper', 'lower')])
def test_a_range_that_is_missing_is_that_of_the_twin(folder, joint, wrong, right):
    text = clean_robots.two_arms(folder, 5).encode()
    at = faults.Numbers(text, 'joint', joint)
    fault = at.changed({f'limit/@{wrong}': at.get(f'limit/@{right}')}, ())
    (found,) = loud(findings(fault.text, folder))
    assert (found.kind, found.element) == ('limit-empty', joint)
    assert same(fault.repair, found.repair)


def test_a_twin_tells_the_mass_in_pounds_and_the_place_in_inches(folder):
    text = clean_robots.two_arms(folder, 5).encode()
    for fault in (scaled(MASS, 1 / POUND, 'mass-unit'), scaled(COM, 1 / 0.0254, 'com-unit')):
        wrong = fault(text, 'link', 'r1', None)
        (found,) = loud(findings(wrong.text, folder))
        assert (found.kind, found.element) == (wrong.kinds[0], 'r1')
        assert same(wrong.repair, found.repair)


def test_what_nothing_tells_is_said(folder):
    text = clean_robots.arm(folder, 3, n=3).encode()
    bare = text.replace(b'<collision>', b'<other>').replace(b'</collision>', b'</other>')
    said = [
        {(f.element, kind) for f in findings(t, folder) for kind in f.slips} for t in (text, bare)
    ]
    assert said[0] >= {(f'hinge_{i}', 'joint-flipped') for i in range(3)}
    # The first joint stands on a base that is not drawn.
    assert {pair for pair in said[0] if pair[1] in ('origin-unit', 'com-unit')} == {
        ('hinge_0', 'origin-unit')
    }
    assert said[1] >= {(f'part_{i}', kind) for i in range(3) for kind in ('mass-unit', 'com-sign')}
    assert ('hinge_1', 'origin-unit') in said[1]
    mirrored = findings(clean_robots.two_arms(folder, 5).encode(), folder)
    told = {f.element for f in mirrored if 'joint-flipped' in f.slips}
    assert told == {'waist'}


@pytest.mark.parametrize('each', [*slow([1]), *soak([drawn_faults.EACH])])
def test_the_faults_of_a_seed_are_named_repaired_or_cannot_be_told(tmp_path, each):
    rows = [
        (drawn.kind, drawn_faults.answers(drawn, tmp_path / 'robot.urdf'))
        for drawn in drawn_faults.draw(drawn_faults.FINAL, tmp_path / 'robot.urdf', each)
    ]
    drawn_faults.table(rows)
    answers = Counter(answer for _, answer in rows)
    assert len(rows) == 12 * each
    assert answers['silent'] + answers['blamed'] <= 0.1 * len(rows)
    assert answers['repaired'] >= 0.75 * (len(rows) - answers['cannot tell'])


@pytest.mark.parametrize('path', [*slow(drawn_faults.ROBOTS[:3]), *soak(drawn_faults.ROBOTS[3:])])
def test_published_robots_have_no_kinematic_fault(path):
    kinds = {'origin-unit', 'rpy-degrees', 'limit-empty', 'com-sign', 'joint-flipped'}
    found = loud(examine(robots.example_robot_data() / path).findings)
    assert not kinds & {f.kind for f in found}
