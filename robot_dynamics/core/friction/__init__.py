# SPDX-License-Identifier: Apache-2.0
"""Friction of joints: coefficients, laws, memory, and the columns that identification fits.

| file              | contents                                                              |
|---|---|
| `coulomb.py`      | viscous and Coulomb friction, smooth at standstill                    |
| `laws.py`         | laws with load, Stribeck curve and memory; columns for identification |
| `coefficients.py` | laws with the coefficients of n joints, and their validation          |
| `friction_settings.py` | a law with its coefficients as settings                          |
| `memory.py`       | friction along a motion                                               |
| `impulses.py`     | impulse of dry friction in a step, of a joint                         |

Formulas are written once, for floats, arrays and the recording scalars of programs (`scalars`).
"""

from robot_dynamics.core.friction.coefficients import JointFriction, coulomb_friction
from robot_dynamics.core.friction.coulomb import COULOMB_SPEED, Friction
from robot_dynamics.core.friction.laws import (
    LAWS,
    PRESLIDING,
    STRIBECK_SPEED,
    FrictionLaw,
    FrictionLawError,
    friction_law,
)
from robot_dynamics.core.friction.memory import tracked

__all__ = [
    'COULOMB_SPEED',
    'LAWS',
    'PRESLIDING',
    'STRIBECK_SPEED',
    'Friction',
    'FrictionLaw',
    'FrictionLawError',
    'JointFriction',
    'coulomb_friction',
    'friction_law',
    'tracked',
]
