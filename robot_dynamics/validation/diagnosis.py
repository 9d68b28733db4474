# SPDX-License-Identifier: Apache-2.0
"""Diagnosis of torques that differ from ours: the single mistake that explains them.

A fit alone is weak evidence: successive states of a smooth motion are nearly the same state, and
enough unknowns fit anything there. A cause is certain only if the states give twice as many
independent equations as it has unknowns, and if no other kind of mistake fits. Otherwise all
causes that fit are listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.states import States
from robot_dynamics.validation.kinematic_mistakes import (
    joint_order,
    mimics_at_rest,
    reversed_axes,
    shifted_origins,
)
from robot_dynamics.validation.mistakes import (
    ROUNDING,
    Difference,
    Explanation,
    Torques,
    gravity,
    links,
    per_joint,
)

ENOUGH = 12  # states that are used
LISTED = 4  # causes, at most, where the states are ambiguous


class Cause(NamedTuple):
    """A mistake, or several that the states do not distinguish."""

    text: str
    certain: bool
    torques: Torques  # with the mistake, the first one if there are several
    model: RobotModel  # without it

    def explains(self, states: States, reported: Array) -> bool:
        """Return whether the cause explains other torques (k, n) as well."""
        unexplained = np.abs(reported - self.torques(states)).max()
        return bool(unexplained <= Difference(self.model, states, reported).tolerance)

    def sentence(self, source: str) -> str:
        """Return the cause of torques from this source as a sentence."""
        if self.certain:
            return f'the torques of {source} are those of {self.text}'
        return f'ambiguous in these states: the torques of {source} fit {self.text}'


def likely_cause(model: RobotModel, states: States, reported: Array) -> Cause | None:
    """Return the mistake that explains the reported torques, None if no single one does.

    Args:
        model: the robot as it should be.
        states: (k, n); a few, of different postures and speeds.
        reported: (k, n) torques, N m or N.
    """
    used = States(*(rows[:ENOUGH] for rows in states))
    difference = Difference(model, used, reported[:ENOUGH])
    if not np.abs(difference.r).max() > ROUNDING * np.abs(difference.ours).max():
        return None
    if not np.isfinite(difference.tolerance):
        return None
    fits = [found for found in explanations(difference) if difference.fits(found)]
    # Many unknowns fit any mistake; they do not make a single one doubtful.
    singles = [found for found in fits if found.single or found.supported]
    if len(singles) == 1 and singles[0].supported:
        return Cause(singles[0].text, True, singles[0].torques, model)
    if not fits:
        return None
    # Numbers are given only where the states determine them.
    listed = [found.text if found.supported else found.kind for found in fits[:LISTED]]
    if len(fits) > LISTED:
        listed.append('others')
    return Cause(', or '.join(listed), False, fits[0].torques, model)


def explanations(difference: Difference) -> Iterator[Explanation]:
    """Yield mistakes, the simplest first; one that includes another that fits is omitted."""
    yield gravity(difference)
    yield from joint_order(difference)
    yield from mimics_at_rest(difference)
    yield from reversed_axes(difference)
    yield from shifted_origins(difference)
    yield from per_joint(difference)
    yield from links(difference)
