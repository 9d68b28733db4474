# SPDX-License-Identifier: Apache-2.0
"""Dynamics of a running robot: state publisher, dynamics_node, optionally others and rviz2.

    ros2 launch robot_dynamics dynamics.launch.py robot_description_file:=/path/to/robot.urdf

Joint states come from a driver, a bag, sliders (joint_state_publisher_gui:=true), or from
simulation.launch.py, which includes this file.
"""

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    OpaqueFunction,
    SetEnvironmentVariable,
    Shutdown,
)
from launch.conditions import IfCondition
from launch.substitutions import (
    EqualsSubstitution,
    LaunchConfiguration,
    PathJoinSubstitution,
)
from launch_ros.actions import Node, PushRosNamespace, SetParameter
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from robot_dynamics.ros.launching import (
    SHARED_ARGUMENTS,
    LaunchArgumentError,
    check_files,
    check_namespace,
    description,
    root_link,
    when_it_ends,
)
from robot_dynamics.ros.middleware import quick_discovery


def share(*path):
    return PathJoinSubstitution([FindPackageShare('robot_dynamics'), *path])


ARGUMENTS = [
    DeclareLaunchArgument(
        'robot_description_file',
        default_value=share('urdf', 'panda.urdf'),
        description='Path of the robot description, .urdf or .xacro.',
    ),
    DeclareLaunchArgument(
        'params_file',
        default_value=share('config', 'dynamics_node.yaml'),
        description='Parameters of dynamics_node.',
    ),
    DeclareLaunchArgument(
        'markers_params_file',
        default_value=share('config', 'markers_node.yaml'),
        description='Parameters of markers_node.',
    ),
    DeclareLaunchArgument(
        'observer_params_file',
        default_value=share('config', 'momentum_observer_node.yaml'),
        description='Parameters of momentum_observer_node, as robot-dynamics thresholds writes.',
    ),
    DeclareLaunchArgument(
        'use_sim_time',
        default_value='false',
        choices=['true', 'false'],
        description='Use the time on /clock.',
    ),
    DeclareLaunchArgument(
        'state_publisher',
        default_value='robot_state_publisher',
        choices=['robot_state_publisher', 'robot_dynamics', 'none'],
        description='Node that publishes tf and robot_description; none: it is started elsewhere.',
    ),
    DeclareLaunchArgument(
        'joint_state_publisher_gui',
        default_value='false',
        choices=['true', 'false'],
        description='Start joint_state_publisher_gui, which sets joint positions with sliders.',
    ),
    DeclareLaunchArgument(
        'markers',
        default_value='false',
        choices=['true', 'false'],
        description='Start markers_node: weights, torques and inertias as arrows and ellipsoids.',
    ),
    DeclareLaunchArgument(
        'observer',
        default_value='false',
        choices=['true', 'false'],
        description='Start momentum_observer_node: external torques, wrench and contact.',
    ),
    DeclareLaunchArgument(
        'tip_frame',
        default_value='',
        description='Link at which markers_node draws manipulability and inertia.',
    ),
    DeclareLaunchArgument(
        'fixed_frame',
        default_value='',
        description="Fixed frame of rviz2; the robot's root link if empty.",
    ),
    *(DeclareLaunchArgument(name, **given) for name, given in SHARED_ARGUMENTS.items()),
]

RVIZ_TOPICS = [
    'robot_description',
    'joint_states',
    'dynamics_node/gravity_torque',
    'markers_node/markers',
    'momentum_observer_node/external_torque',
    'momentum_observer_node/external_wrench',
]


def text(argument):
    return ParameterValue(LaunchConfiguration(argument), value_type=str)


def flag(argument):
    return ParameterValue(LaunchConfiguration(argument), value_type=bool)


def when(argument, value='true'):
    return IfCondition(EqualsSubstitution(LaunchConfiguration(argument), value))


def node(context, executable, *parameters, **options):
    return Node(
        package='robot_dynamics',
        executable=executable,
        parameters=[*parameters, {'autostart': flag('autostart')}],
        arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
        output='screen',
        **when_it_ends(context.launch_configurations['on_exit'], Shutdown),
        **options,
    )


def check_packages(arguments):
    """Check that the packages of other nodes are installed. Raises LaunchArgumentError."""
    for argument, value, package in (
        ('state_publisher', 'robot_state_publisher', 'robot_state_publisher'),
        ('joint_state_publisher_gui', 'true', 'joint_state_publisher_gui'),
        ('rviz', 'true', 'rviz2'),
    ):
        if arguments[argument] != value:
            continue
        try:
            get_package_prefix(package)
        except PackageNotFoundError as error:
            raise LaunchArgumentError(
                f'{argument}:={value} needs the package {package}, which is not installed'
            ) from error


def rviz(frame):
    return Node(
        package='rviz2',
        executable='rviz2',
        arguments=['-d', share('config', 'robot_dynamics.rviz'), '--fixed-frame', frame],
        # The configuration uses absolute topic names; the remappings move them into the namespace.
        remappings=[(f'/{topic}', topic) for topic in RVIZ_TOPICS],
        condition=when('rviz'),
    )


def nodes(context):
    """Return the actions that start nodes. Invalid arguments raise before any node is started."""
    arguments = context.launch_configurations
    check_namespace(arguments)
    check_packages(arguments)
    check_files(arguments, 'params_file', 'markers_params_file', 'observer_params_file')
    urdf = description(arguments['robot_description_file'], arguments['xacro_arguments'])
    frame = arguments['fixed_frame'] or arguments['frame_prefix'] + root_link(urdf)
    discovery = [
        SetEnvironmentVariable(name, file, condition=when('quick_discovery'))
        for name, file in quick_discovery().items()
    ]
    started = [
        Node(
            package='robot_state_publisher',
            executable='robot_state_publisher',
            parameters=[
                {
                    'robot_description': ParameterValue(urdf, value_type=str),
                    'frame_prefix': text('frame_prefix'),
                }
            ],
            condition=when('state_publisher', 'robot_state_publisher'),
        ),
        node(
            context,
            'state_publisher_node',
            share('config', 'state_publisher_node.yaml'),
            {
                'robot_description': ParameterValue(urdf, value_type=str),
                'frame_prefix': text('frame_prefix'),
            },
            condition=when('state_publisher', 'robot_dynamics'),
        ),
        node(
            context,
            'dynamics_node',
            LaunchConfiguration('params_file'),
            {'frame_prefix': text('frame_prefix')},
        ),
        node(
            context,
            'markers_node',
            LaunchConfiguration('markers_params_file'),
            {'tip_frame': text('tip_frame'), 'frame_prefix': text('frame_prefix')},
            # Draw the payload of dynamics_node.
            remappings=[('payload', 'dynamics_node/payload')],
            condition=when('markers'),
        ),
        node(
            context,
            'momentum_observer_node',
            LaunchConfiguration('observer_params_file'),
            {'frame_prefix': text('frame_prefix')},
            # The payload that dynamics_node knows.
            remappings=[('payload', 'dynamics_node/payload')],
            condition=when('observer'),
        ),
        # Reads the robot from the topic robot_description.
        Node(
            package='joint_state_publisher_gui',
            executable='joint_state_publisher_gui',
            output='screen',
            condition=when('joint_state_publisher_gui'),
        ),
        rviz(frame),
    ]
    return [
        GroupAction(
            [
                *discovery,
                PushRosNamespace(LaunchConfiguration('namespace')),
                SetParameter('use_sim_time', flag('use_sim_time')),
                *started,
            ]
        )
    ]


def generate_launch_description():
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=nodes)])
