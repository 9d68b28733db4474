# SPDX-License-Identifier: Apache-2.0
"""Measurements of a simulated arm: encoders, velocities and efforts with errors.

    sensors = Sensors(position_resolution=encoder_resolution(14), velocity='differentiated')
    sensing = Sensing(model, sensors, period=1e-3, seeds=[0])
    measured = sensing.read(q, qd, effort)  # the next samples

In the order in which they act on a sample that is published at time t:

1. delay: the values are those of t - latency - U, U uniform in [0, jitter], interpolated between
   samples; the effort is older by effort_delay. The stamp of the sample is t, the time of
   publication, as of a driver whose hardware has no time stamps;
2. position: white noise, then rounding to the encoder's resolution;
3. velocity: the true one with white noise, or the difference quotient of measured positions;
   either with a first-order low-pass;
4. effort: an offset, and noise with a first-order spectrum of given bandwidth.

Each arm has its own seed. The same seed gives the same errors, for any number of samples per call.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import ArrayLike

from robot_dynamics.common.settings import (
    EFFORT,
    GAIN,
    LOWEST_RATE,
    RATE,
    checked,
    joint_setting,
    setting,
)
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.simulation.argument_checks import low_pass_share

AT_ONCE = 256  # samples of noise drawn at a time


@dataclass(frozen=True)
class Sensors:
    """Errors of the sensors; one number for all joints, or one each. By default there are none."""

    position_resolution: ArrayLike = joint_setting(
        0.0,
        'Resolution of the encoders',
        'rad or m',
        (0.0, 1.0),
        zero='exact',
        note='An encoder of k bits per turn has 2 pi / 2^k.',
    )
    position_noise: ArrayLike = joint_setting(
        0.0,
        'Standard deviation of the noise of positions, before rounding',
        'rad or m',
        (0.0, 1.0),
    )
    velocity: str = setting(
        'measured',
        'Velocities: measured (with noise), or differentiated (difference quotients of the '
        'measured positions over one step)',
        choices=('measured', 'differentiated'),
    )
    velocity_noise: ArrayLike = joint_setting(
        0.0, 'Standard deviation of the noise of measured velocities', 'rad/s or m/s', GAIN
    )
    velocity_cutoff: ArrayLike = joint_setting(
        math.inf,
        'Cut-off frequency of the low-pass of velocities',
        'Hz',
        RATE,
        LOWEST_RATE,
        zero='none',
    )
    effort_noise: ArrayLike = joint_setting(
        0.0, 'Standard deviation of the noise of efforts', 'N m or N', EFFORT
    )
    effort_bandwidth: ArrayLike = joint_setting(
        math.inf, 'Bandwidth of that noise', 'Hz', RATE, LOWEST_RATE, zero='white noise'
    )
    effort_offset: ArrayLike = joint_setting(
        0.0, 'Offset of the measured efforts alone', 'N m or N', (-EFFORT[1], EFFORT[1])
    )
    effort_delay: float = setting(
        0.0, 'Age of the effort beyond that of the position of the same message', 's', (0.0, 1.0)
    )
    latency: float = setting(
        0.0, 'Age of the values of joint_states at the time of their stamp', 's', (0.0, 1.0)
    )
    jitter: float = setting(
        0.0, 'Random part of that age, uniform from 0 to this', 's', (0.0, 1.0)
    )


class Measured(NamedTuple):
    """Measurements, each of the shape of the true values."""

    q: Array
    qd: Array
    effort: Array


def encoder_resolution(bits: ArrayLike) -> Array:
    """Return the resolution [rad] of an encoder with 2**bits steps per turn of the joint."""
    return np.asarray(2 * np.pi / 2.0 ** np.asarray(bits, dtype=float))


class Sensing:
    """The sensors of a row of arms of one model, sampled at one rate.

    Attributes:
        exact: whether the measurements are the true values.
    """

    def __init__(
        self, model: RobotModel, sensors: Sensors, period: float, seeds: Sequence[int] = (0,)
    ):
        """Check the settings.

        Args:
            model: of the arms.
            sensors: the errors.
            period: between samples, s.
            seeds: of the random numbers of each arm, integers of 0 or more.

        Raises:
            ModelError: a setting is out of range, or neither a number nor (n,).
        """
        self.period, self._seeds = period, tuple(seeds)
        self._shape = len(self._seeds), model.n
        given = checked(sensors, model.n)
        resolution = given.position_resolution
        self._coarse, self._rounds = resolution > 0, bool(resolution.any())
        self._step = np.where(self._coarse, resolution, 1.0)
        self._position_noise, self._velocity_noise = given.position_noise, given.velocity_noise
        self._effort_noise, self._offset = given.effort_noise, given.effort_offset
        self._velocity_share = low_pass_share(given.velocity_cutoff, period)
        self._smooths = bool((self._velocity_share < 1).any())
        self._effort_share = low_pass_share(given.effort_bandwidth, period)
        self._differentiated = sensors.velocity == 'differentiated'
        self._latency, self._jitter = sensors.latency / period, sensors.jitter / period
        self._effort_delay = sensors.effort_delay / period
        self._past = math.ceil(self._latency + self._jitter + self._effort_delay) + 1
        noise = self._position_noise, self._velocity_noise, self._effort_noise, self._offset
        self.exact = self._past == 1 and not (
            self._differentiated or self._rounds or self._smooths or any(x.any() for x in noise)
        )
        self.reset()

    def reset(self) -> None:
        """Begin anew: the next sample is the first, with the same random numbers."""
        n = self._shape[1]
        streams = [SeedSequence(seed).spawn(4) for seed in self._seeds]
        position, velocity, effort, self._ages = (
            [default_rng(stream) for stream in kind] for kind in zip(*streams, strict=True)
        )
        self._position_errors = _Noise(position, self._position_noise, np.ones(n))
        self._velocity_errors = _Noise(velocity, self._velocity_noise, np.ones(n))
        self._effort_errors = _Noise(effort, self._effort_noise, self._effort_share)
        self._history: Array | None = None  # q, qd, effort: (past, N, 3n)
        self._last_q: Array | None = None
        self._qd: Array | None = None

    def read(self, q: ArrayLike, qd: ArrayLike, effort: ArrayLike) -> Measured:
        """Return the next measurements, (k, N, n) each.

        Args:
            q: (k, N, n) true positions at the next k times, rad or m; (N, n) for one time.
            qd: likewise, true velocities.
            effort: likewise, efforts as the drives report them.
        """
        true: Iterable[Array] = [np.asarray(x, dtype=float) for x in (q, qd, effort)]
        if np.ndim(q) == 2:
            return Measured(*(x[0] for x in self.read(*(x[None] for x in true))))
        if self._past > 1:
            true = self._delayed(*true)
        q_, qd_, effort_ = true
        position = self._encoded(q_)
        measured_effort = self._effort_errors.added_to(effort_) + self._offset
        return Measured(position, self._velocity(position, q_, qd_), measured_effort)

    # -- delay ----------------------------------------------------------------------------------

    def _delayed(self, q: Array, qd: Array, effort: Array) -> Iterable[Array]:
        """Return the values at the times of measurement."""
        true = np.concatenate((q, qd, effort), axis=-1)
        if self._history is None:
            # Before the first sample the arm is where it starts.
            self._history = np.repeat(true[:1], self._past, axis=0)
        path = np.concatenate((self._history, true))
        self._history = path[-self._past :]
        now = np.arange(self._past, len(path))[:, None]
        age = np.array([[self._latency]])
        if self._jitter:
            ages = np.stack([generator.random(len(q)) for generator in self._ages], axis=-1)
            age = age + self._jitter * ages
        late = later = aged(path, now, age)
        if self._effort_delay:
            later = aged(path, now, age + self._effort_delay)
        n = q.shape[-1]
        return late[..., :n], late[..., n : 2 * n], later[..., 2 * n :]

    # -- positions and velocities -----------------------------------------------------------------

    def _encoded(self, q: Array) -> Array:
        q = self._position_errors.added_to(q)
        if not self._rounds:
            return q
        return np.where(self._coarse, np.rint(q / self._step) * self._step, q)

    def _velocity(self, position: Array, q: Array, qd: Array) -> Array:
        if self._differentiated:
            if self._last_q is None:
                # The first quotient is that of a motion at constant velocity.
                self._last_q = position[0] - self.period * qd[0]
            before = np.concatenate((self._last_q[None], position[:-1]))
            qd = (position - before) / self.period
            self._last_q = position[-1].copy()
        else:
            qd = self._velocity_errors.added_to(qd)
        if not self._smooths:
            return qd
        start = qd[0] if self._qd is None else self._qd
        qd = low_pass(qd, start, self._velocity_share)
        self._qd = qd[-1].copy()
        return qd


class _Noise:
    """Noise of a row of arms with a first-order spectrum, drawn in blocks."""

    def __init__(self, generators: Sequence[Generator], sigma: Array, share: Array):
        """Set the standard deviations (n,), and the shares (n,) of the low-pass; 1: white."""
        self._generators, self._sigma, self._share = generators, sigma, share
        self._silent, self._white = not sigma.any(), bool((share == 1).all())
        # x' = (1 - a) x + sqrt(1 - (1 - a)^2) w has the variance of w
        self._gain = np.sqrt(1 - (1 - share) ** 2) / share
        self._block, self._used = np.empty((0, len(generators), len(sigma))), 0
        self._last: Array | None = None

    def added_to(self, x: Array) -> Array:
        """Return x (k, N, n) with the next noise."""
        if self._silent:
            return x
        missing = len(x) - (len(self._block) - self._used)
        if missing > 0:
            more = self._drawn(max(missing, AT_ONCE))
            self._block, self._used = np.concatenate([self._block[self._used :], more]), 0
        self._used += len(x)
        return np.asarray(x + self._block[self._used - len(x) : self._used])

    def _drawn(self, count: int) -> Array:
        if self._last is None and not self._white:
            self._last = self._normal(1)[0]  # stationary from the first sample on
        noise = self._normal(count)
        if self._last is not None:
            noise = low_pass(self._gain * noise, self._last, self._share)
            self._last = noise[-1]
        return np.asarray(self._sigma * noise)

    def _normal(self, count: int) -> Array:
        """Return white noise (count, N, n) of variance 1."""
        drawn = [g.standard_normal((count, len(self._sigma))) for g in self._generators]
        return np.stack(drawn, axis=1)


def low_pass(u: Array, start: Array, share: Array) -> Array:
    """Return x (k, ..., n) with x_k = (1 - a) x_(k-1) + a u_k and x_(-1) = start (..., n)."""
    if len(u) == 1:
        return np.asarray((1 - share) * start + share * u)
    # Imported here: it takes longer than the other imports of this module.
    from scipy.signal import lfilter

    x = np.empty_like(u)
    for j, a in enumerate(np.broadcast_to(share, u.shape[-1:])):
        x[..., j], _ = lfilter(
            [a], [1.0, a - 1], u[..., j], axis=0, zi=(1 - a) * start[..., j][None]
        )
    return x


def aged(path: Array, now: Array, age: Array) -> Array:
    """Return the rows of path (m, N, n) at the indices now - age, linear between rows.

    Args:
        path: values over time.
        now: (k, 1) indices, integers.
        age: (k, N) or (1, 1), 0 or more.
    """
    whole = np.ceil(age)
    share = (whole - age)[..., None]  # of the later row
    before = now - whole.astype(int)
    arms = np.arange(path.shape[1])
    after = np.minimum(before + 1, len(path) - 1)
    return np.asarray((1 - share) * path[before, arms] + share * path[after, arms])
