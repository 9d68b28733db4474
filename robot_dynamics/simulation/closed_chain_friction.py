"""Friction so stiff that it would make the joints of a linkage chatter, taken after the step.

Written with its secant slope, friction is s(qd) qd. Where it brakes a joint within a step, it is
that of the velocities v which the step ends with, and which fit the closures:

    (M + h s(v)) v = M qd + h (tau - C qd - g) + J^T lambda,    J v = 0.

Source: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), section IV.3.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.closed_chains import ClosedChain
from robot_dynamics.closed_chains.least_constraint import grip, least_change
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.spatial import Array

STANDSTILL = 1e-9  # rad/s or m/s: the slope of friction at rest is taken here
ITERATIONS = 20
CONVERGED = 1e-10  # relative change of the velocities


def stiff_friction(chain: ClosedChain, q: Array, qd: Array, tau: Array, h: float) -> Array | None:
    """Return the friction torque (n,) of the velocities after a step, None if it is not stiff.

    Args:
        chain: the mechanism.
        q: (n,) closed posture at the start of the step.
        qd: (n,) velocities there.
        tau: (n,) all other torques, constant over the step.
        h: the step, s.
    """
    model = chain.arm.model
    if not (model.viscous.any() or model.coulomb.any()):
        return None
    here, slope = chain.terms(q, qd), friction_slope(chain.arm, qd)
    # h s / m >= 1, with 1/m = (M^-1)_jj of the open tree: in a loop a joint moves less freely
    if (h * slope * np.diag(np.linalg.inv(here.M)) < 1).all():
        return None
    momentum = here.M @ qd + h * (tau - here.b)
    v = qd
    for _ in range(ITERATIONS):
        s = friction_slope(chain.arm, v)
        braked = here.M + h * np.diag(s)
        free = np.linalg.solve(braked, momentum)
        hold = grip(braked, here.J, chain.independent)
        previous, v = v, free - least_change(hold, here.J @ free)
        if np.abs(v - previous).max() <= CONVERGED * np.abs(v).max():
            break
    return np.asarray(s * v)


def friction_slope(arm: Dynamics, qd: Array) -> Array:
    """Return s (n,) with friction(qd) = s qd, N m s/rad or N s/m; largest at standstill."""
    speed = np.maximum(np.abs(qd), STANDSTILL)
    return np.asarray(arm.friction_torque(speed) / speed)
