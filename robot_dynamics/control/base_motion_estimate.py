# SPDX-License-Identifier: Apache-2.0
"""Motion of the base at the times of joint states, from stamped samples of it.

Between two samples the motion is interpolated; after the last one it is held. Samples that are too
old fade to a base at rest, and samples that return fade in: the motion has no jump where they stop
or return.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.settings import setting
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.core.base_motion import BaseMotion

FIXED, TILT = 'none', 'tilt'
SOURCES = (FIXED, 'imu', 'odometry', 'command')
FADE = 0.2  # s
KEPT = SECOND  # ns of samples, for joint states that are late or samples that are early


@dataclass(frozen=True)
class BaseMotionSettings:
    """Where the motion of the base comes from, and how it is used."""

    source: str = setting(
        FIXED,
        'Where the motion of the base comes from: none (the base is fixed), imu '
        '(sensor_msgs/Imu), odometry (nav_msgs/Odometry), command (geometry_msgs/AccelStamped and '
        'TwistStamped of a controller of the base)',
        choices=SOURCES,
    )
    low_pass: float = setting(
        15.0,
        'Cut-off frequency of the low-pass of imu and odometry, which delays them by 0.2 of its '
        'period: about 5 for a ship, 15 for a cart, 40 for a torso',
        'Hz',
        (0.1, 1000.0),
    )
    age_limit: float = setting(
        0.05,
        'Largest age of the motion at a joint state, by their stamps, and largest interval '
        'between two of its messages; older motions fade to the fallback',
        's',
        (1e-3, 10.0),
    )
    fallback: str = setting(
        TILT,
        'Base at rest that is used without a motion: tilt (in the last attitude that was '
        'received, else as gravity), gravity (that of gravity and base_orientation)',
        choices=(TILT, 'gravity'),
    )


class MotionSample(NamedTuple):
    """Motion of the base at one time."""

    stamp: int  # ns
    motion: Array  # (9,) as for `MovingBaseDynamics`
    weight: Array | None = None  # (3,) gravity vector in base axes; None without an attitude


class BaseMotionEstimate:
    """Motion of the base at the stamps of joint states.

    Attributes:
        settings: may be replaced at any time.
        lost: why samples are not used at the last stamp, or ''.
        fading: whether the last motion was a mixture.
    """

    def __init__(self, settings: BaseMotionSettings):
        """Begin without samples."""
        self.settings = settings
        self.restart()

    def restart(self) -> None:
        """Drop all samples; the next motion is not faded."""
        self._samples: deque[MotionSample] = deque()
        self._weight: Array | None = None  # of the last sample with an attitude
        self._rest: Array | None = None  # gravity vector in base axes of the tilt
        self.lost, self.fading = '', False
        self._last: tuple[int, Array] | None = None  # stamp [ns] and motion
        self._from = ''  # where it was from: samples, or a fallback
        self._offset, self._since = np.zeros(9), 0  # of the motion at the last change, stamp [ns]

    @property
    def is_known(self) -> bool:
        """Whether the last motion was that of samples alone."""
        return not (self.lost or self.fading)

    @property
    def fallback(self) -> str:
        """Name of the base at rest that is used without samples."""
        return 'gravity' if self._tilt() is None else TILT

    def add(self, sample: MotionSample) -> None:
        """Add a sample; the last one is replaced by one with the same stamp.

        Samples before a gap and before a step back in time are dropped.
        """
        samples, stamp = self._samples, sample.stamp
        if samples:
            step = stamp - samples[-1].stamp
            if step == 0:
                samples.pop()
            elif not 0 < step <= self.settings.age_limit * SECOND:
                samples.clear()
        samples.append(sample._replace(motion=np.array(sample.motion)))
        while stamp - samples[0].stamp > KEPT:
            samples.popleft()
        if sample.weight is not None:
            self._weight = np.array(sample.weight)

    def at(self, stamp: int, gravity: Array) -> Array:
        """Return the motion (9,) at the stamp of a joint state.

        Args:
            stamp: ns; where it is earlier than the one before, nothing is faded.
            gravity: (3,) gravity vector in the base frame, of a base that is fixed.
        """
        live, before = self._live(stamp), self._from
        self._lean(stamp, live is not None)
        wanted = self._at_rest(gravity) if live is None else live
        self._from = 'samples' if live is not None else self.fallback
        if self._last is not None and stamp < self._last[0]:
            self._last, self._offset = None, np.zeros(9)
        if self._last is not None and self._from != before:
            self._offset, self._since = self._last[1] - wanted, stamp
        left = 1.0 - (stamp - self._since) / (FADE * SECOND)
        self.fading = left > 0.0 and bool(self._offset.any())
        motion = wanted + min(left, 1.0) * self._offset if self.fading else wanted
        self._last = stamp, motion
        return motion.copy()

    def _lean(self, stamp: int, known: bool) -> None:
        """Use the last attitude; where samples are not used, approach it, without a jump."""
        before = self._last
        if known or self._weight is None or self._rest is None or before is None:
            self._rest = self._weight
        else:
            share = -math.expm1(-max(stamp - before[0], 0) / (FADE * SECOND))
            self._rest = self._rest + share * (self._weight - self._rest)

    def _live(self, stamp: int) -> Array | None:
        """Return the motion of the samples at a stamp; None if there is none, and set `lost`."""
        later = None
        for sample in reversed(self._samples):
            if sample.stamp <= stamp:
                return self._between(sample, later, stamp)
            later = sample
        if later is None:
            self._lose('no motion has been received')
            return None
        ahead = (later.stamp - stamp) / SECOND
        if ahead > self.settings.age_limit:
            self._lose('ahead of the joint states: another clock', ahead)
            return None
        self.lost = ''
        return later.motion

    def _between(
        self, before: MotionSample, later: MotionSample | None, stamp: int
    ) -> Array | None:
        age, limit = (stamp - before.stamp) / SECOND, self.settings.age_limit
        if later is None and age > limit:
            expected = f'expected at most {limit:g} s (base_motion.age_limit)'
            self._lose(f'older than the joint state; {expected}', age)
            return None
        self.lost = ''
        if later is None:
            return before.motion
        share = age * SECOND / (later.stamp - before.stamp)
        return np.asarray(before.motion + share * (later.motion - before.motion))

    def _lose(self, why: str, seconds: float | None = None) -> None:
        """Set `lost`; the time is that at which it began."""
        if not self.lost.endswith(why):
            self.lost = why if seconds is None else f'the last motion is {seconds:.3g} s {why}'

    def _tilt(self) -> Array | None:
        return self._weight if self.settings.fallback == TILT else None

    def _at_rest(self, gravity: Array) -> Array:
        weight = None if self._tilt() is None else self._rest
        return BaseMotion.at_rest(gravity=gravity if weight is None else weight).array()
