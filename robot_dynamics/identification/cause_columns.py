"""Torque columns of possible causes of a residual.

Residuals are linear in the errors of a model, so each unknown has a column, the residual of one
unit of it:

    dry friction      tanh(qd / v_0)        N m or N            of each joint
    viscous friction  qd                    N m s/rad or N s/m
    rotor inertia     qdd                   kg m^2 or kg
    offset            1                     N m or N            of the sensor
    scale             the model's torque    -                   of the sensor or drive
    load              torque of m, m c      kg, kg m            carried by one link
    gravity           torque of a unit      m/s^2               of the base
    delay             - d(torque)/dt        s                   of the efforts
    inertia           regressor             kg, kg m, kg m^2    of each other link

Columns pass the same low-pass as the residuals. The independent samples are kept, two per period
of the cut-off frequency.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from robot_dynamics.algorithms.friction import COULOMB_SPEED
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.recording import STANDING
from robot_dynamics.identification.smoothing import Stretch, derivative, low_pass
from robot_dynamics.spatial import Array

OF_JOINTS = ('dry friction', 'viscous friction', 'rotor inertia', 'offset', 'scale')
OF_ROBOT = {'load': 4, 'gravity': 3, 'delay': 1}
OF_MOTION = slice(0, 3)  # causes that have no effect at rest
PER_BODY = 10  # parameters of an inertia: m, m c, tensor about the frame's origin
MAX_SAMPLES = 20_000  # kept
SPARSE = 16  # samples per period of the cut-off frequency that the regressor needs


def moves(qd: Array) -> Array:
    """Return a mask of moving joints, of the shape of qd."""
    return np.asarray(np.abs(qd) > STANDING)


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a motion.

    Attributes:
        arm: the model.
        link: of a possible payload.
        stretches: the motion.
        model: its torques (k, n), one array per stretch.
        gravity_compensated: the efforts do not include the gravity torque.
    """

    arm: Dynamics
    link: str
    stretches: Sequence[Stretch]
    model: Sequence[Array]
    gravity_compensated: bool

    @cached_property
    def kept(self) -> list[Array]:
        """Indices of the kept samples, within the ends of each stretch."""
        lengths = [len(s.t[s.inner]) for s in self.stretches]
        apart = max(1.0, 0.5 / self.stretches[0].cutoff / self.stretches[0].step)
        apart = max(apart, sum(lengths) / MAX_SAMPLES)
        apart = apart // self._sparse * self._sparse
        return [np.arange(0, length, apart).astype(int) for length in lengths]

    def of_joints(self) -> Array:
        """Return the columns of joints (5, K, n), in the order of OF_JOINTS."""
        return np.array(
            [
                self._all(lambda s, _: np.tanh(s.qd / COULOMB_SPEED)),
                self._all(lambda s, _: s.qd),
                self._all(lambda s, _: s.qdd),
                self._all(lambda s, _: np.ones_like(s.q)),
                self._all(lambda s, model: model - self._left_out(s)),
            ]
        )

    def of_robot(self) -> Array:
        """Return the columns of the robot (8, K, n), in the order of OF_ROBOT."""
        return np.array(
            [
                *(self._all(partial(self._unit_load, unknown)) for unknown in range(4)),
                *(self._all(partial(self._unit_gravity, e)) for e in np.eye(3)),
                self._all(lambda s, model: -derivative(model, s.t)),
            ]
        )

    def of_bodies(self) -> Array:
        """Return the columns of all bodies' inertia (10 nb, K, n).

        Computed at the lowest sample rate that the low-pass needs.
        """
        parts = []
        for s, kept in zip(self.stretches, self.kept, strict=True):
            first = s.inner.start % self._sparse  # includes all kept samples
            q, qd, qdd = (x[first :: self._sparse] for x in (s.q, s.qd, s.qdd))
            Y = low_pass(self.arm.regressor(q, qd, qdd), s.cutoff, self._sparse * s.step)
            parts.append(Y[(s.inner.start + kept - first) // self._sparse])
        return np.moveaxis(np.concatenate(parts), 2, 0)

    @property
    def _sparse(self) -> int:
        """Stride of the samples at which the regressor is computed."""
        stretch = self.stretches[0]
        return max(1, int(1 / (SPARSE * stretch.cutoff * stretch.step)))

    def correlations(self, residual: Array) -> dict[str, Array]:
        """Return correlations (n,) of residuals (K, n) with gravity torque and motion, by name."""
        others = {
            'gravity': self._all(lambda s, _: self.arm.gravity_torque(s.q)),
            **dict(zip(OF_JOINTS[OF_MOTION], self.of_joints()[OF_MOTION], strict=True)),
        }
        return {name: _correlation(residual, other) for name, other in others.items()}

    def speeds(self) -> Array:
        """Return the velocities (K, n)."""
        return np.concatenate(
            [s.qd[s.inner][k] for s, k in zip(self.stretches, self.kept, strict=True)]
        )

    def of_load(self, x: Array) -> Array:
        """Return the torque (K, n) of a point mass x = m, c (4,); m may be negative."""
        loaded = self.arm.with_payload(self.link, abs(x[0]), x[1:])
        return float(np.sign(x[0])) * self._all(lambda s, _: self._more(loaded, s))

    def of_load_changes(self, x: Array) -> Array:
        """Return the derivatives (4, K, n) of `of_load` by m and c."""

        def unit(c: Array) -> Array:
            return self.of_load(np.array([1.0, *c]))

        m, c = x[0], x[1:]
        # The torque is quadratic in c: central differences are exact.
        return np.array([unit(c), *(m * (unit(c + e) - unit(c - e)) / 2 for e in np.eye(3))])

    def kept_of(self, x: Array) -> Array:
        """Return the kept samples (K, n) of curves (k, n) of all stretches together."""
        ends = np.cumsum([len(s.t[s.inner]) for s in self.stretches])[:-1]
        parts = zip(np.split(x, ends), self.kept, strict=True)
        return np.concatenate([part[k] for part, k in parts])

    def _all(self, column: Callable[[Stretch, Array], Array]) -> Array:
        parts = zip(self.stretches, self.model, self.kept, strict=True)
        return np.concatenate([s.smoothed(column(s, model))[k] for s, model, k in parts])

    def _left_out(self, s: Stretch) -> Array | float:
        return self.arm.gravity_torque(s.q) if self.gravity_compensated else 0.0

    def _unit_load(self, unknown: int, s: Stretch, _: Array) -> Array:
        """Return the torque of 1 kg at the link's origin, or of 1 kg m along one of its axes."""
        at_origin = self.arm.with_payload(self.link, 1.0)
        if unknown == 0:
            return self._more(at_origin, s)
        e = np.eye(3)[unknown - 1]
        # Zero tensor about the link's origin: m (e.e 1 - e e^T) + I_com = 0.
        first_moment = self.arm.with_payload(self.link, 1.0, e, np.outer(e, e) - np.eye(3))
        return self._more(first_moment, s) - self._more(at_origin, s)

    def _more(self, loaded: Dynamics, s: Stretch) -> Array:
        state = s.q, s.qd, s.qdd
        return np.asarray(loaded.inverse_dynamics(*state) - self.arm.inverse_dynamics(*state))

    def _unit_gravity(self, direction: Array, s: Stretch, _: Array) -> Array:
        if self.gravity_compensated:  # no effect on the efforts
            return np.zeros_like(s.q)
        turned = self.arm.with_gravity(self.arm.model.gravity + direction)
        return np.asarray(turned.gravity_torque(s.q) - self.arm.gravity_torque(s.q))


def _correlation(x: Array, y: Array) -> Array:
    """Return Pearson's coefficient (n,) of each column; NaN where one of the two is constant."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    sizes = np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0))
    with np.errstate(divide='ignore', invalid='ignore'):
        return np.asarray(np.where(sizes > 0, (x * y).sum(axis=0) / sizes, np.nan))
