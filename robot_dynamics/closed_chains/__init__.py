"""Mechanisms with loops: a tree, cut open once per loop, and closures that hold the cuts together.

    M(q) qdd + C(q, qd) qd + g(q) = tau + J(q)^T lambda,        phi(q) = 0,    J = dphi/dq

Reading order: `model.closures` (what closes a loop), `algorithms.loop_terms` (phi, J and the
tree's terms, compiled), `least_constraint` (accelerations and lambda by Gauss's principle),
`assembly` (postures and velocities that fit), `driving` (torques of the motors), `closed_chain`
(the front door). `simulation.loops` sets it in motion.
"""

from robot_dynamics.closed_chains.closed_chain import ClosedChain as ClosedChain
from robot_dynamics.closed_chains.closed_chain import ConstrainedMotion as ConstrainedMotion
from robot_dynamics.closed_chains.driving import DrivenTerms as DrivenTerms
from robot_dynamics.closed_chains.driving import DrivingEffort as DrivingEffort
