# SPDX-License-Identifier: Apache-2.0
"""Elastic joints: the single link by hand, and laws for any arm."""

import numpy as np
import pytest

from robot_dynamics.common.errors import ModelError, ShapeError, SingularityError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import geared_link, random_tree
from robot_dynamics.formulations import (
    elastic_joints,
    euler_lagrange,
    forward_dynamics,
    newton_euler_link_frame,
    virtual_work,
)
from robot_dynamics.textbook.closed_forms import ElasticJoint

ROUNDING = 1e-12
LINK = ElasticJoint(r=37.0, Jm=2e-4, Jl=0.61, M=2.1, l=0.43, k=130.0)
MODEL = geared_link(LINK.r, LINK.Jm, LINK.Jl, LINK.M, LINK.l)
ID = newton_euler_link_frame.inverse_dynamics


def states(n, count=8):
    return np.random.default_rng(4).uniform(-2, 2, (count, 3, n))


def assert_equal(value, expected):
    assert np.abs(value - expected).max() <= ROUNDING * max(1.0, np.abs(expected).max())


def arm_with_rotors(n=4):
    return random_tree(n, np.random.default_rng(7)).with_actuation(
        gear_ratio=50.0, rotor_inertia=np.linspace(1e-4, 4e-4, n)
    )


def fd(model, q, qd, tau):
    return forward_dynamics.joint_acceleration(model, q, qd, tau, inverse_dynamics=ID)


def test_single_link_by_hand():
    for x, xd, xdd in states(2):
        (q, theta), (qdd, thetadd) = np.split(x, 2), np.split(xdd, 2)
        found = elastic_joints.inverse_dynamics(
            MODEL, LINK.k, q, xd[:1], qdd, theta, thetadd, inverse_dynamics=ID
        )
        assert_equal(np.concatenate(found), LINK.inverse_dynamics(x, xd, xdd))


def test_single_link_by_virtual_work():
    """From r(q) and P(q): the rotor is two particles on its rim, which turn by r q2."""
    turning = LINK.Jl - LINK.M * LINK.l**2
    radius = np.sqrt(turning / LINK.M)

    def circle(angle, distance):
        return distance * np.array([np.sin(angle), -np.cos(angle)])

    def positions(x):
        com, rim = circle(x[0], LINK.l), circle(LINK.r * x[1], 0.01)
        bar = circle(x[0], radius)
        return np.array([com + bar, com - bar, rim, -rim])

    rotor = LINK.Jm / 0.01**2 / 2
    system = virtual_work.Particles(
        [LINK.M / 2, LINK.M / 2, rotor, rotor], positions, LINK.potential_energy
    )
    for x, xd, xdd in states(2):
        assert_equal(virtual_work.mass_matrix(system, x), LINK.mass_matrix(x))
        tau = virtual_work.inverse_dynamics(system, x, xd, xdd)
        expected = LINK.inverse_dynamics(x, xd, xdd)
        # The rim particles, spun 37 times as fast, accelerate by thousands of m/s^2.
        assert np.abs(tau - expected).max() < 1e-11 * max(1.0, np.abs(xd).max() ** 2 * 37**2)


def test_linearity_in_the_parameters():
    for x, xd, xdd in states(2):
        Y, Theta = LINK.regressor(x, xd, xdd), LINK.parameters()
        assert_equal(Y @ Theta, LINK.inverse_dynamics(x, xd, xdd))


def test_energy_of_the_spring_and_its_slope():
    n, K = 4, np.array([100.0, 50.0, 20.0, 0.0])
    model = arm_with_rotors(n)
    for q, theta, _ in states(n):
        assert_equal(
            elastic_joints.spring_energy(model, K, q, theta),
            K @ (q - theta) ** 2 / 2,
        )
        springs = virtual_work.Particles(
            [],
            lambda x: np.zeros((0, 3)),
            lambda x: sum(k * (a - b) ** 2 / 2 for k, a, b in zip(K, x[:n], x[n:], strict=True)),
        )
        slope = virtual_work.gravity_torque(springs, np.concatenate([q, theta]))
        torque = elastic_joints.spring_torque(model, K, q, theta)
        # On the links, minus the slope in q; on the motors, the opposite.
        assert_equal(torque, -slope[:n])
        assert_equal(torque, slope[n:])


