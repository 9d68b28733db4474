# SPDX-License-Identifier: Apache-2.0
"""The equation of motion of a robot: from its model to compiled functions.

Input: a `RobotModel`, which urdf, `from_dh` or `from_screws` makes. Output: torques,
matrices, poses and derivatives as functions of arrays. Other wings use `Dynamics`
(dynamics), `RobotModel` (model.robot_model) and `Inertial` (model.inertia).

model          what a robot is: joints, bodies, payloads; conversion to the canonical tree
kinematics     poses and Jacobians in NumPy, as in the books
friction       coefficients, laws and memory of friction, and its impulses in a step
algorithms     equations on scalars: dynamics, observer, impedance, steps of integrators
programs       the algorithms compiled for one robot; rollout: compiled simulation steps
visualization  pictures of a robot, and the geometry of its markers
base_motion    motion of the base, from an inertial sensor or odometry
compiled_robot methods that are compiled programs
moving_base    dynamics on a base that moves
dynamics       the public class
inverse_kinematics  joint positions for a pose
"""
