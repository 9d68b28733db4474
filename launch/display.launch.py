"""Move a robot's joints by sliders and watch what gravity asks of its motors.

    ros2 launch robot_dynamics display.launch.py robot_description_file:=/path/of/robot.urdf

This is dynamics.launch.py with joint_state_publisher_gui, markers and rviz2, and takes the same
arguments. The sliders publish positions only, so the terms that need velocities stay silent.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare


def share(*path):
    return PathJoinSubstitution([FindPackageShare('robot_dynamics'), *path])


# Those with another default than there; the rest are passed through.
ARGUMENTS = [
    DeclareLaunchArgument(
        'robot_description_file',
        default_value=share('urdf', 'panda.urdf'),
        description='Path of the robot, .urdf or .xacro.',
    ),
    DeclareLaunchArgument(
        'joint_state_publisher_gui',
        default_value='true',
        choices=['true', 'false'],
        description='Move the joints by sliders; else joint states come from elsewhere.',
    ),
    DeclareLaunchArgument(
        'markers',
        default_value='true',
        choices=['true', 'false'],
        description='Draw weights, torques and inertias as arrows and ellipsoids.',
    ),
]
CHANGED = ('robot_description_file', 'joint_state_publisher_gui', 'markers')


def generate_launch_description():
    dynamics = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(share('launch', 'dynamics.launch.py')),
        launch_arguments={name: LaunchConfiguration(name) for name in CHANGED}.items(),
    )
    return LaunchDescription([*ARGUMENTS, dynamics])
