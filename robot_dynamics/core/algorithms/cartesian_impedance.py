# SPDX-License-Identifier: Apache-2.0
"""Cartesian impedance of a frame: the torque of a spring and a damper between it and a target.

In the axes of the target, angular part first, with the error e = (log(R^T R_d), R_d^T (x_d - x)),
the twists V of the frame and V_d of the target, and the diagonal K:

    tau = J^T (A^T K e + D (V_d - V) + L dV_d/dt + F) + g + N t0 + friction(qd_d)
    D = 2 zeta K^1/2 U diag(1 / sqrt(w^2 + w_min^2)) U^T K^1/2
    L = K^1/2 U diag(1 / (w^2 + w_min^2)) U^T K^1/2
    K^1/2 J M^-1 J^T K^1/2 = U diag(w^2) U^T

w are the natural frequencies, rad/s. This is the double diagonalization of K and of the inertia at
the frame, without that inertia, which is infinite in singular directions: there w = 0 and the
damping is bounded by w_min. L is the inertia at the frame, bounded likewise: a target that
accelerates does not stretch the spring. A^T makes the moment that of a potential
(`rotation_vector`).

t0 = K_n (q_n - q) - d_n M qd acts in the null space, whose projector is damped as well:

    N = 1 - J^T K^1/2 U diag(1 / (w^2 + w_n^2)) U^T K^1/2 J M^-1

d_n M takes kinetic energy from the null space alone: qd^T N M qd >= 0. K_n (q_n - q), projected,
is no potential: the law is passive with K_n = 0 alone.

Friction is that of the desired velocity of the joints, with its direction z of sliding as state:

    qd_d = qd_p + M^-1 J^T K^1/2 U diag(1 / (w^2 + w_n^2)) U^T K^1/2 (V_d - J qd_p)

moves the frame as the target, and the null space as the posture, whose velocity is qd_p. Friction
of the measured velocity would be negative damping: near standstill it grows with the velocity.

C qd is not compensated: for a target at rest the energy 1/2 qd^T M qd + 1/2 e^T K e then has the
rate -V^T D V - d_n qd^T N M qd + qd^T tau_ext. With C qd in the torque 1/2 qd^T (dM/dt) qd would
remain, which has either sign. A direction without stiffness has no damping, and belongs to the
null space.

Sources: Albu-Schäffer, Ott, Frese and Hirzinger, "Cartesian impedance control of redundant
robots: recent results with the DLR-light-weight-arms", ICRA 2003 (double diagonalization);
Khatib 1987 (dynamically consistent null space); Ott, Cartesian Impedance Control of Redundant and
Flexible-Joint Robots (2008); Dietrich, Ott and Stramigioli, "Passivation of projection-based null
space compliance control via energy tanks", IEEE Robotics and Automation Letters 1(1), 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from robot_dynamics.common.scalars import Scalar
from robot_dynamics.core.algorithms.crba import crba
from robot_dynamics.core.algorithms.forward_dynamics import (
    factorize,
    fill_in,
    solve,
    solve_transposed,
)
from robot_dynamics.core.algorithms.gravity import gravity_torque
from robot_dynamics.core.algorithms.jacobian import forward_kinematics, jacobian
from robot_dynamics.core.algorithms.rotation_vector import spring_moment
from robot_dynamics.core.algorithms.symmetric_eigen import (
    functions_of,
    inverse,
    inverse_root,
    symmetric_eigen,
)
from robot_dynamics.core.algorithms.vectors import (
    Vector,
    inner,
    mat_mul,
    mat_vec,
    transposed,
)
from robot_dynamics.core.friction.coulomb import sliding_direction
from robot_dynamics.core.friction.laws import TERMS, law_torque, moved_direction
from robot_dynamics.core.model.canonical import CanonicalTree

DAMPED_FREQUENCY = 1.0  # w_min, rad/s: 31 N s/m at most at a stretched elbow with 600 N/m
SWEEPS = 5  # errors of 1e-8 of the largest damping, at a stretched elbow
NULL_FREQUENCY = 0.5  # w_n, rad/s: of t0, 0.1 % reaches a direction of 15 rad/s


class ImpedanceInputs(NamedTuple):
    """Inputs of the law besides friction: state, target, springs and dampers; scalars."""

    q: Vector  # (n) positions, rad or m
    qd: Vector  # (n) velocities
    target: Vector  # (16) entries of the pose T_wd by rows, in the base frame
    velocity: Vector  # (6) V_d of the target, world-aligned at its origin, angular part first
    acceleration: Vector  # (6) dV_d/dt, likewise
    wrench: Vector  # (6) F on the environment, world-aligned at the frame's origin
    posture: Vector  # (n) q_n, rad or m
    posture_velocity: Vector  # (n) qd_p
    stiffness: Vector  # (6) diagonal of K in the axes of the target, N m/rad and N/m
    posture_stiffness: Vector  # (n) diagonal of K_n, N m/rad or N/m
    damping: Vector  # (2) zeta; d_n, 1/s

    @staticmethod
    def sizes(n: int) -> dict[str, int]:
        """Return the size of each input for n joints, by name."""
        sizes = {'target': 16, 'velocity': 6, 'acceleration': 6, 'wrench': 6}
        sizes |= {'stiffness': 6, 'damping': 2}
        return {name: sizes.get(name, n) for name in ImpedanceInputs._fields}


class Sliding(NamedTuple):
    """Friction of the joints, and what it keeps from the state before: (n) each, and scalars."""

    coefficients: Sequence[Vector]  # of each of `friction.laws.TERMS`, 0 of terms not in the law
    presliding: Vector  # delta, rad or m
    memory: Scalar  # 1 of a law with memory, else 0
    z: Vector  # direction of sliding at the state before
    time_step: Scalar  # s, since then


class ImpedanceTorque(NamedTuple):
    """Torque of a Cartesian impedance: lists of scalars, or arrays with leading axes."""

    impedance: Any  # (n) N m or N, without gravity
    gravity: Any  # (n) g(q)
    friction: Any  # (n) of qd_d
    error: Any  # (6) e in the axes of the target, rad and m
    z: Any  # (n) direction of sliding, with memory


def cartesian_impedance(
    tree: CanonicalTree, frame: str, given: ImpedanceInputs, sliding: Sliding
) -> ImpedanceTorque:
    """Return the torque of the springs and dampers at a frame, gravity, and friction.

    Args:
        tree: the robot.
        frame: a name of `model.frame_names`.
        given: state, target, stiffness, damping, and the posture.
        sliding: friction of the joints.

    Raises:
        FrameNotFound: the robot has no frame of that name.
    """
    q, qd = given.q, given.qd
    damping_ratio, posture_damping = given.damping
    pose, J = forward_kinematics(tree, q, frame), jacobian(tree, q, frame)
    target = [given.target[k : k + 4] for k in range(0, 16, 4)]
    to_target = transposed(target)  # R_d^T (3, 3)

    def in_target(six: Sequence[Any]) -> list[Scalar]:
        """Return a six-vector of the base's axes in those of the target."""
        return [*mat_vec(to_target, six[:3]), *mat_vec(to_target, six[3:])]

    J = [list(row) for row in zip(*map(in_target, zip(*J, strict=True)), strict=True)]
    # log(R^T R_d),  R_d^T (x_d - x)
    angle, moment = spring_moment(mat_mul(transposed(pose), target), given.stiffness[:3])
    offset = mat_vec(to_target, [target[i][3] - pose[i][3] for i in range(3)])
    force = [k * x for k, x in zip(given.stiffness[3:], offset, strict=True)]

    roots = [k**0.5 for k in given.stiffness]
    W = [[root * x for x in row] for root, row in zip(roots, J, strict=True)]
    M = crba(tree, q)
    factors = factorize(M, fill_in(tree))
    # With M = L^T D L:  K^1/2 J M^-1 J^T K^1/2 = Y^T D^-1 Y,  Y = L^-T W^T
    Y = [solve_transposed(factors, row) for row in W]
    weighed = [[d * y for d, y in zip(factors.D_inverse, row, strict=True)] for row in Y]
    B = [[inner(a, b) for b in Y] for a in weighed]
    modes = symmetric_eigen(B, SWEEPS)

    # t0 = K_n (q_n - q) - d_n M qd
    spring = [
        k * (to - at) for k, to, at in zip(given.posture_stiffness, given.posture, q, strict=True)
    ]
    free = [t - posture_damping * inner(row, qd) for t, row in zip(spring, M, strict=True)]
    # 2 zeta K^1/2 (V_d - V)  and  -K^1/2 J M^-1 t0
    eased = solve_transposed(factors, spring)
    moving = in_target(given.velocity)
    rates, pushes, wanted = [], [], []
    for root, row, w, y, v in zip(roots, J, W, weighed, moving, strict=True):
        rates.append(2.0 * damping_ratio * root * (v - inner(row, qd)))
        wanted.append(root * (v - inner(row, given.posture_velocity)))
        pushes.append(posture_damping * inner(w, qd) - inner(y, eased))
    changes = [root * a for root, a in zip(roots, in_target(given.acceleration), strict=True)]
    # U (diag(1 / sqrt(w^2 + w_min^2)) U^T rates + diag(1 / (w^2 + w_min^2)) U^T changes
    #    + diag(1 / (w^2 + w_n^2)) U^T pushes)
    damped = functions_of(
        B,
        modes,
        inverse_root(modes.values, DAMPED_FREQUENCY**2, rates),
        inverse(modes.values, DAMPED_FREQUENCY**2, changes),
        inverse(modes.values, NULL_FREQUENCY**2, pushes),
    )
    total = [
        elastic + pushed + root * x
        for elastic, pushed, root, x in zip(
            [*moment, *force], in_target(given.wrench), roots, damped, strict=True
        )
    ]
    impedance = [
        inner(column, total) + t for column, t in zip(zip(*J, strict=True), free, strict=True)
    ]
    gravity = gravity_torque(tree, q)
    # M^-1 J^T K^1/2 U diag(1 / (w^2 + w_n^2)) U^T wanted
    spread = functions_of(B, modes, inverse(modes.values, NULL_FREQUENCY**2, wanted))
    along = solve(factors, [inner(column, spread) for column in zip(*W, strict=True)])
    desired_rate = [own + more for own, more in zip(given.posture_velocity, along, strict=True)]
    drives = [a + b for a, b in zip(impedance, gravity, strict=True)]
    friction, z = _fed_forward(sliding, desired_rate, drives)
    return ImpedanceTorque(impedance, gravity, friction, [*angle, *offset], z)


def _fed_forward(
    sliding: Sliding, moving: Vector, drives: Vector
) -> tuple[list[Scalar], list[Scalar]]:
    """Return friction and z (n) at desired velocities, under the torques of the drives."""
    torque, directions = [], []
    columns = zip(*sliding.coefficients, strict=True)
    for own, delta, before, v, tau in zip(
        columns, sliding.presliding, sliding.z, moving, drives, strict=True
    ):
        kept = moved_direction(before, v * sliding.time_step, delta)
        plain = sliding_direction(v)
        z = plain + sliding.memory * (kept - plain)
        torque.append(law_torque(dict(zip(TERMS, own, strict=True)), v, tau, z))
        directions.append(kept)
    return torque, directions
