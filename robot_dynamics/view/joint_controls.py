# SPDX-License-Identifier: Apache-2.0
"""Controls of a robot that is posed by hand: its joints, its tip, and free fall."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from robot_dynamics.common.spatial import Array, pose
from robot_dynamics.core.model.joint_values import units_of, words_of
from robot_dynamics.view.bars import short_names
from robot_dynamics.view.drawing import rotation
from robot_dynamics.view.page import Page, chosen, rounded
from robot_dynamics.view.state import MOTIONS, ViewState, number, ranges
from robot_dynamics.view.viewed_motion import Fall, Reach

FOLLOWING = 6  # frames between updates of the sliders during a motion
STEPS = 500  # of a slider
DEGREES = 2  # decimals of angles in degrees
ANGLE = {False: 'rad', True: '°'}
HOME, REST, SET = 'home', 'at rest', 'Set posture'
TITLES = {'position': 'Positions', 'velocity': 'Velocities', 'acceleration': 'Accelerations'}
RATES = {'position': '', 'velocity': '/s', 'acceleration': '/s²'}


class JointControls:
    """Sliders of positions, velocities and accelerations, a posture as text, and free fall.

    Angles are shown in rad, or by choice in degrees; the state is in rad.
    """

    title = 'Joints'

    def __init__(self) -> None:
        self._sliders: dict[str, list[Any]] = {}
        self._folders: dict[str, Any] = {}
        self._degrees = False
        self._frames = 0
        self._shown = ''  # posture

    def add(self, page: Page) -> None:
        """Add the controls to the present tab of a page."""
        self._page, self._session, self._gui = page, page.session, page.gui
        self._home = page.session.state.q
        self._fall = self._gui.add_button('Let it fall', hint='motors off, friction on')
        self._fall.on_click(page.on(lambda _: self._fall_or_stop()))
        self._add_sliders('position')
        with self._gui.add_folder('Posture'):
            self._add_posture()
        for quantity in MOTIONS[1:]:
            self._add_sliders(quantity)

    def _add_posture(self) -> None:
        page, gui = self._page, self._gui
        self._posture = gui.add_text('posture', '', hint='positions of all joints')
        # One button in a group is outlined: less than the button above.
        button = gui.add_button_group('', (SET,))
        button.on_click(page.on(lambda _: self._move(self._with_posture)))
        reset = gui.add_button_group('reset', (HOME, REST), hint='posture, velocities')
        reset.on_click(page.on(self._reset))
        drag = gui.add_checkbox('drag the tip', False, hint='by inverse kinematics')
        drag.on_update(page.on(lambda box: page.drawing.show_tip_handle(bool(box.value))))
        page.drawing.on_tip_drag(self._drag_tip)
        degrees = gui.add_checkbox('degrees', False)
        degrees.on_update(page.on(lambda box: self._show_degrees(bool(box.value))))

    def show(self, state: ViewState) -> None:
        """Set the controls to a state; during a fall a few times per second."""
        self._frames += 1
        falling = isinstance(self._session.motion, Fall)
        self._fall.label = 'Stop' if falling else 'Let it fall'
        if not falling or self._frames % FOLLOWING == 0:
            self._set(state)

    def restore(self) -> None:
        """Let the next `show` set all controls, also a posture that was typed."""
        self._shown = ''

    def _set(self, state: ViewState) -> None:
        """Set the sliders to a state, and the posture unless it is the one shown before."""
        units = self._units(state)
        posture = ' '.join(f'{rounded(x) + 0.0:g}' for x in self._rounded(units * state.q))
        if posture != self._shown:
            self._page.put(self._posture, posture)
            self._shown = self._posture.value
        for quantity, sliders in self._sliders.items():
            low, high = (self._rounded(units * end) for end in ranges(state.model)[quantity])
            values = self._rounded(units * state.motion(quantity))
            for slider, x, lowest, highest in zip(sliders, values, low, high, strict=True):
                self._page.put(slider, x, lowest, highest)

    def _fall_or_stop(self) -> None:
        if isinstance(self._session.motion, Fall):
            self._move(ViewState.at_rest)
        else:
            self._session.start(Fall())

    def _reset(self, group: Any) -> None:
        home = chosen(group) == HOME
        self._move(lambda state: replace(state.at_rest(), q=self._home if home else state.q))

    def _drag_tip(self, position: Any, wxyz: Any) -> None:
        try:
            target = pose(rotation(wxyz), np.asarray(position, dtype=float))
        except (TypeError, ValueError) as error:  # the message may hold no pose
            self._page.report(f'the handle of the tip has no pose: {error}')
        else:
            self._session.start(Reach(target))

    # -- units -----------------------------------------------------------------------------------

    def _units(self, state: ViewState) -> Array:
        """Return what the page shows for 1 rad or 1 m of each joint, (n,)."""
        return np.where(state.model.angular & self._degrees, np.degrees(1.0), 1.0)

    def _rounded(self, x: Any) -> Any:
        return np.round(x, DEGREES) if self._degrees else x

    def _show_degrees(self, degrees: bool) -> None:
        self._degrees = degrees
        for quantity, folder in self._folders.items():
            folder.label = self._title(quantity)
        self._set(self._session.state)
        for sliders in self._sliders.values():
            for slider in sliders:
                slider.step = (slider.max - slider.min) / STEPS
        self._session.touch()

    def _title(self, quantity: str) -> str:
        angular = self._session.state.model.angular
        units = [f'{unit}{RATES[quantity]}' for unit in dict.fromkeys(units_of(angular, 'rad'))]
        shown = ', '.join(units).replace('rad', ANGLE[self._degrees])
        return f'{TITLES[quantity]} [{shown}]'

    def _read(self, state: ViewState, quantity: str, joint: int, value: object) -> object:
        """Return a value of the page in rad or m. Raises ViewError unless it is in its range."""
        unit = self._units(state)[joint]
        if unit == 1.0:
            return value  # `with_joint` checks it
        ends = [float(end[joint]) for end in ranges(state.model)[quantity]]
        name = f'joint {state.model.joint_names[joint]!r}: {quantity} [°{RATES[quantity]}]'
        low, high = (float(self._rounded(unit * end)) for end in ends)
        shown = number(name, value, low, high)
        # The ends of a slider are those of the range, whatever they are rounded to.
        return {low: ends[0], high: ends[1]}.get(
            shown, min(max(shown / float(unit), ends[0]), ends[1])
        )

    def _with_posture(self, state: ViewState) -> ViewState:
        words = words_of(self._posture.value)
        if len(words) == state.model.n:
            words = [str(self._read(state, 'position', j, x)) for j, x in enumerate(words)]
        return state.with_posture(' '.join(words))

    def _move(self, change: Callable[[ViewState], ViewState]) -> None:
        """Set joints by hand, which ends a motion."""
        self._session.update(change)
        self._session.start(None)

    def _add_sliders(self, quantity: str) -> None:
        state = self._session.state
        model = state.model
        low, high = ranges(model)[quantity]
        sliders = self._sliders[quantity] = []
        folder = self._gui.add_folder(
            self._title(quantity), expand_by_default=quantity == 'position'
        )
        self._folders[quantity] = folder
        with folder:
            names = short_names(model.joint_names)
            for j, (name, short) in enumerate(zip(model.joint_names, names, strict=True)):
                slider = self._gui.add_slider(
                    short,
                    min=rounded(low[j]),
                    max=rounded(high[j]),
                    step=(rounded(high[j]) - rounded(low[j])) / STEPS,
                    initial_value=rounded(state.motion(quantity)[j]),
                    hint=f'{quantity} of {name}',
                )
                slider.on_update(self._page.on(self._change(quantity, j)))
                sliders.append(slider)

    def _change(self, quantity: str, joint: int) -> Callable[[Any], None]:
        return lambda slider: self._move(
            lambda state: state.with_joint(
                quantity, joint, self._read(state, quantity, joint, slider.value)
            )
        )
