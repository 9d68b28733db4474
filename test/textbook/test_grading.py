# SPDX-License-Identifier: Apache-2.0
"""The grader: right functions pass, each typical mistake is named by the law that it breaks."""

import re
from dataclasses import replace

import numpy as np
import pytest
import robots
import tiers
from numpy import cos, sin

import robot_dynamics as rd
from robot_dynamics.common.errors import FrameNotFound, ModelError, ShapeError, SingularityError
from robot_dynamics.core import kinematics
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model import robots as samples
from robot_dynamics.formulations import (
    FORMULATIONS,
    closed_form_matrix,
    newton_euler_link_frame,
    twist_wrench,
)
from robot_dynamics.textbook import (
    CartesianArm,
    ElasticJoint,
    FiveBarLinkage,
    FunctionError,
    GearedLink,
    PlanarElbow,
    PlanarElbowRecursion,
    PointMassArm,
    RemoteElbow,
    SliderCrank,
    VerticalParticle,
    check,
)
from robot_dynamics.textbook.grading.functions import FORMS
from robot_dynamics.validation.identities import Bound, derivative

# Unequal parameters without common factors, so that no two mistakes have the same effect.
VALUES = {'l1': 0.7, 'lc1': 0.3, 'lc2': 0.25, 'm1': 3.1, 'm2': 1.7, 'I1': 0.12, 'I2': 0.05}
ELBOW = PlanarElbow(**VALUES)
MODEL = samples.planar_2r((0.7, 0.5), (0.3, 0.25), (3.1, 1.7), (0.12, 0.05))
GEARED = GearedLink(r=37.0, Jm=2e-4, Jl=0.61, M=2.1, l=0.43, Bm=3e-4, Bl=0.2)
SYSTEMS = [
    VerticalParticle(2.3),
    GEARED,
    ElasticJoint(r=37.0, Jm=2e-4, Jl=0.61, M=2.1, l=0.43, k=100.0),
    CartesianArm(3.1, 1.7),
    ELBOW,
    RemoteElbow(**VALUES),
    PointMassArm(1.3, 2.2, 0.7, 0.45),
    FiveBarLinkage(
        0.8, 0.37, (0.31, 0.17, 0.42, 0.56), (2.3, 1.1, 1.9, 0.7), (0.11, 0.02, 0.08, 0.05)
    ),
    SliderCrank(0.3, 0.8, (0.1, 0.4), (1.0, 2.0, 3.0), (0.1, 0.2)),
]


def functions_of(arm):
    return {name: getattr(arm, name) for name in FORMS if hasattr(arm, name)}


def without_regressor(arm):
    return {name: f for name, f in functions_of(arm).items() if name != 'regressor'}


def functions_of_module(formulation, model):
    bound = Bound(formulation, model)
    # The gradient of a Hamiltonian by differences is slow.
    left_out = {'hamiltonian'} if model.n > 2 else set()
    names = vars(formulation).keys() - left_out
    return {name: getattr(bound, name) for name in FORMS if name in names}


# -- right functions ------------------------------------------------------------------------------


@pytest.mark.parametrize('system', SYSTEMS, ids=lambda s: type(s).__name__)
def test_closed_forms_pass(system):
    report = check(system, **functions_of(system))
    assert report.passed, report
    assert report.findings == ()
    assert 'all' in repr(report)


def test_the_recursion_of_newton_and_euler_passes():
    assert check(ELBOW, inverse_dynamics=PlanarElbowRecursion(ELBOW).inverse_dynamics).passed


MODELS = {
    'planar_2r': MODEL,
    'geared_link': samples.geared_link(37.0, 2e-4, 0.61, 2.1, 0.43),
    'remote_elbow': samples.remote_elbow((0.7, 0.5), (0.3, 0.25), (3.1, 1.7), (0.12, 0.05)),
    'five_bar': samples.five_bar(),
    'random_tree_3': samples.random_tree(3, np.random.default_rng(5)),
}


@pytest.mark.parametrize(
    'name', ['random_tree_3', *tiers.soak(n for n in MODELS if n != 'random_tree_3')]
)
@pytest.mark.parametrize('formulation', FORMULATIONS, ids=lambda f: f.__name__.split('.')[-1])
def test_formulations_pass(formulation, name):
    report = check(MODELS[name], **functions_of_module(formulation, MODELS[name]))
    assert report.passed, report


@pytest.mark.parametrize(
    'name', ['panda', 'puma560', *tiers.soak(n for n in robots.NAMES if n != 'panda')]
)
def test_urdfs_pass(name):
    model = samples.puma560() if name == 'puma560' else robots.load(name)
    report = check(model, **functions_of(Dynamics(model)))
    assert report.passed, report


@pytest.mark.parametrize('formulation', [newton_euler_link_frame, twist_wrench])
def test_formulations_pass_on_a_path(formulation):
    report = check(
        robots.path('double_pendulum'),
        **functions_of_module(formulation, robots.load('double_pendulum')),
    )
    assert report.passed, report


@pytest.mark.parametrize(
    'formulation',
    [*tiers.slow(FORMULATIONS[:2]), *tiers.soak(FORMULATIONS[2:])],
    ids=lambda f: f.__name__.split('.')[-1],
)
def test_all_formulations_pass_on_a_real_arm(formulation):
    model = robots.load('ur5')
    report = check(model, **functions_of_module(formulation, model))
    assert report.passed, report


def test_functions_pass_without_a_robot():
    assert check(joints=2, **without_regressor(ELBOW)).passed


def test_a_level_of_potential_energy_is_free():
    level = {'potential_energy': lambda q: ELBOW.potential_energy(q) + 3.0}
    assert check(ELBOW, gravity_torque=ELBOW.gravity_torque, **level).passed


def test_another_skew_symmetric_factorization_is_a_note():
    model = samples.random_tree(3, np.random.default_rng(5))
    C = lambda q, qd: closed_form_matrix.coriolis_matrix_skew(model, q, qd)  # noqa: E731
    report = check(model, mass_matrix=Dynamics(model).mass_matrix, coriolis_matrix=C)
    assert report.passed
    assert 'Christoffel' in report.notes[0]


