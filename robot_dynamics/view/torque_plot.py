# SPDX-License-Identifier: Apache-2.0
"""Torques of one joint over the time of a recording."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.view.bars import MEASURED, MOTOR, plot_legend_html
from robot_dynamics.view.page import Page, chosen
from robot_dynamics.view.scene import torques
from robot_dynamics.view.state import ViewState
from robot_dynamics.view.viewed_motion import Playback

POINTS = 400  # of a curve
HEIGHT = 230  # pixels
MARK = '#d0405c'
MARKED = 'mark'  # scale of the line, which is independent of the torques
AXES = ({'label': 'time [s]', 'labelSize': 18, 'size': 34}, {'size': 44})
ZOOMS = {'whole recording': math.inf, '10 s': 10.0, '3 s': 3.0, '1 s': 1.0}
LONG = 30.0  # s: a longer recording is zoomed to 10 s at first


class TorquePlot:
    """Curves of the measured and the model torque of one joint; a line marks the present time.

    The plot shows the whole recording, or by choice a part of it around the present time.
    """

    def __init__(self, page: Page, playback: Playback) -> None:
        """Add the plot, and menus of its joint and its part, to the present tab of a page."""
        self._session, self._playback = page.session, playback
        self._zoom = '10 s' if playback.duration > LONG else next(iter(ZOOMS))
        model = page.session.state.model
        curves = self._compute(page.session.state, self._part(math.inf))
        # At first the joint whose torques are the largest
        self._joint = model.joint_names[int(np.abs(curves).max(axis=(0, 1)).argmax())]
        self._legend = page.gui.add_html('')
        self._shown: object = None
        self._plot = page.gui.add_uplot(
            (np.zeros(2),) * 4,
            self._series(page.session.state),
            scales={'x': {'time': False}, MARKED: {'range': (0.0, 1.0)}},
            axes=AXES,
            # That of uPlot shows '--' while the pointer is elsewhere.
            legend={'show': False},
            height=HEIGHT,
            padding=(10, 16, 0, 0),
        )
        joint = page.gui.add_dropdown('joint', model.joint_names, initial_value=self._joint)
        joint.on_update(page.on(self._choose))
        zoom = page.gui.add_dropdown(
            'zoom', list(ZOOMS), initial_value=self._zoom, hint='time around the present one'
        )
        zoom.on_update(page.on(self._set_zoom))

    def show(self, state: ViewState) -> None:
        """Mark the present time; compute the curves again for other times, loads or forces."""
        rows, j = self._part(ZOOMS[self._zoom]), self._index(state)
        part = (int(rows[0]), int(rows[-1]))
        shown = (part, self._joint, state.load, state.force_link, state.force.tobytes())
        if shown != self._shown:
            self._shown = shown
            self._rows, self._curves = rows, self._compute(state, rows)[..., j]
            if (series := self._series(state)) != self._plot.series:
                self._plot.series = series
        time = self._playback.time
        self._plot.data = marked(self._playback.times[self._rows], self._curves, time)
        model = float(torques(self._session.arm, state).motor[j])
        values = {'━ τ model': (MOTOR, model)}
        if state.measured is not None:
            effort = float(state.measured[j])
            difference = {'meas. − model': ('inherit', effort - model)}
            values = {'━ τ meas.': (MEASURED, effort), **values, **difference}
        self._legend.content = plot_legend_html(time, MARK, values, state.model.effort_units[j])

    def _part(self, window: float) -> Array:
        """Return the samples (k,) of a window [s] around the present time."""
        times, half = self._playback.times, window / 2
        latest = max(times[-1] - window, 0.0)
        start = min(max(self._playback.time - half, 0.0), latest)
        first, last = np.searchsorted(times, [start, start + window], 'right') - 1
        return np.unique(np.linspace(first, last, POINTS).round().astype(int))

    def _set_zoom(self, menu: Any) -> None:
        self._zoom = chosen(menu)
        self._session.touch()

    def _choose(self, menu: Any) -> None:
        self._joint = chosen(menu)
        self._session.touch()

    def _compute(self, state: ViewState, rows: Array) -> Array:
        """Return the measured and the model torques (2, k, n) of samples (k,)."""
        arm, playback = self._session.arm, self._playback
        q, qd, qdd = playback.motion(rows)
        wrench = np.concatenate([np.zeros(3), state.force])
        external = arm.wrench_torque(q, wrench, state.force_link)
        model = arm.motor_torque(q, qd, qdd) - external
        return np.stack([playback.efforts(arm, rows), model])

    def _index(self, state: ViewState) -> int:
        return state.model.joint_names.index(self._joint)

    def _series(self, state: ViewState) -> tuple[Any, ...]:
        unit = state.model.effort_units[self._index(state)]
        return (
            {'label': 't [s]'},
            {'label': f'τ meas. [{unit}]', 'stroke': MEASURED, 'width': 2},
            {'label': f'τ model [{unit}]', 'stroke': MOTOR, 'width': 1},
            {'label': 'present time', 'stroke': MARK, 'width': 1, 'scale': MARKED},
        )


def marked(t: Array, curves: Array, time: float) -> tuple[Array, ...]:
    """Return the data of a plot: times, two curves, and a third with a peak at one time.

    The third is the vertical line: all curves of a plot share their times, and a gap (NaN) in one
    would leave all of them without a scale.

    Args:
        t: (k,) s.
        curves: (2, k).
        time: s.
    """
    at = int(np.searchsorted(t, time))
    inserted = [np.insert(x, at, 3 * [np.interp(time, t, x)]) for x in (t, *curves)]
    # Of the scale MARKED, from 0 to 1: outside the picture but for the vertical line
    line = np.full(len(t) + 3, -1.0)
    line[at + 1] = 2.0
    return (*inserted, line)
