"""Settings of a simulation as plain numbers and names.

Together with the text of the URDF they determine a simulated arm completely, and are stored with
it in a command log (`command_log.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.simulation.commands import Plant
from robot_dynamics.simulation.joint_models.actuators import Actuators
from robot_dynamics.simulation.joint_models.friction_step import FrictionSettings
from robot_dynamics.simulation.joint_models.settings import JointModels
from robot_dynamics.simulation.joint_models.stops import InelasticStop, SpringDamperStop
from robot_dynamics.simulation.simulator import Simulator
from robot_dynamics.simulation.steps.elastic_arm import Elasticity
from robot_dynamics.urdf.loading import parse_urdf

PerJoint = float | Sequence[float]  # one number for all joints, or one each in the model's order


@dataclass(frozen=True)
class SimulationSettings:
    """Everything besides the URDF that determines the motion of a simulated arm.

    Attributes:
        gravity: (3,) in the base frame, m/s^2.
        locked_joints, tip_link, strict_inertials: as for `parse_urdf`.
        viscous, coulomb: friction coefficients; None: those of the URDF.
        rotor_inertia: seen at the joints, kg m^2 or kg; None: no rotors.
        time_step: s.
        integrator: one of `INTEGRATORS`.
        joint_models: their numbers per joint are lists.
        payload_links, wrench_frames: whose programs are compiled in advance.
    """

    gravity: Sequence[float] = (0.0, 0.0, -9.81)
    locked_joints: Mapping[str, float] = field(default_factory=dict)
    tip_link: str | None = None
    strict_inertials: bool = False
    viscous: PerJoint | None = None
    coulomb: PerJoint | None = None
    rotor_inertia: PerJoint | None = None
    time_step: float = 1e-3
    integrator: str = 'rk4'
    joint_models: JointModels = field(default_factory=JointModels)
    payload_links: Sequence[str] = ()
    wrench_frames: Sequence[str] = ()

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> SimulationSettings:
        """Return the settings of which `asdict` made this content.

        Raises:
            KeyError, TypeError, ValueError: the content is not that of settings.
        """
        models = dict(content['joint_models'])
        if isinstance(models['friction'], Mapping):
            models['friction'] = FrictionSettings(**models['friction'])
        if models['actuators'] is not None:
            models['actuators'] = Actuators(**models['actuators'])
        if models['stops'] is not None:
            stops = models['stops']
            models['stops'] = SpringDamperStop(**stops) if stops else InelasticStop()
        if models['elasticity'] is not None:
            models['elasticity'] = Elasticity(**models['elasticity'])
        return cls(**{**content, 'joint_models': JointModels(**models)})

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
        return model.with_actuation(
            viscous=self.viscous, coulomb=self.coulomb, rotor_inertia=self.rotor_inertia
        )

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
                joint_models=self.joint_models,
                payload_links=self.payload_links,
                wrench_frames=self.wrench_frames,
            )
        )
