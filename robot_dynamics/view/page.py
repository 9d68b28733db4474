"""Controls of the page: sliders, load, layers, and the bars of the torques."""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from typing import Any

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.spatial import Array
from robot_dynamics.view.bars import bars_html
from robot_dynamics.view.drawing import LAYERS, Drawing
from robot_dynamics.view.motion import Fall
from robot_dynamics.view.scene import Scene
from robot_dynamics.view.session import Session
from robot_dynamics.view.state import MOTIONS, ViewState, moving_links, ranges

FOLLOWING = 6  # frames between updates of the sliders during a motion
STEPS = 500  # of a slider
MASS = 10.0  # kg, range of the slider
PLACE = 0.3  # of the reach, range of the payload's position
BRAND = (45, 105, 180)
OK = 'padding:2px 10px;font:12px system-ui,sans-serif;opacity:.8'
ERROR = (
    'padding:6px 10px;margin:2px 8px;font:12px system-ui,sans-serif;border-radius:4px;'
    'background:#fbe3e6;color:#a3122c;border:1px solid #e7a4ae'
)


class Page:
    """The controls of one session in the page of a server."""

    def __init__(self, server: Any, session: Session, drawing: Drawing) -> None:
        self._server, self._session, self._drawing = server, session, drawing
        self._gui = server.gui
        self._frames = 0
        self._sliders: dict[str, list[Any]] = {}
        self._gui.configure_theme(
            control_width='large', show_logo=False, show_share_button=False, brand_color=BRAND
        )
        self._status = self._gui.add_html('')
        self._note('')
        tabs = self._gui.add_tab_group()
        with tabs.add_tab('Joints'):
            self._add_motion_buttons()
            self._add_posture()
            for quantity in MOTIONS:
                self._add_joint_sliders(quantity)
        with tabs.add_tab('Load'):
            self._add_load()
        with tabs.add_tab('Show'):
            self._add_layers()
        self._gui.main_panel.dock_right()
        panel = self._gui.add_panel()
        with panel.add_tab('Joint torques'):
            self._bars = self._gui.add_html('')
        panel.dock_left()
        panel.set_width(330)

    def show(self, state: ViewState, scene: Scene) -> None:
        """Show a state in all browsers."""
        self._frames += 1
        with self._server.atomic():
            self._drawing.draw(state, scene)
            self._bars.content = bars_html(scene.bars)
            if self._session.motion is None or self._frames % FOLLOWING == 0:
                self._show_values(state)

    def report(self, message: str) -> None:
        """Show an error in the page and on the standard error."""
        self._status.content = f'<div role="alert" style="{ERROR}">{escape(message)}</div>'
        print(f'robot-dynamics: {" ".join(message.split())}', file=sys.stderr, flush=True)

    def show_layers(self, *layers: str) -> None:
        """Show layers that are hidden at first."""
        for layer in layers:
            self._layers[layer].value = True
            self._drawing.show(layer, True)
        self._update(lambda state: state)

    # -- callbacks -----------------------------------------------------------------------------

    def _on(self, change: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return a callback of a control: errors are reported, and the control is restored."""

        def callback(event: Any) -> None:
            if event.client_id is None:
                return  # set by this program
            try:
                change(event.target)
                self._note('')
            except RobotDynamicsError as error:
                self.report(str(error))
                self._show_values(self._session.state)

        return callback

    def _update(self, change: Callable[[ViewState], ViewState]) -> None:
        self._session.update(change)

    def _note(self, text: str) -> None:
        self._status.content = f'<div style="{OK}">{escape(text)}</div>' if text else ''

    # -- joints --------------------------------------------------------------------------------

    def _add_motion_buttons(self) -> None:
        fall = self._gui.add_button('Let it fall', hint='motors off, friction on')
        stop = self._gui.add_button('Stop', hint='hold the present posture', color='gray')
        fall.on_click(self._on(lambda _: self._session.start(Fall())))
        stop.on_click(self._on(lambda _: self._stop()))

    def _stop(self) -> None:
        self._session.start(None)
        self._update(lambda state: state.at_rest())

    def _add_posture(self) -> None:
        self._posture = self._gui.add_text('posture', '', hint='positions of all joints')
        button = self._gui.add_button('Set posture', color='gray')
        button.on_click(
            self._on(lambda _: self._move(lambda state: state.with_posture(self._posture.value)))
        )

    def _move(self, change: Callable[[ViewState], ViewState]) -> None:
        """Set joints by hand, which ends a motion."""
        self._session.update(change)
        self._session.start(None)

    def _add_joint_sliders(self, quantity: str) -> None:
        state = self._session.state
        model = state.model
        low, high = ranges(model)[quantity]
        suffix = {'position': '', 'velocity': '/s', 'acceleration': '/s²'}[quantity]
        sliders = self._sliders[quantity] = []
        title = {'position': 'Positions', 'velocity': 'Velocities'}.get(quantity, 'Accelerations')
        with self._gui.add_folder(title, expand_by_default=quantity == 'position'):
            for j, name in enumerate(model.joint_names):
                unit = f'{"rad" if model.angular[j] else "m"}{suffix}'
                slider = self._gui.add_slider(
                    name,
                    min=_rounded(low[j]),
                    max=_rounded(high[j]),
                    step=(_rounded(high[j]) - _rounded(low[j])) / STEPS,
                    initial_value=_within(_values(state)[quantity][j], low[j], high[j]),
                    hint=f'{quantity} of {name}, {unit}',
                )
                slider.on_update(self._on(self._joint_change(quantity, j)))
                sliders.append(slider)

    def _joint_change(self, quantity: str, joint: int) -> Callable[[Any], None]:
        return lambda slider: self._move(
            lambda state: state.with_joint(quantity, joint, slider.value)
        )

    # -- load ----------------------------------------------------------------------------------

    def _add_load(self) -> None:
        state, gui = self._session.state, self._gui
        links = moving_links(state.model)
        place = PLACE * self._session.sizes.reach
        with gui.add_folder('Payload'):
            self._payload_link = gui.add_dropdown(
                'link', links, initial_value=state.load.link, hint='that carries the payload'
            )
            self._mass = gui.add_slider(
                'mass [kg]', min=0.0, max=MASS, step=0.01, initial_value=0.0
            )
            self._com = [
                gui.add_slider(
                    f'{axis} [m]',
                    min=-_rounded(place),
                    max=_rounded(place),
                    step=0.001,
                    initial_value=0.0,
                    hint='centre of mass in the frame of the link',
                )
                for axis in 'xyz'
            ]
        for control in (self._payload_link, self._mass, *self._com):
            control.on_update(self._on(lambda _: self._set_payload()))
        with gui.add_folder('Gravity'):
            self._gravity = gui.add_vector3('g [m/s²]', state.load.gravity, step=0.01)
        self._gravity.on_update(
            self._on(lambda field: self._update(lambda state: state.with_gravity(field.value)))
        )
        with gui.add_folder('External force'):
            self._force_link = gui.add_dropdown('link', links, initial_value=state.force_link)
            self._force = gui.add_vector3(
                'F [N]', (0.0, 0.0, 0.0), step=0.1, hint='on the robot, in the axes of the base'
            )
        for control in (self._force_link, self._force):
            control.on_update(self._on(lambda _: self._set_force()))

    def _set_payload(self) -> None:
        com = [slider.value for slider in self._com]
        self._update(
            lambda state: state.with_payload(self._payload_link.value, self._mass.value, com)
        )

    def _set_force(self) -> None:
        self._update(lambda state: state.with_force(self._force_link.value, self._force.value))

    # -- layers --------------------------------------------------------------------------------

    def _add_layers(self) -> None:
        self._layers = {}
        for layer, visible in LAYERS.items():
            box = self._layers[layer] = self._gui.add_checkbox(layer, visible)
            box.on_update(self._on(self._layer_change(layer)))
        links = moving_links(self._session.state.model)
        tip = self._gui.add_dropdown('tip', links, initial_value=self._session.state.tip)
        tip.on_update(
            self._on(lambda menu: self._update(lambda state: state.with_tip(menu.value)))
        )

    def _layer_change(self, layer: str) -> Callable[[Any], None]:
        def change(box: Any) -> None:
            self._drawing.show(layer, bool(box.value))
            self._update(lambda state: state)

        return change

    # -- values --------------------------------------------------------------------------------

    def _show_values(self, state: ViewState) -> None:
        """Set the controls to a state; those that agree are left alone."""
        for quantity, sliders in self._sliders.items():
            low, high = ranges(state.model)[quantity]
            for j, slider in enumerate(sliders):
                slider.value = _within(_values(state)[quantity][j], low[j], high[j])
        self._posture.value = ' '.join(f'{x:.4g}' for x in state.q)
        self._payload_link.value = state.load.link
        self._mass.value = min(state.load.mass, MASS)
        self._gravity.value = state.load.gravity
        self._force_link.value = state.force_link
        self._force.value = tuple(round(float(x), 2) for x in state.force)


def _values(state: ViewState) -> dict[str, Array]:
    return dict(zip(MOTIONS, (state.q, state.qd, state.qdd), strict=True))


def _rounded(x: float) -> float:
    return round(float(x), 4)


def _within(x: float, low: float, high: float) -> float:
    return min(max(_rounded(x), _rounded(low)), _rounded(high))
