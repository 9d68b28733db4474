# SPDX-License-Identifier: Apache-2.0
"""Derivatives of poses, matrices, torques and energies: by complex steps, and in closed form.

References: `formulations.euler_lagrange` and `core.kinematics`, at complex positions.
"""

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.common.errors import ShapeError
from robot_dynamics.core import kinematics
from robot_dynamics.core.model.coordinates import with_coordinates
from robot_dynamics.core.model.robots import (
    geared_link,
    planar_2r,
    random_tree,
    vertical_particle,
)
from robot_dynamics.export.interop import differentiable
from robot_dynamics.formulations import euler_lagrange

EPS = np.finfo(float).eps
RNG = np.random.default_rng(7)
TREE = random_tree(4, RNG, branching=0.5, prismatic=0.4)
ROBOTS = {
    'revolute': geared_link(),
    'prismatic': vertical_particle(2.0),
    # joint 3 follows the others: q3 = 0.5 q1 - 2 q2
    'branched, one joint follows': with_coordinates(
        TREE, np.vstack([np.eye(3), [0.5, -2.0, 0.0]]), joint_names=('a', 'b', 'c')
    ),
}
REFERENCES = {
    'mass_matrix': euler_lagrange.mass_matrix,
    'gravity_torque': euler_lagrange.gravity_torque,
    'potential_energy': euler_lagrange.potential_energy,
    'kinetic_energy': euler_lagrange.kinetic_energy,
    'terms': lambda model, q, qd: np.concatenate(
        [
            euler_lagrange.mass_matrix(model, q).ravel(),
            euler_lagrange.coriolis_matrix(model, q, qd).ravel(),
            euler_lagrange.gravity_torque(model, q),
        ]
    ),
    'the derivative of kinetic_energy': lambda model, q, qd: np.concatenate(
        [
            euler_lagrange.coriolis_matrix(model, q, qd).T @ qd,
            euler_lagrange.mass_matrix(model, q) @ qd,
        ]
    ),
    'forward_kinematics': lambda model, q: kinematics.frame_pose(model, q, model.frame_names[-1]),
    'jacobian': lambda model, q: kinematics.jacobian(model, q, model.frame_names[-1]),
}


def functions(arm):
    frame = arm.model.frame_names[-1]
    found = [differentiable.forward_kinematics(arm, frame), differentiable.jacobian(arm, frame)]
    for name in ('mass_matrix', 'gravity_torque', 'potential_energy', 'kinetic_energy', 'terms'):
        found.append(getattr(differentiable, name)(arm))
    return [*found, differentiable.kinetic_energy(arm).derivative]


def by_complex_steps(function, *arguments):
    """Return the derivatives (size, entries of all arguments), exact to rounding."""
    x, ends, h = np.concatenate(arguments), np.cumsum([len(a) for a in arguments])[:-1], 1e-30
    columns = [function(*np.split(x + 1j * h * e, ends)) for e in np.eye(len(x))]
    return np.stack([np.ravel(column).imag / h for column in columns], axis=-1)


@pytest.mark.parametrize('robot', ROBOTS)
def test_values_and_derivatives_are_those_of_the_formulations(robot):
    """In a batch, and in a second call with other numbers."""
    model = ROBOTS[robot]
    for of in functions(rd.Dynamics(model)):
        for _ in range(2):
            batch = [RNG.uniform(-2.0, 2.0, (3, size)) for size in of.inputs.values()]
            values = of.value(*batch)
            J = of.jacobian(values, *batch)
            for k in range(3):
                row = [x[k] for x in batch]
                reference = REFERENCES[of.name]
                expected = by_complex_steps(lambda *x: reference(model, *x), *row)  # noqa: B023
                size = 1e3 * EPS * max(np.abs(expected).max(), np.abs(values).max(), 1.0)
                np.testing.assert_allclose(
                    values[k], np.ravel(reference(model, *row)), rtol=0, atol=size
                )
                np.testing.assert_allclose(J[k], expected, rtol=0, atol=size, err_msg=of.name)


