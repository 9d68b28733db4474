# SPDX-License-Identifier: Apache-2.0
"""Payloads given at run time, as scalars.

`RobotModel.with_payload` returns another robot, which needs other compiled programs. For a payload
that changes while the robot works, the ten mass moments of the body that carries it can be inputs
of one program instead: `with_payload` and `carrier_moments` compute them once, and `with_carrier`
puts them into the canonical tree as recording scalars.
"""

from __future__ import annotations

from dataclasses import replace

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.scalars import Scalar
from robot_dynamics.core.algorithms.composite_bodies import moments_in_parent, total_moments
from robot_dynamics.core.algorithms.joint_frame import JointFrame
from robot_dynamics.core.algorithms.vectors import Vector
from robot_dynamics.core.model.canonical import CanonicalTree, MassMoments


def with_payload(tree: CanonicalTree, frame: str, parameters: Vector) -> CanonicalTree:
    """Return the tree with a body attached to a frame.

    Args:
        tree: the robot.
        frame: name of the frame that carries the payload.
        parameters: (10) scalars m, m c_x, m c_y, m c_z, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz, the
            tensor about the frame's origin, in its axes.

    Raises:
        FrameNotFound: the robot has no frame of that name.
        ModelError: the frame is fixed to the base, where a payload has no effect.
    """
    place = tree.frame(frame)
    if place.body < 0:
        raise ModelError(f'payload on {frame!r}: it is fixed to the base; name a frame that moves')
    # A frame fixed in a body is treated as a prismatic joint at position 0.
    fixed = JointFrame(False, place.R, 1.0, 0.0, place.p)
    payload = moments_in_parent(fixed, _moments(parameters))
    bodies = list(tree.bodies)
    bodies[place.body] = total_moments(bodies[place.body], payload)
    return replace(tree, bodies=tuple(bodies))


def carrier_moments(tree: CanonicalTree, frame: str) -> list[Scalar]:
    """Return m, h and the upper triangle of Sigma (10) of the body that a frame is fixed in."""
    m, h, Sigma = tree.bodies[tree.frame(frame).body]
    return [m, *h, *(Sigma[i][j] for i in range(3) for j in range(i, 3))]


def with_carrier(tree: CanonicalTree, frame: str, moments: Vector) -> CanonicalTree:
    """Return the tree with these moments (10) of the body that a frame is fixed in."""
    m, h_x, h_y, h_z, xx, xy, xz, yy, yz, zz = moments
    bodies = list(tree.bodies)
    Sigma = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    bodies[tree.frame(frame).body] = MassMoments(m, [h_x, h_y, h_z], Sigma)
    return replace(tree, bodies=tuple(bodies))


def _moments(parameters: Vector) -> MassMoments:
    """Return the mass moments of ten inertial parameters."""
    m, h_x, h_y, h_z, xx, xy, xz, yy, yz, zz = parameters
    # Sigma = tr(I)/2 1 - I
    half = 0.5 * (xx + yy + zz)
    Sigma = [[half - xx, -xy, -xz], [-xy, half - yy, -yz], [-xz, -yz, half - zz]]
    return MassMoments(m, [h_x, h_y, h_z], Sigma)