# -- typical mistakes -----------------------------------------------------------------------------

M, C, g = ELBOW.mass_matrix, ELBOW.coriolis_matrix, ELBOW.gravity_torque
K, P, ID = ELBOW.kinetic_energy, ELBOW.potential_energy, ELBOW.inverse_dynamics
m1, m2, l1, lc1, lc2, I2 = 3.1, 1.7, 0.7, 0.3, 0.25, 0.05


def inverse(M=M, C=C, g=g):
    return lambda q, qd, qdd: M(q) @ qdd + C(q, qd) @ qd + g(q)


def forward(M=M, C=C, g=g):
    return lambda q, qd, tau: np.linalg.solve(M(q), tau - C(q, qd) @ qd - g(q))


def h(q):
    return -m2 * l1 * lc2 * sin(q[1])


def with_values(name, **values):
    return {name: getattr(replace(ELBOW, **values), name)}


def not_christoffel(q, qd):
    return np.array([[2 * h(q) * qd[1], h(q) * qd[1]], [-h(q) * qd[0], 0.0]])


def mass_rate(q, qd):
    return np.array([[2 * h(q) * qd[1], h(q) * qd[1]], [h(q) * qd[1], 0.0]])


NO_C = {'C': lambda q, qd: np.zeros((2, 2))}
NO_G = {'g': lambda q: np.zeros(2)}
MINUS_G = {'g': lambda q: -g(q)}

