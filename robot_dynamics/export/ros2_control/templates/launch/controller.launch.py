# SPDX-License-Identifier: Apache-2.0
"""Start the controllers in a controller manager that runs."""

from launch import LaunchDescription
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    """Return what is started."""
    return LaunchDescription(
        [
            Node(
                package='controller_manager',
                executable='spawner',
                arguments=[
                    *('dynamics', 'arm_controller', '--activate-as-group', '--switch-asap'),
                    '--param-file',
                    [FindPackageShare('@package@'), '/config/controllers.yaml'],
                ],
            )
        ]
    )
