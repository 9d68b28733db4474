"""Diagnosis of torques that differ from ours: the single mistake that explains them.

A fit alone is weak evidence: successive states of a smooth motion are nearly the same state, and
enough unknowns fit anything there. A cause is certain only if the states give twice as many
independent equations as it has unknowns, and if no other kind of mistake fits. Otherwise all
causes that fit are listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.model.states import ACCELERATION, FASTEST, States
from robot_dynamics.spatial import Array
from robot_dynamics.validation.mistakes import (
    EXPLAINED,
    ROUNDING,
    Torques,
    explanations,
    torques,
)

ENOUGH = 12  # states that are used
LISTED = 4  # causes, at most, where the states are ambiguous


class Cause(NamedTuple):
    """A mistake, or several that the states do not distinguish."""

    text: str
    certain: bool
    torques: Torques  # with the mistake, the first one if there are several

    def sentence(self, source: str) -> str:
        """Return the cause of torques from this source as a sentence."""
        if self.certain:
            return f'the torques of {source} are those of {self.text}'
        return f'ambiguous in these states: the torques of {source} fit {self.text}'


def likely_cause(
    model: RobotModel,
    states: States,
    reported: Array,
    misread: Mapping[str, RobotModel] | None = None,
) -> Cause | None:
    """Return the mistake that explains the reported torques, None if no single one does.

    Args:
        model: the robot as it should be.
        states: (k, n); a few, of different postures and speeds.
        reported: (k, n) torques, N m or N.
        misread: robots to try, by the mistake they contain.
    """
    states = States(*(rows[:ENOUGH] for rows in states))
    reported = reported[:ENOUGH]
    ours = torques(model, states)
    tolerance = allowed(reported, ours)
    if not np.abs(reported - ours).max() > ROUNDING * np.abs(ours).max():
        return None
    if not np.isfinite(tolerance):
        return None
    fits = [
        found
        for found in explanations(
            model, states, reported, ours, tolerance, independent(states), misread or {}
        )
        if np.abs(reported - found.torque).max() <= tolerance
    ]
    # A mistake without unknowns that fits does not fit by chance.
    fits = [found for found in fits if found.exact] or fits
    # Many unknowns fit any mistake; they do not make a single one doubtful.
    singles = [found for found in fits if found.single or found.supported]
    if len(singles) == 1 and singles[0].supported:
        return Cause(singles[0].text, True, singles[0].torques)
    if not fits:
        return None
    # Numbers are given only where the states determine them.
    listed = [found.text if found.supported else found.kind for found in fits[:LISTED]]
    if len(fits) > LISTED:
        listed.append('others')
    return Cause(', or '.join(listed), False, fits[0].torques)


def explains(cause: Cause, model: RobotModel, states: States, reported: Array) -> bool:
    """Return whether a cause found at other states explains the torques at these."""
    tolerance = allowed(reported, torques(model, states))
    return bool(np.abs(reported - cause.torques(states)).max() <= tolerance)


def allowed(reported: Array, ours: Array) -> float:
    """Return the largest difference [N m or N] that an explanation may leave unexplained."""
    return float(
        EXPLAINED * np.abs(reported - ours).max() + ROUNDING * np.abs(ours).max(initial=0.0)
    )


def independent(states: States) -> int:
    """Return the number of states at which a smooth function has independent values.

    It is the rank of a Gaussian kernel, to the accuracy of an explanation. Neighbouring states of
    a slow motion count as 2 or 3, however many they are.
    """
    eigenvalues = np.linalg.eigvalsh(np.exp(-squared_distances(states) / 2))
    return int((eigenvalues > EXPLAINED**2 * len(eigenvalues)).sum())


def squared_distances(states: States) -> Array:
    """Return squared distances of states (k, k), scaled so that at 1 torques are unrelated."""
    x = np.hstack([states.q, states.qd / FASTEST, states.qdd / ACCELERATION])
    return np.asarray(((x[:, None] - x[None]) ** 2).sum(axis=-1))
