"""Lifecycle node that simulates an effort-controlled arm.

Subscribes
    joint_effort                 sensor_msgs/JointState           efforts by joint name
    effort_controller/commands   std_msgs/Float64MultiArray       efforts in the order of `joints`
    external_wrench              geometry_msgs/WrenchStamped      acts on a frame of the arm
Publishes, stamped with simulated time
    joint_states                 sensor_msgs/JointState           with the applied efforts
    /clock                       rosgraph_msgs/Clock              if `publish_clock`

Efforts by name take precedence. Because the node may publish /clock, its timers use the steady
clock. Stepping is in `simulation/scheduling.py`, services are in `ros/simulator_services.py`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.ros import diagnostics, executable, messages, qos
from robot_dynamics.ros.command_guard import CommandInputGuard
from robot_dynamics.ros.diagnostics import Diagnostics, Status
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.parameters import ParameterError, joint_order
from robot_dynamics.ros.robot_source import RobotSource
from robot_dynamics.ros.serialization import JointStateWriter
from robot_dynamics.ros.simulator_inputs import SimulatorInputs
from robot_dynamics.ros.simulator_parameters import (
    SimulatorParameters,
    loop_options,
    payload_commands,
    settings,
    start_state,
    unloaded_robot,
)
from robot_dynamics.ros.simulator_recording import SimulatorRecording
from robot_dynamics.ros.simulator_services import TriggerServices, standard_services
from robot_dynamics.simulation.commands import ExternalWrench, SetState
from robot_dynamics.simulation.run_control import Outcome, Result, RunControl, State
from robot_dynamics.simulation.scheduling import ReceivedCommand, SimulationLoop

BURST = 0.01  # s of stepping at most before messages are processed
LAG = 1.0  # s between stamps and wall clock, more than tf and rviz tolerate
REPEAT = 0.1  # s, between two messages of a state that does not change


class SimulatorNode(RobotNode):
    """Simulates the robot under effort commands and external wrenches."""

    table = SimulatorParameters

    def __init__(self, **kwargs: Any):
        super().__init__('simulator_node', **kwargs)
        if self.get_parameter('use_sim_time').value and self.parameters.publish_clock:
            raise ParameterError(
                'use_sim_time is true, but this node publishes /clock: set one of them to false'
            )
        self.clock = time.monotonic  # s
        self.wall_clock = time.time_ns
        self._states = self.create_publisher(JointState, 'joint_states', qos.STREAM_OUT)
        self._clock_out = (
            self.create_publisher(Clock, '/clock', qos.CLOCK)
            if self.parameters.publish_clock
            else None
        )
        self._timer: Any = None
        self.robot = self.add(RobotSource(self, unloaded_robot))
        self.recording = self.add(SimulatorRecording(self))
        self.inputs = SimulatorInputs(self, self._on_command, self._on_wrench)
        self.inputs.guard = self.add(CommandInputGuard(self, self.inputs.topics))
        self.diagnostics = self.add(Diagnostics(self, self._condition))
        self._requests = TriggerServices(self), standard_services(self)
        self.robot.begin()

    # -- robot and parameters -------------------------------------------------------

    def prepare(self, arm: Dynamics) -> None:
        """Compile the step; raises if the robot cannot be simulated."""
        still = np.zeros(arm.model.n)
        arm.forward_dynamics(still, still, still)
        settings(self.parameters, arm.model).plant(arm)

    def use(self, arm: Dynamics) -> None:
        """Simulate this robot from its start."""
        parameters, model = self.parameters, arm.model
        start = start_state(parameters, model)
        plant = settings(parameters, model).plant(arm)
        for command in payload_commands(parameters):
            plant.apply(command)
        self._log(self.end_record())  # of the previous robot
        self._loop = SimulationLoop(plant, start, loop_options(parameters), self._epoch)
        self._control = RunControl(self._loop)
        self.inputs.use(model, joint_order(parameters.joints, model.joint_names))
        self._state = JointStateWriter(
            model.joint_names,
            parameters.frame_prefix + model.link_names[0],
            ('position', 'velocity', 'effort'),
        )

    def activate(self) -> None:
        """Start to step from the start state."""
        self._loop.paused = self.parameters.start_paused
        self._control = RunControl(self._loop)
        self._control.reset(self._start())
        if self.parameters.record_to:
            self._log(self.record())
        self._restart_timer()

    def deactivate(self) -> None:
        """Stop stepping."""
        self.destroy_timer(self._timer)
        self._log(self.end_record())

    def accept(self, parameters: SimulatorParameters) -> None:
        """Reject a physically inconsistent payload."""
        payload_commands(parameters)

    def check(self, parameters: SimulatorParameters, arm: Dynamics) -> None:
        """Reject a start outside the robot's limits."""
        start_state(parameters, arm.model)

    def adopt(self, changes: set[str]) -> None:
        """Use the changed parameters."""
        if self.arm is None:
            return
        parameters = self.parameters
        for command in payload_commands(parameters):
            self._loop.plant.apply(command)
        self._loop.set_options(loop_options(parameters))
        if self.active and 'real_time_factor' in changes:
            self.destroy_timer(self._timer)
            self._restart_timer()

    def _epoch(self) -> int:
        return self.wall_clock() if self.parameters.wall_stamps else 0

    # -- time -------------------------------------------------------------------------------

    def _restart_timer(self) -> None:
        self._timer = self.create_steady_timer(self._loop.pace.period, self._on_tick)

    def _on_tick(self) -> None:
        if self.active:  # a callback may be pending when its timer is destroyed
            self._advance(self.clock())

    def _on_command(self, command: ReceivedCommand) -> None:
        self._loop.command(command)
        if self.parameters.lockstep:
            self._advance(command.received)

    def _on_wrench(self, wrench: ExternalWrench) -> None:
        self._loop.apply_wrench(wrench)

    def _advance(self, now: float) -> None:
        loop, end = self._loop, now + BURST
        self._publish_if_needed(now)
        while now < end and loop.is_due(now):
            loop.step(now)
            self._publish_if_needed(now)
            now = self.clock()

    def _publish_if_needed(self, now: float) -> None:
        if self._loop.needs_publishing(now, REPEAT):
            self._publish_state(now)

    def _publish_state(self, now: float) -> None:
        loop = self._loop
        if self._clock_out is not None:
            self._clock_out.publish(Clock(clock=messages.time_message(loop.stamp)))
        plant = loop.plant
        self._states.publish(self._state.fill(loop.stamp, plant.q, plant.qd, plant.effort))
        loop.state_published(now)
        self.recording.add_state()

    # -- requests ---------------------------------------------------------------------------

    def simulation_state(self) -> State | None:
        """Return the state of the simulation; None without a robot."""
        if self.arm is None:
            return None
        return self._control.state if self.active else State.STOPPED

    def play(self) -> Outcome:
        """Resume."""
        return self._request(lambda: self._control.play())

    def pause(self) -> Outcome:
        """Pause."""
        return self._request(lambda: self._control.pause())

    def stop_simulation(self) -> Outcome:
        """Return to the start, and pause."""
        return self._request(lambda: self._control.stop(self._start()))

    def step(self, steps: int) -> Outcome:
        """Make some steps, while paused."""

        def publish() -> None:
            self._publish_if_needed(self.clock())

        return self._request(lambda: self._control.step(steps, publish))

    def reset(self, *, time: bool = True, state: bool = True) -> Outcome:
        """Reset the time, the state, or both."""
        return self._request(
            lambda: self._control.reset(self._start() if state else None, time=time)
        )

    def _start(self) -> SetState:
        return start_state(self.parameters, self.arm.model)

    def record(self) -> Outcome:
        """Start a recording."""
        if self.arm is None:
            return Outcome(Result.NOT_NOW, f'the node is {self.state}')
        return self.recording.begin(self._loop, self.robot.text)

    def end_record(self) -> Outcome:
        """End the recording."""
        return self.recording.end()

    def _request(self, request: Callable[[], Outcome]) -> Outcome:
        if not self.active:
            return Outcome(Result.NOT_NOW, f'the node is {self.state}')
        outcome = request()
        self._publish_state(self.clock())
        return outcome

    def _log(self, outcome: Outcome) -> None:
        """Log the outcome of a request that the node itself made."""
        if outcome.result is Result.DONE:
            self.get_logger().info(outcome.message)
        elif not outcome.success:
            self.get_logger().error(outcome.message)

    # -- diagnostics ------------------------------------------------------------------------

    def status(self) -> Status | None:
        """Return the fault of the simulation; None if there is none."""
        loop = self._loop
        if loop.diverged:
            return diagnostics.ERROR, loop.diverged
        if loop.paused:
            return None
        if not loop.commanded:
            needs = ' (lock step needs joint_effort)' if self.parameters.lockstep else ''
            return diagnostics.WARN, f'no command yet{needs}'
        if loop.starved:
            return diagnostics.WARN, f'commands have stopped: {self.parameters.on_command_timeout}'
        if self.parameters.wall_stamps and abs(self._lag()) > LAG:
            # In powers of two: the message, and thus the log, changes when the lag doubles.
            lag = 2 ** math.floor(math.log2(abs(self._lag())))
            where = 'behind' if self._lag() > 0 else 'ahead of'
            return diagnostics.WARN, (
                f'stamps are more than {lag} s {where} the wall clock: set wall_stamps: false and '
                'publish_clock: true, and use_sim_time: true in the other nodes'
            )
        return None

    def _lag(self) -> float:
        """Return wall clock minus stamp of the present state, s."""
        return (self.wall_clock() - self._loop.stamp) / messages.SECOND

    def _condition(self) -> Status:
        """Return the status of a node without faults."""
        state = self._control.state
        return diagnostics.OK, 'running' if state is State.PLAYING else state.value

    def figures(self) -> dict[str, str]:
        """Return further values for the diagnostics."""
        loop, pace = self._loop, self._loop.pace
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


def main() -> None:
    """Run the node."""
    executable.main(SimulatorNode)


if __name__ == '__main__':
    main()
