# SPDX-License-Identifier: Apache-2.0
"""Product of exponentials: the same arm as by Denavit–Hartenberg and by URDF, number by number."""

import itertools

import numpy as np
import pytest

from robot_dynamics.common.errors import InertialWarning, ModelError
from robot_dynamics.common.spatial import (
    adjoint,
    axis_rotation,
    inverse_pose,
    lie_bracket,
    pose,
    rotation_rpy,
    rotation_x,
    rotation_z,
    spatial_inertia,
)
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.model.dh import from_dh
from robot_dynamics.core.model.inertia import Inertial, transformed
from robot_dynamics.core.model.robots import random_inertial, random_tree
from robot_dynamics.core.model.screws import exponential, from_screws, to_screws
from robot_dynamics.formulations import closed_form_matrix, euler_lagrange, twist_wrench
from robot_dynamics.urdf.loading import parse_urdf

# One arm, by its modified table: turning, sliding, turning, turning.
TABLE = [
    (0.0, 0.0, 0.5, 0.3, 'revolute'),
    (0.1, -np.pi / 2, 0.2, 0.0, 'prismatic'),
    (0.4, 0.7, 0.1, -0.4, 'revolute'),
    (0.05, np.pi / 2, 0.3, 0.2, 'revolute'),
]
N = len(TABLE)
BODIES = [random_inertial(np.random.default_rng(k)) for k in range(N)]
GRAVITY = (1.0, -2.0, -9.0)
TOOL = pose(rotation_rpy(0.1, 0.2, 0.3), np.array([0.0, 0.1, 0.2]))


def by_modified_dh():
    return from_dh(TABLE, convention='modified', inertias=BODIES, gravity=GRAVITY)


def by_standard_dh():
    """Return the same arm from a standard table: each row takes a and alpha of the next link.

    Its first row cannot hold an a_0 or alpha_0; TABLE has none.
    """
    a = [row[0] for row in TABLE[1:]] + [0.0]
    alpha = [row[1] for row in TABLE[1:]] + [0.0]
    rows = [(a[i], alpha[i], TABLE[i][2], TABLE[i][3], TABLE[i][4]) for i in range(N)]
    # Frame {i} of the standard table lies Tx(a) Rx(alpha) beyond that of the modified one.
    beyond = [pose(rotation_x(alpha[i]), np.array([a[i], 0, 0])) for i in range(N)]
    bodies = [transformed(b, inverse_pose(T)) for b, T in zip(BODIES, beyond, strict=True)]
    return from_dh(rows, convention='standard', inertias=bodies, gravity=GRAVITY)


def home_poses():
    """Return the pose of every link frame of TABLE at q = 0."""
    T, poses = np.eye(4), []
    for a, alpha, d, theta, _ in TABLE:
        T = T @ pose(rotation_x(alpha), np.array([a, 0, 0]))
        T = T @ pose(rotation_z(theta), np.array([0, 0, d]))
        poses.append(T)
    return poses


def screw_description(at_com=True):
    """Return S, M, G of TABLE; link frames at the centres of mass, or at the joints."""
    poses = home_poses()
    S = [
        np.concatenate([T[:3, 2], -np.cross(T[:3, 2], T[:3, 3])])
        if row[4] == 'revolute'
        else np.concatenate([np.zeros(3), T[:3, 2]])
        for T, row in zip(poses, TABLE, strict=True)
    ]
    frames, G = poses, [spatial_inertia(b.mass, b.com, b.inertia_com) for b in BODIES]
    if at_com:
        frames = [T @ pose(np.eye(3), b.com) for T, b in zip(poses, BODIES, strict=True)]
        G = [spatial_inertia(b.mass, np.zeros(3), b.inertia_com) for b in BODIES]
    chain = [np.eye(4), *frames, poses[-1] @ TOOL]
    M = [inverse_pose(A) @ B for A, B in itertools.pairwise(chain)]
    return np.array(S).T, np.array(M), np.array(G)


def by_screws(at_com=True):
    return from_screws(*screw_description(at_com), gravity=GRAVITY)


