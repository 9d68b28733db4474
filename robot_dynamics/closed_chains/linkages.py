"""Textbook mechanisms with a kinematic loop, each as a tree and its closure.

    five_bar_linkage     Spong, Hutchinson and Vidyasagar, section 6.4.4, cut at one joint
    four_bar             crank, coupler and rocker in a vertical plane
    slider_crank         crank, rod and a piston on a line
    spatial_four_bar     crank and rocker about crossed axes, coupler with spherical ends
    bennett              four skew hinges, movable although overconstrained

Links of planar mechanisms are slender rods along x; the plane is x-y, with gravity along -y.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.builder import build_tree
from robot_dynamics.model.closures import LoopClosure
from robot_dynamics.model.inertia import Inertial
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.model.robots import DOWN_Y, X, Z, five_bar
from robot_dynamics.spatial import inverse_pose, pose, rotation_x

Y = np.array([0.0, 1.0, 0.0])


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
    """Return the linkage of `model.robots.five_bar` with a joint per link and a pin at the cut.

    The joints are 'joint1' to 'joint4'; the first two are actuated. The arguments are those of
    `model.robots.five_bar`.
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
        effort_limit=unlimited,
        viscous=none,
        coulomb=none,
        reflected_inertia=none,
    )
    near = mapped.S @ [0.2, 1.8] + mapped.s0
    return Linkage(tree, (LoopClosure('end3', 'end4'),), near)


def four_bar(
    crank: float = 0.3,
    coupler: float = 0.8,
    rocker: float = 0.6,
    ground: float = 0.9,
    density: float = 2.0,
) -> Linkage:
    """Return a four-bar linkage, cut between coupler and rocker.

    Args:
        crank: length of the link that rotates about the origin, m.
        coupler: length of the link at its end, m.
        rocker: length of the link that rotates about (ground, 0), m.
        ground: distance between the two fixed axes, m.
        density: of the rods, kg/m.
    """
    tree = build_tree(
        'four_bar',
        [-1, 0, -1],
        [True] * 3,
        [Z] * 3,
        [np.eye(4), _at(crank), _at(ground)],
        [rod(length, density) for length in (crank, coupler, rocker)],
        joint_names=('crank', 'coupler', 'rocker'),
        gravity=DOWN_Y,
        frame_names=('base', 'link1', 'link2', 'link3', 'coupler_end', 'rocker_end'),
        frame_body=[-1, 0, 1, 2, 1, 2],
        frame_placement=[*np.tile(np.eye(4), (4, 1, 1)), _at(coupler), _at(rocker)],
    )
    return Linkage(tree, (LoopClosure('coupler_end', 'rocker_end'),), np.array([1.0, -0.8, 1.8]))


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
        [np.eye(4), _at(crank), np.eye(4)],
        [rod(crank, density), rod(rod_length, density), Inertial(piston, np.zeros(3))],
        joint_names=('crank', 'rod', 'slide'),
        gravity=DOWN_Y,
        frame_names=('base', 'link1', 'link2', 'piston', 'rod_end'),
        frame_body=[-1, 0, 1, 2, 1],
        frame_placement=[*np.tile(np.eye(4), (4, 1, 1)), _at(rod_length)],
    )
    return Linkage(
        tree, (LoopClosure('piston', 'rod_end'),), np.array([0.5, -0.6, crank + rod_length])
    )


def spatial_four_bar(
    crank: float = 0.25, coupler: float = 0.9, rocker: float = 0.6, mass: float = 1.2
) -> Linkage:
    """Return a crank about z and a rocker about x, connected by a coupler.

    A universal joint, two crossed hinges, connects the coupler to the crank, a ball joint connects
    it to the rocker: mobility 1.

    Args:
        crank: length of the link along x from the origin, m.
        coupler: length of the link along x at its end, m.
        rocker: length of the link along y from (0.8, 0.3, -0.2) m, about x.
        mass: of each link except the cross of the universal joint, kg.
    """
    body = Inertial(mass, 0.4 * X, np.diag([0.01, 0.05, 0.06]))
    swing = Inertial(mass, 0.3 * Y, np.diag([0.04, 0.01, 0.05]))
    tree = build_tree(
        'spatial_four_bar',
        [-1, 0, 1, -1],
        [True] * 4,
        [Z, Z, Y, X],
        [np.eye(4), _at(crank), np.eye(4), pose(np.eye(3), np.array([0.8, 0.3, -0.2]))],
        [body, Inertial(0.02, np.zeros(3), 1e-5 * np.eye(3)), body, swing],
        joint_names=('crank', 'yaw', 'pitch', 'rocker'),
        frame_names=('base', 'link1', 'cross', 'link2', 'link3', 'coupler_end', 'rocker_end'),
        frame_body=[-1, 0, 1, 2, 3, 2, 3],
        frame_placement=[
            *np.tile(np.eye(4), (5, 1, 1)),
            _at(coupler),
            pose(np.eye(3), rocker * Y),
        ],
    )
    return Linkage(
        tree,
        (LoopClosure('coupler_end', 'rocker_end', 'ball'),),
        np.array([0.3, 0.2, 0.1, 0.4]),
    )


def bennett(a: float = 0.4, alpha: float = 0.6, b: float = 0.6) -> Linkage:
    """Return Bennett's linkage: four links with skew axes, sin(alpha) / a = sin(beta) / b.

    The number of equations suggests mobility 0; these lengths and twists give mobility 1.

    Args:
        a: length of the first and the third link, m.
        alpha: twist between their axes, rad.
        b: length of the second link and of the base, m.

    Raises:
        ModelError: no twist beta satisfies the condition.
    """
    if not 0 < abs(b / a * np.sin(alpha)) < 1:
        raise ModelError(
            f'b sin(alpha) / a is {b / a * np.sin(alpha)}; expected a magnitude between 0 and 1'
        )
    beta = float(np.arcsin(b / a * np.sin(alpha)))
    even, odd = pose(rotation_x(alpha), a * X), pose(rotation_x(beta), b * X)
    # theta1 + theta3 = theta2 + theta4 = 2 pi,
    # tan(theta1 / 2) tan(theta2 / 2) = sin((beta + alpha) / 2) / sin((beta - alpha) / 2)
    first = 1.0
    ratio = np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2)
    second = 2 * np.arctan2(ratio, np.tan(first / 2))
    tree = build_tree(
        'bennett',
        [-1, 0, 1],
        [True] * 3,
        [Z] * 3,
        [np.eye(4), even, odd],
        [Inertial(1.0, 0.2 * X, np.diag([0.01, 0.03, 0.03]))] * 3,
        frame_names=('base', 'link1', 'link2', 'link3', 'end', 'anchor'),
        frame_body=[-1, 0, 1, 2, 2, -1],
        frame_placement=[*np.tile(np.eye(4), (4, 1, 1)), even, inverse_pose(odd)],
    )
    return Linkage(
        tree, (LoopClosure('anchor', 'end'),), np.array([first, second, 2 * np.pi - first])
    )


def rod(length: float, density: float) -> Inertial:
    """Return a slender rod [density in kg/m] from the origin along x."""
    mass = density * length
    # I = m l^2 / 12
    return Inertial(mass, length / 2 * X, np.diag([0.0, 1.0, 1.0]) * mass * length**2 / 12)


def _at(x: float) -> np.ndarray:
    return pose(np.eye(3), x * X)
