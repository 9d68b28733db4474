"""A simulated arm that follows trajectories: simulator, feed-forward, dynamics and validator.

    ros2 launch robot_dynamics simulation.launch.py
    ros2 topic pub --once joint_trajectory trajectory_msgs/msg/JointTrajectory "{...}"

The simulator publishes /clock and every other node uses it. The feed-forward torque goes to the
simulator by joint name and with its stamp, which is what lock step needs.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node, PushRosNamespace
from launch_ros.parameter_descriptions import ParameterValue
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
        description='Parameters of feedforward_node, gains among them.',
    ),
    DeclareLaunchArgument(
        'validator_params_file',
        default_value=share('config', 'pybullet_validator_node.yaml'),
        description='Parameters of pybullet_validator_node.',
    ),
    DeclareLaunchArgument(
        'namespace', default_value='', description='Namespace of every node and topic.'
    ),
    DeclareLaunchArgument(
        'lockstep',
        default_value='true',
        choices=['true', 'false'],
        description='Let simulated time wait for the torque of every state.',
    ),
    DeclareLaunchArgument(
        'real_time_factor',
        default_value='1.0',
        description='Simulated time per wall time; 0: as fast as possible.',
    ),
    DeclareLaunchArgument(
        'validate',
        default_value='true',
        choices=['true', 'false'],
        description='Start pybullet_validator_node.',
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
        description='Log level of the nodes of robot_dynamics.',
    ),
]


def node(executable, params_file, **options):
    return Node(
        package='robot_dynamics',
        executable=executable,
        arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
        parameters=[LaunchConfiguration(params_file), options.pop('overrides', {})],
        output='screen',
        **options,
    )


def generate_launch_description():
    dynamics = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(share('launch', 'dynamics.launch.py')),
        launch_arguments={
            'params_file': LaunchConfiguration('dynamics_params_file'),
            'use_sim_time': 'true',
            **{
                name: LaunchConfiguration(name)
                for name in (
                    'robot_description_file',
                    'namespace',
                    'fixed_frame',
                    'rviz',
                    'log_level',
                )
            },
        }.items(),
    )
    simulator = node(
        'simulator_node',
        'simulator_params_file',
        overrides={
            # It publishes /clock, so it must not wait for it.
            'use_sim_time': False,
            'publish_clock': True,
            'lockstep': ParameterValue(LaunchConfiguration('lockstep'), value_type=bool),
            'real_time_factor': ParameterValue(
                LaunchConfiguration('real_time_factor'), value_type=float
            ),
        },
    )
    feedforward = node(
        'feedforward_node',
        'feedforward_params_file',
        overrides={'use_sim_time': True},
        remappings=[('~/feedforward_torque', 'joint_effort')],
    )
    validator = node(
        'pybullet_validator_node',
        'validator_params_file',
        overrides={'use_sim_time': True},
        condition=IfCondition(LaunchConfiguration('validate')),
    )
    group = GroupAction(
        [PushRosNamespace(LaunchConfiguration('namespace')), simulator, feedforward, validator]
    )
    return LaunchDescription([*ARGUMENTS, dynamics, group])
