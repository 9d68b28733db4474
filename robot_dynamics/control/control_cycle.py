# SPDX-License-Identifier: Apache-2.0
"""One cycle of control: from a measured state to a reference, a torque, and its limits.

It is the part that loops with ROS and without it have in common; they decide which states it
gets, and what happens while there are none.
"""

from __future__ import annotations

import math

from robot_dynamics.common.spatial import Array
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.law_torque import LawTorque
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.torque_limiting import TorqueGate
from robot_dynamics.control.trajectory import Reference


class ControlCycle:
    """The follower of references, the law and the limits of one robot.

    Attributes:
        follower: chooses the reference for every state.
        law: torque of a state and its reference.
        gate: limits of the torques.
    """

    def __init__(self, follower: ReferenceFollower, law: LawTorque, gate: TorqueGate):
        """Use these parts, whose settings their owner changes."""
        self.follower, self.law, self.gate = follower, law, gate

    def reference(self, state: JointReading, returned: bool = False) -> tuple[Reference, str]:
        """Return the reference for a state, and why a motion was dropped, or ''.

        Where it is placed at the arm, a soft start follows.

        Args:
            state: the robot's, as of `ReferenceFollower.nearest`.
            returned: whether states were missing before it.
        """
        reference, dropped = self.follower.reference(state, returned)
        if self.follower.placed and state.qd is not None:
            self.gate.soften()
            self.law.restart()  # the step from one reference to another is no displacement
        return reference, dropped

    def limited(self, stamp: int, tau: Array) -> Array | None:
        """Return a torque (n,) within the limits at a time [ns]; None if it is not finite."""
        if not all(map(math.isfinite, tau.tolist())):
            self.law.restart()
            return None
        return self.gate(stamp, tau)
