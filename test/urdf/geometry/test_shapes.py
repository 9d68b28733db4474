# SPDX-License-Identifier: Apache-2.0
"""Shapes of links: each fault is found with link, element and value, by every program alike."""

from xml.etree import ElementTree

import numpy as np
import pytest
import urdf_text

from robot_dynamics import cli
from robot_dynamics.check.examination import examine
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import rotation_rpy
from robot_dynamics.identification.excitation.capsules import capsules_of
from robot_dynamics.urdf.geometry.shapes import link_shapes, material_colours
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.view.link_shapes import shapes_of

# A shape, and what the message says of it.
FAULTS = {
    '<cylinder length="0.2"/>': "<cylinder> has no attribute 'radius'",
    '<cylinder radius="0.2"/>': "<cylinder> has no attribute 'length'",
    '<cylinder radius="abc" length="0.2"/>': "<cylinder> has radius='abc', which must be a number",
    '<cylinder radius="0" length="0.2"/>': "<cylinder> has radius='0', which must be a positive",
    '<cylinder radius="1" length="-1"/>': "<cylinder> has length='-1', which must be a positive",
    '<cylinder radius="nan" length="1"/>': "<cylinder> has radius='nan', which must be a number",
    '<cylinder radius="1" length="inf"/>': "<cylinder> has length='inf', which must be a number",
    '<cylinder raduis="1" length="1"/>': "<cylinder> has no attribute 'radius'",
    '<box/>': "<box> has no attribute 'size'",
    '<box size=""/>': "<box> has size='', which must be 3 positive numbers",
    '<box size="0.1 -0.1 0.1"/>': "<box> has size='0.1 -0.1 0.1', which must be 3 positive",
    '<box size="0.1 0.1"/>': "<box> has size='0.1 0.1', which must be 3 positive numbers",
    '<box size="0.1 0,1 0.1"/>': "<box> has size='0.1 0,1 0.1', which must be a number",
    '<sphere/>': "<sphere> has no attribute 'radius'",
    '<sphere radius="1 1"/>': "<sphere> has radius='1 1', which must be a positive number",
    '<sphere radius="-0.1"/>': "<sphere> has radius='-0.1', which must be a positive number",
    '<mesh/>': "<mesh> has no attribute 'filename'",
    '<mesh filename=" "/>': "<mesh> has filename=' ', which must be the name of a file",
    '<mesh filename="a.stl" scale="0 1 1"/>': "<mesh> has scale='0 1 1', which must be 3 numbers",
    '<mesh filename="a.stl" scale="1"/>': "<mesh> has scale='1', which must be 3 numbers",
    '<mesh filename="a.stl" scale="1 x 1"/>': "scale='1 x 1', which must be a number",
    '<spere radius="1"/>': "unknown in URDF; did you mean 'sphere'?",
}
GOOD = '<{0}><geometry><sphere radius="1"/></geometry></{0}>'


def robot(*inside, head=''):
    """Return the text of a robot of one joint whose second link has the elements given."""
    return urdf_text.robot(
        head,
        urdf_text.link('base', urdf_text.INERTIAL),
        urdf_text.link('arm', urdf_text.INERTIAL + ''.join(inside)),
        urdf_text.joint('j', 'base', 'arm'),
    )


def element(source, shape, origin=''):
    return f'<{source}>{origin}<geometry>{shape}</geometry></{source}>'


def invalid(text, folder):
    """Return the messages of `check` about shapes, by element."""
    file = folder / 'robot.urdf'
    file.write_text(text)
    return {f.element: f for f in examine(file).findings if f.kind == 'invalid-geometry'}


@pytest.mark.parametrize('source', ['visual', 'collision'])
@pytest.mark.parametrize('shape', FAULTS)
def test_check_view_and_excite_reject_a_wrong_shape_with_the_same_words(shape, source, tmp_path):
    text = robot(element(source, shape))
    finding = invalid(text, tmp_path)['arm']
    assert (finding.severity, finding.tier) == ('error', 'syntax')
    assert finding.message.startswith(f"link 'arm': <{source}>: <geometry>")
    assert FAULTS[shape] in finding.message
    for reader in (capsules_of, lambda text: shapes_of(text, parse_urdf(text))):
        with pytest.raises(ModelError) as error:
            reader(text)
        assert str(error.value) == finding.message


