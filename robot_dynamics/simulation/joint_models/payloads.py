"""Loads that come and go while an arm is simulated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.spatial import Array


class Payload(NamedTuple):
    """A rigid body on a link; axes and origin are those of the link."""

    mass: float = 0.0  # kg
    com: Array = np.zeros(3)  # m
    inertia: Array | None = None  # (3, 3) kg m^2, about the centre of mass; None: a point mass


def loaded(arm: Dynamics, payloads: Mapping[str, Payload], links: Iterable[str] = ()) -> Dynamics:
    """Return the arm with payloads on links, and none on the links that may get one.

    A program is made for a set of links. With all links that will ever carry something among
    `links`, the programs stay the same whatever the arm carries. Raises as `with_payload`.
    """
    # The order, too, names the program.
    for link in sorted({*links, *payloads}):
        arm = arm.with_payload(link, *payloads.get(link, Payload()))
    return arm
