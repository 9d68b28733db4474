"""Forward dynamics: the accelerations that torques cause, from the equation of motion itself.

M(q) qdd = tau - C(q, qd) qd - g(q), with M by the composite rigid body algorithm, the bias by
recursive Newton-Euler, and the sparse L^T L factorization. Up to ten joints in a row this takes
fewer operations than the articulated body algorithm of `aba.py`, to which deeper trees are left
if their coordinates are their joints.

Source: 001, section 9.5; Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 6.
"""

from __future__ import annotations

from robot_dynamics.algorithms.aba import aba, dependent_joints
from robot_dynamics.algorithms.base_frame import is_deep
from robot_dynamics.algorithms.crba import crba
from robot_dynamics.algorithms.ltl import factorize, solve
from robot_dynamics.algorithms.rnea import bias_torque
from robot_dynamics.algorithms.vectors import Scalar, Vector
from robot_dynamics.model.canonical import CanonicalTree


def forward_dynamics(tree: CanonicalTree, q: Vector, qd: Vector, tau: Vector) -> list[Scalar]:
    """Return the accelerations qdd (n) under the torques tau (n). Others as for `rnea`."""
    if is_deep(tree) and not dependent_joints(tree):
        return aba(tree, q, qd, tau)
    bias = bias_torque(tree, q, qd)
    # qdd = M^-1 (tau - C qd - g)
    return solve(factorize(tree, crba(tree, q)), [t - b for t, b in zip(tau, bias, strict=True)])
