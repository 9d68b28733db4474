# SPDX-License-Identifier: Apache-2.0
"""Differentiation and low-pass filters of measurements.

JointState has no acceleration, and some drives measure no velocity. A difference quotient
amplifies noise by 1/dt; the low-pass attenuates it at the cost of a delay of 1 / (2 pi f_c), 8 ms
at 20 Hz.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.spatial import Array

TWO_POLES = 1 / math.sqrt(math.sqrt(2.0) - 1.0)  # rate of each of two poles in that of both


class AccelerationFilter:
    """Estimate accelerations from a stream of stamped velocities.

    Args:
        cutoff: f_c, Hz, of the low-pass.
        max_gap: s; a longer interval between samples resets the filter.

    Raises:
        ValueError: one of them is not positive.
    """

    def __init__(self, *, cutoff: float = 20.0, max_gap: float = 0.1):
        for name, value in (('cutoff', cutoff), ('max_gap', max_gap)):
            if not value > 0:
                raise ValueError(f'{name} is {value}; it must be positive')
        self.cutoff = cutoff
        self.max_gap = max_gap
        self.reset()

    def reset(self) -> None:
        """Discard all samples."""
        self._stamp: float | None = None
        self._qd: Array | None = None
        self._qdd: Array | None = None

    def update(self, stamp: float, qd: ArrayLike) -> Array | None:
        """Return the acceleration estimate (n,), or None until two samples give one.

        A repeated stamp returns the last estimate. A decreasing stamp, a gap, another number of
        joints, or a value or an estimate that is not finite resets the filter.

        Args:
            stamp: time of the sample, s.
            qd: (n,) measured velocities.

        Raises:
            ShapeError: qd is not a row of numbers.
        """
        qd = np.array(qd, dtype=float)
        if qd.ndim != 1:
            raise ShapeError(f'qd has shape {qd.shape}; it must be (n,)')
        if not all(map(math.isfinite, (*qd.tolist(), stamp))):
            self.reset()
            return None
        if self._stamp is None or self._qd is None:
            self._stamp, self._qd = stamp, qd
            return None
        dt = stamp - self._stamp
        if dt == 0:
            return None if self._qdd is None else self._qdd.copy()
        if dt < 0 or dt > self.max_gap or qd.shape != self._qd.shape:
            self.reset()
            self._stamp, self._qd = stamp, qd
            return None
        with np.errstate(over='ignore', invalid='ignore'):
            quotient = (qd - self._qd) / dt
            before = quotient if self._qdd is None else self._qdd
            # y_k = y_(k-1) + (1 - exp(-2 pi f_c dt)) (x_k - y_(k-1)): exact for any spacing
            qdd = before - math.expm1(-2 * math.pi * self.cutoff * dt) * (quotient - before)
        self._stamp, self._qd = stamp, qd
        self._qdd = qdd if all(map(math.isfinite, qdd.tolist())) else None
        return None if self._qdd is None else self._qdd.copy()


class VelocityFilter(AccelerationFilter):
    """Estimate velocities from a stream of stamped positions, by the same filter."""


class LowPass:
    """Low-pass of a stream of rows, and the derivative of its result.

    It has two equal poles, so that the derivative of noise is bounded at any rate of samples. The
    delay is 0.2 / f_c.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Discard all samples."""
        self._first: Array | None = None  # result of the first pole
        self._second: Array | None = None

    def update(self, x: ArrayLike, interval: float, cutoff: float) -> tuple[Array, Array] | None:
        """Return the result and its derivative, (n,) each; None of the first sample.

        Args:
            x: (n,) the sample.
            interval: since the sample before, s; it is not used of the first sample.
            cutoff: f_c, where the amplitude is 0.71, Hz.
        """
        x = np.array(x, dtype=float)
        if self._first is None or self._second is None:
            self._first = self._second = x
            return None
        # y_k = y_(k-1) + (1 - exp(-w dt)) (x_k - y_(k-1)), twice: exact for any spacing
        share = -math.expm1(-2 * math.pi * cutoff * TWO_POLES * interval)
        first = self._first + share * (x - self._first)
        second = self._second + share * (first - self._second)
        rate = (second - self._second) / interval
        self._first, self._second = first, second
        return second.copy(), rate
