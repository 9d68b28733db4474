"""The two runs of the demonstration, and what happens when a node dies in one of them.

Each run begins alike: pause, reset, choose what is compensated, send the trajectory, see it
accepted, resume; so both start from the same state at the same simulated time. A node that dies is
started again by the supervisor, and

    simulator_node     lost the state and the time: the run starts over
    feedforward_node   lost what it followed: time is paused and it is sent the rest
    the other two      only answer: the run goes on
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from robot_dynamics.control import Trajectory
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.demo.graph import FEEDFORWARD, SIMULATOR
from robot_dynamics.nodes.demo.monitor import Monitor, Recorder
from robot_dynamics.nodes.demo.recording import SECOND, TERMS, Piece, Recording
from robot_dynamics.nodes.demo.screen import Screen
from robot_dynamics.nodes.demo.supervisor import Supervisor

TURN = 0.01  # s, between two looks at the streams
PATIENCE = 10.0  # s, for what takes milliseconds
START_PATIENCE = 60.0  # s, for nodes that compile, or load the robot into another engine
ASK_AGAIN = 0.5  # s, after which a question may have gone to a process that is no more
QUESTIONS = 20  # before a node is taken to be deaf
RUNS = 5  # begun, before something else is taken to be wrong
STREAMS = {'states', 'torques', 'terms'}
CATCH_UP = 0.5  # s, for the arm to be back on its path


class DemoFailed(RobotDynamicsError, RuntimeError):  # noqa: N818  (says what happened)
    """The demonstration cannot go on."""


class Interrupted(Exception):  # noqa: N818  (a turn of events, dealt with in this file)
    """A node that the present step depends on was restarted."""

    def __init__(self, node: str):
        self.node = node
        super().__init__(node)


class Conductor:
    """Conducts runs on a graph of nodes that a supervisor keeps up.

    Every method that waits raises KeyboardInterrupt as soon as there is something in `stops`.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        monitor: Monitor,
        recorder: Recorder,
        executor: Any,
        screen: Screen,
        stops: Sequence[int],
    ):
        self._supervisor, self._screen, self._executor = supervisor, screen, executor
        self._stops = stops
        self._monitor, self._recorder = monitor, recorder
        self._recording: Recording | None = None
        self._lost: list[str] = []  # nodes that were restarted and not yet taken care of

    # -- runs -------------------------------------------------------------------------------

    def wait_for_graph(self) -> None:
        """Wait until every node was heard, and those that are asked can answer."""
        self.wait_until(
            lambda: self._monitor.answers() and self._recorder.heard >= STREAMS,
            'the nodes to start',
        )

    def wait_until(self, condition: Callable[[], Any], what: str) -> None:
        """Wait for what takes its time, whichever node is restarted meanwhile.

        Raises DemoFailed if it does not come.
        """
        while True:
            try:
                return self.wait(condition, what, START_PATIENCE)
            except Interrupted:
                continue

    def run(self, trajectory: Trajectory, *, compensate: bool) -> Recording:
        """Return a run along a trajectory: feedback, and all terms compensated or none.

        Raises:
            DemoFailed: it does not come to its end.
        """
        for _ in range(RUNS):
            try:
                self._begin(trajectory, compensate)
                return self._follow(compensate)
            except Interrupted as interruption:
                self._screen.say(f'{interruption.node} was restarted: this run starts over')
            finally:
                self._recording = None
        raise DemoFailed(f'a run was cut short by restarts {RUNS} times')

    def _begin(self, trajectory: Trajectory, compensate: bool) -> None:
        self._lost.clear()
        self.wait(self._monitor.answers, 'the services of the nodes', START_PATIENCE)
        self._ask('pause')
        self._ask('reset')
        self._start(Recording(trajectory.n, trajectory.duration), trajectory, compensate)

    def _follow(self, compensate: bool) -> Recording:
        recording = self._recording
        while not recording.complete:
            try:
                self.wait(self._something_new(recording), 'simulated time to go on')
            except Interrupted as interruption:
                if interruption.node == SIMULATOR:
                    raise
                self._continue(recording, compensate)
            self._screen.progress(recording)
        self._ask('pause')
        return recording

    @staticmethod
    def _something_new(recording: Recording) -> Callable[[], bool]:
        before = recording.newest
        return lambda: recording.newest > before

    def _continue(self, recording: Recording, compensate: bool) -> None:
        """Send a restarted feed-forward node the rest of the motion, from the present state."""
        while True:
            try:
                self._ask('pause')
                # It says what it does as soon as it knows the robot.
                self.wait(lambda: self._monitor.status, f'{FEEDFORWARD} to return', START_PATIENCE)
                rest = self._rest(recording)
                self._screen.say(
                    f'{FEEDFORWARD} was restarted: it is sent the remaining {rest.duration:.2f} s'
                )
                return self._start(recording, rest, compensate)
            except Interrupted as interruption:
                if interruption.node == SIMULATOR:
                    raise

    def _rest(self, recording: Recording) -> Trajectory:
        """Return what is left of the motion, led up to from the present state."""
        start, trajectory = recording.pieces[0]
        elapsed = (recording.q.last - start) / SECOND
        later = trajectory.times > elapsed + CATCH_UP
        later[-1] = True
        times = trajectory.times[later] - elapsed
        times[-1] = max(times[-1], CATCH_UP)
        points = [point for point, kept in zip(trajectory.waypoints, later, strict=True) if kept]
        q, qd, qdd = zip(*points, strict=True)
        still = np.zeros(trajectory.n)
        return Trajectory(
            trajectory.joint_names,
            [0.0, *times],
            [recording.q.tail(), *q],
            [recording.qd.tail(), *qd],
            [still, *qdd],
        )

    def _start(self, recording: Recording, trajectory: Trajectory, compensate: bool) -> None:
        """While time is paused, have a trajectory accepted; then let time go on."""
        self._recording = None
        self._recorder.forget_state()
        # A state that is repeated is the present one, not one that was long under way.
        self.wait(lambda: self._recorder.repetitions, 'time to stand still')
        self._ask_until_answered(
            lambda: self._monitor.set_parameters(
                {f'compensate_{term}': compensate for term in TERMS}
            ),
            f'{FEEDFORWARD}/set_parameters',
        )
        recording.pieces.append(Piece(self._recorder.stamp, trajectory))
        for _ in range(QUESTIONS):
            self._monitor.send(trajectory)
            self.happens(lambda: self._monitor.status, ASK_AGAIN)
            if self._monitor.status.startswith('following'):
                break
        else:
            raise DemoFailed(f'{FEEDFORWARD} does not follow: {self._monitor.status or "silent"}')
        self._recording = recording
        recording.began = recording.began or time.time_ns()
        self._ask('resume')

    # -- questions --------------------------------------------------------------------------

    def _ask(self, verb: str) -> None:
        answer = self._ask_until_answered(lambda: self._monitor.ask(verb), f'{SIMULATOR}/{verb}')
        if not answer.success:
            raise DemoFailed(f'{SIMULATOR}/{verb}: {answer.message}')

    def _ask_until_answered(self, question: Callable[[], Any], what: str) -> Any:
        for _ in range(QUESTIONS):
            future = question()
            if self.happens(future.done, ASK_AGAIN):
                return future.result()
        raise DemoFailed(f'no answer from {what}')

    # -- time -------------------------------------------------------------------------------

    def wait(self, condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> None:
        """Let time pass until a condition holds.

        Raises:
            Interrupted: the simulator or the feed-forward node was restarted meanwhile.
            DemoFailed: it does not hold within `patience` seconds.
        """
        if not self.happens(condition, patience):
            raise DemoFailed(f'waited {patience:g} s for {what}')

    def happens(self, condition: Callable[[], Any], patience: float) -> bool:
        """Let time pass until a condition holds, or `patience` seconds; return whether it does.

        Raises Interrupted, as `wait`.
        """
        end = time.monotonic() + patience
        while not condition():
            if self._lost:
                raise Interrupted(self._lost.pop(0))
            if time.monotonic() > end:
                return False
            self._turn()
        return True

    def _turn(self) -> None:
        """Let a moment pass: hear what there is, and see that every node is up."""
        if self._stops:
            raise KeyboardInterrupt
        end = time.monotonic() + TURN
        while (left := end - time.monotonic()) > 0:
            self._executor.spin_once(timeout_sec=left)
        self._recorder.take(self._recording)
        for node in self._supervisor.look():
            if node == FEEDFORWARD:
                self._monitor.status = ''
            if node in (SIMULATOR, FEEDFORWARD):
                self._lost.append(node)
            else:
                self._screen.say(f'{node} was restarted: the others carry on')
