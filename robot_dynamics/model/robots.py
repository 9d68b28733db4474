"""Robots to start from: the textbooks' examples, the PUMA 560, and random ones of any size.

Tests, documentation and users share them, so that a two-line robot is always at hand.

    vertical_particle    000, section 6.1; 001, section 9.1.1
    geared_link          000, example 6.1 (and 6.2, with `formulations.elastic_joints`)
    cartesian_arm        000, section 6.4.1
    planar_2r            000, section 6.4.2
    remote_elbow         000, section 6.4.3
    five_bar             000, section 6.4.4
    point_mass_2r        001, section 9.1.1
    puma560              Armstrong, Khatib and Burdick, 1986
    random_tree

`validation.closed_forms` holds the equations of motion of all but the last two, written by hand.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.builder import build_tree
from robot_dynamics.model.coordinates import with_coordinates
from robot_dynamics.model.inertia import Inertial
from robot_dynamics.model.puma560 import puma560 as puma560
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import axis_rotation, pose

X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
DOWN_Y = np.array([0.0, -9.81, 0.0])  # gravity of arms that move in the x-y plane, m/s^2


def vertical_particle(mass: float = 1.0) -> RobotModel:
    """Return a particle [kg] on a vertical line, its height the only coordinate."""
    return build_tree(
        'vertical_particle', [-1], [False], [Z], [np.eye(4)], [Inertial(mass, np.zeros(3))]
    )


def geared_link(
    gear_ratio: float = 100.0,
    motor_inertia: float = 1e-4,
    link_inertia: float = 0.5,
    mass: float = 2.0,
    com: float = 0.4,
    motor_damping: float = 0.0,
    link_damping: float = 0.0,
) -> RobotModel:
    """Return the single link of 000, example 6.1, which a motor turns through a gear.

    The link hangs down, along -y, at q = 0 and turns about z.

    Args:
        gear_ratio: r, motor turns per turn of the link.
        motor_inertia: J_m about the motor's shaft, kg m^2.
        link_inertia: J_l about the joint's axis, kg m^2.
        mass: M of the link, kg.
        com: l, distance of its centre of mass from the axis, m.
        motor_damping: B_m at the motor's shaft, N m s/rad.
        link_damping: B_l at the joint, N m s/rad.

    Raises:
        ModelError: the inertia is less than that of the mass at its distance.
    """
    # J_l is about the joint; about the centre of mass it is M l^2 less.
    I = link_inertia - mass * com**2
    if I < 0:
        raise ModelError(
            f'link_inertia is {link_inertia} kg m^2 about the joint, where a mass of {mass} kg at '
            f'{com} m alone has {mass * com**2:.6g}'
        )
    link = Inertial(mass, np.array([0.0, -com, 0.0]), np.diag([I, 0.0, I]))
    arm = build_tree('geared_link', [-1], [True], [Z], [np.eye(4)], [link], gravity=DOWN_Y)
    return arm.with_actuation(
        gear_ratio=gear_ratio,
        rotor_inertia=motor_inertia,
        # B = r^2 B_m + B_l
        viscous=gear_ratio**2 * motor_damping + link_damping,
    )


def cartesian_arm(masses: tuple[float, float] = (2.0, 1.0)) -> RobotModel:
    """Return the two-link Cartesian arm of 000, section 6.4.1: up along z, then along x."""
    return build_tree(
        'cartesian_arm',
        [-1, 0],
        [False, False],
        [Z, X],
        [np.eye(4)] * 2,
        [Inertial(m, np.zeros(3)) for m in masses],
    )


def planar_2r(
    lengths: tuple[float, float] = (1.0, 1.0),
    com: tuple[float, float] = (0.5, 0.5),
    masses: tuple[float, float] = (1.0, 1.0),
    inertias: tuple[float, float] = (1 / 12, 1 / 12),
) -> RobotModel:
    """Return the planar elbow arm of 000, section 6.4.2: two revolute joints about z, in x-y.

    Gravity pulls along -y. Link k carries its centre of mass at (com[k], 0, 0) of its frame
    and the inertia inertias[k] [kg m^2] about the axis through it that is normal to the plane. The
    frame 'tip' sits at the end of link 2.
    """
    first, second = (np.array([length, 0.0, 0.0]) for length in lengths)
    return build_tree(
        'planar_2r',
        [-1, 0],
        [True, True],
        [Z] * 2,
        [np.eye(4), pose(np.eye(3), first)],
        [
            Inertial(m, np.array([c, 0.0, 0.0]), np.diag([0.0, I, I]))
            for m, c, I in zip(masses, com, inertias, strict=True)
        ],
        gravity=DOWN_Y,
        frame_names=('base', 'link1', 'link2', 'tip'),
        frame_body=[-1, 0, 1, 1],
        frame_placement=[*np.tile(np.eye(4), (3, 1, 1)), pose(np.eye(3), second)],
    )


def point_mass_2r(
    masses: tuple[float, float] = (1.0, 1.0), lengths: tuple[float, float] = (1.0, 1.0)
) -> RobotModel:
    """Return the planar arm of 001, section 9.1.1, whose links are point masses at their ends."""
    arm = planar_2r(lengths, com=lengths, masses=masses, inertias=(0.0, 0.0))
    return replace(arm, name='point_mass_2r')


def remote_elbow(
    lengths: tuple[float, float] = (1.0, 1.0),
    com: tuple[float, float] = (0.5, 0.5),
    masses: tuple[float, float] = (1.0, 1.0),
    inertias: tuple[float, float] = (1 / 12, 1 / 12),
) -> RobotModel:
    """Return the elbow arm with both motors at the base, 000, section 6.4.3.

    The coordinates are the links' angles from the horizontal; see `planar_2r` for the arguments.
    """
    # q1 = p1,  q2 = p2 - p1
    S = [[1.0, 0.0], [-1.0, 1.0]]
    arm = replace(planar_2r(lengths, com, masses, inertias), name='remote_elbow')
    return with_coordinates(arm, S, joint_names=('motor1', 'motor2'))


def five_bar(
    lengths: tuple[float, float] = (1.0, 0.5),
    com: tuple[float, float, float, float] = (0.5, 0.25, 0.5, 0.5),
    masses: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0),
    inertias: tuple[float, float, float, float] = (1 / 12, 1 / 48, 1 / 12, 1 / 12),
) -> RobotModel:
    """Return the five-bar linkage of 000, section 6.4.4, a closed chain in the x-y plane.

    Its loop is a parallelogram, so all four links keep the directions of the first two: cut open
    where links 3 and 4 meet, it is a tree whose joints follow two angles linearly. The frames
    'end3' and 'end4' on links 3 and 4 coincide in every posture.

    Args:
        lengths: l1 of links 1 and 3, l2 of link 2 and of link 4 between its joints, m.
        com: distance of each link's centre of mass from its joint, m; that of link 4 lies on the
            forearm, beyond link 1 and away from link 3.
        masses: kg.
        inertias: about the axes through the centres of mass, normal to the plane, kg m^2.
    """
    l1, l2 = lengths
    at = [pose(np.eye(3), reach * X) for reach in (0.0, 0.0, l2, l1)]
    return build_tree(
        'five_bar',
        [-1, -1, 1, 0],
        [True] * 4,
        [Z] * 4,
        at,
        [
            Inertial(m, c * X, np.diag([0.0, I, I]))
            for m, c, I in zip(masses, com, inertias, strict=True)
        ],
        joint_names=('q1', 'q2'),
        # angles from the horizontal: q1, q2, q1, q2 - pi; each less that of the link before
        S=np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0], [-1.0, 1.0]]),
        s0=np.array([0.0, 0.0, 0.0, -np.pi]),
        gravity=DOWN_Y,
        frame_names=('base', 'link1', 'link2', 'link3', 'link4', 'end3', 'end4'),
        frame_body=[-1, 0, 1, 2, 3, 2, 3],
        frame_placement=[
            *np.tile(np.eye(4), (5, 1, 1)),
            pose(np.eye(3), l1 * X),
            pose(np.eye(3), -l2 * X),
        ],
    )


def random_tree(
    n: int, rng: np.random.Generator, *, branching: float = 0.3, prismatic: float = 0.25
) -> RobotModel:
    """Return a random tree of n joints with physically possible inertias and tilted gravity.

    Args:
        n: number of joints, at least 1.
        rng: source of randomness; the same state gives the same robot.
        branching: probability that a body hangs on a random earlier body (or on the base)
            instead of on the one before it.
        prismatic: probability of a prismatic joint.
    """
    parent = [
        int(rng.integers(-1, i)) if i and rng.random() < branching else i - 1 for i in range(n)
    ]
    return build_tree(
        f'random_tree_{n}',
        parent,
        list(rng.random(n) >= prismatic),
        [_unit(rng) for _ in range(n)],
        [
            pose(axis_rotation(_unit(rng), rng.uniform(-np.pi, np.pi)), rng.uniform(-0.5, 0.5, 3))
            for _ in range(n)
        ],
        [random_inertial(rng) for _ in range(n)],
        gravity=9.81 * _unit(rng),
    )


def random_inertial(rng: np.random.Generator) -> Inertial:
    """Return the inertia of a random solid ellipsoid of 0.5 to 5 kg, somewhere near its frame."""
    mass, half_axes = rng.uniform(0.5, 5.0), rng.uniform(0.05, 0.3, 3)
    # Sigma = m/5 diag(a^2, b^2, c^2);  I = tr(Sigma) 1 - Sigma
    sigma = mass / 5 * half_axes**2
    R = axis_rotation(_unit(rng), rng.uniform(-np.pi, np.pi))
    tensor = R @ np.diag(sigma.sum() - sigma) @ R.T
    return Inertial(mass, rng.uniform(-0.2, 0.2, 3), (tensor + tensor.T) / 2)


def _unit(rng: np.random.Generator) -> np.ndarray:
    direction = rng.normal(size=3)
    return np.asarray(direction / np.linalg.norm(direction))
