# SPDX-License-Identifier: Apache-2.0
"""Torques published by a running system: their residuals, and the mistake behind a difference.

Terms of one state are compared to rounding. What depends on the acceleration is compared with the
motion of the joint states before it as well, which sensors and filters disturb:

- The inertia torque. The dynamics node differentiates velocities and filters them, so that its
  acceleration is a mean, with weights that are not negative, of the difference quotients before.
  Hence its inertia torque lies between the extremes of M times these quotients, whatever the lag
  of the filter is (within the time of the motion) and however much noise the velocities have.
- The effort. Means over the motion, and the slope of the velocities, are a state whose torque the
  engine computes. The effort may differ from it by friction and by `effort_tolerance`.

Only the excess beyond these bounds counts, and only if it persists.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.states import States
from robot_dynamics.validation.diagnosis import ENOUGH, Cause
from robot_dynamics.validation.engine_report import Residual, residual
from robot_dynamics.validation.engines.reference_engine import Results
from robot_dynamics.validation.mistakes import squared_distances

FIRST_DIAGNOSIS = 3  # differing observations before the first diagnosis; the next is at twice
DIAGNOSIS_INTERVAL = 100  # differing observations between two diagnoses, at most
# Part of the largest M qdd of a motion: rounding of stamps, messages that were lost, the lag of a
# filter beyond the time of the motion.
LOOSENESS = 0.1
# Observations of whose excess the median counts: a disturbance that is shorter than half of them
# is no difference.
INERTIA_OBSERVATIONS, EFFORT_OBSERVATIONS = 5, 20
STANDSTILL = 1e-3  # rad or m in a motion; less may be held by brakes, without effort
STOP = 0.02  # of a joint's range, at its ends: the stop exerts a torque there
FEWEST = 5  # joint states of a motion


class RecentMotion(NamedTuple):
    """The last k joint states up to an observation, k >= FEWEST."""

    time: Array  # (k,) s, increasing
    q: Array  # (k, n) rad or m
    qd: Array  # (k, n)
    effort: Array  # (k, n) N m or N, NaN where none is measured


class Observation(NamedTuple):
    """State and torques that a system published for one moment; None if not published."""

    q: Array  # (n,) rad or m
    qd: Array | None  # (n,)
    gravity: Array  # (n,) N m or N, as all torques
    coriolis: Array | None
    inertia: Array | None
    inverse_dynamics: Array | None
    M: Array | None  # (n, n)
    motion: RecentMotion | None = None


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


class MotionComparison:
    """Comparison of inertia torques and efforts with the motion of the joint states."""

    def __init__(self, model: RobotModel, friction: JointFriction, effort_tolerance: float):
        """Begin without observations.

        Args:
            model: the robot, for the ends of its joints' ranges.
            friction: of its joints.
            effort_tolerance: of efforts, relative to the largest torque; 0: not compared.
        """
        self._names = model.joint_names
        reach = model.upper - model.lower
        margin = STOP * np.where(np.isfinite(reach), reach, 0.0)
        self._ends = model.lower + margin, model.upper - margin
        self._friction, self._tolerance = friction, effort_tolerance
        self._inertia: deque[Array] = deque(maxlen=INERTIA_OBSERVATIONS)
        self._effort: deque[Array] = deque(maxlen=EFFORT_OBSERVATIONS)

    def residuals(
        self, inertia: Array | None, motion: RecentMotion, reference: Results, size: float
    ) -> list[Residual]:
        """Return the excess of an observation and those before it, relative to `size`.

        Args:
            inertia: (n,) the inertia torque for the last state of the motion.
            motion: the joint states.
            reference: results of the engine at the last state, and at `mean_state`.
            size: the largest torque.
        """
        if inertia is not None:
            quotients = np.diff(motion.qd, axis=0) / np.diff(motion.time)[:, None]
            torques = quotients @ reference.M[0].T
            loose = LOOSENESS * np.abs(torques).max()
            nearest = np.clip(inertia, torques.min(axis=0) - loose, torques.max(axis=0) + loose)
            self._inertia.append(np.abs(inertia - nearest))
        mean, loose = mean_state(motion), self._tolerance * size
        moves = np.ptp(motion.q, axis=0) > STANDSTILL
        acts = np.abs(mean.torque) > loose
        if loose > 0 and np.isfinite(mean.torque).all() and (moves | acts).any():
            expected = reference.tau[1]
            # The largest friction: in the direction of sliding, whichever that is
            allowed = self._friction.torque(np.abs(mean.qd), expected, 1.0) + loose
            low, high = self._ends
            at_stop = (motion.q < low).any(axis=0) | (motion.q > high).any(axis=0)
            excess = np.maximum(np.abs(mean.torque - expected) - allowed, 0.0)
            self._effort.append(np.where(at_stop, 0.0, excess))
        names = (
            'live inertia torque of the observed motion',
            'live effort of the observed motion',
        )
        medians = [
            (name, np.median(excesses, axis=0)[None])
            for name, excesses in zip(names, (self._inertia, self._effort), strict=True)
            if len(excesses) == excesses.maxlen
        ]
        return [residual(name, x, np.zeros_like(x), self._names, size) for name, x in medians]


def mean_state(motion: RecentMotion) -> ObservedState:
    """Return the means of a motion, with the slope of its velocities and the mean effort."""
    t = motion.time - motion.time.mean()
    # The least-squares line through the velocities
    slope = t @ motion.qd / (t @ t)
    q, qd, effort = (rows.mean(axis=0) for rows in (motion.q, motion.qd, motion.effort))
    return ObservedState(q, qd, slope, effort)


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
        own = ObservedState(*map(np.array, new))
        self._differing = most_distinct([*self._differing, own])
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
            self._differing = [own]


def most_distinct(observations: Sequence[ObservedState]) -> list[ObservedState]:
    """Return at most ENOUGH observations, without the older one of the two nearest."""
    kept = list(observations)
    if len(kept) > ENOUGH:
        distances = squared_distances(States(*(np.array([o[k] for o in kept]) for k in range(3))))
        distances[np.tril_indices(len(kept))] = np.inf
        del kept[np.argmin(distances) // len(kept)]
    return kept
