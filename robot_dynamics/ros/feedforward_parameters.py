# SPDX-License-Identifier: Apache-2.0
"""Parameters of feedforward_node, and the settings that follow from them for one robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.settings import EFFORT, LOWEST_RATE, POSITION, RATE, TIME
from robot_dynamics.common.spatial import Array
from robot_dynamics.control import LAWS, Gains, Switches
from robot_dynamics.control.control_laws import Law, computed_torque, gravity_only, joint_impedance
from robot_dynamics.control.feasibility import CORNER_TIME
from robot_dynamics.control.loop_settings import LoopSettings
from robot_dynamics.control.stream_following import SHORTEST_WINDOW
from robot_dynamics.control.tolerances import Tolerances
from robot_dynamics.control.torque_limiting import Limits, torque_limits
from robot_dynamics.control.trajectory import INTERPOLATIONS, SMOOTH
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.states import POSTURES
from robot_dynamics.ros.impedance_parameters import CARTESIAN, ImpedanceParameters
from robot_dynamics.ros.parameters import ParameterError, joint_order, parameter, parameter_of

LARGEST_FEEDBACK_NUMBER = 1.0  # unstable above 2, less with delays


@dataclass(frozen=True)
class FeedforwardParameters(ImpedanceParameters):
    """Parameters of the feed-forward node."""

    input_timeout: float = parameter(
        0.1,
        'How long the last value of a joint is held without a new one, how long after its last '
        'point a stream is over, and how late a state may be before it counts as a reset of the '
        'time, s.',
        TIME,
        live=True,
    )
    control_law: str = parameter(
        'feedforward',
        'Control law: feedforward, pd_plus (Coriolis torque of '
        'the desired velocity), computed_torque (feedback times the mass matrix; gains in 1/s^2 '
        'and 1/s), joint_impedance (pd_plus with damping_ratio instead of kd), '
        'gravity_only (the arm can be led by hand), cartesian_impedance (impedance.frame on a '
        'spring to the poses on target_pose).',
        choices=(*LAWS, CARTESIAN),
        live=True,
    )
    compensate_gravity: bool = parameter(
        True, 'Add g(q). False if the robot compensates gravity itself.', live=True
    )
    compensate_coriolis: bool = parameter(True, 'Add C(q, qd) qd.', live=True)
    compensate_inertia: bool = parameter(True, 'Add M(q) qdd_d.', live=True)
    compensate_friction: bool = parameter(True, 'Add friction(qd_d).', live=True)
    kp: tuple[float, ...] = parameter_of(Gains, 'kp', live=True)
    kd: tuple[float, ...] = parameter_of(Gains, 'kd', live=True)
    damping_ratio: tuple[float, ...] = parameter(
        [0.7],
        'Damping ratio of the natural modes under joint_impedance; one or one per joint.',
        (0.0, 10.0),
        live=True,
    )
    lead_friction: float = parameter_of(LoopSettings, 'lead_friction', live=True)
    expected_rate: float = parameter(
        1000.0,
        'Rate of the joint states, Hz, for a warning: kd that is unstable at this rate, '
        '(M^-1)_jj kd_j / rate above 1.',
        (0.1, 1e6),
        live=True,
    )
    start_tolerance: tuple[float, ...] = parameter_of(LoopSettings, 'start_tolerance', live=True)
    reference_window: float = parameter_of(
        LoopSettings, 'reference_window', smallest=SHORTEST_WINDOW, live=True
    )
    reference_prediction: float = parameter_of(LoopSettings, 'reference_prediction', live=True)
    policy_frequency: float = parameter(
        0.0,
        'Frequency of the points of action chunks, which have no time_from_start, Hz; the first '
        'point is one period after the stamp. 0: such messages are rejected.',
        RATE,
        live=True,
    )
    allow_partial_joints_goal: bool = parameter(
        True,
        'Accept trajectories of some joints; the others end their present motion. False: such '
        'trajectories are rejected.',
        live=True,
    )
    constraints__trajectory: tuple[float, ...] = parameter(
        [0.0],
        'Largest distance from the reference during a trajectory, rad or m; one or one per joint; '
        '0: no limit.',
        (0.0, POSITION[1]),
        live=True,
    )
    constraints__goal: tuple[float, ...] = parameter(
        [0.0],
        'Largest distance from the last point at its end, rad or m; one or one per joint; 0: no '
        'limit.',
        (0.0, POSITION[1]),
        live=True,
    )
    constraints__goal_time: float = parameter(
        0.0,
        'Time after the end in which the goal must be reached, s; 0: no limit.',
        TIME,
        live=True,
    )
    constraints__stopped_velocity_tolerance: float = parameter(
        0.0,
        'Largest velocity at the goal, rad/s or m/s; 0: no limit.',
        (0.0, POSITION[1]),
        live=True,
    )
    speed_scale: float = parameter(
        1.0,
        'Speed of trajectories as a fraction of their own; it changes within the acceleration '
        'limits; 0: they pause.',
        (0.0, 1.0),
        live=True,
    )
    state_publish_rate: float = parameter(
        50.0,
        'Rate of ~/desired_state, ~/measured_state and ~/state_error, Hz; 0: with every torque.',
        RATE,
        smallest=LOWEST_RATE,
        live=True,
    )
    action_monitor_rate: float = parameter(
        20.0,
        'Rate of the feedback of ~/follow_joint_trajectory, at which results are given as well, '
        'Hz.',
        (0.1, RATE[1]),
    )
    torque_limit_scale: float = parameter_of(LoopSettings, 'torque_limit_scale', live=True)
    on_infeasible: str = parameter(
        'follow',
        'Trajectories that need torques beyond these limits are followed with clamped torques and '
        'a warning (follow), rejected (reject), followed at their largest feasible speed, within '
        'the velocity limits as well (slow_down), or as the fastest motion along their path '
        '(retime).',
        choices=('follow', 'reject', 'slow_down', 'retime'),
        live=True,
    )
    interpolation: str = parameter(
        SMOOTH,
        'Path between points without velocities: smooth (cubics without overshoot, from rest to '
        'rest) or linear (lines: the velocity steps at every point).',
        choices=INTERPOLATIONS,
        live=True,
    )
    corner_time: float = parameter(
        CORNER_TIME,
        'Time in which drives take up a step of the velocity, s; at most half of the two segments '
        'beside it: torques of the corners between lines.',
        (1e-4, 10.0),
        live=True,
    )
    max_torque_rate: tuple[float, ...] = parameter_of(
        LoopSettings, 'max_torque_rate', bounds=(-1.0, EFFORT[1]), live=True
    )
    max_torque_step: tuple[float, ...] = parameter_of(LoopSettings, 'max_torque_step', live=True)
    ramp_time: float = parameter_of(LoopSettings, 'ramp_time', live=True)
    silence_timeout: float = parameter(
        0.5,
        'Wall time without joint states of the whole robot, or with a stamp that does not change, '
        'after which on_timeout applies, s.',
        (0.01, TIME[1]),
        live=True,
    )
    on_timeout: str = parameter(
        'stop',
        'Torque published then: stop (none), hold (the last one), gravity (that of the last '
        'state).',
        choices=('stop', 'hold', 'gravity'),
        live=True,
    )
    on_collision: str = parameter(
        'none',
        'Response to a collision on momentum_observer_node/contact: none; hold (the arm brakes '
        'and is held); gravity_only (the torque of gravity). ~/enable releases the arm.',
        choices=('none', 'hold', 'gravity_only'),
        live=True,
    )
    contact_timeout: float = parameter(
        0.5,
        'With on_collision: time of the joint states without a known contact on '
        'momentum_observer_node/contact, which publishes 10 a second, after which '
        'on_contact_lost applies, s.',
        (0.05, TIME[1]),
        live=True,
    )
    on_contact_lost: str = parameter(
        'warn',
        'Response to missing contacts: warn (the motion continues); hold (the arm decelerates and '
        'is held until contacts return and ~/enable is called).',
        choices=('warn', 'hold'),
        live=True,
    )
    publish_commands: bool = parameter(
        False, 'Publish effort_controller/commands as well, for ros2_control.'
    )
    command_unit: str = parameter(
        'torque',
        'Unit of effort_controller/commands: torque (N m or N), or effort (torque divided by '
        'effort_scale, for drives that take what they report, such as currents).',
        choices=('torque', 'effort'),
    )
    max_command: tuple[float, ...] = parameter(
        [0.0],
        'Largest size of the values in effort_controller/commands, in their unit, one or one per '
        'joint; torques are clamped to it. 0: none, which command_unit effort does not accept.',
        EFFORT,
        live=True,
    )
    start_enabled: bool = parameter(
        True, 'Publish torques from the start; false: wait for the service ~/enable.'
    )
    on_deactivate: str = parameter(
        'zero',
        'Final torque when the node is disabled or deactivated, or ends, reached within '
        'max_torque_rate: zero, gravity (that of the last state), none (the last one).',
        choices=('zero', 'gravity', 'none'),
        live=True,
    )

    def settings(self, model: RobotModel) -> Settings:
        """Return the parameters as arguments of the control laws for a robot.

        Raises:
            ParameterError: a list has neither one value nor one per joint, a scale is too small,
                or commands in the unit of the drives have no limit.
        """
        names = model.joint_names
        per_torque, most = np.ones(model.n), self.of_joints('max_command', model)
        if self.command_unit == 'effort':
            per_torque = self.efforts_per_torque(model)
            if not most.all():
                raise ParameterError(
                    f'max_command is {list(self.max_command)}; with command_unit effort it must '
                    'be positive, the largest command of each drive in the unit of effort_scale'
                )
        # |per_torque tau| <= max_command
        command_limit = np.where(most > 0, most, np.inf) / np.abs(per_torque)
        limits = torque_limits(
            model,
            self.torque_limit_scale,
            self.of_joints('max_torque_rate', model),
            self.of_joints('max_torque_step', model),
            self.ramp_time,
        )
        law = LAWS.get(self.control_law)
        damping = 'damping_ratio' if law is joint_impedance else 'kd'
        return Settings(
            law=law,
            gains=Gains(self.of_joints('kp', model), self.of_joints(damping, model)),
            switches=Switches(
                gravity=self.compensate_gravity,
                coriolis=self.compensate_coriolis,
                inertia=self.compensate_inertia,
                friction=self.compensate_friction,
            ),
            start_tolerance=self.of_joints('start_tolerance', model),
            tolerances=Tolerances(
                path=self.of_joints('constraints__trajectory', model),
                goal=self.of_joints('constraints__goal', model),
                stopped_velocity=self.constraints__stopped_velocity_tolerance,
                goal_time=self.constraints__goal_time,
            ),
            limits=limits._replace(effort=np.minimum(limits.effort, command_limit)),
            order=[names.index(name) for name in joint_order(self.joints, names)],
            offset=self.of_joints('effort_offset', model),
            per_torque=per_torque,
        )


class Settings(NamedTuple):
    """The parameters as arguments of the control laws, in the model's joint order."""

    law: Law | None  # of the joints; None: cartesian_impedance
    gains: Gains
    switches: Switches
    start_tolerance: Array  # (n,) rad or m
    tolerances: Tolerances  # of trajectories
    limits: Limits
    order: list[int]  # of the model's joints in the parameter `joints`
    offset: Array  # (n,) N m or N, added to every torque
    per_torque: Array  # (n,) commands to ros2_control per N m or N