def test_accelerations_invert_the_inverse_dynamics():
    model = arm_with_rotors()
    for q, qd, u in states(4):
        theta = q + 0.1 * qd
        found = elastic_joints.accelerations(model, 80.0, q, qd, theta, u, forward_dynamics=fd)
        back = elastic_joints.inverse_dynamics(
            model, 80.0, q, qd, found.link, theta, found.motor, inverse_dynamics=ID
        )
        size = np.abs(found.link).max()
        assert np.abs(back.link).max() < 1e-11 * max(1.0, size)
        assert_equal(back.motor, u)


def test_power_of_the_motors_is_the_energy_gained():
    """dH/dt = u . thetad, with the springs' energy in H."""
    model = arm_with_rotors()
    links, arm = elastic_joints.without_rotors(model), Dynamics(model, backend='python')
    for q, qd, u in states(4):
        theta, thetad = q + 0.1 * u, qd[::-1]
        qdd, thetadd = elastic_joints.accelerations(
            model, 80.0, q, qd, theta, u, forward_dynamics=fd
        )
        B = model.reflected_inertia
        # d/dt of K_links + P by the rigid power balance, and the rest by hand
        tau = euler_lagrange.inverse_dynamics(links, q, qd, qdd)
        springs = 80.0 * (q - theta) @ (qd - thetad)
        rate = qd @ tau + thetad @ (B * thetadd) + springs
        assert abs(rate - u @ thetad) < 1e-11 * max(1.0, np.abs(u @ thetad), np.abs(qd @ tau))
        # and links without rotors are the rigid arm less B on the diagonal of M
        assert_equal(arm.mass_matrix(q), euler_lagrange.mass_matrix(links, q) + np.diag(B))


def test_stiff_springs_make_the_arm_rigid():
    """With theta - q small as tau / K, both accelerations tend to those of the rigid arm."""
    model = arm_with_rotors()
    q, qd, tau = states(4)[0]
    rigid = fd(model, q, qd, tau)
    # In rigid motion the springs carry what the links need: K (theta - q) = tau - B qdd
    carried = tau - model.reflected_inertia * rigid
    for K in (1e4, 1e8):
        found = elastic_joints.accelerations(
            model, K, q, qd, q + carried / K, tau, forward_dynamics=fd
        )
        # theta - q has the rounding error of q, which K multiplies
        accuracy = 1e-15 * K * 1e2 + ROUNDING
        for acceleration in found:
            assert np.abs(acceleration - rigid).max() < accuracy * np.abs(rigid).max()


def test_bad_arguments_are_named():
    model, x = arm_with_rotors(), np.zeros(4)
    with pytest.raises(ModelError, match=r'stiffness is .*-1'):
        elastic_joints.spring_torque(model, -1.0, x, x)
    with pytest.raises(ShapeError, match='stiffness has 3 values; expected one'):
        elastic_joints.spring_torque(model, np.ones(3), x, x)
    with pytest.raises(ShapeError, match='theta has shape'):
        elastic_joints.spring_energy(model, 1.0, x, np.zeros(3))
    with pytest.raises(ShapeError, match='u has shape'):
        elastic_joints.accelerations(model, 1.0, x, x, x, np.zeros(2), forward_dynamics=fd)
    rigid = random_tree(4, np.random.default_rng(7))
    with pytest.raises(SingularityError, match="motor of joint 'joint1' has inertia 0"):
        elastic_joints.accelerations(rigid, 1.0, x, x, x, x, forward_dynamics=fd)
