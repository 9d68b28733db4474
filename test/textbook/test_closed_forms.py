# SPDX-License-Identifier: Apache-2.0
"""Formulations and compiled methods against the closed forms of the textbooks' example systems.

The parameters of the systems are unequal and without common factors, so that no error cancels.
"""

from typing import NamedTuple

import numpy as np
import pytest

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model import robots as samples
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.formulations import (
    FORMULATIONS,
    closed_form_matrix,
    euler_lagrange,
    hamiltonian,
    virtual_work,
)
from robot_dynamics.identification.estimation.base_parameters import base_parameters
from robot_dynamics.textbook.closed_forms import (
    CartesianArm,
    FiveBarLinkage,
    GearedLink,
    PlanarElbow,
    PointMassArm,
    RemoteElbow,
    VerticalParticle,
)
from robot_dynamics.textbook.closed_forms.equation_of_motion import EquationOfMotion

ROUNDING = 1e-12  # relative to the largest entry, or to 1 if all are smaller

ELBOW = {'l1': 0.7, 'lc1': 0.3, 'lc2': 0.25, 'm1': 3.1, 'm2': 1.7, 'I1': 0.12, 'I2': 0.05}
AS_MODEL = {'lengths': (0.7, 0.5), 'com': (0.3, 0.25), 'masses': (3.1, 1.7)}
FIVE_BAR = {
    'lc': (0.31, 0.17, 0.42, 0.56),
    'm': (2.3, 1.1, 1.9, 0.7),
    'I': (0.11, 0.023, 0.083, 0.047),
}
DECOUPLED = {**FIVE_BAR, 'm': (2.3, 1.1, 0.9, 0.9 * 0.37 * 0.42 / (0.8 * 0.56))}


class System(NamedTuple):
    by_hand: EquationOfMotion
    model: RobotModel


def five_bar(values):
    model = samples.five_bar(
        (0.8, 0.37), com=values['lc'], masses=values['m'], inertias=values['I']
    )
    return System(FiveBarLinkage(l1=0.8, l2=0.37, **values), model)


SYSTEMS = {
    'vertical_particle': System(VerticalParticle(2.3), samples.vertical_particle(2.3)),
    'geared_link': System(
        GearedLink(r=37.0, Jm=2e-4, Jl=0.61, M=2.1, l=0.43, Bm=3e-4, Bl=0.2),
        samples.geared_link(37.0, 2e-4, 0.61, 2.1, 0.43, 3e-4, 0.2),
    ),
    'cartesian_arm': System(CartesianArm(3.1, 1.7), samples.cartesian_arm((3.1, 1.7))),
    'planar_elbow': System(
        PlanarElbow(**ELBOW), samples.planar_2r(**AS_MODEL, inertias=(0.12, 0.05))
    ),
    'remote_elbow': System(
        RemoteElbow(**ELBOW), samples.remote_elbow(**AS_MODEL, inertias=(0.12, 0.05))
    ),
    'five_bar': five_bar(FIVE_BAR),
    'decoupled_five_bar': five_bar(DECOUPLED),
    'point_mass_arm': System(
        PointMassArm(1.3, 2.2, 0.7, 0.45), samples.point_mass_2r((1.3, 2.2), (0.7, 0.45))
    ),
}


@pytest.fixture(params=SYSTEMS)
def system(request):
    return SYSTEMS[request.param]


def states(model, count=12):
    return np.random.default_rng(1).uniform(-3, 3, (count, 3, model.n))


def assert_equal(value, expected):
    assert np.shape(value) == np.shape(expected)
    assert np.abs(value - expected).max() <= ROUNDING * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize('formulation', FORMULATIONS, ids=lambda f: f.__name__.split('.')[-1])
def test_every_formulation(formulation, system):
    by_hand, model = system
    for q, qd, qdd in states(model):
        tau = formulation.inverse_dynamics(model, q, qd, qdd)
        assert_equal(tau, by_hand.inverse_dynamics(q, qd, qdd))
        if hasattr(formulation, 'mass_matrix'):
            assert_equal(formulation.mass_matrix(model, q), by_hand.mass_matrix(q))
        if hasattr(formulation, 'coriolis_matrix'):
            C = formulation.coriolis_matrix(model, q, qd)
            assert_equal(C, by_hand.coriolis_matrix(q, qd))
        if hasattr(formulation, 'gravity_torque'):
            assert_equal(formulation.gravity_torque(model, q), by_hand.gravity_torque(q))