# functions -> the law, the function that is wrong, part of the cause (None: unknown)
MISTAKES = {
    'C is not the Christoffel matrix': (
        {'coriolis_matrix': not_christoffel, 'mass_matrix': M},
        ('skew_symmetry', 'coriolis_matrix', 'is C the matrix of Christoffel symbols'),
    ),
    'C transposed': (
        {'coriolis_matrix': lambda q, qd: C(q, qd).T, 'mass_matrix': M},
        ('robot_coriolis', 'coriolis_matrix', 'C is transposed'),
    ),
    'sign of C': (
        {'coriolis_matrix': lambda q, qd: -C(q, qd), 'mass_matrix': M},
        ('robot_coriolis', 'coriolis_matrix', 'the opposite sign'),
    ),
    'C is dM/dt': (
        {'coriolis_matrix': mass_rate, 'mass_matrix': M},
        ('robot_coriolis', 'coriolis_matrix', 'without the term -1/2 d(qd^T M qd)/dq'),
    ),
    'C is half of dM/dt': (
        {'coriolis_matrix': lambda q, qd: mass_rate(q, qd) / 2, 'mass_matrix': M},
        ('robot_coriolis', 'coriolis_matrix', '1/2 dM/dt qd in place of C qd'),
    ),
    'C of constant velocities': (
        {'coriolis_matrix': lambda q, qd: C(q, np.ones(2)), 'mass_matrix': M},
        ('coriolis_quadratic', 'coriolis_matrix', 'C does not depend on qd'),
    ),
    'C of second degree': (
        {'coriolis_matrix': lambda q, qd: qd[0] * C(q, qd)},
        ('coriolis_quadratic', 'coriolis_matrix', 'C is quadratic in qd'),
    ),
    'C with a cosine': (
        {'coriolis_matrix': lambda q, qd: C(q + np.array([0, np.pi / 2]), qd)},
        ('robot_coriolis', 'coriolis_matrix', 'q2 + pi/2 in place of q2 (sine for cosine'),
    ),
    'products of velocities once': (
        {
            'coriolis_torque': lambda q, qd: np.array(
                [h(q) * (qd[0] * qd[1] + qd[1] ** 2), -h(q) * qd[0] ** 2]
            )
        },
        ('robot_coriolis', 'coriolis_torque', 'products qd_j qd_k once instead of twice'),
    ),
    'no centrifugal terms': (
        {'coriolis_torque': lambda q, qd: np.array([2 * h(q) * qd[0] * qd[1], 0.0])},
        ('robot_coriolis', 'coriolis_torque', 'without centrifugal terms'),
    ),
    'sign of m21': (
        {'mass_matrix': lambda q: M(q) * [[1, 1], [-1, 1]]},
        ('mass_matrix_symmetry', 'mass_matrix', 'm_ij = -m_ji'),
    ),
    'upper triangle': (
        {'mass_matrix': lambda q: np.triu(M(q))},
        ('mass_matrix_symmetry', 'mass_matrix', 'the lower triangle is zero'),
    ),
    'I2 missing in m12 alone': (
        {'mass_matrix': lambda q: M(q) - [[0, I2], [0, 0]]},
        ('mass_matrix_symmetry', 'mass_matrix', 'wrong: m12'),
    ),
    'I2 missing in m12 and m21': (
        {'mass_matrix': lambda q: M(q) - [[0, I2], [I2, 0]]},
        ('robot_inertia', 'mass_matrix', 'm12 and m21 lack I2'),
    ),
    'sign of M': (
        {'mass_matrix': lambda q: -M(q)},
        ('positive_definiteness', 'mass_matrix', 'M is negative'),
    ),
    'M indefinite': (
        {'mass_matrix': lambda q: M(q) * [[1, 1], [1, 0.1]]},
        ('positive_definiteness', 'mass_matrix', 'M has a negative eigenvalue'),
    ),
    'parallel axis of link 1': (
        {'mass_matrix': lambda q: M(q) - np.diag([m1 * lc1**2, 0])},
        ('robot_inertia', 'mass_matrix', 'without m1 lc1^2 of the parallel-axis theorem'),
    ),
    'parallel axis of link 2': (
        {'mass_matrix': lambda q: M(q) - m2 * lc2**2},
        ('robot_inertia', 'mass_matrix', 'without m2 lc2^2 of the parallel-axis theorem'),
    ),
    'parallel axis of link 1 twice': (
        {'mass_matrix': lambda q: M(q) + np.diag([m1 * lc1**2, 0])},
        ('robot_inertia', 'mass_matrix', 'with m1 lc1^2 of the parallel-axis theorem twice'),
    ),
    'links without moments of inertia': (
        with_values('mass_matrix', I1=0.0, I2=0.0),
        ('robot_inertia', 'mass_matrix', 'without the moments of inertia'),
    ),
    'lc1 for l1': (
        with_values('mass_matrix', l1=lc1),
        ('robot_inertia', 'mass_matrix', 'lc1 in place of l1'),
    ),
    'masses interchanged': (
        with_values('inverse_dynamics', m1=m2, m2=m1),
        ('robot_gravity', 'inverse_dynamics', 'm1 and m2 interchanged'),
    ),
    'inverse of M': (
        {'mass_matrix': lambda q: np.linalg.inv(M(q))},
        ('robot_inertia', 'mass_matrix', 'the inverse of M'),
    ),
    'M depends on qd': (
        {'inverse_dynamics': lambda q, v, a: ID(q, v, a) + np.array([0.1 * v[1] ** 2 * a[0], 0])},
        ('inertia_of_position', 'inverse_dynamics', 'changes with qd'),
    ),
    'squares of accelerations': (
        {'inverse_dynamics': lambda q, v, a: ID(q, v, a**2)},
        ('affine_in_acceleration', 'inverse_dynamics', 'of degree 2'),
    ),
    'viscous friction': (
        {'inverse_dynamics': lambda q, v, a: ID(q, v, a) + 0.3 * v},
        ('coriolis_quadratic', 'inverse_dynamics', 'viscous friction?'),
    ),
    'dry friction': (
        {'inverse_dynamics': lambda q, v, a: ID(q, v, a) + 0.3 * np.sign(v)},
        ('coriolis_quadratic', 'inverse_dynamics', 'dry friction?'),
    ),
    'rows interchanged': (
        {'inverse_dynamics': lambda q, v, a: ID(q, v, a)[::-1]},
        ('robot_gravity', 'inverse_dynamics', 'those of joints 2, 1'),
    ),
    'joints in the opposite order': (
        {'inverse_dynamics': lambda q, v, a: ID(q[::-1], v[::-1], a[::-1])[::-1]},
        ('robot_inertia', 'inverse_dynamics', '2, 1 in arguments and result'),
    ),
    'absolute angles': (
        {'inverse_dynamics': RemoteElbow(**VALUES).inverse_dynamics},
        ('robot_inertia', 'inverse_dynamics', 'taken for absolute ones'),
    ),
    'no gravity': (
        {'inverse_dynamics': inverse(**NO_G)},
        ('robot_gravity', 'inverse_dynamics', 'it is zero'),
    ),
    'no Coriolis torque': (
        {'inverse_dynamics': inverse(**NO_C)},
        ('robot_coriolis', 'inverse_dynamics', 'it is zero'),
    ),
    'gravity of the opposite sign': (
        {'inverse_dynamics': inverse(**MINUS_G), 'gravity_torque': g},
        ('robot_gravity', 'inverse_dynamics', 'the opposite sign'),
    ),
    'sign of g': (
        {'gravity_torque': lambda q: -g(q), 'potential_energy': P, 'inverse_dynamics': ID},
        ('robot_gravity', 'gravity_torque', 'the opposite sign'),
    ),
    'degrees': (
        {'gravity_torque': lambda q: g(np.deg2rad(q))},
        ('robot_gravity', 'gravity_torque', 'q is taken for degrees'),
    ),
    'entries of g interchanged': (
        {'gravity_torque': lambda q: g(q)[::-1]},
        ('robot_gravity', 'gravity_torque', 'those of joints 2, 1'),
    ),
    'sine for cosine in g': (
        {'gravity_torque': lambda q: g(q - [np.pi / 2, 0])},
        ('robot_gravity', 'gravity_torque', 'q1 - pi/2 in place of q1'),
    ),
    'relative angle in g2': (
        {'gravity_torque': lambda q: np.array([g(q)[0], m2 * lc2 * 9.81 * cos(q[1])])},
        ('gravity_is_a_gradient', 'gravity_torque', 'gradient of no potential energy'),
    ),
    'g of 10 m/s^2': (
        with_values('gravity_torque', g=10.0),
        ('robot_gravity', 'gravity_torque', 'g = 10 m/s^2?'),
    ),
    'g forgotten': (
        with_values('gravity_torque', g=1.0),
        ('robot_gravity', 'gravity_torque', 'g = 1 m/s^2?'),
    ),
    'sign of P': (
        {'potential_energy': lambda q: -P(q), 'gravity_torque': g},
        ('robot_gravity', 'potential_energy', 'the opposite sign'),
    ),
    'K without the factor 1/2': (
        {'kinetic_energy': lambda q, qd: 2 * K(q, qd), 'mass_matrix': M},
        ('robot_inertia', 'kinetic_energy', '2 times the expected value'),
    ),
    'K of first degree': (
        {'kinetic_energy': lambda q, qd: K(q, qd) + qd[0]},
        ('kinetic_energy_quadratic', 'kinetic_energy', None),
    ),
    'forward dynamics without gravity': (
        {'forward_dynamics': forward(**NO_G), 'inverse_dynamics': ID},
        ('robot_gravity', 'forward_dynamics', 'it is zero'),
    ),
    'forward dynamics without Coriolis torque': (
        {'forward_dynamics': forward(**NO_C)},
        ('robot_coriolis', 'forward_dynamics', 'it is zero'),
    ),
    'forward dynamics with M for its inverse': (
        {'forward_dynamics': lambda q, v, tau: M(q) @ (tau - C(q, v) @ v - g(q))},
        ('robot_inertia', 'forward_dynamics', 'the inverse of M'),
    ),
    'rounded parameters': (
        with_values('mass_matrix', I2=0.0501),
        ('robot_inertia', 'mass_matrix', 'agrees to three digits'),
    ),
    'link 2 missing': (
        with_values('mass_matrix', m2=0.0, I2=0.0),
        ('robot_inertia', 'mass_matrix', 'without link 2'),
    ),
    'rounded arguments': (
        {'gravity_torque': lambda q: g(np.round(q, 5))},
        ('robot_gravity', 'gravity_torque', 'agrees to three digits'),
    ),
    'a mistake that has no name': (
        {'mass_matrix': lambda q: M(q) + np.diag([0.1 * cos(q[0]) ** 2, 0])},
        ('robot_inertia', 'mass_matrix', None),
    ),
    'printed coupling of Lynch and Park': (
        {
            'inverse_dynamics': inverse(
                lambda q: M(q) + np.array([[0, h(q) * (cos(q[0]) - 1)], [0, 0]])
            )
        },
        ('mass_matrix_symmetry', 'inverse_dynamics', 'wrong: m12'),
    ),
}


