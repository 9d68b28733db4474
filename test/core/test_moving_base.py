# SPDX-License-Identifier: Apache-2.0
"""The compiled methods on a moving base. Equations: test/core/algorithms/test_moving_base.py."""

import inspect
import pickle

import numpy as np
import pytest
from pin_model import PinOnMovingBase

import robot_dynamics as rd
from robot_dynamics.common.spatial import axis_rotation
from robot_dynamics.core import algorithms as alg
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.core.programs import ALGORITHMS

BASE = np.array([0.5, -1.0, 0.7, 2.0, -3.0, 4.0, 1.5, -2.0, 9.0])
REST = np.array([0.0] * 8 + [9.81])
R, V = axis_rotation(np.array([0.6, 0.0, 0.8]), 1.0), np.array([3.0, -2.0, 1.0])

# Those that do not depend on the base, and energies, which belong to no frame of a moving base.
OF_FIXED_BASE = {
    'mass_matrix',
    'friction_torque',
    'kinetic_energy',
    'potential_energy',
    'simulation_step',
    'linearization',
    'step_linearization',
}


@pytest.fixture(scope='module')
def arm():
    model = random_tree(4, np.random.default_rng(3)).with_actuation(viscous=0.3, coulomb=0.2)
    return rd.Dynamics(model)


def state(n):
    return np.random.default_rng(5).uniform(-1.5, 1.5, (3, n))


def results(value):
    return value if isinstance(value, tuple) else (value,)


def test_every_method_of_the_base_takes_its_motion_last(arm):
    """Each computes what its algorithm gives on numbers, and at rest what the fixed base has."""
    moving, given = arm.on_moving_base(), state(4)
    tree = arm.tree.on_moving_base(BASE)
    methods = {
        name
        for name, algorithm in ALGORITHMS.items()
        if not algorithm.at_frame and name not in OF_FIXED_BASE
    }
    for name in methods:
        own = given[: len(ALGORITHMS[name].inputs)]
        found = getattr(moving, name)(*own, BASE)
        assert 'base' in inspect.signature(getattr(type(moving), name)).parameters
        if hasattr(alg, name) and name != 'forward_dynamics_derivatives':
            expected = getattr(alg, name)(tree, *own)
            for ours, theirs in zip(results(found), results(expected), strict=True):
                size = np.abs(theirs).max()
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * size, err_msg=name)
        at_rest = results(getattr(moving, name)(*own, [*np.zeros(6), *-arm.model.gravity]))
        fixed = results(getattr(arm, name)(*own))
        for ours, theirs in zip(at_rest, fixed, strict=True):
            size = max(np.abs(x).max() for x in fixed)
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * size, err_msg=name)


def test_rows_of_base_motion_broadcast(arm):
    moving = arm.on_moving_base()
    q, qd, qdd = state(4)
    base = np.stack([BASE, -BASE, REST])
    rows = moving.inverse_dynamics(q, qd, qdd, base)
    single = [moving.inverse_dynamics(q, qd, qdd, row) for row in base]
    np.testing.assert_allclose(rows, single, rtol=1e-13, atol=1e-13)
    with pytest.raises(rd.ShapeError, match='base'):
        moving.inverse_dynamics(q, qd, qdd, BASE[:6])


def test_friction_belongs_to_the_model(arm):
    moving, (q, qd, tau) = arm.on_moving_base(), state(4)
    lost = tau - arm.friction_torque(qd)
    np.testing.assert_allclose(
        moving.forward_dynamics(q, qd, tau, BASE, friction='model'),
        moving.forward_dynamics(q, qd, lost, BASE),
        rtol=1e-12,
    )


def test_derivatives_of_forward_dynamics_are_those_of_differences(arm):
    moving, (q, qd, tau) = arm.on_moving_base(), state(4)
    D, h = moving.forward_dynamics_derivatives(q, qd, tau, BASE), 1e-5
    for k, given in enumerate((q, qd, tau)):
        rows = np.array([q, qd, tau])
        for j in range(4):
            up, down = rows.copy(), rows.copy()
            up[k, j], down[k, j] = given[j] + h, given[j] - h
            difference = moving.forward_dynamics(*up, BASE) - moving.forward_dynamics(*down, BASE)
            size = np.abs(D[k]).max()
            np.testing.assert_allclose(D[k][:, j], difference / (2 * h), rtol=0, atol=1e-7 * size)


def test_a_payload_and_another_gravity_are_carried(arm):
    loaded = arm.with_payload('link3', 1.5, [0.1, 0.0, 0.2]).with_gravity([1.0, 0.0, -3.0])
    q, qd, qdd = state(4)
    model = arm.model.with_payload('link3', 1.5, [0.1, 0.0, 0.2])
    expected, wrench = PinOnMovingBase(model).torque_and_base_wrench(q, qd, qdd, BASE, R, V)
    moving = loaded.on_moving_base()
    np.testing.assert_allclose(moving.inverse_dynamics(q, qd, qdd, BASE), expected, rtol=1e-11)
    np.testing.assert_allclose(moving.base_wrench(q, qd, qdd, BASE), wrench, rtol=1e-11)


