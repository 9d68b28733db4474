# SPDX-License-Identifier: Apache-2.0
"""Motions of the viewed robot: free fall, a recording, and joint states that arrive live."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.filters import AccelerationFilter
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.inverse_kinematics import inverse_kinematics
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.recordings.smoothing import cutoff_of, smooth
from robot_dynamics.simulation import InelasticStop, JointModels, Simulator
from robot_dynamics.view.scene import torques
from robot_dynamics.view.state import External, Load, ViewError, ViewState, number

TIME_STEP = 1e-3  # s
ROUNDING = 1e-6  # of a step
LONGEST = 0.1  # s simulated at a time: a loop that was interrupted does not catch up
CUTOFF = 5.0  # Hz, of live accelerations
REACH_STEPS = 12  # of inverse kinematics in one period; the next ones continue
REACHED = 1e-6  # rad or m, of joints in one period
LATE = 1.0  # s without joint states, which is shown
MAX_GAP = 0.5  # s, between live states


class ViewedMotion(Protocol):
    """A change of the state over time."""

    def advance(self, arm: Dynamics, state: ViewState, seconds: float) -> ViewState:
        """Return the state some seconds later: the same object if nothing has changed.

        Args:
            arm: the robot under the state's load.
            state: the present one.
            seconds: since the last call.

        Raises:
            RobotDynamicsError: the motion ends; the message says why.
        """


class Fall:
    """Motion without motor torques from the present state: gravity, friction, stops, a force."""

    def __init__(self) -> None:
        self._simulator: Simulator | None = None
        self._load: Load | None = None
        self._rest = 0.0  # s, not yet simulated

    def advance(self, arm: Dynamics, state: ViewState, seconds: float) -> ViewState:
        """Return the state some seconds later.

        The terms of a joint add up to zero, unless it rests: the sum is then the torque of its
        stop, or of its friction at rest.

        Raises:
            ModelError: a joint moves no inertia.
            SimulationDiverged: the motion is too fast for the time step.
        """
        simulator = self._simulator
        if simulator is None or state.load != self._load:
            # The arm of the state carries its payload: payloads of the simulator are not needed.
            simulator = self._simulator = Simulator(
                arm,
                q=state.q,
                qd=state.qd,
                time_step=TIME_STEP,
                integrator='semi_implicit_euler',
                joint_models=JointModels(stops=InelasticStop()),
            )
            self._load = state.load
        wrench = (
            {state.force_link: np.concatenate([np.zeros(3), state.force])}
            if state.force.any()
            else None
        )
        self._rest = min(self._rest + seconds, LONGEST)
        steps = math.floor(self._rest / TIME_STEP + ROUNDING)
        self._rest -= steps * TIME_STEP
        for _ in range(steps):
            simulator.step(np.zeros(arm.model.n), wrenches=wrench)
        if not steps:
            return state
        return accelerated(arm, replace(state, q=simulator.q, qd=simulator.qd))


def accelerated(arm: Dynamics, state: ViewState) -> ViewState:
    """Return a state with its accelerations without motors; joints at rest stay at rest."""
    still = np.zeros(arm.model.n)
    moving = np.flatnonzero(state.qd)
    rest = torques(arm, replace(state, qdd=still)).motor
    M = arm.mass_matrix(state.q)[np.ix_(moving, moving)]
    # 0 = M qdd + C qd + g + friction - J^T F, in the rows and columns of moving joints
    still[moving] = np.linalg.solve(M, -rest[moving])
    return replace(state, qdd=still)


class Reach:
    """A tip that is dragged: the posture nearest to the present one whose tip is at a pose."""

    def __init__(self, target: Array) -> None:
        """Bring the tip to a pose (4, 4); an arm of less than six joints, to its position."""
        self._target = np.array(target)

    def advance(self, arm: Dynamics, state: ViewState, _: float) -> ViewState:
        """Return the robot at rest, with its tip at the pose or as near as it comes.

        Raises:
            ShapeError: the target is not a pose.
        """
        target = self._target if arm.model.n >= 6 else self._target[:3, 3]
        q = inverse_kinematics(arm, state.tip, target, state.q, REACH_STEPS, restarts=0).q
        still = np.abs(q - state.q).max() < REACHED
        return state if still else replace(state.at_rest(), q=q)


class Playback:
    """A recording, played with a variable speed.

    Motion and efforts are low-passed without lag, as for `evaluate`, so that both sides of the
    equation of motion can be compared.

    Attributes:
        times: (k,) of the samples, s since the beginning.
        duration: s.
        time: s since the beginning, of the state that is shown.
        playing: whether the time advances.
        speed: 1 is that of the recording.
    """

    def __init__(
        self, recording: Recording, cutoff: float | None = None, gravity_compensated: bool = False
    ) -> None:
        """Begin at the first sample.

        Args:
            recording: of the joints of the robot, efforts in N m or N.
            cutoff: Hz, of the low-pass; by default where the motion ends.
            gravity_compensated: the efforts do not include the gravity torque, which is added.

        Raises:
            RecordingError: there are too few samples for the cut-off frequency.
        """
        stretches, _ = smooth(recording, cutoff_of(recording) if cutoff is None else cutoff)
        parts = [
            (*(x[s.inner] for x in (s.t, s.q, s.qd, s.qdd)), s.smoothed(s.effort))
            for s in stretches
        ]
        t, *self._motion, self._effort = map(np.concatenate, zip(*parts, strict=True))
        self.times = t - t[0]
        self._compensated = gravity_compensated
        self._shown = -1  # index
        self.duration = float(self.times[-1])
        self.time, self.playing, self.speed = 0.0, False, 1.0

    def advance(self, arm: Dynamics, state: ViewState, seconds: float) -> ViewState:
        """Return the recorded state at the present time; at the end the time stops."""
        if self.playing:
            self.time += self.speed * seconds
            if self.time >= self.duration:
                self.time, self.playing = self.duration, False
        last = len(self.times) - 1
        k = int(np.clip(np.searchsorted(self.times, self.time, 'right') - 1, 0, last))
        if k == self._shown:
            return state
        self._shown = k
        q, qd, qdd = self.motion(k)
        return replace(state, q=q, qd=qd, qdd=qdd, measured=self.efforts(arm, k))

    def motion(self, k: int | Array) -> tuple[Array, Array, Array]:
        """Return q, qd and qdd of samples, (n,) or (len(k), n) each."""
        q, qd, qdd = (np.array(x[k]) for x in self._motion)
        return q, qd, qdd

    def efforts(self, arm: Dynamics, k: int | Array) -> Array:
        """Return the measured efforts of samples, with gravity torque, (n,) or (len(k), n)."""
        effort = self._effort[k]
        gravity = arm.gravity_torque(self._motion[0][k]) if self._compensated else 0.0
        return np.asarray(effort + gravity)

    def seek(self, time: object) -> None:
        """Show another time [s]. Raises ViewError unless it is within the recording."""
        self.time = number('time [s]', time, 0.0, self.duration)

    def toggle(self) -> None:
        """Pause, or play: from the beginning at the end of the recording."""
        if not self.playing and self.time >= self.duration:
            self.time = 0.0
        self.playing = not self.playing


class LiveSource(Protocol):
    """Receives the joint states of a robot, its payload, and what the environment exerts on it."""

    def follow(
        self,
        model: RobotModel,
        call: Callable[[], None],
        report: Callable[[str], None],
    ) -> None:
        """Collect the states of a robot.

        Args:
            model: the robot.
            call: called when there is something new, from any thread.
            report: called with the reason why a message is rejected.
        """

    def close(self) -> None:
        """Receive nothing any more."""

    def newest(self) -> JointReading | None:
        """Return the newest complete joint state, None before the first."""

    def payload(self) -> tuple[str, float, Sequence[float]] | None:
        """Return link, mass [kg] and centre of mass [m] of the payload, None if it is unknown."""

    def external(self) -> tuple[External | None, External | None]:
        """Return what is estimated and what is true; None if it is unknown."""


class Follow:
    """The joint states of a live robot.

    Attributes:
        silence: s without a new joint state.
    """

    def __init__(
        self, source: LiveSource, scale: ArrayLike = 1.0, gravity_compensated: bool = False
    ) -> None:
        """Begin.

        Args:
            source: of the joint states.
            scale: factor from the efforts to N m or N, one for all joints or (n,).
            gravity_compensated: the efforts do not include the gravity torque, which is added.
        """
        self._source, self._scale = source, np.array(scale, dtype=float)
        self._compensated = gravity_compensated
        self.silence = 0.0
        self._reading: JointReading | None = None
        self._payload: object = None
        self._unknown = ''  # frame of a wrench, reported
        self._accelerations = AccelerationFilter(cutoff=CUTOFF, max_gap=MAX_GAP)

    def advance(self, arm: Dynamics, state: ViewState, seconds: float) -> ViewState:
        """Return the newest state; missing velocities count as zero.

        Raises:
            ViewError: the payload is on a link that does not move, or the robot lacks the frame of
                a wrench; the next call continues.
        """
        payload = self._source.payload()
        if payload is not None and payload != self._payload:
            self._payload = payload
            state = state.carrying(*payload)
        estimated, true = self._source.external()
        if estimated is not None and estimated.frame not in state.model.frame_names:
            if estimated.frame != self._unknown:
                self._unknown = estimated.frame
                raise ViewError(f'external wrench: no frame {estimated.frame!r} in the robot')
            estimated = None
        reading = self._source.newest()
        # Not the stamp: it may go back, and that of some drivers stays at zero.
        if reading is None or reading is self._reading:
            self.silence += seconds
            # Another object is shown, and with it the silence.
            return replace(state) if self.silence > LATE else state
        self._reading, self.silence = reading, 0.0
        still = np.zeros(arm.model.n)
        qd = still if reading.qd is None else reading.qd
        qdd = self._accelerations.update(reading.stamp / SECOND, qd)
        measured = None if reading.effort is None else self._scale * reading.effort
        if measured is not None and self._compensated:
            measured = measured + arm.gravity_torque(reading.q)
        return replace(
            state,
            q=reading.q,
            qd=qd,
            qdd=still if qdd is None else qdd,
            measured=measured,
            estimated=estimated,
            true=true,
        )
