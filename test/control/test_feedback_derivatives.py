# SPDX-License-Identifier: Apache-2.0
"""Derivatives of impedance laws: against differences of sixth order, and poles of closed loops."""

import numpy as np
import pytest
import robots

from robot_dynamics.common.errors import ModelError, ShapeError
from robot_dynamics.control import (
    CartesianImpedance,
    Gains,
    Impedance,
    PoseReference,
    Reference,
    joint_impedance,
    joint_impedance_derivatives,
)
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import random_tree

H = 1e-3
WEIGHTS = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}  # of differences of sixth order


def differences(f, x):
    """Return df/dx (..., n, n)."""
    columns = [
        sum(w * (f(x + k * H * e) - f(x - k * H * e)) for k, w in WEIGHTS.items()) / H
        for e in np.eye(x.shape[-1])
    ]
    return np.stack(columns, axis=-1)


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.fixture(scope='module')
def arm():
    return Dynamics(random_tree(3, np.random.default_rng(3)))


@pytest.fixture(scope='module')
def panda():
    return Dynamics(robots.load('panda', locked_joints={'panda_finger_joint1': 0.02}))


def check_cartesian(arm, frame, rng):
    law, n = CartesianImpedance(arm, frame), arm.model.n
    q, qd = rng.uniform(-1, 1, (2, 4, n))
    near = arm.forward_kinematics(q + 0.1 * rng.normal(size=(4, n)), frame)
    target = PoseReference(near, *(0.3 * rng.normal(size=(2, 4, 6))))
    own = Impedance([200, 600, 1500], [10, 20, 40], 0.6, rng.uniform(0, 20, n), 3.0)
    others = {'posture': q[0] + 0.3, 'wrench': 10 * rng.normal(size=6)}
    by_q, by_qd = law.derivatives(q, qd, target, own, **others)
    expected = differences(lambda x: law.torque(x, qd, target, own, **others).tau, q)
    np.testing.assert_allclose(by_q, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    expected = differences(lambda x: law.torque(q, x, target, own, **others).tau, qd)
    np.testing.assert_allclose(by_qd, expected, rtol=0, atol=1e-10 * np.abs(expected).max())

    out = np.empty((2, 4, n, n))
    result = law.derivatives(q, qd, target, own, **others, out=(out[0], out[1]))
    assert np.shares_memory(result.dtau_dq, out)
    np.testing.assert_array_equal(out, (by_q, by_qd))
    one = PoseReference(*(part[2] for part in target))
    single = law.derivatives(q[2], qd[2], one, own, **others)
    np.testing.assert_allclose(single.dtau_dq, by_q[2], rtol=0, atol=1e-12 * np.abs(by_q).max())
    with pytest.raises(ShapeError, match='out'):
        law.derivatives(q, qd, target, own, out=(out[0, 0], out[1, 0]))


def check_joints(arm, rng):
    n = arm.model.n
    q, qd, q_d, qd_d, qdd_d = rng.uniform(-1, 1, (5, 4, n))
    reference, gains = Reference(q_d, qd_d, qdd_d), Gains(rng.uniform(10, 300, n), 0.7)

    def torque(q, qd):
        own = joint_impedance(arm, reference, q, qd, gains=gains)
        return own.gravity + own.coriolis + own.inertia + own.feedback

    found = joint_impedance_derivatives(arm, reference, q, qd, gains)
    for by, expected in zip(
        found,
        (differences(lambda x: torque(x, qd), q), differences(lambda x: torque(q, x), qd)),
        strict=True,
    ):
        np.testing.assert_allclose(by, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_cartesian_impedance_of_three_joints(arm, rng):
    """Three of six natural modes are zero: their vectors have no derivatives."""
    check_cartesian(arm, arm.model.link_names[-1], rng)


def test_joint_impedance_of_three_joints(arm, rng):
    check_joints(arm, rng)


@pytest.mark.slow
def test_impedance_of_seven_joints(panda, rng):
    check_cartesian(panda, 'panda_hand_tcp', rng)
    check_joints(panda, rng)


def test_poles_are_those_of_springs_and_damping_ratios(arm, rng):
    """About a reference at rest: w = sqrt(eig(M^-1 K)), and -zeta w -+ j w sqrt(1 - zeta^2)."""
    q, rest, ratio = rng.uniform(-1, 1, 3), np.zeros(3), 0.4
    stiffness = rng.uniform(1e3, 3e3, 3)
    gains = Gains(stiffness, np.full(3, ratio))
    reference = Reference(q, rest, rest)
    A, B = arm.linearize(q, rest, arm.gravity_torque(q))
    K = np.hstack(joint_impedance_derivatives(arm, reference, q, rest, gains))
    poles = np.linalg.eigvals(A + B @ K)
    w = np.sqrt(np.linalg.eigvals(np.linalg.solve(arm.mass_matrix(q), np.diag(stiffness))).real)
    # The damping is that of a frequency sqrt(w^2 + 1), see DAMPED_FREQUENCY
    decay = ratio * w**2 / np.sqrt(w**2 + 1)
    expected = np.sort(-decay), np.sort(np.sqrt(w**2 - decay**2))
    upper = poles[poles.imag > 0]
    np.testing.assert_allclose(np.sort(upper.real), expected[0], rtol=1e-9)
    np.testing.assert_allclose(np.sort(upper.imag), expected[1], rtol=1e-9)


def test_too_many_joints_are_rejected():
    arm = Dynamics(random_tree(15, np.random.default_rng(3)))
    still = np.zeros(15)
    with pytest.raises(ModelError, match='at most 14'):
        joint_impedance_derivatives(arm, Reference(still, still, still), still, still, Gains(1, 1))


def test_bad_arguments_are_named(arm):
    q, rest, gains = np.zeros(3), np.zeros(3), Gains(np.ones(3), np.ones(3))
    law, frame = Impedance(), arm.model.link_names[-1]
    target = PoseReference(arm.forward_kinematics(q, frame), np.zeros(6))
    of = CartesianImpedance(arm, frame).derivatives
    for wrong in (np.zeros(2), 0.0):
        with pytest.raises(ShapeError, match=r': q has shape .*, expected \(\.\.\., 3\)'):
            of(wrong, rest, target, law)
    with pytest.raises(ShapeError, match=r'pose of the target has shape \(3, 3\)'):
        of(q, rest, PoseReference(np.eye(3), np.zeros(6)), law)
    square = np.zeros((3, 3))
    for out, message in (
        (square, 'out is ndarray, expected a tuple of 2: dtau_dq, dtau_dqd'),
        ((square,), 'out is tuple, expected a tuple of 2'),
        ((square, np.zeros((3, 2))), r'dtau_dqd has shape \(3, 2\)'),
        ((square, square.astype('f4')), 'dtau_dqd has shape .* float32'),
        ((square, square), 'dtau_dqd shares memory'),
    ):
        with pytest.raises(ShapeError, match=message):
            joint_impedance_derivatives(arm, Reference(q, rest, rest), q, rest, gains, out=out)
        assert not square.any()
