# SPDX-License-Identifier: Apache-2.0
"""Denavit–Hartenberg tables of both conventions, against the matrices of the books."""

import numpy as np
import pytest

from robot_dynamics.common.errors import InertialWarning, ModelError
from robot_dynamics.common.spatial import inverse_pose
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.model.dh import from_dh, load_dh
from robot_dynamics.core.model.inertia import Inertial, transformed
from robot_dynamics.core.model.robots import random_inertial
from robot_dynamics.formulations import lagrange_euler_4x4, newton_euler_link_frame

KINDS = ['revolute', 'prismatic', 'revolute', 'revolute', 'prismatic', 'revolute']


def standard_matrix(a, alpha, d, theta):
    """Return A_i of Milićević, Golubović and Slavković, (2.1)."""
    ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array(
        [
            [ct, -st * ca, st * sa, a * ct],
            [st, ct * ca, -ct * sa, a * st],
            [0, sa, ca, d],
            [0, 0, 0, 1],
        ]
    )


def modified_matrix(a, alpha, d, theta):
    """Return T_{i-1,i} of Craig, (3.6), with a and alpha of link i - 1."""
    ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array(
        [
            [ct, -st, 0, a],
            [st * ca, ct * ca, -sa, -sa * d],
            [st * sa, ct * sa, ca, ca * d],
            [0, 0, 0, 1],
        ]
    )


MATRICES = {'standard': standard_matrix, 'modified': modified_matrix}


def random_table(rng):
    return [(*rng.uniform(-1.5, 1.5, 4), kind) for kind in KINDS]


def moved(row, q):
    a, alpha, d, theta, kind = row
    return (a, alpha, d, theta + q) if kind == 'revolute' else (a, alpha, d + q, theta)


@pytest.mark.parametrize('convention', MATRICES)
def test_frames_are_those_of_the_table(convention):
    rng = np.random.default_rng(0)
    table = random_table(rng)
    inertias = [random_inertial(rng) for _ in table]
    arm = from_dh(table, convention=convention, inertias=inertias)
    for q in rng.normal(size=(5, arm.n)):
        T, poses = np.eye(4), kin.body_poses(arm, q)
        for i, row in enumerate(table):
            T = T @ MATRICES[convention](*moved(row, q[i]))
            np.testing.assert_allclose(kin.frame_pose(arm, q, f'link{i + 1}'), T, atol=1e-14)
            # The inertia, too, is given in the row's frame.
            com = kin.com_positions(arm, poses)[i]
            np.testing.assert_allclose(com, T[:3, :3] @ inertias[i].com + T[:3, 3], atol=1e-14)
            R = poses[i, :3, :3]
            np.testing.assert_allclose(
                R @ arm.inertia_com[i] @ R.T,
                T[:3, :3] @ inertias[i].inertia_com @ T[:3, :3].T,
                atol=1e-14,
            )


def puma_like(convention):
    """Return one arm of three joints, two of them crossing at right angles, in each convention.

    The standard table has its frames at the far ends of the links, the modified one at the near
    ends; the same bodies are therefore given in other frames.
    """
    bodies = [random_inertial(np.random.default_rng(k)) for k in range(3)]
    if convention == 'standard':
        table = [
            (0.0, np.pi / 2, 0.6, 0.0, 'revolute'),
            (0.4, 0.0, 0.1, 0.0, 'revolute'),
            (0.3, 0.0, 0.0, 0.0, 'revolute'),
        ]
        tails = [standard_matrix(a, alpha, 0, 0) for a, alpha, *_ in table]
        bodies = [transformed(b, inverse_pose(T)) for b, T in zip(bodies, tails, strict=True)]
    else:
        table = [
            (0.0, 0.0, 0.6, 0.0, 'revolute'),
            (0.0, np.pi / 2, 0.1, 0.0, 'revolute'),
            (0.4, 0.0, 0.0, 0.0, 'revolute'),
        ]
    return from_dh(table, convention=convention, inertias=bodies)


