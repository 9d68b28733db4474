# SPDX-License-Identifier: Apache-2.0
"""Numerical values of URDF elements: poses, axes, inertias, friction and limits.

Each function takes a `urdf_parser_py` object of a robot that `read_urdf` has checked.

Source: the URDF XML specification, wiki.ros.org/urdf/XML, pages "link" and "joint".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array, pose, rotation_rpy
from robot_dynamics.core.model.inertia import Inertial, transformed
from robot_dynamics.urdf.rules import RATES


class Limits(NamedTuple):
    """Limits of one joint, infinite where it has none."""

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf
    acceleration: float = np.inf
    deceleration: float = np.inf
    jerk: float = np.inf


def origin_pose(element: Any) -> Array:
    """Return the pose (4, 4) of a joint or inertial in its parent frame."""
    return pose(rotation_rpy(*element.origin.rpy), np.array(element.origin.xyz))


def is_revolute(joint: Any) -> bool:
    """Return whether a moving joint is revolute; else it is prismatic."""
    return bool(joint.type != 'prismatic')


def unit_axis(joint: Any) -> Array:
    """Return the unit axis (3,) of a moving joint."""
    axis = np.array(joint.axis)
    return np.asarray(axis / np.linalg.norm(axis))


def link_inertial(link: Any) -> Inertial:
    """Return the inertia of a link in its own frame, zero without <inertial>."""
    given = link.inertial
    if given is None:
        return Inertial()
    tensor = np.array(given.inertia.to_matrix())
    return transformed(Inertial(given.mass, inertia_com=tensor), origin_pose(given))


def joint_friction(joint: Any) -> tuple[float, float]:
    """Return damping [N m s/rad or N s/m] and dry friction [N m or N]."""
    given = joint.dynamics
    return (given.damping, given.friction) if given is not None else (0.0, 0.0)


def joint_armature(joint: Any) -> float:
    """Return the inertia of the rotor seen at the joint [kg m^2 or kg]."""
    return float(joint.dynamics.armature) if joint.dynamics is not None else 0.0


def joint_limits(joint: Any) -> Limits:
    """Return the limits of a moving joint.

    A limit of 0, of the position only if lower and upper are both 0, means unspecified: real
    descriptions contain them for joints that move.
    """
    given = joint.limit
    if given is None:
        return Limits()
    ends = given.lower, given.upper
    if joint.type == 'continuous' or ends == (0, 0):
        ends = -np.inf, np.inf
    sizes = (getattr(given, key) or np.inf for key in ('velocity', 'effort', *RATES))
    return Limits(*ends, *sizes)
