# SPDX-License-Identifier: Apache-2.0
"""Gravity torques of a robot in rviz2, at joint positions set with sliders.

    ros2 launch robot_dynamics display.launch.py robot_description_file:=/path/to/robot.urdf

Includes dynamics.launch.py with joint_state_publisher_gui, markers and rviz2, and accepts the same
arguments. The sliders publish positions only; terms that need velocities are not published.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare


def share(*path):
    return PathJoinSubstitution([FindPackageShare('robot_dynamics'), *path])


# Arguments whose defaults differ from dynamics.launch.py; the others are passed through.
ARGUMENTS = [
    DeclareLaunchArgument(
        'robot_description_file',
        default_value=share('urdf', 'panda.urdf'),
        description='Path of the robot description, .urdf or .xacro.',
    ),
    DeclareLaunchArgument(
        'joint_state_publisher_gui',
        default_value='true',
        choices=['true', 'false'],
        description='Set joint positions with sliders; if false, a driver publishes joint_states.',
    ),
    DeclareLaunchArgument(
        'markers',
        default_value='true',
        choices=['true', 'false'],
        description='Start markers_node: weights, torques and inertias as arrows and ellipsoids.',
    ),
]
CHANGED = ('robot_description_file', 'joint_state_publisher_gui', 'markers')


def generate_launch_description():
    dynamics = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(share('launch', 'dynamics.launch.py')),
        launch_arguments={name: LaunchConfiguration(name) for name in CHANGED}.items(),
    )
    return LaunchDescription([*ARGUMENTS, dynamics])
