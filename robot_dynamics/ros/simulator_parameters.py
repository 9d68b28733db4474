# SPDX-License-Identifier: Apache-2.0
"""Parameters of the simulator node, and the simulated arm that follows from them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
from typing_extensions import override

from robot_dynamics.common.settings import POSITION, TIME
from robot_dynamics.control.base_motion_estimate import FIXED, BaseMotionSettings
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.ros.parameters import (
    LARGEST_INTEGER,
    ParameterError,
    given,
    group,
    parameter,
    parameter_of,
)
from robot_dynamics.ros.robot_parameters import DriveParameters
from robot_dynamics.simulation import (
    INTEGRATORS,
    Actuators,
    Elasticity,
    FrictionSettings,
    InelasticStop,
    InertialSensor,
    JointModels,
    PrescribedBaseMotion,
    Sensors,
    Servo,
    Simulator,
    SpringDamperStop,
    load_base_motion,
    load_environment,
)
from robot_dynamics.simulation.joint_models.stops import Stops
from robot_dynamics.simulation.plant import Plant, SetPayload
from robot_dynamics.simulation.run_control import MOST_STEPS
from robot_dynamics.simulation.scheduling import LoopOptions
from robot_dynamics.simulation.sensors import Sensing
from robot_dynamics.simulation.steps.held_base import MovingBase


@dataclass(frozen=True)
class SimulatorParameters(DriveParameters):
    """Parameters of the simulator node."""

    LIVE: ClassVar[tuple[str, ...]] = ('payload.mass', 'payload.com', 'payload.inertia')
    friction__law: str = parameter_of(
        FrictionSettings,
        'law',
        description='Law of friction: coulomb (viscous and Coulomb; tanh at standstill, as in '
        'feed-forward: a joint under a small torque creeps); stick_slip (the same, but the joint '
        'sticks until breakaway); load (Coulomb friction grows with the torque); stribeck (more '
        'friction at low speed); coulomb_memory, load_memory (a joint at standstill yields '
        'elastically, over friction.presliding).',
        choices=('coulomb', 'stick_slip', *(name for name in LAWS if name != 'coulomb')),
    )
    stops__kind: str = parameter(
        'inelastic',
        "Stops at the URDF's position limits: inelastic (hard), spring (spring and damper), none.",
        choices=('inelastic', 'spring', 'none'),
    )
    stops: SpringDamperStop = group(SpringDamperStop, damping=[100.0])
    drives__speed_limits: bool = parameter(
        False, "Drives lose torque toward the URDF's velocity limits."
    )
    drives: Actuators = group(Actuators, 'velocity_limit', 'offset')
    servo: Servo = group(Servo)
    sensors: Sensors = group(Sensors)
    sensors__seed: int = parameter(
        0, 'Seed of the noise and jitter, which begin anew at each reset.', (0, LARGEST_INTEGER)
    )
    elasticity: Elasticity = group(Elasticity)
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
        'Wait for the command on joint_effort, or with servo.kp on joint_command, with the stamp '
        'of the last joint state before each step.',
    )
    command_timeout: float = parameter(
        0.5,
        'Timeout of a command, and of the wait for one, in wall time, s.',
        (0.001, TIME[1]),
        live=True,
    )
    on_command_timeout: str = parameter(
        'brake',
        'On a command timeout: brake (brakes hold), zero (no torque; not with servo.kp), or '
        'hold_last (last command).',
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
    base_motion__file: str = parameter(
        '',
        'YAML file of sines and ramps of the position and orientation of the base, with '
        'base_motion.source none; empty: the base is fixed, or moves as of that source.',
    )
    base_motion: BaseMotionSettings = group(BaseMotionSettings)
    imu: InertialSensor = group(InertialSensor)
    environment: str = parameter(
        '',
        'YAML file of planes and spheres, and of points of links that touch them; empty: none.',
    )
    hold_until_command: bool = parameter(
        True,
        'Brakes hold the arm until the first command; false: it starts without torque, and servos '
        'hold their start.',
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
    publish_true_state: bool = parameter(
        False,
        'Publish ~/true_state with each joint state: the simulated values, without the errors of '
        'sensors.',
    )
    wall_stamps: bool = parameter(
        False,
        'Stamps count from the wall time at start and reset instead of from 0, for tools that do '
        'not use simulated time.',
    )

    @override
    def robot(self, text: str | bytes) -> RobotModel:
        """Return the robot of a URDF text, with friction and rotors, without payload."""
        model = super().robot(text)
        return model.with_actuation(**self.coulomb_friction(model))

    def loop_options(self) -> LoopOptions:
        """Return the options of the simulation loop."""
        return LoopOptions(**{item.name: getattr(self, item.name) for item in fields(LoopOptions)})

    def prescribed_base(self) -> PrescribedBaseMotion | None:
        """Return the motion of the base of the file; None without one.

        Raises:
            ParameterError: the base has a source of motion, too, or the arm a payload.
            ModelError: the file is invalid.
        """
        moves = self.base_motion.source != FIXED
        if self.base_motion__file and moves:
            raise ParameterError(
                f'base_motion.file is {self.base_motion__file!r} and base_motion.source '
                f'{self.base_motion.source!r}; expected one of both'
            )
        if self.payload__link and (moves or self.base_motion__file):
            raise ParameterError(
                f'payload.link is {self.payload__link!r}, and the base moves: simulated payloads '
                'need a fixed base; expected none, or the payload as a link of the URDF'
            )
        return load_base_motion(self.base_motion__file) if self.base_motion__file else None

    def plant(self, arm: Dynamics, base: MovingBase | None = None) -> Plant:
        """Return the simulated arm at q = 0, at rest, without payload, its programs compiled.

        Args:
            arm: the robot.
            base: on which it is; None: one that is fixed.

        Raises:
            ParameterError: a parameter has neither one value nor one for each joint.
            ModelError: a joint model does not fit this arm, or the environment is invalid.
            FrameNotFound: the payload link, a wrench frame or a link of a touch point does not
                exist.
        """
        frames = given(self.wrench_frames)
        for frame in frames:
            arm.forward_kinematics(np.zeros(arm.model.n), frame)
        return Plant(
            Simulator(
                arm,
                time_step=self.time_step,
                integrator=self.integrator,
                joint_models=self.joint_models(arm.model),
                payload_links=given((self.payload__link,)),
                wrench_frames=frames,
                environment=load_environment(self.environment) if self.environment else None,
                base_motion=base,
            )
        )

    def joint_models(self, model: RobotModel) -> JointModels:
        """Return friction, drives, stops, elasticity and servos.

        Raises:
            ParameterError: a parameter has neither one value nor one for each joint, or elastic
                joints have a law of friction that needs rigid ones.
        """
        self.check_servo()
        servos: Servo = self.joint_settings('servo', model)
        springs: Elasticity = self.joint_settings('elasticity', model)
        elasticity = springs if np.any(springs.stiffness) else None
        law: str | FrictionSettings = 'smooth'
        if self.friction__law == 'stick_slip':
            law = 'stick_slip'
        elif self.friction__law != 'coulomb':
            if elasticity is not None:
                raise ParameterError(
                    f'friction.law is {self.friction__law!r}, which needs rigid joints: with '
                    "elasticity.stiffness it must be 'coulomb' or 'stick_slip'"
                )
            names = 'load', 'stribeck', 'presliding'
            law = FrictionSettings(
                self.friction__law,
                **{name: self.of_joints(f'friction__{name}', model) for name in names},
            )
        drives = replace(
            self.joint_settings('drives', model),
            velocity_limit=None if self.drives__speed_limits else np.inf,
            offset=self.of_joints('effort_offset', model),
        )
        stops: Stops | None = None
        if self.stops__kind == 'inelastic':
            stops = InelasticStop()
        elif self.stops__kind == 'spring':
            stops = self.joint_settings('stops', model)
        return JointModels(
            law, drives, stops, elasticity, servos if self.takes_positions else None
        )

    @property
    def takes_positions(self) -> bool:
        """Whether the drives are position servos."""
        return bool(np.any(self.servo.kp))

    def check_servo(self) -> None:
        """Raise ParameterError if servos would have to lose their torque."""
        if self.takes_positions and self.on_command_timeout == 'zero':
            raise ParameterError(
                "on_command_timeout is 'zero' and servo.kp is given: a position servo has no "
                "command without torque; expected 'brake' or 'hold_last'"
            )

    def sensing(self, model: RobotModel) -> Sensing | None:
        """Return the sensors; None if they are exact. Raises ParameterError, ModelError."""
        sensors = self.joint_settings('sensors', model)
        sensing = Sensing(model, sensors, self.time_step, (self.sensors__seed,))
        return None if sensing.exact else sensing

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
        return [SetPayload(link, load)]
