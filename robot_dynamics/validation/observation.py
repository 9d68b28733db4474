"""Torques published by a running system: their residuals, and the mistake behind a difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.model.states import States
from robot_dynamics.spatial import Array
from robot_dynamics.validation.diagnosis import ENOUGH, Cause
from robot_dynamics.validation.engines.reference_engine import Results
from robot_dynamics.validation.mistakes import squared_distances
from robot_dynamics.validation.report import Residual, residual

FIRST_DIAGNOSIS = 3  # differing observations before the first diagnosis; the next is at twice
DIAGNOSIS_INTERVAL = 100  # differing observations between two diagnoses, at most


class Observation(NamedTuple):
    """State and torques that a system published for one moment; None if not published."""

    q: Array  # (n,) rad or m
    qd: Array | None  # (n,)
    gravity: Array  # (n,) N m or N, as all torques
    coriolis: Array | None
    inertia: Array | None
    inverse_dynamics: Array | None
    M: Array | None  # (n, n)


class ObservedState(NamedTuple):
    """State of an observation, and the sum of its torque terms."""

    q: Array  # (n,)
    qd: Array
    qdd: Array
    torque: Array


def observed_state(observation: Observation) -> ObservedState:
    """Return the state for which an observation's torques were computed."""
    q, qd = observation.q, observation.qd
    rest = np.zeros_like(q)
    qd = rest if qd is None else qd
    M, inertia, tau = observation.M, observation.inertia, observation.inverse_dynamics
    if M is not None and inertia is not None and tau is not None:
        # The acceleration that the system used: tau_inertia = M qdd.
        qdd = np.linalg.lstsq(M, inertia, rcond=None)[0]
        return ObservedState(q, qd, qdd, tau)
    if observation.coriolis is not None:
        return ObservedState(q, qd, rest, observation.gravity + observation.coriolis)
    return ObservedState(q, rest, rest, observation.gravity)


def live_residuals(
    observation: Observation,
    state: ObservedState,
    reference: Results,
    joint_names: tuple[str, ...],
    size: float,
) -> list[Residual]:
    """Return the residuals of the whole torque, relative to `size`, and of each term."""
    terms = {
        'live torque': (state.torque, reference.tau),
        'live gravity torque': (observation.gravity, reference.g),
    }
    if observation.qd is not None and observation.coriolis is not None:
        terms['live Coriolis torque'] = observation.coriolis, reference.coriolis
    acceleration_known = observation.M is not None and observation.inverse_dynamics is not None
    if acceleration_known and observation.inertia is not None:
        inertia = (reference.M @ state.qdd[:, None])[..., 0]
        terms['live inertia torque'] = observation.inertia, inertia
    residuals = [
        residual(name, ours[None], other, joint_names, size)
        for name, (ours, other) in terms.items()
    ]
    if observation.M is not None:
        M = observation.M[None]
        residuals.append(residual('live mass matrix', M, reference.M, joint_names))
    return residuals


class LiveDiagnosis:
    """Diagnosis of successive observations that differ.

    A cause that does not explain a new difference is dropped: the system may have been restarted
    with another mistake.

    Attributes:
        cause: the latest cause, None if there is none.
        changed: whether the last observation led to a new diagnosis.
    """

    def __init__(self, find: Callable[[States, Array], Cause | None]):
        """Store the function that finds a cause of torques."""
        self.cause: Cause | None = None
        self.changed = False
        self._find = find
        self._differing: list[ObservedState] = []  # at most ENOUGH
        self._count = 0  # observations of the present mistake
        self._next = FIRST_DIAGNOSIS

    def add(self, new: ObservedState) -> None:
        """Add a differing observation; diagnose all of them if they are enough."""
        self.changed = False
        self._differing = most_distinct([*self._differing, new])
        self._count += 1
        *rows, reported = (np.array(column) for column in zip(*self._differing, strict=True))
        states = States(*rows)
        known = self.cause if self.cause is not None and self.cause.certain else None
        if known is not None:
            if known.explains(states, reported):
                return
        elif self._count < self._next:
            return
        self.changed = True
        self._next += min(self._next, DIAGNOSIS_INTERVAL)
        self.cause = self._find(states, reported)
        if known is not None and not (self.cause and self.cause.certain):
            self.cause, self._count, self._next = None, 1, FIRST_DIAGNOSIS
        if self.cause is None:
            # The observations may be of different mistakes: begin with the newest.
            self._differing = [new]


def most_distinct(observations: Sequence[ObservedState]) -> list[ObservedState]:
    """Return at most ENOUGH observations, without the older one of the two nearest."""
    kept = list(observations)
    if len(kept) > ENOUGH:
        distances = squared_distances(States(*(np.array([o[k] for o in kept]) for k in range(3))))
        distances[np.tril_indices(len(kept))] = np.inf
        del kept[np.argmin(distances) // len(kept)]
    return kept
