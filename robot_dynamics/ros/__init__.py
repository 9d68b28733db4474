# SPDX-License-Identifier: Apache-2.0
"""Nodes, their base class and parts, messages, parameters; the interface to ROS 2.

Input: messages and parameters. Output: torques, terms and diagnostics on topics. Other wings use
`GraphClient` (graph_client), `FeedforwardParameters` and `read_back` (parameter_files). `nodes`
has the nodes, each with the parts that serve it alone; below are those that several use.

lifecycle          RobotNode: lifecycle transitions, parameters, list of parts, subscriptions
part               Part: the hooks that a node calls on its parts
robot_source       part: the robot from a parameter, a file or the topic robot_description
payload_input      part: payload and gravity, which may change while the node is active
joint_state_input  part: joint states, decoded, checked and complete
wrench_input       part: external wrench
base_motion_input  part: motion of the base, from an Imu, Odometry or its controller
payload_estimator  part: the payload from the last joint states, on request
command_guard      part: other publishers on command topics; motion_status: state of a motion
diagnostics        part: status on /diagnostics; health: its counts and latencies

parameters         parameter tables, and their declaration on a node
parameter_files    parameter files that the package writes, read as the nodes read them
*_parameters       parameters of every node, and of single ones
messages, serialization, marker_messages    arrays and shapes to messages and back
qos, middleware                             profiles of quality of service, and of Fast DDS
executable, executables                     main function and help text, console scripts
live_robot                                  joint states and description for robot-dynamics view
graph_client                                access to a graph for robot-dynamics record and send
bag_recorder, motion_sender                 what they do
launching                                   arguments of the launch files
"""
