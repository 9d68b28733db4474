"""The laws that every robot's dynamics obey, each as a function that returns how far it is off.

A law needs no reference values and holds for every robot: the inertia matrix is symmetric, gravity
torque is the slope of the potential energy, power in is energy gained. Each function below checks
one in one state and returns a residual, the largest violation relative to the size of what it
compares: about 1e-13 where all is right, about 1 where something is wrong.

`arm` is anything with the verbs of `Dynamics`: a Dynamics, or a formulation held by `Bound`.

Derivatives in time and position are taken by `differences`, which know nothing of the derivation
under test.

Sources: 000, section 6.5 (skew symmetry, passivity, linearity) and end of chapter 6 (power); 001,
(9.86)-(9.88), proposition 9.1 and (9.89); 002, (2.14) and the list below it (h_iii = 0); 003, skew
symmetry. Their symbols are one: 001 Gamma_kij = 000 c_ijk = 003 c_kij = 002 h_kij.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from robot_dynamics import kinematics
from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array, unskew
from robot_dynamics.validation.differences import derivative, scaled


class Bound:
    """A formulation with its model already given, so that it reads like a `Dynamics`."""

    def __init__(self, formulation: ModuleType, model: RobotModel):
        self.formulation, self.model = formulation, model

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        return partial(getattr(self.formulation, verb), self.model)


# -- the inertia matrix -------------------------------------------------------------------------


def mass_matrix_symmetry(arm: Any, q: Array) -> float:
    """M = M^T."""
    M = arm.mass_matrix(q)
    return scaled(M - M.T, M)


def positive_definiteness(arm: Any, q: Array) -> float:
    """x^T M x > 0: 0 where that holds, about 1 or more where M has an eigenvalue that is not > 0.

    An eigenvalue within rounding of 0, relative to the largest, counts as 0: M is singular.
    """
    eigenvalues = np.linalg.eigvalsh(arm.mass_matrix(q))
    smallest, largest = float(eigenvalues[0]), float(np.abs(eigenvalues).max())
    rounding = len(eigenvalues) * np.finfo(float).eps * largest
    return 0.0 if smallest > rounding else 1.0 - smallest / max(largest, np.finfo(float).tiny)


def mass_matrix_columns(arm: Any, q: Array) -> float:
    """M e_k = tau(q, 0, e_k) - tau(q, 0, 0)."""
    M, rest = arm.mass_matrix(q), np.zeros_like(q)
    g = arm.inverse_dynamics(q, rest, rest)
    columns = [arm.inverse_dynamics(q, rest, e) - g for e in np.eye(len(q))]
    return scaled(M - np.stack(columns, axis=1), M, g)


def uncoupled_branches(arm: Any, q: Array) -> float:
    """m_ij = 0 where no body is carried by both joint i and joint j."""
    M, model = arm.mass_matrix(q), arm.model
    carried = [model.support(b) for b in range(model.nb)]
    # moves[b, j]: coordinate j moves body b
    moves = np.array([np.any(model.S[bodies] != 0, axis=0) for bodies in carried], dtype=float)
    uncoupled = (moves.T @ moves == 0) & ~np.eye(model.n, dtype=bool)
    return scaled(M[uncoupled], M)


# -- Coriolis and centrifugal torque ------------------------------------------------------------


def skew_symmetry(arm: Any, q: Array, qd: Array) -> float:
    """N = dM/dt - 2 C is skew-symmetric; 000, proposition 6.1."""
    M, C = arm.mass_matrix(q), arm.coriolis_matrix(q, qd)
    speed = _speed(arm, qd)
    Md = derivative(lambda t: arm.mass_matrix(q + t * qd), speed)
    N = Md - 2 * C
    return scaled(N + N.T, M * speed, C)


def coriolis_torque(arm: Any, q: Array, qd: Array) -> float:
    """C qd = tau(q, qd, 0) - g."""
    rest = np.zeros_like(q)
    bias, g = arm.inverse_dynamics(q, qd, rest), arm.gravity_torque(q)
    return scaled(arm.coriolis_matrix(q, qd) @ qd - (bias - g), bias, g)


def coriolis_quadratic(arm: Any, q: Array, qd: Array) -> float:
    """C(q, 2 qd) = 2 C(q, qd): the torque C qd is quadratic in the velocity."""
    C = arm.coriolis_matrix(q, qd)
    return scaled(arm.coriolis_matrix(q, 2 * qd) - 2 * C, C)


def christoffel_symbols(arm: Any, q: Array) -> Array:
    """Return Gamma_ijk (n, n, n) as the C of `arm` has them: c_ij = sum_k Gamma_ijk qd_k."""
    return np.stack([arm.coriolis_matrix(q, e) for e in np.eye(len(q))], axis=2)


def christoffel_symmetry(arm: Any, q: Array) -> float:
    """Gamma_ijk = Gamma_ikj: only the Christoffel C has it, of the many C with the same C qd."""
    Gamma = christoffel_symbols(arm, q)
    return scaled(Gamma - Gamma.swapaxes(1, 2), Gamma, arm.mass_matrix(q))


def no_centrifugal_self_torque(arm: Any, q: Array) -> float:
    """Gamma_iii = 0: no joint feels the centrifugal force of its own motion; 002, h_iii = 0.

    Raises:
        ModelError: the robot's coordinates move several joints at once, where this is no law.
    """
    model = arm.model
    if model.n != model.nb or np.count_nonzero(model.S) != model.n:
        raise ModelError(
            f'robot {model.name!r} moves its {model.nb} joints by {model.n} coupled coordinates; '
            'h_iii = 0 is a law only where each coordinate is one joint'
        )
    Gamma = christoffel_symbols(arm, q)
    return scaled(np.einsum('iii->i', Gamma), Gamma, arm.mass_matrix(q))


# -- the equation of motion ---------------------------------------------------------------------


def equation_of_motion(arm: Any, q: Array, qd: Array, qdd: Array) -> float:
    """M qdd + C qd + g = tau."""
    inertia = arm.mass_matrix(q) @ qdd
    coriolis, g = arm.coriolis_matrix(q, qd) @ qd, arm.gravity_torque(q)
    tau = arm.inverse_dynamics(q, qd, qdd)
    return scaled(tau - (inertia + coriolis + g), tau, inertia, coriolis, g)


def terms_agree(arm: Any, q: Array, qd: Array) -> float:
    """M, C and g of one pass are those of three."""
    M, C, g = arm.terms(q, qd)
    residuals = (
        scaled(M - arm.mass_matrix(q), M),
        scaled(C - arm.coriolis_matrix(q, qd), C, M),
        scaled(g - arm.gravity_torque(q), g, M),
    )
    # Of which NaN is the largest.
    return float(np.max(residuals))


def forward_inverts_inverse(arm: Any, q: Array, qd: Array, qdd: Array) -> float:
    """FD(q, qd, ID(q, qd, qdd)) = qdd, as accurately as the inversion of M can be."""
    tau, bias = arm.inverse_dynamics(q, qd, qdd), arm.inverse_dynamics(q, qd, np.zeros_like(q))
    # Rounding of the torques comes back as an acceleration, at most |tau| / smallest eigenvalue.
    smallest = float(np.linalg.eigvalsh(arm.mass_matrix(q))[0])
    amplified = (np.abs(tau).max() + np.abs(bias).max()) / smallest
    return scaled(arm.forward_dynamics(q, qd, tau) - qdd, qdd, amplified)


def parameter_linearity(arm: Any, q: Array, qd: Array, qdd: Array) -> float:
    """Y(q, qd, qdd) pi = tau, with the rotors' part of tau, which pi does not hold, added."""
    Y, pi = arm.regressor(q, qd, qdd), arm.model.inertial_parameters()
    tau = arm.inverse_dynamics(q, qd, qdd)
    return scaled(Y @ pi + arm.model.reflected_inertia * qdd - tau, tau, np.abs(Y) @ np.abs(pi))


