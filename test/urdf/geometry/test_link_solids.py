# SPDX-License-Identifier: Apache-2.0
"""Solids of geometry against closed forms, and the search for meshes."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from robot_dynamics.urdf.geometry.link_solids import link_geometry
from robot_dynamics.urdf.geometry.meshes import MeshNotFound, mesh_path

trimesh = pytest.importorskip('trimesh')

BOX = '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><geometry>{}</geometry>'


def geometry(body, folders=()):
    return link_geometry(ElementTree.fromstring(f'<link name="a">{body}</link>'), folders)


def test_a_box_and_the_same_box_as_a_mesh_have_the_same_solid(tmp_path):
    trimesh.creation.box((0.1, 0.2, 0.4)).export(tmp_path / 'box.stl')
    words = (
        '<box size="0.1 0.2 0.4"/>',
        '<mesh filename="box.stl"/>',
        '<mesh filename="package://robot/box.stl" scale="1 1 1"/>',
    )
    folder = tmp_path / 'robot'
    folder.symlink_to(tmp_path)
    for word in words:
        text = f'<visual>{BOX.format(word)}</visual>'
        solid = geometry(text, [tmp_path]).solids[0]
        assert solid.volume == pytest.approx(0.008, rel=1e-6)
        np.testing.assert_allclose(solid.centroid, [1, 2, 3], atol=1e-6)
        sigma = np.diag([0.2, 0.1, 0.4]) ** 2 / 12  # turned by 90 degrees about z
        np.testing.assert_allclose(solid.sigma, sigma, atol=1e-9)
        np.testing.assert_allclose(solid.upper - solid.lower, [0.2, 0.1, 0.4], atol=1e-6)


def test_several_shapes_are_one_solid_about_their_common_centroid():
    one = '<visual><origin xyz="{} 0 0"/><geometry><sphere radius="0.1"/></geometry></visual>'
    solid = geometry(one.format(-1) + one.format(1)).solids[0]
    np.testing.assert_allclose(solid.centroid, 0, atol=1e-12)
    own = 0.4 / 2 * 0.1**2  # sigma of a sphere: r^2 / 5
    np.testing.assert_allclose(np.diag(solid.sigma), [1 + own, own, own], rtol=1e-12)


def test_a_scaled_mesh_and_an_open_one(tmp_path):
    mesh = trimesh.creation.icosphere(radius=100.0)
    mesh.update_faces(np.arange(len(mesh.faces)) > 0)  # a hole: the convex hull is taken
    mesh.export(tmp_path / 'ball.stl')
    mesh_text = '<mesh filename="ball.stl" scale="0.001 0.001 0.001"/>'
    text = f'<collision><geometry>{mesh_text}</geometry></collision>'
    solid = geometry(text, [tmp_path]).solids[0]
    assert solid.volume == pytest.approx(4 / 3 * np.pi * 1e-3, rel=0.05)


def test_meshes_that_are_missing_or_broken_are_named(tmp_path):
    (tmp_path / 'broken.stl').write_bytes(b'solid \xff\x00 nonsense')
    text = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    for name in ('no.stl', 'http://host/a.stl', 'x' * 5000 + '.stl'):
        (error,) = geometry(text.format(name), [tmp_path]).unread
        assert isinstance(error, MeshNotFound)
        assert name in str(error)
    (error,) = geometry(text.format('broken.stl'), [tmp_path]).unread
    assert not isinstance(error, MeshNotFound)
    assert re.fullmatch(r"mesh 'broken.stl' was not read: .+", str(error))


def test_a_package_is_searched_as_a_folder_and_by_its_own_name(tmp_path):
    file = tmp_path / 'arm_description' / 'meshes' / 'a.stl'
    file.parent.mkdir(parents=True)
    file.touch()
    name = 'package://arm_description/meshes/a.stl'
    assert mesh_path(name, [tmp_path]) == file
    assert mesh_path(name, [tmp_path / 'arm_description']) == file
    assert mesh_path(name, [tmp_path / 'arm_description' / 'meshes']) is None
    assert mesh_path(f'file://{file}', []) == file
    assert mesh_path(str(file), []) == file


def test_a_mesh_of_a_checkout_whose_folder_has_another_name(tmp_path):
    file = tmp_path / 'arm-main' / 'meshes' / 'a.stl'
    file.parent.mkdir(parents=True)
    file.touch()
    name = 'package://arm_description/meshes/a.stl'
    assert mesh_path(name, [tmp_path / 'arm-main']) is None
    (tmp_path / 'arm-main' / 'package.xml').write_text(
        '<package><name>arm_description</name></package>'
    )
    assert mesh_path(name, [tmp_path / 'arm-main']) == file
