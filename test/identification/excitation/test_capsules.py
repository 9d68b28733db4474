# SPDX-License-Identifier: Apache-2.0
"""Capsules: they cover the shapes, and their distances are those of another library."""

import struct
from itertools import combinations

import numpy as np
import pytest

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.resources import share_file
from robot_dynamics.common.spatial import rotation_rpy
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.states import random_postures
from robot_dynamics.identification.excitation.capsules import capsules_of
from robot_dynamics.identification.excitation.clearance import Capsule, clearance
from robot_dynamics.urdf.geometry.meshes import mesh_path
from robot_dynamics.urdf.loading import load_urdf

PANDA = load_urdf(share_file('urdf/panda.urdf'))
SPHERE = '<sphere radius="0.1"/>'
PLACE = '<origin xyz="0.1 -0.2 0.3" rpy="0.4 0.5 -0.6"/>'


def link(shape):
    return (
        f'<robot name="r"><link name="a"><collision>{PLACE}<geometry>{shape}</geometry>'
        '</collision></link></robot>'
    )


def depth(capsules, points):
    """Return how deep points (k, 3) lie within the capsules, m."""
    best = np.full(len(points), -np.inf)
    for _, (start, end), radius in capsules:
        along = end - start
        share = np.clip((points - start) @ along / max(along @ along, 1e-12), 0, 1)
        distance = np.linalg.norm(points - start - share[:, None] * along, axis=1)
        best = np.maximum(best, radius - distance)
    return best


def inside(kind, rng, count=2000):
    """Return random points of a box 0.1 0.3 0.5, a cylinder, capsule or sphere, in the link."""
    x = rng.uniform(-1, 1, (count, 3))
    if kind == 'box':
        x = x * [0.05, 0.15, 0.25]
    elif kind == 'cylinder':
        x = x[np.hypot(x[:, 0], x[:, 1]) < 1] * [0.05, 0.05, 0.2]
    elif kind == 'capsule':
        x *= [0.05, 0.05, 0.25]
        beyond = np.maximum(np.abs(x[:, 2]) - 0.2, 0.0)
        x = x[np.hypot(np.hypot(x[:, 0], x[:, 1]), beyond) < 0.05]
    else:
        x = 0.1 * x[np.linalg.norm(x, axis=1) < 1]
    return x @ rotation_rpy(0.4, 0.5, -0.6).T + [0.1, -0.2, 0.3]


@pytest.mark.parametrize(
    ('kind', 'shape', 'thickest'),
    [
        ('box', '<box size="0.1 0.3 0.5"/>', 0.12),
        ('cylinder', '<cylinder radius="0.05" length="0.4"/>', 0.055),
        ('capsule', '<capsule radius="0.05" length="0.4"/>', 0.06),
        ('sphere', '<sphere radius="0.1"/>', 0.115),
    ],
)
def test_shapes_are_covered_closely(kind, shape, thickest):
    capsules, remarks = capsules_of(link(shape))
    assert remarks == []
    assert depth(capsules, inside(kind, np.random.default_rng(0))).min() > -1e-9
    assert max(capsule.radius for capsule in capsules) < thickest


@pytest.mark.parametrize('order', [('a', 'b'), ('b', 'a')])
def test_each_shape_of_each_link_is_covered_by_capsules_of_that_link(order):
    shape = '<collision>{}<geometry>{}</geometry></collision>'
    far = '<origin xyz="5 0 0"/>'
    parts = {
        'a': shape.format(PLACE, '<box size="0.1 0.3 0.5"/>') + shape.format(far, SPHERE),
        'b': shape.format(PLACE, SPHERE),
    }
    links = ''.join(f'<link name="{name}">{parts[name]}</link>' for name in order)
    capsules, remarks = capsules_of(f'<robot name="r">{links}</robot>')
    assert remarks == []
    of_link = {name: [c for c in capsules if c[0] == name] for name in order}
    rng = np.random.default_rng(0)
    # The second shape is 5 m away.
    near = {name: [c for c in of_link[name] if c[1][0][0] < 2.5] for name in order}
    assert depth(near['a'], inside('box', rng)).min() > -1e-9
    assert depth(near['b'], inside('sphere', rng)).min() > -1e-9
    assert len(near['b']) == len(of_link['b'])
    ball = rng.normal(size=(500, 3))
    ball *= 0.1 / np.linalg.norm(ball, axis=1)[:, None]
    rest = [c for c in of_link['a'] if c[1][0][0] > 2.5]
    assert depth(rest, ball + np.array([5.0, 0.0, 0.0])).min() > -1e-9


