# SPDX-License-Identifier: Apache-2.0
"""Rows of the identification problem: what a recording says of each joint, without lag.

    effort = g (Y theta + B qdd) + friction + offset

Motion is smoothed first; then every term, nonlinear ones included, passes the low-pass of the
efforts, and few samples per period of the cut-off frequency are kept. So both sides of the
equation are filtered equally, jumps of dry friction as well.

Source: Gautier, Dynamic identification of robots with power model, ICRA 1997 (both sides through
one filter, decimation); Swevers, Verdonck and De Schutter, "Dynamic model identification for
industrial robots", IEEE Control Systems Magazine 27(5), 2007.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.laws import FrictionLaw
from robot_dynamics.recordings.noise import effort_noise
from robot_dynamics.recordings.recording import Recording, moves
from robot_dynamics.recordings.smoothing import SparseSamples, Stretch, smooth
from robot_dynamics.recordings.velocities import with_better_velocities

SPARSE = 16  # samples per period of the cut-off frequency that the regressor needs
PER_PERIOD = 8  # rows per period of the cut-off frequency, of which
INDEPENDENT = 4  # : every fourth is independent of the one before
CHUNK = 4000  # samples of the regressor computed at a time
BLOCK = 1.0  # s: residuals farther apart count as independent
BY_ROW = ('t', 'Y', 'q', 'qd', 'qdd', 'effort', 'slope', 'moving', 'block', 'row')


@dataclass(frozen=True, eq=False)
class _Piece:
    """One stretch: its motion at the full rate, and the rigid-body torque's regressor."""

    stretch: Stretch
    sparse: SparseSamples  # those with a regressor
    every: int  # which of these is a row
    Y: Array  # (m, n, 10 nb) there, with gravity
    scale: Array | float  # of the efforts

    @property
    def kept(self) -> Array:
        """Indices of the rows within the inner samples."""
        inner = len(self.stretch.t[self.stretch.inner])
        return np.arange(0, inner, self.every * self.sparse.stride)

    def rows(self, x: Array) -> Array:
        """Return the low-pass of x (k, ...) at the kept samples."""
        return self.stretch.smoothed(x)[self.kept]


@dataclass(frozen=True, eq=False)
class Observations:
    """K rows for each of n joints.

    Attributes:
        t: (K,) s.
        Y: (K, n, 10 nb) regressor of the rigid bodies; without gravity if the efforts are.
        q: (K, n) positions.
        qd: (K, n) velocities.
        qdd: (K, n) accelerations, the column of the rotor inertias.
        effort: (K, n) times effort_scale.
        slope: (K, n) its time derivative.
        moving: (K, n) bool; otherwise the joint is at rest.
        block: (K,) number of the block of time.
        noise: (n,) root mean square of the noise of the low-passed efforts, from their spectrum
            above the motion.
        cutoff: Hz, of the low-pass.
    """

    t: Array
    Y: Array
    q: Array
    qd: Array
    qdd: Array
    effort: Array
    slope: Array
    moving: Array
    block: Array
    noise: Array
    cutoff: float
    pieces: Sequence[_Piece]
    row: Array  # (K,) indices of these rows among those of the pieces

    def select(self, rows: Array) -> Observations:
        """Return some of the rows, by a mask (K,)."""
        parts = {name: getattr(self, name)[rows] for name in BY_ROW}
        return replace(self, **parts)

    def independent(self) -> Observations:
        """Return the rows that the low-pass leaves independent."""
        return self.select(np.arange(len(self.t)) % INDEPENDENT == 0)

    def delayed(self, delay: float, scale: Array | float = 1.0) -> Observations:
        """Return the same rows with the efforts moved earlier, and multiplied.

        Args:
            delay: s, by which the efforts are later than the motion.
            scale: one number or (n,).
        """
        parts = []
        for piece in self.pieces:
            s = piece.stretch
            shifted = [np.interp(s.t + delay, s.t, column) for column in s.effort.T]
            effort = s.smoothed(scale * piece.scale * np.column_stack(shifted))
            slope = np.gradient(effort, s.step, axis=0)
            parts.append((effort[piece.kept], slope[piece.kept]))
        effort, slope = (np.concatenate(part)[self.row] for part in zip(*parts, strict=True))
        return replace(self, effort=effort, slope=slope, noise=np.abs(scale) * self.noise)

    def friction_features(
        self, law: FrictionLaw, presliding: Array | float, theta: Array, rotor: Array
    ) -> Array:
        """Return the low-passed features (K, n, terms) of a friction law.

        Args:
            law: the law.
            presliding: one number or (n,), rad or m.
            theta: (10 nb,) inertial parameters, for the load.
            rotor: (n,) rotor inertias at the joints, for the load, kg m^2 or kg.
        """
        directions = self.sliding_directions(law, presliding)
        return self.features_along(law, directions, theta, rotor)

    def sliding_directions(self, law: FrictionLaw, presliding: Array | float) -> list[Array]:
        """Return the direction of sliding (k, n) of each stretch at the full rate."""
        stretches = (piece.stretch for piece in self.pieces)
        return [law.sliding_direction(s.q, s.qd, presliding) for s in stretches]

    def features_along(
        self, law: FrictionLaw, directions: Sequence[Array], theta: Array, rotor: Array
    ) -> Array:
        """Return `friction_features` for directions of sliding.

        Args:
            law: the law.
            directions: of each stretch.
            theta: (10 nb,) inertial parameters, or (n, 10 nb) those that each joint has by itself.
            rotor: (n,) rotor inertias at the joints.
        """
        parts = []
        for piece, z in zip(self.pieces, directions, strict=True):
            s = piece.stretch
            load = np.zeros_like(s.qd)
            if 'load' in law.terms:
                own = np.broadcast_to(theta, piece.Y.shape[1:])
                sparse = np.einsum('kjp,jp->kj', piece.Y, own)
                for j in range(load.shape[1]):
                    load[:, j] = np.interp(s.t, s.t[piece.sparse.samples], sparse[:, j])
                load += rotor * s.qdd
            parts.append(piece.rows(law.features(s.qd, load, z)))
        return np.concatenate(parts)[self.row]


