"""A robot's live dynamics: robot_state_publisher, dynamics_node, and rviz2 on request.

    ros2 launch robot_dynamics dynamics.launch.py robot_description_file:=/path/of/robot.urdf

The joint states come from elsewhere: a driver, a bag, or simulation.launch.py, which includes
this file.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction
from launch.conditions import IfCondition
from launch.substitutions import Command, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node, PushRosNamespace, SetParameter
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def share(*path):
    return PathJoinSubstitution([FindPackageShare('robot_dynamics'), *path])


RVIZ_TOPICS = ['robot_description', 'joint_states', 'dynamics_node/gravity_torque']

ARGUMENTS = [
    DeclareLaunchArgument(
        'robot_description_file',
        default_value=share('urdf', 'panda.urdf'),
        description='Path of the robot, .urdf or .xacro.',
    ),
    DeclareLaunchArgument(
        'params_file',
        default_value=share('config', 'dynamics_node.yaml'),
        description='Parameters of dynamics_node.',
    ),
    DeclareLaunchArgument(
        'namespace', default_value='', description='Namespace of every node and topic.'
    ),
    DeclareLaunchArgument(
        'use_sim_time',
        default_value='false',
        choices=['true', 'false'],
        description='Take the time from /clock.',
    ),
    DeclareLaunchArgument(
        'fixed_frame', default_value='base_link', description='Frame that stands still in rviz2.'
    ),
    DeclareLaunchArgument(
        'rviz', default_value='true', choices=['true', 'false'], description='Start rviz2.'
    ),
    DeclareLaunchArgument(
        'log_level',
        default_value='info',
        choices=['debug', 'info', 'warn', 'error', 'fatal'],
        description='Log level of dynamics_node.',
    ),
]


def generate_launch_description():
    # xacro passes plain URDF through unchanged.
    description = Command(['xacro ', LaunchConfiguration('robot_description_file')])
    nodes = [
        Node(
            package='robot_state_publisher',
            executable='robot_state_publisher',
            parameters=[{'robot_description': ParameterValue(description, value_type=str)}],
        ),
        Node(
            package='robot_dynamics',
            executable='dynamics_node',
            parameters=[LaunchConfiguration('params_file')],
            arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
            output='screen',
        ),
        Node(
            package='rviz2',
            executable='rviz2',
            arguments=[
                '-d',
                share('config', 'robot_dynamics.rviz'),
                '--fixed-frame',
                LaunchConfiguration('fixed_frame'),
            ],
            # Its configuration names topics from the root: let them follow the namespace.
            remappings=[(f'/{topic}', topic) for topic in RVIZ_TOPICS],
            condition=IfCondition(LaunchConfiguration('rviz')),
        ),
    ]
    group = GroupAction(
        [
            PushRosNamespace(LaunchConfiguration('namespace')),
            SetParameter('use_sim_time', LaunchConfiguration('use_sim_time')),
            *nodes,
        ]
    )
    return LaunchDescription([*ARGUMENTS, group])
