# SPDX-License-Identifier: Apache-2.0
"""Robots whose numbers are right: uniform parts of a true density, with meshes and primitives."""

import numpy as np
import pytest

from robot_dynamics.common.spatial import pose, rotation_rpy
from robot_dynamics.core.model.inertia import Inertial

trimesh = pytest.importorskip('trimesh')

HEAD = '<?xml version="1.0"?>\n<robot name="{name}">\n'


def mesh_part(rng, size):
    """Return a closed, asymmetric mesh: a bar of a length, and a bracket across it."""
    bar = trimesh.creation.box((0.3 * size, 0.22 * size, size))
    bar.apply_translation((0, 0, size / 2))
    bracket = trimesh.creation.box((0.55 * size, 0.2 * size, 0.25 * size))
    bracket.apply_transform(trimesh.transformations.rotation_matrix(0.6, (0.2, 1, 0.3)))
    bracket.apply_translation((0.25 * size, 0.12 * size, rng.uniform(0.6, 0.8) * size))
    return trimesh.util.concatenate([bar, bracket]).convex_hull


def link_text(name, rng, folder, *, source='collision', shape='mesh', size=0.3, mirror=False):
    """Return a <link> with the inertia of its geometry, in a turned inertial frame."""
    density = rng.uniform(900, 3000)
    if shape == 'mesh':
        mesh = mesh_part(rng, size)
    elif shape == 'box':
        mesh = trimesh.creation.box((0.3 * size, 0.45 * size, size))
    else:
        mesh = trimesh.creation.cylinder(radius=0.2 * size, height=size, sections=256)
    rpy = np.zeros(3) if shape == 'mesh' else rng.uniform(-0.5, 0.5, 3)
    T = pose(rotation_rpy(*rpy), np.array([0.02 * size, 0.1 * size, 0.45 * size]))
    return _text(name, density, mesh, T, rpy, shape, size, folder, source, mirror)


def _text(name, density, mesh, T, rpy, shape, size, folder, source, mirror):
    placed = mesh.copy()
    placed.apply_transform(T)
    S = np.diag([1.0, -1.0 if mirror else 1.0, 1.0])
    if mirror:
        placed.apply_transform(np.diag([1.0, -1.0, 1.0, 1.0]))
        placed.fix_normals()
    if shape == 'cylinder':
        volume = np.pi * (0.2 * size) ** 2 * size
        inertia = (
            density * volume * np.diag([(3 * 0.04 + 1) * size**2 / 12] * 2 + [0.04 * size**2 / 2])
        )
        inertia = S @ T[:3, :3] @ inertia @ T[:3, :3].T @ S
    else:
        volume, inertia = placed.volume, density * placed.moment_inertia
    body = Inertial(density * volume, np.array(placed.center_mass), np.array(inertia))
    if shape == 'mesh':
        file = folder / f'{name}.stl'
        placed.export(file)
        geometry = f'<mesh filename="package://robot/{file.name}"/>'
        origin = ''
    else:
        words = {
            'box': f'<box size="{0.3 * size} {0.45 * size} {size}"/>',
            'cylinder': f'<cylinder radius="{0.2 * size}" length="{size}"/>',
        }
        geometry = words[shape]
        R = S @ T[:3, :3] @ S
        angles = [-rpy[0], rpy[1], -rpy[2]] if mirror else rpy
        assert np.allclose(rotation_rpy(*angles), R)
        xyz = S @ T[:3, 3]
        origin = f'<origin xyz="{_words(xyz)}" rpy="{_words(angles)}"/>'
    I = body.inertia_com
    return (
        (
            f'  <link name="{name}">\n    <inertial>\n'
            f'      <origin xyz="{_words(body.com)}"/>\n      <mass value="{body.mass!r}"/>\n'
            f'      <inertia ixx="{I[0, 0]!r}" ixy="{I[0, 1]!r}" ixz="{I[0, 2]!r}" '
            f'iyy="{I[1, 1]!r}" iyz="{I[1, 2]!r}" izz="{I[2, 2]!r}"/>\n    </inertial>\n'
            f'    <{source}>{origin}<geometry>{geometry}</geometry></{source}>\n  </link>\n'
        )
        .replace('np.float64(', '')
        .replace(')"', '"')
    )