def by_urdf():
    text, parent, before = '<robot name="arm"><link name="base"/>', 'base', np.eye(4)
    for i, (T, row, body) in enumerate(zip(home_poses(), TABLE, BODIES, strict=True)):
        step, before = inverse_pose(before) @ T, T
        tensor = zip(
            ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'),
            body.inertia_com[np.triu_indices(3)],
            strict=True,
        )
        text += f"""
            <link name="link{i + 1}"><inertial>
              <mass value="{body.mass}"/><origin xyz="{digits(body.com)}"/>
              <inertia {' '.join(f'{name}="{float(value)!r}"' for name, value in tensor)}/>
            </inertial></link>
            <joint name="joint{i + 1}" type="{row[4]}">
              <parent link="{parent}"/><child link="link{i + 1}"/><axis xyz="0 0 1"/>
              <origin xyz="{digits(step[:3, 3])}" rpy="{digits(roll_pitch_yaw(step[:3, :3]))}"/>
              <limit lower="-9" upper="9" effort="9" velocity="9"/>
            </joint>"""
        parent = f'link{i + 1}'
    return parse_urdf(text + '</robot>', gravity=GRAVITY)


def digits(values):
    return ' '.join(repr(float(value)) for value in values)


def roll_pitch_yaw(R):
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    return np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])


DESCRIPTIONS = {
    'standard DH': by_standard_dh,
    'screws, frames at the centres of mass': by_screws,
    'screws, frames at the joints': lambda: by_screws(at_com=False),
    'URDF': by_urdf,
}


@pytest.mark.parametrize('description', DESCRIPTIONS)
def test_all_descriptions_give_the_same_model(description):
    expected, arm = by_modified_dh(), DESCRIPTIONS[description]()
    assert arm.n == expected.n
    for q, qd, qdd in np.random.default_rng(0).normal(size=(5, 3, N)):
        tau = euler_lagrange.inverse_dynamics(expected, q, qd, qdd)
        other = closed_form_matrix.inverse_dynamics(arm, q, qd, qdd)
        np.testing.assert_allclose(other, tau, rtol=0, atol=1e-12 * np.abs(tau).max())
        M = closed_form_matrix.mass_matrix(arm, q)
        M_expected = euler_lagrange.mass_matrix(expected, q)
        np.testing.assert_allclose(M, M_expected, rtol=0, atol=1e-12 * np.abs(M).max())


def test_forward_kinematics_is_the_product_of_exponentials():
    S, M, G = screw_description()
    arm = from_screws(S, M, G)
    for q in np.random.default_rng(0).normal(size=(5, N)):
        T, home = np.eye(4), np.eye(4)
        for i in range(N):
            T, home = T @ exponential(S[:, i], q[i]), home @ M[i]
            np.testing.assert_allclose(
                kin.frame_pose(arm, q, f'link{i + 1}'), T @ home, atol=1e-14
            )
        np.testing.assert_allclose(kin.frame_pose(arm, q, 'tool'), T @ home @ M[N], atol=1e-14)


def test_screws_need_not_be_unit():
    """q_i multiplies S_i as given: k times the screw is k times the motion."""
    S, M, G = screw_description()
    k = np.array([2.0, 0.25, -3.0, 0.7])
    unit, scaled = from_screws(S, M, G), from_screws(S * k, M, G)
    for q, qd, qdd in np.random.default_rng(0).normal(size=(5, 3, N)):
        tau = twist_wrench.inverse_dynamics(unit, k * q, k * qd, k * qdd)
        other = twist_wrench.inverse_dynamics(scaled, q, qd, qdd)
        # Equal power: tau^T (k qd) = (k tau)^T qd
        np.testing.assert_allclose(other, k * tau, rtol=0, atol=1e-11 * np.abs(tau).max())
        tool = kin.frame_pose(scaled, q, 'tool')
        np.testing.assert_allclose(tool, kin.frame_pose(unit, k * q, 'tool'), atol=1e-13)


def test_unit_screws_are_plain_joints():
    np.testing.assert_array_equal(by_screws().S, np.eye(N))


@pytest.mark.parametrize('n', [1, 5, 9])
def test_to_screws_and_back(n):
    rng = np.random.default_rng(n)
    arm = random_tree(n, rng, branching=0.0)
    A, M, G = to_screws(arm)
    home, S = np.eye(4), []
    for i in range(n):
        home = home @ M[i]
        # S_i = Ad(M_i) A_i        (9.40)
        S.append(adjoint(home) @ A[i])
    back = from_screws(np.array(S).T, [*M, np.eye(4)], G, gravity=arm.gravity)
    q, qd, qdd = rng.normal(size=(3, n))
    tau = twist_wrench.inverse_dynamics(arm, q, qd, qdd)
    other = twist_wrench.inverse_dynamics(back, q, qd, qdd)
    np.testing.assert_allclose(other, tau, rtol=0, atol=1e-12 * np.abs(tau).max())


