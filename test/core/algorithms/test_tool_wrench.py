# SPDX-License-Identifier: Apache-2.0
"""Wrenches that are estimated from joint torques, against their definition."""

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.common.errors import FrameNotFound
from robot_dynamics.control.contact_wrench import DIRECTIONS, FLOOR, PRIOR, ContactWrenchEstimator
from robot_dynamics.core.model.robots import planar_2r

TOOL = 'panda_link8'
Q = np.array([0.3, -0.785, 0.2, -2.0, 0.4, 1.571, 0.785])
SIGMA = np.array([0.2, 0.3, 0.2, 0.2, 0.1, 0.05, 0.05])


@pytest.fixture(scope='module')
def arm():
    return rd.Dynamics(rd.load_urdf('panda'))


def in_axes(arm, q, frame):
    """Return the Jacobian (6, n) in the axes of the frame."""
    R = arm.forward_kinematics(q, frame)[:3, :3]
    return np.kron(np.eye(2), R.T) @ arm.jacobian(q, frame)


@pytest.mark.parametrize('model', DIRECTIONS)
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_it_is_the_mean_given_the_torques(arm, model, sign):
    r = sign * np.random.default_rng(1).normal(size=7)
    found = ContactWrenchEstimator(arm, TOOL, model).estimate(sign * Q, r, SIGMA)
    used = list(DIRECTIONS[model])
    J, W2 = in_axes(arm, sign * Q, TOOL)[used], np.diag(1 / (SIGMA**2 + FLOOR**2))
    P = np.linalg.inv(J @ W2 @ J.T + np.diag(1 / np.array(PRIOR)[used] ** 2))
    F = P @ J @ W2 @ r
    assert not len(found.unfelt)
    np.testing.assert_allclose(found.F[used], F, rtol=1e-9, atol=1e-9 * np.abs(F).max())
    np.testing.assert_allclose(found.covariance, P[-3:, -3:], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.unexplained, r - J.T @ F, atol=1e-9 * np.abs(r).max())


@pytest.mark.parametrize('model', DIRECTIONS)
def test_a_force_on_the_frame_is_found(arm, model):
    force = np.array([0.0, 0.0, 0.0, 3.0, -12.0, 8.0])
    r = in_axes(arm, Q, TOOL).T @ force
    found = ContactWrenchEstimator(arm, TOOL, model).estimate(Q, r, 0.1 * SIGMA)
    # The prior pulls it to zero by the share of the noise.
    assert np.abs(found.F - force).max() < 0.02 * np.linalg.norm(force)


def test_directions_that_the_arm_does_not_feel_are_listed_and_not_invented():
    arm = rd.Dynamics(planar_2r())
    frame, q = arm.model.link_names[-1], np.array([0.3, 0.7])
    J = in_axes(arm, q, frame)
    found = ContactWrenchEstimator(arm, frame, 'force').estimate(q, np.ones(2), np.full(2, 0.1))
    # In the origin of the last joint: across the plane, and along the first link.
    _, values, rows = np.linalg.svd(J[3:].T)
    not_felt = rows[np.append(values, 0.0) < 1e-9]
    assert len(not_felt) == 2
    np.testing.assert_allclose(found.unfelt.T @ found.unfelt, not_felt.T @ not_felt, atol=1e-6)
    assert np.abs(not_felt @ found.F[3:]).max() < 1e-6 * np.abs(found.F).max()
    np.testing.assert_allclose(J[3:].T @ found.F[3:] + found.unexplained, np.ones(2), rtol=1e-9)


def test_an_unknown_frame_is_rejected(arm):
    with pytest.raises(FrameNotFound, match='nowhere'):
        ContactWrenchEstimator(arm, 'nowhere')
