# SPDX-License-Identifier: Apache-2.0
"""Any text gives a robot or a ModelError that names the fault."""

import contextlib
import gzip
import io
import warnings
import zipfile
from itertools import pairwise
from xml.etree import ElementTree

import pytest
import robots
import urdf_text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from urdf_text import INERTIAL, LIMIT, chain, joint, link

from robot_dynamics.common.errors import ModelError
from robot_dynamics.urdf import reader as urdf_reader
from robot_dynamics.urdf.loading import parse_urdf

# -- values ---------------------------------------------------------------------------------


def inertial(old, new):
    assert old in INERTIAL
    return urdf_text.robot(link('a'), link('b', INERTIAL.replace(old, new)), joint('j', 'a', 'b'))


WRONG_LINKS = {
    'mass is no number': (inertial('value="2"', 'value="two"'), r"<mass> has value='two'"),
    'mass is negative': (inertial('value="2"', 'value="-2"'), "'-2', which must be .* between 0"),
    'mass is NaN': (inertial('value="2"', 'value="nan"'), "value='nan', which must be a number"),
    'mass is infinite': (inertial('value="2"', 'value="inf"'), "value='inf', which must be"),
    'mass is huge': (inertial('value="2"', 'value="1e31"'), r'between 0 and 1e\+30'),
    'mass with underscore': (inertial('value="2"', 'value="1_0"'), "'1_0', which must be a num"),
    'mass in other digits': (inertial('value="2"', 'value="２"'), 'which must be a number'),
    'mass without value': (inertial('value="2"', ''), "<mass> has no attribute 'value'"),
    'mass missing': (inertial('<mass value="2"/>', ''), "link 'b': <inertial> has no <mass>"),
    'mass twice': (inertial('<mass', '<mass value="1"/><mass'), '<mass> 2 times; expected at'),
    'inertia missing': (
        inertial('<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>', ''),
        "link 'b': <inertial> has no <inertia>",
    ),
    'inertia incomplete': (inertial('ixx="0.1" ', ''), "<inertia> has no attribute 'ixx'"),
    'tensor not symmetric': (
        inertial('ixy="0"', 'ixy="0" iyx="0.01"'),
        "<inertia> has ixy='0' and iyx='0.01'; expected a symmetric tensor",
    ),
    'inertia infinite': (inertial('iyy="0.1"', 'iyy="-inf"'), "iyy='-inf', which must be"),
    'inertia misspelt': (inertial('<inertia ', '<inertai '), "did you mean 'inertia'"),
    'origin misspelt': (inertial('<origin', '<orgin'), "<orgin>, .* did you mean 'origin'"),
    'inertial misspelt': (inertial('<inertial', '<Inertial').replace('/inertial', '/Inertial', 2)
        .replace('</Inertial></link><link name="b">', '</inertial></link><link name="b">'),
        "did you mean 'inertial'"),
    'com has two values': (inertial('0.1 0 0', '0.1 0'), "'0.1 0', which has 2 values; it must"),
    'com has commas': (inertial('0.1 0 0', '0.1, 0, 0'), "xyz='0.1, 0, 0', which must be"),
    'com is a variable': (inertial('0.1 0 0', '${x} 0 0'), "which must be a number"),
    'zero quaternion': (
        inertial('xyz="0.1 0 0"', 'quat_xyzw="0 0 0 0"'),
        "<origin> has quat_xyzw='0 0 0 0', which is no rotation; it must be a unit quaternion",
    ),
    'quaternion of three': (
        inertial('xyz="0.1 0 0"', 'quat_xyzw="0 0 1"'),
        "quat_xyzw='0 0 1', which has 3 values; it must have 4",
    ),
    'quaternion and angles': (
        inertial('xyz="0.1 0 0"', 'rpy="0 0 0" quat_xyzw="0 0 0 1"'),
        "<origin> has rpy='0 0 0' and quat_xyzw='0 0 0 1'; expected one of the two",
    ),
    'orientation in another form': (
        inertial('xyz="0.1 0 0"', 'xyz="0.1 0 0" wxyz="1 0 0 0"'),
        "<origin> has wxyz='1 0 0 0', which is not supported; expected xyz, rpy or quat_xyzw",
    ),
    'link without name': (urdf_text.robot('<link/>'), "link number 1 has no attribute 'name'"),
    'link with empty name': (urdf_text.robot(link(' ')), 'name=.*must hold 1 to 256'),
    'link with endless name': (urdf_text.robot(link('a' * 10**6)), r"aaa\.\.\.', which must hold"),
    'link misspelt': (urdf_text.robot('<Link/>'), "the robot contains <Link>, .* mean 'link'"),
}  # fmt: skip