@pytest.mark.parametrize('n', [1, 9])
def test_vectors_as_long_as_the_motion_of_the_base(n):
    """Also as loops, where vectors with one entry per joint are rows."""
    model = random_tree(n, np.random.default_rng(n), branching=0.0)
    programs = rd.Dynamics(model).programs.on_moving_base()
    q, qd, qdd = state(n)
    expected, _ = PinOnMovingBase(model).torque_and_base_wrench(q, qd, qdd, BASE, R, V)
    inputs = dict.fromkeys(('q', 'qd', 'qdd'), n)
    function = ALGORITHMS['inverse_dynamics'].function
    loops = programs.compiled('loops', function, inputs, loops=True, always_loops=True)
    size = np.abs(expected).max()
    for made in (loops, programs.compile('inverse_dynamics')):
        np.testing.assert_allclose(made(q, qd, qdd, BASE), expected, rtol=0, atol=1e-12 * size)


def test_a_long_chain_is_compiled_as_loops():
    model = random_tree(60, np.random.default_rng(6), branching=0.1, prismatic=0.2)
    moving, tree = rd.Dynamics(model).on_moving_base(), rd.Dynamics(model).tree
    q, qd, qdd = state(60)
    expected, _ = PinOnMovingBase(model).torque_and_base_wrench(q, qd, qdd, BASE, R, V)
    size = np.abs(expected).max()
    tau = moving.inverse_dynamics(q, qd, qdd, BASE)
    np.testing.assert_allclose(tau, expected, rtol=0, atol=1e-12 * size)
    bound = 1e3 * np.finfo(float).eps * np.linalg.cond(np.array(alg.crba(tree, q)))
    np.testing.assert_allclose(moving.forward_dynamics(q, qd, tau, BASE), qdd, rtol=0, atol=bound)


def test_a_step_holds_the_motion_of_the_base(arm):
    moving, (q, qd, tau) = arm.on_moving_base(), state(4)
    h = 1e-3
    step = moving.simulation_step('explicit_euler', 'none')
    after = step(q, qd, tau, [h], BASE)
    qdd = moving.forward_dynamics(q, qd, tau, BASE)
    np.testing.assert_allclose(after.qd, qd + h * qdd, rtol=1e-13)
    np.testing.assert_allclose(after.q, q + h * qd, rtol=1e-13)


def test_the_fixed_base_keeps_its_programs(arm):
    """Moving the base makes other programs under other keys; one object has both."""
    q, qd, qdd = state(4)
    own = rd.Dynamics(arm.model)
    before = own.inverse_dynamics(q, qd, qdd)
    own.on_moving_base().inverse_dynamics(q, qd, qdd, BASE)
    np.testing.assert_array_equal(own.inverse_dynamics(q, qd, qdd), before)
    fixed = own.programs.compile('inverse_dynamics')
    moving = own.programs.on_moving_base().compile('inverse_dynamics')
    assert fixed.kernels.recipe.identity != moving.kernels.recipe.identity
    assert [name for name, _ in fixed.signature.inputs] == ['q', 'qd', 'qdd']
    assert [name for name, _ in moving.signature.inputs] == ['q', 'qd', 'qdd', 'base']


def test_pickled(arm):
    moving, (q, qd, qdd) = arm.on_moving_base(), state(4)
    expected = moving.inverse_dynamics(q, qd, qdd, BASE)
    again = pickle.loads(pickle.dumps(moving))
    np.testing.assert_array_equal(again.inverse_dynamics(q, qd, qdd, BASE), expected)
    method = pickle.loads(pickle.dumps(moving.forward_dynamics))
    expected = moving.forward_dynamics(q, qd, qdd, BASE, friction='model')
    np.testing.assert_array_equal(method(q, qd, qdd, BASE, friction='model'), expected)


def test_zero_moment_point_is_below_the_centre_of_mass_at_rest():
    arm = rd.Dynamics(rd.load_urdf('panda'))
    q, still = np.array([0.3, 0.5, -0.2, -1.5, 0.1, 1.2, 0.4]), np.zeros(7)
    wrench = arm.base_wrench(q, still, still)
    mass = arm.model.mass.sum() + arm.model.base.mass
    np.testing.assert_allclose(wrench[3:], [0.0, 0.0, 9.81 * mass], atol=1e-11)
    centre = np.array([-wrench[1], wrench[0]]) / wrench[5]
    for height in (0.0, -0.5):
        found = arm.zero_moment_point(q, still, still, height=height)
        np.testing.assert_allclose(found, centre, rtol=1e-12)
    # A base that accelerates along +-x moves it by -+ a h / g, h the height of the centre of mass
    moving = arm.on_moving_base()
    points = [
        moving.zero_moment_point(q, still, still, [0.0] * 6 + [a, 0.0, 9.81]) for a in (2.0, -2.0)
    ]
    assert points[0][0] < centre[0] < points[1][0]
    np.testing.assert_allclose(np.mean(points, axis=0), centre, rtol=1e-12)
    falling = moving.zero_moment_point(q, still, still, [0.0] * 8 + [-1.0])
    assert np.isnan(falling).all()
