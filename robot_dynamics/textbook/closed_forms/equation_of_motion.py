# SPDX-License-Identifier: Apache-2.0
"""Base class of the closed forms: the equation of motion from its three terms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class EquationOfMotion(ABC):
    """A system of the form D(q) qdd + C(q, qd) qd + g(q) = tau.

    Coordinates q (n,) are in rad or m, generalized forces (n,) in N m or N, without friction.

    Source: Spong, Hutchinson and Vidyasagar, (6.66).
    """

    @abstractmethod
    def mass_matrix(self, q: Array) -> Array:
        """Return D(q) (n, n), the inertia matrix."""

    @abstractmethod
    def coriolis_matrix(self, q: Array, qd: Array) -> Array:
        """Return C(q, qd) (n, n), of Christoffel symbols."""

    @abstractmethod
    def gravity_torque(self, q: Array) -> Array:
        """Return g(q) (n,), the gradient of the potential energy."""

    @abstractmethod
    def potential_energy(self, q: Array) -> Array:
        """Return P(q) [J], a scalar."""

    @abstractmethod
    def regressor(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return Y (n, l) with tau = Y Theta. Spong, Hutchinson and Vidyasagar, (6.122)."""

    @abstractmethod
    def parameters(self) -> Array:
        """Return Theta (l,), the parameters in which the torques are linear."""

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return tau (n,), the generalized forces of the given motion."""
        tau: Array = self.mass_matrix(q) @ qdd + self.coriolis_matrix(q, qd) @ qd
        return tau + self.gravity_torque(q)

    def kinetic_energy(self, q: Array, qd: Array) -> Array:
        """Return K(q, qd) = 1/2 qd^T D qd [J], a scalar."""
        return np.asarray(qd @ self.mass_matrix(q) @ qd / 2)
