"""What drives and bearings do to a torque: effort limits, and friction that never adds energy.

Friction is `Dynamics.friction_torque`, b qd + c tanh(qd / v0). Near standstill it is stiff: its
slope c / v0 can brake a light wrist a thousand times faster than one step of the simulator.
An explicit step would then push the joint past standstill and back, for ever. So friction is
written with its secant slope, f = s(qd) qd, and wherever one step could reverse the joint, it is
taken at the end of the step instead of at its start.

Source: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), section IV.3.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array

STANDSTILL = 1e-9  # rad/s or m/s, far below the speeds at which friction laws bend
MAX_ITERATIONS = 20
CONVERGED = 1e-10  # relative change of the velocities


def clamp_effort(model: RobotModel, tau: Array) -> Array:
    """Return the torques (n,) the drives can supply, within +-effort_limit."""
    return np.clip(tau, -model.effort_limit, model.effort_limit)


def friction_slope(arm: Dynamics, qd: Array) -> Array:
    """Return s (n,) with friction(qd) = s qd, N m s/rad or N s/m; largest at standstill."""
    speed = np.maximum(np.abs(qd), STANDSTILL)
    return np.asarray(arm.friction_torque(speed) / speed)


def mobility(arm: Dynamics, postures: Array) -> Array:
    """Return the largest diagonal of M^-1 (n,) over postures (k, n): acceleration per torque."""
    return np.asarray(
        np.diagonal(np.linalg.inv(arm.mass_matrix(postures)), axis1=-2, axis2=-1).max(axis=0)
    )


def implicit_friction(arm: Dynamics, q: Array, qd: Array, tau: Array, h: float) -> Array:
    """Return the friction torque (n,) that belongs to the velocities at the end of the step.

    Args:
        arm: the robot.
        q: (n,) positions at the start of the step.
        qd: (n,) velocities there.
        tau: (n,) all other torques, constant over the step.
        h: the step, s.
    """
    M = arm.mass_matrix(q)
    momentum = M @ qd + h * (tau - arm.bias_torque(q, qd))
    v = qd
    for _ in range(MAX_ITERATIONS):
        # (M + h s(v)) v' = M qd + h (tau - C qd - g)
        s = friction_slope(arm, v)
        previous, v = v, np.linalg.solve(M + h * np.diag(s), momentum)
        if np.abs(v - previous).max() <= CONVERGED * np.abs(v).max():
            break
    return np.asarray(s * v)
