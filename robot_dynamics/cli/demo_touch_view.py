# SPDX-License-Identifier: Apache-2.0
"""`demo --touch --view`: the demonstration in the browser while it is computed.

The page is that of `view --live`: the arm as its sensors measure it, external torques and force as
estimated, and beside them the true ones. It runs at the speed of the clock, or slower.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import numpy as np

from robot_dynamics.cli.demo_touch import CENTRE, PAYLOAD, ROBOT, TOOL, TOUCHES, Row, pushes_at
from robot_dynamics.cli.view import HOST, ViewSource, opened, serve
from robot_dynamics.common.resources import share_file
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.urdf.geometry.meshes import mesh_folders
from robot_dynamics.view.live_controls import LiveControls
from robot_dynamics.view.state import External, ViewState
from robot_dynamics.view.viewed_motion import Follow

WAIT = 0.02  # s: shorter waits for the clock are left out


class TouchSource:
    """The samples of the demonstration as those of a live robot."""

    def __init__(self, arm: Dynamics) -> None:
        """Begin without a sample."""
        self._arm = arm
        self._row: Row | None = None
        self._call: Callable[[], None] = lambda: None
        self._offset = 0.0  # of the clock from the times of the samples, s

    def show(self, row: Row) -> None:
        """Show a sample, and wait until its time."""
        now = time.monotonic()
        if self._row is None or row.t < self._row.t:
            self._offset = now - row.t
        self._row = row
        self._call()
        # One that is late does not make the next faster.
        self._offset = max(self._offset, now - row.t)
        if (early := self._offset + row.t - now) > WAIT:
            time.sleep(early)

    def repeat(self, rows: Sequence[Row]) -> None:
        """Show samples again and again, until the program is interrupted."""
        print('the page repeats it; Ctrl-C ends', flush=True)
        with suppress(KeyboardInterrupt):
            while True:
                for row in rows:
                    self.show(row)

    def follow(
        self,
        model: RobotModel,
        call: Callable[[], None],
        report: Callable[[str], None],
    ) -> None:
        """Call back at each sample."""
        self._call = call

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def newest(self) -> JointReading | None:
        """Return the joint state of the present sample."""
        return None if self._row is None else self._row.reading

    def payload(self) -> None:
        """Return no payload: the model has none."""

    def external(self) -> tuple[External | None, External | None]:
        """Return what is estimated and what is true."""
        row = self._row
        if row is None:
            return None, None
        text = 'learning free motion' if row.t < 0 else row.kind
        if np.isfinite(row.mass):
            text += f', {row.mass:.2f} kg'
        estimated = External(row.estimated, TOOL, row.wrench, text)
        # At the flange, unless another link is pushed
        touches = pushes_at(row.t) or {TOOL: np.append(np.zeros(3), row.true_force)}
        [(link, F)] = touches.items()
        names = (one.name for one in TOUCHES if one.start <= row.t < one.end)
        name = next(names) if row.true.any() else 'none'
        R = self._arm.forward_kinematics(row.reading.q, link)[:3, :3]
        F = np.append(F[:3], R.T @ F[3:])
        if name == PAYLOAD:
            F[:3] = np.cross(CENTRE, F[3:])
        return estimated, External(row.true, link, F, name)


@contextmanager
def shown(arm: Dynamics, port: int) -> Iterator[TouchSource]:
    """Serve the page, and yield what the samples are given to. Raises ServerError."""
    source, file = TouchSource(arm), share_file(ROBOT)
    motion = Follow(source)
    controls = LiveControls(motion, {'simulated': 'demo --touch'})
    view_source = ViewSource(
        ViewState.initial(arm.model), file.read_bytes(), controls, motion, source
    )
    server, ended = opened(view_source, HOST, port), threading.Event()
    thread = threading.Thread(
        target=serve, args=(server, view_source, mesh_folders(file, []), ended), daemon=True
    )
    thread.start()
    try:
        yield source
    finally:
        ended.set()
        thread.join()
        server.stop()
