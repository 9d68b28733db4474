# SPDX-License-Identifier: Apache-2.0
"""The public class: signatures, shapes, broadcasting, errors. Values: test/core/algorithms."""

import copy
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.core.model.robots import planar_2r, random_tree

N = 4
METHODS = {
    'inverse_dynamics': (3, (N,)),
    'forward_dynamics': (3, (N,)),
    'mass_matrix': (1, (N, N)),
    'coriolis_matrix': (2, (N, N)),
    'gravity_torque': (1, (N,)),
    'gravity_torque_derivative': (1, (N, N)),
    'coriolis_torque': (2, (N,)),
    'bias_torque': (2, (N,)),
    'friction_torque': (1, (N,)),
    'kinetic_energy': (2, ()),
    'potential_energy': (1, ()),
    'regressor': (3, (N, 10 * N)),
}


@pytest.fixture(scope='module')
def arm():
    model = random_tree(N, np.random.default_rng(3))
    return rd.Dynamics(model.with_actuation(viscous=0.3, coulomb=[0.1, 0.2, 0.0, 0.4]))


@pytest.mark.parametrize('method', METHODS)
def test_leading_axes_broadcast_and_equal_single_calls(arm, method):
    count, shape = METHODS[method]
    rng = np.random.default_rng(0)
    # (2, 1, n), (3, n) and (n,) broadcast to (2, 3, n)
    arguments = [rng.normal(size=lead) for lead in ((2, 1, N), (3, N), (N,))[:count]]
    leading = np.broadcast_shapes(*(a.shape[:-1] for a in arguments))
    result = getattr(arm, method)(*arguments)
    assert result.shape == (*leading, *shape)
    assert result.dtype == np.float64
    assert result.flags.c_contiguous
    full = [np.broadcast_to(a, (*leading, N)) for a in arguments]
    for index in np.ndindex(*leading):
        one = getattr(arm, method)(*(a[index] for a in full))
        np.testing.assert_allclose(result[index], one, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize('method', METHODS)
def test_lists_and_other_dtypes_are_taken(arm, method):
    count, _ = METHODS[method]
    rows = np.random.default_rng(1).integers(-2, 3, size=(count, N))
    expected = getattr(arm, method)(*rows.astype(float))
    np.testing.assert_array_equal(getattr(arm, method)(*rows.tolist()), expected)
    np.testing.assert_array_equal(getattr(arm, method)(*rows.astype(np.float32)), expected)
    strided = np.repeat(rows.astype(float), 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(getattr(arm, method)(*strided), expected)


@pytest.mark.parametrize('method', [m for m, (_, shape) in METHODS.items() if shape])
def test_out_is_filled_and_returned(arm, method):
    count, shape = METHODS[method]
    arguments = np.random.default_rng(2).normal(size=(count, N))
    out = np.full(shape, np.nan)
    assert getattr(arm, method)(*arguments, out=out) is out
    np.testing.assert_array_equal(out, getattr(arm, method)(*arguments))


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('wrong', [np.zeros(N + 1), np.zeros(()), np.zeros((N, 1)), 'abcd', None])
def test_a_wrong_argument_is_named(arm, method, wrong):
    count, _ = METHODS[method]
    names = ['q', 'qd', 'qdd'] if method != 'friction_torque' else ['qd']
    if method == 'forward_dynamics':
        names[2] = 'tau'
    good = np.zeros(N)
    for k in range(count):
        arguments = [wrong if j == k else good for j in range(count)]
        with pytest.raises(rd.ShapeError, match=rf'\b{names[k]}\b'):
            getattr(arm, method)(*arguments)


@pytest.mark.parametrize('method', METHODS)
def test_methods_have_the_same_signature_on_the_class_and_on_an_arm(arm, method):
    ours = inspect.signature(getattr(arm, method)).parameters
    on_class = inspect.signature(getattr(rd.Dynamics, method)).parameters
    assert [*on_class] == ['self', *ours]
    assert [(p.kind, p.default) for p in ours.values()] == [
        (p.kind, p.default) for p in on_class.values()
    ][1:]
    text = inspect.getdoc(getattr(rd.Dynamics, method))
    assert inspect.getdoc(getattr(arm, method)) == text
    assert all(f'\n    {name}: ' in text for name in ours)
    assert all(f'\n{section}:' in text for section in ('Args', 'Returns', 'Raises', 'Source'))


def test_methods_can_be_called_on_the_class(arm):
    q = np.ones(N)
    np.testing.assert_array_equal(rd.Dynamics.mass_matrix(arm, q), arm.mass_matrix(q))


def test_reprs_are_short(arm):
    assert repr(arm) == "<Dynamics of 'random_tree_4': 4 joints, joint1, joint2, joint3, joint4>"
    many = random_tree(30, np.random.default_rng(0))
    assert repr(many) == "<RobotModel 'random_tree_30': 30 joints, joint1, joint2, ..., joint30>"


def test_terms_agree_with_the_single_functions(arm):
    q, qd = np.random.default_rng(4).normal(size=(2, 5, N))
    terms = arm.terms(q, qd)
    assert terms._fields == ('M', 'C', 'g')
    np.testing.assert_allclose(terms.M, arm.mass_matrix(q), rtol=0, atol=1e-12)
    np.testing.assert_allclose(terms.C, arm.coriolis_matrix(q, qd), rtol=0, atol=1e-12)
    np.testing.assert_allclose(terms.g, arm.gravity_torque(q), rtol=0, atol=1e-12)


def test_friction_is_odd_and_saturates_at_viscous_plus_coulomb(arm):
    qd = np.array([0.5, -0.7, 1.0, 2.0])
    np.testing.assert_allclose(
        arm.friction_torque(qd), 0.3 * qd + np.array([0.1, 0.2, 0.0, 0.4]) * np.sign(qd)
    )
    np.testing.assert_array_equal(arm.friction_torque(-qd), -arm.friction_torque(qd))
    np.testing.assert_array_equal(arm.friction_torque(np.zeros(N)), np.zeros(N))


def test_frames_are_found_by_name_or_rejected(arm):
    q = np.zeros(N)
    assert arm.forward_kinematics(q, 'link4').shape == (4, 4)
    assert arm.jacobian(np.zeros((7, N)), 'link2').shape == (7, 6, N)
    assert arm.jacobian_dot(q, q, 'link2').shape == (6, N)
    for call in (
        lambda: arm.forward_kinematics(q, 'tool'),
        lambda: arm.jacobian(q, 'tool'),
        lambda: arm.jacobian_dot(q, q, 'tool'),
        lambda: arm.wrench_torque(q, np.zeros(6), 'tool'),
        lambda: arm.operational_space(q, q, 'tool'),
    ):
        with pytest.raises(rd.FrameNotFound, match="no frame 'tool'; the model has base, link1"):
            call()


def test_wrench_torque_follows_from_virtual_work(arm):
    q = np.random.default_rng(5).normal(size=N)
    F = np.arange(6.0)
    np.testing.assert_allclose(
        arm.wrench_torque(q, F, 'link4'), arm.jacobian(q, 'link4').T @ F, atol=1e-13
    )


def test_forward_dynamics_rejects_joints_without_inertia_by_name():
    massless_tip = planar_2r(masses=(1.0, 0.0), inertias=(0.1, 0.0))
    q = np.zeros(2)
    arm = rd.Dynamics(massless_tip)
    with pytest.raises(rd.ModelError, match="joint 'joint2' moves no inertia"):
        arm.forward_dynamics(q, q, q)
    # Everything that stays defined still works.
    assert np.isfinite(arm.inverse_dynamics(q, q, q)).all()


def test_forward_dynamics_rejects_a_point_mass_on_its_axis():
    point_on_axis = rd.Inertial(1.0, np.array([0.0, 0.0, 0.3]))
    model = build_tree(
        'spindle', [-1], [True], [np.array([0.0, 0.0, 1.0])], [np.eye(4)], [point_on_axis]
    )
    with pytest.raises(rd.ModelError, match="joint 'joint1' moves no inertia"):
        rd.Dynamics(model).forward_dynamics([0.0], [0.0], [1.0])
    # The rotor's inertia is enough.
    driven = model.with_actuation(gear_ratio=10.0, rotor_inertia=0.02)
    np.testing.assert_allclose(rd.Dynamics(driven).forward_dynamics([0.0], [0.0], [1.0]), [0.5])


def test_operational_space_reports_singularities_instead_of_dividing_by_them():
    arm = rd.Dynamics(planar_2r())
    q, qd = np.array([0.3, 0.8]), np.array([1.0, -0.5])
    space = arm.operational_space(q, qd, 'tip', directions=(3, 4))
    J, M = arm.jacobian(q, 'tip')[3:5], arm.mass_matrix(q)
    np.testing.assert_allclose(space.Lambda @ (J @ np.linalg.solve(M, J.T)), np.eye(2), atol=1e-12)
    with pytest.raises(rd.SingularityError, match=r"'tip' cannot move in all .*\(3, 4\)"):
        arm.operational_space(np.array([0.3, 0.0]), qd, 'tip', directions=(3, 4))
    with pytest.raises(rd.SingularityError, match='cannot move'):
        arm.operational_space(q, qd, 'tip')


def test_a_payload_adds_its_gravity_torque():
    model = planar_2r()
    q = np.array([0.0, 0.0])
    loaded = rd.Dynamics(model.with_payload('link2', 2.0, [1.0, 0.0, 0.0]))
    change = loaded.gravity_torque(q) - rd.Dynamics(model).gravity_torque(q)
    # 2 kg at 2 m and 1 m from the joints
    np.testing.assert_allclose(change, 9.81 * 2.0 * np.array([2.0, 1.0]), rtol=1e-14)


def test_copies_and_pickles_compute_the_same(arm):
    q = np.random.default_rng(6).normal(size=N)
    expected = arm.gravity_torque(q)
    for twin in (pickle.loads(pickle.dumps(arm)), copy.deepcopy(arm)):
        np.testing.assert_array_equal(twin.gravity_torque(q), expected)


def test_backends_agree(arm):
    q, qd, qdd = np.random.default_rng(7).normal(size=(3, N))
    plain = rd.Dynamics(arm.model, backend='python')
    scale = np.abs(arm.inverse_dynamics(q, qd, qdd)).max()
    np.testing.assert_allclose(
        plain.inverse_dynamics(q, qd, qdd), arm.inverse_dynamics(q, qd, qdd), atol=1e-14 * scale
    )


def test_the_first_call_imports_no_slow_module():
    code = (
        'import sys, numpy as np, robot_dynamics as rd\n'
        'arm = rd.Dynamics(rd.load_urdf(sys.argv[1]))\n'
        'arm.inverse_dynamics(*np.zeros((3, arm.model.n)))\n'
        'print(*sys.modules)'
    )
    urdf = Path(__file__).parents[2] / 'urdf' / 'planar_2r.urdf'
    command = [sys.executable, '-c', code, str(urdf)]
    loaded = subprocess.run(
        command, cwd=urdf.parents[1], check=True, capture_output=True, text=True
    ).stdout.split()
    slow = {'scipy', 'matplotlib', 'mujoco', 'pinocchio', 'pybullet', 'rclpy', 'xacro', 'rich'}
    assert not slow & set(loaded)
    unused = {f'robot_dynamics.{name}' for name in ('formulations', 'loops', 'validation')}
    assert not unused & set(loaded)


def test_every_public_name_exists_and_is_documented():
    names = [name for name in dir(rd) if not name.startswith('_')]
    assert {'Dynamics', 'load_urdf', 'parse_urdf', 'from_dh', 'from_screws'} <= set(names)
    for name in names:
        assert inspect.getdoc(getattr(rd, name)), name
    for name, member in vars(rd.Dynamics).items():
        if not name.startswith('_'):
            assert inspect.getdoc(member), name
