# SPDX-License-Identifier: Apache-2.0
"""A simulated arm with brakes, and the commands that act on it.

    plant.apply(EffortCommand(tau))              the drives supply tau; None: the brakes hold
    plant.apply(ServoCommand(q))                 servos move to q
    plant.apply(ExternalWrench(frame, wrench))   a wrench acts on a frame; None: no longer
    plant.apply(SetState(q, qd))                 position and velocity are set
    plant.apply(SetPayload(link, payload))       a link carries a payload; None: none
    plant.step()

The motion follows from the commands and the number of steps before each one: the same commands
give the same bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.simulation.argument_checks import finite_wrench
from robot_dynamics.simulation.errors import SimulationDiverged
from robot_dynamics.simulation.joint_models.servo import ServoCommand
from robot_dynamics.simulation.simulator import Simulator


class EffortCommand(NamedTuple):
    """Torques of the drives from now on."""

    tau: Array | None  # (n,) N m or N; None: the brakes hold the arm in its present position


class ExternalWrench(NamedTuple):
    """A wrench of the environment on a frame from now on, in that frame's axes, at its origin."""

    frame: str
    wrench: Array | None  # (6,) moment, then force; None: no wrench


class SetState(NamedTuple):
    """A new position and velocity; delays, springs and drives start at rest."""

    q: Array  # (n,) rad or m
    qd: Array  # (n,)


class SetPayload(NamedTuple):
    """The payload of a link from now on; positions and velocities are continuous."""

    link: str
    payload: Inertial | None  # None: no payload


Command = EffortCommand | ServoCommand | ExternalWrench | SetState | SetPayload


class Plant:
    """A simulator with brakes and external wrenches.

    Attributes:
        simulator: the arm.
        braked: whether the brakes hold.
        wrenches: (6,) by frame, the external wrenches, in the frames' axes.
    """

    def __init__(self, simulator: Simulator):
        """Start in the simulator's state, with the brakes on."""
        self.simulator = simulator
        self.braked = True
        self._command: Array | ServoCommand | None = None
        self.wrenches: dict[str, Array] = {}

    @property
    def q(self) -> Array:
        """Positions (n,), rad or m."""
        return self.simulator.q

    @property
    def qd(self) -> Array:
        """Velocities (n,)."""
        return self.simulator.qd

    @property
    def effort(self) -> Array:
        """Torques of the drives (n,): zero while the brakes hold."""
        return np.zeros_like(self.simulator.q) if self.braked else self.simulator.effort

    def apply(self, command: Command) -> None:
        """Apply a command; one that repeats the present state of its input changes nothing.

        Raises:
            RobotDynamicsError: the command is invalid. The arm is left as it was.
        """
        match command:
            case EffortCommand(tau):
                if tau is None and not self.braked:
                    self._reset(self.q, np.zeros_like(self.q))
                self._command = None if tau is None else np.array(tau)
                self.braked = tau is None
            case ServoCommand():
                self._command, self.braked = command.copied(), False
            case SetState(q, qd):
                self._reset(q, qd)
            case SetPayload():
                self._set_payload(command)
            case ExternalWrench(frame, wrench):
                if wrench is None:
                    self.wrenches.pop(frame, None)
                else:
                    self.simulator.arm.model.frame_index(frame)
                    self.wrenches[frame] = finite_wrench(frame, wrench)

    def step(self) -> None:
        """Advance by one time step.

        Raises:
            SimulationDiverged: the step failed; the brakes hold the arm in the state before it.
        """
        if self._command is None:
            self.simulator.base_steps += 1  # brakes hold the arm, not its base
            return
        try:
            self.simulator.step(self._command, wrenches=self._world_wrenches())
        except (RobotDynamicsError, np.linalg.LinAlgError) as error:
            self.apply(EffortCommand(None))
            raise SimulationDiverged(str(error)) from error

    def _reset(self, q: Array, qd: Array) -> None:
        # The motion of the base goes on.
        self.simulator.reset(q, qd, base_steps=self.simulator.base_steps)

    def _set_payload(self, command: SetPayload) -> None:
        if _same_payload(command.payload, self.simulator.payloads.get(command.link)):
            return
        before = self.simulator.snapshot()
        if command.link in self.simulator.payloads:
            self.simulator.drop(command.link)
        if command.payload is None:
            return
        try:
            body = command.payload
            self.simulator.attach(command.link, body.mass, body.com, body.inertia_com)
        except RobotDynamicsError:
            self.simulator.restore(before)
            raise

    def _world_wrenches(self) -> dict[str, Array] | None:
        """Return the external wrenches in the world's axes."""
        if not self.wrenches:
            return None
        arm, q = self.simulator.arm, self.q
        result = {}
        for frame, F in self.wrenches.items():
            R = arm.forward_kinematics(q, frame)[:3, :3]
            result[frame] = np.concatenate([R @ F[:3], R @ F[3:]])
        return result


def _same_payload(one: Inertial | None, other: Inertial | None) -> bool:
    if one is None or other is None:
        return one is other
    return (
        one.mass == other.mass
        and np.array_equal(one.com, other.com)
        and np.array_equal(one.inertia_com, other.inertia_com)
    )
