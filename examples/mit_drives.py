# SPDX-License-Identifier: Apache-2.0
"""Drives in MIT mode: position, velocity, both gains and torque in one frame of 8 bytes.

With `state_publish_rate: 0.0`, feedforward_node publishes position, velocity and torque of every
joint on `~/desired_state`, once per joint state. This node packs them for the drives, which close
the loop at their own rate with

    tau = kp (q_d - q) + kd (qd_d - qd) + tau_ff

Their gains, of each joint, replace `kp` and `kd` of feedforward_node, which stay 0. A frame counts
until the next one. So a drive without a desired state for TIMEOUT, because that node has ended or
is disabled (its torques are NaN), gets damping frames: velocity 0, kd, and neither kp nor torque.
The arm then sinks slowly. Brakes and a timeout of the drives are still needed: this process may
end as well.

    ros2 run robot_dynamics feedforward_node --ros-args -p robot_description_file:=arm.urdf \\
        -p state_publish_rate:=0.0
    python examples/mit_drives.py shoulder:50:1 elbow:20:0.5

Frames and `StandInDrive` are those of mit_frames.py, beside this file, which needs no ROS.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from typing import Any

import rclpy
from mit_frames import StandInDrive, pack
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState

TIMEOUT = 0.1  # s without a desired state, after which a drive gets damping frames


class MitDrives(Node):
    """Sends the desired states of feedforward_node to drives."""

    def __init__(self, drives: Mapping[str, StandInDrive], **kwargs: Any):
        """Subscribe; `drives` are found by the names of their joints."""
        super().__init__('mit_drives', start_parameter_services=False, **kwargs)
        self._drives = drives
        self._received = dict.fromkeys(drives, -math.inf)  # s
        self.create_subscription(JointState, 'feedforward_node/desired_state', self._on_state, 1)
        # Simulated time may stop.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(TIMEOUT / 2, self._damp, clock=steady)

    def _on_state(self, desired: JointState) -> None:
        rows = zip(desired.name, desired.position, desired.velocity, desired.effort, strict=True)
        for name, q, qd, tau in rows:
            if name in self._drives and all(map(math.isfinite, (q, qd, tau))):
                drive = self._drives[name]
                drive.receive(pack(q=q, qd=qd, kp=drive.kp, kd=drive.kd, tau=tau))
                self._received[name] = time.monotonic()

    def _damp(self) -> None:
        """Send damping frames to the drives whose desired state is lost."""
        now = time.monotonic()
        for name, drive in self._drives.items():
            if now - self._received[name] > TIMEOUT:
                drive.receive(pack(q=0.0, qd=0.0, kp=0.0, kd=drive.kd, tau=0.0))


def main() -> None:
    """Run the node for the joints of the command line."""
    given = [argument.split(':') for argument in sys.argv[1:]]
    rclpy.init()
    rclpy.spin(MitDrives({name: StandInDrive(float(kp), float(kd)) for name, kp, kd in given}))


if __name__ == '__main__':
    main()
