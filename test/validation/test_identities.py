# SPDX-License-Identifier: Apache-2.0
"""Identities of the equation of motion, on many robots and with faults of one percent."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import robots
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.coordinates import with_coordinates
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.formulations import (
    FORMULATIONS,
    closed_form_matrix,
    euler_lagrange,
    lagrange_euler_4x4,
)
from robot_dynamics.validation import identities as laws

SMALL = 5e-12  # error of the difference formula and rounding


@st.composite
def trees(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return random_tree(
        draw(st.integers(1, 6)),
        rng,
        branching=draw(st.sampled_from([0.0, 0.3, 1.0])),
        prismatic=draw(st.sampled_from([0.0, 0.25, 1.0])),
    )


seeds = st.integers(0, 2**32 - 1)


def motion(model, seed):
    return np.random.default_rng(seed).uniform(-2, 2, (3, model.n))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(model=trees(), seed=seeds)
def test_all_laws_on_random_trees(model, seed):
    """M symmetric positive definite, its columns, FD after ID, g = dU/dq, power, skewness, ..."""
    arm = Dynamics(model, backend='python')
    q, qd, qdd = motion(model, seed)
    found = laws.residuals(arm, q, qd, qdd)
    found['no_centrifugal_self_torque'] = laws.no_centrifugal_self_torque(arm, q)
    assert all(value < SMALL for value in found.values()), found


@settings(max_examples=30, deadline=None)
@given(model=trees(), seed=seeds)
def test_power_balance_with_rotors_friction_and_contact(model, seed):
    rng = np.random.default_rng(seed)
    model = model.with_actuation(
        gear_ratio=rng.uniform(1, 50, model.n),
        rotor_inertia=rng.uniform(0, 1e-3, model.n),
        viscous=rng.uniform(0, 2, model.n),
        coulomb=rng.uniform(0, 2, model.n),
    )
    arm = Dynamics(model, backend='python')
    q, qd, tau = motion(model, seed)
    frame = model.frame_names[rng.integers(len(model.frame_names))]
    wrench = rng.uniform(-10, 10, 6)
    assert laws.power_balance_with_losses(arm, q, qd, tau, wrench, frame) < SMALL


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(model=trees(), seed=seeds)
def test_laws_under_a_coordinate_map(model, seed):
    """All but h_iii = 0 hold with q_body = S q + s0, with fewer coordinates than joints."""
    rng = np.random.default_rng(seed)
    n = rng.integers(1, model.n + 1)
    # Each coordinate has a joint of its own, so that M stays regular, and a share of the others.
    S = rng.uniform(-1, 1, (model.nb, n))
    S[:n] = np.eye(n)
    mapped = with_coordinates(model, S, rng.uniform(-1, 1, model.nb))
    arm = Dynamics(mapped, backend='python')
    found = laws.residuals(arm, *motion(mapped, seed))
    assert all(value < SMALL for value in found.values()), found


@pytest.mark.parametrize('name', [name for name in robots.NAMES if name != 'tiago'])
def test_all_laws_on_real_robots(name):
    model = robots.load(name)
    arm = Dynamics(model, backend='python')
    for seed in range(2):
        found = laws.residuals(arm, *motion(model, seed))
        assert all(value < SMALL for value in found.values()), found


LAWS = {
    'mass_matrix': (laws.LAWS_OF_POSITION[:4], 1),
    'coriolis_matrix': ((laws.skew_symmetry, laws.coriolis_quadratic), 2),
}


@pytest.mark.parametrize('formulation', FORMULATIONS, ids=lambda f: f.__name__.split('.')[-1])
def test_the_laws_hold_for_every_formulation(formulation):
    model = random_tree(4, np.random.default_rng(5))
    arm, state = laws.Bound(formulation, model), motion(model, 0)
    for method, (those, arguments) in LAWS.items():
        if hasattr(formulation, method):
            for law in those:
                assert law(arm, *state[:arguments]) < SMALL
    if hasattr(formulation, 'gravity_torque') and hasattr(formulation, 'coriolis_matrix'):
        assert laws.coriolis_torque(arm, *state[:2]) < SMALL
        assert laws.equation_of_motion(arm, *state) < SMALL
    if hasattr(formulation, 'kinetic_energy'):
        assert laws.power_balance(arm, *state) < SMALL


class Altered:
    """A robot with one method that returns a wrong result."""

    def __init__(self, arm, method, change):
        self._arm, self._method, self._change = arm, method, change

    def __getattr__(self, name):
        method = getattr(self._arm, name)
        if name != self._method:
            return method
        return lambda *arguments: self._change(method(*arguments))


def bump(value):
    """Return the array with its first entry 1 % of the largest too large."""
    changed = np.array(value)
    changed.flat[0] += 0.01 * np.abs(changed).max()
    return changed


def corner(M):
    changed = np.array(M)
    changed[0, -1] *= 1.01
    return changed


def negative(M):
    """Return M less its smallest eigenvalue: symmetric, and singular or worse."""
    return M - 1.001 * np.linalg.eigvalsh(M)[0] * np.eye(len(M))


def one_term(terms):
    return terms._replace(C=bump(terms.C))


@pytest.mark.parametrize(
    ('law', 'method', 'change'),
    [
        ('mass_matrix_symmetry', 'mass_matrix', corner),
        ('positive_definiteness', 'mass_matrix', negative),
        ('mass_matrix_columns', 'mass_matrix', bump),
        ('mass_matrix_columns', 'inverse_dynamics', lambda tau: tau + 0.01 * tau**2),
        ('christoffel_symmetry', 'coriolis_matrix', bump),
        ('gravity_is_a_gradient', 'gravity_torque', bump),
        ('gravity_is_a_gradient', 'potential_energy', lambda U: 1.01 * U),
        ('skew_symmetry', 'coriolis_matrix', bump),
        ('skew_symmetry', 'mass_matrix', lambda M: 1.01 * M),
        ('coriolis_torque', 'coriolis_matrix', bump),
        ('coriolis_torque', 'gravity_torque', bump),
        ('coriolis_quadratic', 'coriolis_matrix', lambda C: C + 0.01),
        ('terms_agree', 'terms', one_term),
        ('kinetic_energy_of_mass_matrix', 'kinetic_energy', lambda K: 1.01 * K),
        ('equation_of_motion', 'inverse_dynamics', bump),
        ('equation_of_motion', 'mass_matrix', bump),
        ('forward_inverts_inverse', 'forward_dynamics', lambda qdd: 1.01 * qdd),
        ('parameter_linearity', 'regressor', bump),
        ('power_balance', 'inverse_dynamics', lambda tau: 1.01 * tau),
        ('power_balance', 'kinetic_energy', lambda K: 1.01 * K),
        ('power_balance', 'potential_energy', lambda U: 1.01 * U),
        ('jacobian_is_a_derivative', 'jacobian', bump),
        ('jacobian_dot_is_a_derivative', 'jacobian_dot', bump),
    ],
)
def test_each_law_detects_an_error_of_one_percent(law, method, change):
    model = random_tree(4, np.random.default_rng(6), branching=0.0, prismatic=0.25)
    arm = Altered(Dynamics(model, backend='python'), method, change)
    found = laws.residuals(arm, *motion(model, 1))
    assert found[law] > 1e-6


@pytest.mark.parametrize(
    ('M', 'definite'),
    [
        ([[2.0, 0.0], [0.0, 1e-9]], True),
        ([[2.0, 0.0], [0.0, 0.0]], False),
        # Of rank one: its second eigenvalue is rounding, of either sign.
        (np.outer([1.0, 3.0, 0.1], [1.0, 3.0, 0.1]), False),
        (np.outer([0.3, 0.7, 0.9], [0.3, 0.7, 0.9]), False),
        (np.zeros((2, 2)), False),
        (-np.eye(2), False),
    ],
)
def test_a_singular_matrix_is_not_positive_definite(M, definite):
    arm = SimpleNamespace(mass_matrix=lambda q: np.asarray(M))
    found = laws.positive_definiteness(arm, np.zeros(len(M)))
    assert (found == 0.0) if definite else (found > 0.99)


@pytest.mark.parametrize('method', ['mass_matrix', 'coriolis_matrix', 'gravity_torque'])
def test_nan_is_not_agreement(method):
    class Broken:
        """An arm with a term of NaN."""

        def __init__(self, arm):
            self._arm = arm

        def __getattr__(self, name):
            found = getattr(self._arm, name)
            return (lambda *state: np.nan * found(*state)) if name == method else found

    assert np.isnan(laws.terms_agree(Broken(Dynamics(planar_2r())), np.ones(2), np.ones(2)))


def test_only_the_christoffel_matrix_has_its_symmetry():
    model, chosen = random_tree(4, np.random.default_rng(0), branching=0.0, prismatic=0.0), {}
    q, qd, _ = motion(model, 0)
    for method in ('coriolis_matrix', 'coriolis_matrix_skew', 'coriolis_matrix_of_recursion'):
        arm = laws.Bound(closed_form_matrix, model)
        arm.coriolis_matrix = getattr(arm, method)
        chosen[method] = (
            laws.coriolis_torque(arm, q, qd) < SMALL,
            laws.skew_symmetry(arm, q, qd) < SMALL,
            laws.christoffel_symmetry(arm, q) < SMALL,
        )
    assert chosen == {
        'coriolis_matrix': (True, True, True),
        'coriolis_matrix_skew': (True, True, False),
        'coriolis_matrix_of_recursion': (True, False, False),
    }


def test_power_balance_with_losses_detects_wrong_torques():
    model = planar_2r().with_actuation(viscous=1.0, coulomb=0.5)
    arm, (q, qd, tau) = Dynamics(model, backend='python'), motion(model, 0)
    arguments = (q, qd, tau, np.ones(6), 'link2')
    assert laws.power_balance_with_losses(arm, *arguments) < SMALL
    for method in ('friction_torque', 'forward_dynamics', 'wrench_torque'):
        altered = Altered(arm, method, lambda x: 1.01 * x)
        altered_by = laws.power_balance_with_losses(altered, *arguments)
        # Friction is on both sides of the balance.
        assert (altered_by < SMALL) == (method == 'friction_torque')


def test_self_torque_of_mapped_coordinates_is_rejected():
    model = planar_2r()
    geared = replace(model, S=np.array([[1.0, 0.0], [-0.5, 1.0]]))
    with pytest.raises(ModelError, match=r"'planar_2r' moves its 2 joints by 2 coupled"):
        laws.no_centrifugal_self_torque(laws.Bound(euler_lagrange, geared), np.ones(2))
    # The law does not hold there.
    Gamma = laws.christoffel_symbols(laws.Bound(lagrange_euler_4x4, geared), np.ones(2))
    assert np.abs(np.einsum('iii->i', Gamma)).max() > 1e-3
    turned = replace(model, S=np.diag([2.0, -3.0]))
    assert laws.no_centrifugal_self_torque(laws.Bound(euler_lagrange, turned), np.ones(2)) < SMALL


def test_branches_are_uncoupled():
    star = random_tree(5, np.random.default_rng(2), branching=1.0)
    arm, q = laws.Bound(euler_lagrange, star), np.ones(5)
    assert laws.uncoupled_branches(arm, q) == 0.0
    assert laws.uncoupled_branches(Altered(arm, 'mass_matrix', lambda M: M + 0.1), q) > 1e-3


# -- differences ----------------------------------------------------------------------------------


def test_derivative_of_joint_motion_is_accurate_to_rounding():
    # The fastest motion: the sine of twice an angle that moves at the given speed.
    for speed in (0.1, 1.0, 30.0):
        slope = laws.derivative(lambda t, w=speed: np.sin(2 * w * t + 0.3), speed)
        assert slope == pytest.approx(2 * speed * np.cos(0.3), rel=1e-13)


def test_derivative_is_of_eighth_order():
    # Exact for powers up to 8; at the ninth the error is h^8 9! / 630, with its sign.
    for power in range(9):
        slope = laws.derivative(lambda t, p=power: (1 + t) ** p, 1.0)
        assert slope == pytest.approx(power, rel=1e-12)
    error = laws.derivative(lambda t: (t / laws.STEP) ** 9, 1.0)
    assert error == pytest.approx(-576 / laws.STEP, rel=1e-12)


def test_the_derivative_at_rest_is_zero():
    assert laws.derivative(lambda t: np.ones(3), 0.0) == pytest.approx(np.zeros(3))


def test_scaled():
    assert laws.scaled(np.array([1.0, -2.0]), np.array([4.0]), 1.0) == 0.5
    assert laws.scaled(np.zeros(2), np.zeros(2)) == 0.0
    assert laws.scaled(np.zeros(0), np.ones(1)) == 0.0
    assert not laws.scaled(np.array([np.nan]), 1.0) < 1.0
