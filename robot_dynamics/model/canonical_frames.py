"""Where to put the frames of a robot so that its equations become short.

Modified Denavit-Hartenberg, with the freedom it leaves used up: z along the joint's axis; x along
the common normal of this axis and the next one outwards, where the origin lies. In a branching
body the child that carries most decides. Then the pose of a frame in its parent's is

    Rx(alpha), p = (a, -d sin(alpha), d cos(alpha)),   followed by the joint's turn about z,

and for the usual parallel or crossing axes most of these numbers are 0 or 1.

Source: Khalil and Dombre, Modeling, Identification and Control of Robots (2002), section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array, inverse_pose, pose, skew

# Axes that include a smaller sine count as parallel where a common normal is sought: its foot
# would lie too far away, and sums over such long arms would lose digits.
NEARLY_PARALLEL = 0.1

# Three axes in a row that meet in one point, but for so much, in metres: the first two meet at the
# origin that they share. It is the third whose pose says by how much it misses that point.
NEARLY_MEETING = 1e-9


def of_parent(frames: Sequence[Array], p: int) -> Array:
    """Return the frame (4, 4) of body p, that of the base for -1."""
    return frames[p] if p >= 0 else np.eye(4)


def canonical_frames(model: RobotModel, tolerance: float) -> list[Array]:
    """Return T_bc (4, 4) of every body: its canonical frame in the model's body frame.

    Axes are parallel, and points coincide, where they do so within `tolerance`.
    """
    frames: list[Array] = []
    for i, child in enumerate(_heaviest_children(model)):
        # The parent's canonical origin, in body i at joint position 0.
        T_ip = inverse_pose(model.placement[i]) @ of_parent(frames, int(model.parent[i]))
        z = model.axis[i]
        x, origin = _axes_to_child(model, i, child, tolerance)
        if not model.revolute[i]:
            # A slide may start anywhere: start it at the parent's origin.
            origin = T_ip[:3, 3]
        else:
            # The point of the axis that is nearest to the parent's origin, if there is nothing to
            # meet elsewhere.
            nearest = z * (z @ T_ip[:3, 3])
            if origin is None or np.linalg.norm(origin - nearest) < NEARLY_MEETING:
                origin = nearest
        frames.append(pose(np.column_stack([x, np.cross(z, x), z]), origin))
    return frames


def _axes_to_child(
    model: RobotModel, i: int, child: int | None, tolerance: float
) -> tuple[Array, Array | None]:
    """Return the x axis (3,) of body i, and its origin where the child's axis decides it."""
    z = model.axis[i]
    if child is None:
        # At a tip: x points to the centre of mass, which leaves one component of h.
        return _normal_to(z, model.com[i], tolerance), None
    z_c = model.placement[child, :3, :3] @ model.axis[child]
    p_c = model.placement[child, :3, 3]
    normal = np.cross(z, z_c)
    sine = np.linalg.norm(normal)
    if sine <= tolerance:
        # Parallel axes: x points from one to the other.
        return _normal_to(z, p_c, tolerance), None
    x = normal / sine
    if sine < NEARLY_PARALLEL or not model.revolute[child]:
        return x, None
    # Foot of the common normal:  p_c = s z + a x + t z_c
    s = np.linalg.solve(np.column_stack([z, x, z_c]), p_c)[0]
    return x, s * z


def _normal_to(z: Array, direction: Array, tolerance: float) -> Array:
    """Return the unit vector along the part of `direction` that is normal to z."""
    part = direction - z * (z @ direction)
    length = np.linalg.norm(part)
    if length > tolerance * max(1.0, float(np.linalg.norm(direction))):
        return np.asarray(part / length)
    return _turn_of_z(z)[:, 0]


def _turn_of_z(axis: Array) -> Array:
    """Return the rotation (3, 3) by the smallest angle that takes z to the unit vector `axis`."""
    cosine = axis[2]
    if cosine < 0:
        # By way of -z, near which the formula below fails.
        return np.asarray(_turn_of_z(-axis) @ np.diag([1.0, -1.0, -1.0]))
    # R = 1 + [v] + [v]^2 / (1 + cos),  v = z x axis
    v = skew(np.cross([0.0, 0.0, 1.0], axis))
    return np.asarray(np.eye(3) + v + v @ v / (1 + cosine))


def _heaviest_children(model: RobotModel) -> list[int | None]:
    """Return for every body the child that carries the most bodies, None at a tip."""
    carried = [1] * model.nb
    children: list[list[int]] = [[] for _ in range(model.nb)]
    for i in reversed(range(model.nb)):
        p = int(model.parent[i])
        if p >= 0:
            carried[p] += carried[i]
            children[p].insert(0, i)
    return [max(mine, key=lambda k: carried[k], default=None) for mine in children]