# The same of momentum and energy, and mistakes in all links.
H = lambda q, p: p @ np.linalg.solve(M(q), p) / 2 + P(q)  # noqa: E731
DEGREES = np.pi / 180
MISTAKES |= {
    'inertia about the joints': (
        with_values('mass_matrix', I1=0.12 + m1 * lc1**2, I2=I2 + m2 * lc2**2),
        ('robot_inertia', 'mass_matrix', 'inertia about the joint in place of the centre of mass'),
    ),
    'degrees throughout': (
        {'inverse_dynamics': lambda q, v, a: ID(q * DEGREES, v * DEGREES, a * DEGREES)},
        ('robot_coriolis', 'inverse_dynamics', 'q, qd and qdd are taken for degrees'),
    ),
    'velocities in degrees': (
        {'inverse_dynamics': lambda q, v, a: ID(q, v * DEGREES, a)},
        ('robot_coriolis', 'inverse_dynamics', 'velocities in degrees?'),
    ),
    'accelerations in degrees': (
        {'inverse_dynamics': lambda q, v, a: ID(q, v, a / DEGREES)},
        ('robot_inertia', 'inverse_dynamics', 'accelerations in degrees?'),
    ),
    'momentum of twice the mass': (
        {'generalized_momentum': lambda q, v: 2 * M(q) @ v},
        ('robot_inertia', 'generalized_momentum', '2 times the expected value'),
    ),
    'momentum of second degree': (
        {'generalized_momentum': lambda q, v: M(q) @ v * v[0]},
        ('momentum', 'generalized_momentum', None),
    ),
    'Hamiltonian with M for its inverse': (
        {'hamiltonian': lambda q, p: p @ M(q) @ p / 2 + P(q)},
        ('robot_inertia', 'hamiltonian', 'the inverse of M'),
    ),
    'Hamiltonian with -P': (
        {'hamiltonian': lambda q, p: H(q, p) - 2 * P(q)},
        ('robot_gravity', 'hamiltonian', 'the opposite sign'),
    ),
    'a column of Y': (
        {'regressor': lambda q, v, a: ELBOW.regressor(q, v, a) * [1, 1, 1, 1, 2]},
        ('robot_regressor', 'regressor', 'column 5 of Y is wrong'),
    ),
}


def test_right_momentum_and_hamiltonian_pass():
    p = lambda q, v: M(q) @ v  # noqa: E731
    report = check(ELBOW, generalized_momentum=p, hamiltonian=H, regressor=ELBOW.regressor)
    assert report.passed, report
    assert {'momentum', 'hamiltonian', 'robot_regressor'} <= set(report.checked)


@pytest.mark.parametrize('name', MISTAKES)
def test_a_mistake_is_named_by_its_law_and_cause(name):
    functions, (law, function, cause) = MISTAKES[name]
    report = check(ELBOW, **functions)
    assert not report.passed
    found = [f for f in report.findings if f.law == law and function in f.functions]
    assert found, report
    finding = found[0]
    assert not finding.follows
    if cause is None:
        assert finding.cause is None, report
        assert 'cause: unknown' in repr(report)
    else:
        assert cause in (finding.cause or ''), report
    assert finding.error > 1e-6
    assert finding.place is not None
    assert finding.place.q.shape == (2,)


@pytest.mark.parametrize('name', MISTAKES)
def test_right_functions_are_not_blamed(name):
    functions, (_, wrong, _) = MISTAKES[name]
    report = check(ELBOW, **functions)
    for finding in report.findings:
        if finding.law.startswith('robot_'):
            assert finding.functions == (wrong,), report
        elif not finding.follows:
            assert wrong in finding.functions, report


def test_the_place_is_that_of_the_largest_error():
    report = check(ELBOW, gravity_torque=lambda q: g(q) + np.array([0.0, q[0] ** 2]))
    (finding,) = [f for f in report.findings if f.law == 'robot_gravity']
    place = finding.place
    assert place.entry == (2,)
    assert place.value == pytest.approx(place.expected + place.q[0] ** 2)
    assert place.expected == pytest.approx(g(place.q)[1])


def test_the_relative_error_names_the_difference_and_the_size():
    wrong = np.array([[0.0, 0.25], [0.25, 0.0]])
    report = check(ELBOW, mass_matrix=lambda q: M(q) + wrong)
    (finding,) = report.findings
    difference, size = re.search(r'relative error \S+ \((\S+) of (\S+)\);', str(finding)).groups()
    assert float(difference) == pytest.approx(0.25)
    largest = max(np.abs(M(q)).max() for q in np.random.default_rng(0).uniform(-3, 3, (100, 2)))
    assert 0.5 * largest < float(size) <= largest
    assert float(difference) / float(size) == pytest.approx(finding.error, rel=1e-2)


@pytest.mark.parametrize('factor', [1.0, 1.5])
def test_the_number_of_laws_is_that_of_the_listed_ones(factor):
    functions = functions_of(ELBOW)
    report = check(ELBOW, **functions | {'gravity_torque': lambda q: factor * g(q)})
    assert report.passed == (factor == 1.0)
    lines = ' '.join(repr(report).split())
    held = lines.partition('hold: ')[2].partition(' note: ')[0].split(', ')
    failed = {finding.law for finding in report.findings}
    number = len(held) + len(failed)
    wanted = f'all {number} laws hold' if report.passed else f'{len(failed)} of {number} laws fail'
    assert wanted in lines


