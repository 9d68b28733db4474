# SPDX-License-Identifier: Apache-2.0
"""Compilation of MJCF files: missing files and packages, includes, meshes, shapes."""

import builtins

import numpy as np
import pytest
from mjcf_text import ARM, BODY, link, world

from robot_dynamics import load_mjcf
from robot_dynamics.common.errors import ModelError
from robot_dynamics.urdf.mjcf.compiling import MujocoMissing, compiled

MESH = '<asset><mesh name="m" file="absent.stl" scale="2 3 4"/></asset>'
GEOM = '<geom type="mesh" mesh="m" pos="1 2 3" euler="0 0 90"/>'


def test_meshes_are_not_needed_where_bodies_have_an_inertial(write):
    texture = (
        '<texture name="t" type="2d" file="absent.png"/>'
        '<material name="red" texture="t" rgba="1 0 0 1"/>'
    )
    text = world(
        link('a', inside=GEOM.replace('/>', ' material="red"/>'))
        + '<geom type="hfield" hfield="h"/>',
        MESH.replace(
            '</asset>', f'{texture}<hfield name="h" file="absent.png" size="1 1 1 1"/></asset>'
        ),
    )
    file = write(text)
    (shape,) = compiled(file).geoms
    assert (shape.kind, shape.size) == ('mesh', (2, 3, 4))
    assert shape.mesh == str(file.parent / 'absent.stl')
    assert shape.colour == (1, 0, 0, 1)
    np.testing.assert_allclose(
        shape.pose, [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]], atol=1e-15
    )
    assert load_mjcf(file).n == 1


@pytest.mark.parametrize('others', ['', '<compiler inertiafromgeom="true"/>'])
def test_a_mesh_that_an_inertia_needs_is_named(write, others):
    body = f'<body name="a"><joint/>{"" if not others else BODY}{GEOM}</body>'
    with pytest.raises(ModelError, match=r'robot\.xml: MuJoCo rejects the file: .*absent\.stl'):
        load_mjcf(write(world(body, MESH + others)))


def test_the_pose_of_a_mesh_is_that_of_its_file_with_and_without_it(write):
    corners = ['v 0 0 0', 'v 0.5 0 0', 'v 0 0.25 0', 'v 0 0 1']
    write('\n'.join([*corners, 'f 1 3 2', 'f 1 2 4', 'f 1 4 3', 'f 2 3 4']), 'm.obj')
    assets = MESH.replace('absent.stl', 'm.obj')
    with_file = compiled(write(world(f'<body name="a"><joint/>{GEOM}</body>', assets))).geoms
    # MuJoCo moves a mesh to its centre and principal axes, where it reads it.
    without = compiled(write(world(link('a', inside=GEOM), assets))).geoms
    assert with_file[0].mesh == without[0].mesh
    np.testing.assert_allclose(with_file[0].pose, without[0].pose, atol=1e-14)


def test_a_mesh_without_a_file_has_no_place_in_a_description(write):
    corners = '0 0 0  0.5 0 0  0 0.25 0  0 0 1'
    mesh = f'<asset><mesh name="m" vertex="{corners}"/></asset>'
    assert compiled(write(world(f'<body><joint/>{GEOM}</body>', mesh))).geoms == ()


def test_shapes_have_the_sizes_of_a_urdf(write):
    geoms = [
        '<geom type="box" size="1 2 3" contype="0" conaffinity="0"/>',
        '<geom type="sphere" size="0.5"/>',
        '<geom type="cylinder" size="0.1 0.2"/>',
        '<geom type="capsule" size="0.1" fromto="0 0 0 0 0 2"/>',
        '<geom type="ellipsoid" size="1 2 3"/>',
    ]
    shapes = compiled(
        write(world(link('a', inside=''.join(geoms)) + '<geom type="plane" size="1 1 1"/>'))
    ).geoms
    assert [(s.kind, s.size) for s in shapes] == [
        ('box', (2, 4, 6)),
        ('sphere', (0.5,)),
        ('cylinder', (0.1, 0.4)),
        ('capsule', (0.1, 2.0)),
    ]
    assert [s.collides for s in shapes] == [False, True, True, True]
    np.testing.assert_array_equal(shapes[3].pose[:3, 3], (0, 0, 1))


def test_includes_are_read_and_missing_ones_named(write, tmp_path):
    write(f'<mujocoinclude>{link("a")}</mujocoinclude>', 'part.xml')
    text = world('<include file="part.xml"/>')
    assert load_mjcf(write(text)).body_names == ('a',)
    with pytest.raises(ModelError, match=r'MuJoCo rejects the file: .*gone\.xml'):
        load_mjcf(write(text.replace('part', 'gone')))


def test_comments_that_xml_forbids_are_read_as_mujoco_does(write):
    assert load_mjcf(write(f'<?xml version="1.0"?>\n<!-- a -- b -->\n{ARM}')).n == 2


def test_names_are_utf_8_and_comments_need_not_be(write):
    file = write('')
    for old, new in (('<mujoco', '<mujoco model="é"'), ('name="j"', 'name="é"')):
        text = world(link('a', '<joint name="j"/>')).replace(old, new)
        file.write_text(text, encoding='latin-1')
        with pytest.raises(ModelError, match='a name is not UTF-8 text'):
            load_mjcf(file)
    file.write_text(f'<!-- é -->{world(link("a"))}', encoding='latin-1')
    assert load_mjcf(file).n == 1


def test_materials_of_flexible_bodies_are_not_needed(write):
    grid = '<flexcomp name="f" type="grid" count="2 2 1" mass="1" dim="2" material="m"/>'
    text = world(f'{link("a")}{grid}', '<asset><material name="m"/></asset>')
    with pytest.warns(UserWarning, match="flexible bodies are left out: 'f'"):
        assert load_mjcf(write(text)).joint_names[0] == 'joint0'


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (None, r'cannot read the file: No such file'),
        ('', 'the root element is <>; expected an MJCF file'),
        ('<!-- open', 'the root element is <>; expected an MJCF file'),
        ('<mujocoinclude/>', 'the root element is <mujocoinclude>'),
        ('<mujoco><wrong/></mujoco>', 'MuJoCo rejects the file: XML Error: .*wrong'),
        (world('<body><joint/></body>'), 'MuJoCo rejects the file: .*mass and inertia of moving'),
        (world(''), 'the robot has no hinge or slide joint'),
    ],
)
def test_files_that_are_no_robot_are_rejected(write, tmp_path, text, message):
    file = tmp_path / 'robot.xml' if text is None else write(text)
    with pytest.raises(ModelError, match=message):
        load_mjcf(file)


def test_without_mujoco_the_extra_is_named(write, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **others):
        if name == 'mujoco':
            raise ImportError('no module')
        return real(name, *rest, **others)

    file = write(ARM)
    monkeypatch.setattr(builtins, '__import__', without)
    with pytest.raises(
        MujocoMissing, match=r"pip install mujoco, or in a checkout pip install '\.\[mujoco\]'"
    ):
        load_mjcf(file)
