# SPDX-License-Identifier: Apache-2.0
"""Recordings of a simulated arm as `identification` reads them: measured, with their errors.

    profile = load_profile('config/realistic_panda.yaml')
    motion = Reference(q, qd, qdd)  # (k, n) each, sampled at `rate`
    one, two = record_tracking(arm, motion, profile, seeds=[1, 2])
    Recording(arm.model.joint_names, one.t, one.q, one.qd, one.effort)

`record_motion` takes the motion as exact: efforts are those of inverse dynamics and friction. It
is fast, and leaves out what a controller does: errors of tracking, noise that feedback turns into
effort, and the lag of the drives. `record_tracking` simulates the arm under feed-forward torques
and PD feedback of measured positions and velocities.

`record_servo` simulates an arm that takes positions:

    one, = record_servo(arm, commands, load_profile('config/hobby_servo.yaml'))
    Recording(arm.model.joint_names, one.t, one.q, None, None, command=one.command)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.errors import ModelError, ShapeError
from robot_dynamics.common.spatial import Array
from robot_dynamics.control import Gains, Reference, pd_gains
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.simulation.argument_checks import checked_period
from robot_dynamics.simulation.errors import SimulationDiverged
from robot_dynamics.simulation.hardware import HardwareProfile
from robot_dynamics.simulation.joint_models.actuators import Drives, DriveState
from robot_dynamics.simulation.joint_models.friction_step import friction_step, step_inputs
from robot_dynamics.simulation.joint_models.selection import JointModels
from robot_dynamics.simulation.sensors import Measured, Sensing
from robot_dynamics.simulation.simulator import Simulator

RATE = 1000.0  # Hz
SERVO_RATE = 50.0  # Hz
WHOLE = 1e-9
SUBSTEPS = 4
FREQUENCY = 15.0  # rad/s, of the feedback
GAIN_POSTURES = 64


class SimulatedRecording(NamedTuple):
    """A recording of k samples, and the truth behind it; arrays (k, n) but for t.

    The effort of a sample is that of the period that ends with it, as the drives report it.
    """

    t: Array  # (k,) s, stamps: the times of publication
    q: Array  # measured, rad or m
    qd: Array
    effort: Array  # N m or N
    true_q: Array
    true_qd: Array
    torque: Array  # on the joints, gain errors and ripple included, N m or N
    friction: Array  # N m or N


def record_motion(
    arm: Dynamics,
    motion: Reference,
    profile: HardwareProfile,
    *,
    seeds: Sequence[int] = (0,),
    rate: float = RATE,
) -> list[SimulatedRecording]:
    """Return recordings of an exact motion, one for each seed of the errors.

    Args:
        arm: the true robot, of which the motion is exact.
        motion: (k, n) positions, velocities and accelerations, at `rate`.
        profile: sensors, drives and friction; of the drives, gain and ripple alone.
        seeds: of the measurement errors.
        rate: samples per second.

    Raises:
        ShapeError: the motion is not (k, n).
        ModelError, FrictionLawError: the profile does not fit the robot.
    """
    motion = _checked(arm, motion)
    friction = _friction(arm, profile)
    drives = Drives(arm.model, profile.drives, 1 / rate)
    sensing = Sensing(arm.model, profile.sensors, 1 / rate, seeds)
    rigid = arm.inverse_dynamics(*motion)
    z = friction.law.sliding_direction(motion.q, motion.qd, friction.presliding)
    lost = friction.torque(motion.qd, rigid, z)
    torque = rigid + lost
    effort = drives.reported(torque, motion.q)
    arms = len(seeds)
    measured = sensing.read(*(_repeated(x, arms) for x in (motion.q, motion.qd, effort)))
    truth = (motion.q, motion.qd, torque, lost)
    return _recordings(rate, measured, [_repeated(x, arms) for x in truth])


def record_tracking(
    arm: Dynamics,
    motion: Reference,
    profile: HardwareProfile,
    *,
    seeds: Sequence[int] = (0,),
    controller: Dynamics | None = None,
    gains: Gains | None = None,
    external: Array | None = None,
    grasp: tuple[int, Dynamics] | None = None,
    rate: float = RATE,
    substeps: int = SUBSTEPS,
) -> list[SimulatedRecording]:
    """Return recordings of an arm that follows a motion, one for each seed of the errors.

    The torque is that of the controller's model along the desired motion, with its friction, and
    PD feedback of the measured positions and velocities. It is computed once per sample and held.
    The arm starts at the first point of the motion, with drives that supply its torque.

    Args:
        arm: the true robot.
        motion: (k, n) desired positions, velocities and accelerations, at `rate`.
        profile: sensors, drives and friction.
        seeds: of the measurement errors; the arms are simulated side by side.
        controller: the robot in the controller's model; None: the true one.
        gains: of the feedback; None: `pd_gains` of the controller's model at `FREQUENCY`.
        external: (k, n) joint torques of the environment, or (k, N, n) of N arms; None: zero.
        grasp: sample from which on the robot is another one, which carries a payload.
        rate: samples, and updates of the controller, per second.
        substeps: steps of the simulation per sample; semi-implicit Euler, of first order.

    Raises:
        ShapeError: the motion, or the external torque, is not (k, n).
        ModelError, FrictionLawError: the profile does not fit the robot.
        SimulationDiverged: the feedback or the step is unstable.
        ValueError: substeps is not an integer of 1 or more.
    """
    motion = _checked(arm, motion)
    believed = arm if controller is None else controller
    if gains is None:
        postures = motion.q[:: max(1, len(motion.q) // GAIN_POSTURES)]
        gains = pd_gains(believed, postures, 1 / rate, frequency=FREQUENCY)
    ahead = believed.motor_torque(*motion)
    plant = _Plant(arm, profile, rate, substeps, motion, ahead[0], len(seeds))
    sensing = Sensing(arm.model, profile.sensors, 1 / rate, seeds)
    outside = _external(external, ahead, len(seeds))
    rows = []
    for k, (q_d, qd_d, tau, pushed) in enumerate(
        zip(motion.q, motion.qd, ahead, outside, strict=True)
    ):
        if grasp is not None and k == grasp[0]:
            plant.use(grasp[1])
        measured = sensing.read(plant.q, plant.qd, plant.effort)
        rows.append((*measured, plant.q, plant.qd, plant.torque, plant.lost))
        # tau = tau_d + Kp (q_d - q) + Kd (qd_d - qd)
        command = tau + gains.kp * (q_d - measured.q) + gains.kd * (qd_d - measured.qd)
        plant.step(command, pushed)
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    if not np.isfinite(columns[3]).all():
        raise SimulationDiverged(
            f'the arm diverged: with feedback at {rate:g} Hz, gains kp {gains.kp} and kd '
            f'{gains.kd}, and {substeps} steps per sample'
        )
    return _recordings(rate, Measured(*columns[:3]), columns[3:])


class ServoRecording(NamedTuple):
    """A recording of k samples of an arm with position servos; arrays (k, n) but for t."""

    t: Array  # (k,) s
    q: Array  # measured, rad or m
    command: Array  # in effect from t on, rad or m
    true_q: Array
    true_qd: Array
    effort: Array  # of the servos, in the step before t, N m or N


def record_servo(
    arm: Dynamics,
    commands: Array,
    profile: HardwareProfile,
    *,
    seeds: Sequence[int] = (0,),
    rate: float = SERVO_RATE,
    time_step: float = 1 / RATE,
) -> list[ServoRecording]:
    """Return recordings of an arm that is commanded by positions, one for each seed.

    The arm starts at rest at the first command. Noise is that of the measurements alone: servos
    use exact positions.

    Args:
        arm: the true robot, but for the rotor inertia of the profile.
        commands: (k, n) positions, each held until the next one.
        profile: with a servo; sensors, drives and friction. Without a law of friction joints
            stick.
        seeds: of the measurement errors.
        rate: of commands and samples, Hz.
        time_step: of the simulation, s.

    Raises:
        ShapeError: the commands are not (k, n).
        ModelError, FrictionLawError: the profile has no servo, or does not fit the robot.
        ValueError: a period of the rate is not a whole number of time steps.
    """
    commands = np.array(commands, dtype=float)
    if commands.ndim != 2 or commands.shape[1] != arm.model.n or not len(commands):
        raise ShapeError(
            f'commands has shape {commands.shape}; it must be (k, {arm.model.n}), k of 1 or more'
        )
    if profile.servo is None:
        raise ModelError('the profile has no servo; expected one, or record_tracking')
    steps = round(1 / (rate * time_step)) if 0 < rate * time_step < np.inf else 0
    if steps < 1 or abs(steps * rate * time_step - 1) > WHOLE:
        raise ValueError(
            f'rate is {rate:g} Hz with a time_step of {time_step:g} s; expected a period of whole '
            'steps'
        )
    if profile.rotor_inertia is not None:
        arm = Dynamics(arm.model.with_actuation(rotor_inertia=profile.rotor_inertia))
    models = JointModels(profile.friction or 'stick_slip', profile.drives, servo=profile.servo)
    simulator = Simulator(arm, q=commands[0], time_step=time_step, joint_models=models)
    rows = []
    for command in commands:
        rows.append((simulator.q, simulator.qd, simulator.effort))
        for _ in range(steps):
            simulator.step(command)
    q, qd, effort = (np.array(column) for column in zip(*rows, strict=True))
    sensing = Sensing(arm.model, profile.sensors, 1 / rate, seeds)
    measured = sensing.read(*(_repeated(x, len(seeds)) for x in (q, qd, effort)))
    t = np.arange(len(q)) / rate
    return [
        ServoRecording(t, np.ascontiguousarray(measured.q[:, k]), commands, q, qd, effort)
        for k in range(len(seeds))
    ]


class _Plant:
    """Arms of one model with drives and friction; arrays (N, n)."""

    def __init__(
        self,
        arm: Dynamics,
        profile: HardwareProfile,
        rate: float,
        substeps: int,
        motion: Reference,
        tau: Array,
        arms: int,
    ):
        """Start at the first point of the motion, with drives that supply tau (n,)."""
        self._substeps = checked_period('substeps', substeps)
        self._friction = friction = _friction(arm, profile)
        self._drives = Drives(arm.model, profile.drives, 1 / rate)
        self._time_step = 1 / (rate * self._substeps)
        self.use(arm)
        self.q, self.qd = (np.repeat(x[:1], arms, axis=0) for x in (motion.q, motion.qd))
        self._z = np.zeros_like(self.q)
        held = np.repeat(tau[None], arms, axis=0)
        queue = (held,) * self._drives.delay_steps
        self._drive_state = DriveState(held, held, queue)
        self.effort = held
        self.torque = self._drives.on_joints(held, self.q)
        self.lost = friction.torque(self.qd, self.torque)

    def use(self, arm: Dynamics) -> None:
        """Simulate this robot from now on, with the friction of the first."""
        step = friction_step(arm, self._friction.law.memory)
        self._step = step.bind(**step_inputs(self._friction), time_step=[self._time_step])

    def step(self, command: Array, external: Array) -> None:
        """Advance by one sample under commanded and external torques (N, n)."""
        self.effort, self._drive_state = self._drives.apply(self._drive_state, command, self.qd)
        self.torque = self._drives.on_joints(self.effort, self.q)
        for _ in range(self._substeps):
            self.q, self.qd, self._z, self.lost = self._step(
                self.q, self.qd, self._z, self.lost, self.torque + external
            )


def _friction(arm: Dynamics, profile: HardwareProfile) -> JointFriction:
    return (profile.friction or FrictionSettings()).of(arm.model)


def _checked(arm: Dynamics, motion: Reference) -> Reference:
    q, qd, qdd = (np.asarray(x, dtype=float) for x in motion)
    for x in (q, qd, qdd):
        if x.shape != q.shape or x.ndim != 2 or x.shape[1] != arm.model.n or not len(x):
            raise ShapeError(
                f'motion: an array has shape {x.shape}; it must be (k, {arm.model.n}), as the '
                'others'
            )
    return Reference(q, qd, qdd)


def _external(external: Array | None, of_motion: Array, arms: int) -> Array:
    """Return external torques (k, N, n)."""
    k, n = of_motion.shape
    given = np.zeros((k, 1, n)) if external is None else np.asarray(external, dtype=float)
    if given.ndim == 2:
        given = given[:, None]
    if given.shape not in ((k, 1, n), (k, arms, n)):
        raise ShapeError(
            f'external has shape {given.shape}; it must be ({k}, {n}) or ({k}, {arms}, {n})'
        )
    return np.broadcast_to(given, (k, arms, n))


def _repeated(x: Array, arms: int) -> Array:
    """Return (k, N, n) of (k, n)."""
    return np.repeat(x[:, None], arms, axis=1)


def _recordings(
    rate: float, measured: Measured, truth: Sequence[Array]
) -> list[SimulatedRecording]:
    t = np.arange(len(measured.q)) / rate
    columns = [np.moveaxis(x, 1, 0) for x in (*measured, *truth)]
    return [
        SimulatedRecording(t, *(np.ascontiguousarray(x) for x in row))
        for row in zip(*columns, strict=True)
    ]