def test_a_wrong_shape_is_counted_among_others(tmp_path):
    text = robot(GOOD.format('visual'), element('visual', '<sphere radius="-1"/>'))
    message = invalid(text, tmp_path)['arm'].message
    assert message.startswith("link 'arm': <visual> number 2: <geometry>: <sphere>")


def test_wrong_places_and_colours_are_rejected(tmp_path):
    origin = '<origin xyz="0 0"/>'
    text = robot(element('visual', '<sphere radius="1"/>', origin))
    assert "<visual>: <origin> has xyz='0 0'" in invalid(text, tmp_path)['arm'].message
    material = '<material name="red"><color rgba="1 0 0"/></material>'
    message = "<color> has rgba='1 0 0', which must be 4 numbers"
    text = robot(GOOD.format('visual').replace('<geometry>', material + '<geometry>'))
    assert message in invalid(text, tmp_path)['arm'].message
    text = robot(head=material)
    (finding,) = invalid(text, tmp_path).values()
    assert f"material 'red': {message}" in finding.message
    with pytest.raises(ModelError, match=r"material 'red': <color> has rgba='1 0 0'"):
        shapes_of(text, parse_urdf(text))


def test_check_ends_with_an_error(tmp_path, capsys):
    file = tmp_path / 'robot.urdf'
    file.write_text(robot(element('collision', '<box size="0.1 -0.1 0.1"/>')))
    assert cli.main(['check', str(file)]) == 1
    assert "link 'arm': <collision>: <geometry>: <box> has size" in capsys.readouterr().out


@pytest.mark.parametrize('sign', [1, -1])
def test_places_sizes_and_scales_are_those_of_the_text(sign):
    shapes = (
        '<box size="1 2 3"/>',
        '<cylinder length="5" radius="4"/>',
        '<sphere radius="6"/>',
        f'<mesh filename="a.stl" scale="{sign} 1 1"/>',
        '<mesh filename="b.stl"/>',
        '<capsule radius="7" length="8"/>',
        '<cone radius="1" length="1"/>',
    )
    origin = f'<origin xyz="{sign} 2 3" rpy="{0.1 * sign} 0.2 0.3"/>'
    text = ''.join(element('visual', shape, origin) for shape in shapes)
    found = link_shapes(ElementTree.fromstring(f'<link name="a">{text}</link>'), 'visual')
    sizes = [('box', (1, 2, 3)), ('cylinder', (4, 5)), ('sphere', (6,))]
    sizes += [('mesh', (sign, 1, 1)), ('mesh', (1, 1, 1)), ('capsule', (7, 8))]
    assert [(shape.kind, shape.size) for shape in found] == sizes
    assert [shape.mesh for shape in found] == ['', '', '', 'a.stl', 'b.stl', '']
    for shape in found:
        np.testing.assert_array_equal(shape.pose[:3, 3], [sign, 2, 3])
        np.testing.assert_array_equal(shape.pose[:3, :3], rotation_rpy(0.1 * sign, 0.2, 0.3))


def test_the_first_source_with_shapes_is_read():
    text = GOOD.format('visual') + element('collision', '<cone/>')
    link = ElementTree.fromstring(f'<link name="a">{text}</link>')
    assert [s.kind for s in link_shapes(link, 'collision', 'visual')] == ['sphere']
    assert link_shapes(link, 'collision') == []


def test_colours_of_materials_are_within_their_range():
    text = '<robot><material name="a"><color rgba="-1 0.5 2 1"/></material><material/></robot>'
    assert material_colours(ElementTree.fromstring(text)) == {'a': (0, 0.5, 1, 1)}