def test_exponential_solves_its_differential_equation():
    """dT/dt = [S] T, by a complex step, and T(0) = 1."""
    w = np.array([0.48, 0.6, 0.64])
    for S in (np.append(w, [0.3, -0.2, 0.5]), np.append(np.zeros(3), w)):
        bracket = np.zeros((4, 4))
        bracket[:3, :3], bracket[:3, 3] = lie_bracket(S)[:3, :3], S[3:]
        np.testing.assert_allclose(exponential(S, 0.0), np.eye(4))
        for theta in (-2.0, 0.3, 5.0):
            rate = np.imag(exponential(S, theta + 1e-30j)) / 1e-30
            np.testing.assert_allclose(rate, bracket @ exponential(S, theta), atol=1e-14)


def test_pitch_is_rejected():
    S, M, G = screw_description()
    S = S.copy()
    S[3:, 2] += 0.1 * S[:3, 2]
    with pytest.raises(ModelError, match=r'screw 2 is .* with a pitch of 0.1 m/rad'):
        from_screws(S, M, G)


def change(name, index, value):
    parts = dict(zip('SMG', screw_description(), strict=True))
    parts[name] = parts[name].copy()
    parts[name][index] = value
    return parts


@pytest.mark.parametrize(
    ('parts', 'message'),
    [
        (change('S', (slice(None), 1), 0.0), r'screw 1 is zero'),
        (change('S', (2, 0), np.nan), r'S\[2, 0\] is nan; it must be finite'),
        (change('M', (3, slice(0, 3), 0), 0.0), r'placement M\[3\] is .* a pose'),
        (change('M', (0, 3, 3), 2.0), r'placement M\[0\] is .* a pose'),
        (change('G', (1, 0, 1), 5.0), r'inertia 1 is .* expected a rigid-body inertia'),
        (change('G', (2, 3, 3), 100.0), r'inertia 2 is .* expected a rigid-body inertia'),
        (change('G', (0, 0, 4), 0.5), r'inertia 0 is .* expected a rigid-body inertia'),
    ],
)
def test_bad_values_are_named(parts, message):
    with pytest.raises(ModelError, match=message):
        from_screws(**parts)


def test_bad_shapes_are_named():
    S, M, G = screw_description()
    with pytest.raises(ModelError, match=r'S has shape \(4, 6\); it must be \(6, n\)'):
        from_screws(S.T, M, G)
    with pytest.raises(ModelError, match=r'M has shape \(4, 4, 4\).*need \(5, 4, 4\)'):
        from_screws(S, M[:-1], G)
    with pytest.raises(ModelError, match=r'G has shape \(3, 6, 6\).*need \(4, 6, 6\)'):
        from_screws(S, M, G[:-1])
    with pytest.raises(ModelError, match=r'S is not an array of numbers'):
        from_screws('screws', M, G)


def test_negative_mass_is_rejected_and_an_impossible_tensor_warned_about():
    S, M, _ = screw_description()
    heavy = spatial_inertia(1.0, np.zeros(3), np.eye(3))
    negative = spatial_inertia(-1.0, np.zeros(3), np.eye(3))
    with pytest.raises(ModelError, match=r"mass of 'link2' is -1.0 kg"):
        from_screws(S, M, [heavy, negative, heavy, heavy])
    impossible = spatial_inertia(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0]))
    with pytest.warns(InertialWarning, match='inertia 1 is .*triangle inequality'):
        from_screws(S, M, [heavy, impossible, heavy, heavy])


def test_a_massless_link_and_a_turned_frame():
    """One link about a skew axis through a point off its frame: the pendulum's inertia."""
    axis, point = np.array([0.0, 0.6, 0.8]), np.array([0.2, 0.0, 0.1])
    S = np.append(axis, -np.cross(axis, point))[:, None]
    R = axis_rotation(np.array([0.8, 0.0, 0.6]), 1.1)
    M_01 = pose(R, np.array([0.5, -0.3, 0.4]))
    body = Inertial(2.0, np.zeros(3), np.diag([0.1, 0.2, 0.25]))
    G = spatial_inertia(body.mass, body.com, body.inertia_com)
    arm = from_screws(S, [M_01, np.eye(4)], [G])
    lever = np.cross(axis, M_01[:3, 3] - point)
    expected = body.mass * lever @ lever + axis @ R @ body.inertia_com @ R.T @ axis
    M = closed_form_matrix.mass_matrix(arm, np.array([0.7]))
    np.testing.assert_allclose(M, [[expected]], rtol=1e-14)
    empty = from_screws(S, [M_01, np.eye(4)], [np.zeros((6, 6))])
    assert empty.massless_joints() == ['joint1']
