"""What a robot's dynamics look like: arrows and ellipsoids to draw, frames of all its links.

    shapes.py       Arrow, Ellipsoid, Box, and orientations as quaternions
    arrows.py       the weight of every body, the torque of every joint
    ellipsoids.py   the solid that stands for a body's inertia; what the tip can do
    link_frames.py  the pose of every link of a URDF in its parent, as tf wants it

Plain NumPy, seen from the base, without ROS: a notebook can draw the same.
"""

from robot_dynamics.urdf.link_frames import LinkFrame as LinkFrame
from robot_dynamics.urdf.link_frames import LinkFrames as LinkFrames
from robot_dynamics.urdf.link_frames import link_frames as link_frames
from robot_dynamics.visualization.arrows import joint_torque_arrows as joint_torque_arrows
from robot_dynamics.visualization.arrows import weight_arrows as weight_arrows
from robot_dynamics.visualization.ellipsoids import inertia_box as inertia_box
from robot_dynamics.visualization.ellipsoids import inertia_ellipsoid as inertia_ellipsoid
from robot_dynamics.visualization.ellipsoids import (
    manipulability_ellipsoid as manipulability_ellipsoid,
)
from robot_dynamics.visualization.ellipsoids import tip_inertia_ellipsoid as tip_inertia_ellipsoid
from robot_dynamics.visualization.shapes import Arrow as Arrow
from robot_dynamics.visualization.shapes import Box as Box
from robot_dynamics.visualization.shapes import Ellipsoid as Ellipsoid
from robot_dynamics.visualization.shapes import quaternion as quaternion
