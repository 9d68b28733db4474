# SPDX-License-Identifier: Apache-2.0
"""Prescribed motion of a base: sines and ramps of its position and orientation.

    cart = PrescribedBaseMotion(
        x=MotionComponent(sines=(Sine(amplitude=0.5, frequency=0.3),)),
        pitch=MotionComponent(ramps=(Ramp(start=1.0, duration=2.0, position=0.17),)),
    )
    Simulator(arm, base_motion=cart)
    cart.motion(t).array()  # (9,) as for `MovingBaseDynamics`

or the same of a YAML file, by `load_base_motion`:

    x:
      sines: [{amplitude: 0.5, frequency: 0.3}]
    pitch:
      ramps: [{start: 1.0, duration: 2.0, position: 0.17}]

The base has the position (x, y, z) and the orientation Rz(yaw) Ry(pitch) Rx(roll) relative to its
pose at zero, in which the gravity vector of the model holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.made_once import made_once
from robot_dynamics.common.settings import POSITION, TIME
from robot_dynamics.common.spatial import Array, rotation_rpy
from robot_dynamics.common.yaml_text import YamlError, is_number, read_yaml, require_known
from robot_dynamics.control.spline import rest_to_rest
from robot_dynamics.core.base_motion import BaseMotion
from robot_dynamics.core.model.robot_model import STANDARD_GRAVITY

FREQUENCY = (1e-6, 1e3)  # Hz
SHORTEST = 1e-3  # s, of a ramp
FULL_TURN = 2 * math.pi  # rad, the largest offset or amplitude of an angle


def _check(name: str, value: Any, bounds: tuple[float, float]) -> None:
    low, high = bounds
    is_real = is_number(value) or isinstance(value, np.number)
    if not (is_real and math.isfinite(value) and low <= value <= high):
        raise ModelError(f'{name} is {value!r}; expected a number in [{low:g}, {high:g}]')


@dataclass(frozen=True)
class Sine:
    """amplitude sin(2 pi frequency t + phase). Raises ModelError for a value out of range."""

    amplitude: float  # m or rad
    frequency: float  # Hz
    phase: float = 0.0  # rad

    def __post_init__(self) -> None:
        _check('amplitude', self.amplitude, POSITION)
        _check('frequency', self.frequency, FREQUENCY)
        _check('phase', self.phase, POSITION)


@dataclass(frozen=True)
class Ramp:
    """Change of the position, or of the velocity, from a time on; exactly one of both is given.

    The position changes smoothly, from rest to rest; the velocity linearly, so that the
    acceleration is constant meanwhile. Raises ModelError for a value out of range.
    """

    start: float  # s
    duration: float  # s
    position: float | None = None  # change, m or rad
    velocity: float | None = None  # change, m/s or rad/s

    def __post_init__(self) -> None:
        _check('start', self.start, TIME)
        _check('duration', self.duration, (SHORTEST, TIME[1]))
        if (self.position is None) == (self.velocity is None):
            raise ModelError(
                f'a ramp has position {self.position} and velocity {self.velocity}; expected one '
                'of both'
            )
        name = 'position' if self.velocity is None else 'velocity'
        _check(name, getattr(self, name), POSITION)


@dataclass(frozen=True)
class MotionComponent:
    """offset + velocity t + sines + ramps. Raises ModelError for a value out of range."""

    offset: float = 0.0  # m or rad
    velocity: float = 0.0  # m/s or rad/s
    sines: tuple[Sine, ...] = ()
    ramps: tuple[Ramp, ...] = ()

    def __post_init__(self) -> None:
        _check('offset', self.offset, POSITION)
        _check('velocity', self.velocity, POSITION)
        # As tuples they are copies.
        object.__setattr__(self, 'sines', tuple(self.sines))
        object.__setattr__(self, 'ramps', tuple(self.ramps))


class Coordinates(NamedTuple):
    """Position (x, y, z), m, and roll, pitch, yaw, rad, of a base, and their derivatives."""

    x: Array  # (..., 6)
    xd: Array
    xdd: Array


@dataclass(frozen=True)
class PrescribedBaseMotion:
    """Motion of a base as a function of time; components without an entry are zero."""

    x: MotionComponent = MotionComponent()
    y: MotionComponent = MotionComponent()
    z: MotionComponent = MotionComponent()
    roll: MotionComponent = MotionComponent()
    pitch: MotionComponent = MotionComponent()
    yaw: MotionComponent = MotionComponent()

    def __post_init__(self) -> None:
        for name in ('roll', 'pitch', 'yaw'):
            one: MotionComponent = getattr(self, name)
            sizes = [('offset', one.offset), *(('amplitude', x.amplitude) for x in one.sines)]
            for what, angle in sizes:
                if abs(angle) > FULL_TURN:
                    raise ModelError(
                        f'{name}: {what} is {angle:g} rad; expected at most one turn, '
                        f'{FULL_TURN:.4g}'
                    )

    def coordinates(self, t: ArrayLike) -> Coordinates:
        """Return the coordinates and their derivatives at times t (...), s."""
        time = np.asarray(t, dtype=float)[..., None]
        offset, velocity = self._line
        x, xd, xdd = offset + velocity * time, velocity + 0.0 * time, np.zeros(6) * time
        for A, kind in ((self._sine_of, self._sines), (self._ramp_of, self._ramps)):
            if len(A):
                added = zip((x, xd, xdd), kind(time), strict=True)
                x, xd, xdd = (total + part @ A for total, part in added)
        return Coordinates(x, xd, xdd)

    def pose(self, t: ArrayLike) -> Array:
        """Return the poses (..., 4, 4) of the base relative to its pose at zero."""
        x = self.coordinates(t).x
        T = np.zeros((*x.shape[:-1], 4, 4))
        T[..., :3, :3] = rotation_rpy(*np.moveaxis(x[..., 3:, None, None], -3, 0))
        T[..., :3, 3], T[..., 3, 3] = x[..., :3], 1.0
        return T

    def twist(self, t: ArrayLike) -> Array:
        """Return (..., 6) the angular and linear velocity in base axes, rad/s and m/s."""
        at = self.coordinates(t)
        return np.concatenate([_angular(at)[0], _in_base_axes(at.x, at.xd[..., :3])], axis=-1)

    def motion(self, t: ArrayLike, gravity: ArrayLike = STANDARD_GRAVITY) -> BaseMotion:
        """Return the motion as it affects torques, at times t (...).

        Args:
            t: s.
            gravity: (3,) gravity vector in the axes of the base at zero, m/s^2.
        """
        at = self.coordinates(t)
        # a = R^T (pdd - g)
        proper = at.xdd[..., :3] - np.asarray(gravity, dtype=float)
        return BaseMotion(*_angular(at), _in_base_axes(at.x, proper))

    @property
    def shortest(self) -> float:
        """The shortest period of a sine or duration of a ramp, s; infinite if there is none."""
        periods = [1 / sine.frequency for one in self._components for sine in one.sines]
        durations = [ramp.duration for one in self._components for ramp in one.ramps]
        return min([*periods, *durations, math.inf])

    # -- sums over sines and ramps, (k,) all components together ------------------------------

    def _sines(self, t: Array) -> tuple[Array, Array, Array]:
        """Return all sines (..., k) of amplitude 1, and their derivatives."""
        W, phase = self._sine_terms
        s, c = np.sin(W * t + phase), np.cos(W * t + phase)
        return s, W * c, -W * W * s

    def _ramps(self, t: Array) -> tuple[Array, Array, Array]:
        """Return all ramps (..., k) of change 1, and their derivatives."""
        start, T, of_velocity = self._ramp_terms
        u = np.clip((t - start) / T, 0.0, 1.0)
        during = (start <= t) & (t < start + T)
        s, sd, sdd = rest_to_rest(u)
        # v = u:   x = T u^2 / 2, and the time since the end
        x = T * u * u / 2 + np.maximum(t - start - T, 0.0)
        return (
            np.where(of_velocity, x, s),
            np.where(of_velocity, u, sd / T),
            np.where(of_velocity, during / T, sdd / T**2),
        )

    @made_once
    def _components(self) -> tuple[MotionComponent, ...]:
        return tuple(getattr(self, item.name) for item in fields(self))

    @made_once
    def _line(self) -> Array:
        return np.array([[one.offset, one.velocity] for one in self._components]).T

    @made_once
    def _sine_terms(self) -> Array:
        rows = [(2 * np.pi * s.frequency, s.phase) for one in self._components for s in one.sines]
        return np.array(rows).reshape(-1, 2).T

    @made_once
    def _sine_of(self) -> Array:
        """The amplitudes (k, 6)."""
        return _placed([[s.amplitude for s in one.sines] for one in self._components])

    @made_once
    def _ramp_terms(self) -> Array:
        rows = [
            (r.start, r.duration, r.velocity is not None)
            for one in self._components
            for r in one.ramps
        ]
        return np.array(rows, dtype=float).reshape(-1, 3).T

    @made_once
    def _ramp_of(self) -> Array:
        """The changes (k, 6)."""
        return _placed(
            [
                [r.position if r.velocity is None else r.velocity for r in one.ramps]
                for one in self._components
            ]
        )


def _placed(sizes: list[list[Any]]) -> Array:
    """Return sizes of six components as (k, 6), each in the column of its component."""
    rows = [size * np.eye(6)[j] for j, one in enumerate(sizes) for size in one]
    return np.array(rows).reshape(-1, 6)


def _in_base_axes(x: Array, v: Array) -> Array:
    """Return R^T v of vectors (..., 3) at coordinates (..., 6)."""
    roll, pitch, yaw = _parts(x[..., 3:])
    v_x, v_y, v_z = _parts(v)
    # R^T = Rx^T Ry^T Rz^T
    v_x, v_y = _turned(v_x, v_y, yaw)
    v_z, v_x = _turned(v_z, v_x, pitch)
    v_y, v_z = _turned(v_y, v_z, roll)
    return _joined(v_x, v_y, v_z)


# `moveaxis` and `stack` of NumPy would take most of the time of a step.


def _parts(v: Array) -> tuple[Array, Array, Array]:
    """Return the components (...) of vectors (..., 3)."""
    return v[..., 0], v[..., 1], v[..., 2]


def _joined(x: Array, y: Array, z: Array) -> Array:
    """Return vectors (..., 3) of components (...)."""
    v = np.empty((*np.shape(x), 3))
    v[..., 0], v[..., 1], v[..., 2] = x, y, z
    return v


def _turned(a: Array, b: Array, angle: Array) -> tuple[Array, Array]:
    """Return the components (a, b) of a vector in axes that are turned from a to b."""
    c, s = np.cos(angle), np.sin(angle)
    return c * a + s * b, c * b - s * a


def _angular(at: Coordinates) -> tuple[Array, Array]:
    """Return the angular velocity and acceleration (..., 3) in base axes."""
    r, p, _ = _parts(at.x[..., 3:])
    rd, pd, yd = _parts(at.xd[..., 3:])
    rdd, pdd, ydd = _parts(at.xdd[..., 3:])
    sr, cr, sp, cp = np.sin(r), np.cos(r), np.sin(p), np.cos(p)
    # w = (rd, 0, 0) + Rx^T ((0, pd, 0) + Ry^T (0, 0, yd));  v: z before the roll
    v, vd = cp * yd, cp * ydd - sp * pd * yd
    w = rd - sp * yd, cr * pd + sr * v, cr * v - sr * pd
    wd = (
        rdd - sp * ydd - cp * pd * yd,
        cr * pdd + sr * vd + rd * w[2],
        cr * vd - sr * pdd - rd * w[1],
    )
    return _joined(*w), _joined(*wd)


# -- file -----------------------------------------------------------------------------------------

COMPONENTS = tuple(item.name for item in fields(PrescribedBaseMotion))


def load_base_motion(file: str | Path) -> PrescribedBaseMotion:
    """Return the motion of a YAML file.

    Its entries are x, y, z, roll, pitch and yaw with the attributes of `MotionComponent`, whose
    lists have those of `Sine` and `Ramp`.

    Raises:
        ModelError: the file cannot be read, or is invalid; the message names file and entry.
    """
    try:
        content = read_yaml(file)
        require_known('the file', content, COMPONENTS)
        return PrescribedBaseMotion(
            **{name: _component(name, entry) for name, entry in content.items()}
        )
    except OSError as error:
        raise ModelError(f'{file}: {error.strerror}') from error
    except (YamlError, ModelError) as error:
        raise ModelError(f'{file}: {error}') from error


def _component(name: str, entry: Any) -> MotionComponent:
    given = _known(name, MotionComponent, entry)
    for key, kind in (('sines', Sine), ('ramps', Ramp)):
        rows = given.get(key, [])
        if not isinstance(rows, list):
            raise ModelError(f'{name}: {key} is {rows!r}; expected a list of entries')
        given[key] = tuple(_made(f'{name}: {key}[{k}]', kind, row) for k, row in enumerate(rows))
    made: MotionComponent = _made(name, MotionComponent, given)
    return made


def _known(name: str, kind: Any, entry: Any) -> dict[str, Any]:
    require_known(name, entry, [item.name for item in fields(kind)])
    return dict(entry)


def _made(name: str, kind: Any, entry: Mapping[str, Any]) -> Any:
    """Return an object of a kind. Raises ModelError, which names the entry."""
    given = _known(name, kind, entry)
    needed = {Sine: ('amplitude', 'frequency'), Ramp: ('start', 'duration')}.get(kind, ())
    if missing := [key for key in needed if key not in given]:
        raise ModelError(f'{name} has no {missing[0]}')
    try:
        return kind(**given)
    except ModelError as error:
        raise ModelError(f'{name}: {error}') from error
