"""Zeros that the design of a robot puts into its equations."""

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.formulations import closed_form_matrix
from robot_dynamics.model.dh import from_dh
from robot_dynamics.model.inertia import Inertial
from robot_dynamics.model.robots import planar_2r, random_tree
from robot_dynamics.textbook.structure import structural_zeros
from robot_dynamics.validation.identities import Bound

RNG = np.random.default_rng


def test_elbow_has_one_zero():
    """C_22 alone is absent: no joint feels its own velocity, and none acts beyond joint 2."""
    zeros = structural_zeros(Bound(closed_form_matrix, planar_2r()), RNG(0))
    assert not zeros.M.any()
    assert not zeros.g.any()
    np.testing.assert_array_equal(zeros.C, [[False, False], [False, True]])


def test_a_term_that_vanishes_in_some_postures_is_not_absent():
    class Supported:
        """An elbow that rests on something half of the time: no torque holds it up there."""

        def __init__(self):
            self._arm = Bound(closed_form_matrix, planar_2r())

        def __getattr__(self, name):
            return getattr(self._arm, name)

        def gravity_torque(self, q):
            return self._arm.gravity_torque(q) if q[0] > 0 else np.zeros(2)

    assert not structural_zeros(Supported(), RNG(0)).g.any()


def test_elbow_lying_flat_needs_no_holding_torque():
    flat = planar_2r().with_gravity([0.0, 0.0, -9.81])
    assert structural_zeros(Dynamics(flat, backend='python'), RNG(0)).g.all()


def test_scara():
    """Its slide is vertical: uncoupled from the turning joints, and alone under gravity."""
    body = Inertial(1.0, np.array([0.1, 0.05, 0.0]), np.diag([0.01, 0.02, 0.03]))
    rows = [
        (0.3, 0.0, 0.4, 0.0, 'revolute'),
        (0.2, np.pi, 0.0, 0.0, 'revolute'),
        (0.0, 0.0, 0.0, 0.0, 'prismatic'),
        (0.0, 0.0, 0.1, 0.0, 'revolute'),
    ]
    scara = from_dh(rows, convention='standard', inertias=[body] * 4)
    zeros = structural_zeros(Bound(closed_form_matrix, scara), RNG(0))
    others = [0, 1, 3]
    assert zeros.M[2, others].all()
    assert not zeros.M[2, 2]
    assert zeros.C[2].all()
    assert zeros.C[:, 2].all()
    np.testing.assert_array_equal(zeros.g, [True, True, False, True])


def test_branches_do_not_couple_and_a_general_chain_has_no_zeros():
    chain = random_tree(4, RNG(0), branching=0.0, prismatic=0.0)
    zeros = structural_zeros(Bound(closed_form_matrix, chain), RNG(1))
    assert not zeros.M.any()
    assert not zeros.g.any()
    star = random_tree(6, RNG(3), branching=1.0)
    zeros = structural_zeros(Bound(closed_form_matrix, star), RNG(1))
    for i in range(6):
        for j in range(6):
            carried = i in star.support(j) or j in star.support(i)
            shared = any(i in star.support(b) and j in star.support(b) for b in range(6))
            assert carried == shared
            if not shared:
                assert zeros.M[i, j]
                assert zeros.C[i, j]
