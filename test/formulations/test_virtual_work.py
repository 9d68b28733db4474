# SPDX-License-Identifier: Apache-2.0
"""Constrained particles: the equations of motion from r_i(q) and P(q) alone.

Equation numbers are those of Spong, Hutchinson and Vidyasagar.
"""

import numpy as np
import pytest

from robot_dynamics.common.errors import ShapeError, SingularityError
from robot_dynamics.formulations import virtual_work as vw
from robot_dynamics.textbook.closed_forms import FiveBarLinkage, PointMassArm, RemoteElbow

ROUNDING = 1e-12
G = np.array([0.0, -9.81])

LINKS = {'l1': 0.7, 'lc1': 0.3, 'lc2': 0.25, 'm1': 3.1, 'm2': 1.7, 'I1': 0.12, 'I2': 0.05}
REMOTE = RemoteElbow(**LINKS)
FIVE_BAR = FiveBarLinkage(
    l1=0.8,
    l2=0.37,
    lc=(0.31, 0.17, 0.42, 0.56),
    m=(2.3, 1.1, 1.9, 0.7),
    I=(0.11, 0.023, 0.083, 0.047),
)
# by hand: centres of mass, directions of the links as indices of q, masses, moments of inertia
MECHANISMS = {
    'remote_elbow': (REMOTE, (0, 1), (REMOTE.m1, REMOTE.m2), (REMOTE.I1, REMOTE.I2)),
    'five_bar': (FIVE_BAR, (0, 1, 0, 1), FIVE_BAR.m, FIVE_BAR.I),
}


@pytest.fixture(params=MECHANISMS)
def mechanism(request):
    return MECHANISMS[request.param]


def as_particles(by_hand, directions, masses, inertias):
    """Each link as two particles of half its mass, at sqrt(I/m) either side of its centre."""
    radii = np.sqrt(np.divide(inertias, masses))

    def positions(q):
        points = []
        for c, k, radius in zip(by_hand.com_positions(q), directions, radii, strict=True):
            along = radius * np.array([np.cos(q[k]), np.sin(q[k])])
            points += [c + along, c - along]
        return np.array(points)

    return vw.Particles(np.repeat(masses, 2) / 2, positions, by_hand.potential_energy)


def states(n=2, count=10):
    return np.random.default_rng(2).uniform(-3, 3, (count, 3, n))


def assert_equal(value, expected):
    assert np.shape(value) == np.shape(expected)
    assert np.abs(value - expected).max() <= ROUNDING * max(1.0, np.abs(expected).max())


def test_equations_of_motion_from_centres_of_mass(mechanism):
    by_hand, system = mechanism[0], as_particles(*mechanism)
    for q, qd, qdd in states():
        assert_equal(vw.mass_matrix(system, q), by_hand.mass_matrix(q))
        assert_equal(vw.coriolis_matrix(system, q, qd), by_hand.coriolis_matrix(q, qd))
        assert_equal(vw.gravity_torque(system, q), by_hand.gravity_torque(q))
        tau = by_hand.inverse_dynamics(q, qd, qdd)
        assert_equal(vw.inverse_dynamics(system, q, qd, qdd), tau)


def test_velocity_jacobians_of_the_centres_of_mass(mechanism):
    """(6.92), (6.93) and (6.104): M = sum_i m_i J_vi^T J_vi + I_i J_wi^T J_wi."""
    by_hand, directions, masses, inertias = mechanism
    coms = vw.Particles(masses, by_hand.com_positions)
    for q, _, _ in states():
        J_v = by_hand.com_jacobians(q)
        assert_equal(J_v, vw.displacements(coms, q))
        J_w = np.eye(2)[list(directions)]
        M = np.einsum('i,ixj,ixl->jl', masses, J_v, J_v) + J_w.T @ np.diag(inertias) @ J_w
        assert_equal(M, by_hand.mass_matrix(q))


def test_mass_matrix_partials_make_the_christoffel_symbols(mechanism):
    """c_ijk = 1/2 (dM_kj/dq_i + dM_ki/dq_j - dM_ij/dq_k), by central differences of M."""
    system, h = as_particles(*mechanism), 1e-5
    for q, _, _ in states(count=3):
        steps = h * np.eye(2)
        d = np.stack(
            [
                (vw.mass_matrix(system, q + e) - vw.mass_matrix(system, q - e)) / (2 * h)
                for e in steps
            ],
            axis=2,
        )
        c = (np.einsum('kji->ijk', d) + np.einsum('kij->ijk', d) - d) / 2
        assert np.abs(vw.christoffel_symbols(system, q) - c).max() < 1e-9


