# SPDX-License-Identifier: Apache-2.0
"""Deviations from the URDF specification: each is read, read with a warning, or rejected by name.

Pinocchio, which reads by urdfdom, is the peer where it reads the text too.
"""

import re
import warnings

import numpy as np
import pytest
from urdf_text import chain

import robot_dynamics as rd
from robot_dynamics.check.examination import examine
from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.kinematics import frame_pose
from robot_dynamics.urdf.editing import edited, inertial_changes
from robot_dynamics.urdf.geometry.link_solids import link_geometry
from robot_dynamics.urdf.loading import load_urdf, parse_urdf
from robot_dynamics.urdf.reader import xml_root

EPS = np.finfo(float).eps
BASE = (
    '<robot name="r"{root}><link name="a"/><link name="b"><inertial>{origin}<mass {mass}/>'
    '<inertia ixx="0.1" iyy="0.1" izz="0.1" {products}/></inertial>{link}</link>'
    '<joint name="j" type="{type}"><parent link="a"/><child link="b"/>{place}{axis}{limit}{joint}'
    '</joint>{robot}</robot>'
)
PLAIN = {
    'root': '',
    'origin': '<origin xyz="0.1 0 0"/>',
    'mass': 'value="1"',
    'products': 'ixy="0" ixz="0" iyz="0"',
    'link': '',
    'type': 'revolute',
    'place': '<origin xyz="0 0 1" rpy="0 0 0"/>',
    'axis': '<axis xyz="0 1 0"/>',
    'limit': '<limit lower="-1" upper="1" effort="5" velocity="2"/>',
    'joint': '',
    'robot': '',
}
TILTED = '<origin xyz="0 0 1" quat_xyzw="0 0.6 0 0.8"/>'
FLOATING = (
    '<link name="w"/><joint name="f" type="{}"><parent link="w"/><child link="a"/></joint>'.format
)
# The expected answer: nothing, a pattern of a warning behind WARNED, or one of an error
WARNED, SILENT = 'warned: ', ''
ROWS = {
    'plain': ({}, SILENT),
    'quaternion of a joint': ({'place': TILTED}, SILENT),
    'quaternion of an inertial': ({'origin': TILTED}, SILENT),
    'quaternion and angles': (
        {'place': '<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>'},
        'expected one of the two',
    ),
    'quaternion of zeros': ({'place': '<origin quat_xyzw="0 0 0 0"/>'}, 'is no rotation'),
    'limits of URDF 1.2': (
        {'limit': PLAIN['limit'].replace('/>', ' acceleration="3" deceleration="4" jerk="9"/>')},
        SILENT,
    ),
    'capsule': (
        {
            'link': '<collision><geometry><capsule radius="0.1" length="0.2"/></geometry>'
            '</collision>'
        },
        SILENT,
    ),
    'version': ({'root': ' version="1.2"'}, SILENT),
    'no products of inertia': ({'products': ''}, "warned: products of inertia .* link 'b'"),
    'a product below the diagonal': (
        {'products': 'ixy="0" ixz="0" iyz="0" iyx="0.0"'},
        "warned: below the diagonal: link 'b'",
    ),
    'a tensor that is not symmetric': (
        {'products': 'ixy="0" ixz="0" iyz="0" iyx="0.01"'},
        'expected a symmetric tensor',
    ),
    'suffix of a number': ({'joint': '<dynamics damping="0.1f"/>'}, "damping='0.1f', which must"),
    'commas': ({'place': '<origin xyz="0, 0, 1"/>'}, "xyz='0, 0, 1', which must be a number"),
    'line break in a vector': ({'place': '<origin xyz=" 0  0\n 1 "/>'}, SILENT),
    'axis of length 2': ({'axis': '<axis xyz="0 2 0"/>'}, SILENT),
    'axis of zeros': ({'axis': '<axis xyz="0 0 0"/>'}, 'which has no direction'),
    'no axis': ({'axis': ''}, SILENT),
    'no limit': ({'limit': ''}, 'warned: limits are not specified'),
    'limit without effort': (
        {'limit': '<limit lower="-1" upper="1" velocity="2"/>'},
        'warned: effort of j',
    ),
    'lower above upper': (
        {'limit': '<limit lower="1" upper="-1" effort="5" velocity="2"/>'},
        r'lower must not exceed upper \(are they exchanged\?\)',
    ),
    'negative effort': (
        {'limit': '<limit effort="-5"/>'},
        "effort='-5', which must be a positive",
    ),
    'negative damping': ({'joint': '<dynamics damping="-0.1"/>'}, "damping='-0.1', which must be"),
    'infinite effort': (
        {'limit': '<limit lower="-1" upper="1" effort="inf" velocity="2"/>'},
        'warned: effort of j',
    ),
    'type in capitals': ({'type': 'Revolute'}, "type='Revolute'; it must be one of"),
    'floating joint at the root': ({'robot': FLOATING('floating')}, r"warned: held .*'f' \(float"),
    'planar joint at the root': ({'robot': FLOATING('planar')}, r"warned: held fixed: 'f' \(plan"),
    'no joint but a floating one': ({'type': 'floating'}, 'has no moving joint'),
    'floating joint beyond another': (
        {
            'robot': FLOATING('floating')
            .replace('"w"', '"b"', 2)
            .replace('"a"', '"w"')
            .replace('<link name="b"/>', '<link name="w"/>')
        },
        "'f' is of type 'floating'",
    ),
    'mimic of a missing joint': (
        {'joint': '<mimic joint="zz"/>'},
        r"warned: so n and the joint order differ .*'j' \(mimics 'zz'\)",
    ),
    'material twice': ({'robot': '<material name="m"/><material name="m"/>'}, SILENT),
    'unknown element': ({'robot': '<foo/>'}, 'warned: not used: <foo>'),
    'unknown element of a joint': ({'joint': '<foo/>'}, "warned: not used: joint 'j': <foo>"),
    'unknown attribute': (
        {'limit': PLAIN['limit'].replace('/>', ' k_velocity="0"/>')},
        "warned: not used: joint 'j': <limit> k_velocity",
    ),
    'attribute with a prefix': (
        {'limit': PLAIN['limit'].replace('/>', ' drake:acceleration="9"/>')},
        'warned: <limit> drake:acceleration',
    ),
    'extensions': ({'robot': '<gazebo/><transmission/><ros2_control/>'}, SILENT),
    'prefix that is not declared': (
        {'robot': '<gazebo><sensor:ray/></gazebo>'},
        'warned: not declared: <sensor:ray>',
    ),
    'left-over xacro': ({'robot': '<xacro:grey/>'}, 'warned: not expanded: <xacro:grey>'),
    'xacro program': ({'robot': '<xacro:include filename="b"/>'}, 'is a xacro instruction'),
    'two inertials': ({'link': '<inertial/>'}, '<inertial> 2 times; expected at most one'),
    'two origins': ({'joint': PLAIN['place']}, '<origin> 2 times; expected at most one'),
    'default namespace': ({'root': ' xmlns="http://x"'}, "warned: namespace .*'http://x'"),
    'empty angles': ({'place': '<origin rpy=""/>'}, 'has 0 values; it must have 3'),
    'four angles': ({'place': '<origin rpy="0 0 0 0"/>'}, 'has 4 values; it must have 3'),
    'safety controller': ({'joint': '<safety_controller k_velocity="1"/>'}, SILENT),
    'calibration': ({'joint': '<calibration rising="0"/>'}, SILENT),
    'mass NaN': ({'mass': 'value="nan"'}, "value='nan', which must be a number"),
    'negative mass': ({'mass': 'value="-1"'}, "value='-1', which must be a number"),
    'misspelt element': ({'robot': '<Link name="x"/>'}, "did you mean 'link'"),
    'misspelt attribute': ({'joint': '<dynamics dampng="1"/>'}, "did you mean 'damping'"),
    'continuous with limits': ({'type': 'continuous'}, SILENT),
    'second root': ({'robot': '<link name="c"/>'}, "'a', 'c' have no parent joint"),
    'two parents': (
        {'robot': '<joint name="k" type="fixed"><parent link="a"/><child link="b"/></joint>'},
        "'b' has two parents",
    ),
}


