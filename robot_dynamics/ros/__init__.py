"""Base class and parts of the nodes, messages, parameters; the interface to ROS 2.

lifecycle          RobotNode: lifecycle transitions, parameters, list of parts
robot_source       part: the robot from a parameter, a file or the topic robot_description
payload_input      part: payload and gravity, which may change while the node is active
joint_state_input  part: joint states, decoded, checked and complete
wrench_input       part: external wrench
term_input         part: the terms that dynamics_node publishes
command_guard      part: other publishers on command topics
diagnostics        part: status on /diagnostics; health: its counts and latencies
outputs            publishers of torques and terms

parameters, parameter_declaration   parameter tables, and their declaration on a node
messages, serialization             arrays to messages and back
marker_messages                     shapes to rviz markers
qos, middleware                     profiles of quality of service, and of Fast DDS
executable, executables, usage      main function, console scripts, text of --help
launching                           arguments of the launch files
feedforward_parameters              parameters of feedforward_node
simulator_*                         parts and parameters of simulator_node
"""
