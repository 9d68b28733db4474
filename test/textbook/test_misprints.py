# SPDX-License-Identifier: Apache-2.0
"""Misprints of the sources, listed on the pages of docs/textbook: as printed they fail,
corrected they hold. Lost equations and wrong words are tested in their corrected form only.

The reference is never the formulation that contains the correction: it is virtual work from
positions, differences, energy, or another derivation.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import simpson

from robot_dynamics.common.spatial import adjoint, inverse_pose, lie_bracket, skew
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.model.dh import from_dh
from robot_dynamics.core.model.robots import (
    geared_link,
    point_mass_2r,
    random_inertial,
    random_tree,
)
from robot_dynamics.core.model.screws import exponential, to_screws
from robot_dynamics.formulations import (
    closed_form_matrix,
    euler_lagrange,
    forward_dynamics,
    generalized_dalembert,
    hamiltonian,
    lagrange_euler_4x4,
    newton_euler_base_frame,
    newton_euler_link_frame,
    twist_wrench,
    virtual_work,
)
from robot_dynamics.textbook.closed_forms import GearedLink, PointMassArm
from robot_dynamics.validation.identities import derivative

ROUNDING = 1e-12
WRONG = 1e-4  # a misprint exceeds rounding by far

CHAIN = random_tree(6, np.random.default_rng(20), branching=0.0, prismatic=0.0)
STATES = np.random.default_rng(21).uniform(-2, 2, (5, 3, 6))
every_state = pytest.mark.parametrize('state', STATES)


def difference(value, expected):
    return np.abs(value - expected).max() / max(1.0, np.abs(expected).max())


def holds(value, expected, tolerance=ROUNDING):
    return difference(value, expected) <= tolerance


def fails(value, expected):
    return difference(value, expected) > WRONG


# -- Lynch and Park, draft, the planar 2R arm -----------------------------------------------------

ARM = PointMassArm(1.3, 2.2, 0.7, 0.45)
ARM_STATES = np.random.default_rng(22).uniform(-2, 2, (5, 3, 2))
every_arm_state = pytest.mark.parametrize('state', ARM_STATES)


def end_points(q):
    first = ARM.L1 * np.array([np.cos(q[0]), np.sin(q[0])])
    second = ARM.L2 * np.array([np.cos(q[0] + q[1]), np.sin(q[0] + q[1])])
    return np.array([first, first + second])


BY_POSITIONS = virtual_work.Particles(
    (ARM.m1, ARM.m2),
    end_points,
    lambda q: ARM.g * (ARM.m1 * end_points(q)[0, 1] + ARM.m2 * end_points(q)[1, 1]),
)


@every_arm_state
def test_lynch_two_link_arm_tau_1(state):
    """Printed: m2 (L1 L2 cos theta_1 + L2^2) thetadd_2."""
    q, _, qdd = state
    expected = virtual_work.inverse_dynamics(BY_POSITIONS, *state)[0]
    right = ARM.inverse_dynamics(*state)[0]
    as_printed = right + ARM.m2 * ARM.L1 * ARM.L2 * (np.cos(q[0]) - np.cos(q[1])) * qdd[1]
    assert holds(right, expected)
    assert fails(as_printed, expected)


@every_arm_state
def test_lynch_two_link_arm_tau_2(state):
    """Printed: - m2 L1 L2 thetad_1 thetad_2 sin theta_2, and minus gravity."""
    q, qd, _ = state
    expected = virtual_work.inverse_dynamics(BY_POSITIONS, *state)[1]
    right = ARM.inverse_dynamics(*state)[1]
    h = ARM.m2 * ARM.L1 * ARM.L2 * np.sin(q[1])
    gravity = ARM.m2 * ARM.g * ARM.L2 * np.cos(q[0] + q[1])
    assert holds(right, expected)
    assert fails(right - h * qd[0] ** 2 - h * qd[0] * qd[1], expected)
    assert fails(right - 2 * gravity, expected)


@every_arm_state
def test_lynch_two_link_arm_kinetic_energy(state):
    """Printed: m2 multiplies the first term of K_2 only."""
    q, qd, _ = state
    velocities = virtual_work.displacements(BY_POSITIONS, q) @ qd
    expected = np.array([ARM.m1, ARM.m2]) @ (velocities**2).sum(axis=1) / 2
    cross = 2 * (ARM.L2**2 + ARM.L1 * ARM.L2 * np.cos(q[1])) * qd[0] * qd[1]
    others = cross + ARM.L2**2 * qd[1] ** 2
    right = ARM.kinetic_energy(q, qd)
    assert holds(right, expected)
    assert fails(right + (1 - ARM.m2) * others / 2, expected)


# -- Lynch and Park, draft, the recursion ---------------------------------------------------------


@every_state
def test_lynch_base_acceleration(state):
    """Printed: dV_0/dt = (0, g), with g the gravitational acceleration."""
    rest = np.zeros(6)
    # The arm is held by the gradient of the potential energy.
    expected = [
        derivative(lambda t, e=e: euler_lagrange.potential_energy(CHAIN, state[0] + t * e), 1.0)
        for e in np.eye(6)
    ]
    right = twist_wrench.inverse_dynamics(CHAIN, state[0], rest, rest)
    # The base starts from (0, -g); adding 2 g makes it (0, g).
    upside_down = np.concatenate([np.zeros(3), 2 * CHAIN.gravity])
    as_printed = twist_wrench.inverse_dynamics(
        CHAIN, state[0], rest, rest, base_acceleration=upside_down
    )
    assert holds(right, np.array(expected), 1e-11)
    assert fails(as_printed, np.array(expected))


@every_state
def test_lynch_9_51_link_screws(state):
    """Printed: A_i = Ad(M_{i-1}^-1) S_i, in frame {i-1}; right is Ad(M_i^-1) S_i, in frame {i}."""
    theta, screws = state[0], to_screws(CHAIN)
    homes = [np.eye(4)]
    for M in screws.M:
        homes.append(homes[-1] @ M)
    # S_i, from the axes and points of the arm at theta = 0
    poses = kin.body_poses(CHAIN, np.zeros(6))
    z, o = kin.joint_axes(CHAIN, poses), poses[:, :3, 3]
    S = np.hstack([z, -np.cross(z, o)])

    product, chain, as_printed = np.eye(4), np.eye(4), np.eye(4)
    for i in range(6):
        product = product @ exponential(S[i], theta[i])
        right, wrong = (adjoint(inverse_pose(homes[k])) @ S[i] for k in (i + 1, i))
        # T_{i-1,i} = M_{i-1,i} exp([A_i] theta_i)
        chain = chain @ screws.M[i] @ exponential(right, theta[i])
        as_printed = as_printed @ screws.M[i] @ exponential(wrong, theta[i])
    # The reference is the product of exponentials, (9.37).
    assert holds(chain, product @ homes[6])
    assert fails(as_printed, product @ homes[6])


@every_state
def test_lynch_9_47_and_9_58_carried_twist(state):
    """Printed: [Ad(T_{i-1,i}) V_{i-1}, A_i] thetad_i; right is Ad(T_{i,i-1})."""
    q, qd, qdd = state
    screws = to_screws(CHAIN)

    def twists(t):
        theta, thetad = q + t * qd + t * t / 2 * qdd, qd + t * qdd
        V, all_T = [np.zeros(6)], []
        for A, M, angle, rate in zip(screws.A, screws.M, theta, thetad, strict=True):
            all_T.append(M @ exponential(A, angle))
            V.append(adjoint(inverse_pose(all_T[-1])) @ V[-1] + A * rate)
        return np.array(V), all_T

    V, T = twists(0.0)
    # dV/dt along the motion, by differences
    rates = derivative(lambda t: twists(t)[0], np.abs(qd).sum() + np.abs(qdd).sum())
    for i in range(1, 6):
        A = screws.A[i]
        common = adjoint(inverse_pose(T[i])) @ rates[i] + A * qdd[i]
        right = lie_bracket(adjoint(inverse_pose(T[i])) @ V[i]) @ A * qd[i]
        as_printed = lie_bracket(adjoint(T[i]) @ V[i]) @ A * qd[i]
        assert holds(common + right, rates[i + 1], 1e-10)
        assert fails(common + as_printed, rates[i + 1])


@every_state
def test_lynch_derivative_of_the_carried_twist(state):
    """Printed between (9.46) and (9.47): T_{i-1,i} and V_i; right are T_{i,i-1} and V_{i-1}."""
    q, qd, qdd = state
    screws = to_screws(CHAIN)

    def transforms(t):
        theta = q + t * qd + t * t / 2 * qdd
        return [M @ exponential(A, x) for A, M, x in zip(screws.A, screws.M, theta, strict=True)]

    def twists(t):
        rate, V = qd + t * qdd, [np.zeros(6)]
        for T, A, x in zip(transforms(t), screws.A, rate, strict=True):
            V.append(adjoint(inverse_pose(T)) @ V[-1] + A * x)
        return np.array(V)

    speed = np.abs(qd).sum() + np.abs(qdd).sum()
    V, Vd, T = twists(0.0), derivative(twists, speed), transforms(0.0)
    Td = derivative(lambda t: np.array(transforms(t)), speed)
    for i in range(1, 6):
        back, back_d = inverse_pose(T[i]), -inverse_pose(T[i]) @ Td[i] @ inverse_pose(T[i])

        def rate(X, Xd, X_inverse, X_inverse_d, V, Vd, i=i):
            # d/dt X [V] X^-1 + X [Vd] X^-1 + X [V] d/dt X^-1 + [A_i] thetadd_i
            carried = Xd @ se3(V) @ X_inverse + X @ se3(Vd) @ X_inverse + X @ se3(V) @ X_inverse_d
            return carried + se3(screws.A[i]) * qdd[i]

        # V and Vd begin with the base, V_0: V[i] is that of the parent of link i.
        right = rate(back, back_d, T[i], Td[i], V[i], Vd[i])
        as_printed = rate(T[i], Td[i], back, back_d, V[i + 1], Vd[i + 1])
        assert holds(right, se3(Vd[i + 1]), 1e-9)
        assert fails(as_printed, se3(Vd[i + 1]))


def se3(V):
    """Return the matrix [V] (4, 4) of a twist."""
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[:3, 3] = skew(V[:3]), V[3:]
    return matrix


@every_arm_state
def test_generalized_forces_times_velocities_are_power(state):
    """Printed: f^T q is work (Lynch and Park), xi_i q_i generate power (lecture notes)."""
    q, qd, qdd = state
    f = virtual_work.inverse_dynamics(BY_POSITIONS, *state)

    def energy(t):
        now, rate = q + t * qd + t * t / 2 * qdd, qd + t * qdd
        velocities = virtual_work.displacements(BY_POSITIONS, now) @ rate
        kinetic = np.array([ARM.m1, ARM.m2]) @ (velocities**2).sum(axis=1) / 2
        return kinetic + BY_POSITIONS.potential(now)

    power = derivative(energy, np.abs(qd).sum() + np.abs(qdd).sum())
    assert holds(f @ qd, power, 1e-10)
    assert fails(f @ q, power)
    # f^T q is not the work of the motion from t = 0 to 0.01 s either.
    assert fails(f @ q, energy(0.01) - energy(0.0))


@every_state
def test_lynch_9_83_coriolis_signs(state):
    """Printed: c = A^T L^T (G L [ad_A] Gamma - [ad_V]^T G) L A thetad, and + in (9.73), (9.78)."""
    q, qd, _ = state
    s = closed_form_matrix.stack(CHAIN, q)
    ad_A = closed_form_matrix.block_lie_bracket(s.A @ qd)
    ad_V = closed_form_matrix.block_lie_bracket(s.J @ qd)
    rest = np.zeros(6)
    ne = newton_euler_link_frame.inverse_dynamics
    expected = ne(CHAIN, q, qd, rest) - ne(CHAIN, q, rest, rest)
    right = -s.J.T @ (s.G @ s.L @ ad_A @ s.Gamma + ad_V.T @ s.G) @ s.J @ qd
    as_printed = s.J.T @ (s.G @ s.L @ ad_A @ s.Gamma - ad_V.T @ s.G) @ s.J @ qd
    assert holds(right, expected)
    assert fails(as_printed, expected)


@every_state
def test_lynch_9_95_bias_torque(state):
    """Printed: tau = M (...) + J^-T b; right is + b."""
    q, qd, qdd = state
    frame = CHAIN.frame_names[-1]
    J, Jd = kin.jacobian(CHAIN, q, frame), kin.jacobian_dot(CHAIN, q, qd, frame)
    V, Vd = J @ qd, J @ qdd + Jd @ qd
    b = newton_euler_link_frame.inverse_dynamics(CHAIN, q, qd, np.zeros(6))
    expected = newton_euler_link_frame.inverse_dynamics(CHAIN, q, qd, qdd)
    J_inverse = np.linalg.inv(J)
    # M (J^-1 Vd - J^-1 Jd J^-1 V)
    inertial = euler_lagrange.mass_matrix(CHAIN, q) @ J_inverse @ (Vd - Jd @ J_inverse @ V)
    assert holds(inertial + b, expected, 1e-12 * np.linalg.cond(J))
    assert fails(inertial + J_inverse.T @ b, expected)


@every_state
def test_lynch_tip_wrench_is_that_on_the_environment(state):
    """Printed: F_tip is "applied to the link"; in (9.56), (9.81) the link applies it."""
    q, rest, frame = state[0], np.zeros(6), CHAIN.frame_names[-1]
    F = np.array([1.0, -2.0, 0.5, 7.0, -3.0, 4.0])  # of the environment on the robot
    g = euler_lagrange.gravity_torque(CHAIN, q)
    tau = twist_wrench.inverse_dynamics(CHAIN, q, rest, rest, tip_wrench=F, tip_frame=frame)
    # At rest virtual work is zero: (tau - g) . dq + F . dx = 0, dx = J dq
    J = kin.jacobian(CHAIN, q, frame)
    assert holds((tau - g) + J.T @ F, np.zeros(6))
    # (9.81) with F_tip = F, as printed, would add J^T F.
    assert fails((g + J.T @ F - g) + J.T @ F, np.zeros(6))


def test_lynch_euler_loop_starts_at_zero():
    """Printed: for k = 1 to N; the first torque acts at k = 0 and theta[N] is the last result."""
    q, qd = STATES[0, 0], STATES[0, 1]
    tau = np.random.default_rng(23).normal(size=(3, 6))
    arguments = {'inverse_dynamics': newton_euler_link_frame.inverse_dynamics}
    positions, velocities = forward_dynamics.euler_integration(
        CHAIN, q, qd, tau, 1e-3, **arguments
    )
    assert len(positions) == len(velocities) == len(tau) + 1
    qdd_0 = forward_dynamics.joint_acceleration(CHAIN, q, qd, tau[0], **arguments)
    assert holds(velocities[1], qd + 1e-3 * qdd_0)
    # Without k = 0, the first step would use the second torque.
    qdd_1 = forward_dynamics.joint_acceleration(CHAIN, q, qd, tau[1], **arguments)
    assert fails(qdd_1, qdd_0)


# -- Milićević, Golubović and Slavković -----------------------------------------------------------


@every_state
def test_milicevic_gravity_signs(state):
    """(2.4) prints + sum m g U r, (2.15) - sum m g U r: minus, with g down; dv_0/dt is up."""
    q, rest = state[0], np.zeros(6)
    # with g down, from the recursion with an upward acceleration of the base
    expected = newton_euler_base_frame.inverse_dynamics(CHAIN, q, rest, rest)
    c = lagrange_euler_4x4.gravity_torque(CHAIN, q)
    assert holds(c, expected)
    assert fails(-c, expected)
    # (4.5) needs g down as well; the upward value of section 3 reverses its sign.
    upwards = CHAIN.with_gravity(-CHAIN.gravity)
    assert holds(generalized_dalembert.gravity_torque(CHAIN, q), expected)
    assert fails(generalized_dalembert.gravity_torque(upwards, q), expected)


def test_milicevic_4_2_centre_of_mass_vector():
    """The c_s of (4.2) runs from o_{s-1}: with section 3's s_s, from o_s, its two lines differ."""
    rng = np.random.default_rng(24)
    rows = [(*rng.uniform(0.2, 0.5, 4), 'revolute') for _ in range(4)]
    arm = from_dh(rows, convention='standard', inertias=[random_inertial(rng) for _ in rows])
    q = rng.uniform(-2, 2, 4)
    # o_0 ... o_4, the origins of the frames of the table, at the distal ends of the links
    o = np.array([kin.frame_pose(arm, q, name)[:3, 3] for name in arm.frame_names])
    r = kin.com_positions(arm, kin.body_poses(arm, q))
    for s in range(1, 5):
        for j in range(1, s + 1):
            # sum_{k=j}^{s-1} p*_k + c_s = r_s - p_{j-1}
            p_star = o[s - 1] - o[j - 1]
            assert holds(p_star + (r[s - 1] - o[s - 1]), r[s - 1] - o[j - 1])
            assert fails(p_star + (r[s - 1] - o[s]), r[s - 1] - o[j - 1])


