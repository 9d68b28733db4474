# SPDX-License-Identifier: Apache-2.0
"""Changes of MJCF files: only the named numbers change, and MuJoCo compiles them."""

import mujoco
import numpy as np
import pytest
from mjcf_text import ARM, link, world

from robot_dynamics import load_mjcf
from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.urdf.editing import Change
from robot_dynamics.urdf.mjcf.editing import body_changes, edited_mjcf

TENSOR = np.array([[0.03, 0.001, -0.002], [0.001, 0.04, 0.003], [-0.002, 0.003, 0.05]])
BODY = Inertial(2.5, np.array([0.01, 0.02, 0.03]), TENSOR)


def edit(file, *changes):
    """Return the contents of `found.xml` beside a file after changes, and all files by name."""
    output = file.with_name('found.xml')
    contents = edited_mjcf(file, changes, output)
    for path, content in contents.items():
        path.write_bytes(content)
    return output, {path.name: content for path, content in contents.items()}


def test_only_the_named_numbers_change(write):
    text = ARM.replace('<body name="upper"', '<!-- the -- upper arm -->\r\n    <body name="upper"')
    text = text.replace(' -- ', ' ')
    file = write(text)
    output, contents = edit(
        file,
        Change('joint', 'lift', '@armature', 0.25),
        Change('joint', 'follow', '@frictionloss', 0.0),
        Change('joint', 'turn', '@damping', 0.125),
    )
    expected = file.read_bytes()
    for name, added in (
        ('axis="0 1 1" pos="0.1 0 0" range="-0.2 0.3" ref="0.1"', ' armature="0.25"'),
        ('class="small" axis="0 1 0" ref="5"', ' frictionloss="0.0"'),
        ('range="-90 60" ref="20"', ' damping="0.125"'),
    ):
        expected = expected.replace(name.encode(), (name + added).encode())
    assert contents == {'found.xml': expected}
    m = mujoco.MjModel.from_xml_path(str(output))
    assert m.joint('lift').armature == 0.25
    assert m.joint('follow').frictionloss == 0
    assert m.joint('turn').damping == 0.125
    assert load_mjcf(output).home == load_mjcf(file).home


@pytest.mark.parametrize(
    'form',
    [
        'diaginertia="0.1 0.2 0.25"',
        'diaginertia="0.1 0.2 0.25" quat="0.5 0.5 0.5 0.5"',
        'euler="10 20 30" diaginertia=\'0.1 0.2 0.25\'',
        'fullinertia="0.1 0.2 0.25 0.01 0.02 0.03"',
    ],
)
def test_an_inertia_of_any_form_becomes_the_given_one(write, form):
    inertial = f'<inertial mass="1" {form} pos="0 0 0"/>'
    text = world(f'<body name="a"> <!-- kept -->\n  {inertial}\n<joint/></body>' + link('b'))
    output, contents = edit(write(text), *body_changes('a', BODY))
    before, _, after = text.partition(inertial)
    written = contents['found.xml'].decode()
    assert written.startswith(before)
    assert written.endswith(after)
    model = load_mjcf(output)
    np.testing.assert_allclose(model.mass[0], 2.5, rtol=1e-15)
    np.testing.assert_allclose(model.com[0], BODY.com, rtol=1e-15)
    np.testing.assert_allclose(model.inertia_com[0], TENSOR, atol=1e-16)


def test_a_body_without_inertial_gets_one(write):
    output, _ = edit(
        write(world('<body name="a">\n  <joint/>\n  <geom size="0.1"/>\n</body>')),
        *body_changes('a', BODY),
    )
    assert load_mjcf(output).mass == pytest.approx([2.5])


