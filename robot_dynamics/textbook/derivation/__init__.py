# SPDX-License-Identifier: Apache-2.0
"""Equations of motion of small robots, derived with letters; needs SymPy.

derivation           `derive`: M, C and g as SymPy expressions
symbolic_terms       Lagrange's equations with letters for the parameters
trigonometric_sums   sums of cosines and sines, in which equal terms cancel
notations            letters of the books
writing              LaTeX, and a Python module
"""

from robot_dynamics.textbook.derivation.derivation import Derivation as Derivation
from robot_dynamics.textbook.derivation.derivation import SympyMissing as SympyMissing
from robot_dynamics.textbook.derivation.derivation import derive as derive