@every_state
def test_milicevic_4_3_and_4_4_derived_again(state):
    """Printed incompletely: their sum must be the torque of velocity, by another derivation."""
    q, qd, _ = state
    h_tran, h_rot = generalized_dalembert.velocity_torque_parts(CHAIN, q, qd)
    rest = np.zeros(6)
    expected = hamiltonian.inverse_dynamics(CHAIN, q, qd, rest)
    expected = expected - hamiltonian.gravity_torque(CHAIN, q)
    assert holds(h_tran + h_rot, expected)
    assert fails(h_tran, expected)
    # Point masses have no rotational part.
    points = from_points(CHAIN)
    assert holds(generalized_dalembert.velocity_torque_parts(points, q, qd)[1], np.zeros(6))


def from_points(model):
    """Return the same arm with all mass in the centres of mass."""
    return replace(model, inertia_com=np.zeros((model.nb, 3, 3)))


@every_state
def test_milicevic_tables_1_and_2_derived_again(state):
    """Rows of both tables are overwritten or lost; with prismatic joints as well."""
    for prismatic in (0.0, 0.5, 1.0):
        arm = random_tree(6, np.random.default_rng(25), prismatic=prismatic)
        expected = euler_lagrange.inverse_dynamics(arm, *state)
        for table in (newton_euler_base_frame, newton_euler_link_frame):
            assert holds(table.inverse_dynamics(arm, *state), expected)


