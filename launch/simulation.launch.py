# SPDX-License-Identifier: Apache-2.0
"""Simulated arm that follows trajectories: simulator, feed-forward, dynamics and validator nodes.

    ros2 launch robot_dynamics simulation.launch.py
    ros2 topic pub --once joint_trajectory trajectory_msgs/msg/JointTrajectory "{...}"

The simulator publishes /clock, which all other nodes use. The feed-forward torque reaches the
simulator as a JointState with names and stamp, as lock step requires. The included
dynamics.launch.py contributes its arguments: state_publisher, markers and others.
"""

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
    SetEnvironmentVariable,
    Shutdown,
)
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, NotSubstitution, PathJoinSubstitution
from launch_ros.actions import Node, PushRosNamespace, SetParameter
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from robot_dynamics.ros.launching import (
    SHARED_ARGUMENTS,
    check_files,
    check_namespace,
    description,
    feedback_gains,
    number,
    when_it_ends,
)
from robot_dynamics.ros.middleware import quick_discovery

# Limits of the parameters of simulator_node.
TIME_STEP = (1e-5, 0.1)  # s
REAL_TIME_FACTOR = (0.0, 1e3)


def share(*path):
    return PathJoinSubstitution([FindPackageShare('robot_dynamics'), *path])


ARGUMENTS = [
    DeclareLaunchArgument(
        'robot_description_file',
        default_value=share('urdf', 'panda.urdf'),
        description='Path of the robot description, .urdf or .xacro.',
    ),
    DeclareLaunchArgument(
        'dynamics_params_file',
        default_value=share('config', 'dynamics_node.yaml'),
        description='Parameters of dynamics_node.',
    ),
    DeclareLaunchArgument(
        'simulator_params_file',
        default_value=share('config', 'simulator_node.yaml'),
        description='Parameters of simulator_node.',
    ),
    DeclareLaunchArgument(
        'feedforward_params_file',
        default_value=share('config', 'feedforward_node.yaml'),
        description='Parameters of feedforward_node.',
    ),
    DeclareLaunchArgument(
        'validator_params_file',
        default_value=share('config', 'pybullet_validator_node.yaml'),
        description='Parameters of pybullet_validator_node.',
    ),
    DeclareLaunchArgument(
        'use_sim_time',
        default_value='true',
        choices=['true', 'false'],
        description='Publish and use /clock; if false, stamps are wall time (several robots).',
    ),
    DeclareLaunchArgument(
        'gains',
        default_value='from_robot',
        choices=['from_robot', 'from_file'],
        description='Feedback gains: computed from the robot, or from feedforward_params_file.',
    ),
    DeclareLaunchArgument(
        'time_step',
        default_value='0.001',
        description='Simulated time per step, s.',
    ),
    DeclareLaunchArgument(
        'lockstep',
        default_value='true',
        choices=['true', 'false'],
        description='Simulated time waits for the torque of each state.',
    ),
    DeclareLaunchArgument(
        'real_time_factor',
        default_value='1.0',
        description='Simulated time divided by wall time; 0: as fast as possible.',
    ),
    DeclareLaunchArgument(
        'validate',
        default_value='true',
        choices=['true', 'false'],
        description='Start pybullet_validator_node.',
    ),
    *(DeclareLaunchArgument(name, **given) for name, given in SHARED_ARGUMENTS.items()),
]
SHARED = (
    'robot_description_file',
    'xacro_arguments',
    'namespace',
    'frame_prefix',
    'use_sim_time',
    'autostart',
    'quick_discovery',
    'rviz',
    'on_exit',
    'log_level',
)


def value(argument, kind):
    return ParameterValue(LaunchConfiguration(argument), value_type=kind)


def node(context, executable, params_file, overrides=None, **options):
    return Node(
        package='robot_dynamics',
        executable=executable,
        arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
        parameters=[
            LaunchConfiguration(params_file),
            {
                'autostart': value('autostart', bool),
                'frame_prefix': value('frame_prefix', str),
                **(overrides or {}),
            },
        ],
        output='screen',
        **when_it_ends(context.launch_configurations['on_exit'], Shutdown),
        **options,
    )


def compute(context, computed):
    """Check the arguments and compute values; invalid ones raise before any node is started."""
    arguments = context.launch_configurations
    check_namespace(arguments)
    check_files(
        arguments,
        'dynamics_params_file',
        'simulator_params_file',
        'feedforward_params_file',
        'validator_params_file',
    )
    file, words = arguments['robot_description_file'], arguments['xacro_arguments']
    description(file, words)
    computed['time_step'] = number(arguments, 'time_step', *TIME_STEP)
    computed['real_time_factor'] = number(arguments, 'real_time_factor', *REAL_TIME_FACTOR)
    computed['gains'] = {}
    if arguments['gains'] == 'from_robot':
        computed['gains'] = feedback_gains(file, computed['time_step'], words)


def nodes(context, computed):
    simulator = node(
        context,
        'simulator_node',
        'simulator_params_file',
        {
            # It publishes the clock and must not wait for it.
            'use_sim_time': False,
            'publish_clock': value('use_sim_time', bool),
            'wall_stamps': ParameterValue(
                NotSubstitution(LaunchConfiguration('use_sim_time')), value_type=bool
            ),
            'time_step': computed['time_step'],
            'lockstep': value('lockstep', bool),
            'real_time_factor': computed['real_time_factor'],
        },
    )
    feedforward = node(
        context,
        'feedforward_node',
        'feedforward_params_file',
        computed['gains'],
        remappings=[('~/feedforward_torque', 'joint_effort')],
    )
    validator = node(
        context,
        'pybullet_validator_node',
        'validator_params_file',
        condition=IfCondition(LaunchConfiguration('validate')),
    )
    return [simulator, feedforward, validator]


def generate_launch_description():
    computed = {}
    dynamics = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(share('launch', 'dynamics.launch.py')),
        launch_arguments={
            'params_file': LaunchConfiguration('dynamics_params_file'),
            **{name: LaunchConfiguration(name) for name in SHARED},
        }.items(),
    )
    discovery = [
        SetEnvironmentVariable(
            name, file, condition=IfCondition(LaunchConfiguration('quick_discovery'))
        )
        for name, file in quick_discovery().items()
    ]
    group = GroupAction(
        [
            *discovery,
            PushRosNamespace(LaunchConfiguration('namespace')),
            SetParameter('use_sim_time', value('use_sim_time', bool)),
            OpaqueFunction(function=nodes, args=[computed]),
        ]
    )
    # The included file checks its arguments before it starts nodes; our nodes start after that.
    return LaunchDescription(
        [*ARGUMENTS, OpaqueFunction(function=compute, args=[computed]), dynamics, group]
    )
