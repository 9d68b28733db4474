# SPDX-License-Identifier: Apache-2.0
"""Textbook mechanisms with a kinematic loop, each as a tree and its closure.

    five_bar_linkage     Spong, Hutchinson and Vidyasagar, section 6.4.4, cut at one joint
    slider_crank         crank, rod and a piston on a line

Links of planar mechanisms are slender rods along x; the plane is x-y, with gravity along -y.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import pose
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.core.model.closures import LoopClosure
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.robots import DOWN_Y, X, Z, five_bar


class Linkage(NamedTuple):
    """A mechanism with a kinematic loop."""

    tree: RobotModel
    closures: tuple[LoopClosure, ...]
    near: np.ndarray  # (n,) a posture near a closed one


def five_bar_linkage(
    lengths: tuple[float, float] = (1.0, 0.5),
    com: tuple[float, float, float, float] = (0.5, 0.25, 0.5, 0.5),
    masses: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0),
    inertias: tuple[float, float, float, float] = (1 / 12, 1 / 48, 1 / 12, 1 / 12),
) -> Linkage:
    """Return the linkage of `five_bar` (core.model.robots), a joint per link, a pin at the cut.

    The joints are 'joint1' to 'joint4'; the first two are actuated. The arguments are those of
    `core.model.robots.five_bar`.
    """
    mapped = five_bar(lengths, com, masses, inertias)
    none, unlimited = np.zeros(4), np.full(4, np.inf)
    tree = replace(
        mapped,
        name='five_bar_linkage',
        joint_names=tuple(f'joint{k}' for k in (1, 2, 3, 4)),
        S=np.eye(4),
        s0=none,
        lower=-unlimited,
        upper=unlimited,
        velocity_limit=unlimited,
        acceleration_limit=unlimited,
        deceleration_limit=unlimited,
        jerk_limit=unlimited,
        effort_limit=unlimited,
        viscous=none,
        coulomb=none,
        reflected_inertia=none,
    )
    near = mapped.S @ [0.2, 1.8] + mapped.s0
    return Linkage(tree, (LoopClosure('end3', 'end4'),), near)


def slider_crank(
    crank: float = 0.2, rod_length: float = 0.7, density: float = 2.0, piston: float = 1.5
) -> Linkage:
    """Return a crank about the origin, a rod, and a piston [kg] that slides along x.

    Cut between rod and piston, which meet at x = q of joint 'slide'.
    """
    tree = build_tree(
        'slider_crank',
        [-1, 0, -1],
        [True, True, False],
        [Z, Z, X],
        [np.eye(4), at(crank), np.eye(4)],
        [rod(crank, density), rod(rod_length, density), Inertial(piston, np.zeros(3))],
        joint_names=('crank', 'rod', 'slide'),
        gravity=DOWN_Y,
        frame_names=('base', 'link1', 'link2', 'piston', 'rod_end'),
        frame_body=[-1, 0, 1, 2, 1],
        frame_placement=[*np.tile(np.eye(4), (4, 1, 1)), at(rod_length)],
    )
    return Linkage(
        tree, (LoopClosure('piston', 'rod_end'),), np.array([0.5, -0.6, crank + rod_length])
    )


def rod(length: float, density: float) -> Inertial:
    """Return a slender rod [density in kg/m] from the origin along x."""
    mass = density * length
    # I = m l^2 / 12
    return Inertial(mass, length / 2 * X, np.diag([0.0, 1.0, 1.0]) * mass * length**2 / 12)


def at(x: float) -> np.ndarray:
    """Return the pose (4, 4) of a frame at x [m] on the x axis."""
    return pose(np.eye(3), x * X)