# -- lecture notes --------------------------------------------------------------------------------


def mass_matrix_rate(q, qd):
    return derivative(
        lambda t: lagrange_euler_4x4.mass_matrix(CHAIN, q + t * qd), np.abs(qd).sum()
    )


@every_state
def test_notes_skew_symmetric_matrix(state):
    """Printed: B qd - 2 C, a vector minus a matrix, and B without a dot; right is Bd - 2 C."""
    q, qd, _ = state
    Bd, C = mass_matrix_rate(q, qd), euler_lagrange.coriolis_matrix(CHAIN, q, qd)
    B = euler_lagrange.mass_matrix(CHAIN, q)
    N = Bd - 2 * C
    assert holds(N + N.T, np.zeros((6, 6)), 1e-11)
    # A vector minus a matrix is undefined; without the vector, B still lacks the dot.
    assert (B @ qd).shape != C.shape
    for as_printed in (B - 2 * C, np.diag(B @ qd) - 2 * C):
        assert fails(as_printed + as_printed.T, np.zeros((6, 6)))
    # The same in the power balance above it: 1/2 qd^T B qd - qd^T C qd = 0.
    assert abs(qd @ Bd @ qd / 2 - qd @ C @ qd) < 1e-11 * np.abs(C).max() * (qd @ qd)
    assert fails(qd @ B @ qd / 2, qd @ C @ qd)