@pytest.mark.parametrize(('text', 'message'), WRONG_LINKS.values(), ids=WRONG_LINKS.keys())
def test_wrong_links_are_rejected(text, message):
    with pytest.raises(ModelError, match=message):
        parse_urdf(text)


def jointed(inside, kind='revolute'):
    return chain(LIMIT, inside, kind=kind)


WRONG_JOINTS = {
    'no type': ('<joint name="j2"/>', "joint 'j2' has type=None; it must be one of revolute"),
    'spherical': (jointed('', 'spherical'), "joint 'j1' has type='spherical'; it must be one of"),
    'floating': (jointed('', 'floating'), "joint 'j2' is of type 'floating', .* one coordinate"),
    'planar': (jointed('', 'planar'), "joint 'j2' is of type 'planar', .* supported are revol"),
    'no name': ('<joint type="fixed"/>', "joint number 1 has no attribute 'name'"),
    'no parent': (
        '<joint name="j" type="fixed"><child link="a"/></joint>',
        "joint 'j' has no <parent>; expected one",
    ),
    'no child': (
        '<joint name="j" type="fixed"><parent link="a"/></joint>',
        "joint 'j' has no <child>",
    ),
    'parent without link': (
        '<joint name="j" type="fixed"><parent/><child link="a"/></joint>',
        "joint 'j': <parent> has no attribute 'link'",
    ),
    'zero axis': (jointed('<axis xyz="0 0 0"/>'), "'j2': <axis> has xyz='0 0 0', .*no direction"),
    'tiny axis': (jointed('<axis xyz="1e-300 0 0"/>'), 'no direction; it must be a unit vector'),
    'axis of two': (jointed('<axis xyz="0 1"/>'), 'which has 2 values; it must have 3'),
    'axis without xyz': (jointed('<axis/>'), "<axis> has no attribute 'xyz'"),
    'axis NaN': (jointed('<axis xyz="0 nan 0"/>'), "xyz='0 nan 0', which must be a number"),
    'two axes': (jointed('<axis xyz="1 0 0"/>' * 2), 'has <axis> 2 times'),
    'rpy of four': (jointed('<origin rpy="1 2 3 4"/>'), "rpy='1 2 3 4', which has 4 values"),
    'rpy infinite': (jointed('<origin rpy="1 inf 3"/>'), "rpy='1 inf 3', which must be"),
    'reversed limits': (
        jointed('<limit lower="1" upper="-1"/>'),
        "joint 'j2': <limit> has lower=1 and upper=-1; lower must not exceed upper",
    ),
    'limit is no number': (jointed('<limit effort="x"/>'), "<limit> has effort='x', which must"),
    'limit NaN': (jointed('<limit lower="nan"/>'), "lower='nan', which must be a number or -inf"),
    'lower is infinity': (jointed('<limit lower="inf" upper="inf"/>'), "lower='inf', which must"),
    'upper is -infinity': (jointed('<limit lower="-inf" upper="-inf"/>'), "upper='-inf', which"),
    'negative effort': (jointed('<limit effort="-1"/>'), "effort='-1', which must be a positive"),
    'negative velocity': (jointed('<limit velocity="-1"/>'), "velocity='-1', which must be"),
    'velocity misspelt': (jointed('<limit velocty="1"/>'), "velocty='1', .*did you mean 'veloc"),
    'limit misspelt': (jointed('<limits/>'), "'j2' contains <limits>, .* did you mean 'limit'"),
    'negative damping': (jointed('<dynamics damping="-1"/>'), "damping='-1', which must be a num"),
    'friction NaN': (jointed('<dynamics friction="nan"/>'), "friction='nan', which must be"),
    'mimic without a leader': (jointed('<mimic/>'), "<mimic> has no attribute 'joint'"),
    'mimic NaN': (jointed('<mimic joint="j1" offset="nan"/>'), "offset='nan', which must be"),
    'mimic misspelt': (
        jointed('<mimic joint="j1" multiplyer="2"/>'),
        "multiplyer='2', which is unknown in URDF; did you mean 'multiplier'",
    ),
    'mimics that overflow': (
        chain(LIMIT, *[f'<mimic joint="j{k}" multiplier="1e30"/>' for k in range(1, 12)]),
        r"joint 'j3' mimics 'j1' with multiplier 1e\+60 and offset 0; expected at most",
    ),
}


@pytest.mark.parametrize(('text', 'message'), WRONG_JOINTS.values(), ids=WRONG_JOINTS.keys())
def test_wrong_joints_are_rejected(text, message):
    whole = text if text.startswith('<robot') else urdf_text.robot(text)
    with pytest.raises(ModelError, match=message):
        parse_urdf(whole)