# -- energy -------------------------------------------------------------------------------------


def kinetic_energy_of_mass_matrix(arm: Any, q: Array, qd: Array) -> float:
    """K = qd^T M qd / 2."""
    K = arm.kinetic_energy(q, qd)
    return scaled(K - qd @ arm.mass_matrix(q) @ qd / 2, K)


def gravity_is_a_gradient(arm: Any, q: Array) -> float:
    """Gravity torque is the slope of the potential energy: g = dU/dq."""
    g = arm.gravity_torque(q)

    def slope(e: Array) -> Any:
        return derivative(lambda t: arm.potential_energy(q + t * e), _speed(arm, e))

    return scaled(g - np.array([slope(e) for e in np.eye(len(q))]), g, _potential_size(arm, q))


def power_balance(arm: Any, q: Array, qd: Array, qdd: Array) -> float:
    """dE/dt = qd^T tau, without friction: the motors' power is the energy gained."""
    tau = arm.inverse_dynamics(q, qd, qdd)
    return scaled(_energy_rate(arm, q, qd, qdd) - qd @ tau, *_power_sizes(arm, q, qd, qdd, tau))


def power_balance_with_losses(
    arm: Any, q: Array, qd: Array, tau: Array, wrench: Array, frame: str
) -> float:
    """dE/dt = qd^T tau - qd^T friction + F^T V: what motors and environment give, less the heat.

    The arm is accelerated by `tau` and by the wrench F of the environment on a frame whose twist V
    comes from its pose.
    """
    friction = arm.friction_torque(qd)
    push = arm.wrench_torque(q, wrench, frame)
    qdd = arm.forward_dynamics(q, qd, tau + push - friction)
    V = twist(arm, q, qd, frame)
    power = qd @ tau - qd @ friction + wrench @ V
    sizes = _power_sizes(arm, q, qd, qdd, arm.inverse_dynamics(q, qd, qdd))
    return scaled(_energy_rate(arm, q, qd, qdd) - power, *sizes, np.abs(wrench) @ np.abs(V))


