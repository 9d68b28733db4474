"""Which torques of the driven joints produce a motion, and the equation in these joints alone.

Let the columns of T (n, d) span the motions that the closures allow, J T = 0. Along them the
closures do no work, so that with the driven joints' columns B of the unit matrix

    T^T (M qdd + b) = T^T B tau_d.

With as many drives as the mechanism has mobility d, tau_d is unique; with more, the smallest is
taken. What is then left over, the closures bear: M qdd + b - B tau_d = J^T lambda.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), sections 8.6 and 8.12.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.algorithms.closed_chain_terms import LoopTerms
from robot_dynamics.closed_chains.least_constraint import (
    INDEPENDENT,
    Grip,
    balancing,
    free_motions,
    least_change,
)
from robot_dynamics.errors import SingularityError
from robot_dynamics.spatial import Array


class DrivingEffort(NamedTuple):
    """What a motion takes."""

    tau: Array  # (..., n), zero in the joints that are not driven
    multipliers: Array  # (..., m)


class DrivenTerms(NamedTuple):
    """The equation of motion in the d driven joints alone: M qdd_d + b = tau_d."""

    M: Array  # (..., d, d)
    b: Array  # (..., d) Coriolis, centrifugal and gravity torque


def driving_effort(hold: Grip, force: Array, driven: list[int]) -> DrivingEffort:
    """Return what the driven joints and the closures do of a force M qdd + b (..., n).

    Raises:
        SingularityError: the driven joints cannot move the mechanism in all its ways.
    """
    T = free_motions(hold)
    require_control(T, driven)
    work = np.swapaxes(T, -1, -2) @ force[..., None]
    tau = np.zeros(force.shape)
    # T^T B tau_d = T^T force
    tau[..., driven] = (np.linalg.pinv(np.swapaxes(T[..., driven, :], -1, -2)) @ work)[..., 0]
    return DrivingEffort(tau, balancing(hold, force - tau))


def driven_terms(here: LoopTerms, hold: Grip, driven: list[int]) -> DrivenTerms:
    """Return the equation of motion in the driven joints, as many as there is mobility.

    Raises:
        SingularityError: the driven joints do not determine the motion of the others.
    """
    T = free_motions(hold)
    require_control(T, driven)
    # qd = R qd_d,   R = T (B^T T)^-1
    R = T @ np.linalg.inv(T[..., driven, :])
    R_t = np.swapaxes(R, -1, -2)
    # qdd = R qdd_d + rest, where rest fits the closures with the driven joints at rest
    rest = least_change(hold, -here.c)
    rest = rest - (R @ rest[..., driven, None])[..., 0]
    b = here.b + (here.M @ rest[..., None])[..., 0]
    return DrivenTerms(R_t @ here.M @ R, (R_t @ b[..., None])[..., 0])


def require_control(T: Array, driven: list[int]) -> None:
    """Raise SingularityError unless driven joints move in each of the motions T (..., n, d)."""
    d = T.shape[-1]
    # Units of T's rows are those of the joints; compared with all of the motion.
    s = np.linalg.svd(T[..., driven, :], compute_uv=False)
    size = np.linalg.norm(T, axis=(-2, -1))
    if len(driven) < d or (d > 0 and np.any(s[..., d - 1] <= INDEPENDENT * size)):
        raise SingularityError(
            f'{len(driven)} driven joints do not determine the motion of a mechanism of mobility '
            f'{d} in this posture: drive others, or more of them'
        )
