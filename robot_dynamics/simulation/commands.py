"""A simulated arm with brakes, and the commands that act on it.

    plant.apply(EffortCommand(tau))              the drives supply tau; None: the brakes hold
    plant.apply(ExternalWrench(frame, wrench))   a wrench acts on a frame; None: no longer
    plant.apply(SetState(q, qd))                 position and velocity are set
    plant.apply(SetPayload(link, payload))       a link carries a payload; None: none
    plant.step()

The motion follows from the commands and the number of steps before each one. A log of both is
enough to repeat it bit for bit (`replay.py`). Commands that change nothing are not logged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.inertia import Inertial
from robot_dynamics.simulation.arguments import finite_wrench
from robot_dynamics.simulation.errors import SimulationDiverged
from robot_dynamics.simulation.simulator import Simulator
from robot_dynamics.spatial import Array


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


Command = EffortCommand | ExternalWrench | SetState | SetPayload
Listener = Callable[[int, Command], None]  # receives the number of steps before the command


class Plant:
    """A simulator with brakes and external wrenches.

    Attributes:
        simulator: the arm.
        listener: called after each command that changed something; None: none.
        steps: number of steps since the plant was created; no command resets it.
        braked: whether the brakes hold.
        wrenches: (6,) by frame, the external wrenches, in the frames' axes.
    """

    def __init__(self, simulator: Simulator, listener: Listener | None = None):
        """Start in the simulator's state, with the brakes on."""
        self.simulator, self.listener = simulator, listener
        self.steps = 0
        self.braked = True
        self._tau: Array | None = None
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

    @property
    def has_hidden_state(self) -> bool:
        """Whether the future depends on more than q and qd: see `Simulator`."""
        return not self.braked and self.simulator.has_hidden_state

    def apply(self, command: Command) -> None:
        """Apply a command, and pass it to the listener if it changes something.

        Raises:
            RobotDynamicsError: the command is invalid. The arm is left as it was, and the
                listener is not called.
        """
        if self._changes_something(command):
            self._apply(command)
            if self.listener is not None:
                self.listener(self.steps, command)

    def start_log(self, listener: Listener) -> None:
        """Pass the commands that lead a new plant to the present state, and all later ones.

        The present state is set anew: hidden state (see `has_hidden_state`) is lost, here and in
        a replay alike.
        """
        self.listener = listener
        for link, payload in self.simulator.payloads.items():
            listener(self.steps, SetPayload(link, payload))
        tau = self._tau
        self.apply(SetState(self.q, self.qd))
        for frame, wrench in self.wrenches.items():
            listener(self.steps, ExternalWrench(frame, wrench))
        listener(self.steps, EffortCommand(tau))

    def step(self) -> None:
        """Advance by one time step.

        Raises:
            SimulationDiverged: the step failed; the brakes hold the arm in the state before it.
        """
        if self._tau is not None:
            try:
                self.simulator.step(self._tau, wrenches=self._world_wrenches())
            except (RobotDynamicsError, np.linalg.LinAlgError) as error:
                self.apply(EffortCommand(None))
                raise SimulationDiverged(str(error)) from error
        self.steps += 1

    def _changes_something(self, command: Command) -> bool:
        if isinstance(command, EffortCommand):
            return command.tau is not self._tau and not _same(command.tau, self._tau)
        if isinstance(command, ExternalWrench):
            return not _same(command.wrench, self.wrenches.get(command.frame))
        if isinstance(command, SetPayload):
            return not _same_payload(command.payload, self.simulator.payloads.get(command.link))
        return True

    def _apply(self, command: Command) -> None:
        if isinstance(command, EffortCommand):
            self._tau = command.tau
            self.braked = command.tau is None
            if self.braked:
                self.simulator.reset(self.q, np.zeros_like(self.q))
        elif isinstance(command, SetState):
            self.simulator.reset(command.q, command.qd)
        elif isinstance(command, SetPayload):
            self._set_payload(command)
        elif command.wrench is None:
            self.wrenches.pop(command.frame, None)
        else:
            self.simulator.arm.model.frame_index(command.frame)
            self.wrenches[command.frame] = finite_wrench(command.frame, command.wrench)

    def _set_payload(self, command: SetPayload) -> None:
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


def _same(one: Array | None, other: Array | None) -> bool:
    """Return whether two vectors have the same bits; -0 and 0 do not."""
    if one is None or other is None:
        return one is other
    return one.tobytes() == other.tobytes()


def _same_payload(one: Inertial | None, other: Inertial | None) -> bool:
    if one is None or other is None:
        return one is other
    return (
        one.mass == other.mass
        and np.array_equal(one.com, other.com)
        and np.array_equal(one.inertia_com, other.inertia_com)
    )
