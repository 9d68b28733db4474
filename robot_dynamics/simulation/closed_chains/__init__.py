# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with kinematic loops: a tree, cut once per loop, and closures that connect the cuts.

    M(q) qdd + C(q, qd) qd + g(q) = tau + J(q)^T lambda,        phi(q) = 0,    J = dphi/dq

Reading order: `core.model.closures` (kinds of closures), `core.algorithms.closed_chain_terms`
(phi, J and the terms of the tree, compiled), `least_constraint` (accelerations, lambda and drive
torques by Gauss's principle), `assembly` (postures and velocities that satisfy the closures),
`closed_chain` (the public class). `closed_loop_simulator` simulates the mechanism.
"""

from robot_dynamics.simulation.closed_chains.closed_chain import ClosedChain as ClosedChain
from robot_dynamics.simulation.closed_chains.closed_chain import (
    ConstrainedMotion as ConstrainedMotion,
)
from robot_dynamics.simulation.closed_chains.least_constraint import DrivenTerms as DrivenTerms
from robot_dynamics.simulation.closed_chains.least_constraint import DrivingEffort as DrivingEffort
