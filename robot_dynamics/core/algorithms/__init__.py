# SPDX-License-Identifier: Apache-2.0
"""Dynamics algorithms over plain scalars, each written once.

Every function takes a `CanonicalTree`, joint quantities as sequences of n scalars, and returns
(nested) lists of scalars. A scalar is a float, a complex number, a NumPy array used elementwise,
or a recording scalar of the code generator: the same lines compute, differentiate, process a batch
or become straight-line code. Entries that are zero in every state may be the plain float 0.0. The
reflected inertia of rotors is included throughout; friction, whose formulas are in
`robot_dynamics.core.friction`, only where the table mentions it.

| file                    | result                                          | operations grow as |
|-------------------------|-------------------------------------------------|--------------------|
| `rnea.py`               | tau (inverse dynamics); C qd + g; base wrench   | n                  |
| `gravity.py`            | g                                               | n                  |
| `crba.py`               | M                                               | n depth            |
| `coriolis.py`           | C (Christoffel), with M; M, C and g             | n depth            |
| `derivatives.py`        | dtau/dq, dtau/dqd, M; dg/dq                     | n depth            |
| `forward_dynamics.py`   | qdd, by M and its L^T D L factors               | n depth^2          |
| `forward_dynamics_derivatives.py` | dqdd/dq, dqdd/dqd, M^-1               | n^2 depth          |
| `aba.py`                | qdd, by articulated bodies                      | n                  |
| `regressor.py`          | Y with Y pi = tau, or the base wrench           | n depth            |
| `energy.py`             | kinetic and potential energy                    | n                  |
| `momentum.py`           | p = M qd, and C^T qd - g                        | n                  |
| `jacobian.py`           | pose, J, Jd and J^T F of a frame                | depth              |
| `operational_space.py`  | Lambda, eta, mu, p of a frame                   | n depth^2          |
| `cartesian_impedance.py` | torque of a spring and a damper at a frame     | n depth^2          |
| `joint_impedance.py`    | torque of springs and dampers at the joints     | 6 sweeps of n^3    |
| `symmetric_eigen.py`    | eigenvalues and vectors of a small matrix       | 6 sweeps of k^3    |
| `rotation_vector.py`    | log R, and the moment of a rotational spring    | 1                  |
| `pose_motion.py`        | a step of a target pose, within limits          | 1                  |
| `momentum_observer.py`  | external torque, from momentum and efforts      | n                  |
| `tool_wrench.py`        | wrench and covariance, from external torques    | depth              |
| `integrators.py`        | a time step of any state                        | 1                  |
| `simulation_step.py`    | a time step of the robot, with friction         | as qdd             |
| `linearization.py`      | A, B of the motion, or of a time step           | n^3                |
| `friction_step.py`      | velocities after a step with dry friction       | n depth^2          |
| `closed_chain_terms.py` | M, C qd + g; phi, J, dJ/dt qd of loop closures  | n depth            |
| `closed_chain_step.py`  | a time step with loop closures                  | n depth, equations |
| `payload.py`            | the tree with a payload given at run time       | 1                  |

Shared parts: `vectors.py` (arithmetic of vectors and matrices), `dual_numbers.py` (derivatives
along a direction, of the laws of impedance), `joint_frame.py` (frames and wrenches),
`link_kinematics.py` (motion of the bodies), `composite_bodies.py` (mass moments of subtrees),
`column_propagation.py` (matrices between joints) and `repeated_bodies.py` (a long tree as a few
kinds of bodies, for loop code generation). The passes through a tree are methods of
`model.canonical_tree.CanonicalTree`.
"""

from robot_dynamics.core.algorithms.aba import aba
from robot_dynamics.core.algorithms.coriolis import (
    Terms,
    coriolis_matrix,
    mass_and_coriolis_matrix,
    terms,
)
from robot_dynamics.core.algorithms.crba import crba
from robot_dynamics.core.algorithms.derivatives import (
    Derivatives,
    gravity_torque_derivative,
    inverse_dynamics_derivatives,
)
from robot_dynamics.core.algorithms.energy import kinetic_energy, potential_energy
from robot_dynamics.core.algorithms.forward_dynamics import forward_dynamics
from robot_dynamics.core.algorithms.forward_dynamics_derivatives import (
    AccelerationDerivatives,
    forward_dynamics_derivatives,
)
from robot_dynamics.core.algorithms.gravity import gravity_torque
from robot_dynamics.core.algorithms.jacobian import (
    forward_kinematics,
    jacobian,
    jacobian_dot,
    wrench_torque,
)
from robot_dynamics.core.algorithms.linearization import (
    Linearization,
    linearization,
    step_linearization,
)
from robot_dynamics.core.algorithms.momentum import Momentum, momentum
from robot_dynamics.core.algorithms.operational_space import OperationalSpace, operational_space
from robot_dynamics.core.algorithms.payload import with_payload
from robot_dynamics.core.algorithms.regressor import base_wrench_regressor, regressor
from robot_dynamics.core.algorithms.rnea import base_wrench, bias_torque, rnea

__all__ = [
    'AccelerationDerivatives',
    'Derivatives',
    'Linearization',
    'Momentum',
    'OperationalSpace',
    'Terms',
    'aba',
    'base_wrench',
    'base_wrench_regressor',
    'bias_torque',
    'coriolis_matrix',
    'crba',
    'forward_dynamics',
    'forward_dynamics_derivatives',
    'forward_kinematics',
    'gravity_torque',
    'gravity_torque_derivative',
    'inverse_dynamics_derivatives',
    'jacobian',
    'jacobian_dot',
    'kinetic_energy',
    'linearization',
    'mass_and_coriolis_matrix',
    'momentum',
    'operational_space',
    'potential_energy',
    'regressor',
    'rnea',
    'step_linearization',
    'terms',
    'with_payload',
    'wrench_torque',
]
