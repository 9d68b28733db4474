# SPDX-License-Identifier: Apache-2.0
"""Move the simulated arm: trajectory controller, model-based torques, arm. No hardware, no Gazebo.

ros2 launch @package@ demo.launch.py
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch_ros.actions import Node


def generate_launch_description():
    """Return what is started."""
    share = Path(get_package_share_directory('@package@'))
    controllers = str(share / 'config' / 'controllers.yaml')
    description = {'robot_description': (share / 'urdf' / 'arm.urdf').read_text()}
    spawned = ['joint_state_broadcaster', 'dynamics', 'arm_controller']
    return LaunchDescription(
        [
            Node(
                package='robot_state_publisher',
                executable='robot_state_publisher',
                parameters=[description],
            ),
            Node(
                package='controller_manager',
                executable='ros2_control_node',
                parameters=[controllers],
            ),
            Node(
                package='controller_manager',
                executable='spawner',
                arguments=[
                    *(*spawned, '--activate-as-group', '--switch-asap'),
                    *('--param-file', controllers),
                ],
            ),
        ]
    )