def sign_of_g12(q):
    """Return g of the elbow with the opposite sign of m2 lc2 g cos(q1 + q2) in its entry 1."""
    return g(q) - np.array([2 * ELBOW.m2 * ELBOW.lc2 * ELBOW.g * cos(q[0] + q[1]), 0.0])


def test_the_sign_of_one_term_of_a_closed_form_is_named():
    causes = [f.cause for f in check(ELBOW, gravity_torque=sign_of_g12).findings]
    assert 'g1: the opposite sign of the term with m2 lc2' in causes


def test_a_product_in_a_coefficient_is_named_as_such():
    lacking = np.array([[0.0, ELBOW.m2 * ELBOW.l1 * ELBOW.lc2], [0.0, 0.0]])
    more = lambda q: M(q) + (lacking + lacking.T) * cos(q[1])  # noqa: E731
    causes = [f.cause for f in check(ELBOW, mass_matrix=more).findings]
    assert 'm12 and m21 have m2 l1 lc2 too much in a coefficient' in causes


def test_the_sign_of_the_last_term_is_listed_beside_an_angle_plus_pi():
    rows = [(0.4, 0.0, 0.0, 0.0, 'revolute')] * 3
    bodies = [rd.Inertial(1.0 + i, np.array([-0.2, 0.0, 0.0])) for i in range(3)]
    arm = rd.from_dh(rows, convention='standard', inertias=bodies, gravity=(0.0, -9.81, 0.0))
    right = Dynamics(arm).gravity_torque
    # Only the term with cos(q1 + q2 + q3) is left of joint 3, and it is the same in all joints.
    wrong = lambda q: right(q) - 2 * right(q)[2]  # noqa: E731
    (finding,) = [f for f in check(arm, gravity_torque=wrong).findings if f.cause]
    assert finding.cause == (
        'q3 + pi in place of q3 (the opposite sign of terms with sin or cos of q3, or another '
        'zero position?)'
    )


def test_an_unknown_cause_lists_the_wrong_entries_and_constant_differences():
    wrong = np.array([[0.0, 0.25], [0.25, 0.0]])
    (finding,) = check(MODEL, mass_matrix=lambda q: M(q) + wrong).findings
    assert finding.cause is None
    by = 'by +0.25 in every state'
    words = f'cause: unknown; wrong: m12 ({by}), m21 ({by}); the other entries are right'
    assert words in ' '.join(str(finding).split())
    assert words in finding.finding.words
    report = check(MODEL, gravity_torque=lambda q: g(q) - np.array([q[0] ** 2, 0.0]))
    (finding,) = [f for f in report.findings if f.law == 'robot_gravity']
    assert finding.entries == 'wrong: joint 1; the other entries are right'
    (finding,) = check(MODEL, mass_matrix=lambda q: M(q) * (2 + q @ q)).findings
    assert (finding.cause, finding.entries) == (None, '')


@pytest.mark.parametrize(
    ('changes', 'cause'),
    [
        ({'lc1': ELBOW.l1}, 'l1 in place of lc1'),
        ({'m1': ELBOW.m2, 'm2': ELBOW.m1}, 'm1 and m2 interchanged'),
        ({'I1': ELBOW.I2, 'I2': ELBOW.I1}, 'I1 and I2 interchanged'),
    ],
)
def test_mistakes_in_the_numbers_are_named_by_the_closed_form_alone(changes, cause):
    """As the page says: a model has no l1, lc1 or I1 of its own."""
    wrong = replace(ELBOW, **changes).mass_matrix
    assert [f.cause for f in check(ELBOW, mass_matrix=wrong).findings] == [cause]
    assert [f.cause for f in check(MODEL, mass_matrix=wrong).findings] == [None]


def test_one_mistake_in_several_functions_is_one_finding():
    wrong = replace(ELBOW, I2=0.0)
    report = check(ELBOW, **functions_of(wrong))
    (finding,) = report.findings
    assert finding.cause == 'as if I2 were 0'
    assert set(finding.functions) == {'mass_matrix', 'inverse_dynamics', 'kinetic_energy'}


@pytest.mark.parametrize(
    ('jm', 'cause'),
    [
        (0.0, 'as if Jm were 0'),
        (GEARED.Jm / GEARED.r, 'r in place of r^2 at the inertia of the rotor'),
        (GEARED.Jm / GEARED.r**2, 'without the gear ratio'),
    ],
)
def test_the_inertia_of_a_rotor(jm, cause):
    report = check(GEARED, mass_matrix=replace(GEARED, Jm=jm).mass_matrix)
    (finding,) = report.findings
    assert cause in finding.cause


CRANK = SYSTEMS[-1]
CARTESIAN = CartesianArm(3.1, 1.7)
ELASTIC = ElasticJoint(r=37.0, Jm=2e-4, Jl=0.61, M=2.1, l=0.43, k=100.0)
OTHERS = {
    'rod without inertia': (
        CRANK,
        {'mass_matrix': replace(CRANK, m=(1.0, 0.0, 3.0), I=(0.1, 0.0)).mass_matrix},
        'without link 2',
    ),
    'joint 1 lifts link 1 alone': (
        CARTESIAN,
        {'mass_matrix': lambda q: np.diag([3.1, 1.7])},
        'm11 lacks m2',
    ),
    'a softer spring': (
        ELASTIC,
        {'gravity_torque': replace(ELASTIC, k=50.0).gravity_torque},
        'g1 and g2: as if k were 50 instead of 100',
    ),
    'relative angles': (
        RemoteElbow(**VALUES),
        {'inverse_dynamics': ELBOW.inverse_dynamics},
        'the angles are taken for relative to the previous link, not absolute',
    ),
}