def test_included_files_are_followed_and_the_originals_stay(write, tmp_path):
    (tmp_path / 'parts').mkdir()
    joint, include = '<joint name="b"/>', '<include file="parts/inner.xml"/>'
    inner = f'<mujocoinclude>{link("b", joint)}</mujocoinclude>'
    write(inner, 'parts/inner.xml')
    outer = f'<mujocoinclude>{link("a", inside=include)}</mujocoinclude>'
    write(outer, 'parts/outer.xml')
    write(f'<mujocoinclude>{link("c")}</mujocoinclude>', 'still.xml')
    file = write(world("<include file='parts/outer.xml'/><include file='still.xml'/>"))
    output, contents = edit(file, Change('joint', 'b', '@armature', 0.5))
    assert sorted(contents) == ['found.xml', 'found_inner.xml', 'found_outer.xml']
    main = file.read_bytes().replace(b'parts/outer.xml', b'parts/found_outer.xml')
    assert contents['found.xml'] == main
    assert (tmp_path / 'parts/inner.xml').read_text() == inner
    assert load_mjcf(output).reflected_inertia.tolist() == [0, 0.5, 0]


def test_joints_of_equalities_and_defaults_are_other_elements(write):
    pair = '<equality><joint name="a" joint1="a" joint2="b"/></equality>'
    write(f'<mujocoinclude>{pair}</mujocoinclude>', 'pairs.xml')
    write('<mujocoinclude><default><joint armature="3"/></default></mujocoinclude>', 'classes.xml')
    text = world(
        link('a', '<joint name="a"/>') + link('b', '<joint name="b"/>'),
        '<include file="classes.xml"/><include file="pairs.xml"/>',
    )
    output, _ = edit(write(text), Change('joint', 'a', '@armature', 0.5))
    assert mujoco.MjModel.from_xml_path(str(output)).joint('a').armature == 0.5


@pytest.mark.parametrize(
    ('text', 'change', 'message'),
    [
        (ARM, Change('joint', 'wrist', '@armature', 1.0), "0 joint elements named 'wrist'"),
        (world(link('')), Change('joint', 'joint0', '@armature', 1.0), '0 joint elements named'),
        (ARM, Change('joint', 'lift', '@armature', np.nan), 'expected finite numbers'),
        (
            world(link('a', '<joint name="a"/>'), '<compiler settotalmass="9"/>'),
            body_changes('a', BODY)[0],
            'MuJoCo compiles inertial/@mass of body .a. as 9.0 after the change; expected 2.5',
        ),
        (
            world(link('a', '<joint name="a"/>') + link('b'), '<compiler settotalmass="9"/>'),
            body_changes('a', BODY)[0],
            'MuJoCo compiles inertial/@mass of body',
        ),
    ],
)
def test_changes_that_mujoco_does_not_use_are_rejected(write, text, change, message):
    file = write(text.replace(' name=""', ''))
    with pytest.raises(ModelError, match=message):
        edited_mjcf(file, [change], file.with_name('found.xml'))


def test_the_output_is_beside_the_file(write, tmp_path):
    with pytest.raises(ModelError, match=r'expected a file beside .*robot\.xml'):
        edited_mjcf(write(ARM), [], tmp_path / 'other' / 'found.xml')


def test_meshes_are_found_when_the_change_is_verified(write, tmp_path, monkeypatch):
    (tmp_path / 'assets').mkdir()
    corners = ['v 0 0 0', 'v 1 0 0', 'v 0 1 0', 'v 0 0 1']
    faces = ['f 1 3 2', 'f 1 2 4', 'f 1 4 3', 'f 2 3 4']
    write('\n'.join([*corners, *faces]), 'assets/m.obj')
    body = '<body name="a"><joint name="a"/><geom type="mesh" mesh="m"/></body>'
    assets = '<compiler meshdir="assets"/><asset><mesh name="m" file="m.obj"/></asset>'
    file = write(world(body, assets))
    monkeypatch.chdir('/')
    output, _ = edit(file, Change('joint', 'a', '@armature', 0.5))
    assert load_mjcf(output).reflected_inertia == [0.5]


@pytest.mark.parametrize(
    ('name', 'message'),
    [('gone.xml', 'gone.xml: cannot read the file'), ('robot.xml', 'the file includes itself')],
)
def test_includes_that_cannot_be_read_are_named(write, name, message):
    file = write(world(f'<include file="{name}"/>'))
    with pytest.raises(ModelError, match=message):
        edited_mjcf(file, [], file.with_name('found.xml'))
