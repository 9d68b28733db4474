# SPDX-License-Identifier: Apache-2.0
"""Shapes of links: poses in their bodies, colours, meshes."""

import numpy as np
import pytest
import urdf_text

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.resources import bundled_robots
from robot_dynamics.core import kinematics
from robot_dynamics.urdf.geometry.meshes import MeshError
from robot_dynamics.urdf.geometry.shapes import Shape
from robot_dynamics.urdf.loading import load_urdf, parse_urdf
from robot_dynamics.urdf.loading import urdf_text as text_of
from robot_dynamics.view.link_shapes import displayed_mesh, shapes_of

trimesh = pytest.importorskip('trimesh')

BOX = '<visual><origin xyz="1 2 3"/><geometry><box size="1 2 3"/></geometry>{}</visual>'


def shapes(*links, head=''):
    text = urdf_text.robot(
        head,
        *(urdf_text.link(f'l{k}', urdf_text.INERTIAL + inside) for k, inside in enumerate(links)),
        *(urdf_text.joint(f'j{k}', f'l{k - 1}', f'l{k}') for k in range(1, len(links))),
    )
    return shapes_of(text, parse_urdf(text))


def test_the_bundled_arm_has_primitives_on_every_link():
    model = load_urdf('panda')
    found = shapes_of(text_of('panda'), model)
    assert {placed.shape.kind for placed in found} <= {'box', 'cylinder', 'sphere'}
    assert {placed.body for placed in found} == set(range(-1, model.nb))


@pytest.mark.parametrize('name', bundled_robots())
def test_every_bundled_robot_can_be_read(name):
    shapes_of(text_of(name), load_urdf(name))


def test_shapes_are_placed_in_the_body_that_carries_their_link():
    # l2 is fixed to l1, 1 m along x
    text = urdf_text.robot(
        urdf_text.link('l0'),
        urdf_text.link('l1'),
        urdf_text.link('l2', urdf_text.INERTIAL + BOX.format('')),
        urdf_text.joint('j1', 'l0', 'l1'),
        urdf_text.joint('j2', 'l1', 'l2', '<origin xyz="1 0 0"/>', 'fixed'),
    )
    model = parse_urdf(text)
    ((body, shape),) = shapes_of(text, model)
    assert (shape.link, body) == ('l2', 0)
    q = np.array([0.7])
    T = kinematics.body_poses(model, q)[0] @ shape.pose
    expected = kinematics.frame_pose(model, q, 'l2') @ [1, 2, 3, 1]
    np.testing.assert_allclose(T[:, 3], expected, atol=1e-12)


def test_collision_shapes_are_used_where_there_are_no_visual_ones():
    collision = BOX.format('').replace('visual', 'collision')
    cylinder = '<visual><geometry><cylinder radius="1" length="2"/></geometry></visual>'
    found = shapes(collision, collision + cylinder)
    assert [placed.shape.kind for placed in found] == ['box', 'cylinder']
    assert found[1].shape.size == (1.0, 2.0)


def test_colours_are_those_of_the_material_or_of_its_name():
    own = '<material name="m"><color rgba="0.1 0.2 0.3 0.5"/></material>'
    named = '<material name="blue"/>'
    head = '<material name="blue"><color rgba="0 0 2 1"/></material>'
    found = shapes(BOX.format(own), BOX.format(named), BOX.format(''), head=head)
    assert [placed.shape.colour for placed in found] == [
        (0.1, 0.2, 0.3, 0.5),
        (0, 0, 1, 1),
        None,
    ]


def test_wrong_numbers_are_rejected_with_the_link():
    with pytest.raises(ModelError, match=r"link 'l0': <visual>: .* size='1 2', which must be 3"):
        shapes('<visual><geometry><box size="1 2"/></geometry></visual>', '')


def mesh_shape(name, scale=(1.0, 1.0, 1.0), colour=None):
    return Shape('arm', np.eye(4), 'mesh', scale, name, colour, '')


def test_a_mesh_is_read_and_scaled(tmp_path):
    folder = tmp_path / 'p'
    folder.mkdir()
    trimesh.creation.box((1, 2, 3)).export(folder / 'box.stl')
    mesh = displayed_mesh(mesh_shape('package://p/box.stl', (2.0, 1.0, 0.5)), [folder])
    np.testing.assert_allclose(np.ptp(mesh.vertices, axis=0), [2, 2, 1.5], atol=1e-6)
    assert mesh.glb is None
    assert mesh.faces.max() < len(mesh.vertices)


def test_a_mesh_with_materials_keeps_its_colours_unless_the_description_has_one(tmp_path):
    box = trimesh.creation.box((1, 2, 3))
    box.visual = trimesh.visual.TextureVisuals(
        material=trimesh.visual.material.PBRMaterial(baseColorFactor=[255, 0, 0, 255])
    )
    trimesh.Scene(box).export(tmp_path / 'box.glb')
    mesh = displayed_mesh(mesh_shape('box.glb', (2.0, 2.0, 2.0)), [tmp_path])
    assert mesh.glb is not None
    again = trimesh.load_scene(trimesh.util.wrap_as_stream(mesh.glb), file_type='glb')
    np.testing.assert_allclose(np.sort(again.extents), [2, 4, 6], atol=1e-6)
    painted = mesh_shape('box.glb', colour=(0.0, 1.0, 0.0, 1.0))
    assert displayed_mesh(painted, [tmp_path]).glb is None


def test_missing_and_broken_meshes_are_named(tmp_path):
    with pytest.raises(
        MeshError, match=r"link 'arm': mesh 'no.stl' was not found; .*--package-path"
    ):
        displayed_mesh(mesh_shape('no.stl'), [tmp_path])
    (tmp_path / 'broken.obj').write_bytes(b'f 1 2 \xff')
    (tmp_path / 'arm.blend').write_bytes(b'')
    with pytest.raises(MeshError, match=r"link 'arm': mesh 'broken\.obj' was not read"):
        displayed_mesh(mesh_shape('broken.obj'), [tmp_path])
    with pytest.raises(
        MeshError, match=r"mesh 'arm\.blend' was not read: .* expected one of \.stl, "
    ):
        displayed_mesh(mesh_shape('arm.blend'), [tmp_path])
