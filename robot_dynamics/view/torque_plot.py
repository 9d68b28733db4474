# SPDX-License-Identifier: Apache-2.0
"""Torques of one joint over the time of a recording."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.view.bars import MEASURED, MOTOR
from robot_dynamics.view.page import Page, chosen
from robot_dynamics.view.state import ViewState
from robot_dynamics.view.viewed_motion import Playback

POINTS = 400  # of a curve
HEIGHT = 230  # pixels
MARK = '#d0405c'
MARKED = 'mark'  # scale of the line, which is independent of the torques
AXES = ({'label': 'time [s]', 'labelSize': 18, 'size': 34}, {'size': 44})


class TorquePlot:
    """Curves of the measured and the model torque of one joint; a line marks the present time."""

    def __init__(self, page: Page, playback: Playback) -> None:
        """Add a menu of the joints and the plot to the present tab of a page."""
        self._session, self._playback = page.session, playback
        last = len(playback.times) - 1
        self._rows = np.unique(np.linspace(0, last, POINTS).round().astype(int))
        model = page.session.state.model
        curves = self._compute(page.session.state)
        # At first the joint whose torques are the largest
        self._joint = model.joint_names[int(np.abs(curves).max(axis=(0, 1)).argmax())]
        menu = page.gui.add_dropdown('joint', model.joint_names, initial_value=self._joint)
        menu.on_update(page.on(self._choose))
        self._shown: object = None
        self._plot = page.gui.add_uplot(
            (np.zeros(2),) * 4,
            self._series(page.session.state),
            scales={'x': {'time': False}, MARKED: {'range': (0.0, 1.0)}},
            axes=AXES,
            height=HEIGHT,
        )

    def show(self, state: ViewState) -> None:
        """Mark the present time; compute the curves again under another load or force."""
        shown = (self._joint, state.load, state.force_link, state.force.tobytes())
        if shown != self._shown:
            self._shown = shown
            self._curves = self._compute(state)[..., self._index(state)]
            self._plot.series = self._series(state)
        self._plot.data = marked(
            self._playback.times[self._rows], self._curves, self._playback.time
        )

    def _choose(self, menu: Any) -> None:
        self._joint = chosen(menu)
        self._session.touch()

    def _compute(self, state: ViewState) -> Array:
        """Return the measured and the model torques (2, points, n)."""
        arm, playback = self._session.arm, self._playback
        q, qd, qdd = playback.motion(self._rows)
        wrench = np.concatenate([np.zeros(3), state.force])
        external = arm.wrench_torque(q, wrench, state.force_link)
        model = arm.motor_torque(q, qd, qdd) - external
        return np.stack([playback.efforts(arm, self._rows), model])

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