@pytest.mark.parametrize('name', OTHERS)
def test_mistakes_in_other_systems(name):
    system, functions, cause = OTHERS[name]
    assert cause in [finding.cause for finding in check(system, **functions).findings]


def test_a_state_is_remembered():
    calls = []

    def mass_matrix(q):
        calls.append(q)
        return M(q) * len(calls)

    report = check(ELBOW, mass_matrix=mass_matrix)
    finding = report.findings[0]
    assert finding.law == 'function_of_the_state'
    assert 'earlier calls' in finding.cause


def test_an_overwritten_argument():
    def gravity_torque(q):
        result = g(q)
        q[:] = 0.0
        return result

    (finding,) = check(ELBOW, gravity_torque=gravity_torque).findings
    assert finding.law == 'function_of_the_state'
    assert finding.cause == 'the function overwrites its argument q; let it work on a copy'


# -- models ---------------------------------------------------------------------------------------


def test_mistakes_in_a_urdf():
    model = robots.load('ur5')
    arm = Dynamics(model)
    mass = model.mass.copy()
    mass[2] = 0.0
    tensors = model.inertia_com.copy()
    tensors[2] = 0.0
    for function, law, cause in (
        (Dynamics(model.with_gravity([9.81, 0, 0])).inverse_dynamics, 'robot_gravity', 'along x'),
        (
            lambda q, v, a: arm.inverse_dynamics(q, v, a)[[0, 2, 1, 3, 4, 5]],
            'robot_inertia',
            'those of joints 1, 3, 2, 4, 5, 6',
        ),
        (
            Dynamics(replace(model, mass=mass, inertia_com=tensors)).inverse_dynamics,
            'robot_inertia',
            f'link {model.body_names[2]!r} missing',
        ),
        (
            Dynamics(replace(model, inertia_com=tensors)).inverse_dynamics,
            'robot_inertia',
            f'link {model.body_names[2]!r} without moments of inertia',
        ),
    ):
        report = check(arm, inverse_dynamics=function)
        (finding,) = [f for f in report.findings if f.law == law]
        assert cause in finding.cause


def wrong_terms(model, rotated, placed):
    """M and g by Jacobians: rotated(R) of the tensors, placed(R) of the centres of mass."""

    def links(q):
        poses = kinematics.body_poses(model, q)
        for m, c, I, T, i in zip(
            model.mass, model.com, model.inertia_com, poses, range(model.nb), strict=True
        ):
            R, W = T[:3, :3], rotated(T[:3, :3])
            J = kinematics.point_jacobian(model, poses, i, T[:3, 3] + placed(R) @ c)
            yield m, W @ I @ W.T, J[:3], J[3:]

    def mass_matrix(q):
        return sum(m * V.T @ V + W.T @ I @ W for m, I, W, V in links(q))

    return mass_matrix, lambda q: -sum(m * V.T for m, _, _, V in links(q)) @ model.gravity


right, turned, none = lambda R: R, lambda R: R.T, lambda R: np.eye(3)
ROTATIONS = {
    'rotation transposed': (turned, right),
    'rotation forgotten': (none, right),
    'R^T c in place of': (right, turned),
    'p + c in place of': (right, none),
}


@pytest.mark.parametrize('mirror', [1, -1])
@pytest.mark.parametrize('cause', ROTATIONS)
def test_wrong_rotations_of_a_model(cause, mirror):
    model = samples.random_tree(3, np.random.default_rng(5))
    model = replace(model, axis=mirror * model.axis)
    M, g = wrong_terms(model, *ROTATIONS[cause])
    functions = {'mass_matrix': M} | ({'gravity_torque': g} if ' c ' in cause else {})
    found = [f for f in check(model, **functions).findings if f.law.startswith('robot_')]
    assert len(found) == len(functions)
    assert all(cause in f.cause for f in found)
    M, g = wrong_terms(model, right, right)
    assert check(model, mass_matrix=M, gravity_torque=g).passed


def test_friction():
    """F is what the motors supply against friction, qd^T F >= 0."""
    model = samples.planar_2r().with_actuation(viscous=[0.3, 0.2], coulomb=[0.1, 0.4])
    F = Dynamics(model).friction_torque
    assert check(model, friction_torque=F).passed
    assert check(model, joints=2, friction_torque=F).passed
    (finding,) = check(model, friction_torque=lambda qd: -F(qd)).findings
    assert (finding.law, finding.cause) == ('friction_dissipates', 'the opposite sign')
    (finding,) = check(model, friction_torque=lambda qd: F(qd) * [1, 0.5]).findings
    assert finding.law == 'robot_friction_torque'
    assert finding.cause == 'joint 2: 0.5 times the expected value'
    (finding,) = check(joints=2, friction_torque=lambda qd: F(qd) * [1, -1]).findings
    assert finding.law == 'friction_dissipates'


def test_a_regressor_needs_a_robot():
    with pytest.raises(FunctionError, match='regressor is given without a robot'):
        check(regressor=ELBOW.regressor)


def test_missing_rotors_of_a_model():
    arm = Dynamics(samples.geared_link(37.0, 2e-4, 0.61, 2.1, 0.43))
    rigid = samples.geared_link(37.0, 0.0, 0.61, 2.1, 0.43)
    (finding,) = check(arm, mass_matrix=Dynamics(rigid).mass_matrix).findings
    assert 'without the inertia of the rotors' in finding.cause


# -- task space -----------------------------------------------------------------------------------

TASKS = {
    'planar_2r': (MODEL, 'tip', (3, 4)),
    'panda': (robots.load('panda'), 'panda_link8', range(6)),
}