def test_the_compiled_functions(system):
    by_hand, arm = system.by_hand, Dynamics(system.model)
    for q, qd, qdd in states(system.model):
        tau = by_hand.inverse_dynamics(q, qd, qdd)
        assert_equal(arm.inverse_dynamics(q, qd, qdd), tau)
        M, C, g = arm.terms(q, qd)
        assert_equal(M, by_hand.mass_matrix(q))
        assert_equal(C, by_hand.coriolis_matrix(q, qd))
        assert_equal(g, by_hand.gravity_torque(q))
        assert_equal(arm.forward_dynamics(q, qd, tau), qdd)


def test_energies(system):
    by_hand, model = system
    for q, qd, _ in states(model):
        K = euler_lagrange.kinetic_energy(model, q, qd)
        assert_equal(K, by_hand.kinetic_energy(q, qd))
        # The reference heights may differ.
        origin = np.zeros(model.n)
        raised = euler_lagrange.potential_energy(model, q)
        raised = raised - euler_lagrange.potential_energy(model, origin)
        assert_equal(raised, by_hand.potential_energy(q) - by_hand.potential_energy(origin))


def test_hamiltonian_of_the_hand_written_energies(system):
    by_hand, model = system
    for q, qd, _ in states(model):
        p = by_hand.mass_matrix(q) @ qd
        assert_equal(hamiltonian.generalized_momentum(model, q, qd), p)
        # sum_k p_k qd_k = 2 K and H = K + V
        assert_equal(np.asarray(p @ qd), 2 * by_hand.kinetic_energy(q, qd))
        H = by_hand.kinetic_energy(q, qd) + euler_lagrange.potential_energy(model, q)
        assert_equal(hamiltonian.hamiltonian(model, q, p), H)


def test_gravity_is_the_gradient_of_the_potential(system):
    by_hand, model = system
    particles = virtual_work.Particles([], lambda q: np.zeros((0, 3)), by_hand.potential_energy)
    for q, _, _ in states(model):
        assert_equal(by_hand.gravity_torque(q), virtual_work.gravity_torque(particles, q))


def test_linearity_in_the_parameters(system):
    by_hand, model = system
    Theta = by_hand.parameters()
    for q, qd, qdd in states(model):
        Y = by_hand.regressor(q, qd, qdd)
        assert Y.shape == (model.n, len(Theta))
        # Y of the geared link includes damping, inverse dynamics does not.
        tau = by_hand.inverse_dynamics(q, qd, qdd) + model.viscous * qd
        assert_equal(Y @ Theta, tau)


def test_the_motor_torque_of_a_geared_link():
    by_hand, model = SYSTEMS['geared_link']
    arm = Dynamics(model)
    for q, qd, qdd in states(model):
        # u = r tau_m, damping included: the power is the same at the shaft and at the link.
        u = arm.inverse_dynamics(q, qd, qdd) + arm.friction_torque(qd)
        assert_equal(by_hand.r * by_hand.motor_torque(q, qd, qdd), u)


def rank(rows):
    sigma = np.linalg.svd(rows, compute_uv=False)
    return int((sigma > 1e-10 * sigma[0]).sum())


@pytest.mark.parametrize(
    ('gravity', 'own', 'full', 'symmetric'), [(True, 5, 6, 4), (False, 3, 4, 3)]
)
def test_ranks_of_the_elbow_regressors(gravity, own, full, symmetric):
    """Five parameters, three without gravity; and the rank of the 20 columns of two bodies."""
    model = SYSTEMS['planar_elbow'].model.with_gravity([0.0, -9.81 if gravity else 0.0, 0.0])
    elbow = PlanarElbow(**ELBOW, g=9.81 if gravity else 0.0)
    assert rank(np.vstack([elbow.regressor(*s) for s in states(model)])) == own

    arm = Dynamics(model)
    Y = np.vstack([arm.regressor(*s) for s in states(model, 20)])
    assert rank(Y) == full == base_parameters(arm, np.random.default_rng(0)).number
    # With the centres of mass on the x axes, the columns m c_y are omitted.
    on_axis = np.delete(Y, [2, 12], axis=1)
    assert rank(on_axis) == symmetric


