"""Inertia and mobility as ellipsoids.

A body's inertia is drawn as the uniform solid that has it: an ellipsoid or a box of the same mass
and the same tensor, to be laid over the picture of the link. One that sticks out far tells of a
wrong tensor. The two ellipsoids at a tip show what the arm can do there: how fast it moves in each
direction when its joints move at unit speed, and how easily a force moves it.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.model.inertia import Inertial, second_moment, transformed
from robot_dynamics.spatial import Array, pose
from robot_dynamics.visualization.shapes import Box, Ellipsoid, principal_axes


def inertia_ellipsoid(body: Inertial, T: Array) -> Ellipsoid | None:
    """Return the uniform ellipsoid with the mass and tensor of a body, None without mass.

    Args:
        body: its inertia in its own frame.
        T: (4, 4) pose of that frame in the base.
    """
    if body.mass == 0:
        return None
    # sigma = m a^2 / 5
    place, sigma = _principal(body, T)
    return Ellipsoid(place, np.sqrt(5 * sigma / body.mass))


def inertia_box(body: Inertial, T: Array) -> Box | None:
    """Return the uniform box with the mass and tensor of a body; arguments as above."""
    if body.mass == 0:
        return None
    # sigma = m l^2 / 12
    place, sigma = _principal(body, T)
    return Box(place, np.sqrt(12 * sigma / body.mass))


def manipulability_ellipsoid(J: Array, tip: Array, scale: float) -> Ellipsoid:
    """Return the velocities of the tip that joint velocities of unit norm, |qd| = 1, give.

    Its half-axes are the singular values of the translational Jacobian J_v; flat means that the
    tip cannot move in a direction. Where some joints turn and others slide, the norm of qd adds
    up (rad/s)^2 and (m/s)^2.

    Args:
        J: (6, n) Jacobian of the tip, angular part first.
        tip: (3,) its position.
        scale: m per m/s.

    Source: Yoshikawa, "Manipulability of robotic mechanisms", Int. J. Robotics Research 4(2),
    1985.
    """
    # v^T (J_v J_v^T)^-1 v = 1
    return _ellipsoid(J[3:] @ J[3:].T, tip, scale)


def tip_inertia_ellipsoid(J: Array, M: Array, tip: Array, scale: float) -> Ellipsoid:
    """Return the ellipsoid of the inertia that a force at the tip feels.

    A half-axis is 1/sqrt(m), m the mass [kg] that the tip seems to have in that direction: long
    where it is moved easily, flat where the arm is singular and cannot be moved at all.

    Args:
        J: (6, n) Jacobian of the tip, angular part first.
        M: (n, n) mass matrix, positive definite.
        tip: (3,) its position.
        scale: m per kg^(-1/2).

    Source: Asada, "A geometrical representation of manipulator dynamics and its application to
    arm design", J. Dynamic Systems, Measurement, and Control 105(3), 1983.
    """
    # v^T Lambda v = 1,   Lambda^-1 = J_v M^-1 J_v^T
    return _ellipsoid(J[3:] @ np.linalg.solve(M, J[3:].T), tip, scale)


def _principal(body: Inertial, T: Array) -> tuple[Array, Array]:
    """Return the pose of a body's principal axes, and its second moments (3,) along them."""
    seen = transformed(body, T)
    sigma, R = principal_axes(second_moment(seen.inertia_com))
    # Negative for a tensor that no body can have: as flat as can be drawn.
    return pose(R, seen.com), np.maximum(sigma, 0.0)


def _ellipsoid(A: Array, centre: Array, scale: float) -> Ellipsoid:
    """Return the ellipsoid v^T A^-1 v = 1 of a semidefinite matrix: half-axes sqrt(lambda)."""
    values, R = principal_axes(A)
    return Ellipsoid(pose(R, centre), scale * np.sqrt(np.maximum(values, 0.0)))
