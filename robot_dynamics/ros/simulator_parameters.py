"""Parameters of the simulator node, and the simulation settings that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.ros.parameters import (
    FURTHEST,
    LARGEST_EFFORT,
    LARGEST_GAIN,
    LONGEST_TIME,
    ParameterError,
    RobotParameters,
    given,
    joint_order,
    live,
    parameter,
    per_joint,
)
from robot_dynamics.ros.robot_source import bare_robot, friction_of, locked_joints, payload
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
    stops_kind: str = parameter(
        'inelastic',
        "Stops at the URDF's position limits: inelastic (hard), spring (spring and damper), none.",
        choices=('inelastic', 'spring', 'none'),
        name='stops.kind',
    )
    stops_stiffness: tuple[float, ...] = parameter(
        [10000.0],
        'Stiffness of spring stops, N m/rad or N/m, one value or one per joint.',
        low=0.0,
        high=LARGEST_GAIN,
        name='stops.stiffness',
    )
    stops_damping: tuple[float, ...] = parameter(
        [100.0],
        'Damping of spring stops, N m s/rad or N s/m, one value or one per joint.',
        low=0.0,
        high=LARGEST_GAIN,
        name='stops.damping',
    )
    drives_delay: float = parameter(
        0.0, 'Delay of the drives, s.', low=0.0, high=1.0, name='drives.delay'
    )
    drives_rate_limit: tuple[float, ...] = parameter(
        [0.0],
        'Rate limit of the torque, N m/s or N/s, one value or one per joint; 0: none.',
        low=0.0,
        high=LARGEST_EFFORT,
        name='drives.rate_limit',
    )
    drives_speed_limits: bool = parameter(
        False,
        "Drives lose torque toward the URDF's velocity limits.",
        name='drives.speed_limits',
    )
    elasticity_stiffness: tuple[float, ...] = parameter(
        [0.0],
        'Stiffness between motor and link, N m/rad or N/m, one value or one per joint; 0: '
        'rigid joints. Elastic joints need rotor inertia.',
        low=0.0,
        high=LARGEST_GAIN,
        name='elasticity.stiffness',
    )
    elasticity_damping: tuple[float, ...] = parameter(
        [0.0],
        'Damping between motor and link, N m s/rad or N s/m, one value or one per joint.',
        low=0.0,
        high=LARGEST_GAIN,
        name='elasticity.damping',
    )

    payload_mass: float = live(RobotParameters, 'payload_mass')
    payload_com: tuple[float, ...] = live(RobotParameters, 'payload_com')
    payload_inertia: tuple[float, ...] = live(RobotParameters, 'payload_inertia')
    time_step: float = parameter(1e-3, 'Simulated time per step, s.', low=1e-5, high=0.1)
    integrator: str = parameter('rk4', 'Integrator.', choices=tuple(INTEGRATORS))
    publish_every: int = parameter(
        1,
        'Steps between two joint states (and between two commands in lock step).',
        low=1,
        high=100_000,
        live=True,
    )
    real_time_factor: float = parameter(
        1.0,
        'Simulated time per wall time; 0: as fast as possible.',
        low=0,
        high=1000,
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
        low=0.001,
        high=LONGEST_TIME,
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
        low=0.0,
        high=LONGEST_TIME,
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
        low=-FURTHEST,
        high=FURTHEST,
        live=True,
    )
    initial_velocities: tuple[float, ...] = parameter(
        [0.0],
        'Velocities at start and after reset, rad/s or m/s. Brakes do not hold an arm that starts '
        'in motion.',
        low=-FURTHEST,
        high=FURTHEST,
        live=True,
    )
    states_names: tuple[str, ...] = parameter(
        [''], 'Names of states at rest.', name='states.names'
    )
    states_positions: tuple[float, ...] = parameter(
        [0.0],
        'Positions of the named states, one state after the other, rad or m, in the order of '
        'joints.',
        low=-FURTHEST,
        high=FURTHEST,
        name='states.positions',
    )
    reset_to: str = parameter(
        '', 'Named state at start and after reset; empty: the initial positions.', live=True
    )
    steps_per_call: int = parameter(
        1, 'Steps per call of ~/step.', low=1, high=MOST_STEPS, live=True
    )
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


def loop_options(parameters: SimulatorParameters) -> LoopOptions:
    """Return the options of the simulation loop."""
    return LoopOptions(
        **{item.name: getattr(parameters, item.name) for item in fields(LoopOptions)}
    )


def unloaded_robot(parameters: SimulatorParameters, text: str) -> RobotModel:
    """Return the robot of a URDF, or of the file of the parameters, with friction, no payload."""
    model = bare_robot(parameters, text)
    friction = friction_of(parameters, model)
    return model.with_actuation(viscous=friction.viscous, coulomb=friction.coulomb)


def settings(parameters: SimulatorParameters, model: RobotModel) -> SimulationSettings:
    """Return the settings of the simulation of this robot, which has friction and no payload.

    Raises:
        ParameterError: a parameter has neither one value nor one for each joint.
    """
    order = joint_order(parameters.joints, model.joint_names)

    def of_joints(name: str, values: tuple[float, ...]) -> list[float]:
        return list(map(float, per_joint(name, values, order, model.joint_names)))

    rate_limit = of_joints('drives.rate_limit', parameters.drives_rate_limit)
    return SimulationSettings(
        gravity=model.gravity.tolist(),
        locked_joints=locked_joints(parameters),
        tip_link=parameters.tip_link or None,
        strict_inertials=parameters.strict_inertials,
        viscous=model.viscous.tolist(),
        coulomb=model.coulomb.tolist(),
        time_step=parameters.time_step,
        integrator=parameters.integrator,
        friction=parameters.dry_friction,
        delay=parameters.drives_delay,
        rate_limit=[value or np.inf for value in rate_limit],
        speed_limits=parameters.drives_speed_limits,
        stops=parameters.stops_kind,
        stop_stiffness=of_joints('stops.stiffness', parameters.stops_stiffness),
        stop_damping=of_joints('stops.damping', parameters.stops_damping),
        joint_stiffness=of_joints('elasticity.stiffness', parameters.elasticity_stiffness),
        joint_damping=of_joints('elasticity.damping', parameters.elasticity_damping),
        payload_links=given((parameters.payload_link,)),
        wrench_frames=given(parameters.wrench_frames),
    )


def payload_commands(parameters: SimulatorParameters) -> list[SetPayload]:
    """Return the commands that give the arm its payload; a payload of mass 0 is none.

    Raises:
        ModelError: the payload has no link, or a physically inconsistent inertia.
    """
    carried, link = payload(parameters), parameters.payload_link
    if not link:
        return []
    if carried.mass == 0 and not carried.inertia_com.any():
        return [SetPayload(link, None)]
    return [SetPayload(link, Payload(carried.mass, carried.com, carried.inertia_com))]


def start_state(parameters: SimulatorParameters, model: RobotModel) -> SetState:
    """Return the state at start and reset.

    Raises:
        ParameterError: a state is outside the joints' limits, or `reset_to` does not exist.
    """
    states = named_states(parameters, model)
    if parameters.reset_to:
        if parameters.reset_to not in states:
            known = ', '.join(states) or 'none: set states.names'
            raise ParameterError(f'reset_to is {parameters.reset_to!r}; known states: {known}')
        return states[parameters.reset_to]
    return SetState(_initial_positions(parameters, model), _initial_velocities(parameters, model))


def named_states(parameters: SimulatorParameters, model: RobotModel) -> dict[str, SetState]:
    """Return the states of `states.names`. Raises ParameterError."""
    names, values = given(parameters.states_names), parameters.states_positions
    order = joint_order(parameters.joints, model.joint_names)
    if not names:
        return {}
    if len(set(names)) != len(names):
        raise ParameterError(f'states.names is {", ".join(names)}; each name must be unique')
    if len(values) != len(names) * model.n:
        raise ParameterError(
            f'states.positions has {len(values)} values; expected {len(names) * model.n}, for '
            f'{len(names)} states of {model.n} joints, each in the order {", ".join(order)}'
        )
    rows = np.reshape(values, (len(names), model.n))
    columns = [order.index(joint) for joint in model.joint_names]
    return {
        name: SetState(_within(f'state {name!r}', row[columns], model), np.zeros(model.n))
        for name, row in zip(names, rows, strict=True)
    }


def _initial_positions(parameters: SimulatorParameters, model: RobotModel) -> Array:
    values = parameters.initial_positions
    order = joint_order(parameters.joints, model.joint_names)
    q = per_joint('initial_positions', values, order, model.joint_names)
    if len(values) == 1:
        # One value for all joints is clamped to the limits of each.
        return np.asarray(np.clip(q, model.lower, model.upper))
    return _within('initial_positions', q, model)


def _initial_velocities(parameters: SimulatorParameters, model: RobotModel) -> Array:
    order = joint_order(parameters.joints, model.joint_names)
    qd = per_joint(
        'initial_velocities', parameters.initial_velocities, order, model.joint_names
    ).copy()
    limit = model.velocity_limit
    if (np.abs(qd) > limit).any():
        j = int(np.argmax(np.abs(qd) > limit))
        raise ParameterError(
            f'initial_velocities: joint {model.joint_names[j]} at {qd[j]}; expected a value in '
            f'[{-limit[j]}, {limit[j]}]'
        )
    return qd


def _within(what: str, q: Array, model: RobotModel) -> Array:
    outside = (q < model.lower) | (q > model.upper)
    if outside.any():
        j = int(np.argmax(outside))
        raise ParameterError(
            f'{what}: joint {model.joint_names[j]} at {q[j]}; expected a value in '
            f'[{model.lower[j]}, {model.upper[j]}]'
        )
    return q
