# SPDX-License-Identifier: Apache-2.0
"""An arm of three joints that hangs beside a wall, under the torques of a follower.

The links are symmetric: q -> -q, efforts -> -efforts and the wall on the other side are the same.
"""

from collections import Counter

import numpy as np

from robot_dynamics.control import Gains, Switches, feedforward
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.torque_limiting import Limits, TorqueGate
from robot_dynamics.control.transitions import stopping_time
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.urdf.loading import parse_urdf

NAMES = ('j1', 'j2', 'j3')
LINK = """<link name="l{0}"><inertial><origin xyz="0 0 -{2}"/><mass value="{1}"/>
<inertia ixx="{3}" iyy="{3}" izz="0.003" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j{0}" type="revolute"><parent link="l{4}"/><child link="l{0}"/>
<origin xyz="0 0 {5}"/><axis xyz="0 -1 0"/>
<limit lower="-3" upper="3" effort="{6}" velocity="2.5"/></joint>"""
LINKS = [
    (1, 4.0, 0.2, 0.06, 0, 0, 150),
    (2, 3.0, 0.2, 0.04, 1, -0.4, 100),
    (3, 1.5, 0.1, 0.005, 2, -0.4, 40),
]
TIP = """<link name="tip"/><joint name="tool" type="fixed"><parent link="l3"/><child link="tip"/>
<origin xyz="0 0 -0.2"/></joint>"""
BODIES = ''.join(LINK.format(*link) for link in LINKS)
ARM = Dynamics(parse_urdf(f'<robot name="walled"><link name="l0"/>{BODIES}{TIP}</robot>'))
STEP, SUBSTEPS = 1e-3, 2  # s, of the controller


class WalledArm:
    """An arm, its controller, and a wall that its tip meets at x = `side * distance`."""

    def __init__(self, tolerances, side=1, distance=np.inf, stiffness=2e4):
        self.side, self.distance, self.stiffness = side, distance, stiffness
        limits = Limits(ARM.model.effort_limit, ARM.model.effort_limit / 0.1, 0.05)
        self.gate = TorqueGate(limits, Counter())
        self.gains = Gains([300.0, 300.0, 60.0], [30.0, 20.0, 2.0])
        self.follower = ReferenceFollower(
            ARM.model,
            np.full(3, 0.1),
            0.1,
            lambda reference: stopping_time(ARM, limits.effort, reference),
            tolerances,
        )
        self.k, self.q, self.qd = 0, np.zeros(3), np.zeros(3)
        self.measures_velocity = True
        self.push = np.zeros(3)  # torque of a hand, N m

    def run(self, seconds):
        """Follow for a time; return times, q, qd, references and torques beyond gravity."""
        rows = [self.turn() for _ in range(round(seconds / STEP))]
        return [np.array(column) for column in zip(*rows, strict=True)]

    def turn(self):
        """Answer one state, and move on; return what was measured and commanded."""
        stamp = round(self.k * STEP * 1e9)
        qd = self.qd if self.measures_velocity else None
        reference, _ = self.follower.reference(JointReading(stamp, self.q, qd, None))
        if self.follower.placed:
            self.gate.soften()
        parts = feedforward(ARM, reference, self.q, self.qd, Switches(), self.gains)
        tau = self.gate(stamp, parts.tau)
        row = self.k * STEP, self.q, self.qd, np.stack(reference), tau - parts.gravity
        for _ in range(SUBSTEPS):
            h = STEP / SUBSTEPS
            qdd = ARM.forward_dynamics(self.q, self.qd, tau + self.push + self.contact())
            self.qd = self.qd + h * qdd
            self.q = self.q + h * self.qd
        self.k += 1
        return row

    def contact(self):
        """Return the torque of the wall, a spring with damping."""
        depth = self.side * ARM.forward_kinematics(self.q, 'tip')[0, 3] - self.distance
        if depth <= 0:
            return np.zeros(3)
        speed = self.side * (ARM.jacobian(self.q, 'tip') @ self.qd)[3]
        force = max(0.0, self.stiffness * depth + 100 * speed)
        return ARM.wrench_torque(self.q, [0, 0, 0, -self.side * force, 0, 0], 'tip')