@every_state
def test_notes_skewness_does_not_follow_from_power(state):
    """qd^T N qd = 0 for all qd, as N depends on qd too, holds for every C; skewness does not."""
    q, qd, _ = state
    Bd = mass_matrix_rate(q, qd)
    for C, is_skew in [
        (closed_form_matrix.coriolis_matrix(CHAIN, q, qd), True),
        (closed_form_matrix.coriolis_matrix_skew(CHAIN, q, qd), True),
        (closed_form_matrix.coriolis_matrix_of_recursion(CHAIN, q, qd), False),
    ]:
        N = Bd - 2 * C
        assert abs(qd @ N @ qd) < 1e-11 * np.abs(N).max() * (qd @ qd)
        assert holds(N + N.T, np.zeros((6, 6)), 1e-11) == is_skew
        assert is_skew or fails(N + N.T, np.zeros((6, 6)))


# -- Spong, Hutchinson and Vidyasagar -------------------------------------------------------------


def test_spong_example_6_1_damping():
    """Printed: B = r B_m + B_l. The power lost in both dampers is B_m (r qd)^2 + B_l qd^2."""
    link = GearedLink(r=37.0, Jm=2e-4, Jl=0.61, M=2.1, l=0.43, Bm=3e-4, Bl=0.2)
    model = geared_link(link.r, link.Jm, link.Jl, link.M, link.l, link.Bm, link.Bl)
    for qd in (0.3, -2.0):
        lost = link.Bm * (link.r * qd) ** 2 + link.Bl * qd**2
        assert holds(link.damping * qd**2, lost)
        assert holds(model.viscous[0] * qd**2, lost)
        assert fails((link.r * link.Bm + link.Bl) * qd**2, lost)


