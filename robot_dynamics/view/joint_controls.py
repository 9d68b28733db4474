# SPDX-License-Identifier: Apache-2.0
"""Controls of a robot that is posed by hand: sliders of its joints, and free fall."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robot_dynamics.model.joint_values import units_of
from robot_dynamics.view.page import Page, put, rounded
from robot_dynamics.view.state import MOTIONS, ViewState, ranges
from robot_dynamics.view.viewed_motion import Fall

FOLLOWING = 6  # frames between updates of the sliders during a motion
STEPS = 500  # of a slider
TITLES = {'position': 'Positions', 'velocity': 'Velocities', 'acceleration': 'Accelerations'}
RATES = {'position': '', 'velocity': '/s', 'acceleration': '/s²'}


class JointControls:
    """Sliders of positions, velocities and accelerations, a posture as text, and free fall."""

    title = 'Joints'

    def __init__(self) -> None:
        self._sliders: dict[str, list[Any]] = {}
        self._frames = 0

    def add(self, page: Page) -> None:
        """Add the controls to the present tab of a page."""
        self._page, self._session, self._gui = page, page.session, page.gui
        fall = self._gui.add_button('Let it fall', hint='motors off, friction on')
        stop = self._gui.add_button('Stop', hint='hold the present posture', color='gray')
        fall.on_click(page.on(lambda _: self._session.start(Fall())))
        stop.on_click(page.on(lambda _: self._move(ViewState.at_rest)))
        self._posture = self._gui.add_text('posture', '', hint='positions of all joints')
        button = self._gui.add_button('Set posture', color='gray')
        button.on_click(
            page.on(lambda _: self._move(lambda state: state.with_posture(self._posture.value)))
        )
        for quantity in MOTIONS:
            self._add_sliders(quantity)

    def show(self, state: ViewState) -> None:
        """Set the controls to a state; during a motion a few times per second."""
        self._frames += 1
        if self._session.motion is None or self._frames % FOLLOWING == 0:
            self.restore(state)
            self._posture.value = ' '.join(f'{rounded(x):g}' for x in state.q)

    def restore(self, state: ViewState) -> None:
        """Set the sliders to a state."""
        for quantity, sliders in self._sliders.items():
            low, high = ranges(state.model)[quantity]
            for j, slider in enumerate(sliders):
                put(slider, state.motion(quantity)[j], low[j], high[j])

    def _move(self, change: Callable[[ViewState], ViewState]) -> None:
        """Set joints by hand, which ends a motion."""
        self._session.update(change)
        self._session.start(None)

    def _add_sliders(self, quantity: str) -> None:
        state = self._session.state
        model = state.model
        low, high = ranges(model)[quantity]
        sliders = self._sliders[quantity] = []
        units = [f'{unit}{RATES[quantity]}' for unit in units_of(model.angular, 'rad')]
        title = f'{TITLES[quantity]} [{", ".join(dict.fromkeys(units))}]'
        with self._gui.add_folder(title, expand_by_default=quantity == 'position'):
            for j, (name, unit) in enumerate(zip(model.joint_names, units, strict=True)):
                slider = self._gui.add_slider(
                    name,
                    min=rounded(low[j]),
                    max=rounded(high[j]),
                    step=(rounded(high[j]) - rounded(low[j])) / STEPS,
                    initial_value=rounded(state.motion(quantity)[j]),
                    hint=f'{quantity} of {name}, {unit}',
                )
                slider.on_update(self._page.on(self._change(quantity, j)))
                sliders.append(slider)

    def _change(self, quantity: str, joint: int) -> Callable[[Any], None]:
        return lambda slider: self._move(
            lambda state: state.with_joint(quantity, joint, slider.value)
        )
