"""Friction of joints: coefficients, laws, memory, and the columns that identification fits.

| file              | contents                                                              |
|---|---|
| `coulomb.py`      | viscous and Coulomb friction, smooth at standstill                    |
| `coefficients.py` | validation of coefficients; friction of n joints as data              |
| `laws.py`         | laws with load, Stribeck curve and memory; columns for identification |
| `impulses.py`     | impulse of dry friction in a step, of a joint                         |

Formulas are written once, for floats, arrays and the recording scalars of programs (`scalars`).
"""

from robot_dynamics.friction.coefficients import Friction, FrictionModel, FrictionWithOffset
from robot_dynamics.friction.coulomb import COULOMB_SPEED, friction_torque
from robot_dynamics.friction.laws import (
    LAWS,
    PRESLIDING,
    STRIBECK_SPEED,
    FrictionLaw,
    FrictionLawError,
    JointFriction,
    friction_law,
    tracked,
)

__all__ = [
    'COULOMB_SPEED',
    'LAWS',
    'PRESLIDING',
    'STRIBECK_SPEED',
    'Friction',
    'FrictionLaw',
    'FrictionLawError',
    'FrictionModel',
    'FrictionWithOffset',
    'JointFriction',
    'friction_law',
    'friction_torque',
    'tracked',
]
