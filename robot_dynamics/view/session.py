# SPDX-License-Identifier: Apache-2.0
"""The one state that all browsers share, and the motion that changes it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.view.scene import Proportions, Scene, scene_of
from robot_dynamics.view.state import Load, ViewError, ViewState
from robot_dynamics.view.viewed_motion import ViewedMotion


class Session:
    """The shared state; callbacks of several browsers may change it at the same time.

    Attributes:
        state: the present one; replaced as a whole.
        motion: that changes it, None if it is at rest.
    """

    def __init__(self, arm: Dynamics, state: ViewState) -> None:
        """Begin with a state of a robot; `arm` carries no payload."""
        self._unloaded = arm
        self._load: Load | None = None
        self._loaded = arm
        self._lock = threading.RLock()
        self._changed = threading.Event()
        self.state = state
        self.motion: ViewedMotion | None = None
        self.sizes = Proportions.of(self.arm, state.q)
        self._changed.set()

    @property
    def arm(self) -> Dynamics:
        """The dynamics under the load of the present state."""
        with self._lock:
            if self.state.load != self._load:
                self._loaded = self.state.load.carried(self._unloaded)
                self._load = self.state.load
            return self._loaded

    def update(self, change: Callable[[ViewState], ViewState]) -> None:
        """Replace the state by a change of it. Errors of the change leave the state as it was."""
        with self._lock:
            self.state = change(self.state)
        self._changed.set()

    def touch(self) -> None:
        """Show the state again, or let a motion continue that was paused."""
        self._changed.set()

    def start(self, motion: ViewedMotion | None) -> None:
        """Begin another motion, or end the present one."""
        with self._lock:
            self.motion = motion
        self._changed.set()

    def wait(self, seconds: float) -> bool:
        """Wait for a change, at most for some seconds; return whether there is something new."""
        changed = self._changed.wait(seconds)
        self._changed.clear()
        return changed

    def advance(self, seconds: float) -> None:
        """Continue the motion. One that raises an error has ended, unless it rejects a value."""
        with self._lock:
            if self.motion is None:
                return
            before = self.state
            try:
                self.state = self.motion.advance(self.arm, before, seconds)
            except ViewError:
                raise
            except Exception:
                self.motion = None
                raise
            if self.state is not before:
                self._changed.set()

    def scene(self) -> tuple[ViewState, Scene]:
        """Return the present state and what is drawn for it."""
        with self._lock:
            state, arm = self.state, self.arm
        return state, scene_of(arm, state, self.sizes)