def test_spong_passivity_starts_from_the_lowest_potential():
    """Printed: beta = H(0), as H(T) is not negative. P may be, and then beta = H(0) - min P."""
    model = point_mass_2r((ARM.m1, ARM.m2), (ARM.L1, ARM.L2))
    # From rest, stretched out horizontally, to rest, hanging: P(0) = 0.
    t = np.linspace(0.0, 1.0, 2001)
    turn = t**2 * (3 - 2 * t)
    q = np.outer(turn, [-np.pi / 2, 0.0])
    qd = np.outer(6 * t * (1 - t), [-np.pi / 2, 0.0])
    qdd = np.outer(6 - 12 * t, [-np.pi / 2, 0.0])
    P = [euler_lagrange.potential_energy(model, x) for x in (q[0], q[-1])]
    assert P[0] == pytest.approx(0.0, abs=1e-12)
    tau = np.array(
        [
            newton_euler_link_frame.inverse_dynamics(model, *motion)
            for motion in zip(q, qd, qdd, strict=True)
        ]
    )
    supplied = simpson((tau * qd).sum(axis=1), x=t)
    # The energy supplied by the motors is the loss of potential energy, down to its minimum.
    lowest = -ARM.g * (ARM.m1 * ARM.L1 + ARM.m2 * (ARM.L1 + ARM.L2))
    assert supplied == pytest.approx(lowest, rel=1e-9)
    H_0 = P[0]
    assert supplied >= -(H_0 - lowest) - 1e-8
    assert supplied < -H_0 - 1.0


