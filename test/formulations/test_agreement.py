# SPDX-License-Identifier: Apache-2.0
"""Agreement of all formulations with each other, a hand-written one and Pinocchio.

The formulations share no dynamics, so agreement to rounding is evidence that each is right.
"""

import inspect
import itertools

import numpy as np
import pytest

from robot_dynamics import formulations
from robot_dynamics.common.errors import FrameNotFound, ShapeError
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.formulations import FORMULATIONS, euler_lagrange, hamiltonian
from robot_dynamics.textbook.closed_forms import PlanarElbow

ROUNDING = 1e-12  # relative to the largest entry, or to 1 where all are small


def name(formulation):
    return formulation.__name__.split('.')[-1]


def formulations_with(method):
    """Return the formulations that have a method."""
    return [f for f in FORMULATIONS if hasattr(f, method)]


def formulations_with_wrench():
    return [
        f for f in FORMULATIONS if 'tip_wrench' in inspect.signature(f.inverse_dynamics).parameters
    ]


def assert_equal(value, expected, formulation=None):
    where = formulation and name(formulation)
    assert value.shape == expected.shape, where
    assert np.abs(value - expected).max() <= ROUNDING * max(1.0, np.abs(expected).max()), where


every_formulation = pytest.mark.parametrize('formulation', FORMULATIONS, ids=name)
# Branches, both kinds of joints, a mimic joint, rotors, and no gravity.
few_robots = pytest.mark.parametrize(
    'robot', ['mimic', 'tree_7', 'rotors', 'weightless'], indirect=True
)
one_robot = pytest.mark.parametrize('robot', ['mimic'], indirect=True)


def assert_pairwise_equal(results):
    for (first, x), (second, y) in itertools.combinations(results.items(), 2):
        scale = max(1.0, np.abs(x).max())
        assert np.abs(x - y).max() <= ROUNDING * scale, f'{first} and {second} differ'


def test_torques(robot, at):
    assert_pairwise_equal(
        {name(f): f.inverse_dynamics(robot, at.q, at.qd, at.qdd) for f in FORMULATIONS}
    )


def test_mass_matrices(robot, at):
    assert_pairwise_equal(
        {name(f): f.mass_matrix(robot, at.q) for f in formulations_with('mass_matrix')}
    )


def test_coriolis_matrices(robot, at):
    assert_pairwise_equal(
        {
            name(f): f.coriolis_matrix(robot, at.q, at.qd)
            for f in formulations_with('coriolis_matrix')
        }
    )


def test_gravity_torques(robot, at):
    assert_pairwise_equal(
        {name(f): f.gravity_torque(robot, at.q) for f in formulations_with('gravity_torque')}
    )


def test_terms_are_those_of_the_torque(robot, at):
    """The terms of a formulation add up to its own inverse dynamics."""
    for formulation in FORMULATIONS:
        assert_terms_add_up(formulation, robot, at)


def assert_terms_add_up(formulation, robot, at):
    rest, torque = np.zeros(robot.n), formulation.inverse_dynamics
    g = torque(robot, at.q, rest, rest)
    if hasattr(formulation, 'gravity_torque'):
        assert_equal(formulation.gravity_torque(robot, at.q), g, formulation)
    if hasattr(formulation, 'mass_matrix'):
        columns = [torque(robot, at.q, rest, e) - g for e in np.eye(robot.n)]
        M = np.stack(columns, axis=1)
        assert_equal(formulation.mass_matrix(robot, at.q), M, formulation)
    if hasattr(formulation, 'coriolis_matrix'):
        C = formulation.coriolis_matrix(robot, at.q, at.qd)
        assert_equal(C @ at.qd, torque(robot, at.q, at.qd, rest) - g, formulation)


def test_against_pinocchio(robot, at, reference):
    expected = reference.inverse_dynamics(at.q, at.qd, at.qdd)
    for formulation in FORMULATIONS:
        tau = formulation.inverse_dynamics(robot, at.q, at.qd, at.qdd)
        assert_equal(tau, expected, formulation)


def test_terms_against_pinocchio(robot, at, reference):
    # All others are compared with these.
    assert_equal(euler_lagrange.mass_matrix(robot, at.q), reference.mass_matrix(at.q))
    assert_equal(euler_lagrange.gravity_torque(robot, at.q), reference.gravity_torque(at.q))
    C = euler_lagrange.coriolis_matrix(robot, at.q, at.qd)
    assert_equal(C @ at.qd, reference.coriolis_matrix(at.q, at.qd) @ at.qd)


def test_tip_wrench_against_pinocchio(robot, at, reference):
    for frame in robot.frame_names:
        expected = reference.pushed_dynamics(at.q, at.qd, at.qdd, at.wrench, frame)
        for formulation in formulations_with_wrench():
            tau = formulation.inverse_dynamics(
                robot, at.q, at.qd, at.qdd, tip_wrench=at.wrench, tip_frame=frame
            )
            assert_equal(tau, expected, formulation)