def test_values_that_do_not_matter_are_not_read():
    # A fixed joint has no axis and no limits; real descriptions contain arbitrary values there.
    inside = '<axis xyz="0 0 0"/><limit effort="x"/><dynamics damping="-1"/><mimic/>'
    text = urdf_text.robot(
        *map(link, 'abc'), joint('j', 'a', 'b'), joint('k', 'b', 'c', inside, kind='fixed')
    )
    assert parse_urdf(text).joint_names == ('j',)


# -- hostile XML ----------------------------------------------------------------------------

LAUGHS = (
    '<!DOCTYPE robot [<!ENTITY a "ha">'
    + ''.join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairwise('abcdefghij'))
    + ']><robot name="&j;"/>'
)
FETCH = '<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]><robot name="x">&e;</robot>'
EXTERNAL_DTD = '<!DOCTYPE robot SYSTEM "http://localhost:9/robot.dtd"><robot name="x"/>'
HOSTILE = {
    'billion laughs': (LAUGHS, '<!DOCTYPE>; expected a text without'),
    'external entity': (FETCH, '<!DOCTYPE>'),
    'external definition': (EXTERNAL_DTD, '<!DOCTYPE>'),
    'undeclared entity': ('<robot name="&e;"/>', 'not well-formed XML: undefined entity'),
    'deep': ('<robot>' + '<a>' * 3_000_000, 'more than 64 elements deep'),
    'wide': ('<robot>' + '<a/>' * 2_000_000, 'more than 200000 elements and attributes'),
    'many attributes': (
        f'<robot><link {" ".join(f"a{k}=_0_" for k in range(300_000))}/></robot>'.replace(
            '_', '"'
        ),
        'more than 200000 elements and attributes',
    ),
    'one element with everything': (
        f'<robot><link {" ".join(f"a{k}=_0_" for k in range(101))}/></robot>'.replace('_', '"'),
        'an element has more than 100 attributes',
    ),
    'many kinds of elements': (
        urdf_text.robot(*[f'<kink{k}/>' for k in range(1001)]),
        'more than 1000 kinds of elements',
    ),
    'long element': (f'<robot><{"link" * 10**6}/></robot>', 'has 4000000 characters; at most 256'),
    'long comment': (f'<robot><!--{"link" * 2_000_000}--></robot>', 'has no link'),
    'long name': (f'<robot name="{"x" * 10**6}"/>', 'the robot has 1000000 characters; at most'),
    'many links': (urdf_text.robot(*[link(f'l{k}', '') for k in range(2001)]), 'than 2000 links'),
    'large': (' ' * 10_000_001, 'has more than 10000000 bytes; expected at most that'),
    'long number': (inertial('value="2"', f'value="{"1" * 9_000_000}"'), r"11\.\.\.', which must"),
    'long vector': (inertial('0.1 0 0', '1 ' * 4_000_000), 'has 4000000 values; it must have 3'),
    'mimics in a ring': (
        chain(*[f'{LIMIT}<mimic joint="j{(k + 1) % 1999 + 1}"/>' for k in range(1999)]),
        'mimic each other in a loop',
    ),
}


