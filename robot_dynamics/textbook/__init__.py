# SPDX-License-Identifier: Apache-2.0
"""Material for students: systems in closed form, properties of the equation of motion, costs.

Input: a small robot, or the functions of a student. Output: equations in the letters of a
book, operation counts, grades. Other wings use `derive` and
`NOTATIONS` (derivation).

closed_forms      the examples of the textbooks, with their equations of motion written out
properties        bounds of inertia and energy, passivity, terms that are absent by design
operation_counts  multiplications and additions of every formulation
derivation        `derive`: M, C and g of a small robot in the letters of a book
grading           `check`: a student's functions, checked against laws and a known robot

docs/textbook/textbook.md shows each with an example. The laws that hold for every robot (skew
symmetry, power balance, linearity in the parameters, ...) are in `validation.identities`, the
derivations in `formulations`.
"""

from robot_dynamics.textbook.closed_forms import (
    CartesianArm,
    ElasticJoint,
    FiveBarLinkage,
    GearedLink,
    PlanarElbow,
    PlanarElbowRecursion,
    PointMassArm,
    RemoteElbow,
    RigidBody,
    SliderCrank,
    VerticalParticle,
)
from robot_dynamics.textbook.derivation import Derivation, SympyMissing, derive
from robot_dynamics.textbook.grading import FailedLaw, FunctionError, Report, check
from robot_dynamics.textbook.operation_counts import (
    Operations,
    compiled_operations,
    counted_operations,
    general_arm,
    operation_table,
    published_operations,
)
from robot_dynamics.textbook.properties import (
    InertiaBounds,
    StructuralZeros,
    inertia_bounds,
    inertia_ceiling,
    lowest_potential,
    passivity,
    structural_zeros,
)

__all__ = [
    'CartesianArm',
    'Derivation',
    'ElasticJoint',
    'FailedLaw',
    'FiveBarLinkage',
    'FunctionError',
    'GearedLink',
    'InertiaBounds',
    'Operations',
    'PlanarElbow',
    'PlanarElbowRecursion',
    'PointMassArm',
    'RemoteElbow',
    'Report',
    'RigidBody',
    'SliderCrank',
    'StructuralZeros',
    'SympyMissing',
    'VerticalParticle',
    'check',
    'compiled_operations',
    'counted_operations',
    'derive',
    'general_arm',
    'inertia_bounds',
    'inertia_ceiling',
    'lowest_potential',
    'operation_table',
    'passivity',
    'published_operations',
    'structural_zeros',
]
