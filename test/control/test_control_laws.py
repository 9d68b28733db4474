# SPDX-License-Identifier: Apache-2.0
"""Control laws: error dynamics against theory."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics import Dynamics
from robot_dynamics.common.errors import ModelError, ShapeError
from robot_dynamics.control import (
    LAWS,
    Gains,
    Reference,
    Switches,
    computed_torque,
    feedforward,
    gravity_only,
    joint_impedance,
    pd_plus,
)
from robot_dynamics.core.friction.coefficients import coulomb_friction
from robot_dynamics.core.model.robots import planar_2r, random_tree

DT = 1e-3


@pytest.fixture(scope='module')
def arm():
    return Dynamics(replace(planar_2r(), viscous=np.zeros(2), coulomb=np.zeros(2)))


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def reference_at(t):
    """Return a motion of both joints and its derivatives."""
    w = np.array([2.0, 3.0])
    return Reference(0.5 * np.sin(w * t), 0.5 * w * np.cos(w * t), -0.5 * w**2 * np.sin(w * t))


def states(arm, law, gains, q, qd, seconds, wanted=reference_at):
    """Yield (t, q, qd) of the arm under a law, integrated by RK4 with the torque of each stage."""

    def slope(t, x):
        tau = law(arm, wanted(t), x[0], x[1], gains=gains).tau
        return np.stack([x[1], arm.forward_dynamics(x[0], x[1], tau)])

    x = np.stack([q, qd])
    for k in range(round(seconds / DT)):
        t = k * DT
        yield t, *x
        k1 = slope(t, x)
        k2 = slope(t + DT / 2, x + DT / 2 * k1)
        k3 = slope(t + DT / 2, x + DT / 2 * k2)
        k4 = slope(t + DT, x + DT * k3)
        x = x + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def test_computed_torque_makes_the_error_linear_and_the_joints_independent(arm, rng):
    kp, kd = np.array([40.0, 90.0]), np.array([9.0, 14.0])
    for _ in range(20):
        q, qd = rng.normal(size=(2, 2))
        wanted = reference_at(rng.uniform(0, 3))
        tau = computed_torque(arm, wanted, q, qd, gains=Gains(kp, kd)).tau
        e, ed = wanted.q - q, wanted.qd - qd
        edd = wanted.qdd - arm.forward_dynamics(q, qd, tau)
        # e'' + Kd e' + Kp e = 0
        scale = np.abs(wanted.qdd).max() + (kp * abs(e)).max() + (kd * abs(ed)).max()
        np.testing.assert_allclose(edd + kd * ed + kp * e, 0, atol=1e-12 * scale)


def test_the_error_under_computed_torque_is_the_linear_oscillators(arm):
    kp, kd = 100.0, 12.0  # omega_d = 8 rad/s, decay 6 1/s
    e0 = np.array([0.3, -0.2])
    q, qd = reference_at(0).q - e0, reference_at(0).qd
    for t, q_t, _ in states(arm, computed_torque, Gains(kp, kd), q, qd, 1.0):
        e = reference_at(t).q - q_t
        exact = e0 * np.exp(-6 * t) * (np.cos(8 * t) + 6 / 8 * np.sin(8 * t))
        # RK4 at 1 ms: (8 dt)^4 of what it follows
        np.testing.assert_allclose(e, exact, atol=1e-8)


def test_the_energy_of_the_error_under_pd_plus_is_dissipated_by_the_damping(arm, rng):
    kp, kd = np.array([30.0, 20.0]), np.array([4.0, 3.0])
    for _ in range(20):
        q, qd = rng.normal(size=(2, 2))
        wanted = reference_at(rng.uniform(0, 3))
        tau = pd_plus(arm, wanted, q, qd, gains=Gains(kp, kd)).tau
        e, ed = wanted.q - q, wanted.qd - qd
        edd = wanted.qdd - arm.forward_dynamics(q, qd, tau)
        M, C = arm.mass_matrix(q), arm.coriolis_matrix(q, qd)
        # M e'' + C e' + Kd e' + Kp e = 0
        np.testing.assert_allclose(M @ edd + C @ ed + kd * ed + kp * e, 0, atol=1e-11)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_modes_under_joint_impedance_have_the_damping_ratio(arm, rng, sign):
    K, ratio = np.array([80.0, 5.0]), 0.3
    still = np.zeros(2)
    for _ in range(20):
        q = sign * rng.normal(size=2)
        wanted = Reference(q, still, still)

        def feedback(q, qd, wanted=wanted):
            return joint_impedance(arm, wanted, q, qd, gains=Gains(K, ratio)).feedback

        D = -np.column_stack([feedback(q, e) for e in np.eye(2)])
        stiffness = -np.column_stack([feedback(q + e, still) for e in np.eye(2)])
        np.testing.assert_allclose(stiffness, np.diag(K), atol=1e-12)
        np.testing.assert_allclose(D, D.T, atol=1e-12)
        # M x'' + D x' + K x = 0: each pair of roots is that of an oscillator
        M = arm.mass_matrix(q)
        lower = -np.linalg.solve(M, np.hstack([np.diag(K), D]))
        roots = np.linalg.eigvals(np.vstack([np.eye(4)[2:], lower]))
        w = np.abs(roots)
        np.testing.assert_allclose(-roots.real / w, ratio * w / np.hypot(w, 1.0), rtol=1e-9)


def test_joint_impedance_needs_inertia(arm):
    bodiless = Dynamics(planar_2r(masses=(1.0, 0.0), inertias=(0.1, 0.0)))
    rest = Reference(*np.zeros((3, 2)))
    with pytest.raises(ModelError, match="joint 'joint2' moves no inertia"):
        joint_impedance(bodiless, rest, np.zeros(2), np.zeros(2), gains=Gains(1.0, 1.0))


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_joint_impedance_is_pd_plus_with_the_damping_of_the_modes(rng, sign):
    arm = Dynamics(random_tree(5, rng))
    K, Z = rng.uniform(1, 100, 5), rng.uniform(0.2, 1.0, 5)
    for _ in range(5):
        q, qd, *given = sign * rng.normal(size=(5, 5))
        wanted = Reference(*given)
        root, damped = np.diag(np.sqrt(K)), np.diag(np.sqrt(K * Z))
        squares, U = np.linalg.eigh(root @ np.linalg.inv(arm.mass_matrix(q)) @ root)
        D = 2 * damped @ U @ np.diag(1 / np.sqrt(squares + 1)) @ U.T @ damped
        expected = pd_plus(arm, wanted, q, qd, gains=Gains(K, 0.0))
        found = joint_impedance(arm, wanted, q, qd, gains=Gains(K, Z))
        for part in ('gravity', 'coriolis', 'inertia', 'friction'):
            own = getattr(expected, part)
            np.testing.assert_allclose(
                getattr(found, part), own, atol=1e-12 * (1 + abs(own).max())
            )
        feedback = K * (wanted.q - q) + D @ (wanted.qd - qd)
        np.testing.assert_allclose(found.feedback, feedback, rtol=1e-9)


def test_joint_impedance_has_a_largest_number_of_joints(rng):
    many = Dynamics(random_tree(15, rng))
    rest = Reference(*np.zeros((3, 15)))
    with pytest.raises(ModelError, match='15 joints; joint_impedance has at most 14'):
        joint_impedance(many, rest, np.zeros(15), np.zeros(15), gains=Gains(1.0, 1.0))


def test_pd_plus_converges_and_its_lyapunov_function_never_increases(arm):
    kp, kd = 60.0, 15.0
    energies = []
    for t, q, qd in states(
        arm, pd_plus, Gains(kp, kd), np.array([1.0, -2.0]), np.array([2.0, -1.0]), 3.0
    ):
        wanted = reference_at(t)
        e, ed = wanted.q - q, wanted.qd - qd
        # V = 1/2 e'^T M e' + 1/2 e^T Kp e
        energies.append(0.5 * ed @ arm.mass_matrix(q) @ ed + 0.5 * kp * e @ e)
    assert np.diff(energies).max() < 1e-9 * energies[0]
    assert energies[-1] < 1e-4 * energies[0]


def test_pd_plus_with_gravity_comes_to_rest_at_the_reference(arm):
    goal = np.array([0.7, -0.4])
    still = np.zeros(2)

    def wanted(_t):
        return Reference(goal, still, still)

    *_, (_, q, qd) = states(
        arm, pd_plus, Gains(80.0, 25.0), np.array([-1.0, 1.0]), still, 6.0, wanted
    )
    np.testing.assert_allclose(q, goal, atol=1e-6)
    np.testing.assert_allclose(qd, 0, atol=1e-5)
    # Without gravity in it the arm would sag by g / kp.
    sag = arm.gravity_torque(goal) / 80.0
    assert np.abs(sag).max() > 0.01


def test_pd_plus_and_feedforward_agree_where_the_velocity_is_the_desired_one(arm, rng):
    wanted = reference_at(0.4)
    q = rng.normal(size=2)
    arguments = arm, wanted, q, wanted.qd
    gains = Gains(10.0, 3.0)
    np.testing.assert_allclose(
        pd_plus(*arguments, gains=gains).tau, feedforward(*arguments, gains=gains).tau, rtol=1e-12
    )


def test_gravity_only_ignores_the_reference(arm, rng):
    q, qd = rng.normal(size=(2, 2))
    parts = gravity_only(arm, reference_at(1.0), q, qd, gains=Gains(100.0, 2.0))
    np.testing.assert_allclose(parts.tau, arm.gravity_torque(q) - 2.0 * qd, rtol=1e-13)
    nothing = gravity_only(arm, reference_at(1.0), q, qd, Switches(gravity=False))
    assert not nothing.tau.any()


@pytest.mark.parametrize('law', LAWS.values(), ids=LAWS)
def test_switches_take_parts_away_in_every_law(arm, rng, law):
    q, qd = rng.normal(size=(2, 2))
    wanted, gains = reference_at(0.3), Gains(5.0, 1.0)
    friction = coulomb_friction(np.array([0.3, 0.2]), np.array([0.1, 0.4]))
    whole = law(arm, wanted, q, qd, Switches(), gains, friction)
    for part in ('gravity', 'coriolis', 'inertia', 'friction'):
        less = law(arm, wanted, q, qd, Switches(**{part: False}), gains, friction)
        assert not getattr(less, part).any()
        np.testing.assert_allclose(less.tau, whole.tau - getattr(whole, part), atol=1e-12)


@pytest.mark.parametrize('law', LAWS.values(), ids=LAWS)
def test_a_batch_of_states_equals_single_states(arm, rng, law):
    q, qd = rng.normal(size=(2, 5, 2))
    wanted = Reference(*rng.normal(size=(3, 5, 2)))
    together = law(arm, wanted, q, qd, gains=Gains(3.0, 2.0)).tau
    for k in range(5):
        single = law(arm, Reference(*(r[k] for r in wanted)), q[k], qd[k], gains=Gains(3.0, 2.0))
        np.testing.assert_allclose(together[k], single.tau, rtol=1e-12)


@pytest.mark.parametrize('law', LAWS.values(), ids=LAWS)
def test_a_wrong_shape_is_named(arm, law):
    with pytest.raises(ShapeError, match='q has shape'):
        law(arm, reference_at(0.0), np.zeros(3), np.zeros(2))


def test_friction_is_that_of_the_compiled_robot(rng):
    model = replace(planar_2r(), viscous=np.array([0.3, 0.2]), coulomb=np.array([0.1, 0.0]))
    arm = Dynamics(model)
    qd = rng.normal(size=(50, 2)) * np.logspace(-5, 1, 50)[:, None]
    own = coulomb_friction(model.viscous, model.coulomb)
    np.testing.assert_allclose(own.torque(qd), arm.friction_torque(qd), rtol=1e-14)
    wanted = reference_at(0.2)
    given = feedforward(arm, wanted, wanted.q, wanted.qd, friction=own)
    np.testing.assert_allclose(
        given.friction, feedforward(arm, wanted, wanted.q, wanted.qd).friction, rtol=1e-14
    )
