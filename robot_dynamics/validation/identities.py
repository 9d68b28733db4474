# SPDX-License-Identifier: Apache-2.0
"""Laws that the dynamics of every robot obey, each a function that returns its residual.

A law needs no reference values: the inertia matrix is symmetric, the gravity torque is the
gradient of the potential energy, the motors' power is the energy gained per second. Each function
checks one law in one state. The residual is the largest violation relative to the size of the
compared values: about 1e-13 for a correct model, about 1 for a wrong one.

`arm` is anything with the methods of `Dynamics`: a Dynamics, or a formulation held by `Bound`.

Derivatives in time and position are central differences of eighth order (`derivative`), which are
independent of the derivation under test. Poses, inertias and energies are sines and cosines of
joint angles, for which they are accurate to about 1e-13.

Sources: Spong, Hutchinson and Vidyasagar, section 6.5 (skew symmetry, passivity, linearity) and
end of chapter 6 (power); Lynch and Park, draft (9.86)-(9.88), proposition 9.1 and (9.89);
Milićević, Golubović and Slavković, (2.14) and the list below it (h_iii = 0); lecture notes, skew
symmetry. Their symbols agree: Gamma_kij of Lynch and Park, c_ijk of Spong, c_kij of the lecture
notes and h_kij of Milićević are the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import Array, unskew
from robot_dynamics.core import kinematics
from robot_dynamics.core.model.robot_model import RobotModel

# f'(0) = sum_k w_k (f(k h) - f(-k h)) / h, with an error of h^8 f^(9) / 630
DIFFERENCE_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
STEP = 0.02  # rad: balances that error and rounding for the sine of twice an angle


class Bound:
    """A formulation bound to a model, with the methods of a `Dynamics`."""

    def __init__(self, formulation: ModuleType, model: RobotModel):
        self.formulation, self.model = formulation, model

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return partial(getattr(self.formulation, method), self.model)


# -- the inertia matrix -------------------------------------------------------------------------


def mass_matrix_symmetry(arm: Any, q: Array) -> float:
    """M = M^T."""
    M = arm.mass_matrix(q)
    return scaled(M - M.T, M)


def positive_definiteness(arm: Any, q: Array) -> float:
    """x^T M x > 0: 0 if M is positive definite, else at least about 1.

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
    """m_ij = 0 where joints i and j move no common body."""
    M, model = arm.mass_matrix(q), arm.model
    carried = [model.support(b) for b in range(model.nb)]
    # moves[b, j]: coordinate j moves body b
    moves = np.array([np.any(model.S[bodies] != 0, axis=0) for bodies in carried], dtype=float)
    uncoupled = (moves.T @ moves == 0) & ~np.eye(model.n, dtype=bool)
    return scaled(M[uncoupled], M)


# -- Coriolis and centrifugal torque ------------------------------------------------------------


def skew_symmetry(arm: Any, q: Array, qd: Array) -> float:
    """N = dM/dt - 2 C is skew-symmetric; Spong, Hutchinson and Vidyasagar, proposition 6.1."""
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
    """Return Gamma_ijk (n, n, n) from the C of `arm`: c_ij = sum_k Gamma_ijk qd_k."""
    return np.stack([arm.coriolis_matrix(q, e) for e in np.eye(len(q))], axis=2)


def christoffel_symmetry(arm: Any, q: Array) -> float:
    """Gamma_ijk = Gamma_ikj, a property of the Christoffel C alone among those of equal C qd."""
    Gamma = christoffel_symbols(arm, q)
    return scaled(Gamma - Gamma.swapaxes(1, 2), Gamma, arm.mass_matrix(q))


