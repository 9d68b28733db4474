"""Payloads of links, attached and removed while an arm is simulated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.spatial import Array


class Payload(NamedTuple):
    """A rigid body on a link, in the frame of the link."""

    mass: float = 0.0  # kg
    com: Array = np.zeros(3)  # m
    inertia: Array | None = None  # (3, 3) kg m^2, about the centre of mass; None: a point mass

    @property
    def tensor(self) -> Array:
        """Inertia (3, 3) about the centre of mass, kg m^2: zero for a point mass."""
        return np.zeros((3, 3)) if self.inertia is None else self.inertia


def loaded(arm: Dynamics, payloads: Mapping[str, Payload], links: Iterable[str] = ()) -> Dynamics:
    """Return the arm with payloads on links, and symbolic payloads on further links.

    Programs are compiled for a set of links. If `links` lists every link that will ever carry a
    payload, the programs stay the same when payloads change.

    Raises:
        RobotDynamicsError: as `Dynamics.with_payload`.
    """
    # Sorted, because the order of the links is part of a program's name.
    for link in sorted({*links, *payloads}):
        arm = arm.with_payload(link, *payloads.get(link, Payload()))
    return arm
