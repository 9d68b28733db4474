"""The sources' example systems, their equations of motion written out by hand.

They import NumPy and nothing of this package: independent of its kinematics, they would notice a
mistake that all formulations share. Each system has the verbs of a formulation, without the
model, and its letters are the book's; `regressor` and `parameters` are the Y and Theta of the
linear form tau = Y Theta.

    class                 system                                                 source
    --------------------  -----------------------------------------------------  ----------------
    VerticalParticle      a mass on a vertical line                              000, 6.1; 001, 9.1
    GearedLink            motor, gear and link, with damping                     000, example 6.1
    ElasticJoint          the same with a spring between motor and link          000, example 6.2
    CartesianArm          two prismatic joints                                   000, 6.4.1
    PlanarElbow           two revolute joints in a vertical plane                000, 6.4.2
    PlanarElbowRecursion  the same by Newton and Euler, with all its vectors     000, 6.6.2
    RemoteElbow           the same, the second joint driven from the base        000, 6.4.3
    FiveBarLinkage        a closed chain, decoupled by one choice of masses      000, 6.4.4
    PointMassArm          the elbow with point masses                            001, 9.1.1
    SliderCrank           crank, rod and piston: one motion for three links      Shigley, 12
    RigidBody             one free body, in two forms and in the inertial frame  001, 9.2
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
