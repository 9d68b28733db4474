# SPDX-License-Identifier: Apache-2.0
"""Process in which trajectories are retimed, so that a control loop keeps its own.

Retiming takes some 70 ms of NumPy, most of it with the interpreter's lock: in a thread of the same
process a loop of 1 kHz would wait for it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import numpy as np

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.retiming import retime
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.memory import FrictionModel

TIMEOUT = 20.0  # s, for one trajectory; a long one of an arm takes less than 1 s
ONE_THREAD = {'OPENBLAS_NUM_THREADS': '1'}  # the other processors belong to the loop
NICE = 5  # behind the loop, where both share a processor


class RetimingProcess:
    """The process; it starts with the first request, and with the next one after its end.

    `kill` may be called by any thread, the other methods by one alone.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._arm: Dynamics | None = None  # the one that the process has

    @property
    def pid(self) -> int | None:
        """Process id; None if it was not started, or its end was seen."""
        return None if self._process is None else self._process.pid

    def retime(
        self,
        arm: Dynamics,
        trajectory: Trajectory,
        effort_limit: Array,
        friction: FrictionModel,
        start: Array | None = None,
    ) -> Trajectory:
        """Return what `retiming.retime` returns for these arguments.

        Raises:
            TrajectoryError: that of `retime`, or the process ended, or took too long.
        """
        try:
            connection = self._running()
        except OSError as error:
            raise TrajectoryError(f'the retiming process was not started: {error}') from None
        known = arm is self._arm
        try:
            given = None if known else arm
            connection.send((given, trajectory, effort_limit, friction, start))
            if not connection.poll(TIMEOUT):
                self.close()
                raise TrajectoryError(f'retiming takes more than {TIMEOUT:g} s')
            reply = connection.recv()
        except (OSError, EOFError):
            raise TrajectoryError(f'the retiming process ended: {self.close()}') from None
        self._arm = arm
        if isinstance(reply, str):
            raise TrajectoryError(reply)
        times, points = reply
        return Trajectory(trajectory.joint_names, times, *points)

    def warm(self, arm: Dynamics, friction: FrictionModel) -> None:
        """Start the process, and let it compile what this arm needs."""
        q = np.zeros((2, arm.model.n))
        q[1] = 0.1
        trajectory = Trajectory(arm.model.joint_names, [0.0, 1.0], q)
        # An error is of this trajectory alone, or the next request meets it as well.
        with suppress(TrajectoryError):
            self.retime(arm, trajectory, arm.model.effort_limit, friction)

    def kill(self) -> None:
        """End the process at once; a request that waits for it fails."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> str:
        """End the process, if there is one; return how it ended."""
        process, connection = self._process, self._connection
        self._process = self._connection = self._arm = None
        if process is None or connection is None:
            return ''
        connection.close()
        try:
            code = process.wait(1.0)  # after its end by itself
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        return f'signal {-code}' if code < 0 else f'exit code {code}'

    def _running(self) -> Connection:
        """Return the connection to the process, which is started if it does not run."""
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._connection is None:
            self._connection, far_end = Pipe()
            with far_end:
                self._process = subprocess.Popen(
                    [sys.executable, '-m', __name__, str(far_end.fileno())],
                    pass_fds=[far_end.fileno()],
                    stdin=subprocess.DEVNULL,
                    env={
                        **os.environ,
                        'PYTHONPATH': os.pathsep.join(filter(None, sys.path)),
                        **ONE_THREAD,
                    },
                )
        return self._connection


# -- the process --------------------------------------------------------------------------------


def main(connection: Connection) -> None:
    """Retime trajectories until the other end of the connection is closed."""
    # SIGINT is for the parent, which closes the connection; real-time priority for its loop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.nice(NICE)
    arm: Dynamics | None = None
    while True:
        try:
            given, *rest = connection.recv()
        except (EOFError, ConnectionError):
            return
        arm = given or arm
        connection.send(_reply(arm, *rest))


def _reply(
    arm: Dynamics | None,
    trajectory: Trajectory,
    effort_limit: Array,
    friction: FrictionModel,
    start: Array | None,
) -> tuple[Array, Array] | str:
    """Return times and points of the fastest motion, or why there is none."""
    assert arm is not None  # the first request has one
    try:
        fastest = retime(arm, trajectory, effort_limit, friction=friction, start=start)
    except TrajectoryError as error:
        return str(error)
    return fastest.times, fastest.points


if __name__ == '__main__':
    main(Connection(int(sys.argv[1])))
