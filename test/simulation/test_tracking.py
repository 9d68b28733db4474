# SPDX-License-Identifier: Apache-2.0
"""The tracking law: the right model follows a trajectory, a wrong one sags as statics predicts."""

import warnings

import numpy as np
import pytest
import robots

from robot_dynamics.control import Gains, Switches, Trajectory, pd_gains
from robot_dynamics.control.swing import swing
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.simulation.ensembles.batch import simulate_batch
from robot_dynamics.simulation.ensembles.perturbations import Perturbations, payload_parameters
from robot_dynamics.simulation.ensembles.tracking import Tracking

ARM = Dynamics(planar_2r())
GAINS = Gains(kp=[900.0, 400.0], kd=[120.0, 40.0])
LINK = ARM.model.link_names[-1]


def still(q):
    return Trajectory(ARM.model.joint_names, [0.0], [q])


def moving():
    rest = np.zeros((3, 2))
    points = [[0.0, 0.0], [0.7, -0.5], [0.2, 0.4]]
    return Trajectory(ARM.model.joint_names, [0.0, 0.5, 1.0], points, rest, rest)


def test_the_right_model_leaves_only_the_error_of_the_integrator():
    errors = {}
    for h in (2e-3, 1e-3):
        steps = round(1.0 / h)
        law = Tracking(ARM, moving(), GAINS)
        q = moving().sample(0.0).q
        run = simulate_batch(
            ARM, q, 0 * q, law, steps=steps, time_step=h, record_every=steps // 10
        )
        errors[h] = np.abs(run.q[0] - moving().sample(run.t).q).max()
    assert errors[1e-3] < 1e-3
    # Semi-implicit Euler is of first order.
    assert errors[2e-3] / errors[1e-3] == pytest.approx(2.0, rel=0.1)


def test_an_unknown_payload_sags_until_the_feedback_holds_it():
    mass, com = np.array([0.0, 0.5, 1.0, 2.0]), np.array([0.3, 0.0, 0.0])
    q_d = np.array([0.2, 0.4])
    law = Tracking(ARM, still(q_d), GAINS)
    perturbations = Perturbations(LINK, payload_parameters(mass, com))
    run = simulate_batch(ARM, q_d, 0 * q_d, law, steps=6000, perturbations=perturbations)
    for m, q in zip(mass, run.q[:, -1], strict=True):
        # At rest: g(q) with the payload = g(q_d) without + Kp (q_d - q)
        held = Dynamics(ARM.model.with_payload(LINK, m, com)).gravity_torque(q)
        given = ARM.gravity_torque(q_d) + GAINS.kp * (q_d - q)
        np.testing.assert_allclose(held, given, rtol=0, atol=1e-9 * np.abs(held).max())
    sag = np.abs(run.q[:, -1] - q_d).max(axis=-1)
    assert (np.diff(sag) > 0).all()
    np.testing.assert_allclose(sag[0], 0.0, atol=1e-12)


def test_options_omit_parts_of_the_model():
    q, qd = np.random.default_rng(0).normal(size=(2, 5, 2))
    nothing = Switches(gravity=False, coriolis=False, inertia=False, friction=False)
    desired = moving().sample(0.3)
    feedback = GAINS.kp * (desired.q - q) + GAINS.kd * (desired.qd - qd)
    alone = Tracking(ARM, moving(), GAINS, nothing)(0.3, q, qd)
    np.testing.assert_array_equal(alone, feedback)
    with_model = Tracking(ARM, moving(), GAINS)(0.3, q, qd)
    expected = ARM.inverse_dynamics(*desired) + ARM.friction_torque(desired.qd)
    np.testing.assert_allclose(with_model - feedback, np.tile(expected, (5, 1)), atol=1e-9)


@pytest.mark.parametrize('name', ['kuka_iiwa', 'panda', 'ur5'])
def test_the_motion_is_within_the_limits_and_the_feedback_is_stable(name):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        model = robots.load(name)
    arm = Dynamics(model)
    motion = swing(arm, 3.0).trajectory(model.joint_names)
    desired = motion.sample(np.linspace(0.0, 3.0, 301))
    assert (desired.q >= model.lower).all()
    assert (desired.q <= model.upper).all()
    assert (np.abs(desired.qd) <= model.velocity_limit).all()
    assert np.ptp(desired.q, axis=0).max() > 0.1
    assert (np.abs(arm.inverse_dynamics(*desired)) <= model.effort_limit).all()
    gains = pd_gains(arm, motion.at_waypoints().q, 1e-3)
    M = arm.mass_matrix(desired.q)
    largest = np.linalg.eigvals(np.linalg.solve(M, np.diag(gains.kd))).real.max()
    assert 1e-3 * largest < 1.0
