# SPDX-License-Identifier: Apache-2.0
"""Example robots of the textbooks, the PUMA 560, and random robots of any size.

    vertical_particle    Spong, Hutchinson and Vidyasagar, section 6.1;
                         Lynch and Park, draft, section 9.1.1
    geared_link          Spong, Hutchinson and Vidyasagar, example 6.1 (and 6.2, with
                         `formulations.elastic_joints`)
    cartesian_arm        Spong, Hutchinson and Vidyasagar, section 6.4.1
    planar_2r            Spong, Hutchinson and Vidyasagar, section 6.4.2
    remote_elbow         Spong, Hutchinson and Vidyasagar, section 6.4.3
    five_bar             Spong, Hutchinson and Vidyasagar, section 6.4.4
    point_mass_2r        Lynch and Park, draft, section 9.1.1
    puma560              Armstrong, Khatib and Burdick, 1986
    random_tree

`textbook.closed_forms` holds hand-written equations of motion of all but the last two.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from robot_dynamics.common.errors import InertialWarning, ModelError
from robot_dynamics.common.spatial import axis_rotation, pose
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.core.model.coordinates import with_coordinates
from robot_dynamics.core.model.dh import from_dh
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.core.model.robot_model import RobotModel

X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
DOWN_Y = np.array([0.0, -9.81, 0.0])  # gravity vector of arms in the x-y plane, m/s^2


def vertical_particle(mass: float = 1.0) -> RobotModel:
    """Return a particle [kg] on a vertical line; the coordinate is its height."""
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
    """Return a single link that a motor drives through a gear.

    Spong, Hutchinson and Vidyasagar, example 6.1. The link hangs down, along -y, at q = 0
    and rotates about z.

    Args:
        gear_ratio: r, motor turns per turn of the link.
        motor_inertia: J_m about the motor's shaft, kg m^2.
        link_inertia: J_l about the joint's axis, kg m^2.
        mass: M of the link, kg.
        com: l, distance of its centre of mass from the axis, m.
        motor_damping: B_m at the motor's shaft, N m s/rad.
        link_damping: B_l at the joint, N m s/rad.

    Raises:
        ModelError: the inertia is smaller than m l^2.
    """
    # J_l is about the joint; about the centre of mass it is M l^2 less.
    I = link_inertia - mass * com**2
    if I < 0:
        raise ModelError(
            f'link_inertia is {link_inertia} kg m^2 about the joint; expected at least '
            f'mass * com^2 = {mass * com**2:.6g} kg m^2'
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
    """Return the two-link Cartesian arm: up along z, then along x.

    Spong, Hutchinson and Vidyasagar, section 6.4.1.
    """
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
    """Return the planar elbow arm: two revolute joints about z, in the x-y plane.

    Spong, Hutchinson and Vidyasagar, section 6.4.2. Gravity acts along -y. The centre of mass of
    link k is at (com[k], 0, 0) of its frame; inertias[k] [kg m^2] is about the axis through it,
    normal to the plane. The frame 'tip' is at the end of link 2.
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
    """Return the planar arm whose links are point masses at their ends.

    Lynch and Park, draft, section 9.1.1.
    """
    arm = planar_2r(lengths, com=lengths, masses=masses, inertias=(0.0, 0.0))
    return replace(arm, name='point_mass_2r')


def remote_elbow(
    lengths: tuple[float, float] = (1.0, 1.0),
    com: tuple[float, float] = (0.5, 0.5),
    masses: tuple[float, float] = (1.0, 1.0),
    inertias: tuple[float, float] = (1 / 12, 1 / 12),
) -> RobotModel:
    """Return the elbow arm with both motors at the base.

    Spong, Hutchinson and Vidyasagar, section 6.4.3. The coordinates are the angles of the links
    from the horizontal; see `planar_2r` for the arguments.
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
    """Return the five-bar linkage, a closed chain in the x-y plane.

    Spong, Hutchinson and Vidyasagar, section 6.4.4. The loop is a parallelogram: links 3 and 4
    are parallel to links 1 and 2. Cut where links 3 and 4 meet, it is a tree whose joint angles
    are linear in two angles. The frames 'end3' and 'end4' of links 3 and 4 always coincide.

    Args:
        lengths: l1 of links 1 and 3, l2 of link 2 and of link 4 between its joints, m.
        com: distance of each centre of mass from its joint, m; that of link 4 lies on the forearm,
            beyond link 1 and away from link 3.
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
        # angles from the horizontal: q1, q2, q1, q2 - pi; each relative to the link before
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


# Robots without a description, which commands know by name.
TEXTBOOK_ROBOTS: dict[str, Callable[[], RobotModel]] = {
    make.__name__: make
    for make in (
        vertical_particle,
        geared_link,
        cartesian_arm,
        point_mass_2r,
        remote_elbow,
        five_bar,
    )
}


# -- PUMA 560 ------------------------------------------------------------------------------

# a [m], alpha [rad], d [m] of the rows before joints 1 ... 6; all theta are zero
PUMA560_KINEMATICS = (
    (0.0, 0.0, 0.0),
    (0.0, -np.pi / 2, 0.2435),
    (0.4318, 0.0, -0.0934),
    (-0.0203, np.pi / 2, 0.4331),
    (0.0, -np.pi / 2, 0.0),
    (0.0, np.pi / 2, 0.0),
)

