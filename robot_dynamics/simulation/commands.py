"""A simulated arm, and everything that can be done to it, each deed a value that can be kept.

    plant.apply(Drive(tau))             the motors are told to supply tau; None: the brakes hold
    plant.apply(Push(frame, wrench))    something presses on a frame; None: no more
    plant.apply(Place(q, qd))           the arm is put somewhere
    plant.apply(Load(link, payload))    a link carries something; None: no more
    plant.step()

A motion follows from the deeds and the number of steps before each: who keeps them can make the
same motion again, bit for bit (`replay.py`). What changes nothing is not told to the journal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.simulation.arguments import finite_wrench
from robot_dynamics.simulation.errors import SimulationDiverged
from robot_dynamics.simulation.joint_models.payloads import Payload
from robot_dynamics.simulation.simulator import Simulator
from robot_dynamics.spatial import Array


class Drive(NamedTuple):
    """A command to the motors."""

    tau: Array | None  # (n,) N m or N; None: the brakes hold the arm where it is


class Push(NamedTuple):
    """A wrench that the environment exerts on a frame, in the axes and at the origin of it."""

    frame: str
    wrench: Array | None  # (6,) moment, then force; None: no more


class Place(NamedTuple):
    """The arm is put somewhere, with nothing left of what it did before."""

    q: Array  # (n,) rad or m
    qd: Array  # (n,)


class Load(NamedTuple):
    """A link carries something from now on, taken over and let go at the link's velocity."""

    link: str
    payload: Payload | None  # None: nothing


Deed = Drive | Push | Place | Load
Journal = Callable[[int, Deed], None]


def no_journal(_steps: int, _deed: Deed) -> None:
    """Keep nothing."""


class Plant:
    """A simulator with brakes, under whatever presses on it.

    Attributes:
        simulator: the arm.
        journal: told of each deed and of the number of steps made before it.
        steps: made since the plant was there; no deed takes one back.
        braked: whether the brakes hold.
    """

    def __init__(self, simulator: Simulator, journal: Journal = no_journal):
        """Begin in the simulator's state, with the brakes on."""
        self.simulator, self.journal = simulator, journal
        self.steps = 0
        self.braked = True
        self._tau: Array | None = None
        self.pushes: dict[str, Array] = {}

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
        """What the motors supply (n,): nothing while the brakes hold."""
        return np.zeros_like(self.simulator.q) if self.braked else self.simulator.effort

    def apply(self, deed: Deed) -> None:
        """Do something to the arm.

        Raises:
            RobotDynamicsError: it cannot be done. The arm is left as it was, and the journal is
                not told.
        """
        if self._changes_something(deed):
            _DOING[type(deed)](self, deed)
            self.journal(self.steps, deed)

    @property
    def remembers(self) -> bool:
        """Whether the motion to come depends on more than can be seen of the links."""
        effects = self.simulator.effects
        return not self.braked and (
            effects.actuators is not None or effects.elasticity is not None
        )

    def begin_journal(self, journal: Journal) -> None:
        """Tell a journal all that a new plant needs to become this one, and all that follows.

        The arm is put where it is: what it `remembers` is lost, here as there.
        """
        self.journal = journal
        for link, payload in self.simulator.payloads.items():
            journal(self.steps, Load(link, payload))
        tau, pushes = self._tau, self.pushes
        self.apply(Place(self.q, self.qd))
        for frame, wrench in pushes.items():
            journal(self.steps, Push(frame, wrench))
        journal(self.steps, Drive(tau))

    def step(self) -> None:
        """Let one time step pass.

        Raises:
            SimulationDiverged: the motion cannot go on; the brakes hold the arm where it was.
        """
        if self._tau is not None:
            try:
                self.simulator.step(self._tau, wrenches=self._wrenches())
            except (RobotDynamicsError, np.linalg.LinAlgError) as error:
                self.apply(Drive(None))
                raise SimulationDiverged(str(error)) from error
        self.steps += 1

    # -- how each deed is done --------------------------------------------------------------

    def _changes_something(self, deed: Deed) -> bool:
        if isinstance(deed, Drive):
            return deed.tau is not self._tau and not _same(deed.tau, self._tau)
        if isinstance(deed, Push):
            return not _same(deed.wrench, self.pushes.get(deed.frame))
        if isinstance(deed, Load):
            return not _same_load(deed.payload, self.simulator.payloads.get(deed.link))
        return True

    def _drive(self, deed: Drive) -> None:
        self._tau = deed.tau
        self.braked = deed.tau is None
        if self.braked:
            self.simulator.reset(self.q, np.zeros_like(self.q))

    def _push(self, deed: Push) -> None:
        if deed.wrench is None:
            self.pushes.pop(deed.frame, None)
        else:
            self.simulator.arm.model.frame_index(deed.frame)
            self.pushes[deed.frame] = finite_wrench(deed.frame, deed.wrench)

    def _place(self, deed: Place) -> None:
        self.simulator.reset(deed.q, deed.qd)

    def _load(self, deed: Load) -> None:
        before = self.simulator.snapshot()
        if deed.link in self.simulator.payloads:
            self.simulator.drop(deed.link)
        if deed.payload is None:
            return
        try:
            self.simulator.attach(deed.link, *deed.payload)
        except RobotDynamicsError:
            self.simulator.restore(before)
            raise

    def _wrenches(self) -> dict[str, Array] | None:
        """Return what presses on the frames, in the axes of the world."""
        if not self.pushes:
            return None
        arm, q = self.simulator.arm, self.q
        result = {}
        for frame, F in self.pushes.items():
            R = arm.forward_kinematics(q, frame)[:3, :3]
            result[frame] = np.concatenate([R @ F[:3], R @ F[3:]])
        return result


def _same(one: Array | None, other: Array | None) -> bool:
    """Say whether two vectors have the same bits; -0 and 0 do not."""
    if one is None or other is None:
        return one is other
    return one.tobytes() == other.tobytes()


def _same_load(one: Payload | None, other: Payload | None) -> bool:
    if one is None or other is None:
        return one is other
    tensor, other_tensor = (
        np.zeros((3, 3)) if load.inertia is None else load.inertia for load in (one, other)
    )
    return (
        one.mass == other.mass
        and np.array_equal(one.com, other.com)
        and np.array_equal(tensor, other_tensor)
    )


_DOING: dict[type, Callable[[Plant, Any], None]] = {
    Drive: Plant._drive,
    Push: Plant._push,
    Place: Plant._place,
    Load: Plant._load,
}
