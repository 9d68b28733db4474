# SPDX-License-Identifier: Apache-2.0
"""A program for the second host: do the torques there fit the states of the first one?

Prints how many states it saw answered, and the largest error, once there are enough.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import rclpy
from sensor_msgs.msg import JointState

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import messages
from robot_dynamics.ros.executable import new_executor
from robot_dynamics.urdf.loading import load_urdf

ENOUGH = 50
PATIENCE = 40.0  # s


def main(robot: Path) -> None:
    arm = Dynamics(load_urdf(robot))
    rclpy.init()
    node = rclpy.create_node('witness')
    executor = new_executor()
    executor.add_node(node)
    states, torques = {}, {}

    def into(received, values):
        return lambda m: received.setdefault(
            messages.nanoseconds(m.header.stamp), np.array(getattr(m, values))
        )

    node.create_subscription(JointState, 'joint_states', into(states, 'position'), 100)
    node.create_subscription(
        JointState, 'dynamics_node/gravity_torque', into(torques, 'effort'), 100
    )
    end = time.monotonic() + PATIENCE
    while len(states.keys() & torques.keys()) < ENOUGH and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
    both = states.keys() & torques.keys()
    errors = [np.abs(torques[k] - arm.gravity_torque(states[k])).max() for k in both]
    print(json.dumps({'answered': len(both), 'error': float(max(errors, default=np.nan))}))
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == '__main__':
    main(Path(sys.argv[1]))