class Task:
    """M, b, J and dJ/dt of a robot, as a student has them, by kinematics and recursion."""

    def __init__(self, name):
        self.model, self.frame, self.directions = TASKS[name]
        self.arm, self.rows = Dynamics(self.model), list(self.directions)
        self.M = self.arm.mass_matrix

    def b(self, q, qd):
        return self.arm.inverse_dynamics(q, qd, np.zeros_like(q))

    def J(self, q):
        return kinematics.jacobian(self.model, q, self.frame)[self.rows]

    def Jd(self, q, qd):
        return kinematics.jacobian_dot(self.model, q, qd, self.frame)[self.rows]

    def J_frame(self, q):
        R = kinematics.frame_pose(self.model, q, self.frame)[:3, :3].T
        J = kinematics.jacobian(self.model, q, self.frame)
        return np.vstack([R @ J[:3], R @ J[3:]])[self.rows]

    def Lambda(self, q):
        return np.linalg.inv(self.J(q) @ np.linalg.inv(self.M(q)) @ self.J(q).T)

    def force(self, q, tau):
        return self.Lambda(q) @ self.J(q) @ np.linalg.solve(self.M(q), tau)

    def eta(self, q, qd):
        return self.force(q, self.b(q, qd)) - self.Lambda(q) @ self.Jd(q, qd) @ qd

    def check(self, **functions):
        return check(self.arm, frame=self.frame, directions=self.directions, **functions)


# Lambda and eta with a mistake, of a task, and the law and cause of the finding.
TASK_MISTAKES = {
    'dJ/dt is missing': (
        lambda t: {'task_bias': lambda q, v: t.force(q, t.b(q, v))},
        ('task_bias', 'without the term -Lambda dJ/dt qd'),
    ),
    'sign of dJ/dt': (
        lambda t: {'task_bias': lambda q, v: 2 * t.force(q, t.b(q, v)) - t.eta(q, v)},
        ('task_bias', 'sign of the term -Lambda dJ/dt qd'),
    ),
    'Lambda is missing': (
        lambda t: {'task_bias': lambda q, v: t.force(q, t.b(q, v)) - t.Jd(q, v) @ v},
        ('task_bias', 'dJ/dt qd without Lambda'),
    ),
    'gravity is missing': (
        lambda t: {'task_bias': lambda q, v: t.eta(q, v) - t.eta(q, 0 * v)},
        ('task_bias', 'without g'),
    ),
    'dJ/dt in other axes': (
        lambda t: {
            'task_bias': lambda q, v: (
                t.force(q, t.b(q, v))
                - t.Lambda(q) @ derivative(lambda s: t.J_frame(q + s * v) @ v, np.abs(v).sum())
            )
        },
        ('task_bias', 'frames mixed: dJ/dt in the axes of the frame'),
    ),
    'J in other axes': (
        lambda t: {
            'task_inertia': lambda q: np.linalg.inv(
                t.J_frame(q) @ np.linalg.inv(t.M(q)) @ t.J_frame(q).T
            )
        },
        ('task_inertia', 'J in the axes of the frame'),
    ),
    'J is transposed': (
        lambda t: {'task_inertia': lambda q: t.J(q) @ t.M(q) @ t.J(q).T},
        ('task_inertia', 'J transposed: J M J^T'),
    ),
    'not inverted': (
        lambda t: {'task_inertia': lambda q: np.linalg.inv(t.Lambda(q))},
        ('task_inertia', 'the inverse is missing'),
    ),
    'degrees': (
        lambda t: {'task_inertia': lambda q: t.Lambda(np.radians(q))},
        ('task_inertia', 'q is taken for degrees'),
    ),
    'Lambda is not symmetric': (
        lambda t: {'task_inertia': lambda q: np.triu(t.Lambda(q))},
        ('mass_matrix_symmetry', 'the lower triangle is zero'),
    ),
    'sign of Lambda': (
        lambda t: {'task_inertia': lambda q: -t.Lambda(q)},
        ('positive_definiteness', 'Lambda is negative: a sign?'),
    ),
}


@pytest.mark.parametrize('name', ['planar_2r', *tiers.soak(['panda'])])
def test_right_lambda_and_eta_pass(name):
    task = Task(name)
    report = task.check(task_inertia=task.Lambda, task_bias=task.eta)
    assert report.passed, report
    assert {'task_inertia', 'task_bias', 'task_energy', 'task_power'} <= set(report.checked)


@pytest.mark.parametrize('name', ['planar_2r', *tiers.soak(['panda'])])
@pytest.mark.parametrize('mistake', TASK_MISTAKES)
def test_mistakes_in_task_space(name, mistake):
    functions, (law, cause) = TASK_MISTAKES[mistake]
    task = Task(name)
    report = task.check(**functions(task))
    (finding,) = [f for f in report.findings if f.law == law]
    assert cause in finding.cause
    wrong_inertia = 'task_inertia' in functions(task)
    assert ('task_energy' in [f.law for f in report.findings]) == wrong_inertia


def test_a_transposed_inverse_of_a_square_jacobian():
    task = Task('planar_2r')
    inverse = lambda q: np.linalg.inv(task.J(q))  # noqa: E731
    report = task.check(
        task_inertia=lambda q: inverse(q) @ task.M(q) @ inverse(q).T,
        task_bias=lambda q, v: inverse(q) @ task.b(q, v) - task.Lambda(q) @ task.Jd(q, v) @ v,
    )
    own = [f for f in report.findings if not f.follows]
    assert [f.law for f in own] == ['task_inertia', 'task_bias']
    assert all('J transposed: J^-1' in f.cause for f in own)
    assert 'task_power' in [f.law for f in report.findings if f.follows]


@pytest.mark.slow
def test_the_pseudo_inverse_of_a_redundant_arm_is_another():
    task = Task('panda')
    inverse = lambda q: np.linalg.pinv(task.J(q))  # noqa: E731
    report = task.check(task_inertia=lambda q: inverse(q).T @ task.M(q) @ inverse(q))
    assert 'with the pseudo-inverse of J' in report.findings[0].cause
    task = Task('planar_2r')  # of a square J both are J^-1
    assert task.check(task_inertia=lambda q: inverse(q).T @ task.M(q) @ inverse(q)).passed