def test_both_conventions_describe_the_same_arm():
    standard, modified = puma_like('standard'), puma_like('modified')
    rng = np.random.default_rng(5)
    for q, qd, qdd in rng.normal(size=(10, 3, 3)):
        tau = lagrange_euler_4x4.inverse_dynamics(standard, q, qd, qdd)
        other = newton_euler_link_frame.inverse_dynamics(modified, q, qd, qdd)
        np.testing.assert_allclose(tau, other, atol=1e-12 * np.abs(tau).max())


def row(**changes):
    good = {'a': 0.1, 'alpha': 0.2, 'd': 0.3, 'theta': 0.4, 'kind': 'revolute'}
    return tuple({**good, **changes}.values())


@pytest.mark.parametrize(
    ('bad', 'message'),
    [
        (row(a=float('nan')), r'row 1: a is nan; it must be finite'),
        (row(d=float('inf')), r'row 1: d is inf; it must be finite'),
        (row(theta='east'), r"row 1: theta is 'east'; it must be a number"),
        (row(alpha=None), r'row 1: alpha is None; it must be a number'),
        (row(kind='helical'), r"row 1: kind is 'helical'; it must be one of"),
        ((1, 2, 3), r'row 1 is \(1, 2, 3\); it must be \(a, alpha, d, theta, kind\)'),
        (7, r'row 1 is 7; it must be'),
    ],
)
def test_bad_rows_are_named(bad, message):
    with pytest.raises(ModelError, match=message):
        from_dh([row(), bad], convention='standard', inertias=[Inertial(1.0)] * 2)


@pytest.mark.parametrize('letter', ['alpha', 'theta'])
@pytest.mark.parametrize('degrees', [45, -90, 90, -180, 180.0])
def test_degrees_are_named_with_their_radians(letter, degrees):
    radians = f'{np.deg2rad(degrees):.5g}'
    message = (
        f'row 1: {letter} is {degrees:g} rad; expected radians, at most 2 pi in size: '
        f'{degrees:g} degrees are {radians}'
    )
    with pytest.raises(ModelError, match=f'^{message}$'):
        from_dh(
            [row(), row(**{letter: degrees})],
            convention='standard',
            inertias=[Inertial(1.0)] * 2,
        )


@pytest.mark.parametrize('angle', [-2 * np.pi, -6.2832, 0.0, 6.2832, 2 * np.pi])
def test_angles_of_up_to_a_turn_and_any_length_are_accepted(angle):
    table = [row(alpha=angle, theta=angle, a=45.0, d=-90.0)]
    for convention, matrix in MATRICES.items():
        arm = from_dh(table, convention=convention, inertias=[Inertial(1.0)])
        T = kin.frame_pose(arm, np.zeros(1), 'link1')
        np.testing.assert_allclose(T, matrix(45.0, angle, -90.0, angle), atol=1e-12)


@pytest.mark.parametrize(
    ('body', 'message'),
    [
        (Inertial(-1.0), r'row 0: mass is -1.0 kg; it must not be negative'),
        (Inertial(float('nan')), r'row 0: mass is nan; it must be finite'),
        (Inertial(1.0, np.zeros(2)), r'row 0: com is \[0.0, 0.0\]; .* shape \(3,\)'),
        (Inertial(1.0, np.zeros(3), np.triu(np.ones((3, 3)))), r'row 0: inertia is .* symmetric'),
        (3.0, r'inertia of row 0 is 3.0; it must be an Inertial'),
    ],
)
def test_bad_inertias_are_named(body, message):
    with pytest.raises(ModelError, match=message):
        from_dh([row()], convention='standard', inertias=[body])


def test_other_invalid_arguments_are_rejected_by_name():
    with pytest.raises(ModelError, match=r"convention is 'craig'; it must be one of"):
        from_dh([row()], convention='craig', inertias=[Inertial(1.0)])
    with pytest.raises(ModelError, match=r'2 inertias for 1 rows'):
        from_dh([row()], convention='modified', inertias=[Inertial(1.0)] * 2)
    with pytest.raises(ModelError, match=r'the table has no rows'):
        from_dh([], convention='modified', inertias=[])


def test_an_impossible_inertia_is_warned_about():
    flat = Inertial(1.0, np.zeros(3), np.diag([0.0, 0.35, 0.0]))
    with pytest.warns(InertialWarning, match=r"robot 'dh', row 0: .*triangle inequality"):
        from_dh([row()], convention='standard', inertias=[flat])


