# SPDX-License-Identifier: Apache-2.0
"""The page: tabs of controls, load, layers, and the bars of the torques."""

from __future__ import annotations

import math
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import fields, replace
from html import escape
from typing import Any, Protocol

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.view.bars import bars_html, legend_html, tip_html
from robot_dynamics.view.drawing import LAYERS, Drawing
from robot_dynamics.view.scene import Scene, force_of_arrow
from robot_dynamics.view.session import Session
from robot_dynamics.view.state import DECIMALS, ViewError, ViewState
from robot_dynamics.view.viewed_motion import Fall

BRAND = (45, 105, 180)
FORCE_DECIMALS = 1  # of forces in the page, N
REPORTED = 20.0  # s that the message on a rejected value is shown at most
EDITING = 1.0  # s without another change in a browser, until a control is set by this program
LOADS = ('load', 'force_link', 'force')  # fields of the state that no motion of the page sets
ERROR = (
    'padding:6px 10px;margin:2px 8px 12px;font:12px system-ui,sans-serif;border-radius:4px;'
    'background:#fbe3e6;color:#a3122c;border:1px solid #e7a4ae'
)


def code(text: str) -> str:
    """Return a text as code in Markdown: in one line, and fenced by more backticks than it has."""
    fence = '`' * (1 + max(map(len, re.findall('`+', text)), default=0))
    return f'{fence} {" ".join(text.split())} {fence}'


class Controls(Protocol):
    """The first tab of a page, which moves the robot."""

    title: str

    def add(self, page: Page) -> None:
        """Add the controls to the present tab of a page."""

    def show(self, state: ViewState) -> None:
        """Follow a state that is shown."""

    def restore(self) -> None:
        """Let the next `show` set all controls, after a value was rejected."""


class Edit:
    """Changes of one control without a pause: 2 and then 25, as 25 is typed.

    If the last is rejected, what the ones before it have changed is undone.
    """

    def __init__(self) -> None:
        self._control: Any = None
        self._last = -math.inf  # s
        self._changed: dict[str, Any] = {}  # values before the edit, by field of the state

    def begin(self, control: Any, session: Session) -> None:
        """Begin a change of a control."""
        now = time.monotonic()
        if control is not self._control or now - self._last > EDITING:
            self._changed = {}
        self._control, self._last, self._before = control, now, session.state

    def note(self, session: Session) -> None:
        """Note what a change has changed; a motion that goes on sets the joints itself."""
        names = LOADS if session.motion is not None else [f.name for f in fields(ViewState)]
        for name in names:
            if (value := getattr(self._before, name)) is not getattr(session.state, name):
                self._changed.setdefault(name, value)

    def undo(self, session: Session) -> None:
        """Restore the values before the edit."""
        changed, self._changed = self._changed, {}
        if changed:
            session.update(lambda state: replace(state, **changed))