# -- kinematics ---------------------------------------------------------------------------------


def twist(arm: Any, q: Array, qd: Array, frame: str) -> Array:
    """Return V (6,) of a frame from the change of its pose, angular part first, base axes."""
    T = arm.forward_kinematics(q, frame)
    Td = derivative(lambda t: arm.forward_kinematics(q + t * qd, frame), _speed(arm, qd))
    # [w] = dR/dt R^T
    return np.concatenate([unskew(Td[:3, :3] @ T[:3, :3].T), Td[:3, 3]])


def jacobian_is_a_derivative(arm: Any, q: Array, frame: str) -> float:
    """J e_k = dT/dq_k, as a twist."""
    J = arm.jacobian(q, frame)
    columns = [twist(arm, q, e, frame) for e in np.eye(len(q))]
    return scaled(J - np.stack(columns, axis=1), J, 1.0)


def jacobian_dot_is_a_derivative(arm: Any, q: Array, qd: Array, frame: str) -> float:
    """dJ/dt along qd."""
    J, Jd, speed = arm.jacobian(q, frame), arm.jacobian_dot(q, qd, frame), _speed(arm, qd)
    difference = derivative(lambda t: arm.jacobian(q + t * qd, frame), speed)
    return scaled(Jd - difference, Jd, J * speed)


# -- all at once --------------------------------------------------------------------------------

LAWS_OF_POSITION = (
    mass_matrix_symmetry,
    positive_definiteness,
    mass_matrix_columns,
    uncoupled_branches,
    christoffel_symmetry,
    gravity_is_a_gradient,
)
LAWS_OF_STATE = (
    skew_symmetry,
    coriolis_torque,
    coriolis_quadratic,
    terms_agree,
    kinetic_energy_of_mass_matrix,
)
LAWS_OF_MOTION = (
    equation_of_motion,
    forward_inverts_inverse,
    parameter_linearity,
    power_balance,
)


def residuals(arm: Any, q: Array, qd: Array, qdd: Array) -> dict[str, float]:
    """Return the residual of every law above that holds for any robot, by name, in one state.

    Args:
        arm: a Dynamics: all its verbs are used.
        q: (n,) positions, rad or m.
        qd: (n,) velocities.
        qdd: (n,) accelerations.
    """
    frame = arm.model.frame_names[-1]
    return {
        **{law.__name__: law(arm, q) for law in LAWS_OF_POSITION},
        **{law.__name__: law(arm, q, qd) for law in LAWS_OF_STATE},
        **{law.__name__: law(arm, q, qd, qdd) for law in LAWS_OF_MOTION},
        jacobian_is_a_derivative.__name__: jacobian_is_a_derivative(arm, q, frame),
        jacobian_dot_is_a_derivative.__name__: jacobian_dot_is_a_derivative(arm, q, qd, frame),
    }


# -- tools --------------------------------------------------------------------------------------


def _speed(arm: Any, qd: Array) -> float:
    return float(np.abs(arm.model.S @ qd).sum())


def _energy_rate(arm: Any, q: Array, qd: Array, qdd: Array) -> float:
    def energy(t: float) -> Any:
        # q(t) and qd(t) of the motion with constant qdd
        position, velocity = q + t * qd + t**2 / 2 * qdd, qd + t * qdd
        return arm.kinetic_energy(position, velocity) + arm.potential_energy(position)

    return float(derivative(energy, _speed(arm, qd) + _speed(arm, qdd)))


def _power_sizes(arm: Any, q: Array, qd: Array, qdd: Array, tau: Array) -> tuple[Any, ...]:
    energies = np.array([arm.kinetic_energy(q, qd), _potential_size(arm, q)])
    # The rounding of an energy, over the step of the difference, is a power too.
    return np.abs(qd) @ np.abs(tau), energies * (_speed(arm, qd) + _speed(arm, qdd))


def _potential_size(arm: Any, q: Array) -> float:
    """Return the size of what is added up to U = -sum m g^T p, which may cancel to nothing."""
    model, poses = arm.model, kinematics.body_poses(arm.model, q)
    reach = np.linalg.norm(poses[:, :3, 3], axis=1) + np.linalg.norm(model.com, axis=1)
    return float(model.mass @ reach * np.linalg.norm(model.gravity))
