# SPDX-License-Identifier: Apache-2.0
"""Engines read the robot's own text, so a mistake of our reader is visible."""

import warnings
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from tiers import soak

from robot_dynamics.common.resources import bundled_robots
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.urdf import loading, physics_only, rules
from robot_dynamics.urdf.loading import parse_urdf, urdf_text
from robot_dynamics.validation.comparison import validate
from robot_dynamics.validation.engine_report import JOINT_QUANTITIES, Verdict
from robot_dynamics.validation.engines import ENGINES, installed, title
from robot_dynamics.validation.engines.original_text import original_text, with_payload

ARM = (Path(__file__).parent / 'arm.urdf').read_text()
# MuJoCo rejects massless links.
SOLID = ARM.replace(
    '<link name="bracket"/>',
    '<link name="bracket"><inertial><mass value="0.01"/><inertia ixx="1e-5" ixy="0" ixz="0" '
    'iyy="1e-5" iyz="0" izz="1e-5"/></inertial></link>',
)


@pytest.fixture(params=ENGINES)
def engine(request):
    if not installed(request.param):
        pytest.skip(f'{title(request.param)} is not installed')
    return request.param


def failing(report):
    """Return the quantities beyond the tolerance."""
    assert report.verdict is Verdict.FAIL, report
    return {r.quantity for r in report.residuals if not r.relative <= report.tolerance}


def mirrored(text):
    """Return the robot whose joints turn the other way."""
    for axis, opposite in {'0 1 0': '0 -1 0', '1 0 0': '-1 0 0'}.items():
        text = text.replace(f'axis xyz="{axis}"', f'axis xyz="{opposite}"')
    return text


# -- mistakes of the reader -----------------------------------------------------------------------


@pytest.mark.parametrize('given', [SOLID, *soak([mirrored(SOLID)])], ids=['plain', 'mirrored'])
def test_another_default_axis_in_our_reader_fails(engine, given, monkeypatch):
    text = given.replace('<axis xyz="1 0 0"/>', '').replace('<axis xyz="-1 0 0"/>', '')
    assert validate(text, engines=[engine], tolerance=1e-9).verdict is Verdict.PASS
    monkeypatch.setitem(rules.DEFAULTS, 'axis', {'xyz': '0 0 1'})
    report = validate(text, engines=[engine])
    assert {'inverse dynamics', 'joint axis'} <= failing(report)
    assert next(r for r in report.residuals if r.quantity == 'joint axis').joint == 'elbow'


def test_another_default_origin_in_our_reader_fails(engine, monkeypatch):
    monkeypatch.setitem(rules.DEFAULTS, 'origin', {'xyz': '0 0 0.1'})
    assert 'joint origin' in failing(validate(SOLID, engines=[engine]))


@pytest.mark.filterwarnings('ignore:.*limits of mimic joint:UserWarning')
def test_mimic_joints_that_our_reader_scales_wrongly_fail(engine, monkeypatch):
    right = loading.joint_motions

    def wrong(*arguments):
        motions = right(*arguments)
        follower = motions['grip_too']
        return {**motions, 'grip_too': follower._replace(multiplier=-follower.multiplier)}

    assert validate(SOLID, engines=[engine], tolerance=1e-9).verdict is Verdict.PASS
    monkeypatch.setattr(loading, 'joint_motions', wrong)
    assert 'inverse dynamics' in failing(validate(SOLID, engines=[engine]))


@pytest.mark.slow
@pytest.mark.parametrize('wrong', ['mass', 'inertia_com'])
def test_inertias_that_our_reader_changes_fail_and_are_no_change_of_the_engine(
    engine, wrong, monkeypatch
):
    right = loading.link_inertial

    def read(link):
        body = right(link)
        return replace(body, **{wrong: 1.1 * getattr(body, wrong)})

    monkeypatch.setattr(loading, 'link_inertial', read)
    monkeypatch.setattr(physics_only, 'link_inertial', read)
    found = failing(validate(SOLID, engines=[engine]))
    assert 'inverse dynamics' in found
    assert (JOINT_QUANTITIES[2] in found) == (wrong == 'mass')


def test_a_payload_is_added_to_the_own_text(engine, monkeypatch):
    payload = Inertial(2.0, np.array([0.1, 0.0, 0.2]), np.diag([0.01, 0.02, 0.015]))
    given = SOLID.replace('<axis xyz="1 0 0"/>', '')
    text = with_payload(given, 'finger', payload)

    def report():
        loaded = parse_urdf(given).with_payload('finger', 2.0, payload.com, payload.inertia_com)
        return validate(text, model=loaded, engines=[engine], tolerance=1e-9)

    assert report().verdict is Verdict.PASS
    monkeypatch.setitem(rules.DEFAULTS, 'axis', {'xyz': '0 0 1'})
    assert 'joint axis' in failing(report())