@pytest.mark.slow
def test_a_mistake_in_m_is_named_in_lambda():
    task, light = Task('panda'), Task('panda')
    tensors = task.model.inertia_com.copy()
    tensors[2] = 0.0
    light.M = Dynamics(replace(task.model, inertia_com=tensors)).mass_matrix
    (finding, _) = task.check(task_inertia=light.Lambda).findings
    assert finding.law == 'task_inertia'
    assert f'link {task.model.body_names[2]!r} without moments of inertia' in finding.cause


def test_eta_with_a_wrong_lambda_says_so():
    task = Task('planar_2r')
    report = task.check(
        task_inertia=lambda q: 2 * task.Lambda(q),
        task_bias=lambda q, v: task.eta(q, v) - task.Lambda(q) @ task.Jd(q, v) @ v,
    )
    causes = {f.law: f.cause for f in report.findings}
    assert causes['task_inertia'] == '2 times the expected value'
    assert causes['task_bias'] == 'unknown; task_inertia, which is part of eta, is wrong'


@pytest.mark.parametrize(
    ('robot', 'options', 'error', 'message'),
    [
        (ELBOW, {'frame': 'tip'}, FunctionError, 'PlanarElbow.*need a model and a frame'),
        (None, {'joints': 2}, FunctionError, 'robot is None; Lambda and eta need a model'),
        (MODEL, {}, FrameNotFound, "frame ''"),
        (MODEL, {'frame': 'tip'}, SingularityError, r'\(6, 2\), which has no right inverse'),
        (MODEL, {'frame': 'tip', 'directions': (2, 5)}, SingularityError, 'is singular'),
        (MODEL, {'frame': 'tip', 'directions': (3,)}, ShapeError, r'expected \(1, 1\)'),
    ],
)
def test_errors_of_a_task(robot, options, error, message):
    with pytest.raises(error, match=message):
        check(robot, task_inertia=Task('planar_2r').Lambda, **options)


def test_a_task_needs_a_robot_also_where_joints_are_not_counted():
    with pytest.raises(FunctionError, match='Lambda and eta need a model and a frame'):
        check(task_bias=Task('planar_2r').eta)


# -- without a robot ------------------------------------------------------------------------------

ALONE = {
    'C is not the Christoffel matrix': ('skew_symmetry', 'is C the matrix of Christoffel symbols'),
    'sign of C': ('coriolis_of_inertia', 'the opposite sign'),
    'C is dM/dt': ('coriolis_of_inertia', 'without the term -1/2 d(qd^T M qd)/dq'),
    'no Coriolis torque': ('coriolis_of_inertia', 'it is zero'),
    'sign of m21': ('mass_matrix_symmetry', 'm_ij = -m_ji'),
    'sign of P': ('gravity_is_a_gradient', 'the opposite sign'),
    'K without the factor 1/2': ('kinetic_energy_of_mass_matrix', '2 times'),
    'gravity of the opposite sign': ('gravity_at_rest', 'the opposite sign'),
    'viscous friction': ('coriolis_quadratic', 'viscous friction?'),
}


@pytest.mark.parametrize('name', ALONE)
def test_mistakes_are_found_without_a_robot(name):
    law, cause = ALONE[name]
    report = check(joints=2, **MISTAKES[name][0])
    (finding,) = [f for f in report.findings if f.law == law and not f.follows]
    assert cause in finding.cause


def test_energy_is_balanced_by_the_power():
    report = check(joints=2, **MISTAKES['no Coriolis torque'][0])
    assert 'power_balance' in [f.law for f in report.findings]


# -- functions that cannot be checked -------------------------------------------------------------


@pytest.mark.parametrize(
    ('functions', 'error', 'message'),
    [
        ({'mass_matrix': lambda q: q}, ShapeError, r'shape \(2,\); expected \(2, 2\)'),
        ({'gravity_torque': lambda q: g(q)[:, None]}, ShapeError, 'np.ravel'),
        ({'gravity_torque': lambda q: None}, ShapeError, 'returned None.*return statement'),
        ({'gravity_torque': lambda q: 'text'}, ShapeError, "returned str 'text'"),
        ({'gravity_torque': lambda q: g(q) * np.nan}, FunctionError, 'nan.*expected finite'),
        ({'gravity_torque': lambda q: q[5]}, FunctionError, 'raised IndexError: .*at q = '),
        ({'gravity_torque': lambda q, qd: q}, FunctionError, 'raised TypeError'),
        ({'gravity_torque': 3}, FunctionError, r'expected a function gravity_torque\(q\)'),
        ({}, FunctionError, 'no function is given'),
        ({'friction_torque': lambda qd: qd}, FunctionError, 'PlanarElbow has no friction_torque'),
        ({'regressor': lambda q, v, a: M(q)}, ShapeError, r'expected \(2, 5\)'),
        ({'mass_matrix': M, 'joints': 3}, FunctionError, 'joints is 3; expected 2'),
    ],
)
def test_errors(functions, error, message):
    with pytest.raises(error, match=message):
        check(ELBOW, **functions)


@pytest.mark.parametrize(
    ('robot', 'message'),
    [
        (3, 'robot is 3; expected a system'),
        ('missing.urdf', 'missing.urdf'),
    ],
)
def test_robots_that_are_none(robot, message):
    with pytest.raises((ModelError, FunctionError), match=message):
        check(robot, mass_matrix=M)


def test_the_number_of_joints_is_found():
    report = check(**without_regressor(ELBOW))
    assert report.passed
    assert report.robot == 'a robot of 2 joints'
    assert check(mass_matrix=SYSTEMS[0].mass_matrix).robot == 'a robot of 1 joint'


def test_the_number_of_joints_is_not_found():
    with pytest.raises(FunctionError, match='for 1 to 12 joints; expected joints='):
        check(mass_matrix=lambda q: q['first'])
    with pytest.raises(FunctionError, match='joints is -1; expected 1 or more'):
        check(joints=-1, mass_matrix=M)


def test_singular_forward_dynamics():
    report = check(ELBOW, forward_dynamics=lambda q, v, tau: np.zeros(2))
    assert report.findings[0].law == 'positive_definiteness'


def test_the_name_of_the_package():
    assert rd.textbook.check is check
