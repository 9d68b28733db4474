# SPDX-License-Identifier: Apache-2.0
"""Arms with elastic joints: a spring between each motor and its link, two coordinates per joint.

With compliant gears and shafts the link angle q and the motor angle theta, reflected to the link,
are independent, and the spring between them adds to the potential energy:

    K = K_links(q, qd) + 1/2 thetad^T B thetad
    P = P_gravity(q) + 1/2 (q - theta)^T K_s (q - theta).

Lagrange's equations are two sets, coupled by the springs:

    M(q) qdd + C(q, qd) qd + g(q) + K_s (q - theta) = J^T F     the links
    B thetadd + K_s (theta - q) = u                             the motors.

B holds the rotor inertias r^2 J_m, which a rigid model adds to M. The rotation of a rotor with the
link that carries it is neglected, as in the source. M, C and g come from the inverse dynamics of
any formulation, which is an argument.

Source: Spong, Hutchinson and Vidyasagar, example 6.2, one joint (its two angles are interchanged
there, a misprint); for arms Spong, "Modeling and control of elastic joint robots", J. Dynamic
Systems 109(4), 1987.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import SingularityError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.joint_values import at_least_zero
from robot_dynamics.core.model.robot_model import RobotModel, check_vector

# tau = inverse_dynamics(model, q, qd, qdd), and qdd = forward_dynamics(model, q, qd, tau)
Verb = Callable[[RobotModel, Array, Array, Array], Array]


class ElasticTorques(NamedTuple):
    """Generalized forces of the two sets of coordinates, N m or N."""

    link: Array  # (n,) external torque at the joints: zero in free motion
    motor: Array  # (n,) u, the motors' torques reflected to the links


class ElasticAccelerations(NamedTuple):
    """Accelerations of the two sets of coordinates, rad/s^2 or m/s^2."""

    link: Array  # (n,) qdd
    motor: Array  # (n,) thetadd


def inverse_dynamics(
    model: RobotModel,
    stiffness: ArrayLike,
    q: Array,
    qd: Array,
    qdd: Array,
    theta: Array,
    thetadd: Array,
    *,
    inverse_dynamics: Verb,
) -> ElasticTorques:
    """Return the generalized forces of a motion of links and motors.

    Args:
        model: the arm; its reflected inertias are those of the motors.
        stiffness: K_s, N m/rad or N/m: one number or (n,).
        q: (n,) joint positions of the links, rad or m.
        qd: (n,) their velocities.
        qdd: (n,) their accelerations.
        theta: (n,) positions of the motors, reflected to the links.
        thetadd: (n,) their accelerations.
        inverse_dynamics: that of any formulation.

    Raises:
        ShapeError: an argument is not (n,), or the stiffness neither a number nor (n,).
        ModelError: a stiffness is negative or not finite.
    """
    check_vector(model, theta=theta, thetadd=thetadd)
    spring = spring_torque(model, stiffness, q, theta)
    # M qdd + C qd + g + K_s (q - theta)
    link = inverse_dynamics(without_rotors(model), q, qd, qdd) - spring
    # u = B thetadd + K_s (theta - q)
    return ElasticTorques(link, model.reflected_inertia * thetadd + spring)


def accelerations(
    model: RobotModel,
    stiffness: ArrayLike,
    q: Array,
    qd: Array,
    theta: Array,
    u: Array,
    *,
    forward_dynamics: Verb,
) -> ElasticAccelerations:
    """Return qdd and thetadd in free motion under the motors' torques u (n,).

    Args are those of `inverse_dynamics`; `forward_dynamics(model, q, qd, tau)` is the rigid arm's.

    Raises:
        ShapeError: an argument is not (n,), or the stiffness neither a number nor (n,).
        ModelError: a stiffness is negative or not finite.
        SingularityError: a motor has no inertia.
    """
    check_vector(model, u=u)
    B = model.reflected_inertia
    if not np.all(B > 0):
        joint = model.joint_names[int(np.argmin(B))]
        raise SingularityError(
            f'the motor of joint {joint!r} has inertia 0; expected a positive inertia, '
            'see RobotModel.with_actuation'
        )
    spring = spring_torque(model, stiffness, q, theta)
    # The springs drive the links; u less the spring torque accelerates the motors.
    return ElasticAccelerations(
        forward_dynamics(without_rotors(model), q, qd, spring), (u - spring) / B
    )


def spring_torque(model: RobotModel, stiffness: ArrayLike, q: Array, theta: Array) -> Array:
    """Return K_s (theta - q) (n,), the torques of the springs on the links."""
    check_vector(model, q=q, theta=theta)
    return np.asarray(_checked(model, stiffness) * (np.asarray(theta) - q))


def spring_energy(model: RobotModel, stiffness: ArrayLike, q: Array, theta: Array) -> Array:
    """Return 1/2 (q - theta)^T K_s (q - theta) [J], a scalar."""
    return np.asarray(spring_torque(model, stiffness, q, theta) @ (np.asarray(theta) - q) / 2)


def without_rotors(model: RobotModel) -> RobotModel:
    """Return the same arm without the inertia of its motors."""
    return replace(model, reflected_inertia=np.zeros(model.n))


def _checked(model: RobotModel, stiffness: ArrayLike) -> Array:
    return at_least_zero('stiffness', stiffness, model.joint_names)
