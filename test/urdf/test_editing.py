# SPDX-License-Identifier: Apache-2.0
"""Changes of a URDF that leave every other byte as it is."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
import robots

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.urdf.editing import Change, edited, inertial_changes
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.urdf.physics_only import inertials

ARM = b"""<?xml version='1.0'?>
<!-- <link name="upper"/> in a comment -->
<robot name = 'arm'>\r
\t<link name='base'/>\r
\t<link name = "upper" ><!-- made of \xc3\xa5luminium -->\r
\t\t<inertial>\r
\t\t\t<mass  value = '2.50'/> <!-- kg -->\r
\t\t\t<inertia ixx="1e-2" ixy="0"   ixz="0" iyy='0.010' iyz="0" izz=".01"/>\r
\t\t</inertial>\r
\t</link>\r
\t<joint name="shoulder" type="revolute">\r
\t\t<parent link="base"/><child link="upper"/>\r
\t\t<axis xyz=" 0  0\t2.0 "/>\r
\t\t<limit lower="-1" upper="1" effort='1' velocity="3"/>\r
\t</joint>\r
</robot>\r
"""
IN_MASS = Change('link', 'upper', 'inertial/mass/@value', 0.1)


def test_one_value_is_replaced_and_every_other_byte_kept():
    assert edited(ARM, [IN_MASS]) == ARM.replace(b"'2.50'", b"'0.1'")


def test_a_value_that_is_the_same_keeps_its_digits():
    same = [
        Change('link', 'upper', 'inertial/mass/@value', 2.5),
        Change('link', 'upper', 'inertial/inertia/@iyy', 0.01),
        Change('joint', 'shoulder', 'axis/@xyz', (0, 0, 2)),
    ]
    assert edited(ARM, same) == ARM


def test_components_of_a_vector_that_do_not_change_keep_their_digits():
    changed = edited(ARM, [Change('joint', 'shoulder', 'axis/@xyz', (0, 0, 1))])
    assert changed == ARM.replace(b'\t2.0', b'\t1.0')


def test_a_missing_attribute_is_inserted_behind_the_others():
    bare = ARM.replace(b' effort=\'1\' velocity="3"', b'')
    changed = edited(bare, [Change('joint', 'shoulder', 'limit/@effort', 7)])
    assert changed == bare.replace(b'upper="1"', b'upper="1" effort="7.0"')


def test_an_attribute_of_an_element_without_any_is_inserted():
    bare = ARM.replace(b'<axis xyz=" 0  0\t2.0 "/>', b'<axis />')
    changed = edited(bare, [Change('joint', 'shoulder', 'axis/@xyz', (0, 1, 0))])
    assert changed == bare.replace(b'<axis />', b'<axis xyz="0.0 1.0 0.0" />')


def test_a_missing_element_is_inserted_with_the_line_ending_and_indentation_of_its_siblings():
    friction = [
        Change('joint', 'shoulder', 'dynamics/@damping', 0.5),
        Change('joint', 'shoulder', 'dynamics/@friction', 0.25),
    ]
    new = b'\r\n\t\t<dynamics damping="0.5" friction="0.25"/>'
    limit = b'velocity="3"/>'
    assert edited(ARM, friction) == ARM.replace(limit, limit + new)


@pytest.mark.parametrize(
    'empty',
    [b"<link name='base'/>", b"<link name='base'></link>", b"<link name='base'>\r\n\t</link>"],
)
def test_elements_are_inserted_into_an_empty_one(empty):
    text = ARM.replace(b"<link name='base'/>", empty)
    changed = edited(text, [Change('link', 'base', 'inertial/mass/@value', 3)])
    new = (
        b'<link name=\'base\'>\r\n\t  <inertial>\r\n\t    <mass value="3.0"/>'
        b'\r\n\t  </inertial>\r\n\t</link>'
    )
    assert changed == text.replace(empty, new)


def test_text_on_one_line_stays_on_one_line():
    text = b'<robot name="r"><link name="a"><!-- massless --></link></robot>'
    changed = edited(text, [Change('link', 'a', 'inertial/mass/@value', 3)])
    inserted = b'<inertial><mass value="3.0"/></inertial>'
    assert changed == text.replace(b'</link>', inserted + b'</link>')


@pytest.mark.parametrize('head', [b'\xef\xbb\xbf', b'\n\n  ', b'\xef\xbb\xbf\r\n'])
def test_bytes_before_the_declaration_are_kept(head):
    assert edited(head + ARM, [IN_MASS]) == head + edited(ARM, [IN_MASS])


def test_later_changes_replace_earlier_ones():
    assert edited(ARM, [IN_MASS._replace(value=9.0), IN_MASS]) == edited(ARM, [IN_MASS])


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        (IN_MASS._replace(name='lower'), "0 links named 'lower'"),
        (IN_MASS._replace(tag='joint'), "0 joints named 'upper'"),
        (IN_MASS._replace(value=np.nan), 'expected finite numbers'),
        (IN_MASS._replace(attribute='inertial/mass'), 'a path such as axis/@xyz'),
    ],
)
def test_a_change_that_cannot_be_made_is_rejected(change, reason):
    with pytest.raises(ModelError, match=reason):
        edited(ARM, [change])


def test_ambiguous_elements_are_rejected():
    with pytest.raises(ModelError, match=r"2 links named 'upper'"):
        edited(ARM.replace(b"'base'", b'"upper"'), [IN_MASS])
    with pytest.raises(ModelError, match='<mass> 2 times'):
        edited(ARM.replace(b'<inertia ', b"<mass value='1'/><inertia "), [IN_MASS])


@pytest.mark.parametrize('text', [b'<robot', b'', b'<!DOCTYPE robot><robot/>'])
def test_text_that_cannot_be_read_is_rejected(text):
    with pytest.raises(ModelError):
        edited(text, [IN_MASS])


@pytest.mark.parametrize('name', robots.NAMES)
def test_all_numbers_of_a_real_robot_are_changed_exactly_and_back(name):
    rng = np.random.default_rng(1)
    text = robots.path(name).read_bytes()
    root = ElementTree.fromstring(text)
    old = [
        Change(element.tag, element.get('name'), f'{path}/@{key}', value)
        for element in root
        if element.tag in ('link', 'joint')
        for path in ('inertial/mass', 'inertial/origin', 'inertial/inertia', 'limit', 'axis')
        for key, value in getattr(element.find(path), 'attrib', {}).items()
    ]
    old = [change._replace(value=[float(v) for v in change.value.split()]) for change in old]
    new = [c._replace(value=(rng.uniform(0.5, 2, len(c.value)) * c.value).tolist()) for c in old]
    changed = edited(text, new)
    assert edited(text, old) == text
    written = ElementTree.fromstring(changed)
    for tag, link, attribute, value in new:
        path, key = attribute.rsplit('/@', 1)
        found = written.find(f'{tag}[@name="{link}"]/{path}').get(key)
        assert [float(v) for v in found.split()] == value
    # Without the values of attributes the texts are the same, comments included.
    masked = [re.sub(rb'"[^"]*"|\'[^\']*\'', b'""', t) for t in (text, changed)]
    assert masked[0] == masked[1]


def test_an_inertia_is_written_exactly():
    rng = np.random.default_rng(2)
    text = robots.path('panda').read_bytes()
    factor = rng.standard_normal((3, 3))
    body = Inertial(
        rng.uniform(1, 2), rng.standard_normal(3), np.eye(3) + 0.01 * factor @ factor.T
    )
    model = parse_urdf(edited(text, inertial_changes('panda_link3', body)))
    k = model.body_names.index('panda_link3')
    assert model.mass[k] == body.mass
    read = inertials(edited(text, inertial_changes('panda_link3', body)))['panda_link3']
    np.testing.assert_array_equal(read.com, body.com)
    np.testing.assert_allclose(
        read.inertia_com, (body.inertia_com + body.inertia_com.T) / 2, rtol=1e-15
    )