def no_centrifugal_self_torque(arm: Any, q: Array) -> float:
    """Gamma_iii = 0: a joint's own motion exerts no centrifugal torque on it; h_iii = 0.

    Source: Milićević, Golubović and Slavković, list below (2.14).

    Raises:
        ModelError: a coordinate of the robot moves several joints, where the law does not hold.
    """
    model = arm.model
    if model.n != model.nb or np.count_nonzero(model.S) != model.n:
        raise ModelError(
            f'robot {model.name!r} moves its {model.nb} joints by {model.n} coupled coordinates; '
            'h_iii = 0 holds only if each coordinate moves one joint'
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
    """M, C and g of one call equal those of three."""
    M, C, g = arm.terms(q, qd)
    residuals = (
        scaled(M - arm.mass_matrix(q), M),
        scaled(C - arm.coriolis_matrix(q, qd), C, M),
        scaled(g - arm.gravity_torque(q), g, M),
    )
    # NaN counts as the largest.
    return float(np.max(residuals))


def forward_inverts_inverse(arm: Any, q: Array, qd: Array, qdd: Array) -> float:
    """FD(q, qd, ID(q, qd, qdd)) = qdd, as accurately as the inversion of M can be."""
    tau, bias = arm.inverse_dynamics(q, qd, qdd), arm.inverse_dynamics(q, qd, np.zeros_like(q))
    # Rounding of the torques is amplified by M^-1, at most to |tau| / smallest eigenvalue.
    smallest = float(np.linalg.eigvalsh(arm.mass_matrix(q))[0])
    amplified = (np.abs(tau).max() + np.abs(bias).max()) / smallest
    return scaled(arm.forward_dynamics(q, qd, tau) - qdd, qdd, amplified)


def parameter_linearity(arm: Any, q: Array, qd: Array, qdd: Array) -> float:
    """Y(q, qd, qdd) pi + (rotor inertia) qdd = tau; pi does not include the rotors."""
    Y, pi = arm.regressor(q, qd, qdd), arm.model.inertial_parameters()
    tau = arm.inverse_dynamics(q, qd, qdd)
    return scaled(Y @ pi + arm.model.reflected_inertia * qdd - tau, tau, np.abs(Y) @ np.abs(pi))


# -- energy -------------------------------------------------------------------------------------


def kinetic_energy_of_mass_matrix(arm: Any, q: Array, qd: Array) -> float:
    """K = qd^T M qd / 2."""
    K = arm.kinetic_energy(q, qd)
    return scaled(K - qd @ arm.mass_matrix(q) @ qd / 2, K)


def gravity_is_a_gradient(arm: Any, q: Array) -> float:
    """G = dU/dq: the gravity torque is the gradient of the potential energy."""
    g = arm.gravity_torque(q)

    def partial_derivative(e: Array) -> Any:
        return derivative(lambda t: arm.potential_energy(q + t * e), _speed(arm, e))

    gradient = np.array([partial_derivative(e) for e in np.eye(len(q))])
    return scaled(g - gradient, g, _potential_size(arm, q))


def power_balance(arm: Any, q: Array, qd: Array, qdd: Array) -> float:
    """dE/dt = qd^T tau, without friction: the motors' power is the rate of energy."""
    tau = arm.inverse_dynamics(q, qd, qdd)
    return scaled(_energy_rate(arm, q, qd, qdd) - qd @ tau, *_power_sizes(arm, q, qd, qdd, tau))


def power_balance_with_losses(
    arm: Any, q: Array, qd: Array, tau: Array, wrench: Array, frame: str
) -> float:
    """dE/dt = qd^T tau - qd^T friction + F^T V: power of motors and environment, less the heat.

    The arm is accelerated by `tau` and by the wrench F of the environment on a frame, whose twist
    V is the derivative of its pose.
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
    """Return V (6,) of a frame from the derivative of its pose, angular part first, base axes."""
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
    """Return the residuals, in one state and by name, of the laws that hold for any robot.

    Args:
        arm: a Dynamics.
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


# -- differences --------------------------------------------------------------------------------


def scaled(difference: Any, *sizes: Any) -> float:
    """Return the largest entry of a difference, relative to the largest of the compared values."""
    error = float(np.max(np.abs(difference), initial=0.0))
    size = max(float(np.max(np.abs(x), initial=0.0)) for x in sizes)
    return error / max(size, float(np.finfo(float).tiny))


def derivative(f: Callable[[float], Any], speed: float) -> Any:
    """Return f'(0), where the joints of f(t) move by `speed` [rad or m] in total per unit of t."""
    h = STEP / speed if speed > 0 else STEP
    return sum(w * (f(k * h) - f(-k * h)) / h for k, w in enumerate(DIFFERENCE_WEIGHTS, start=1))


def rate_in_motion(
    f: Callable[[Array, Array], Any], q: Array, qd: Array, qdd: Array, speed: float
) -> Any:
    """Return df(q, qd)/dt in the motion with constant qdd; `speed` as for `derivative`."""
    return derivative(lambda t: f(q + t * qd + t**2 / 2 * qdd, qd + t * qdd), speed)


def _speed(arm: Any, qd: Array) -> float:
    return float(np.abs(arm.model.S @ qd).sum())


def _energy_rate(arm: Any, q: Array, qd: Array, qdd: Array) -> float:
    def energy(position: Array, velocity: Array) -> Any:
        return arm.kinetic_energy(position, velocity) + arm.potential_energy(position)

    return float(rate_in_motion(energy, q, qd, qdd, _speed(arm, qd) + _speed(arm, qdd)))


def _power_sizes(arm: Any, q: Array, qd: Array, qdd: Array, tau: Array) -> tuple[Any, ...]:
    energies = np.array([arm.kinetic_energy(q, qd), _potential_size(arm, q)])
    # The rounding of an energy, divided by the step of the difference, is a power.
    return np.abs(qd) @ np.abs(tau), energies * (_speed(arm, qd) + _speed(arm, qdd))


def _potential_size(arm: Any, q: Array) -> float:
    """Return the size of the terms of U = -sum m g^T p, which may cancel."""
    model, poses = arm.model, kinematics.body_poses(arm.model, q)
    reach = np.linalg.norm(poses[:, :3, 3], axis=1) + np.linalg.norm(model.com, axis=1)
    return float(model.mass @ reach * np.linalg.norm(model.gravity))
