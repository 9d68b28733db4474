# SPDX-License-Identifier: Apache-2.0
"""Bounds of inertia and energy, passivity, and terms absent by design."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import pose, rotation_x
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.core.model.coordinates import with_coordinates
from robot_dynamics.core.model.dh import from_dh
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.formulations import closed_form_matrix, euler_lagrange
from robot_dynamics.textbook import properties
from robot_dynamics.validation.identities import Bound

RNG = np.random.default_rng


def test_planar_elbow_by_hand():
    """M of the elbow depends on cos q2 alone; its eigenvalues are sampled on a grid."""
    elbow = Bound(euler_lagrange, planar_2r())
    found = properties.inertia_bounds(elbow, RNG(0))
    angles = np.linspace(-np.pi, np.pi, 20001)
    c = np.cos(angles)
    # m = l = 1, l_c = 1/2, I = 1/12:   M = [[5/3 + c, 1/3 + c/2], [., 1/3]]
    trace, det = 2 + c, (5 / 3 + c) / 3 - (1 / 3 + c / 2) ** 2
    root = np.sqrt(trace**2 / 4 - det)
    assert found.smallest == pytest.approx((trace / 2 - root).min(), rel=1e-7)
    assert found.largest == pytest.approx((trace / 2 + root).max(), rel=1e-7)
    assert found.ceiling >= found.largest


@pytest.mark.parametrize('seed', range(3))
def test_sampled_eigenvalues_lie_within_the_bounds(seed):
    model = random_tree(4, RNG(seed), prismatic=0.25)
    model = replace(model, lower=np.full(4, -1.0), upper=np.full(4, 2.0))
    arm = Bound(euler_lagrange, model)
    found = properties.inertia_bounds(arm, RNG(0))
    for q in RNG(1).uniform(-1.0, 2.0, (300, 4)):
        eigenvalues = np.linalg.eigvalsh(euler_lagrange.mass_matrix(model, q))
        assert found.smallest <= eigenvalues[0] * (1 + 1e-9)
        assert eigenvalues[-1] <= found.largest * (1 + 1e-9) <= found.ceiling * (1 + 1e-9)
    # Both are attained within the range.
    for q, k, value in (
        (found.q_smallest, 0, found.smallest),
        (found.q_largest, -1, found.largest),
    ):
        assert np.all((q >= -1.0) & (q <= 2.0))
        attained = np.linalg.eigvalsh(euler_lagrange.mass_matrix(model, q))[k]
        assert attained == pytest.approx(value, rel=1e-12)


def test_ceiling_holds_under_coordinate_maps_and_rotors():
    model = planar_2r().with_actuation(rotor_inertia=[0.5, 2.0])
    model = replace(model, S=np.array([[1.0, 0.0], [-1.0, 2.0]]), s0=np.array([0.3, 0.0]))
    for q in RNG(0).uniform(-3, 3, (100, 2)):
        largest = np.linalg.eigvalsh(euler_lagrange.mass_matrix(model, q))[-1]
        assert largest <= properties.inertia_ceiling(model)


def test_a_gear_of_five_multiplies_inertia_and_ceiling_by_25():
    single = random_tree(1, RNG(0), prismatic=0.0)
    geared = with_coordinates(single, [[5.0]])
    inertia = Dynamics(geared, backend='python').mass_matrix([0.3])[0, 0]
    ceiling = properties.inertia_ceiling(geared)
    assert inertia <= ceiling
    assert ceiling == pytest.approx(25 * properties.inertia_ceiling(single))


def arm_with_slide(carried_by_revolute, axis=(0.0, 0.0, 1.0)):
    """Return a prismatic joint along `axis`, after a revolute one or before it."""
    kinds = [carried_by_revolute, not carried_by_revolute]
    z = np.array([0.0, 0.0, 1.0])
    return build_tree(
        'slider',
        [-1, 0],
        kinds,
        [z if kind else np.array(axis) for kind in kinds],
        [pose(rotation_x(0.4), np.array([0.1, 0.0, 0.2])), np.eye(4)],
        [Inertial(1.0, np.array([0.1, 0.2, 0.0]), 0.01 * np.eye(3))] * 2,
    )


def test_an_unlimited_slide_on_a_revolute_joint_has_no_largest_inertia():
    with pytest.raises(ModelError, match=r"lambda_M is infinite.*\['joint2'\].*limits"):
        properties.inertia_bounds(Bound(euler_lagrange, arm_with_slide(True, (1.0, 0, 0))), RNG(0))
    # Below the revolute joint it does not matter.
    found = properties.inertia_bounds(Bound(euler_lagrange, arm_with_slide(False)), RNG(0))
    assert np.isfinite(found.largest)


def test_lowest_potential():
    elbow = Bound(euler_lagrange, planar_2r())
    # Hanging: the centres of mass are 0.5 m and 1.5 m below the joint.
    assert properties.lowest_potential(elbow, RNG(0)) == pytest.approx(-9.81 * 2.0, rel=1e-12)
    with pytest.raises(ModelError, match=r"prismatic joint 'joint1' has no limits and gravity"):
        properties.lowest_potential(Bound(euler_lagrange, arm_with_slide(False)), RNG(0))
    level = arm_with_slide(False).with_gravity([9.0, 0.0, 0.0])
    # The slide is perpendicular to gravity: its frame is rotated about x only.
    assert np.isfinite(properties.lowest_potential(Bound(euler_lagrange, level), RNG(0)))


@pytest.fixture(scope='module')
def falling_elbow():
    """Return a run of the elbow from rest with damping torques -3 qd, by small RK4 steps."""
    arm, h, N = Dynamics(planar_2r(), backend='python'), 4e-3, 500

    def rate(x):
        q, qd = np.split(x, 2)
        return np.concatenate([qd, arm.forward_dynamics(q, qd, -3 * qd)])

    states = [np.array([0.4, 0.2, 0.0, 0.0])]
    for _ in range(N):
        x = states[-1]
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        k4 = rate(x + h * k3)
        states.append(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    q, qd = np.split(np.array(states), 2, axis=1)
    return arm, h * np.arange(N + 1), q, qd, -3 * qd


def test_passivity_of_a_run(falling_elbow):
    arm, t, q, qd, tau = falling_elbow
    assert properties.passivity(arm, t, q, qd, tau, RNG(0)) == 0.0
    # A brake that absorbs more energy than the arm had violates the law.
    assert properties.passivity(arm, t, q, qd, 20 * tau, RNG(0)) > 0.5


def test_the_violation_is_that_of_the_energies(falling_elbow):
    """From a state in motion, the integral in `passivity` is 20 times the change of H."""
    arm, t, q, qd, tau = (x if x is falling_elbow[0] else x[60:] for x in falling_elbow)
    start, end = (arm.kinetic_energy(q[k], qd[k]) + arm.potential_energy(q[k]) for k in (0, -1))
    beta = start - properties.lowest_potential(arm, RNG(0))
    supplied = 20 * (end - start)
    expected = (-supplied - beta) / -supplied
    assert properties.passivity(arm, t, q, qd, 20 * tau, RNG(0)) == pytest.approx(
        expected, rel=1e-5
    )


# -- absent terms ---------------------------------------------------------------------------------


def test_the_elbow_has_one_absent_term():
    """C_22 alone is absent: no centrifugal torque of a joint's own motion, and no joint 3."""
    zeros = properties.structural_zeros(Bound(closed_form_matrix, planar_2r()), RNG(0))
    assert not zeros.M.any()
    assert not zeros.g.any()
    np.testing.assert_array_equal(zeros.C, [[False, False], [False, True]])


