# SPDX-License-Identifier: Apache-2.0
"""Stretches of a recording: unexplained efforts, and torques of a unit payload."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.core.model.inertia import to_parameters
from robot_dynamics.identification.estimation.pseudo_inertia import displacement
from robot_dynamics.identification.payload.model_errors import link_errors
from robot_dynamics.identification.payload.payload_fit import Rows
from robot_dynamics.recordings.drives import Drives
from robot_dynamics.recordings.gravity_setting import STILL
from robot_dynamics.recordings.plausibility import require_joints
from robot_dynamics.recordings.recording import Recording, moves, scale_of
from robot_dynamics.recordings.smoothing import Stretch, cutoff_of, smooth

DRY = (LAWS['coulomb'], LAWS['coulomb_memory'])  # dry friction is a combination of both
DENSE = 16  # samples per period of the cut-off frequency


class Carrier(NamedTuple):
    """The link that carries a payload.

    Attributes:
        arm: without the payload.
        link: its name.
        body: that it belongs to.
        to_body: (10, 10) from parameters in the frame of the link to those in that of the body.
    """

    arm: Dynamics
    link: str
    body: int
    to_body: Array

    @classmethod
    def of(cls, arm: Dynamics, link: str) -> Carrier:
        """Return the carrier by its name.

        Raises:
            ModelError: the link does not move.
            FrameNotFound: no such link.
        """
        body = arm.model.moving_body(link)
        return cls(
            arm, link, body, displacement(arm.model.frame_placement[arm.model.frame_index(link)])
        )

    def unit_torques(self, Y: Array) -> Array:
        """Return the torques (k, n, 10) of unit parameters of the payload, by the regressor."""
        return np.asarray(Y[..., 10 * self.body : 10 * self.body + 10] @ self.to_body)

    def errors(self, share: float) -> Array:
        """Return errors (4, 10) of the body's parameters, in the frame of the link.

        They are a share of its mass, and of its mass times its radius of gyration about its joint
        in each direction of the centre of mass.
        """
        pi = to_parameters(self.arm.model.inertial(self.body))
        errors = np.zeros((4, 10))
        errors[0, 0] = pi[0]
        # m r = sqrt(m tr(I) / 2)
        np.fill_diagonal(errors[1:, 1:4], np.sqrt(pi[0] * pi[[4, 7, 9]].sum() / 2))
        return np.asarray(share * np.linalg.solve(self.to_body, errors.T).T)


class MeasuredEfforts(NamedTuple):
    """How the efforts of recordings are measured, as for `estimate_payload`."""

    scale: ArrayLike | None
    gravity_compensated: bool
    cutoff: float | None  # Hz
    drives: Drives


class Posture(NamedTuple):
    """A time at rest; arrays (n,)."""

    q: Array
    excess: Array  # mean effort minus model
    error: Array  # its standard error


class Piece:
    """Unexplained efforts of one stretch, and the torques of a unit payload."""

    def __init__(self, carrier: Carrier, s: Stretch, scale: Array, efforts: MeasuredEfforts):
        arm = carrier.arm
        self._carrier, self._s = carrier, s
        model = efforts.drives.effort(arm, s.q, s.qd, s.qdd)
        compensated = efforts.gravity_compensated
        self.model = model - (arm.gravity_torque(s.q) if compensated else 0.0)  # (k, n)
        self.excess = scale * s.effort - self.model
        self.moving = moves(s.qd)
        self.seconds_in_motion = float(self.moving.any(axis=1).sum()) * s.step

    def rows(self, with_friction: bool) -> Rows:
        """Return what the fit needs, with features of friction and offset if they are fitted.

        All pass the low-pass; as many samples as it needs, without the ends.
        """
        s, arm = self._s, self._carrier.arm
        sparse = s.sparse(DENSE)
        z = [law.sliding_direction(s.q, s.qd) for law in DRY]
        features = np.stack([s.qd, *z, np.ones_like(s.qd)], axis=2)
        if not with_friction:
            features = features[..., :0]
        Y = sparse.smooth(arm.regressor(*(x[sparse.samples] for x in (s.q, s.qd, s.qdd))))
        shape = (*Y.shape[:2], arm.model.nb, 10)
        links = np.einsum('kjbi,bie->kjbe', Y.reshape(shape), link_errors(arm.model))
        rotors = sparse.smooth(s.qdd[sparse.samples])
        return Rows(
            sparse.sharp(self.excess),
            self._carrier.unit_torques(Y),
            sparse.sharp(self.model),
            sparse.sharp(features),
            links.reshape(*Y.shape[:2], 10 * arm.model.nb),
            rotors,
            sparse.inner(self.moving[sparse.samples]),
        )

    def postures(self) -> list[Posture]:
        """Return the times at rest."""
        s, still = self._s, np.asarray(~self.moving.any(axis=1))
        found = []
        runs: list[Array] = np.split(np.arange(len(still)), np.flatnonzero(np.diff(still)) + 1)
        for run in runs:
            if still[run[0]] and len(run) * s.step >= STILL:
                error = self.excess[run].std(axis=0) / np.sqrt(len(run))
                found.append(Posture(s.q[run].mean(axis=0), self.excess[run].mean(axis=0), error))
        return found


def pieces_of(carrier: Carrier, recording: Recording, efforts: MeasuredEfforts) -> list[Piece]:
    """Return the stretches of a recording.

    Raises:
        RecordingError: other joints, currents without a scale, or too few samples.
    """
    model, cutoff = carrier.arm.model, efforts.cutoff
    require_joints(recording, model)
    scale = scale_of(model, efforts.scale, recording.effort_unit)
    run = efforts.drives.aligned(recording)
    stretches, _ = smooth(run, cutoff_of(run) if cutoff is None else cutoff)
    return [Piece(carrier, s, scale, efforts) for s in stretches]