def _words(values):
    return ' '.join(repr(float(value)) for value in values)


def joint_text(name, parent, child, xyz, axis, *, effort=150.0, velocity=3.0, rpy=(0, 0, 0),
               limits=(-1.8, 2.4), kind='revolute'):  # fmt: skip
    """Return a <joint>."""
    if kind == 'fixed':
        body = ''
    else:
        body = (
            f'    <axis xyz="{axis}"/>\n    <limit lower="{limits[0]}" upper="{limits[1]}" '
            f'effort="{effort}" velocity="{velocity}"/>\n'
        )
    return (
        f'  <joint name="{name}" type="{kind}">\n'
        f'    <origin xyz="{_words(xyz)}" rpy="{_words(rpy)}"/>\n'
        f'    <parent link="{parent}"/>\n    <child link="{child}"/>\n{body}  </joint>\n'
    )


def arm(folder, seed, *, n=5, source='collision', shapes=('mesh', 'box', 'cylinder')):
    """Return the text of a serial arm with a tool frame that has no mass."""
    rng = np.random.default_rng(seed)
    text = HEAD.format(name=f'arm_{seed}') + '  <link name="pedestal"/>\n'
    parent, height = 'pedestal', 0.1
    for i in range(n):
        size = float(rng.uniform(0.2, 0.45) * 0.9**i)
        name = f'part_{i}'
        shape = shapes[int(rng.integers(len(shapes)))]
        text += link_text(name, rng, folder, source=source, shape=shape, size=size)
        axis = ('0 0 1', '0 1 0', '1 0 0')[i % 3] if i else '0 0 1'
        at = (0.02, 0.0, height)
        text += joint_text(
            f'hinge_{i}',
            parent,
            name,
            at,
            axis,
            rpy=(0.3 * (i > 1), 0, 0),
            velocity=[2.0, 2.5, 3.2][i % 3],
            limits=(-2.1 + 0.1 * i, 2.6),
        )
        parent, height = name, size
    text += '  <link name="flange"/>\n'
    text += joint_text('mount', parent, 'flange', (0, 0, height), '', kind='fixed')
    return text + '</robot>\n'


def two_arms(folder, seed, *, source='visual'):
    """Return the text of a torso with a mirrored arm on either side, frames parallel."""
    text = HEAD.format(name=f'two_arms_{seed}') + '  <link name="pedestal"/>\n'
    rng = np.random.default_rng(seed)
    text += link_text('trunk', rng, folder, source=source, shape='box', size=0.6)
    text += joint_text('waist', 'pedestal', 'trunk', (0, 0, 0.1), '0 0 1', effort=400.0)
    for side, sign in (('l', 1), ('r', -1)):
        rng = np.random.default_rng(seed + 1)
        parent, at = 'trunk', (0.0, 0.25 * sign, 0.5)
        for i in range(4):
            size = float(rng.uniform(0.25, 0.35) * 0.9**i)
            name = f'{side}{i}'
            shape = ('mesh', 'box', 'cylinder')[(i + seed) % 3]
            text += link_text(name, rng, folder, source=source, shape=shape, size=size,
                              mirror=sign < 0)  # fmt: skip
            axis = ('0 1 0', '1 0 0', '0 1 0', '0 0 1')[i]
            limits = (-1.2, 2.3) if axis == '0 1 0' or sign > 0 else (-2.3, 1.2)
            text += joint_text(f'{side}_hinge{i}', parent, name, at, axis, limits=limits)
            parent, at = name, (0.0, 0.03 * sign, size)
    return text + '</robot>\n'