def test_a_term_that_vanishes_in_some_postures_is_not_absent():
    class Supported:
        """An elbow with a support for q1 <= 0, where no torque holds it."""

        def __init__(self):
            self._arm = Bound(closed_form_matrix, planar_2r())

        def __getattr__(self, name):
            return getattr(self._arm, name)

        def gravity_torque(self, q):
            return self._arm.gravity_torque(q) if q[0] > 0 else np.zeros(2)

    assert not properties.structural_zeros(Supported(), RNG(0)).g.any()


def test_a_horizontal_elbow_needs_no_holding_torque():
    flat = planar_2r().with_gravity([0.0, 0.0, -9.81])
    assert properties.structural_zeros(Dynamics(flat, backend='python'), RNG(0)).g.all()


def test_scara():
    """The vertical slide is uncoupled from the revolute joints, and alone under gravity."""
    body = Inertial(1.0, np.array([0.1, 0.05, 0.0]), np.diag([0.01, 0.02, 0.03]))
    rows = [
        (0.3, 0.0, 0.4, 0.0, 'revolute'),
        (0.2, np.pi, 0.0, 0.0, 'revolute'),
        (0.0, 0.0, 0.0, 0.0, 'prismatic'),
        (0.0, 0.0, 0.1, 0.0, 'revolute'),
    ]
    scara = from_dh(rows, convention='standard', inertias=[body] * 4)
    zeros = properties.structural_zeros(Bound(closed_form_matrix, scara), RNG(0))
    others = [0, 1, 3]
    assert zeros.M[2, others].all()
    assert not zeros.M[2, 2]
    assert zeros.C[2].all()
    assert zeros.C[:, 2].all()
    np.testing.assert_array_equal(zeros.g, [True, True, False, True])


def test_branches_do_not_couple_and_a_general_chain_has_no_zeros():
    chain = random_tree(4, RNG(0), branching=0.0, prismatic=0.0)
    zeros = properties.structural_zeros(Bound(closed_form_matrix, chain), RNG(1))
    assert not zeros.M.any()
    assert not zeros.g.any()
    star = random_tree(6, RNG(3), branching=1.0)
    zeros = properties.structural_zeros(Bound(closed_form_matrix, star), RNG(1))
    for i in range(6):
        for j in range(6):
            carried = i in star.support(j) or j in star.support(i)
            shared = any(i in star.support(b) and j in star.support(b) for b in range(6))
            assert carried == shared
            if not shared:
                assert zeros.M[i, j]
                assert zeros.C[i, j]
