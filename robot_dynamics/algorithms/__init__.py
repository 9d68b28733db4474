"""How dynamics is computed fast: each algorithm once, over plain scalars, one file each.

Every function takes a `CanonicalTree`, joint quantities as sequences of n scalars, and returns
(nested) lists of scalars. A scalar is a float, a complex number, a NumPy array used elementwise,
or a recording scalar of the compiler: the same lines compute, differentiate, batch, or turn into
straight-line code. Entries that are zero whatever q may be the plain float 0.0. Rotors' inertia is
included throughout, friction nowhere.

| file                    | gives                                       | operations grow as |
|-------------------------|---------------------------------------------|--------------------|
| `rnea.py`               | tau (inverse dynamics); C qd + g            | n                  |
| `gravity.py`            | g                                           | n                  |
| `crba.py`               | M                                           | n depth            |
| `coriolis.py`           | C (Christoffel), with M                     | n depth            |
| `terms.py`              | M, C, g                                     | n depth            |
| `forward_dynamics.py`   | qdd, by M and its factors (`ltl.py`)        | n depth^2          |
| `aba.py`                | qdd, by articulated bodies                  | n                  |
| `derivatives.py`        | dtau/dq, dtau/dqd, M                        | n depth            |
| `regressor.py`          | Y with Y pi = tau                           | n depth            |
| `energy.py`             | kinetic and potential energy                | n                  |
| `forward_kinematics.py` | pose of a frame                             | depth              |
| `jacobian.py`           | J, Jd of a frame                            | depth              |
| `operational_space.py`  | Lambda, eta, mu, p of a frame               | n depth^2          |
| `wrench_torque.py`      | J^T F of a frame                            | depth              |
| `friction.py`           | friction(qd), which no other file includes  | n                  |
| `loop_terms.py`         | M, C qd + g; a linkage's phi, J, dJ/dt qd   | n depth            |
| `loop_motion.py`        | a step of a linkage, far from singularities | n depth, equations |
| `payload.py`            | the tree with a load known only at run time | 1                  |
| `integrators.py`        | a step in time, of any state                | 1                  |
| `simulation_step.py`    | a step of the arm, with friction            | as `qdd`           |
| `braking.py`            | velocities that stiff friction leaves       | n depth^2          |

Helpers: `scalars.py` and `vectors.py` (arithmetic), `sweeps.py` (the ways through a tree),
`columns.py` (what each joint moves, walking inwards), `joint_frame.py`, `motion.py`, `wrench.py`,
`composite.py`, `moving.py`, `world.py`, `deep.py` (the way that matrices take where many joints
follow each other), and `rolled.py` (a long tree as a few kinds of bodies, for loops over them).
"""

from robot_dynamics.algorithms.aba import aba
from robot_dynamics.algorithms.coriolis import (
    Terms,
    coriolis_matrix,
    mass_and_coriolis_matrix,
    terms,
)
from robot_dynamics.algorithms.crba import crba
from robot_dynamics.algorithms.derivatives import Derivatives, inverse_dynamics_derivatives
from robot_dynamics.algorithms.energy import kinetic_energy, potential_energy
from robot_dynamics.algorithms.forward_dynamics import forward_dynamics
from robot_dynamics.algorithms.friction import friction_torque
from robot_dynamics.algorithms.gravity import gravity_torque
from robot_dynamics.algorithms.jacobian import (
    forward_kinematics,
    jacobian,
    jacobian_dot,
    wrench_torque,
)
from robot_dynamics.algorithms.operational_space import OperationalSpace, operational_space
from robot_dynamics.algorithms.payload import with_payload
from robot_dynamics.algorithms.regressor import regressor
from robot_dynamics.algorithms.rnea import bias_torque, rnea

__all__ = [
    'Derivatives',
    'OperationalSpace',
    'Terms',
    'aba',
    'bias_torque',
    'coriolis_matrix',
    'crba',
    'forward_dynamics',
    'forward_kinematics',
    'friction_torque',
    'gravity_torque',
    'inverse_dynamics_derivatives',
    'jacobian',
    'jacobian_dot',
    'kinetic_energy',
    'mass_and_coriolis_matrix',
    'operational_space',
    'potential_energy',
    'regressor',
    'rnea',
    'terms',
    'with_payload',
    'wrench_torque',
]