def text_of(row):
    return BASE.format(**{**PLAIN, **row})


def answered(text):
    """Return the model, None if it is rejected, and all that is said of the text."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter('always')
        try:
            model = parse_urdf(text)
        except ModelError as error:
            return None, str(error)
    return model, '\n'.join(str(one.message) for one in seen)


@pytest.mark.parametrize(('row', 'expected'), ROWS.values(), ids=ROWS.keys())
def test_a_deviation_is_read_with_a_warning_or_rejected_by_name(row, expected):
    model, said = answered(text_of(row))
    words = expected.removeprefix(WARNED)
    assert (model is None) == (bool(expected) and words == expected)
    assert (said == '') == (expected == SILENT), said
    assert re.search(words, said), said
    assert '\n' not in said, 'one warning per kind'


@pytest.mark.parametrize('encoding', ['gbk', 'shift_jis', 'latin-1', 'utf-16', 'utf-16-le'])
def test_declared_encodings_are_read_with_a_warning(encoding, tmp_path):
    name = {'gbk': '机械臂', 'shift_jis': 'アーム'}.get(encoding, 'bras-à-deux')
    text = chain('<limit lower="-1" upper="2" velocity="3" effort="4"/>').replace('test', name)
    file = tmp_path / 'arm.urdf'
    declared = encoding.removesuffix('-le')
    file.write_bytes(f'<?xml version="1.0" encoding="{declared}"?>{text}'.encode(encoding))
    for read, source in ((load_urdf, file), (parse_urdf, file.read_bytes())):
        with pytest.warns(UserWarning, match='not in UTF-8, which other programs expect'):
            model = read(source)
        assert model.name == name
        assert model.fingerprint() == parse_urdf(text).fingerprint()
    found = examine(file)
    assert [f.message for f in found.findings if f.kind == 'deviation'] != []
    assert parse_urdf(found.text).name == name  # what --fix writes is UTF-8, and says so


def test_robots_are_those_of_pinocchio():
    """Where urdfdom reads the text too: gravity torque and inertia to 1e-12."""
    pin = pytest.importorskip('pinocchio')
    for name in ('plain', 'quaternion of a joint', 'quaternion of an inertial', 'axis of length 2',
                 'limits of URDF 1.2', 'capsule', 'unknown attribute', 'left-over xacro',
                 'prefix that is not declared', 'mimic of a missing joint',
                 'a product below the diagonal'):  # fmt: skip
        text = text_of({'root': ' version="1.2"', **ROWS[name][0]})
        model, _ = answered(text)
        theirs = pin.buildModelFromXML(text)
        data, q = theirs.createData(), np.array([0.3])
        arm = rd.Dynamics(model, backend='python')
        g = pin.computeGeneralizedGravity(theirs, data, q)
        np.testing.assert_allclose(arm.gravity_torque(q), g, rtol=0, atol=1e-12, err_msg=name)
        M = pin.crba(theirs, data, q)
        np.testing.assert_allclose(arm.mass_matrix(q), M, rtol=0, atol=1e-12, err_msg=name)


def test_products_below_the_diagonal_stand_for_those_above():
    row = {'products': 'iyx="0.01" ixz="0.02" iyz="0"'}
    model, _ = answered(text_of(row))
    expected, _ = answered(text_of({'products': 'ixy="0.01" ixz="0.02" iyz="0"'}))
    np.testing.assert_array_equal(model.inertia_com, expected.inertia_com)


@pytest.mark.parametrize('size', [1.0, -1.0, 2.0, 1e-5])
def test_a_quaternion_is_the_rotation_of_any_length_and_sign(size):
    x, y, z, w = (size * np.array([0.1, 0.7, -0.1, 0.7])).tolist()
    model, _ = answered(text_of({'place': f'<origin quat_xyzw="{x} {y} {z} {w}"/>'}))
    R = frame_pose(model, np.zeros(1), 'b')[:3, :3]
    # v' = v + 2 w (u x v) + 2 u x (u x v) of the unit quaternion
    u, c = np.array([0.1, 0.7, -0.1]), 0.7
    for v in np.eye(3):
        turned = v + 2 * (c * np.cross(u, v) + np.cross(u, np.cross(u, v)))
        np.testing.assert_allclose(R @ v, turned, rtol=0, atol=16 * EPS)


def test_edits_replace_a_quaternion():
    """Two orientations would be rejected, and angles of 0 are not those of the quaternion."""
    text = text_of({'origin': '<origin xyz="0.1 0 0"  quat_xyzw="0 0 1 0"/>'})
    body = parse_urdf(text).inertial(0)
    new = edited(text.encode(), inertial_changes('b', body))
    assert b'quat_xyzw' not in new
    assert b'rpy="0.0 0.0 0.0"' in new
    again = parse_urdf(new)
    np.testing.assert_allclose(again.com, body.com[None], rtol=0, atol=4 * EPS)


def test_check_lists_deviations_and_reads_them_as_loading_does(tmp_path):
    file = tmp_path / 'a.urdf'
    file.write_text(text_of({'products': '', 'robot': FLOATING('floating'), 'origin': TILTED}))
    found = examine(file)
    messages = [f.message for f in found.findings if f.kind == 'deviation']
    assert len(messages) == 2
    assert found.robot.model is not None
    # The weight 9.81 N at the centre of mass, which a lenient reader would take as massless
    assert found.robot.links['b'].body.mass == 1.0
    assert found.robot.joints['f'].type == 'fixed'
    R = found.robot.links['b'].rotation
    np.testing.assert_allclose(R @ [1, 0, 0], [0.28, 0, -0.96], rtol=0, atol=4 * EPS)


def test_a_capsule_is_a_solid_of_its_own():
    """As a cylinder and two half spheres, of which the moments are integrals."""
    shape = '<capsule radius="0.1" length="0.4"/>'
    link = f'<link name="a"><collision><geometry>{shape}</geometry></collision></link>'
    (solid, *_) = link_geometry(xml_root(f'<robot>{link}</robot>')[0], ()).solids
    r, length = 0.1, 0.4
    z = np.linspace(-length / 2 - r, length / 2 + r, 200_001)
    beyond = np.maximum(np.abs(z) - length / 2, 0.0)
    area = np.pi * (r**2 - beyond**2)
    volume = np.trapezoid(area, z)
    assert solid.volume == pytest.approx(volume, rel=1e-9)
    second = np.trapezoid(area * z**2, z) / volume
    across = np.trapezoid(area**2 / (4 * np.pi), z) / volume
    np.testing.assert_allclose(solid.sigma, np.diag([across, across, second]), rtol=1e-8, atol=0)
    np.testing.assert_array_equal(solid.upper, [r, r, length / 2 + r])
