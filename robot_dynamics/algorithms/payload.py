"""A load that is known only at run time, as scalars.

`RobotModel.with_payload` makes another robot, and another program where programs are compiled. For
a load that changes while the robot works, ten moments of the body that carries it can be inputs of
one program instead: `with_payload` and `carrier_moments` find them once, and `with_carrier` puts
them into the canonical tree as recording scalars, which every algorithm carries along.
"""

from __future__ import annotations

from dataclasses import replace

from robot_dynamics.algorithms.composite_bodies import moments_in_parent, total_moments
from robot_dynamics.algorithms.joint_frame import JointFrame
from robot_dynamics.algorithms.vectors import Scalar, Vector
from robot_dynamics.errors import ModelError
from robot_dynamics.model.canonical import CanonicalTree, MassMoments


def with_payload(tree: CanonicalTree, frame: str, parameters: Vector) -> CanonicalTree:
    """Return the tree with a body attached to a frame.

    Args:
        tree: the robot.
        frame: name of the frame that carries the load.
        parameters: (10) scalars m, m c_x, m c_y, m c_z, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz, the
            tensor about the frame's origin, in its axes.

    Raises:
        FrameNotFound: the robot has no frame of that name.
        ModelError: the frame is fixed to the base, where no torque feels a load.
    """
    place = tree.frame(frame)
    if place.body < 0:
        raise ModelError(f'payload on {frame!r}: it is fixed to the base; name a frame that moves')
    # A frame fixed in a body is a joint that never moves.
    fixed = JointFrame(False, place.R, 1.0, 0.0, place.p)
    load = moments_in_parent(fixed, _moments(parameters))
    bodies = list(tree.bodies)
    bodies[place.body] = total_moments(bodies[place.body], load)
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