def test_second_derivatives_of_a_pose_are_symmetric_and_those_of_its_jacobian():
    model = ROBOTS['branched, one joint follows']
    of = differentiable.forward_kinematics(rd.Dynamics(model), model.frame_names[-1])
    q, h = RNG.uniform(-1, 1, 3), 1e-5
    slopes = of.derivative
    H = slopes.jacobian(slopes.value(q), q).reshape(16, 3, 3)
    np.testing.assert_allclose(H, np.swapaxes(H, 1, 2), rtol=0, atol=100 * EPS * np.abs(H).max())
    differences = [(slopes.value(q + e) - slopes.value(q - e)) / (2 * h) for e in h * np.eye(3)]
    expected = np.moveaxis(np.reshape(differences, (3, 16, 3)), 0, -1)
    np.testing.assert_allclose(H, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize('angle', [0.7, -0.7])
def test_closed_form_of_the_planar_arm(angle):
    """h = -m2 l1 lc2 sin q2; Spong, Hutchinson and Vidyasagar, section 6.4.2."""
    arm = rd.Dynamics(planar_2r())
    q, qd = np.array([0.4, angle]), np.array([-1.5, 0.8])
    h, slope = -0.5 * np.sin(angle), -0.5 * np.cos(angle)  # dh/dq2
    of = differentiable.terms(arm)
    J = of.jacobian(of.value(q, qd), q, qd)
    close = {'rtol': 0, 'atol': 100 * EPS}
    np.testing.assert_allclose(J[:4, 1].reshape(2, 2), h * np.array([[2, 1], [1, 0]]), **close)
    a, b = qd
    np.testing.assert_allclose(
        J[4:8, 1].reshape(2, 2), slope * np.array([[b, a + b], [-a, 0]]), **close
    )
    np.testing.assert_allclose(
        J[4:8, 2:], h * np.array([[0, 1], [1, 1], [-1, 0], [0, 0]]), **close
    )
    np.testing.assert_allclose(J[[0, 1, 2, 3, 8, 9], 2:], 0.0, **close)


def test_gravity_and_large_velocities_leave_the_derivatives_of_c_exact():
    """C is linear in the velocities, and gravity has no part in it."""
    arm = rd.Dynamics(planar_2r())
    q, qd = np.array([0.4, -1.1]), np.array([1.5, -0.8])
    slow, fast = (differentiable.terms(arm.with_gravity([0, g, 0])) for g in (0.0, -9.81))
    first = slow.jacobian(slow.value(q, qd), q, qd)[4:8]
    second = fast.jacobian(fast.value(q, 300 * qd), q, 300 * qd)[4:8]
    np.testing.assert_allclose(second[:, :2], 300 * first[:, :2], rtol=0, atol=1e6 * EPS)


@pytest.mark.parametrize(
    'name', ['mass_matrix', 'gravity_torque', 'potential_energy', 'kinetic_energy', 'terms']
)
def test_a_payload_as_an_argument(name):
    """Values are those of the arm that carries it, and linear in it; others are differences."""
    arm, link = rd.Dynamics(TREE), TREE.link_names[-1]
    of = getattr(differentiable, name)(arm, payload=link)
    *state, _ = (RNG.uniform(-1, 1, (2, size)) for size in of.inputs.values())
    pi = np.array([0.7, 0.07, -0.14, 0.035, 0.05, 0.01, -0.002, 0.03, 0.004, 0.06])
    inertia = np.array([[0.05, 0.01, -0.002], [0.01, 0.03, 0.004], [-0.002, 0.004, 0.06]])
    c = pi[1:4] / 0.7
    about_com = inertia - 0.7 * (c @ c * np.eye(3) - np.outer(c, c))
    plain = getattr(differentiable, name)(arm.with_payload(link, 0.7, c, about_com))
    value = of.value(*state, pi)
    np.testing.assert_allclose(value, plain.value(*state), rtol=1e-12, atol=1e-12)
    J = of.jacobian(value, *state, pi)
    close = {'rtol': 0, 'atol': 1e3 * EPS * np.abs(J).max()}
    np.testing.assert_allclose(J[..., :-10], plain.jacobian(value, *state), **close)
    np.testing.assert_allclose(J[..., -10:] @ pi, value - of.value(*state, 0 * pi), **close)


def test_of_no_states_and_of_fewer_axes():
    arm = rd.Dynamics(planar_2r())
    for of in functions(arm):
        none = [np.empty((0, size)) for size in of.inputs.values()]
        assert of.value(*none).shape == (0, of.size)
        assert of.jacobian(of.value(*none), *none).shape == (0, of.size, sum(of.inputs.values()))
        if len(of.inputs) == 2:
            q, qd = RNG.uniform(-1, 1, (4, 1, 2)), RNG.uniform(-1, 1, (3, 2))
            J = of.jacobian(of.value(q, qd), q, qd)
            row = [q[2, 0], qd[1]]
            np.testing.assert_allclose(J[2, 1], of.jacobian(of.value(*row), *row), atol=1e-12)


def test_errors_name_the_function_and_the_argument():
    arm = rd.Dynamics(planar_2r())
    with pytest.raises(rd.FrameNotFound, match="no frame 'hand'"):
        differentiable.forward_kinematics(arm, 'hand')
    with pytest.raises(TypeError, match=r'jacobian\(\) got an unexpected keyword .*payload'):
        differentiable.jacobian(arm, 'tip', payload='tip')
    with pytest.raises(ShapeError, match=r'mass_matrix: q has shape \(3,\)'):
        differentiable.mass_matrix(arm).value(np.zeros(3))


@pytest.mark.parametrize('sign', [1, -1])
def test_a_step_that_diverges_says_so(sign):
    arm = rd.Dynamics(planar_2r())
    step = differentiable.simulation_step(arm, time_step=0.1)
    free = differentiable.simulation_step(arm, time_step=0.1, check_finite=False)
    # Two motions, of which one is too fast for the step.
    x, tau = np.array([[0.1, 0.2, 0, 0], [0.1, 0.2, sign * 50, 0]]), np.zeros(2)
    while np.isfinite(x).all():
        before, x = x, free.value(x[:, :2], x[:, 2:], tau)
    assert np.isfinite(x[0]).all()
    assert not np.isfinite(x[1]).all()
    message = r'a step of 0.1 s from velocities up to \d.* in 1 of 2 samples'
    with pytest.raises(FloatingPointError, match=message):
        step.value(before[:, :2], before[:, 2:], tau)
    with pytest.raises(FloatingPointError, match=r'qd\[1\] is (-)?inf, expected a finite number'):
        step.value(np.zeros(2), np.array([0.0, sign * np.inf]), tau)