def test_one_elbow_parameter_follows_from_another():
    """Theta_2 = l1 Theta_5: with the length known, four remain."""
    Theta = PlanarElbow(**ELBOW).parameters()
    assert Theta[1] == pytest.approx(ELBOW['l1'] * Theta[4], rel=1e-15)


@pytest.mark.parametrize('name', ['planar_elbow', 'remote_elbow'])
def test_christoffel_symbols(name):
    by_hand, model = SYSTEMS[name]
    for q, qd, _ in states(model):
        c = by_hand.christoffel_symbols(q)
        assert_equal(euler_lagrange.christoffel_symbols(model, q), c)
        # (6.67): C_kj = sum_i c_ijk qd_i
        assert_equal(np.einsum('ijk,i->kj', c, qd), by_hand.coriolis_matrix(q, qd))


def test_the_remote_drive_removes_coriolis_torques_alone():
    """Spong, Hutchinson and Vidyasagar, below (6.99)."""
    for q, qd, _ in states(SYSTEMS['planar_elbow'].model):
        direct = closed_form_matrix.velocity_torques(SYSTEMS['planar_elbow'].model, q, qd)
        remote = closed_form_matrix.velocity_torques(SYSTEMS['remote_elbow'].model, q, qd)
        assert np.abs(direct.coriolis[0]) > 1e-3
        assert_equal(remote.coriolis, np.zeros(2))
        assert np.abs(remote.centrifugal).min() > 1e-4


def test_the_remote_elbow_is_the_elbow_in_other_coordinates():
    S = np.array([[1.0, 0.0], [-1.0, 1.0]])
    elbow, remote = PlanarElbow(**ELBOW), RemoteElbow(**ELBOW)
    for p, pd, pdd in states(SYSTEMS['remote_elbow'].model):
        tau = S.T @ elbow.inverse_dynamics(S @ p, S @ pd, S @ pdd)
        assert_equal(remote.inverse_dynamics(p, pd, pdd), tau)


def test_the_five_bar_is_decoupled_by_the_right_masses():
    """Spong, Hutchinson and Vidyasagar, (6.108) to (6.111)."""
    by_hand, model = SYSTEMS['decoupled_five_bar']
    m1, m2, m3, m4 = by_hand.m
    c1, c2, c3, c4 = by_hand.lc
    I1, I2, I3, I4 = by_hand.I
    d11 = m1 * c1**2 + m3 * c3**2 + m4 * 0.8**2 + I1 + I3
    d22 = m2 * c2**2 + m3 * 0.37**2 + m4 * c4**2 + I2 + I4
    for q, qd, qdd in states(model):
        tau = euler_lagrange.inverse_dynamics(model, q, qd, qdd)
        # d11 q1dd + g1(q1) = tau1,  d22 q2dd + g2(q2) = tau2
        g1 = 9.81 * np.cos(q[0]) * (m1 * c1 + m3 * c3 + m4 * 0.8)
        g2 = 9.81 * np.cos(q[1]) * (m2 * c2 + m3 * 0.37 - m4 * c4)
        assert_equal(tau, np.array([d11 * qdd[0] + g1, d22 * qdd[1] + g2]))


def test_other_masses_couple_the_five_bar():
    by_hand, model = SYSTEMS['five_bar']
    q, qd, _ = states(model)[0]
    assert abs(euler_lagrange.mass_matrix(model, q)[0, 1]) > 1e-3
    assert np.abs(by_hand.coriolis_matrix(q, qd)).max() > 1e-3


def test_kinetic_energy_of_the_point_masses_as_printed():
    by_hand, model = SYSTEMS['point_mass_arm']
    for q, qd, _ in states(model):
        assert_equal(by_hand.kinetic_energy(q, qd), qd @ by_hand.mass_matrix(q) @ qd / 2)
