# SPDX-License-Identifier: Apache-2.0
"""Lifecycle node that simulates an arm controlled by efforts, or by positions of servos.

Subscribes
    joint_effort                 sensor_msgs/JointState           efforts by joint name
    effort_controller/commands   std_msgs/Float64MultiArray       efforts in the order of `joints`
    joint_command                sensor_msgs/JointState           with servo.kp, instead of both:
                                                                  positions, and velocities and
                                                                  feed-forward efforts if given
    position_controller/commands std_msgs/Float64MultiArray       the same, in order
    external_wrench              geometry_msgs/WrenchStamped      acts on a frame of the arm
    base_motion/imu              sensor_msgs/Imu                  with base_motion.source: imu
    base_motion/odometry         nav_msgs/Odometry                odometry
    base_motion/accel            geometry_msgs/AccelStamped       command
    base_motion/twist            geometry_msgs/TwistStamped       command
    robot_description            std_msgs/String                  latched, if no parameter gives it
Publishes, stamped with simulated time
    joint_states                 sensor_msgs/JointState           as measured, with efforts in the
                                                                  unit of effort_scale
    ~/true_state                 sensor_msgs/JointState           if `publish_true_state`: without
                                                                  errors of sensors, N m or N
    ~/imu                        sensor_msgs/Imu                  of a sensor at the origin of the
                                                                  base, with base_motion.file
    /clock                       rosgraph_msgs/Clock              if `publish_clock`
    /diagnostics                 diagnostic_msgs/DiagnosticArray
Services
    ~/pause, ~/resume, ~/step, ~/reset   std_srvs/Trigger

Commands by name take precedence. Because the node may publish /clock, its timers use the steady
clock. Stepping is in `simulation/scheduling.py`, services are in
`ros/nodes/simulator_parts/simulator_services.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from typing_extensions import override

from robot_dynamics.common.stamps import SECOND
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.command_guard import DISCOVERY
from robot_dynamics.ros.diagnostics import Diagnostics
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.nodes.simulator_parts.command_input import CommandInput
from robot_dynamics.ros.nodes.simulator_parts.simulated_base import SimulatedBase
from robot_dynamics.ros.nodes.simulator_parts.simulator_services import (
    standard_services,
    trigger_services,
)
from robot_dynamics.ros.nodes.simulator_parts.simulator_start import start_state
from robot_dynamics.ros.parameters import ParameterError
from robot_dynamics.ros.robot_source import RobotSource
from robot_dynamics.ros.serialization import QUANTITIES, joint_state_writer
from robot_dynamics.ros.simulator_parameters import SimulatorParameters
from robot_dynamics.ros.wrench_input import StampedWrench, WrenchInput
from robot_dynamics.simulation.plant import ExternalWrench, SetState
from robot_dynamics.simulation.run_control import Outcome, Result, RunControl, RunState
from robot_dynamics.simulation.scheduling import ReceivedCommand, SimulationLoop

BURST = 0.01  # s of stepping at most before messages are processed
LAG = 1.0  # s between stamps and wall clock: more causes a WARN
REPEAT = 0.1  # s, between two messages of a state that does not change


class SimulatorNode(RobotNode):
    """Simulates the robot under commands of efforts or positions, and external wrenches."""

    table = SimulatorParameters

    def __init__(self, **kwargs: Any):
        super().__init__('simulator_node', **kwargs)
        self.diagnostics = self.add(Diagnostics(self))
        if self.get_parameter('use_sim_time').value and self.parameters.publish_clock:
            raise ParameterError(
                'use_sim_time is true, but this node publishes /clock: set one of them to false'
            )
        self.clock = time.monotonic  # s
        self.wall_clock = time.time_ns
        self._states = self.create_publisher(JointState, 'joint_states', qos.STREAM_OUT)
        self._true_states = (
            self.create_publisher(JointState, '~/true_state', qos.STREAM_OUT)
            if self.parameters.publish_true_state
            else None
        )
        self._clock_out = (
            self.create_publisher(Clock, '/clock', qos.CLOCK)
            if self.parameters.publish_clock
            else None
        )
        self._timer: Any = None
        self._start_check: Any = None  # of lock step, once after activation
        self.robot = self.add(RobotSource(self))
        self.commands = self.add(CommandInput(self, lambda: self.clock(), self._on_command))
        self.wrench = self.add(WrenchInput(self, self._on_wrench, qos.COMMANDS_IN))
        self.simulated_base = self.add(SimulatedBase(self))
        trigger_services(self)
        standard_services(self)
        self.robot.begin()

    # -- robot and parameters -------------------------------------------------------

    @override
    def prepare(self, arm: Dynamics) -> None:
        """Compile the step; raises if the robot cannot be simulated."""
        self.parameters.efforts_per_torque(arm.model)
        still = np.zeros(arm.model.n)
        arm.forward_dynamics(still, still, still)
        self.parameters.plant(arm, self.simulated_base.to_compile)
        self.parameters.sensing(arm.model)

    @override
    def use(self, arm: Dynamics) -> None:
        """Simulate this robot from its start."""
        parameters, model = self.parameters, arm.model
        start = start_state(parameters, model)
        plant = parameters.plant(arm, self.simulated_base.motion)
        for command in parameters.payload_commands():
            plant.apply(command)
        self.loop = SimulationLoop(
            plant, start, parameters.loop_options(), self._epoch, parameters.sensing(model)
        )
        self._control = RunControl(self.loop)
        self._per_torque = parameters.efforts_per_torque(model)
        self._state = joint_state_writer(model, parameters.frame_prefix, QUANTITIES)

    @override
    def activate(self) -> None:
        """Start to step from the start state."""
        self.loop.paused = self.parameters.start_paused
        self._control = RunControl(self.loop)
        self._control.reset(self.start())
        self._restart_timer()
        if self.parameters.lockstep:
            self._start_check = self.create_steady_timer(DISCOVERY, self._check_commands)

    @override
    def deactivate(self) -> None:
        """Stop stepping."""
        self.destroy_timer(self._timer)
        if self._start_check is not None:
            self.destroy_timer(self._start_check)

    @override
    def accept(self, parameters: SimulatorParameters) -> None:
        """Reject a physically inconsistent payload, and servos without torque."""
        parameters.payload_commands()
        parameters.check_servo()

    @override
    def check(self, parameters: SimulatorParameters, arm: Dynamics) -> None:
        """Reject a start outside the robot's limits."""
        start_state(parameters, arm.model)

    @override
    def adopt(self, changes: set[str]) -> None:
        """Use the changed parameters."""
        if self.arm is None:
            return
        parameters = self.parameters
        for command in parameters.payload_commands():
            self.loop.plant.apply(command)
        self.loop.set_options(parameters.loop_options())
        if self.active and 'real_time_factor' in changes:
            self.destroy_timer(self._timer)
            self._restart_timer()

    def _epoch(self) -> int:
        return self.wall_clock() if self.parameters.wall_stamps else 0

    # -- time -------------------------------------------------------------------------------

    def _restart_timer(self) -> None:
        self._timer = self.create_steady_timer(self.loop.pace.period, self._on_tick)

    def _on_tick(self) -> None:
        if self.active:  # a callback may be pending when its timer is destroyed
            self._advance(self.clock())

    def _check_commands(self) -> None:
        """Warn if lock step waits for commands that no node sends."""
        self._start_check.cancel()
        named, ordered = self.commands.topics
        topic = self.resolve_topic_name(named)
        if self.active and not self.loop.commanded and not self.count_publishers(topic):
            self.get_logger().warning(
                f'lockstep is true, and nothing publishes on {topic}: each step waits for the '
                f'command with the stamp of the last joint state, and those on {ordered} have no '
                'stamps'
            )

    def _on_command(self, command: ReceivedCommand) -> None:
        self.loop.command(command)
        if self.parameters.lockstep:
            self._advance(command.received)

    def _on_wrench(self, wrench: StampedWrench) -> None:
        self.loop.apply_wrench(ExternalWrench(wrench.frame, wrench.F))

    def _advance(self, now: float) -> None:
        loop, end = self.loop, now + BURST
        self.publish_if_needed()
        while now < end and loop.is_due(now):
            loop.step(now)
            self.publish_if_needed()
            now = self.clock()

    def publish_if_needed(self) -> None:
        """Publish the state if it is new, or was published some time ago."""
        now = self.clock()
        if self.loop.needs_publishing(now, REPEAT):
            self._publish_state(now)

    def _publish_state(self, now: float) -> None:
        loop = self.loop
        if self._clock_out is not None:
            self._clock_out.publish(Clock(clock=messages.time_message(loop.stamp)))
        q, qd, effort = loop.measured
        self._states.publish(self._state.fill(loop.stamp, q, qd, self._per_torque * effort))
        if self._true_states is not None:
            plant = loop.plant
            self._true_states.publish(
                self._state.fill(loop.stamp, plant.q, plant.qd, plant.effort)
            )
        self.simulated_base.publish(loop.stamp, loop.time)
        loop.state_published(now)

    # -- requests ---------------------------------------------------------------------------

    def simulation_state(self) -> RunState | None:
        """Return the state of the simulation; None without a robot."""
        if self.arm is None:
            return None
        return self._control.state if self.active else RunState.STOPPED

    def start(self) -> SetState:
        """Return the state at start and reset."""
        return start_state(self.parameters, self.arm.model)

    def request(self, request: Callable[[RunControl], Outcome]) -> Outcome:
        """Answer a request to the run control, and publish the state that results."""
        if not self.active:
            return Outcome(Result.NOT_NOW, f'the node is {self.state}')
        outcome = request(self._control)
        self._publish_state(self.clock())
        return outcome

    # -- diagnostics ------------------------------------------------------------------------

    @override
    def status(self) -> Status | None:
        """Return the fault of the simulation; None if there is none."""
        loop = self.loop
        if loop.diverged:
            return health.ERROR, loop.diverged
        if loop.paused:
            return None
        if not loop.commanded:
            needs = f' (lock step needs {self.commands.topics[0]})'
            needs = needs if self.parameters.lockstep else ''
            return health.WARN, f'no command yet{needs}'
        if loop.starved:
            return health.WARN, f'commands have stopped: {self.parameters.on_command_timeout}'
        if self.parameters.wall_stamps and abs(self._lag()) > LAG:
            return health.WARN, (
                f'stamps are more than {LAG:g} s from the wall clock: set wall_stamps: false and '
                'publish_clock: true, and use_sim_time: true in the other nodes'
            )
        return None

    def _lag(self) -> float:
        """Return wall clock minus stamp of the present state, s."""
        return (self.wall_clock() - self.loop.stamp) / SECOND

    @override
    def condition(self) -> Status:
        """Return the state of the simulation."""
        state = self._control.state
        return health.OK, 'running' if state is RunState.PLAYING else state.value

    @override
    def figures(self) -> dict[str, str]:
        """Return further values for the diagnostics."""
        loop, pace = self.loop, self.loop.pace
        return {
            'simulated time [s]': f'{loop.time:.3f}',
            'real-time factor': f'{pace.factor(self.clock(), loop.steps):.3f}',
            'steps': str(loop.steps),
            'late steps': str(pace.late),
            'schedule restarts': str(pace.restarts),
            'clock jumps': str(pace.jumps),
            'missed commands': str(loop.missed),
            'commands for another state': str(loop.unmatched),
            'brakes': 'on' if loop.plant.braked else 'off',
            **(
                {'stamps behind the wall clock [s]': f'{self._lag():.3f}'}
                if self.parameters.wall_stamps
                else {}
            ),
        }
