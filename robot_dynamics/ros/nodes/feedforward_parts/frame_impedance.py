# SPDX-License-Identifier: Apache-2.0
"""Torque of a frame on a spring: the control law `cartesian_impedance` and its targets."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from typing_extensions import override

from robot_dynamics.common.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.impedance import (
    CartesianImpedance,
    PoseReference,
    StiffnessRamp,
    singular_directions,
)
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.motions import Phase
from robot_dynamics.control.pose_following import PoseFollower, follower_program
from robot_dynamics.control.torque_limiting import LONGEST_STEP, largest_factor
from robot_dynamics.control.trajectory import Reference
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.command_guard import CommandInputGuard
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.impedance_parameters import CARTESIAN
from robot_dynamics.ros.joint_state_input import UNSTAMPED
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.motion_status import REJECTED
from robot_dynamics.ros.parameters import ParameterError
from robot_dynamics.ros.part import Part
from robot_dynamics.ros.wrench_input import StampedWrench, WrenchInput

WRENCH_SCALED = 'the target wrench is scaled: its torque exceeds half of an effort limit'


class FrameImpedance(Part):
    """Part of a node with FeedforwardParameters: follows poses on `target_pose` by the law.

    Attributes:
        follower: chooses the target for every joint state.
        pose_guard, wrench_guard: of several publishers of poses and of wrenches.
        ended: why the last torque ended a motion of the target, or ''.
    """

    # Memory of the law, from one torque to the next
    _ramp: StiffnessRamp
    _error: Array  # (6,) of the frame from its target
    _z: Array  # (n,) of friction

    def __init__(
        self,
        node: RobotNode,
        report: Callable[[str, str], None],
        enabled: Callable[[], bool],
        placed: Callable[[], None],
    ):
        """Subscribe.

        Args:
            node: that publishes the torques.
            report: called with an event of the motion and its status.
            enabled: returns whether targets are followed; otherwise they are ignored.
            placed: called when the target has been placed where the frame is.
        """
        self._node, self._report = node, report
        self._enabled, self._placed = enabled, placed
        self.follower = PoseFollower(node.parameters.pose_limits, node.parameters.input_timeout)
        self._compiled: tuple[Dynamics, CartesianImpedance] | None = None
        self._state: JointReading | None = None
        self._rejecting = False  # the last pose was rejected
        self._scale = 1.0  # of the target wrench
        self.ended = ''
        self._wrench = node.add(
            WrenchInput(node, profile=qos.COMMANDS_IN, what='target wrench', accept=self._accepted)
        )
        poses = node.create_subscription(
            PoseStamped, 'target_pose', self._on_pose, qos.COMMANDS_IN
        )
        self.pose_guard = node.add(CommandInputGuard(node, [poses.topic_name]))
        wrenches = node.resolve_topic_name('target_wrench')
        self.wrench_guard = node.add(CommandInputGuard(node, [wrenches]))

    # -- the robot and the parameters -------------------------------------------------------

    @override
    def check(self, parameters: Any, arm: Dynamics) -> None:
        """Reject a frame that is missing, joints without inertia, lists of another length."""
        parameters.impedance(arm.model)
        if parameters.impedance__frame:
            arm.model.frame_index(parameters.impedance__frame)
            if arm.joint_without_inertia is not None:
                raise ParameterError(
                    f'impedance.frame is {parameters.impedance__frame!r}, and joint '
                    f'{arm.joint_without_inertia!r} moves no inertia; give the links beyond it a '
                    'mass, or lock it'
                )
        elif parameters.control_law == CARTESIAN:
            raise ParameterError(
                f'control_law is {CARTESIAN}, and impedance.frame is empty; expected a link or '
                'frame of the robot'
            )

    @override
    def prepare(self, arm: Dynamics) -> None:
        """Compile the law, where there is a frame for it."""
        frame = self._node.parameters.impedance__frame
        if frame:
            law = CartesianImpedance(arm, frame)
            zero = np.zeros(arm.model.n)
            impedance = self._node.parameters.impedance(arm.model)
            law.torque(zero, zero, PoseReference(np.eye(4), np.zeros(6)), impedance)
            arm.forward_kinematics(zero, frame)
            follower_program()

    @override
    def use(self, arm: Dynamics) -> None:
        """Hold the frame of this robot where it is."""
        self._state = None
        self._set(arm)

    @override
    def adopt(self, changes: set[str]) -> None:
        """Use other limits; stiffness that rises does so slowly."""
        if self._node.arm is not None:
            self._set(self._node.arm)

    def _set(self, arm: Dynamics) -> None:
        parameters, self.ended = self._node.parameters, ''
        self.follower.adjust(parameters.pose_limits, parameters.input_timeout)
        self._wanted = parameters.impedance(arm.model)
        self._effort = parameters.settings(arm.model).limits.effort

    # -- torques ----------------------------------------------------------------------------

    def torque(
        self,
        state: JointReading,
        reference: Reference,
        friction: JointFriction | None,
        gravity: bool,
    ) -> Array:
        """Return the torque (n,) of the law, with gravity if wanted.

        Args:
            state: of the joints, with velocities.
            reference: of the joints, the posture in the null space.
            friction: of the joints, to be fed forward; None: none is.
            gravity: whether the torque contains g.
        """
        assert state.qd is not None  # the law is not asked otherwise
        law = self._law()
        target, dt = self._advance_target(state)
        impedance = self._ramp.advance(self._wanted, dt, self._error)
        found = law.torque(
            state.q,
            state.qd,
            target,
            impedance,
            posture=reference.q,
            # Nothing moves a posture without stiffness.
            posture_velocity=reference.qd * (impedance.posture_stiffness > 0),
            friction=friction,
            z=self._z,
            time_step=dt,
        )
        if not all(np.isfinite(row).all() for row in found):
            self.follower.release()  # begins anew with the next state
            return np.full(len(state.q), np.nan)
        self._error, self._z, self._state = found.error, found.z, state
        pressing = self._pressing(state)
        tau = found.tau if gravity else found.impedance + found.friction
        return tau if pressing is None else tau + pressing

    def _law(self) -> CartesianImpedance:
        """Return the law of the present robot, compiled once."""
        arm = self._node.arm
        if self._compiled is None or self._compiled[0] is not arm:
            frame = self._node.parameters.impedance__frame
            self._compiled = arm, CartesianImpedance(arm, frame)
        return self._compiled[1]

    def _advance_target(self, state: JointReading) -> tuple[PoseReference, float]:
        """Return the target at a state, and the time since the state before it [s].

        The memory of the law begins anew where the target is placed at the frame.
        """
        arm, before = self._node.arm, self._state
        frame = arm.forward_kinematics(state.q, self._node.parameters.impedance__frame)
        target, self.ended = self.follower.reference(frame, state.stamp, state.restarted)
        if self.follower.placed or before is None:
            self._ramp, self._error, before = StiffnessRamp(self._wanted), np.zeros(6), state
            self._z = np.zeros(arm.model.n)
            self._placed()
        if self.ended:
            self._node.get_logger().warning(f'{self.ended}: {self.follower.doing}')
        dt = (state.stamp - before.stamp) / SECOND
        return target, min(max(dt, 0.0), LONGEST_STEP)

    def _pressing(self, state: JointReading) -> Array | None:
        """Return the torque (n,) of the target wrench, scaled to the efforts; None without one."""
        parameters, self._scale = self._node.parameters, 1.0
        most = parameters.max_target_torque, parameters.max_target_force

        def largest(F: Array, tau: Array) -> float:
            factor, size = largest_factor(F, tau, self._effort, most), self._wrench.size
            if factor < size:
                self._scale = factor / size
                self._node.count_event('target wrench scaled')
            return factor

        return self._wrench.joint_torque(self._node.arm, state.q, state.stamp, largest)

    @override
    def restart(self) -> None:
        """Drop the state and the scale of a wrench received before; report the next rejection."""
        self._state, self._scale, self._rejecting = None, 1.0, False

    @override
    def status(self) -> Status | None:
        """Return a WARN while the target wrench is scaled."""
        return (health.WARN, WRENCH_SCALED) if self._scale < 1 else None

    @property
    def remark(self) -> str:
        """Names the directions in which the frame can hardly move, and a scaled wrench; or ''."""
        if self._node.parameters.control_law != CARTESIAN or self._state is None:
            return ''
        frame = self._node.parameters.impedance__frame
        names = singular_directions(self._node.arm, frame, self._state.q, self._ramp.present)
        remarks = [f'{frame} can hardly move: {", ".join(names)}'] if names else []
        return '; '.join(remarks + [WRENCH_SCALED] * (self._scale < 1))

    @override
    def figures(self) -> dict[str, str]:
        """Return the energy that rises of the stiffness have added, and the wrench's scale."""
        if self._node.parameters.control_law != CARTESIAN or self._state is None:
            return {}
        return {
            'energy added by stiffness [J]': f'{self._ramp.energy:.3g}',
            'scale of the target wrench': f'{self._scale:.3g}',
        }

    # -- poses ------------------------------------------------------------------------------

    def _on_pose(self, message: PoseStamped) -> None:
        node = self._node
        if not (node.active and self._enabled()):
            return
        try:
            self._last_state()
            self.pose_guard.reject_conflict()
            goal = self._in_base(message)
            stamp = messages.nanoseconds(message.header.stamp) or time.monotonic_ns()
            begins = self._rejecting or self.follower.phase is not Phase.FOLLOWING
            self.follower.follow(goal, stamp)
        except RobotDynamicsError as error:
            node.reject('target pose', error)
            if not self._rejecting:
                self._report(f'target pose rejected: {error}', REJECTED)
            self._rejecting = True
        else:
            self._rejecting = False
            if begins:
                self._report('', '')

    def _in_base(self, message: PoseStamped) -> Array:
        """Return a pose (4, 4) in the base frame, of a message in that of any link."""
        T, frame = messages.pose(message.pose), self._node.own_frame(message.header.frame_id)
        if not frame:
            return T
        base: Array = self._node.arm.forward_kinematics(self._last_state().q, frame)
        return base @ T

    def _accepted(self, wrench: StampedWrench) -> StampedWrench | None:
        """Return a wrench with the time of the last state, if it has none itself."""
        if not self._enabled():
            return None
        state = self._last_state()
        self.wrench_guard.reject_conflict()
        return wrench if wrench.stamp else wrench._replace(stamp=state.stamp)

    def _last_state(self) -> JointReading:
        """Return the last state. Raises TrajectoryError if there is nothing to follow targets."""
        law, state = self._node.parameters.control_law, self._state
        if law != CARTESIAN:
            raise TrajectoryError(
                f'control_law is {law}; poses and wrenches are followed with {CARTESIAN} alone'
            )
        if state is None:
            raise TrajectoryError('no joint state of the whole robot has been received yet')
        if state.stamp == 0:
            raise TrajectoryError(UNSTAMPED)
        return state
