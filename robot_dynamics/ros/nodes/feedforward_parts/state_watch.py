# SPDX-License-Identifier: Apache-2.0
"""Detection of joint states that stop, or whose stamps stand still."""

from __future__ import annotations

import time

from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.joint_reading import JointReading


class StateWatch:
    """The last joint state, and the time since the one before it.

    Attributes:
        last: the last state; None before the first.
        answered: stamp of the state that was answered last, ns.
        silent: why no torque is computed at present, or ''.
    """

    def __init__(self) -> None:
        """Wait for the first state."""
        self.restart()

    def restart(self) -> None:
        """Drop what was received before."""
        self.last: JointReading | None = None
        self.answered, self.silent = -1, ''
        self._received = self._progressed = time.monotonic()  # s, of a state; of a new stamp

    @property
    def receives(self) -> bool:
        """Whether there is a state, and no silence since."""
        return self.last is not None and not self.silent

    def receive(self, state: JointReading) -> bool:
        """Return whether a state is to be answered: a stamp that stands still ends no silence."""
        self._received = time.monotonic()
        is_new = state.stamp != self.answered or state.stamp == 0
        if is_new:
            self._progressed = self._received
        return is_new or not self.silent

    def take(self, state: JointReading) -> bool:
        """Keep a state that is to be answered; return whether it ends a silence."""
        was_silent, self.silent, self.last = bool(self.silent), '', state
        return was_silent

    def begins_silence(self, now: float, timeout: float) -> bool:
        """Return whether a silence longer than a timeout [s] is detected now [s], and was not."""
        if self.silent or now - self._progressed < timeout:
            return False
        self.silent = 'no joint states'
        if now - self._received < timeout:
            stamp = 0 if self.last is None else self.last.stamp
            self.silent = f'the stamps of joint_states stand still at {stamp / SECOND:.3f} s'
        return True