# -- correct robots -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize('name', bundled_robots())
def test_engines_that_load_a_bundled_robot_read_its_own_text(name, engine):
    report = validate(urdf_text(name), states=10, engines=[engine], tolerance=1e-9)
    if report.verdict is Verdict.NOT_COMPARABLE:
        # MuJoCo rejects inertias of zero, in either text.
        assert 'inertia must have positive eigenvalues' in report.notes[0]
        assert (engine, name) == ('mujoco', 'planar_2r')
        return
    assert report.verdict is Verdict.PASS, report
    assert report.notes == ()
    assert [r.quantity for r in report.residuals][-3:] == list(JOINT_QUANTITIES)


def test_a_text_that_an_engine_cannot_read_is_replaced_and_the_report_says_so(engine):
    """URDF: effort and velocity are required; our reader takes 0 for none, and warns."""
    text = SOLID.replace('lower="-2" upper="2" effort="50" velocity="2"', 'lower="-2" upper="2"')
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', UserWarning)
        report = validate(text, engines=[engine], tolerance=1e-9)
    assert report.verdict is Verdict.PASS, report
    replaced = engine == 'pinocchio'
    assert ('has read the text as this package writes it' in str(report)) == replaced
    assert len(report.notes) == replaced


# -- the reduced text -----------------------------------------------------------------------------


def test_the_reduced_text_has_links_inertials_and_joints_as_written():
    extended = ARM.replace(
        '</robot>',
        '<transmission name="t"/><gazebo reference="upper"/><ros2_control name="r" type="system"/>'
        '<mujoco><compiler/></mujoco></robot>',
    )
    reduced = ElementTree.fromstring(original_text(extended).urdf)
    assert {element.tag for element in reduced} == {'link', 'joint'}
    tags = {element.tag for element in reduced.iter()}
    assert not tags & {'visual', 'collision', 'geometry', 'mesh', 'dynamics', 'mimic'}
    whole = ElementTree.fromstring(ARM)
    for joint in whole.iterfind('joint'):
        kept = reduced.find(f'joint[@name="{joint.get("name")}"]')
        for tag in ('origin', 'axis', 'limit'):
            one, other = joint.find(tag), kept.find(tag)
            assert (one is None) == (other is None), tag
            assert one is None or one.attrib == other.attrib


def test_a_link_without_inertial_gets_zeros_and_the_root_none():
    bodies = original_text(ARM).inertials
    assert set(bodies) == {'upper', 'bracket', 'fore', 'finger', 'thumb'}
    assert bodies['bracket'].mass == 0.0
    assert not bodies['bracket'].inertia_com.any()


@pytest.mark.parametrize('name', bundled_robots())
def test_inertials_are_those_of_the_reader(name):
    """Two implementations of one rule; the tensor is turned by the origin's angles."""
    text = urdf_text(name)
    ours, theirs = physics_only.inertials(text), original_text(text).inertials
    for link, body in theirs.items():
        read = ours.get(link, Inertial())
        assert body.mass == read.mass
        assert np.array_equal(body.com, read.com)
        assert np.allclose(body.inertia_com, read.inertia_com, rtol=1e-14, atol=1e-16)


def test_texts_with_a_byte_order_mark_or_blanks_in_front_are_read():
    expected = original_text(ARM).urdf
    assert original_text('\ufeff\n ' + ARM).urdf == expected
    assert original_text(b'\xef\xbb\xbf' + ARM.encode()).urdf == expected


def test_a_payload_is_one_more_link():
    payload = Inertial(2.0, np.array([0.1, 0.0, 0.2]), np.diag([0.01, 0.02, 0.015]))
    loaded = parse_urdf(with_payload(ARM, 'finger', payload))
    expected = parse_urdf(ARM).with_payload('finger', 2.0, payload.com, payload.inertia_com)
    assert np.allclose(loaded.inertial_parameters(), expected.inertial_parameters(), atol=1e-15)


def test_a_joint_follows_its_last_leader():
    text = ARM.replace(
        '<child link="finger"/>',
        '<child link="finger"/><mimic joint="elbow" multiplier="2" offset="0.1"/>',
    )
    original, coordinates = original_text(text), ('shoulder', 'elbow')
    a, b = original.motion('grip_too', coordinates, {})
    # -0.5 (2 q + 0.1) - 0.01
    assert np.array_equal(a, [0.0, -1.0])
    assert b == pytest.approx(-0.06, rel=1e-15)
    a, b = original.motion('grip_too', ('shoulder',), {'elbow': 0.3})
    assert not a.any()
    assert b == pytest.approx(-0.36, rel=1e-15)