def gain_warnings(
    parameters: FeedforwardParameters, settings: Settings, inertias: Array, names: tuple[str, ...]
) -> list[str]:
    """Return a sentence for each fault of the gains: all zero, or unstable damping.

    Args:
        parameters: of the node.
        settings: of the same values.
        inertias: (n,) `control.free_inertias` of random postures.
        names: of the joints, in the model's order.
    """
    if settings.law is None:
        return []
    kp, kd = settings.gains.kp, settings.gains.kd
    impedance = settings.law is joint_impedance
    if not (kp.any() or (kd.any() and not impedance)):
        published = parameters.start_enabled or parameters.publish_commands
        if not published or settings.law is gravity_only:
            return []
        zero = 'kp is 0 for every joint' if impedance else 'kp and kd are 0 for every joint'
        return [
            f'{zero}: the torques have no feedback, and the arm drifts from its reference; '
            'robot-dynamics gains computes gains for a robot'
        ]
    rate = parameters.expected_rate
    if settings.law is computed_torque:
        numbers, number, where = kd / rate, 'kd dt', ''
    elif impedance:
        with np.errstate(divide='ignore', invalid='ignore'):
            # The largest natural frequency is at least sqrt(kp (M^-1)_jj)
            numbers = 2 * kd * np.sqrt(kp / inertias) / rate
        number = '2 damping_ratio dt sqrt(kp (M^-1)_jj)'
        where = f', the largest of {POSTURES} random postures'
    else:
        with np.errstate(divide='ignore', invalid='ignore'):
            numbers = kd / rate / inertias  # inf where a joint moves no mass, NaN without kd
        number, where = 'kd dt (M^-1)_jj', f', the largest of {POSTURES} random postures'
    with_gain = 'with damping_ratio =' if impedance else 'with kd ='
    return [
        f'joint {name!r}: {number} is {value:.3g} {with_gain} {gain:g} at {rate:g} Hz '
        f'(expected_rate){where}; expected at most {LARGEST_FEEDBACK_NUMBER:g}, unstable above 2; '
        'robot-dynamics gains computes gains for a robot and a rate'
        for name, value, gain in zip(names, numbers, kd, strict=True)
        if value > LARGEST_FEEDBACK_NUMBER
    ]


def timeout_warnings(parameters: FeedforwardParameters) -> list[str]:
    """Return a sentence if the drives may keep the last command without joint states."""
    if not parameters.publish_commands or parameters.on_timeout != 'stop':
        return []
    return [
        'publish_commands is true and on_timeout is stop: without joint states no command is '
        'published, and a drive or controller without a timeout keeps the last one; with '
        'on_timeout gravity the arm is held'
    ]
