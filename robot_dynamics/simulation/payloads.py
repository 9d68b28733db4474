# SPDX-License-Identifier: Apache-2.0
"""Payloads of a simulated arm, by the link that carries them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.inertia import Inertial


def attached(
    payloads: Mapping[str, Inertial],
    link: str,
    mass: float,
    com: ArrayLike,
    inertia: ArrayLike | None,
) -> dict[str, Inertial]:
    """Return the payloads with another one.

    Args:
        payloads: the present ones.
        link: that carries it.
        mass: kg.
        com: (3,) its centre of mass in the link's frame, m.
        inertia: (3, 3) about its centre of mass, kg m^2; None for a point mass.

    Raises:
        ModelError: the link carries a payload already.
    """
    if link in payloads:
        raise ModelError(f'{link!r} carries {payloads[link].mass:g} kg already; drop it first')
    tensor = np.zeros((3, 3)) if inertia is None else np.array(inertia, dtype=float)
    return {**payloads, link: Inertial(float(mass), np.array(com, dtype=float), tensor)}


def dropped(payloads: Mapping[str, Inertial], link: str) -> dict[str, Inertial]:
    """Return the payloads without that of a link. Raises ModelError if it carries none."""
    if link not in payloads:
        raise ModelError(f'{link!r} carries no payload; {sorted(payloads) or "no link"} does')
    return {other: payload for other, payload in payloads.items() if other != link}


def loaded(arm: Dynamics, payloads: Mapping[str, Inertial], links: Iterable[str] = ()) -> Dynamics:
    """Return the arm with payloads on links, and massless ones on further links.

    Programs are compiled for a set of links. If `links` lists every link that will ever carry a
    payload, the programs stay the same when payloads change.

    Raises:
        RobotDynamicsError: as `Dynamics.with_payload`.
    """
    # Sorted, because the order of the links is part of a program's name.
    for link in sorted({*links, *payloads}):
        body = payloads.get(link, Inertial())
        arm = arm.with_payload(link, body.mass, body.com, body.inertia_com)
    return arm