def test_point_masses():
    arm = PointMassArm(1.3, 2.2, 0.7, 0.45)

    def positions(q):
        first = arm.L1 * np.array([np.cos(q[0]), np.sin(q[0])])
        second = arm.L2 * np.array([np.cos(q[0] + q[1]), np.sin(q[0] + q[1])])
        return np.array([first, first + second])

    system = vw.Particles((arm.m1, arm.m2), positions, arm.potential_energy)
    for q, qd, qdd in states():
        tau = arm.inverse_dynamics(q, qd, qdd)
        assert_equal(vw.inverse_dynamics(system, q, qd, qdd), tau)


LENGTH = 0.6
DUMBBELL_MASSES = np.array([1.2, 0.7])


def dumbbell(q):
    """Two particles on a massless rod: (6.15) holds by the choice of coordinates x, y, angle."""
    first = np.array([q[0], q[1]])
    return np.array([first, first + LENGTH * np.array([np.cos(q[2]), np.sin(q[2])])])


DUMBBELL = vw.Particles(
    DUMBBELL_MASSES, dumbbell, lambda q: -np.sum(DUMBBELL_MASSES[:, None] * G * dumbbell(q))
)


def test_virtual_displacements_keep_the_rod_s_length():
    """(6.21): (r1 - r2) . (dr1 - dr2) = 0."""
    for q, dq, _ in states(3):
        r = dumbbell(q)
        dr = vw.displacements(DUMBBELL, q) @ dq
        assert abs((r[0] - r[1]) @ (dr[0] - dr[1])) < ROUNDING


def test_constraint_forces_act_along_the_rod_and_do_no_work():
    """(6.24) to (6.28). Only gravity acts on the free dumbbell."""
    weights = DUMBBELL_MASSES[:, None] * G
    for q, qd, _ in states(3):
        M = vw.mass_matrix(DUMBBELL, q)
        bias = vw.inverse_dynamics(DUMBBELL, q, qd, np.zeros(3))
        qdd = np.linalg.solve(M, -bias)
        f_a = vw.constraint_forces(DUMBBELL, q, qd, qdd, weights)
        along = (dumbbell(q)[1] - dumbbell(q)[0]) / LENGTH
        # Action and reaction, along the rod: in free fall it is the centripetal force.
        reduced_mass = DUMBBELL_MASSES.prod() / DUMBBELL_MASSES.sum()
        tension = reduced_mass * LENGTH * qd[2] ** 2
        assert_equal(f_a, np.array([tension * along, -tension * along]))
        assert_equal(vw.generalized_forces(DUMBBELL, q, f_a), np.zeros(3))


def test_generalized_forces_are_power_per_velocity():
    """(6.31): psi . qd = sum_i f_i . rd_i, of any forces."""
    forces = np.random.default_rng(3).normal(size=(2, 2))
    for q, qd, _ in states(3):
        power = np.sum(forces * (vw.displacements(DUMBBELL, q) @ qd))
        assert_equal(vw.generalized_forces(DUMBBELL, q, forces) @ qd, power)


def test_accelerations_are_second_derivatives_of_positions():
    for q, qd, qdd in states(3):
        a = vw.accelerations(DUMBBELL, q, qd, qdd)
        # A second difference with this h is off by rounding / h^2, about 1e-7, and h^2 / 12.
        h = 1e-4
        before, now, after = (dumbbell(q + t * qd + t * t / 2 * qdd) for t in (-h, 0.0, h))
        assert np.abs((after - 2 * now + before) / h**2 - a).max() < 1e-5


def test_functions_may_use_roots_and_quotients():
    """A bead on the parabola y = x^2 / 2, its coordinate the arc's slope angle s = atan x."""
    bead = vw.Particles(
        [2.0],
        lambda q: np.array([[np.sin(q[0]) / np.cos(q[0]), (1 / np.cos(q[0]) ** 2 - 1) / 2]]),
        lambda q: 3.0 - 2.0 * np.sqrt(1.0 + q[0] ** 2),
    )
    s = np.array([0.4])
    x, dx = np.tan(0.4), 1 / np.cos(0.4) ** 2
    assert_equal(vw.mass_matrix(bead, s), np.array([[2.0 * dx**2 * (1 + x**2)]]))
    # M = 2 (1 + x^2)^3,  c_111 = M'/2 = 6 (1 + x^2)^2 x dx = 6 x (1 + x^2)^3
    assert_equal(vw.christoffel_symbols(bead, s), np.full((1, 1, 1), 6 * x * (1 + x**2) ** 3))
    assert_equal(vw.gravity_torque(bead, s), np.array([-2.0 * 0.4 / np.sqrt(1.16)]))


