"""Parameters of the simulator node, and the simulation settings that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.ros.parameters import (
    EFFORT,
    GAIN,
    POSITION,
    TIME,
    ParameterError,
    given,
    joint_order,
    live,
    parameter,
)
from robot_dynamics.ros.robot_parameters import RobotParameters
from robot_dynamics.simulation import FRICTION_LAWS, INTEGRATORS, Payload
from robot_dynamics.simulation.commands import SetPayload, SetState
from robot_dynamics.simulation.run_control import MOST_STEPS
from robot_dynamics.simulation.scheduling import LoopOptions
from robot_dynamics.simulation.settings import SimulationSettings
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class SimulatorParameters(RobotParameters):
    """Parameters of the simulator node."""

    dry_friction: str = parameter(
        'smooth',
        'Dry friction near standstill: smooth (tanh, as in feed-forward: a joint under a small '
        'torque creeps) or stick_slip (it sticks until breakaway).',
        choices=FRICTION_LAWS,
    )
    stops__kind: str = parameter(
        'inelastic',
        "Stops at the URDF's position limits: inelastic (hard), spring (spring and damper), none.",
        choices=('inelastic', 'spring', 'none'),
    )
    stops__stiffness: tuple[float, ...] = parameter(
        [10000.0], 'Stiffness of spring stops, N m/rad or N/m, one value or one per joint.', GAIN
    )
    stops__damping: tuple[float, ...] = parameter(
        [100.0], 'Damping of spring stops, N m s/rad or N s/m, one value or one per joint.', GAIN
    )
    drives__delay: float = parameter(0.0, 'Delay of the drives, s.', (0.0, 1.0))
    drives__rate_limit: tuple[float, ...] = parameter(
        [0.0],
        'Rate limit of the torque, N m/s or N/s, one value or one per joint; 0: none.',
        EFFORT,
    )
    drives__speed_limits: bool = parameter(
        False, "Drives lose torque toward the URDF's velocity limits."
    )
    elasticity__stiffness: tuple[float, ...] = parameter(
        [0.0],
        'Stiffness between motor and link, N m/rad or N/m, one value or one per joint; 0: '
        'rigid joints. Elastic joints need rotor inertia.',
        GAIN,
    )
    elasticity__damping: tuple[float, ...] = parameter(
        [0.0],
        'Damping between motor and link, N m s/rad or N s/m, one value or one per joint.',
        GAIN,
    )

    payload__mass: float = live(RobotParameters, 'payload__mass')
    payload__com: tuple[float, ...] = live(RobotParameters, 'payload__com')
    payload__inertia: tuple[float, ...] = live(RobotParameters, 'payload__inertia')
    time_step: float = parameter(1e-3, 'Simulated time per step, s.', (1e-5, 0.1))
    integrator: str = parameter('rk4', 'Integrator.', choices=tuple(INTEGRATORS))
    publish_every: int = parameter(
        1,
        'Steps between two joint states (and between two commands in lock step).',
        (1, 100_000),
        live=True,
    )
    real_time_factor: float = parameter(
        1.0,
        'Simulated time per wall time; 0: as fast as possible.',
        (0, 1000),
        smallest=1e-3,
        live=True,
    )
    lockstep: bool = parameter(
        False,
        'Wait for the command on joint_effort with the stamp of the last joint state before each '
        'step.',
    )
    command_timeout: float = parameter(
        0.5,
        'Timeout of a command, and of the wait for one, in wall time, s.',
        (0.001, TIME[1]),
        live=True,
    )
    on_command_timeout: str = parameter(
        'brake',
        'On a command timeout: brake (brakes hold), zero (no torque), hold_last (last torque).',
        choices=('brake', 'zero', 'hold_last'),
        live=True,
    )
    wrench_timeout: float = parameter(
        0.1,
        'Simulated time for which a wrench on external_wrench acts on the arm, s.',
        TIME,
        live=True,
    )
    wrench_frames: tuple[str, ...] = parameter(
        [''],
        'Frames of external wrenches, compiled at start; at another frame the first wrench waits '
        'for the compiler.',
    )
    hold_until_command: bool = parameter(
        True, 'Brakes hold the arm until the first command; false: it starts without torque.'
    )
    initial_positions: tuple[float, ...] = parameter(
        [0.0],
        'Positions at start and after reset, rad or m: one value for all joints, or one each in '
        'the order of joints.',
        POSITION,
        live=True,
    )
    initial_velocities: tuple[float, ...] = parameter(
        [0.0],
        'Velocities at start and after reset, rad/s or m/s. Brakes do not hold an arm that starts '
        'in motion.',
        POSITION,
        live=True,
    )
    states__names: tuple[str, ...] = parameter([''], 'Names of states at rest.')
    states__positions: tuple[float, ...] = parameter(
        [0.0],
        'Positions of the named states, one state after the other, rad or m, in the order of '
        'joints.',
        POSITION,
    )
    reset_to: str = parameter(
        '', 'Named state at start and after reset; empty: the initial positions.', live=True
    )
    steps_per_call: int = parameter(1, 'Steps per call of ~/step.', (1, MOST_STEPS), live=True)
    start_paused: bool = parameter(False, 'Start paused; resume by the service ~/resume.')
    publish_clock: bool = parameter(False, 'Publish simulated time on /clock.')
    wall_stamps: bool = parameter(
        False,
        'Stamps count from the wall time at start and reset instead of from 0, for tools that do '
        'not use simulated time.',
    )
    record_to: str = parameter(
        '',
        'Command log for `robot-dynamics replay`: a new file, or a folder for files named by the '
        'time. Recording starts with the node, or by ~/record.',
        live=True,
    )

    def robot(self, text: str | bytes) -> RobotModel:
        """Return the robot of a URDF text, with friction and without payload."""
        model = super().robot(text)
        friction = self.friction(model)
        return model.with_actuation(viscous=friction.viscous, coulomb=friction.coulomb)

    def loop_options(self) -> LoopOptions:
        """Return the options of the simulation loop."""
        return LoopOptions(**{item.name: getattr(self, item.name) for item in fields(LoopOptions)})

    def settings(self, model: RobotModel) -> SimulationSettings:
        """Return the settings of the simulation of this robot, which has friction and no payload.

        Raises:
            ParameterError: a parameter has neither one value nor one for each joint.
        """
        rate_limit = self.of_joints('drives__rate_limit', model)
        return SimulationSettings(
            gravity=model.gravity.tolist(),
            locked_joints=self.locked(),
            tip_link=self.tip_link or None,
            strict_inertials=self.strict_inertials,
            viscous=model.viscous.tolist(),
            coulomb=model.coulomb.tolist(),
            time_step=self.time_step,
            integrator=self.integrator,
            friction=self.dry_friction,
            delay=self.drives__delay,
            rate_limit=np.where(rate_limit == 0, np.inf, rate_limit).tolist(),
            speed_limits=self.drives__speed_limits,
            stops=self.stops__kind,
            stop_stiffness=self.of_joints('stops__stiffness', model).tolist(),
            stop_damping=self.of_joints('stops__damping', model).tolist(),
            joint_stiffness=self.of_joints('elasticity__stiffness', model).tolist(),
            joint_damping=self.of_joints('elasticity__damping', model).tolist(),
            payload_links=given((self.payload__link,)),
            wrench_frames=given(self.wrench_frames),
        )

    def payload_commands(self) -> list[SetPayload]:
        """Return the commands that give the arm its payload; a payload of mass 0 is none.

        Raises:
            ModelError: the payload has no link, or a physically inconsistent inertia.
        """
        load, link = self.payload(), self.payload__link
        if not link:
            return []
        if load.mass == 0 and not load.inertia_com.any():
            return [SetPayload(link, None)]
        return [SetPayload(link, Payload(load.mass, load.com, load.inertia_com))]

    def start_state(self, model: RobotModel) -> SetState:
        """Return the state at start and reset.

        Raises:
            ParameterError: a state is outside the joints' limits, or `reset_to` does not exist.
        """
        states = self._named_states(model)
        if self.reset_to:
            if self.reset_to not in states:
                known = ', '.join(states) or 'none: set states.names'
                raise ParameterError(f'reset_to is {self.reset_to!r}; known states: {known}')
            return states[self.reset_to]
        q, qd = (self.of_joints(f'initial_{part}', model) for part in ('positions', 'velocities'))
        if len(self.initial_positions) == 1:
            # One value for all joints is clamped to the limits of each.
            q = np.clip(q, model.lower, model.upper)
        limit = model.velocity_limit
        return SetState(
            _within('initial_positions', q, model.lower, model.upper, model),
            _within('initial_velocities', qd, -limit, limit, model),
        )

    def _named_states(self, model: RobotModel) -> dict[str, SetState]:
        names, positions = given(self.states__names), self.states__positions
        order = joint_order(self.joints, model.joint_names)
        if not names:
            return {}
        if len(set(names)) != len(names):
            raise ParameterError(f'states.names is {", ".join(names)}; each name must be unique')
        if len(positions) != len(names) * model.n:
            raise ParameterError(
                f'states.positions has {len(positions)} values; expected {len(names) * model.n}, '
                f'for {len(names)} states of {model.n} joints, each in the order '
                f'{", ".join(order)}'
            )
        rows = np.reshape(positions, (len(names), model.n))
        columns = [order.index(joint) for joint in model.joint_names]
        return {
            name: SetState(
                _within(f'state {name!r}', row[columns], model.lower, model.upper, model),
                np.zeros(model.n),
            )
            for name, row in zip(names, rows, strict=True)
        }


def _within(what: str, values: Array, low: Array, high: Array, model: RobotModel) -> Array:
    """Return the values (n,) of the joints; raise ParameterError if one is outside its limits."""
    outside = (values < low) | (values > high)
    if outside.any():
        j = int(np.argmax(outside))
        raise ParameterError(
            f'{what}: joint {model.joint_names[j]} at {values[j]}; expected a value in '
            f'[{low[j]}, {high[j]}]'
        )
    return values
