"""An arm that is not there: takes efforts, publishes joint states, keeps simulated time.

Commands come as `std_msgs/Float64MultiArray` in the order of the parameter `joints`, as
ros2_control's forward_command_controller takes them, or as `sensor_msgs/JointState` by name, which
wins if both arrive. When to step is decided in simulator/loop.py, how in
robot_dynamics.simulation; simulator/inputs.py hears, simulator/services.py answers people. The
node publishes /clock on request, so its own timers run on the steady clock.
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
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.ros import diagnostics, messages, qos
from robot_dynamics.ros import executable as _main
from robot_dynamics.ros.messages import JointStateWriter
from robot_dynamics.ros.parameters import ParameterError, changed, joint_order, values
from robot_dynamics.ros.robot_node import LOOK, RobotNode
from robot_dynamics.ros.simulator_inputs import SimulatorInputs
from robot_dynamics.ros.simulator_parameters import (
    SimulatorParameters,
    loads,
    loop_options,
    plant,
    start_state,
    unloaded_robot,
)
from robot_dynamics.ros.simulator_recording import SimulatorRecording
from robot_dynamics.ros.simulator_services import TriggerServices, standard_services
from robot_dynamics.simulation.commands import Place, Push
from robot_dynamics.simulation.run_control import Outcome, Result, SimulationRequests, State
from robot_dynamics.simulation.scheduling import Command, SimulationLoop

BURST = 0.01  # s of stepping at most before messages are heard again
LAG = 1.0  # s, of stamps and wall clock: what tf and rviz tolerate, and more
REPEAT = 0.1  # s, between two messages of a state that does not change


class SimulatorNode(RobotNode):
    """Simulates the robot under the efforts it is sent."""

    table = SimulatorParameters

    def __init__(self, **kwargs: Any):
        super().__init__('simulator_node', **kwargs)
        if self.get_parameter('use_sim_time').value and self.parameters.publish_clock:
            raise ParameterError(
                'use_sim_time is true, but this node publishes /clock: it would wait for itself'
            )
        self.clock = time.monotonic  # s; a machine's that may stop, but does not jump
        self.wall_clock = time.time_ns
        self._states = self.create_publisher(JointState, 'joint_states', qos.STREAM_OUT)
        self._clock_out = (
            self.create_publisher(Clock, '/clock', qos.CLOCK)
            if self.parameters.publish_clock
            else None
        )
        self._inputs = SimulatorInputs(self, self._on_command, self._on_push)
        self._answering = TriggerServices(self), standard_services(self)
        self.create_steady_timer(LOOK, self._on_look)
        self._recording = SimulatorRecording(self)
        self._ticks: Any = None
        self.find_robot()

    # -- the robot and the parameters -------------------------------------------------------

    def model_of(self, parameters: SimulatorParameters, text: str) -> RobotModel:
        """Return the robot without its payload, which comes and goes in the simulator."""
        return unloaded_robot(parameters, text)

    def prepare(self, arm: Dynamics) -> None:
        """Compile the step; a robot that cannot be simulated is refused."""
        still = np.zeros(arm.model.n)
        arm.forward_dynamics(still, still, still)
        plant(self.parameters, arm)

    def use(self, arm: Dynamics) -> None:
        """Put this robot at its start."""
        parameters, model = self.parameters, arm.model
        start = start_state(parameters, model)
        simulated = plant(parameters, arm)
        for load in loads(parameters):
            simulated.apply(load)
        self._log(self.end_record())  # the file is about the robot before
        self._loop = SimulationLoop(simulated, start, loop_options(parameters), self._epoch)
        self._requests = SimulationRequests(self._loop)
        self._inputs.use(model, joint_order(parameters.joints, model.joint_names))
        self._state = JointStateWriter(
            model.joint_names,
            parameters.frame_prefix + model.link_names[0],
            ('position', 'velocity', 'effort'),
        )

    def start(self) -> None:
        """Begin at the start."""
        self._loop.paused = self.parameters.start_paused
        self._requests = SimulationRequests(self._loop)
        self._requests.reset(self._start())
        if self.parameters.record_to:
            self._log(self.record())
        self._tick_anew()

    def stop(self) -> None:
        """Let time stand."""
        self.destroy_timer(self._ticks)
        self._log(self.end_record())

    def accept(self, parameters: SimulatorParameters) -> None:
        """Refuse a start that is outside the robot's limits, and a payload that is no body."""
        super().accept(parameters)
        loads(parameters)
        if self.arm is not None:
            start_state(parameters, self.arm.model)

    def adopt(self, parameters: SimulatorParameters) -> None:
        """Go on with other parameters."""
        before = self.parameters
        super().adopt(parameters)
        if self.arm is None:
            return
        now = values(parameters)
        self._recording.parameters({name: now[name] for name in changed(before, parameters)})
        for load in loads(parameters):
            self._loop.plant.apply(load)
        self._loop.choose(loop_options(parameters))
        if self.active and parameters.real_time_factor != before.real_time_factor:
            self.destroy_timer(self._ticks)
            self._tick_anew()

    def _epoch(self) -> int:
        return self.wall_clock() if self.parameters.wall_stamps else 0

    # -- time -------------------------------------------------------------------------------

    def _tick_anew(self) -> None:
        # As fast as possible, the period only bounds how long the node listens in between.
        self._ticks = self.create_steady_timer(self._loop.pace.look, self._on_tick)

    def _on_tick(self) -> None:
        if self.active:  # a tick may be under way when its timer goes
            self._advance(self.clock())

    def _on_command(self, command: Command) -> None:
        self._loop.command(command)
        if self.parameters.lockstep:
            self._advance(command.heard)

    def _on_push(self, push: Push) -> None:
        self._loop.push(push)

    def _advance(self, now: float) -> None:
        loop, end = self._loop, now + BURST
        self._publish_if_wanted(now)
        while now < end and loop.due(now):
            loop.step(now)
            self._publish_if_wanted(now)
            now = self.clock()

    def _on_look(self) -> None:
        self._inputs.look()
        self._recording.look(self.clock())

    def _publish_if_wanted(self, now: float) -> None:
        if self._loop.wants_publishing(now, REPEAT):
            self._publish_state(now)

    def _publish_state(self, now: float) -> None:
        loop = self._loop
        if self._clock_out is not None:
            self._clock_out.publish(Clock(clock=messages.time_message(loop.stamp)))
        plant = loop.plant
        self._states.publish(self._state.fill(loop.stamp, plant.q, plant.qd, plant.effort))
        loop.published(now)
        self._inputs.published()
        self._recording.seen()

    # -- requests ---------------------------------------------------------------------------

    def simulation_state(self) -> State | None:
        """Return what the simulation does; None if there is no robot."""
        if self.arm is None:
            return None
        return self._requests.state if self.active else State.STOPPED

    def play(self) -> Outcome:
        """Let time go on."""
        return self._ask(lambda: self._requests.play())

    def pause(self) -> Outcome:
        """Let time stand."""
        return self._ask(lambda: self._requests.pause())

    def stop_simulation(self) -> Outcome:
        """Return to the start, and let time stand."""
        return self._ask(lambda: self._requests.stop(self._start()))

    def step(self, steps: int) -> Outcome:
        """Make some steps, while paused."""

        def publish() -> None:
            self._publish_if_wanted(self.clock())

        return self._ask(lambda: self._requests.step(steps, publish))

    def reset(self, *, time: bool = True, state: bool = True) -> Outcome:
        """Begin again: the time, the state, or both."""
        return self._ask(lambda: self._requests.reset(self._start() if state else None, time=time))

    def _start(self) -> Place:
        return start_state(self.parameters, self.arm.model)

    def record(self) -> Outcome:
        """Record from now on."""
        if self.arm is None:
            return Outcome(Result.NOT_NOW, f'the node is {self.state}')
        return self._recording.begin(self._loop, self._source.text)

    def end_record(self) -> Outcome:
        """End the recording."""
        return self._recording.end()

    def _ask(self, request: Callable[[], Outcome]) -> Outcome:
        if not self.active:
            return Outcome(Result.NOT_NOW, f'the node is {self.state}')
        outcome = request()
        self._publish_state(self.clock())
        return outcome

    def _log(self, outcome: Outcome) -> None:
        """Say what came of something that nobody waits for."""
        if outcome.result is Result.DONE:
            self.get_logger().info(outcome.message)
        elif not outcome.success:
            self.get_logger().error(outcome.message)

    # -- diagnostics ------------------------------------------------------------------------

    def trouble(self) -> tuple[bytes, str] | None:
        """Return the level and the sentence for what is wrong at present, None if nothing is."""
        loop = self._loop
        if loop.diverged:
            return diagnostics.ERROR, loop.diverged
        if self._inputs.conflict:
            return diagnostics.ERROR, self._inputs.conflict
        if self._recording.failure:
            return diagnostics.ERROR, self._recording.failure
        if loop.paused:
            return None
        if not loop.commanded:
            needs = ' (lock step needs joint_effort)' if self.parameters.lockstep else ''
            return diagnostics.WARN, f'no command yet{needs}'
        if loop.starved:
            return diagnostics.WARN, f'commands have stopped: {self.parameters.on_command_timeout}'
        if self.parameters.wall_stamps and abs(self._lag()) > LAG:
            # In powers of two: the log has a line each time the lag doubles, not in each report.
            lag = 2 ** math.floor(math.log2(abs(self._lag())))
            where = 'behind' if self._lag() > 0 else 'ahead of'
            return diagnostics.WARN, (
                f'stamps are more than {lag} s {where} the wall clock: set wall_stamps: false and '
                'publish_clock: true, and use_sim_time: true in the other nodes'
            )
        return None

    def _lag(self) -> float:
        """Return how far the stamp of the present state is behind the wall clock, s."""
        return (self.wall_clock() - self._loop.stamp) / messages.SECOND

    def condition(self) -> tuple[bytes, str]:
        """Return the level and the sentence for the diagnostics of a node without trouble."""
        state = self._requests.state
        return super().condition() if state is State.PLAYING else (diagnostics.OK, state.value)

    def figures(self) -> dict[str, str]:
        """Return more values for the diagnostics."""
        loop, pace = self._loop, self._loop.pace
        return {
            'simulated time [s]': f'{loop.time:.3f}',
            'real-time factor': f'{pace.factor(self.clock(), loop.steps):.3f}',
            'steps': str(loop.steps),
            'late steps': str(pace.late),
            'schedule restarts': str(pace.restarts),
            'clock jumps': str(pace.jumps),
            'missed commands': str(loop.missed),
            'answers to another state': str(loop.strays),
            'brakes': 'on' if loop.plant.braked else 'off',
            **(
                {'stamps behind the wall clock [s]': f'{self._lag():.3f}'}
                if self.parameters.wall_stamps
                else {}
            ),
            **self._recording.figures(),
        }


def main() -> None:
    """Run the node."""
    _main.main(SimulatorNode)


if __name__ == '__main__':
    main()