@few_robots
@pytest.mark.parametrize('formulation', formulations_with_wrench(), ids=name)
def test_tip_wrench_acts_through_the_jacobian(formulation, robot, at):
    free = formulation.inverse_dynamics(robot, at.q, at.qd, at.qdd)
    pushed = formulation.inverse_dynamics(robot, at.q, at.qd, at.qdd, tip_wrench=at.wrench)
    # tau = M qdd + C qd + g - J^T F, at the last frame unless another is named
    J = kin.jacobian(robot, at.q, robot.frame_names[-1])
    assert_equal(pushed, free - J.T @ at.wrench)
    at_base = {'tip_wrench': at.wrench, 'tip_frame': robot.frame_names[0]}
    assert_equal(formulation.inverse_dynamics(robot, at.q, at.qd, at.qdd, **at_base), free)


ELBOW = PlanarElbow(l1=0.7, lc1=0.3, lc2=0.25, m1=3.1, m2=1.7, I1=0.12, I2=0.05)
ARM = planar_2r(
    lengths=(ELBOW.l1, 0.5),
    com=(ELBOW.lc1, ELBOW.lc2),
    masses=(ELBOW.m1, ELBOW.m2),
    inertias=(ELBOW.I1, ELBOW.I2),
)
ELBOW_STATES = np.random.default_rng(1).uniform(-3, 3, (20, 3, 2))


@every_formulation
def test_planar_elbow_by_hand(formulation):
    for q, qd, qdd in ELBOW_STATES:
        tau = formulation.inverse_dynamics(ARM, q, qd, qdd)
        assert_equal(tau, ELBOW.inverse_dynamics(q, qd, qdd))
        if hasattr(formulation, 'mass_matrix'):
            assert_equal(formulation.mass_matrix(ARM, q), ELBOW.mass_matrix(q))
        if hasattr(formulation, 'coriolis_matrix'):
            assert_equal(formulation.coriolis_matrix(ARM, q, qd), ELBOW.coriolis_matrix(q, qd))
        if hasattr(formulation, 'gravity_torque'):
            assert_equal(formulation.gravity_torque(ARM, q), ELBOW.gravity_torque(q))


def test_potential_energy_of_the_planar_elbow_by_hand():
    for q, _, _ in ELBOW_STATES:
        expected = ELBOW.potential_energy(q)
        assert_equal(euler_lagrange.potential_energy(ARM, q), expected)
        assert_equal(hamiltonian.potential_energy(ARM, q), expected)


@few_robots
@every_formulation
def test_complex_arguments_pass_through(formulation, robot, at):
    """A complex step in qdd must give M exactly, and one in q the derivative of the others."""
    step = 1e-30
    tau = formulation.inverse_dynamics(robot, at.q, at.qd, at.qdd + 1j * step * at.qd)
    M = euler_lagrange.mass_matrix(robot, at.q)
    assert_equal(np.imag(tau) / step, M @ at.qd)
    tau = formulation.inverse_dynamics(robot, at.q + 1j * step * at.qd, at.qd, at.qdd)
    by_lagrange = euler_lagrange.inverse_dynamics(robot, at.q + 1j * step * at.qd, at.qd, at.qdd)
    assert_equal(np.imag(tau) / step, np.imag(by_lagrange) / step)


@few_robots
@every_formulation
def test_object_arrays_pass_through(formulation, robot, at, as_objects):
    tau = formulation.inverse_dynamics(robot, *map(as_objects, (at.q, at.qd, at.qdd)))
    assert tau.dtype == object
    assert_equal(tau.astype(float), formulation.inverse_dynamics(robot, at.q, at.qd, at.qdd))


@one_robot
@every_formulation
def test_wrong_shapes_are_named(formulation, robot, at):
    good = {'q': at.q, 'qd': at.qd, 'qdd': at.qdd}
    for wrong in good:
        bad = {**good, wrong: np.zeros(robot.n + 1)}
        with pytest.raises(ShapeError, match=rf'\b{wrong} has shape \({robot.n + 1},\)'):
            formulation.inverse_dynamics(robot, **bad)


@one_robot
@pytest.mark.parametrize('formulation', formulations_with_wrench(), ids=name)
def test_wrong_wrenches_and_frames_are_named(formulation, robot, at):
    motion = (robot, at.q, at.qd, at.qdd)
    with pytest.raises(ShapeError, match=r'wrench has shape \(3,\)'):
        formulation.inverse_dynamics(*motion, tip_wrench=np.zeros(3))
    with pytest.raises(FrameNotFound, match='nowhere'):
        formulation.inverse_dynamics(*motion, tip_wrench=np.zeros(6), tip_frame='nowhere')


def test_the_capability_table():
    rows = [line.split() for line in formulations.__doc__.splitlines()]
    table = {row[0]: row[1:] for row in rows if row and row[0] in map(name, FORMULATIONS)}
    assert list(table) == [name(f) for f in FORMULATIONS]
    verbs = {'M': 'mass_matrix', 'C': 'coriolis_matrix', 'g': 'gravity_torque'}
    for formulation in FORMULATIONS:
        row = table[name(formulation)]
        wrench = 'yes' if 'yes' in row else 'no'
        gives = row[: row.index(wrench)]
        assert (wrench == 'yes') == (formulation in formulations_with_wrench())
        for letter, verb in verbs.items():
            assert (letter in gives) == hasattr(formulation, verb), (name(formulation), verb)
