"""The Unimation PUMA 560, the arm that every dynamics paper computes, from its published data.

Kinematics, masses, centres of mass, inertias and the drives' inertias are those that Armstrong,
Khatib and Burdick measured on a dismantled arm; gear ratios and motor friction are from the later
comparison of the literature by Corke and Armstrong-Hélouvry. Three things about the data:

- Of link 1 only the moment of inertia about the joint's axis is known, and only it has an effect.
- The moments of link 3, (0.066, 0.0125, 0.086), miss the triangle inequality by 0.0075 kg m^2,
  within their measurement error. They stand here as published. Some collections give 0.066 for
  the last one; only 0.086 agrees with the constant I6 of the paper's explicit model.
- Dry friction is published for each direction; here it is the mean of both.

Sources: Armstrong, Khatib and Burdick, "The explicit dynamic model and inertial parameters of the
PUMA 560 arm", IEEE Int. Conf. Robotics and Automation, 1986, pp. 510-518 (modified
Denavit–Hartenberg frames, tables 4 to 6); Corke and Armstrong-Hélouvry, "A search for consensus
among model parameters reported for the PUMA 560 robot", same conference, 1994, pp. 1608-1613.
"""

from __future__ import annotations

import warnings

import numpy as np

from robot_dynamics.errors import InertialWarning
from robot_dynamics.model.dh import from_dh
from robot_dynamics.model.inertia import Inertial
from robot_dynamics.model.robot_model import RobotModel

# a [m], alpha [rad], d [m] of the rows before joints 1 ... 6; all theta are zero
KINEMATICS = (
    (0.0, 0.0, 0.0),
    (0.0, -np.pi / 2, 0.2435),
    (0.4318, 0.0, -0.0934),
    (-0.0203, np.pi / 2, 0.4331),
    (0.0, -np.pi / 2, 0.0),
    (0.0, np.pi / 2, 0.0),
)

# mass [kg], centre of mass [m], principal moments about it along the link frame's axes [kg m^2]
LINKS = (
    (0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.35)),
    (17.40, (0.068, 0.006, -0.016), (0.130, 0.524, 0.539)),
    (4.80, (0.0, -0.070, 0.014), (0.066, 0.0125, 0.086)),
    (0.82, (0.0, 0.0, -0.019), (1.8e-3, 1.8e-3, 1.3e-3)),
    (0.34, (0.0, 0.0, 0.0), (0.30e-3, 0.30e-3, 0.40e-3)),
    (0.09, (0.0, 0.0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3)),
)

# Inertia of motor and drive seen at the joint, kg m^2
DRIVE_INERTIA = (1.14, 4.71, 0.827, 0.200, 0.179, 0.193)

# Motor turns per joint turn (their signs tell directions, which nothing here depends on)
GEAR_RATIO = (62.6111, 107.815, 53.7063, 76.03636, 71.923, 76.686)

# At the motor's shaft: viscous friction [N m s/rad], dry friction in both directions [N m]
MOTOR_VISCOUS = (1.48e-3, 0.817e-3, 1.38e-3, 71.2e-6, 82.6e-6, 36.7e-6)
MOTOR_COULOMB = (
    (0.395, -0.435),
    (0.126, -0.071),
    (0.132, -0.105),
    (11.2e-3, -16.9e-3),
    (9.26e-3, -14.5e-3),
    (3.96e-3, -10.5e-3),
)


def puma560() -> RobotModel:
    """Return the PUMA 560: six revolute joints, gravity along -z, frames as published.

    At q = 0 the upper arm is horizontal, along x, and the forearm points up.
    """
    table = [(a, alpha, d, 0.0, 'revolute') for a, alpha, d in KINEMATICS]
    bodies = [Inertial(m, np.array(com), np.diag(moments)) for m, com, moments in LINKS]
    with warnings.catch_warnings():
        # Links 1 and 3, see above.
        warnings.simplefilter('ignore', InertialWarning)
        arm = from_dh(table, convention='modified', inertias=bodies, name='puma560')
    r = np.array(GEAR_RATIO)
    return arm.with_actuation(
        gear_ratio=r,
        # with_actuation reflects it to the joint again
        rotor_inertia=np.array(DRIVE_INERTIA) / r**2,
        viscous=r**2 * np.array(MOTOR_VISCOUS),
        coulomb=r * np.abs(MOTOR_COULOMB).mean(axis=1),
    )