# mass [kg], centre of mass [m], principal moments about it along the link frame's axes [kg m^2]
PUMA560_LINKS = (
    (0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.35)),
    (17.40, (0.068, 0.006, -0.016), (0.130, 0.524, 0.539)),
    (4.80, (0.0, -0.070, 0.014), (0.066, 0.0125, 0.086)),
    (0.82, (0.0, 0.0, -0.019), (1.8e-3, 1.8e-3, 1.3e-3)),
    (0.34, (0.0, 0.0, 0.0), (0.30e-3, 0.30e-3, 0.40e-3)),
    (0.09, (0.0, 0.0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3)),
)

# Inertia of motor and drive seen at the joint, kg m^2
PUMA560_DRIVE_INERTIA = (1.14, 4.71, 0.827, 0.200, 0.179, 0.193)

# Motor turns per joint turn, without the signs of the directions
PUMA560_GEAR_RATIO = (62.6111, 107.815, 53.7063, 76.03636, 71.923, 76.686)

# At the motor's shaft: viscous friction [N m s/rad], dry friction in both directions [N m]
PUMA560_MOTOR_VISCOUS = (1.48e-3, 0.817e-3, 1.38e-3, 71.2e-6, 82.6e-6, 36.7e-6)
PUMA560_MOTOR_COULOMB = (
    (0.395, -0.435),
    (0.126, -0.071),
    (0.132, -0.105),
    (11.2e-3, -16.9e-3),
    (9.26e-3, -14.5e-3),
    (3.96e-3, -10.5e-3),
)


def puma560() -> RobotModel:
    """Return the Unimation PUMA 560: six revolute joints, gravity along -z, frames as published.

    At q = 0 the upper arm is horizontal, along x, and the forearm points up. Kinematics, masses,
    centres of mass, inertias and the inertias of the drives are those that Armstrong, Khatib and
    Burdick measured on a dismantled arm; gear ratios and motor friction are from the later
    comparison of the literature by Corke and Armstrong-Hélouvry. Three remarks on the data:

    - Of link 1 only the moment of inertia about the joint axis is known; the rest has no effect.
    - The moments of link 3, (0.066, 0.0125, 0.086), violate the triangle inequality by
      0.0075 kg m^2, within their measurement error. They stand here as published. Some collections
      give 0.066 for the last one; only 0.086 agrees with the constant I6 of the paper's explicit
      model.
    - Dry friction is published for each direction; here it is the mean of both.

    Sources: Armstrong, Khatib and Burdick, "The explicit dynamic model and inertial parameters of
    the PUMA 560 arm", IEEE Int. Conf. Robotics and Automation, 1986, pp. 510-518 (modified
    Denavit–Hartenberg frames, tables 4 to 6); Corke and Armstrong-Hélouvry, "A search for
    consensus among model parameters reported for the PUMA 560 robot", same conference, 1994,
    pp. 1608-1613.
    """
    table = [(a, alpha, d, 0.0, 'revolute') for a, alpha, d in PUMA560_KINEMATICS]
    bodies = [Inertial(m, np.array(com), np.diag(moments)) for m, com, moments in PUMA560_LINKS]
    with warnings.catch_warnings():
        # Links 1 and 3, see the docstring.
        warnings.simplefilter('ignore', InertialWarning)
        arm = from_dh(table, convention='modified', inertias=bodies, name='puma560')
    r = np.array(PUMA560_GEAR_RATIO)
    return arm.with_actuation(
        gear_ratio=r,
        # with_actuation reflects it to the joint again
        rotor_inertia=np.array(PUMA560_DRIVE_INERTIA) / r**2,
        viscous=r**2 * np.array(PUMA560_MOTOR_VISCOUS),
        coulomb=r * np.abs(PUMA560_MOTOR_COULOMB).mean(axis=1),
    )


# -- random robots -------------------------------------------------------------------------


def random_tree(
    n: int, rng: np.random.Generator, *, branching: float = 0.3, prismatic: float = 0.25
) -> RobotModel:
    """Return a random tree of n joints with physically consistent inertias and tilted gravity.

    Args:
        n: number of joints, at least 1.
        rng: random generator; the same state gives the same robot.
        branching: probability that the parent of a body is a random earlier body (or the base)
            instead of the body before it.
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
    """Return the inertia of a random solid ellipsoid of 0.5 to 5 kg, near its frame."""
    mass, half_axes = rng.uniform(0.5, 5.0), rng.uniform(0.05, 0.3, 3)
    # Sigma = m/5 diag(a^2, b^2, c^2);  I = tr(Sigma) 1 - Sigma
    sigma = mass / 5 * half_axes**2
    R = axis_rotation(_unit(rng), rng.uniform(-np.pi, np.pi))
    tensor = R @ np.diag(sigma.sum() - sigma) @ R.T
    return Inertial(mass, rng.uniform(-0.2, 0.2, 3), (tensor + tensor.T) / 2)


def _unit(rng: np.random.Generator) -> np.ndarray:
    direction = rng.normal(size=3)
    return np.asarray(direction / np.linalg.norm(direction))