# A knife edge, such as a skate, on a plane inclined along x: it slides along its blade, at the
# angle theta from x, and not across.
MASS, RADIUS, SLOPE = 1.7, 0.21, 9.81 * np.sin(0.3)
KNIFE_EDGE = vw.Particles(
    [MASS / 2, MASS / 2],
    lambda q: np.array(
        [
            [q[0] + side * RADIUS * np.cos(q[2]), q[1] + side * RADIUS * np.sin(q[2])]
            for side in (1, -1)
        ]
    ),
    lambda q: -MASS * SLOPE * q[0],
)


def blade(q):
    """Return A(q) (1, 3) of the coordinates x, y, theta: A(q) qd = 0."""
    return np.array([[np.sin(q[2]), -np.cos(q[2]), 0.0]])


def known_motion(t, w):
    """Return q, qd and qdd of the knife edge that starts at rest except for its turning rate w."""
    s, c, k = np.sin(w * t), np.cos(w * t), SLOPE / w
    q = np.array([k / (2 * w) * s**2, k / (2 * w) * (w * t - s * c), w * t])
    qd = np.array([k * s * c, k * s**2, w])
    return q, qd, np.array([SLOPE * (c**2 - s**2), 2 * SLOPE * s * c, 0.0])


@pytest.mark.parametrize('w', [0.7, -2.3])
@pytest.mark.parametrize('t', [0.1, 0.9, 2.2])
def test_a_nonholonomic_constraint(t, w):
    """Spong et al., below (6.18): virtual work holds, and Hamilton's principle does not."""
    q, qd, qdd = known_motion(t, w)
    assert_equal(blade(q) @ qd, np.zeros(1))
    found, multiplier = vw.constrained_acceleration(KNIFE_EDGE, q, qd, np.zeros(3), blade)
    assert_equal(found, qdd)
    # The constraint's force acts across the blade and does no work.
    tau = vw.inverse_dynamics(KNIFE_EDGE, q, qd, qdd)
    assert_equal(tau, blade(q).T @ multiplier)
    assert abs(tau @ qd) < ROUNDING * np.abs(tau).max()
    # A(q) qd = 0 is no derivative of an f(q) = 0: for a = (sin, -cos, 0), a . curl a = -1.
    turn = np.array([0.0, 0.0, 1e-6])
    slope = (blade(q + turn) - blade(q - turn))[0] / 2e-6
    assert blade(q)[0] @ [-slope[1], slope[0], 0.0] == pytest.approx(-1)
    # L + mu A qd, made stationary, has I thetadd = mu v: mu = 0 here, and then xdd = SLOPE.
    v = np.hypot(*qd[:2])
    assert v > 0.01
    assert abs(qdd[2] / v) < ROUNDING
    assert abs(qdd[0] - SLOPE) > 0.01


def test_a_holonomic_constraint_is_satisfied():
    """Two particles held at one height by A qd = 0: as one coordinate less."""
    free = vw.Particles([1.0, 2.0], lambda q: np.array([[0.0, q[0]], [1.0, q[1]]]))
    force = np.array([3.0, 0.0])
    together = lambda q: np.array([[1.0, -1.0]])  # noqa: E731
    qdd, multiplier = vw.constrained_acceleration(free, np.zeros(2), np.ones(2), force, together)
    assert_equal(qdd, np.ones(2))  # 3 N on 3 kg
    assert_equal(multiplier, np.array([-2.0]))


def test_wrong_constraints_are_named():
    q = np.zeros(3)
    with pytest.raises(ShapeError, match=r'A\(q\) has shape \(1, 2\)'):
        vw.constrained_acceleration(KNIFE_EDGE, q, q, q, lambda q: np.ones((1, 2)))
    with pytest.raises(ShapeError, match=r'psi has shape \(2,\)'):
        vw.constrained_acceleration(KNIFE_EDGE, q, q, np.zeros(2), blade)
    with pytest.raises(SingularityError, match='linearly dependent'):
        vw.constrained_acceleration(
            KNIFE_EDGE, q, q, q, lambda q: np.concatenate([blade(q), blade(q)])
        )


def test_wrong_shapes_are_named():
    with pytest.raises(ShapeError, match=r'q, qd and qdd have shapes \(3,\), \(2,\)'):
        vw.inverse_dynamics(DUMBBELL, np.zeros(3), np.zeros(2), np.zeros(3))
    missing = vw.Particles([1.0], dumbbell)
    with pytest.raises(ShapeError, match='2 particles and masses has 1'):
        vw.mass_matrix(missing, np.zeros(3))