class Page:
    """The controls of one session in the page of a server.

    Attributes:
        gui: of the server.
        session: whose state the controls change.
        drawing: of the robot in the scene.
        is_behind: whether a control is not set yet, because a browser has just changed it.
    """

    def __init__(
        self, server: Any, session: Session, drawing: Drawing, controls: Controls
    ) -> None:
        """Build the page; `controls` are its first tab."""
        self.gui, self.session = server.gui, session
        self.drawing = drawing
        self._server, self._controls = server, controls
        self._set: dict[int, float] = {}  # by id of a control: when this program has set it
        self._edit = Edit()
        self._editing = threading.Lock()
        self._reported = math.inf  # s, when a value was rejected
        self.is_behind = False
        self.gui.configure_theme(
            control_width='large', show_logo=False, show_share_button=False, brand_color=BRAND
        )
        self._status = self.gui.add_html('')
        tabs = self.gui.add_tab_group()
        with tabs.add_tab(controls.title):
            controls.add(self)
        with tabs.add_tab('Load'):
            unload = self.gui.add_button('No load', hint='no payload, no force', color='gray')
            unload.on_click(self.on(lambda _: self.session.update(ViewState.without_load)))
            self._add_payload()
            self._add_gravity()
            self._add_force()
        with tabs.add_tab('Show'):
            self._add_layers()
        self.gui.main_panel.dock_right()
        self.gui.main_panel.set_width(330)
        panel = self.gui.add_panel()
        with panel.add_tab('Joint torques'):
            self.gui.add_html(legend_html())
            self._bars = self.gui.add_html('')
            self._tip = self.gui.add_html('')
        panel.dock_left()
        panel.set_width(290)  # expanded; in the sheet of a small page, a section that is folded

    def show(self, state: ViewState, scene: Scene) -> None:
        """Show a state in all browsers."""
        self.is_behind = False
        with self._server.atomic():
            self.drawing.draw(state, scene)
            self._bars.content = bars_html(scene.bars, isinstance(self.session.motion, Fall))
            self._tip.content = tip_html(state.tip, scene.tip)
            self._controls.show(state)
            self._show_load(state)

    def show_layers(self, *layers: str) -> None:
        """Show layers that are hidden at first."""
        for layer in layers:
            self._layers[layer].value = True
            self.drawing.show(layer, True)
        self.session.touch()

    def put(
        self, control: Any, value: Any, low: float | None = None, high: float | None = None
    ) -> None:
        """Show a value in a control, unless a browser has just changed it.

        What is typed is sent digit by digit: 5 and then 5.4. The control follows later then.

        Args:
            control: of the page.
            value: to be shown.
            low: lower end of a slider; while the value is beyond the ends it extends the slider.
            high: upper end.
        """
        changed = control.update_timestamp
        is_of_browser = changed != self._set.get(id(control), changed)
        if is_of_browser and 0 <= time.time() - changed < EDITING:
            self.is_behind |= control.value != value
            return
        if low is not None and high is not None:
            value = rounded(value)
            control.min, control.max = min(rounded(low), value), max(rounded(high), value)
        control.value = value
        self._set[id(control)] = control.update_timestamp

    def report(self, message: str) -> None:
        """Show an error in the page and on the standard error; an empty one clears the page."""
        alert = (
            f'<div role="alert" data-error style="{ERROR}">{escape(message)}</div>'
            if message
            else ''
        )
        self._status.content = alert
        self._reported = math.inf
        if message:
            print(f'robot-dynamics: {" ".join(message.split())}', file=sys.stderr, flush=True)

    def on(self, change: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return a callback of a control: errors are reported, and the controls restored."""

        def callback(event: Any) -> None:
            if event.client_id is None:
                return  # set by this program
            # Digits that are typed fast arrive in several threads.
            with self._editing:
                self._edit.begin(event.target, self.session)
                try:
                    change(event.target)
                    self._edit.note(self.session)
                    self.report('')
                except RobotDynamicsError as error:
                    self._edit.undo(self.session)
                    self.report(str(error))
                    self._reported = time.monotonic()
                    self._controls.restore()
                    self.session.touch()

        return callback

    def end_report(self) -> None:
        """Clear the message on a rejected value after `REPORTED`."""
        with self._editing:
            if time.monotonic() - self._reported > REPORTED:
                self.report('')

    # -- load --------------------------------------------------------------------------------

    def _add_payload(self) -> None:
        state, gui = self.session.state, self.gui
        mass, distance = state.payload_range
        with gui.add_folder('Payload'):
            links = state.model.moving_links
            self._payload_link = gui.add_dropdown('link', links, initial_value=state.load.link)
            self._mass = gui.add_slider(
                'mass [kg]', min=0.0, max=mass, step=0.001, initial_value=0.0
            )
            self._com = [
                gui.add_slider(
                    f'{axis} [m]',
                    min=-distance,
                    max=distance,
                    step=0.001,
                    initial_value=0.0,
                    hint='centre of mass in the frame of the link',
                )
                for axis in 'xyz'
            ]
        for control in (self._payload_link, self._mass, *self._com):
            control.on_update(self.on(lambda _: self._set_payload()))

    def _set_payload(self) -> None:
        com = [slider.value for slider in self._com]
        self.session.update(
            lambda state: state.with_payload(self._payload_link.value, self._mass.value, com)
        )

    def _add_gravity(self) -> None:
        with self.gui.add_folder('Gravity'):
            self._gravity = self.gui.add_vector3(
                'g [m/s²]', self.session.state.load.gravity, step=0.01
            )
        self._gravity.on_update(
            self.on(
                lambda field: self.session.update(lambda state: state.with_gravity(field.value))
            )
        )

    def _add_force(self) -> None:
        state, gui = self.session.state, self.gui
        with gui.add_folder('External force'):
            links = state.model.moving_links
            self._force_link = gui.add_dropdown('link', links, initial_value=state.force_link)
            self._force = gui.add_vector3(
                'F [N]',
                (0.0, 0.0, 0.0),
                step=10.0**-FORCE_DECIMALS,
                hint='on the robot, in the axes of the base',
            )
            handle = gui.add_checkbox('drag in the scene', False)
        for control in (self._force_link, self._force):
            control.on_update(self.on(lambda _: self._set_force()))
        handle.on_update(self.on(lambda box: self.drawing.show_force_handle(bool(box.value))))
        self.drawing.on_force_drag(self._drag_force)

    def _set_force(self) -> None:
        link, force = self._force_link.value, self._force.value
        self.session.update(lambda state: state.with_force(link, force))

    def _drag_force(self, end: Any) -> None:
        """Set the force whose arrow ends at the handle, to the decimals that the page shows."""
        try:
            state, scene = self.session.scene()
            arrow = force_of_arrow(scene.force[0], end, state, self.session.sizes)
            force = arrow.round(FORCE_DECIMALS).tolist()
            self.session.update(lambda state: state.with_force(state.force_link, force))
        except (RobotDynamicsError, ValueError) as error:  # the message may hold no position
            self.report(str(error))

    def _show_load(self, state: ViewState) -> None:
        self.put(self._payload_link, state.load.link)
        mass, distance = state.payload_range
        self.put(self._mass, state.load.mass, 0.0, mass)
        for slider, x in zip(self._com, state.load.com, strict=True):
            self.put(slider, x, -distance, distance)
        self.put(self._gravity, state.load.gravity)
        self.put(self._force_link, state.force_link)
        self.put(self._force, tuple(rounded(x) for x in state.force))

    # -- layers ------------------------------------------------------------------------------

    def _add_layers(self) -> None:
        self._layers = {}
        for layer, visible in LAYERS.items():
            box = self._layers[layer] = self.gui.add_checkbox(layer, visible)
            box.on_update(self.on(self._layer_change(layer)))
        state = self.session.state
        tip = self.gui.add_dropdown('tip', state.model.moving_links, initial_value=state.tip)
        tip.on_update(
            self.on(lambda menu: self.session.update(lambda state: state.with_tip(menu.value)))
        )

    def _layer_change(self, layer: str) -> Callable[[Any], None]:
        def change(box: Any) -> None:
            self.drawing.show(layer, bool(box.value))
            self.session.touch()

        return change


def chosen(menu: Any) -> str:
    """Return the value of a menu. Raises ViewError unless the menu offers it."""
    if menu.value not in menu.options:
        raise ViewError(f'{menu.label} is {menu.value!r}; expected {", ".join(menu.options)}')
    return str(menu.value)


def rounded(x: float) -> float:
    """Return a number as the page shows it."""
    return round(float(x), DECIMALS)
