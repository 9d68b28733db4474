"""Move a robot's joints by sliders and watch what gravity asks of its motors.

    ros2 launch robot_dynamics display.launch.py robot_description_file:=/path/of/robot.urdf

joint_state_publisher_gui publishes positions only, so the terms that need velocities stay silent.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node, PushRosNamespace
from launch_ros.substitutions import FindPackageShare


def share(*path):
    return PathJoinSubstitution([FindPackageShare('robot_dynamics'), *path])


ARGUMENTS = [
    DeclareLaunchArgument(
        'robot_description_file',
        default_value=share('urdf', 'panda.urdf'),
        description='Path of the robot, .urdf or .xacro.',
    ),
    DeclareLaunchArgument(
        'namespace', default_value='', description='Namespace of every node and topic.'
    ),
    DeclareLaunchArgument(
        'fixed_frame', default_value='base_link', description='Frame that stands still in rviz2.'
    ),
    DeclareLaunchArgument(
        'rviz', default_value='true', choices=['true', 'false'], description='Start rviz2.'
    ),
]


def generate_launch_description():
    dynamics = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(share('launch', 'dynamics.launch.py')),
        launch_arguments={
            name: LaunchConfiguration(name)
            for name in ('robot_description_file', 'namespace', 'fixed_frame', 'rviz')
        }.items(),
    )
    sliders = GroupAction(
        [
            PushRosNamespace(LaunchConfiguration('namespace')),
            # It takes the robot from the topic robot_description.
            Node(
                package='joint_state_publisher_gui',
                executable='joint_state_publisher_gui',
                output='screen',
            ),
        ]
    )
    return LaunchDescription([*ARGUMENTS, dynamics, sliders])
