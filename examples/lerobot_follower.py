# SPDX-License-Identifier: Apache-2.0
"""A follower arm of LeRobot, of drives in MIT mode, with the torque of its model.

LeRobot's own followers for such drives (openarm_follower, commit 0558e56) send kp, kd and
the position of an action, with velocity 0 and torque 0: the arm sags by gravity over stiffness,
and follows in steps at the rate of the policy. `ModelFollower` takes the place of such a follower,
with the same methods. A thread of its own commands the drives at RATE; actions are a stream of
targets for `ControlLoop`.

    follower = ModelFollower(OpenArmFollower(config), arm, kp=kp, kd=kd)
    follower.connect()

Nothing here imports lerobot. The follower that is wrapped needs a `bus` with these methods, whose
angles are in degrees:

    sync_read_all_states()       {motor: {'position': deg, 'velocity': deg/s, 'torque': N m}}
    _mit_control_batch(commands) {motor: (kp, kd, deg, deg/s, N m)}

A state of a motor that did not answer is to be missing or NaN. lerobot's own bus for such drives
(motors/damiao, commit 5d7c40b) returns its last one: a motor that is lost is found when the
reference moves.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import robot_dynamics as rd

LOG = logging.getLogger(__name__)
RATE = 200.0  # Hz, of the commands
POSITION = '.pos'  # end of the keys of actions


class ModelFollower:
    """A follower with the methods of LeRobot's `Robot`, whose arm joints `ControlLoop` commands.

    Motors that are no joints of the arm, such as a gripper, are left to the follower.

    Attributes:
        loop: of the arm; `loop.fault` is why its drives are damped, `restart` ends that.
    """

    name = 'model_follower'

    def __init__(self, follower: Any, arm: rd.Dynamics, kp: ArrayLike, kd: ArrayLike, **more: Any):
        """Wrap a follower whose motors have the names of the joints, in any order.

        Args:
            follower: of LeRobot.
            arm: the robot with its gripper.
            kp: (n,) N m/rad, in the order of the arm's joints.
            kd: (n,) N m s/rad.
            more: of ControlLoop.
        """
        self._follower, self._bus = follower, follower.bus
        self._joints = arm.model.joint_names
        missing = [name for name in self._joints if name not in follower.bus.motors]
        if missing:
            raise ValueError(
                f'the arm has the joints {", ".join(missing)}; expected some of the motors '
                f'{", ".join(follower.bus.motors)}: lock or rename joints of the description'
            )
        self.loop = rd.ControlLoop(arm, kp=kp, kd=kd, **more)
        self._target: np.ndarray | None = None  # (n,) rad, not yet passed to the loop
        self._last: np.ndarray | None = None  # the same, of the last action
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    # -- as of the follower -------------------------------------------------------------------

    @property
    def observation_features(self) -> dict[str, Any]:
        """Structure of observations."""
        return dict(self._follower.observation_features)

    @property
    def action_features(self) -> dict[str, type]:
        """Structure of actions: a position in degrees for each motor."""
        return {f'{motor}{POSITION}': float for motor in self._bus.motors}

    @property
    def is_connected(self) -> bool:
        """Whether the follower is connected."""
        return bool(self._follower.is_connected)

    @property
    def is_calibrated(self) -> bool:
        """Whether the follower is calibrated."""
        return bool(self._follower.is_calibrated)

    def calibrate(self) -> None:
        """Calibrate the follower."""
        self._follower.calibrate()

    def configure(self) -> None:
        """Configure the follower."""
        self._follower.configure()

    def get_observation(self) -> dict[str, Any]:
        """Return the observation of the follower."""
        with self._lock:
            return dict(self._follower.get_observation())

    # -- the arm ------------------------------------------------------------------------------

    def connect(self, calibrate: bool = True) -> None:
        """Connect, and hold the arm where it is."""
        self._follower.connect(calibrate)
        self.restart()
        self._ended.clear()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def restart(self) -> None:
        """Hold the arm where it is, also after a fault."""
        with self._lock:
            self.loop.restart()
            self._target = self._last = None

    def disconnect(self) -> None:
        """End the commands, and disconnect."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._follower.disconnect()

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        """Take the next target; return the action.

        Keys are `<motor>.pos`, in degrees; others, as of velocities, are not used. Joints that it
        lacks keep their last target.
        """
        given = {
            key.removesuffix(POSITION): value
            for key, value in action.items()
            if key.endswith(POSITION)
        }
        others = {name: value for name, value in given.items() if name not in self._joints}
        with self._lock:
            present = self.loop.follower.present
            if self._last is None and present is not None:
                self._last = present.q.copy()
            before = np.full(len(self._joints), math.nan) if self._last is None else self._last
            rows = zip(self._joints, before, strict=True)
            self._target = np.array([math.radians(given.get(k, math.degrees(q))) for k, q in rows])
            self._last = self._target.copy()
            if others:
                self._follower.send_action({f'{k}{POSITION}': v for k, v in others.items()})
        return dict(action)

    def cycle(self, t: float) -> rd.Command:
        """Read the drives, and send them a command, at a time [s]; return it."""
        with self._lock:
            q, qd = self._states()
            target, self._target = self._target, None
            was_damped = bool(self.loop.fault)
            command = self.loop.command(t, q, qd, target)
            rows = zip(self._joints, *command, strict=True)
            frames = {
                name: (kp, kd, math.degrees(q), math.degrees(qd), tau)
                for name, q, qd, kp, kd, tau in rows
            }
            try:
                self._bus._mit_control_batch(frames)
            except Exception as error:  # drivers differ in its type
                if not self.loop.fault:
                    LOG.exception('a command was not sent')
                    self.loop.fault = f'a command was not sent: {error!r}'
        if self.loop.fault and not was_damped:
            LOG.error('the arm is damped: %s', self.loop.fault)
        return command

    def _states(self) -> tuple[list[float], list[float]]:
        """Return positions and velocities (n,), rad and rad/s; NaN for what was not received."""
        try:
            states = self._bus.sync_read_all_states()
            rows = [states.get(name, {}) for name in self._joints]
            q, qd = (
                [math.radians(row.get(key, math.nan)) for row in rows]
                for key in ('position', 'velocity')
            )
        except Exception:  # the drives are damped, and the thread goes on
            if not self.loop.fault:
                LOG.exception('the states of the drives were not read')
            q, qd = ([math.nan] * len(self._joints) for _ in range(2))
        return q, qd

    def _run(self) -> None:
        due = time.monotonic()
        while not self._ended.is_set():
            self.cycle(time.monotonic())
            due = max(due + 1 / RATE, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))
