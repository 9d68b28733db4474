"""An arm that is not there: takes efforts, publishes joint states, keeps simulated time.

Commands come as `std_msgs/Float64MultiArray` in the order of the parameter `joints`, as
ros2_control's forward_command_controller takes them, or as `sensor_msgs/JointState` by name, which
wins if both arrive. When to step is decided in simulation_loop.py, how in
robot_dynamics.simulation. The node publishes /clock on request, so its own timers run on the
steady clock.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.nodes import _main, diagnostics, messages, qos
from robot_dynamics.nodes.joint_states import JointDataError, JointMap
from robot_dynamics.nodes.messages import JointStateWriter
from robot_dynamics.nodes.parameters import (
    ParameterError,
    RobotParameters,
    joint_order,
    parameter,
    per_joint,
)
from robot_dynamics.nodes.publisher_guard import PublisherGuard
from robot_dynamics.nodes.robot_node import LOOK, RobotNode
from robot_dynamics.nodes.simulation_loop import Command, LoopOptions, Outcome, SimulationLoop
from robot_dynamics.simulation import INTEGRATORS, Simulator
from robot_dynamics.spatial import Array

BURST = 0.01  # s of stepping at most before messages are heard again
REPEAT = 0.1  # s, between two messages of a state that does not change


@dataclass(frozen=True)
class SimulatorParameters(RobotParameters):
    """Parameters of the simulator node."""

    time_step: float = parameter(1e-3, 'Simulated time per step, s.', low=1e-5, high=0.1)
    integrator: str = parameter(
        'semi_implicit_euler', 'How a step is made.', choices=tuple(INTEGRATORS)
    )
    publish_every: int = parameter(
        1,
        'Steps between two joint states (and between two commands in lock step).',
        low=1,
        high=1000,
    )
    real_time_factor: float = parameter(
        1.0, 'Simulated time per wall time; 0: as fast as possible.', low=0.0, high=1000.0
    )
    lockstep: bool = parameter(
        False,
        'Wait for the command on joint_effort that carries the stamp of the last joint state '
        'before going on.',
    )
    command_timeout: float = parameter(
        0.5, 'Wall time after which a command, or the wait for one, is over, s.', low=0.001
    )
    on_command_timeout: str = parameter(
        'brake',
        'What the arm does then: brake (held still), zero (no torque), hold_last (last torque).',
        choices=('brake', 'zero', 'hold_last'),
    )
    hold_until_command: bool = parameter(
        True, 'Brakes hold the arm until the first command; else it falls.'
    )
    initial_positions: tuple[float, ...] = parameter(
        [0.0],
        'Positions at start and after reset, rad or m: one value for all joints, or one each in '
        'the order of joints.',
    )
    start_paused: bool = parameter(False, 'Start paused; the service ~/resume goes on.')
    publish_clock: bool = parameter(False, 'Publish simulated time on /clock.')
    wall_stamps: bool = parameter(
        False,
        'Stamps count from the wall time at start and reset instead of from 0: for tools that do '
        'not use simulated time.',
    )


class SimulatorNode(RobotNode):
    """Simulates the robot under the efforts it is sent."""

    table = SimulatorParameters

    def __init__(self, **kwargs: Any):
        super().__init__('simulator_node', **kwargs)
        if self.get_parameter('use_sim_time').value and self.parameters.publish_clock:
            raise ParameterError(
                'use_sim_time is true, but this node publishes /clock: it would wait for itself'
            )
        self._states = self.create_publisher(JointState, 'joint_states', qos.STREAM_OUT)
        self._clock_out = (
            self.create_publisher(Clock, '/clock', qos.CLOCK)
            if self.parameters.publish_clock
            else None
        )
        ordered = self.create_subscription(
            Float64MultiArray, 'effort_controller/commands', self._on_ordered, qos.COMMANDS_IN
        )
        named = self.create_subscription(
            JointState, 'joint_effort', self._on_named, qos.COMMANDS_IN
        )
        self._ordered_guard, self._named_guard = PublisherGuard(), PublisherGuard()
        self._command_guards = {
            ordered.topic_name: self._ordered_guard,
            named.topic_name: self._named_guard,
        }
        for name in ('reset', 'pause', 'resume', 'step'):
            self.create_service(Trigger, f'~/{name}', getattr(self, f'_on_{name}'))
        self.create_steady_timer(LOOK, self._on_look)
        self.find_robot()

    def use(self, arm: Dynamics) -> None:
        """Put this robot at its initial positions."""
        parameters, names = self.parameters, arm.model.joint_names
        still = np.zeros(arm.model.n)
        arm.forward_dynamics(still, still, still)
        order = joint_order(parameters.joints, names)
        initial = self._initial_positions(arm.model, order)
        simulator = Simulator(
            arm,
            time_step=parameters.time_step,
            integrator=INTEGRATORS[parameters.integrator],
        )
        options = LoopOptions(
            **{item.name: getattr(parameters, item.name) for item in fields(LoopOptions)}
        )
        self._commands, self._command_order = JointMap(names), order
        self._loop = SimulationLoop(simulator, initial, options)
        self._state = JointStateWriter(
            names, arm.model.link_names[0], ('position', 'velocity', 'effort')
        )
        self._epoch = self._new_epoch()
        if self.arm is None:
            # As fast as possible, the period only bounds how long the node listens in between.
            self.create_steady_timer(
                parameters.time_step / (parameters.real_time_factor or 1.0), self._on_tick
            )

    def _initial_positions(self, model: RobotModel, order: tuple[str, ...]) -> Array:
        names, given_values = model.joint_names, self.parameters.initial_positions
        q = per_joint('initial_positions', given_values, order, names)
        nearest = np.clip(q, model.lower, model.upper)
        # One value for all may lie outside the limits of some joints: the nearest will do.
        if len(given_values) > 1 and (q != nearest).any():
            j = int(np.argmax(q != nearest))
            raise ParameterError(
                f'initial_positions: joint {names[j]} at {q[j]}; it must be in '
                f'[{model.lower[j]}, {model.upper[j]}]'
            )
        return nearest

    # -- commands ---------------------------------------------------------------------------

    def _on_named(self, message: JointState) -> None:
        if self.arm is None:
            return
        self._named_guard.heard()
        try:
            _refuse_conflict(self._named_guard)
            tau = self._commands.complete(message.name, message.effort, 'joint_effort')
        except RobotDynamicsError as error:
            return self.refuse('command', error)
        stamp = messages.nanoseconds(message.header.stamp) - self._epoch
        self._take(tau, stamp)

    def _on_ordered(self, message: Float64MultiArray) -> None:
        if self.arm is None:
            return
        self._ordered_guard.heard()
        order = self._command_order
        try:
            _refuse_conflict(self._ordered_guard)
            if len(message.data) != len(order):
                raise JointDataError(
                    f'{len(message.data)} efforts; there must be {len(order)}, in the order '
                    f'{", ".join(order)}'
                )
            tau = self._commands.complete(list(order), message.data, 'effort_controller/commands')
        except RobotDynamicsError as error:
            return self.refuse('command', error)
        self._take(tau, None)

    def _take(self, tau: Any, stamp: int | None) -> None:
        now = time.monotonic()
        self.health.heard()
        self._loop.command(Command(tau, stamp, now))
        self._advance(now)

    def _on_look(self) -> None:
        for topic, guard in self._command_guards.items():
            guard.look(self.publishers_of(topic))

    # -- time -------------------------------------------------------------------------------

    def _on_tick(self) -> None:
        self._advance(time.monotonic())

    def _advance(self, now: float) -> None:
        loop, end = self._loop, now + BURST
        self._publish_if_wanted(now)
        while now < end and loop.due(now):
            loop.step(now)
            self._publish_if_wanted(now)
            now = time.monotonic()

    def _publish_if_wanted(self, now: float) -> None:
        if self._loop.wants_publishing(now, REPEAT):
            self._publish_state(now)

    def _publish_state(self, now: float) -> None:
        loop = self._loop
        stamp = self._epoch + loop.stamp
        if self._clock_out is not None:
            self._clock_out.publish(Clock(clock=messages.time_message(stamp)))
        self._states.publish(
            self._state.fill(stamp, loop.simulator.q, loop.simulator.qd, loop.applied_effort)
        )
        loop.published(now)
        for guard in self._command_guards.values():
            guard.published()

    def _new_epoch(self) -> int:
        return time.time_ns() if self.parameters.wall_stamps else 0

    # -- services ---------------------------------------------------------------------------

    def _on_reset(self, _request: Any, response: Any) -> Any:
        self._epoch = self._new_epoch()
        return _answer(response, self._ask('reset'))

    def _on_pause(self, _request: Any, response: Any) -> Any:
        return _answer(response, self._ask('pause'))

    def _on_resume(self, _request: Any, response: Any) -> Any:
        return _answer(response, self._ask('resume', time.monotonic()))

    def _on_step(self, _request: Any, response: Any) -> Any:
        return _answer(response, self._ask('single_step'))

    def _ask(self, verb: str, *arguments: Any) -> Outcome:
        if self.arm is None:
            return Outcome(False, 'waiting for robot_description')
        outcome = getattr(self._loop, verb)(*arguments)
        self._publish_state(time.monotonic())
        return outcome

    # -- diagnostics ------------------------------------------------------------------------

    def trouble(self) -> tuple[bytes, str] | None:
        """Return the level and the sentence for what is wrong at present, None if nothing is."""
        loop = self._loop
        conflict = self._named_guard.conflict or self._ordered_guard.conflict
        if loop.diverged:
            return diagnostics.ERROR, loop.diverged
        if conflict:
            return diagnostics.ERROR, conflict
        if loop.paused:
            return None
        if not loop.commanded:
            needs = ' (lock step needs joint_effort)' if self.parameters.lockstep else ''
            return diagnostics.WARN, f'no command yet{needs}'
        if loop.starved:
            return diagnostics.WARN, f'commands have stopped: {self.parameters.on_command_timeout}'
        return None

    def condition(self) -> tuple[bytes, str]:
        """Return the level and the sentence for the diagnostics of a node without trouble."""
        return (diagnostics.OK, 'paused') if self._loop.paused else super().condition()

    def figures(self) -> dict[str, str]:
        """Return more values for the diagnostics."""
        loop = self._loop
        return {
            'simulated time [s]': f'{loop.stamp / messages.SECOND:.3f}',
            'real-time factor': f'{loop.real_time_factor(time.monotonic()):.3f}',
            'steps': str(loop.steps),
            'late steps': str(loop.overruns),
            'missed commands': str(loop.missed),
            'answers to another state': str(loop.strays),
            'brakes': 'on' if loop.braked else 'off',
        }


def _refuse_conflict(guard: PublisherGuard) -> None:
    if guard.conflict:
        raise JointDataError(guard.conflict)


def _answer(response: Any, outcome: Outcome) -> Any:
    response.success, response.message = outcome
    return response


def main() -> None:
    """Run the node."""
    _main.main(SimulatorNode)


if __name__ == '__main__':
    main()
