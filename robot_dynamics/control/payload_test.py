# SPDX-License-Identifier: Apache-2.0
"""Whether external torques since a contact are those of a payload that the model lacks.

A payload theta = (m, m c) on a link makes the external torques -Y theta. Its columns Y, filtered
as the external torques are, are the differences of observers: of the arm with a small payload, and
of the arm without. No acceleration is needed.

The fit is weighted by the noise of free motion and forgets exponentially. Torques are those of a
payload if mass and centre are plausible, the fit leaves little, and no wrench on the link explains
much more.

Source: De Luca and Mattone 2003 (observer); Atkeson, An and Hollerbach 1986 (regressor of a load).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.control.contact_wrench import FLOOR
from robot_dynamics.control.contact_wrench import PRIOR as WRENCH
from robot_dynamics.control.momentum_observer import MomentumObserver

UNIT = 0.01  # kg, of the small payloads
AWAY = 0.01  # m, of their centres; the tensor about the link's origin counts 100 times less
LOADS = AWAY * np.vstack([np.zeros(3), np.eye(3)])
SETTLING = 8.0  # time constants of the observer until the onset is forgotten
WINDOW = 0.15  # s of torques at least
MEMORY = 1.0  # s, time constant of the fit
PAYLOAD = (10.0, 1.0, 1.0, 1.0)  # kg and kg m, standard deviations; zero if not determined
LEAST_MASS = 0.1  # kg
FARTHEST = 0.4  # m, of the centre of mass from the origin of the link
NOISE = 1.6  # in standard deviations: that much may be left
SHARE = 0.35  # of the torques may be left
WORSE, MORE = 1.15, 0.3  # than a constant wrench leaves, and in standard deviations
MOVED = 0.05  # rad or m that some joint moves


class UnmodelledPayload(NamedTuple):
    """A payload that the model lacks."""

    mass: float  # kg
    com: Array  # (3,) m, in the frame of the link
    moved: bool  # since the contact; a force at rest is the same


class PayloadTest:
    """Test of the external torques since a contact."""

    def __init__(self, observer: MomentumObserver, link: str):
        """Compile.

        Args:
            observer: of the arm without the payload.
            link: that may have grasped it.

        Raises:
            FrameNotFound: the arm has no such link.
            ModelError: the link is fixed to the base.
        """
        self._observer = observer
        self._observers = [
            MomentumObserver(
                observer.arm.with_payload(link, UNIT, c),
                observer.friction,
                observer.settings,
                moving_base=observer.moving_base,
            )
            for c in LOADS
        ]
        self._link = link
        self.start(0.0, np.zeros(observer.arm.model.n))

    def start(self, t: float, q: Array) -> None:
        """Begin at a contact, after the observer's update at the time t [s] and position q."""
        for loaded in self._observers:
            loaded.continue_from(self._observer)
        self._began, self._q, self._last = t, np.array(q), t
        self._payload, self._wrench = _Fit(PAYLOAD), _Fit(WRENCH)
        self._moved = False

    def update(
        self,
        t: float,
        q: Array,
        qd: Array,
        effort: Array,
        sigma: Array,
        base: Array | None = None,
    ) -> UnmodelledPayload | None:
        """Return the payload after the observer's update with the same state; None: it is none.

        Args:
            t: time, s.
            q: (n,) positions.
            qd: (n,) velocities.
            effort: (n,) efforts.
            sigma: (n,) standard deviations of the external torques of free motion.
            base: (9,) motion of a moving base, as for the observer.
        """
        for loaded in self._observers:
            loaded.update(t, q, qd, effort, base)
        r, sigma = self._observer.prompt_torque, np.hypot(sigma, FLOOR)
        self._moved = self._moved or bool(np.abs(q - self._q).max() > MOVED)
        settled = SETTLING / self._observer.settings.poles
        kept = np.exp((self._last - t) / MEMORY)
        self._last = t
        if t - self._began < settled:
            return None
        # r_loaded - r = Y theta
        changes = np.array([loaded.prompt_torque - r for loaded in self._observers]) / UNIT
        Y = np.column_stack([changes[0], *(changes[1:] - changes[0]) / AWAY]) / sigma[:, None]
        J = self._observer.arm.jacobian(q, self._link)
        for fit, columns in ((self._payload, -Y), (self._wrench, J.T / sigma[:, None])):
            fit.add(columns, r / sigma, kept)
        return self._found() if t - self._began > settled + WINDOW else None

    def _found(self) -> UnmodelledPayload | None:
        theta, left = self._payload.solution()
        mass = float(theta[0])
        if mass < LEAST_MASS or np.linalg.norm(theta[1:]) > FARTHEST * mass:
            return None
        of_wrench = self._wrench.solution()[1]
        if left > min(max(NOISE, SHARE * self._payload.size), WORSE * of_wrench + MORE):
            return None
        return UnmodelledPayload(mass, theta[1:] / mass, self._moved)


class _Fit:
    """Least squares of torques in standard deviations, which forgets."""

    def __init__(self, prior: tuple[float, ...]):
        """Begin with the standard deviations of the parameters, whose mean is zero."""
        self._prior = np.diag(1 / np.square(prior))
        self._A, self._b = np.zeros_like(self._prior), np.zeros(len(prior))
        self._squares, self._count = 0.0, 0.0

    def add(self, X: Array, y: Array, kept: float) -> None:
        """Add columns X (n, k) and torques y (n,), and keep a share of those before."""
        self._A, self._b = kept * self._A + X.T @ X, kept * self._b + X.T @ y
        self._squares, self._count = (
            kept * self._squares + float(y @ y),
            kept * self._count + len(y),
        )

    @property
    def size(self) -> float:
        """Root mean square of the torques, in standard deviations."""
        return float(np.sqrt(self._squares / self._count))

    def solution(self) -> tuple[Array, float]:
        """Return the parameters (k,), and the root mean square of what they leave."""
        x = np.linalg.solve(self._A + self._prior, self._b)
        # |y - X x|^2 = |y|^2 - 2 b . x + x . A x
        left = self._squares - float(2 * self._b @ x - x @ self._A @ x)
        return x, float(np.sqrt(max(left, 0.0) / self._count))
