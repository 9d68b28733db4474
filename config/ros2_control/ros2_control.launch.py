# SPDX-License-Identifier: Apache-2.0
"""Feed-forward torque for an arm under ros2_control, with one of two controllers.

    ros2 launch robot_dynamics ros2_control.launch.py controller:=effort_controller
    ros2 launch robot_dynamics ros2_control.launch.py controller:=arm_controller

Example to copy; requires ros-DISTRO-ros2-control and ros-DISTRO-ros2-controllers.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import (
    Command,
    EqualsSubstitution,
    LaunchConfiguration,
    PathJoinSubstitution,
)
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def share(*path):
    return PathJoinSubstitution([FindPackageShare('robot_dynamics'), *path])


ARGUMENTS = [
    DeclareLaunchArgument(
        'robot_description_file',
        default_value=share('config', 'ros2_control', 'panda.urdf.xacro'),
        description='Path of the robot description with its ros2_control system, .xacro.',
    ),
    DeclareLaunchArgument(
        'hardware',
        default_value='mock_components/GenericSystem',
        description='Hardware plugin of ros2_control.',
    ),
    DeclareLaunchArgument(
        'controllers_file',
        default_value=share('config', 'ros2_control', 'controllers.yaml'),
        description='Parameters of the controllers and of feedforward_node.',
    ),
    DeclareLaunchArgument(
        'controller',
        default_value='effort_controller',
        choices=['effort_controller', 'arm_controller'],
        description='Controller of the arm: forwarded torques, or trajectories with efforts.',
    ),
]


def generate_launch_description():
    description = Command(
        [
            'xacro ',
            LaunchConfiguration('robot_description_file'),
            ' hardware:=',
            LaunchConfiguration('hardware'),
        ]
    )
    ours = EqualsSubstitution(LaunchConfiguration('controller'), 'effort_controller')
    nodes = [
        Node(
            package='robot_state_publisher',
            executable='robot_state_publisher',
            parameters=[{'robot_description': ParameterValue(description, value_type=str)}],
        ),
        Node(
            package='controller_manager',
            executable='ros2_control_node',
            parameters=[LaunchConfiguration('controllers_file')],
        ),
        Node(
            package='controller_manager',
            executable='spawner',
            arguments=['joint_state_broadcaster', LaunchConfiguration('controller')],
        ),
        Node(
            package='robot_dynamics',
            executable='feedforward_node',
            parameters=[
                LaunchConfiguration('controllers_file'),
                {
                    'publish_commands': ParameterValue(ours, value_type=bool),
                    # For arm_controller it only adds efforts to trajectories.
                    'start_enabled': ParameterValue(ours, value_type=bool),
                },
            ],
            remappings=[('~/joint_trajectory_with_effort', 'arm_controller/joint_trajectory')],
            output='screen',
        ),
    ]
    return LaunchDescription([*ARGUMENTS, *nodes])