@pytest.mark.parametrize('binary', [True, False])
def test_meshes_are_read(binary, tmp_path):
    corners = np.array([[0, 0, 0], [300, 0, 0], [0, 200, 0], [0, 0, 100]], dtype=float)
    faces = [corners[list(k)] for k in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))]
    file = tmp_path / 'parts' / 'meshes' / 'a.stl'
    file.parent.mkdir(parents=True)
    if binary:
        body = b''.join(struct.pack('<12fH', 0, 0, 0, *face.ravel(), 0) for face in faces)
        file.write_bytes(b'binary'.ljust(80) + struct.pack('<I', len(faces)) + body)
    else:
        rows = ['vertex ' + ' '.join(map(str, corner)) for face in faces for corner in face]
        file.write_text('solid a\nfacet normal 0 0 0\n' + '\n'.join(rows) + '\nendsolid\n')
    for name in ('package://parts/meshes/a.stl', 'meshes/a.stl', f'file://{file}'):
        folder = tmp_path / 'parts' if name.startswith('meshes') else tmp_path
        text = link(f'<mesh filename="{name}" scale="0.001 0.001 0.001"/>')
        capsules, remarks = capsules_of(text, [folder])
        assert remarks == []
        placed = 1e-3 * corners @ rotation_rpy(0.4, 0.5, -0.6).T + [0.1, -0.2, 0.3]
        assert depth(capsules, placed).min() > -1e-7
        assert max(capsule.radius for capsule in capsules) < 0.15
    assert mesh_path('package://parts/meshes/a.stl', [tmp_path / 'parts']) == file


def test_shapes_that_cannot_be_read_are_reported(tmp_path):
    (tmp_path / 'short.stl').write_bytes(b'x' * 90)
    for name, reason in (('none.stl', 'was not found'), ('short.stl', 'was not read')):
        capsules, (remark,) = capsules_of(link(f'<mesh filename="{name}"/>'), [tmp_path])
        assert capsules == []
        assert "link 'a'" in remark
        assert reason in remark
    with pytest.raises(ModelError, match=r"link 'a': <collision>.* size='1 2', which must be 3"):
        capsules_of(link('<box size="1 2"/>'))


def capsules_of_arm(rng):
    return [
        Capsule(link, rng.uniform(-0.1, 0.1, (2, 3)), rng.uniform(0.02, 0.04))
        for link in ('panda_link0', 'panda_link2', 'panda_link5', 'panda_link8')
    ]


def test_distances_are_those_of_another_library():
    coal = pytest.importorskip('coal')
    arm, capsules = Dynamics(PANDA), capsules_of_arm(np.random.default_rng(1))
    kept = clearance(arm, capsules, distance=-1.0)
    for q in random_postures(PANDA, 30):
        least = np.inf
        for a, b in combinations(range(4), 2):
            placed = []
            for name, segment, radius in (capsules[a], capsules[b]):
                T = arm.forward_kinematics(q, name)
                start, end = segment @ T[:3, :3].T + T[:3, 3]
                z = (end - start) / np.linalg.norm(end - start)
                x = np.linalg.svd(z[None])[2][1]
                R = np.column_stack([x, np.cross(z, x), z])
                shape = coal.Capsule(radius, np.linalg.norm(end - start))
                placed += [shape, coal.Transform3s(R, (start + end) / 2)]
            result = coal.DistanceResult()
            least = min(least, coal.distance(*placed, coal.DistanceRequest(), result))
        if least > 0:
            assert kept.nearest(arm, q[None])[0] == pytest.approx(least, abs=1e-6)


def test_the_penalty_has_its_derivative():
    arm, capsules = Dynamics(PANDA), capsules_of_arm(np.random.default_rng(1))
    kept = clearance(arm, capsules, distance=0.3, floor=0.5, floor_links=['panda_link8'])
    q = random_postures(PANDA, 20)
    by_q = kept.penalty(arm, q)[1]
    assert np.abs(by_q).max() > 1
    for j in range(7):
        step = np.zeros(7)
        step[j] = 1e-6
        for k in range(20):
            ends = [kept.penalty(arm, q[k : k + 1] + s * step)[0] for s in (1, -1)]
            slope = (ends[0] - ends[1]) / 2e-6
            assert by_q[k, j] == pytest.approx(slope, rel=1e-4, abs=1e-4 * np.abs(by_q).max())
