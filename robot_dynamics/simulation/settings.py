"""Settings of a simulation as plain numbers and names.

Together with the text of the URDF they determine a simulated arm completely, and are stored with
it in a command log (`command_log.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.simulation.commands import Plant
from robot_dynamics.simulation.joint_models.actuators import Actuators
from robot_dynamics.simulation.joint_models.settings import JointModels
from robot_dynamics.simulation.joint_models.stops import InelasticStop, SpringDamperStop, Stops
from robot_dynamics.simulation.simulator import Simulator
from robot_dynamics.simulation.steps.elastic_arm import Elasticity
from robot_dynamics.urdf.loading import parse_urdf

STOPS = ('none', 'inelastic', 'spring')

PerJoint = float | Sequence[float]  # one number for all joints, or one each in the model's order


@dataclass(frozen=True)
class SimulationSettings:
    """Everything besides the URDF that determines a simulated arm.

    Attributes:
        gravity: (3,) in the base frame, m/s^2.
        locked_joints, tip_link, strict_inertials: as for `parse_urdf`.
        viscous, coulomb: friction coefficients; None: those of the URDF.
        time_step: s.
        integrator: one of `INTEGRATORS`.
        friction: one of `FRICTION_LAWS`.
        delay: of the drives, s.
        rate_limit: of the drives' torques, N m/s or N/s; inf: none.
        speed_limits: whether drives lose torque toward the model's velocity limits.
        stops: one of `STOPS`.
        stop_stiffness, stop_damping: of spring stops.
        joint_stiffness, joint_damping: of elastic joints; stiffness 0: rigid joints.
        payload_links, wrench_frames: whose programs are compiled in advance.
    """

    gravity: Sequence[float] = (0.0, 0.0, -9.81)
    locked_joints: Mapping[str, float] = field(default_factory=dict)
    tip_link: str | None = None
    strict_inertials: bool = False
    viscous: PerJoint | None = None
    coulomb: PerJoint | None = None
    time_step: float = 1e-3
    integrator: str = 'rk4'
    friction: str = 'smooth'
    delay: float = 0.0
    rate_limit: PerJoint = np.inf
    speed_limits: bool = False
    stops: str = 'none'
    stop_stiffness: PerJoint = 1e4
    stop_damping: PerJoint = 1e2
    joint_stiffness: PerJoint = 0.0
    joint_damping: PerJoint = 0.0
    payload_links: Sequence[str] = ()
    wrench_frames: Sequence[str] = ()

    def model(self, urdf: str) -> RobotModel:
        """Return the robot of a URDF text, without payloads.

        Raises:
            RobotDynamicsError: as `parse_urdf` and `RobotModel.with_actuation`.
        """
        model = parse_urdf(
            urdf,
            gravity=self.gravity,
            locked_joints=self.locked_joints,
            tip_link=self.tip_link,
            strict_inertials=self.strict_inertials,
        )
        return model.with_actuation(viscous=self.viscous, coulomb=self.coulomb)

    def joint_models(self) -> JointModels:
        """Return the joint models. Raises ValueError for an unknown friction law or stop."""
        if self.stops not in STOPS:
            raise ValueError(f'stops is {self.stops!r}; it must be one of {", ".join(STOPS)}')
        stops: Stops | None = None
        if self.stops == 'inelastic':
            stops = InelasticStop()
        elif self.stops == 'spring':
            stops = SpringDamperStop(self.stop_stiffness, self.stop_damping)
        actuators = elasticity = None
        if self.delay > 0 or self.speed_limits or not np.isposinf(self.rate_limit).all():
            speed = None if self.speed_limits else np.inf
            actuators = Actuators(self.delay, self.rate_limit, speed)
        if np.any(self.joint_stiffness):
            elasticity = Elasticity(self.joint_stiffness, self.joint_damping)
        return JointModels(self.friction, actuators, stops, elasticity)

    def plant(self, arm: Dynamics) -> Plant:
        """Return a simulated arm at q = 0, at rest, with its programs compiled.

        Raises:
            ModelError: a joint model does not fit this arm.
            FrameNotFound: a payload link or wrench frame does not exist.
        """
        for frame in self.wrench_frames:
            arm.forward_kinematics(np.zeros(arm.model.n), frame)
        return Plant(
            Simulator(
                arm,
                time_step=self.time_step,
                integrator=self.integrator,
                joint_models=self.joint_models(),
                payload_links=self.payload_links,
                wrench_frames=self.wrench_frames,
            )
        )
