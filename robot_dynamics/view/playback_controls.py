# SPDX-License-Identifier: Apache-2.0
"""Controls of a recording: play and pause, time, speed, and the torques over time."""

from __future__ import annotations

from typing import Any

from robot_dynamics.view.page import Page, chosen, code
from robot_dynamics.view.state import ViewState
from robot_dynamics.view.torque_plot import TorquePlot
from robot_dynamics.view.viewed_motion import Playback

SPEEDS = {'1/10': 0.1, '1/4': 0.25, '1/2': 0.5, '1': 1.0, '2': 2.0, '4': 4.0}
FOLLOWING = 3  # frames between updates of the time slider and the plot


class PlaybackControls:
    """Play and pause, a slider of the time, and the speed."""

    title = 'Recording'

    def __init__(self, playback: Playback, name: str) -> None:
        """Control a playback of the recording `name`."""
        self._playback, self._name = playback, name
        self._frames = 0

    def add(self, page: Page) -> None:
        """Add the controls to the present tab of a page."""
        gui, playback = page.gui, self._playback
        self._page, self._session = page, page.session
        self._button = gui.add_button('Play')
        self._time = gui.add_slider(
            'time [s]', min=0.0, max=playback.duration, step=0.01, initial_value=0.0
        )
        self._plot = TorquePlot(page, playback)
        speed = gui.add_dropdown('speed', list(SPEEDS), initial_value='1')
        gui.add_markdown(code(self._name))
        self._button.on_click(page.on(lambda _: self._toggle()))
        self._time.on_update(page.on(self._seek))
        speed.on_update(page.on(self._set_speed))

    def show(self, state: ViewState) -> None:
        """Show the time a few times per second."""
        self._frames += 1
        if not self._playback.playing or self._frames % FOLLOWING == 0:
            time = min(round(self._playback.time, 2), self._playback.duration)
            self._page.put(self._time, time)
            self._button.label = 'Pause' if self._playback.playing else 'Play'
            self._plot.show(state)

    def restore(self) -> None:
        """Restore nothing: `show` sets all controls."""

    def _toggle(self) -> None:
        self._playback.toggle()
        self._session.touch()

    def _seek(self, slider: Any) -> None:
        self._playback.seek(slider.value)
        self._session.touch()

    def _set_speed(self, menu: Any) -> None:
        self._playback.speed = SPEEDS[chosen(menu)]
