"""A robot's live dynamics: a state publisher, dynamics_node, and markers and rviz2 on request.

    ros2 launch robot_dynamics dynamics.launch.py robot_description_file:=/path/of/robot.urdf

The joint states come from elsewhere: a driver, a bag, sliders (joint_state_publisher_gui:=true),
or simulation.launch.py, which includes this file.
"""

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    OpaqueFunction,
    SetEnvironmentVariable,
)
from launch.conditions import IfCondition
from launch.substitutions import (
    Command,
    EqualsSubstitution,
    LaunchConfiguration,
    PathJoinSubstitution,
)
from launch_ros.actions import Node, PushRosNamespace, SetParameter
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from robot_dynamics.nodes.launch_values import root_link
from robot_dynamics.nodes.middleware import quick_discovery


def share(*path):
    return PathJoinSubstitution([FindPackageShare('robot_dynamics'), *path])


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
        'markers_params_file',
        default_value=share('config', 'markers_node.yaml'),
        description='Parameters of markers_node.',
    ),
    DeclareLaunchArgument(
        'namespace', default_value='', description='Namespace of every node and topic.'
    ),
    DeclareLaunchArgument(
        'frame_prefix',
        default_value='',
        description="Put before the links' names in tf and messages, for several robots: left/.",
    ),
    DeclareLaunchArgument(
        'use_sim_time',
        default_value='false',
        choices=['true', 'false'],
        description='Take the time from /clock.',
    ),
    DeclareLaunchArgument(
        'autostart',
        default_value='true',
        choices=['true', 'false'],
        description='Let the nodes activate themselves; else a lifecycle manager does.',
    ),
    DeclareLaunchArgument(
        'quick_discovery',
        default_value='true',
        choices=['true', 'false'],
        description='Let Fast DDS find nodes at once and forget those that were killed after 2 s.',
    ),
    DeclareLaunchArgument(
        'state_publisher',
        default_value='robot_state_publisher',
        choices=['robot_state_publisher', 'robot_dynamics', 'none'],
        description='Who publishes tf and robot_description; none: they are there already.',
    ),
    DeclareLaunchArgument(
        'joint_state_publisher_gui',
        default_value='false',
        choices=['true', 'false'],
        description='Move the joints by sliders.',
    ),
    DeclareLaunchArgument(
        'markers',
        default_value='false',
        choices=['true', 'false'],
        description='Start markers_node: weights, torques, inertias as arrows and ellipsoids.',
    ),
    DeclareLaunchArgument(
        'tip_frame',
        default_value='',
        description='Link at which markers_node draws manipulability and inertia.',
    ),
    DeclareLaunchArgument(
        'rviz', default_value='true', choices=['true', 'false'], description='Start rviz2.'
    ),
    DeclareLaunchArgument(
        'fixed_frame',
        default_value='',
        description="Frame that stands still in rviz2; the robot's root link if empty.",
    ),
    DeclareLaunchArgument(
        'log_level',
        default_value='info',
        choices=['debug', 'info', 'warn', 'error', 'fatal'],
        description='Log level of the nodes of robot_dynamics.',
    ),
]

RVIZ_TOPICS = [
    'robot_description',
    'joint_states',
    'dynamics_node/gravity_torque',
    'markers_node/markers',
]


def text(argument):
    return ParameterValue(LaunchConfiguration(argument), value_type=str)


def flag(argument):
    return ParameterValue(LaunchConfiguration(argument), value_type=bool)


def when(argument, value='true'):
    return IfCondition(EqualsSubstitution(LaunchConfiguration(argument), value))


def node(executable, *parameters, **options):
    return Node(
        package='robot_dynamics',
        executable=executable,
        parameters=[*parameters, {'autostart': flag('autostart')}],
        arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
        output='screen',
        **options,
    )


def rviz(context):
    values = context.launch_configurations
    frame = values['fixed_frame']
    if not frame:
        frame = values['frame_prefix'] + root_link(values['robot_description_file'])
    return [
        Node(
            package='rviz2',
            executable='rviz2',
            arguments=['-d', share('config', 'robot_dynamics.rviz'), '--fixed-frame', frame],
            # Its configuration names topics from the root: let them follow the namespace.
            remappings=[(f'/{topic}', topic) for topic in RVIZ_TOPICS],
        )
    ]


def generate_launch_description():
    # xacro passes plain URDF through unchanged.
    description = Command(['xacro ', LaunchConfiguration('robot_description_file')])
    nodes = [
        Node(
            package='robot_state_publisher',
            executable='robot_state_publisher',
            parameters=[
                {
                    'robot_description': ParameterValue(description, value_type=str),
                    'frame_prefix': text('frame_prefix'),
                }
            ],
            condition=when('state_publisher', 'robot_state_publisher'),
        ),
        node(
            'state_publisher_node',
            share('config', 'state_publisher_node.yaml'),
            {
                'robot_description_file': text('robot_description_file'),
                'frame_prefix': text('frame_prefix'),
            },
            condition=when('state_publisher', 'robot_dynamics'),
        ),
        node(
            'dynamics_node',
            LaunchConfiguration('params_file'),
            {'frame_prefix': text('frame_prefix')},
        ),
        node(
            'markers_node',
            LaunchConfiguration('markers_params_file'),
            {'tip_frame': text('tip_frame'), 'frame_prefix': text('frame_prefix')},
            # What dynamics_node carries is drawn.
            remappings=[('payload', 'dynamics_node/payload')],
            condition=when('markers'),
        ),
        # It takes the robot from the topic robot_description.
        Node(
            package='joint_state_publisher_gui',
            executable='joint_state_publisher_gui',
            output='screen',
            condition=when('joint_state_publisher_gui'),
        ),
        OpaqueFunction(function=rviz, condition=when('rviz')),
    ]
    discovery = [
        SetEnvironmentVariable(name, file, condition=when('quick_discovery'))
        for name, file in quick_discovery().items()
    ]
    group = GroupAction(
        [
            *discovery,
            PushRosNamespace(LaunchConfiguration('namespace')),
            SetParameter('use_sim_time', flag('use_sim_time')),
            *nodes,
        ]
    )
    return LaunchDescription([*ARGUMENTS, group])
