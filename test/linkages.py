# SPDX-License-Identifier: Apache-2.0
"""Linkages for tests: those of the package, and three with other kinds of closures.

four_bar             crank, coupler and rocker in a vertical plane
spatial_four_bar     crank and rocker about crossed axes, coupler with spherical ends
bennett              four skew hinges, movable although overconstrained
"""

import numpy as np

from robot_dynamics.common.spatial import inverse_pose, pose, rotation_x
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.core.model.closures import LoopClosure
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.core.model.robots import DOWN_Y, X, Z
from robot_dynamics.simulation.closed_chains.linkages import Linkage, at, rod
from robot_dynamics.simulation.closed_chains.linkages import five_bar_linkage as five_bar_linkage
from robot_dynamics.simulation.closed_chains.linkages import slider_crank as slider_crank

Y = np.array([0.0, 1.0, 0.0])


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
        [np.eye(4), at(crank), at(ground)],
        [rod(length, density) for length in (crank, coupler, rocker)],
        joint_names=('crank', 'coupler', 'rocker'),
        gravity=DOWN_Y,
        frame_names=('base', 'link1', 'link2', 'link3', 'coupler_end', 'rocker_end'),
        frame_body=[-1, 0, 1, 2, 1, 2],
        frame_placement=[*np.tile(np.eye(4), (4, 1, 1)), at(coupler), at(rocker)],
    )
    return Linkage(tree, (LoopClosure('coupler_end', 'rocker_end'),), np.array([1.0, -0.8, 1.8]))


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
        [np.eye(4), at(crank), np.eye(4), pose(np.eye(3), np.array([0.8, 0.3, -0.2]))],
        [body, Inertial(0.02, np.zeros(3), 1e-5 * np.eye(3)), body, swing],
        joint_names=('crank', 'yaw', 'pitch', 'rocker'),
        frame_names=('base', 'link1', 'cross', 'link2', 'link3', 'coupler_end', 'rocker_end'),
        frame_body=[-1, 0, 1, 2, 3, 2, 3],
        frame_placement=[
            *np.tile(np.eye(4), (5, 1, 1)),
            at(coupler),
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
    """
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
