# SPDX-License-Identifier: Apache-2.0
"""Example systems of the textbooks, with their equations of motion written out by hand.

They import NumPy and nothing of this package: independent of its kinematics, they detect errors
that all formulations share. Each system has the methods of a formulation, without the model, and
the letters of its book; `regressor` and `parameters` are the Y and Theta of the linear form
tau = Y Theta.

    class                 system                                                 source
    --------------------  -----------------------------------------------------  ----------------
    VerticalParticle      a mass on a vertical line                              Spong, 6.1
    GearedLink            motor, gear and link, with damping                     Spong, example 6.1
    ElasticJoint          the same with a spring between motor and link          Spong, example 6.2
    CartesianArm          two prismatic joints                                   Spong, 6.4.1
    PlanarElbow           two revolute joints in a vertical plane                Spong, 6.4.2
    PlanarElbowRecursion  the same by Newton and Euler, with all its vectors     Spong, 6.6.2
    RemoteElbow           the same, with the second joint driven from the base   Spong, 6.4.3
    FiveBarLinkage        a closed chain, decoupled by a choice of masses        Spong, 6.4.4
    PointMassArm          the elbow with point masses                            Lynch, draft 9.1.1
    SliderCrank           crank, rod and piston with one coordinate              Uicker, 12
    RigidBody             one free body, in two forms and in the inertial frame  Lynch, draft 9.2

Spong is Spong, Hutchinson and Vidyasagar; Lynch is Lynch and Park; Uicker is Uicker, Pennock and
Shigley: docs/textbook/references.md.
"""

from robot_dynamics.textbook.closed_forms.cartesian_arm import CartesianArm as CartesianArm
from robot_dynamics.textbook.closed_forms.five_bar import FiveBarLinkage as FiveBarLinkage
from robot_dynamics.textbook.closed_forms.planar_elbow import PlanarElbow as PlanarElbow
from robot_dynamics.textbook.closed_forms.planar_elbow_recursion import (
    PlanarElbowRecursion as PlanarElbowRecursion,
)
from robot_dynamics.textbook.closed_forms.point_mass_arm import PointMassArm as PointMassArm
from robot_dynamics.textbook.closed_forms.remote_elbow import RemoteElbow as RemoteElbow
from robot_dynamics.textbook.closed_forms.rigid_body import RigidBody as RigidBody
from robot_dynamics.textbook.closed_forms.single_links import ElasticJoint as ElasticJoint
from robot_dynamics.textbook.closed_forms.single_links import GearedLink as GearedLink
from robot_dynamics.textbook.closed_forms.single_links import (
    VerticalParticle as VerticalParticle,
)
from robot_dynamics.textbook.closed_forms.slider_crank import SliderCrank as SliderCrank