# -- tables in files ------------------------------------------------------------------------

HEAD = 'a, alpha, d, theta, type, mass, com, inertia'
ROWS = [
    (0.4, -np.pi / 2, 0.1, 0.0, 'revolute', 3.0, '0.1 -0.2 0.3', '0.1 0.2 0.25'),
    (0.0, 0.75 * np.pi, 0.0, -np.pi, 'prismatic', 0.5, '0 0 0', '0.1 0.01 -0.02 0.2 0.03 0.25'),
]
TEXT = f"""# a comment
{HEAD}
0.4, -pi/2,   0.1, 0,   revolute,  3,   0.1 -0.2 0.3, 0.1 0.2 0.25

0,   0.75*pi, 0,   -pi, prismatic, 0.5, 0 0 0,        0.1 0.01 -0.02 0.2 0.03 0.25
"""


def written(tmp_path, text=TEXT):
    file = tmp_path / 'my_arm.csv'
    file.write_text(text, encoding='utf-8')
    return file


@pytest.mark.parametrize('convention', MATRICES)
def test_a_table_in_a_file_is_the_same_arm(convention, tmp_path):
    tensors = [
        np.diag([0.1, 0.2, 0.25]),
        np.array([[0.1, 0.01, -0.02], [0.01, 0.2, 0.03], [-0.02, 0.03, 0.25]]),
    ]
    bodies = [
        Inertial(row[5], np.array(row[6].split(), dtype=float), tensor)
        for row, tensor in zip(ROWS, tensors, strict=True)
    ]
    table = [row[:5] for row in ROWS]
    gravity = (0.0, -9.81, 0.0)
    given = from_dh(table, convention=convention, inertias=bodies, gravity=gravity, name='my_arm')
    read = load_dh(written(tmp_path), convention=convention, gravity=gravity)
    assert read.name == 'my_arm'
    assert read.fingerprint() == given.fingerprint()


def test_columns_of_a_file_have_any_order(tmp_path):
    rows = [HEAD.split(', '), *(map(str, row) for row in ROWS)]
    turned = '\n'.join(','.join(reversed(list(row))) for row in rows)
    given = load_dh(written(tmp_path), convention='modified')
    read = load_dh(written(tmp_path, turned), convention='modified')
    assert read.fingerprint() == given.fingerprint()


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        (TEXT, '', 'the columns are ; expected a, alpha, d, theta, type, mass, com, inertia'),
        ('alpha', 'beta', 'the columns are a, beta, d'),
        (', -pi/2', '', 'row 0 has 7 values; expected 8'),
        ('-pi/2', '-90', 'row 0: alpha is -90 rad; expected radians, .* degrees are -1.5708'),
        ('-0.2 0.3', '-0.2, 0.3', 'row 0 has 9 values; expected 8; x y z of com, and'),
        ('-pi/2', 'pie', "row 0: alpha is 'pie'; it must be a number, or a multiple of pi"),
        ('-pi/2', 'pi/0', "row 0: alpha is 'pi/0'; it must be a number"),
        ('-pi/2', 'nan', 'row 0: alpha is nan; it must be finite'),
        ('0.1 -0.2 0.3', '0.1 -0.2', "row 0: com is '0.1 -0.2'; it must be 3 numbers"),
        ('0.1 0.2 0.25', '0.1', "row 0: inertia is '0.1'; it must be 3 or 6 numbers"),
        ('prismatic', 'fixed', "row 1: kind is 'fixed'; it must be one of"),
        (', 0.5,', ', -1,', 'inertia of row 1: mass is -1.0 kg; it must not be negative'),
    ],
)
def test_wrong_cells_are_rejected_by_name(old, new, message, tmp_path):
    assert old in TEXT
    file = written(tmp_path, TEXT.replace(old, new))
    with pytest.raises(ModelError, match=message) as error:
        load_dh(file, convention='standard')
    assert str(error.value).startswith(f'{file}: ')


def test_a_missing_file_is_named():
    with pytest.raises(ModelError, match=r'^/no\.csv: No such file or directory$'):
        load_dh('/no.csv', convention='standard')
