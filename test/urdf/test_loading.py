# SPDX-License-Identifier: Apache-2.0
"""load_urdf and parse_urdf: models from files, text and xacro."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import robots
import urdf_text
from hypothesis import example, given
from hypothesis import strategies as st

from robot_dynamics.common.errors import InertialWarning, LimitsWarning, ModelError
from robot_dynamics.common.spatial import axis_rotation, pose, rotation_rpy
from robot_dynamics.core.model.inertia import Inertial, combined, transformed
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.urdf.loading import load_urdf, parse_urdf

EPS = np.finfo(float).eps


# -- contents -------------------------------------------------------------------------------


@given(n=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
@example(n=12, seed=24)  # a pitch near a right angle
def test_a_tree_written_as_urdf_is_read_back(n, seed):
    model = random_tree(n, np.random.default_rng(seed), branching=0.0)
    again = parse_urdf(urdf_text.written(model), gravity=model.gravity)
    assert again.joint_names == model.joint_names
    assert again.body_names == model.body_names
    for name in ('parent', 'revolute', 'mass', 'S', 's0', 'gravity'):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name), err_msg=name)
    for name in ('axis', 'placement', 'com', 'inertia_com', 'viscous', 'coulomb'):
        np.testing.assert_allclose(
            getattr(again, name), getattr(model, name), rtol=0, atol=64 * EPS, err_msg=name
        )


def test_defaults_of_the_specification():
    model = parse_urdf(urdf_text.chain(urdf_text.LIMIT))
    np.testing.assert_array_equal(model.axis, [[1, 0, 0]])
    np.testing.assert_array_equal(model.placement, [np.eye(4)])
    np.testing.assert_array_equal(model.gravity, [0, 0, -9.81])
    assert model.viscous == model.coulomb == 0
    assert (model.lower, model.upper, model.velocity_limit, model.effort_limit) == (-1, 2, 3, 4)


def test_axes_are_normalised():
    model = parse_urdf(urdf_text.chain(f'<axis xyz="0 3 4"/>{urdf_text.LIMIT}'))
    np.testing.assert_allclose(model.axis, [[0, 0.6, 0.8]], rtol=2 * EPS)


def test_joint_types():
    text = urdf_text.robot(
        *map(urdf_text.link, 'abcd'),
        urdf_text.joint('turns', 'a', 'b', kind='revolute'),
        urdf_text.joint('spins', 'b', 'c', kind='continuous'),
        urdf_text.joint('slides', 'c', 'd', kind='prismatic'),
    )
    model = parse_urdf(text)
    assert model.joint_names == ('turns', 'spins', 'slides')
    assert list(model.revolute) == [True, True, False]
    # A continuous joint has no position limits, even if its <limit> has some.
    np.testing.assert_array_equal(model.lower, [-1, -np.inf, -1])
    np.testing.assert_array_equal(model.upper, [2, np.inf, 2])


def test_damping_and_friction_are_kept():
    model = parse_urdf(
        urdf_text.chain(f'{urdf_text.LIMIT}<dynamics damping="0.5" friction="0.25"/>')
    )
    assert (model.viscous, model.coulomb) == (0.5, 0.25)


def test_an_inertial_has_its_own_frame():
    inside = (
        '<inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><mass value="2"/>'
        '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="2.5"/></inertial>'
    )
    text = urdf_text.robot(
        urdf_text.link('a'), urdf_text.link('b', inside), urdf_text.joint('j', 'a', 'b')
    )
    model = parse_urdf(text)
    R = rotation_rpy(0.4, 0.5, 0.6)
    tensor = np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]])
    np.testing.assert_array_equal(model.com, [[0.1, 0.2, 0.3]])
    np.testing.assert_allclose(model.inertia_com[0], R @ tensor @ R.T, rtol=0, atol=8 * EPS)


def test_fixed_joints_merge_bodies_and_keep_frames():
    text = urdf_text.robot(
        *map(urdf_text.link, ('base', 'plate', 'arm', 'tool')),
        urdf_text.joint('weld', 'base', 'plate', '<origin xyz="0 0 1"/>', kind='fixed'),
        urdf_text.joint('j', 'plate', 'arm', f'<origin xyz="1 0 0"/>{urdf_text.LIMIT}'),
        urdf_text.joint(
            'grip', 'arm', 'tool', '<origin xyz="0 2 0" rpy="0 0 1.5"/>', kind='fixed'
        ),
    )
    model = parse_urdf(text)
    assert (model.n, model.nb) == (1, 1)
    assert model.frame_names == model.link_names == ('base', 'plate', 'arm', 'tool')
    assert list(model.frame_body) == [-1, -1, 0, 0]

    given = Inertial(2.0, np.array([0.1, 0, 0]), 0.1 * np.eye(3))
    T_tool = pose(axis_rotation(np.array([0, 0, 1.0]), 1.5), np.array([0, 2.0, 0]))
    body = combined([given, transformed(given, T_tool)])
    np.testing.assert_allclose(model.frame_placement[3], T_tool, atol=2 * EPS)
    np.testing.assert_allclose(model.placement[0][:3, 3], [1, 0, 1])
    np.testing.assert_allclose(model.mass, [4])
    np.testing.assert_allclose(model.com[0], body.com, atol=4 * EPS)
    np.testing.assert_allclose(model.inertia_com[0], body.inertia_com, atol=16 * EPS)
    # Links welded to the base belong to it: 2 kg below and 2 kg at a height of 1 m.
    assert model.base.mass == 4
    np.testing.assert_allclose(model.base.com, [0.1, 0, 0.5])


def test_everything_but_links_and_joints_is_ignored(capfd):
    extras = (
        '<material name="m"><texture/></material><gazebo><link name="ghost"/></gazebo>'
        '<transmission name="t"><nonsense/></transmission>'
    )
    inside = f'<visual><geometry/></visual><collision/>{urdf_text.INERTIAL}<contact/>'
    text = urdf_text.robot(
        extras,
        urdf_text.link('a'),
        urdf_text.link('b', inside),
        urdf_text.joint('j', 'a', 'b', f'{urdf_text.LIMIT}<calibration rising="x"/>'),
    )
    bare = parse_urdf(
        urdf_text.robot(urdf_text.link('a'), urdf_text.link('b'), urdf_text.joint('j', 'a', 'b'))
    )
    assert parse_urdf(text).fingerprint() == bare.fingerprint()
    assert capfd.readouterr() == ('', '')


@pytest.mark.parametrize('encode', [str, str.encode, lambda text: b'\xef\xbb\xbf' + text.encode()])
def test_text_and_bytes_give_the_same_robot(encode):
    text = '\n<?xml version="1.0" encoding="utf-8"?>' + urdf_text.chain(urdf_text.LIMIT)
    assert parse_urdf(encode(text)).fingerprint() == parse_urdf(text).fingerprint()


def test_the_fingerprint_depends_on_the_dynamics_alone():
    text = urdf_text.chain(urdf_text.LIMIT, urdf_text.LIMIT)
    seen = parse_urdf(text).fingerprint()
    assert parse_urdf(text.replace('><', '>\n <!-- a comment --> <')).fingerprint() == seen
    assert parse_urdf(text.replace('value="2"', 'value="2.5"')).fingerprint() != seen
    assert parse_urdf(text, gravity=(0, 0, -1.62)).fingerprint() != seen


# -- options --------------------------------------------------------------------------------


def test_gravity_is_an_option():
    text = urdf_text.chain(urdf_text.LIMIT)
    np.testing.assert_array_equal(parse_urdf(text, gravity=[1, 2, 3]).gravity, [1, 2, 3])


@pytest.mark.parametrize('gravity', [9.81, (0, 0), (0, 0, np.nan), 'down', None, (0, 0, 'g')])
def test_gravity_must_be_three_finite_numbers(gravity):
    with pytest.raises(ModelError, match=r'gravity is .* three finite numbers'):
        parse_urdf(urdf_text.chain(urdf_text.LIMIT), gravity=gravity)


# -- files ----------------------------------------------------------------------------------


def test_load_urdf_and_parse_urdf_give_the_same_robot(tmp_path):
    text = urdf_text.chain(urdf_text.LIMIT)
    file = tmp_path / 'robot.urdf'
    file.write_text(text)
    for path in (file, str(file)):
        assert load_urdf(path).fingerprint() == parse_urdf(text).fingerprint()


def test_files_that_cannot_be_read_are_named(tmp_path):
    binary = tmp_path / 'binary.urdf'
    binary.write_bytes(os.urandom(64) + b'\xff\x00')
    for path, reason in (
        (tmp_path / 'missing.urdf', 'No such file'),
        (tmp_path, 'directory'),
        (binary, 'not UTF-8'),
        ('nul\0.urdf', 'null'),
    ):
        with pytest.raises(ModelError, match=reason) as error:
            load_urdf(path)
        assert str(error.value).startswith(str(path))


def test_an_error_inside_a_file_names_the_file(tmp_path):
    file = tmp_path / 'two_roots.urdf'
    file.write_text(urdf_text.robot(urdf_text.link('a'), urdf_text.link('b')))
    with pytest.raises(ModelError, match=r"two_roots\.urdf: links 'a', 'b' have no parent"):
        load_urdf(file)


@pytest.mark.skipif(not Path('/dev/zero').exists(), reason='needs an endless file')
def test_an_endless_file_is_rejected():
    with pytest.raises(ModelError, match='more than 10000000 bytes'):
        load_urdf('/dev/zero')


XACRO = """<robot name="test" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="m" value="${1 + 1}"/>
  <xacro:macro name="l" params="name">
    <link name="${name}"><inertial><origin xyz="0.1 0 0"/><mass value="${m}"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  </xacro:macro>
  <xacro:l name="l0"/><xacro:l name="l1"/>
  <joint name="j1" type="revolute"><parent link="l0"/><child link="l1"/>
    <limit lower="-1" upper="2" velocity="3" effort="4"/></joint>