@every_arm_state
def test_spong_sum_over_the_particles(state):
    """Printed above (6.34): the sum over i = 1 ... n; right is 1 ... k, the particles."""
    # The first mass as two particles: k = 3, n = 2.
    split = virtual_work.Particles(
        (ARM.m1 / 2, ARM.m1 / 2, ARM.m2), lambda q: end_points(q)[[0, 0, 1]]
    )
    q = state[0]
    inertial = np.asarray(split.masses)[:, None] * virtual_work.accelerations(split, *state)
    expected = ARM.inverse_dynamics(*state) - ARM.inverse_dynamics(q, np.zeros(2), np.zeros(2))
    assert holds(virtual_work.generalized_forces(split, q, inertial), expected)
    n = len(q)
    up_to_n = np.where(np.arange(3)[:, None] < n, inertial, 0.0)
    assert fails(virtual_work.generalized_forces(split, q, up_to_n), expected)


@every_state
def test_spong_angular_acceleration_is_the_derivative_of_omega(state):
    """Claimed: alpha_i is in general not d omega_i/dt, both in the axes of frame i."""
    q, qd, qdd = state

    def omega(t, own_axes):
        """Angular velocity of the last link, in its axes or in those of the base."""
        position, velocity = q + qd * t + qdd * t**2 / 2, qd + qdd * t
        poses = kin.body_poses(CHAIN, position)
        w = kin.com_jacobians(CHAIN, poses)[-1][:3] @ velocity
        return poses[-1][:3, :3].T @ w if own_axes else w

    R = kin.body_poses(CHAIN, q)[-1][:3, :3]
    alpha = R.T @ derivative(lambda t: omega(t, False), 10.0)
    assert holds(derivative(lambda t: omega(t, True), 10.0), alpha, 1e-9)


