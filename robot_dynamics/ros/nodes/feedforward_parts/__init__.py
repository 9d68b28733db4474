# SPDX-License-Identifier: Apache-2.0
"""Parts that serve feedforward_node alone.

reference_input           trajectories and streams of references
trajectory_action_server  goals of FollowJointTrajectory, where control_msgs is installed
torque_law                the control law of the joints; frame_impedance: a spring at a frame
torque_output             limited torques for motors; motor_mode: whether they are published
state_output              desired and measured state of the joints
state_watch, collision_input    silence of joint states and of the observer; its collisions
"""
