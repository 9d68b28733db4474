"""A node that answers joint states, of a robot whose gravity, load and friction may change.

No joint state waits for a compiler: a load on another link, which needs one, is refused while the
node is active.
"""

from __future__ import annotations

import time
from typing import Any

from robot_dynamics.control.joint_state import JointReading, JointStateReader
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.joint_state_bytes import JointStateValues
from robot_dynamics.ros.live_parameters import (
    LiveRobotParameters,
    payload_link,
    velocity_filter,
)
from robot_dynamics.ros.parameters import ParameterError, changed
from robot_dynamics.ros.robot_source import friction_of
from robot_dynamics.ros.varying_robot import VaryingRobotNode

FRICTION = {'friction.viscous', 'friction.coulomb'}
LISTENING = {'input_timeout', 'missing_velocity', 'velocity_cutoff'}


class LiveRobotNode(VaryingRobotNode):
    """Base of a node that answers joint states.

    Attributes:
        friction: of the joints, at present; that of `arm` is the URDF's.
        reader: of the joint states.
    """

    table = LiveRobotParameters

    def __init__(self, name: str, **kwargs: Any):
        """Listen; keywords and errors are those of RobotNode."""
        super().__init__(name, **kwargs)
        self.listen_to_joint_states(self._on_state)

    def answer(self, arm: Dynamics, reading: JointReading) -> None:
        """Answer a state of the whole robot."""
        raise NotImplementedError

    def use(self, arm: Dynamics) -> None:
        """Hear this robot's joints, and say what it carries."""
        super().use(arm)
        self.friction = friction_of(self.parameters, arm.model)
        self.reader = JointStateReader(
            arm.model.joint_names, self.parameters.input_timeout, velocity_filter(self.parameters)
        )

    def start(self) -> None:
        """Begin with nothing heard."""
        self.reader.reset()

    def trouble(self) -> tuple[bytes, str] | None:
        """Return the level and the sentence for what is wrong at present, None if nothing is."""
        return self.input_condition(self.reader)

    def _on_state(self, state: JointStateValues) -> None:
        began = time.perf_counter()
        try:
            reading = self.reader.read(state, state.stamp)
        except RobotDynamicsError as error:
            return self.refuse('joint state', error)
        if reading is None:
            return
        if reading.qd is None:
            self.health.counts['joint state without velocity'] += 1
        self.answer(self.arm, reading)
        self.health.latencies.append(time.perf_counter() - began)

    # -- changes ----------------------------------------------------------------------------

    def accept(self, parameters: Any) -> None:
        """Refuse what makes no sense for this robot, or would make its torques wait."""
        if self.base is not None and self.active:
            link, prepared = (
                payload_link(values, self.base.model) for values in (parameters, self.parameters)
            )
            if link != prepared:
                raise ParameterError(
                    f'payload.link is {link!r}; while the node is active it must stay '
                    f'{prepared!r}, for which programs are compiled: deactivate the node first'
                )
        super().accept(parameters)
        if self.base is not None:
            friction_of(parameters, self.base.model)

    def adopt(self, parameters: Any) -> None:
        """Work with the changed robot from the next state on."""
        changes = changed(self.parameters, parameters)
        super().adopt(parameters)
        if self.base is None:
            return
        if changes & LISTENING:
            self.reader.adjust(parameters.input_timeout, velocity_filter(parameters))
        if changes & FRICTION:
            self.friction = friction_of(parameters, self.base.model)