@every_state
def test_spong_skew_symmetry_needs_no_christoffel_symbols(state):
    """Claimed: dD/dt - 2 C is skew-symmetric only if C is that of the Christoffel symbols."""
    q, qd, _ = state
    christoffel = euler_lagrange.coriolis_matrix(CHAIN, q, qd)
    # S is skew-symmetric and S qd = 0: it acts in the plane of two vectors normal to qd.
    u, v = np.linalg.svd(qd[None])[2][1:3]
    S = np.outer(u, v) - np.outer(v, u)
    for C in (closed_form_matrix.coriolis_matrix_skew(CHAIN, q, qd), christoffel + S):
        N = mass_matrix_rate(q, qd) - 2 * C
        assert holds(N + N.T, np.zeros((6, 6)), 1e-11)
        assert holds(C @ qd, christoffel @ qd, 1e-11)
        assert fails(C, christoffel)


def test_spong_the_integral_of_power_is_the_energy_supplied():
    """Claimed: the integral of qd^T tau is the energy that the system produces."""
    t = np.linspace(0.0, 1.0, 2001)
    turn, rate, change = t**2 * (3 - 2 * t), 6 * t * (1 - t), 6 - 12 * t
    angle = np.array([np.pi / 2, 0.3])
    # From rest, stretched out horizontally, to rest, upright.
    motion = [np.outer(x, angle) for x in (turn, rate, change)]
    tau = np.array([ARM.inverse_dynamics(*x) for x in zip(*motion, strict=True)])
    supplied = simpson((tau * motion[1]).sum(axis=1), x=t)
    gained = ARM.potential_energy(motion[0][-1]) - ARM.potential_energy(motion[0][0])
    assert gained > 10.0
    assert holds(supplied, gained, 1e-9)
    assert fails(-supplied, gained)


def test_milicevic_newton_euler_gives_torques_alone():
    """Printed in the conclusion: Newton-Euler retains the structure of the equations of motion."""
    for recursion in (newton_euler_base_frame, newton_euler_link_frame):
        assert not {'mass_matrix', 'coriolis_matrix', 'gravity_torque'} & vars(recursion).keys()
    for structured in (lagrange_euler_4x4, generalized_dalembert):
        assert {'mass_matrix', 'gravity_torque'} <= vars(structured).keys()