@pytest.mark.parametrize(('text', 'message'), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_rejected(text, message):
    with pytest.raises(ModelError, match=message) as error:
        parse_urdf(text)
    # The message does not repeat megabytes.
    assert len(str(error.value)) < 50_000


def zipped(name):
    contents = io.BytesIO()
    with zipfile.ZipFile(contents, 'w') as archive:
        archive.writestr(name, '<robot/>')
    return contents.getvalue()


NO_URDF = {
    'nothing': ('', 'the URDF is empty'),
    'blanks': (b' \n', 'the URDF is empty'),
    'words': ('hello', 'not well-formed XML'),
    'half': ('<robot>', 'not well-formed XML: no element found|not well-formed'),
    'comment': ('<!-- robot -->', 'not well-formed XML: no element found'),
    'two roots': ('<robot/><robot/>', 'not well-formed XML: junk after document element'),
    'SDF': ('<sdf version="1.7"/>', 'this is an SDF file, .* expected a URDF: load the URDF'),
    'MJCF': ('<mujoco model="arm"/>', 'this is an MJCF file, .* load it by its path'),
    'USD': (b'#usda 1.0', 'this is a USD file; expected a URDF: .* or export it'),
    'USD, binary': (b'PXR-USDC\0\0', 'this is a USD file'),
    'USD, zipped': (zipped('arm.usdc'), 'this is a USD file'),
    'zip': (zipped('arm.urdf'), 'this is a zip file; expected a URDF: unpack it'),
    'gzip': (gzip.compress(b'<robot/>'), 'this is a gzip file; expected a URDF: unpack it'),
    'web page': (b'\n<!doctype html>\n<html></html>', 'this is a web page, .* download the file'),
    'web page without type': ('<HTML><BODY/></HTML>', 'this is a web page'),
    'another root': ('<model/>', 'the root element is <model>; expected <robot>'),
    'NUL': ('<robot name="\0"/>', 'not well-formed XML'),
    'lone surrogate': ('<robot name="\ud800"/>', 'not UTF-8 text'),
    'half of UTF-16': (b'\xff\xfe<', 'not UTF-16 text'),
    'UTF-16 by declaration alone': (
        b'<?xml version="1.0" encoding="utf-16"?><robot/>',
        "'utf-16'",
    ),
    'no encoding of text': (
        b'<?xml version="1.0" encoding="zip"?><robot/>',
        "'zip', which is not",
    ),
    'EBCDIC': ('<?xml version="1.0"?><robot/>'.encode('cp037'), 'not UTF-8 text'),
    'Latin-1': ('<robot name="bras-à-deux"/>'.encode('latin-1'), 'not UTF-8 text'),
    'None': (None, 'is a NoneType; expected str or bytes'),
    'a list': ([], 'is a list; expected str or bytes'),
}


@pytest.mark.parametrize(('text', 'message'), NO_URDF.values(), ids=NO_URDF.keys())
def test_text_that_is_no_urdf_is_rejected(text, message):
    with pytest.raises(ModelError, match=message):
        parse_urdf(text)


@pytest.mark.parametrize('declared', ['UTF-16', 'latin-1', 'no-such-encoding'])
def test_a_text_is_text_whatever_encoding_it_declares(declared):
    text = chain(LIMIT)
    seen = parse_urdf(f'<?xml version="1.0" encoding="{declared}"?>{text}')
    assert seen.fingerprint() == parse_urdf(text).fingerprint()


@pytest.mark.parametrize('error', [AssertionError('no'), ValueError('no'), TypeError('no')])
def test_exceptions_of_the_parser_become_model_errors(monkeypatch, error):
    def fails(text):
        raise error

    monkeypatch.setattr(urdf_reader.URDF, 'from_xml_string', fails)
    with pytest.raises(ModelError, match='urdf_parser_py rejected the description: no'):
        parse_urdf(chain(LIMIT))


# -- fuzzing --------------------------------------------------------------------------------


def parse_or_reject(text):
    """Parse the text; anything but a model or a ModelError fails the test, overflow included."""
    with warnings.catch_warnings(), contextlib.suppress(ModelError):
        warnings.simplefilter('ignore', UserWarning)
        warnings.simplefilter('error', RuntimeWarning)
        parse_urdf(text)


@given(text=st.one_of(st.text(), st.binary()))
def test_any_text_parses_or_is_rejected(text):
    parse_or_reject(text)


@pytest.mark.slow
@given(st.data())
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_damaged_bytes_parse_or_are_rejected(data):
    text = bytearray(robots.path('double_pendulum').read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        start = data.draw(st.integers(0, len(text) - 1))
        stop = start + data.draw(st.integers(0, 20))
        text[start:stop] = data.draw(st.binary(max_size=12))
    parse_or_reject(bytes(text))


VALUES = st.one_of(
    st.sampled_from(['', '0', '-1', '1e30', '-1e30', '1e-320', 'nan', 'inf', '0 0 0', '1 2 3']),
    st.sampled_from(['panda_joint3', 'panda_link0', 'panda_link5', 'prismatic', 'fixed']),
    st.floats().map(repr),
    st.lists(st.floats(-1e30, 1e30), min_size=3, max_size=3).map(urdf_text.vector),
    st.text(max_size=8),
)


def xml_text(text):
    """Remove characters that XML 1.0 does not allow; ElementTree would write invalid XML."""
    return ''.join(c for c in text if c >= ' ' and not 0xD800 <= ord(c) < 0xE000)


@pytest.mark.slow
@given(st.data())
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_changed_robot_parses_or_is_rejected(data):
    root = ElementTree.fromstring(robots.path('panda').read_bytes())
    for child in list(root):
        if child.tag not in ('link', 'joint'):
            root.remove(child)
    for _ in range(data.draw(st.integers(1, 6))):
        parents = [element for element in root.iter() if len(element)]
        parent = data.draw(st.sampled_from(parents))
        child = data.draw(st.sampled_from(list(parent)))
        change = data.draw(st.sampled_from(['set', 'set', 'set', 'unset', 'drop', 'copy', 'tag']))
        if change == 'drop' and len(root) > 1:
            parent.remove(child)
        elif change == 'copy':
            parent.append(child)
        elif change == 'tag':
            child.tag = data.draw(st.sampled_from(['link', 'joint', 'mimic', 'axis', 'inertial']))
        elif child.attrib:
            name = data.draw(st.sampled_from(sorted(child.attrib)))
            if change == 'set':
                child.set(name, xml_text(data.draw(VALUES)))
            else:
                del child.attrib[name]
    parse_or_reject(ElementTree.tostring(root))
