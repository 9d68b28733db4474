# SPDX-License-Identifier: Apache-2.0
"""Base class and parts of the nodes, messages, parameters; the interface to ROS 2.

lifecycle          RobotNode: lifecycle transitions, parameters, list of parts, subscriptions
part               Part: the hooks that a node calls on its parts
robot_source       part: the robot from a parameter, a file or the topic robot_description
payload_input      part: payload and gravity, which may change while the node is active
joint_state_input  part: joint states, decoded, checked and complete
command_input      part: effort commands; reference_input: trajectories and streams of references
wrench_input       part: external wrench
term_input         part: the terms that dynamics_node publishes
trajectory_action  part: goals of FollowJointTrajectory, where control_msgs is installed
payload_estimator  part: the payload from the last joint states, on request
torque_output      part: limited torques for motors
state_output       part: desired and measured state of the joints; motion_status: their motion
command_guard      part: other publishers on command topics
diagnostics        part: status on /diagnostics; health: its counts and latencies

parameters         parameter tables, and their declaration on a node
parameter_files    parameter files that the package writes, read as the nodes read them
robot_parameters   parameters of every node; feedforward_parameters, simulator_parameters
simulator_*        start state and services of simulator_node
messages, serialization, marker_messages    arrays and shapes to messages and back
qos, middleware                             profiles of quality of service, and of Fast DDS
executable, executables                     main function and help text, console scripts
live_robot                                  joint states and description for robot-dynamics view
graph_client                                access to a graph for robot-dynamics record and send
bag_recorder, motion_sender                 what they do
launching                                   arguments of the launch files
"""
