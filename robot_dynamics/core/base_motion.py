# SPDX-License-Identifier: Apache-2.0
"""Motion of the base, from what sensors measure; and the point where a floor supports it.

All vectors of a motion are in the axes of the base frame. The proper acceleration of a point is
its acceleration less gravity, what an accelerometer measures: 9.81 m/s^2 upwards at rest.

Sources: Lynch and Park 2017, section 8.1; Vukobratović and Borovac, "Zero-moment point: thirty
five years of its life", Int. J. Humanoid Robotics 1(1), 2004.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ModelError, ShapeError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.robot_model import STANDARD_GRAVITY

ALIGNED = np.eye(3)
AT_ORIGIN = np.zeros(3)


class BaseMotion(NamedTuple):
    """Motion of the base as it affects torques; the linear velocity has no effect.

    Attributes:
        angular_velocity: (..., 3) rad/s.
        angular_acceleration: (..., 3) rad/s^2.
        proper_acceleration: (..., 3) of the origin of the base, m/s^2.
    """

    angular_velocity: Any
    angular_acceleration: Any
    proper_acceleration: Any

    def array(self) -> Array:
        """Return the motion as (..., 9), the argument `base` of `MovingBaseDynamics`."""
        parts = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in self))
        return np.concatenate(parts, axis=-1)

    @classmethod
    def at_rest(
        cls, orientation: ArrayLike = ALIGNED, gravity: ArrayLike = STANDARD_GRAVITY
    ) -> BaseMotion:
        """Return the motion of a base at rest, or at a constant velocity.

        Args:
            orientation: (..., 3, 3) R_wb of the base in the world.
            gravity: (3,) gravity vector in the world, m/s^2.

        Raises:
            ModelError: the orientation is no rotation matrix.
            ShapeError: gravity is not (..., 3).
        """
        R = _rotation('orientation', orientation)
        a = -_to_axes(R, _rows('gravity', gravity))
        return cls(np.zeros_like(a), np.zeros_like(a), a)

    @classmethod
    def from_imu(
        cls,
        angular_velocity: ArrayLike,
        proper_acceleration: ArrayLike,
        angular_acceleration: ArrayLike,
        *,
        orientation: ArrayLike = ALIGNED,
        position: ArrayLike = AT_ORIGIN,
    ) -> BaseMotion:
        """Return the motion of the base that an inertial sensor, fixed to it, measures.

        Args:
            angular_velocity: (..., 3) of the gyroscope, in the axes of the sensor, rad/s.
            proper_acceleration: (..., 3) of the accelerometer: 9.81 upwards at rest, m/s^2.
            angular_acceleration: (..., 3) for example differences of the low-passed angular
                velocity, rad/s^2.
            orientation: (3, 3) R_bs of the sensor in the base frame.
            position: (3,) of the sensor in the base frame, m.

        Raises:
            ModelError: the orientation is no rotation matrix.
            ShapeError: a vector is not (..., 3).
        """
        R = _rotation('orientation', orientation)
        w, f, wd = (
            np.einsum('...ij,...j->...i', R, _rows(name, x))
            for name, x in (
                ('angular_velocity', angular_velocity),
                ('proper_acceleration', proper_acceleration),
                ('angular_acceleration', angular_acceleration),
            )
        )
        r = _rows('position', position)
        # a = R f - wd x r - w x (w x r)
        return cls(w, wd, f - np.cross(wd, r) - np.cross(w, np.cross(w, r)))

    @classmethod
    def from_odometry(
        cls,
        twist: ArrayLike,
        twist_rate: ArrayLike,
        attitude: ArrayLike,
        *,
        orientation: ArrayLike = ALIGNED,
        position: ArrayLike = AT_ORIGIN,
        gravity: ArrayLike = STANDARD_GRAVITY,
    ) -> BaseMotion:
        """Return the motion of the base from the velocity of a frame that is fixed to it.

        Args:
            twist: (..., 6) angular and linear velocity of the frame, in its own axes, as in
                `nav_msgs/Odometry`, rad/s and m/s.
            twist_rate: (..., 6) the derivatives of these components, rad/s^2 and m/s^2.
            attitude: (..., 3, 3) R_ws of the frame in the world.
            orientation: (3, 3) R_bs of the frame in the base frame.
            position: (3,) of the frame in the base frame, m.
            gravity: (3,) gravity vector in the world, m/s^2.

        Raises:
            ModelError: attitude or orientation is no rotation matrix.
            ShapeError: twist or twist_rate is not (..., 6), or a vector not (..., 3).
        """
        w, v = np.split(_rows('twist', twist, 6), 2, axis=-1)
        wd, vd = np.split(_rows('twist_rate', twist_rate, 6), 2, axis=-1)
        # f = vd + w x v - R^T g: the axes of the components turn with the frame
        weight = _to_axes(_rotation('attitude', attitude), _rows('gravity', gravity))
        f = vd + np.cross(w, v) - weight
        return cls.from_imu(w, f, wd, orientation=orientation, position=position)


def zero_moment_point(wrench: ArrayLike, height: float = 0.0) -> Array:
    """Return the point of a floor about which a wrench on the robot has no tipping moment.

    Args:
        wrench: (..., 6) of the floor on the robot, about the origin of the base, moment first.
        height: of the floor, z in the base frame, m.

    Returns:
        (..., 2) x and y in the base frame, m; NaN where the force is not upwards.

    Raises:
        ShapeError: the wrench is not (..., 6).
    """
    n_x, n_y, _, f_x, f_y, f_z = np.moveaxis(_rows('wrench', wrench, 6), -1, 0)
    # (n - p x f)_x = (n - p x f)_y = 0 at p = (x, y, height)
    normal = np.where(f_z > 0.0, f_z, np.nan)
    return np.stack([(height * f_x - n_y) / normal, (n_x + height * f_y) / normal], axis=-1)


def _rows(name: str, value: ArrayLike, size: int = 3) -> Array:
    """Return rows of numbers (..., size). Raises ShapeError for others."""
    rows = np.asarray(value, dtype=float)
    if rows.shape[-1:] != (size,):
        raise ShapeError(f'{name} has shape {rows.shape}; it must be (..., {size})')
    return rows


def _to_axes(R: Array, v: Array) -> Array:
    """Return R^T v."""
    return np.asarray(np.einsum('...ji,...j->...i', R, v))


def _rotation(name: str, value: ArrayLike) -> Array:
    """Return rotation matrices (..., 3, 3). Raises ModelError for others."""
    R = np.asarray(value, dtype=float)
    proper = R.shape[-2:] == (3, 3) and bool(
        np.allclose(np.swapaxes(R, -1, -2) @ R, np.eye(3), rtol=0.0, atol=1e-6)
        and np.all(np.linalg.det(R) > 0.0)
    )
    if not proper:
        raise ModelError(f'{name} is {R.tolist()}; expected a rotation matrix (..., 3, 3)')
    return R