</robot>"""


def test_xacro_files_are_expanded(tmp_path):
    file = tmp_path / 'robot.urdf.xacro'
    file.write_text(XACRO)
    plain = parse_urdf(urdf_text.chain(urdf_text.LIMIT))
    assert load_urdf(file).fingerprint() == plain.fingerprint()


def test_xacro_text_is_never_run():
    with pytest.raises(ModelError, match='<xacro:property> is a xacro instruction'):
        parse_urdf(XACRO)


@pytest.mark.parametrize(
    'wrong', ['<robot', XACRO.replace('1 + 1', '1 / 0'), XACRO.replace('<xacro:l ', '<xacro:k ')]
)
def test_xacro_errors_name_the_file(tmp_path, wrong):
    file = tmp_path / 'robot.xacro'
    file.write_text(wrong)
    with pytest.raises(ModelError, match=r'robot\.xacro: xacro failed'):
        load_urdf(file)


# -- warnings -------------------------------------------------------------------------------

FLAT = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="3"/></inertial>'
)
NEGATIVE = FLAT.replace('ixx="1"', 'ixx="-1"')


def imperfect(*insides, limit=urdf_text.LIMIT):
    links = [urdf_text.link(f'l{k}', inside) for k, inside in enumerate(insides)]
    joints = [
        urdf_text.joint(f'j{k}', f'l{k - 1}', f'l{k}', limit) for k in range(1, len(insides))
    ]
    return urdf_text.robot(*links, *joints)


def test_impossible_tensors_give_one_warning_that_names_the_links():
    text = imperfect('', FLAT, urdf_text.INERTIAL, NEGATIVE)
    with pytest.warns(InertialWarning) as caught:
        model = parse_urdf(text)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "link 'l1': principal moments (1, 1, 3)" in message
    assert "link 'l3': principal moments (-1, 1, 3) kg m^2 are not all positive" in message
    assert "'l2'" not in message
    # Nothing was changed.
    np.testing.assert_array_equal(model.inertia_com[0], np.diag([1, 1, 3]))
    # The warning points at this file, where the robot was loaded.
    assert Path(caught[0].filename).name == Path(__file__).name


def test_impossible_tensors_are_rejected_on_request():
    with pytest.raises(ModelError, match=r"link 'l1': principal moments \(1, 1, 3\)"):
        parse_urdf(imperfect('', FLAT), strict_inertials=True)
    assert parse_urdf(imperfect('', urdf_text.INERTIAL), strict_inertials=True).n == 1


def test_joints_that_move_no_mass_give_one_warning_that_names_them():
    with pytest.warns(InertialWarning, match=r"links 'l2', 'l3' move but carry no mass") as caught:
        model = parse_urdf(imperfect('', urdf_text.INERTIAL, '', ''))
    assert len(caught) == 1
    assert model.massless_joints() == ['j2', 'j3']
    with pytest.raises(ModelError, match='carry no mass'):
        parse_urdf(imperfect('', ''), strict_inertials=True)


ZEROS = (
    '<inertial><mass value="0"/>'
    '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial>'
)


def test_a_moving_link_without_inertial_is_named_wherever_it_is():
    text = imperfect('', '', urdf_text.INERTIAL, '', urdf_text.INERTIAL, '')
    with pytest.warns(InertialWarning) as caught:
        model = parse_urdf(text)
    first, second = (str(warning.message) for warning in caught)
    assert "links 'l5' move but carry no mass" in first
    assert "links 'l1', 'l3' move but have no <inertial>, so they count as massless" in second
    np.testing.assert_array_equal(model.mass, [0, 2, 0, 2, 0])
    with pytest.raises(ModelError, match="links 'l1' move but have no <inertial>"):
        parse_urdf(imperfect('', '', urdf_text.INERTIAL), strict_inertials=True)


def test_a_link_with_an_inertial_of_zeros_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        model = parse_urdf(imperfect('', ZEROS, urdf_text.INERTIAL), strict_inertials=True)
    np.testing.assert_array_equal(model.mass, [0, 2])


def test_a_frame_link_with_a_fixed_link_of_mass_gives_no_warning():
    text = urdf_text.robot(
        *map(urdf_text.link, 'a'),
        urdf_text.link('b', ''),
        urdf_text.link('c'),
        urdf_text.joint('j', 'a', 'b', urdf_text.LIMIT),
        urdf_text.joint('weld', 'b', 'c', kind='fixed'),
    )
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        model = parse_urdf(text, strict_inertials=True)
    assert model.mass.tolist() == [2.0]  # that of c


@pytest.mark.parametrize(
    ('limit', 'kinds'),
    [
        ('', ('position', 'velocity', 'effort')),
        ('<limit lower="-1" upper="1" velocity="0" effort="0"/>', ('velocity', 'effort')),
        ('<limit lower="-1" upper="1" velocity="2"/>', ('effort',)),
        ('<limit velocity="2" effort="3"/>', ('position',)),
        ('<limit lower="0" upper="0" velocity="2" effort="3"/>', ('position',)),
        ('<limit lower="-inf" upper="inf" velocity="2" effort="inf"/>', ('position', 'effort')),
    ],
)
def test_unspecified_limits_are_infinite_and_give_one_warning(limit, kinds):
    with pytest.warns(UserWarning, match='limits are not specified') as caught:
        model = parse_urdf(imperfect('', urdf_text.INERTIAL, limit=limit))
    assert len(caught) == 1
    for kind, infinite in (
        ('position', np.isinf(model.lower) & np.isinf(model.upper)),
        ('velocity', np.isinf(model.velocity_limit)),
        ('effort', np.isinf(model.effort_limit)),
    ):
        assert infinite == (kind in kinds)
        assert (kind in str(caught[0].message)) == (kind in kinds)
    assert str(caught[0].message).endswith(f'{", ".join(kinds)} of j1')


def test_missing_limits_of_many_joints_are_one_short_line():
    with pytest.warns(LimitsWarning) as caught:
        parse_urdf(urdf_text.chain(*[''] * 9))
    (warning,) = caught
    assert str(warning.message).endswith('applied: position, velocity, effort of all 9 joints')


def test_a_good_robot_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        load_urdf(robots.path('ur5'))