class Preparation(NamedTuple):
    """How rows are made of recordings of one arm, all through the same low-pass."""

    arm: Dynamics
    cutoff: float  # Hz, of the low-pass
    scale: Array  # (n,) recorded efforts times this enter
    compensated: bool  # the efforts do not include the gravity torque

    def rows(self, recording: Recording) -> Observations:
        """Return the rows of a recording."""
        return observations(
            self.arm,
            recording,
            self.cutoff,
            effort_scale=self.scale,
            effort_gravity_compensated=self.compensated,
        )

    def aligned_rows(self, recording: Recording) -> Observations:
        """Return the rows of a recording with the better velocities."""
        return self.rows(with_better_velocities(recording, self.cutoff).recording)

    def as_measured(self) -> Dynamics:
        """Return the arm with the gravity that efforts show: without, they show less of it."""
        return self.arm.with_gravity(np.zeros(3)) if self.compensated else self.arm


def observations(
    arm: Dynamics,
    recording: Recording,
    cutoff: float,
    *,
    effort_scale: Array | float = 1.0,
    effort_gravity_compensated: bool = False,
) -> Observations:
    """Return the rows of a recording.

    Args:
        arm: the model.
        recording: of its joints.
        cutoff: Hz, of the low-pass.
        effort_scale: recorded effort times this enters; one number or (n,).
        effort_gravity_compensated: the efforts do not include the gravity torque.

    Raises:
        RecordingError: too few samples for the cut-off frequency.
    """
    stretches, _ = smooth(recording, cutoff)
    pieces, parts, first_block = [], [], 0
    for s in stretches:
        piece = _piece(arm, s, effort_scale)
        columns = _columns(arm, piece, effort_gravity_compensated)
        columns['block'] += first_block
        first_block = int(columns['block'][-1]) + 1
        pieces.append(piece)
        parts.append(columns)
    joined: dict[str, Any] = {
        name: np.concatenate([one[name] for one in parts]) for name in parts[0]
    }
    longest = max(stretches, key=lambda s: len(s.t))
    noise = effort_noise(longest.effort[longest.inner], longest.step, cutoff)
    return Observations(
        **joined,
        row=np.arange(len(joined['t'])),
        noise=np.asarray(np.abs(effort_scale) * noise),
        cutoff=cutoff,
        pieces=pieces,
    )


def _piece(arm: Dynamics, s: Stretch, effort_scale: Array | float) -> _Piece:
    """Return a stretch with the samples that are kept, and the regressor."""
    sparse = s.sparse(SPARSE)
    every = max(1, round(1 / (PER_PERIOD * s.cutoff * s.step) / sparse.stride))
    at = sparse.samples
    return _Piece(s, sparse, every, _regressor(arm, s.q[at], s.qd[at], s.qdd[at]), effort_scale)


def _columns(arm: Dynamics, piece: _Piece, compensated: bool) -> dict[str, Array]:
    """Return the rows of a stretch by their names in `Observations`, blocks counted from 0.

    Args:
        arm: the model.
        piece: the stretch.
        compensated: the efforts do not include the gravity torque.
    """
    s, kept, sparse, Y = piece.stretch, piece.kept, piece.sparse, piece.Y
    if compensated:
        at = sparse.samples
        Y = Y - _regressor(arm, s.q[at], 0 * s.qd[at], 0 * s.qdd[at])
    t, q, qd = (x[s.inner][kept] for x in (s.t, s.q, s.qd))
    effort = s.smoothed(piece.scale * s.effort)
    return {
        't': t,
        'Y': sparse.smooth(Y)[:: piece.every],
        'q': q,
        'qd': qd,
        'qdd': piece.rows(s.qdd),
        'effort': effort[kept],
        'slope': np.gradient(effort, s.step, axis=0)[kept],
        'moving': moves(qd),
        'block': ((t - t[0]) // BLOCK).astype(int),
    }


def _regressor(arm: Dynamics, q: Array, qd: Array, qdd: Array) -> Array:
    parts = range(0, len(q), CHUNK)
    return np.concatenate(
        [arm.regressor(*(x[k : k + CHUNK] for x in (q, qd, qdd))) for k in parts]
    )
