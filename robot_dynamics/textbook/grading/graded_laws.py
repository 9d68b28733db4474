# SPDX-License-Identifier: Apache-2.0
"""Laws of functions of a robot's dynamics, by name, with their sources."""

from __future__ import annotations

from robot_dynamics.textbook.grading.grading_report import Law

SPONG = 'Spong, Hutchinson and Vidyasagar'
LYNCH_PARK = 'Lynch and Park, draft'

LAWS: dict[str, Law] = {
    law.name: law
    for law in (
        Law('function_of_the_state', 'equal arguments give equal results', 'definition'),
        Law('mass_matrix_symmetry', 'M = M^T, Lambda = Lambda^T', f'{SPONG}, (6.51)-(6.53)'),
        Law(
            'positive_definiteness',
            'x^T M x > 0, x^T Lambda x > 0, x != 0',
            f'{SPONG}, section 6.5',
        ),
        Law(
            'affine_in_acceleration',
            'tau(q, qd, qdd) is affine in qdd: M(q) qdd and terms without qdd',
            f'{SPONG}, (6.66)',
        ),
        Law(
            'affine_in_torque',
            'qdd(q, qd, tau) is affine in tau: M(q)^-1 tau and terms without tau',
            f'{SPONG}, (6.66)',
        ),
        Law('inertia_of_position', 'M is a function of q alone', f'{SPONG}, (6.51)-(6.53)'),
        Law(
            'coriolis_quadratic',
            'C(q, qd) is linear and C qd quadratic in qd',
            f'{SPONG}, (6.65)-(6.67)',
        ),
        Law('kinetic_energy_quadratic', 'K(q, qd) is a quadratic form of qd', f'{SPONG}, (6.51)'),
        Law(
            'gravity_is_a_gradient',
            'g = dP/dq: the gravity torque is the gradient of a potential energy',
            f'{SPONG}, (6.64)',
        ),
        Law('gravity_at_rest', 'g(q) = tau(q, 0, 0)', f'{SPONG}, (6.66)'),
        Law(
            'mass_matrix_columns',
            'M e_k = tau(q, 0, e_k) - tau(q, 0, 0)',
            f'{LYNCH_PARK}, section 9.5',
        ),
        Law('kinetic_energy_of_mass_matrix', 'K = 1/2 qd^T M qd', f'{SPONG}, (6.51)'),
        Law('coriolis_torque', 'C qd = tau(q, qd, 0) - tau(q, 0, 0)', f'{SPONG}, (6.66)'),
        Law(
            'forward_inverts_inverse',
            'M qdd + C qd + g = tau, in forward and inverse dynamics',
            f'{SPONG}, (6.66)',
        ),
        Law('skew_symmetry', 'dM/dt - 2 C is skew-symmetric', f'{SPONG}, proposition 6.1'),
        Law(
            'coriolis_of_inertia',
            'C qd = dM/dt qd - 1/2 d(qd^T M qd)/dq',
            f'{SPONG}, (6.57)-(6.62)',
        ),
        Law(
            'power_balance',
            'd(K + P)/dt = qd^T tau: the power of the motors is the rate of the energy',
            f'{SPONG}, section 6.5',
        ),
        Law('momentum', 'p = M qd, linear in qd', f'{SPONG}, end of chapter 6'),
        Law(
            'hamiltonian',
            'H = 1/2 p^T M^-1 p + P, quadratic in p',
            f'{SPONG}, end of chapter 6',
        ),
        Law(
            'friction_dissipates',
            'qd_j F_j(qd) >= 0: F is what the motors supply against friction',
            'lecture notes, Lagrangian formulation',
        ),
        Law('task_energy', 'V^T Lambda V / 2 = K if qd = J_bar V', f'{LYNCH_PARK}, (9.98)'),
        Law(
            'task_power', 'V^T dLambda/dt V / 2 = V^T mu if qd = J_bar V', f'{LYNCH_PARK}, (9.99)'
        ),
        # The source of the next seven is that of the robot.
        Law('robot_inertia', 'M(q) is that of the robot', ''),
        Law('robot_coriolis', 'C(q, qd) qd is that of the robot', ''),
        Law('robot_gravity', 'g(q) is that of the robot', ''),
        Law('robot_friction_torque', 'F(qd) is that of the robot', ''),
        Law('task_inertia', 'Lambda = (J M^-1 J^T)^-1, J^-T M J^-1 if J is square', ''),
        Law('task_bias', 'eta = J^-T (C qd + g) - Lambda dJ/dt qd', ''),
        Law('robot_regressor', 'Y(q, qd, qdd) is that of the robot', ''),
    )
}
REFERENCE_LAWS = {'M': 'robot_inertia', 'h': 'robot_coriolis', 'g': 'robot_gravity'}
