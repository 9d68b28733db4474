# SPDX-License-Identifier: Apache-2.0
"""The plot of a recording: torques of the library over time, and a line at the present time."""

import re

import numpy as np
import pytest
from recorded_runs import lively, samples, torque
from shown_page import ShownPage

from robot_dynamics.recordings import by_joint
from robot_dynamics.urdf.loading import load_urdf
from robot_dynamics.view.playback_controls import PlaybackControls
from robot_dynamics.view.scene import torques
from robot_dynamics.view.torque_plot import LONG, MARKED, POINTS, marked
from robot_dynamics.view.viewed_motion import Playback

pytest.importorskip('viser')


class Played(ShownPage):
    """The page of a recording, without a browser."""

    def __init__(self):
        model = load_urdf('panda')
        t, q, qd, qdd = lively(model, duration=4.0, rate=200.0)
        tau = 1.2 * torque(model, q, qd, qdd)
        names = model.joint_names
        self.playback = Playback(by_joint(samples(names, t, q, qd, tau), names))
        controls = PlaybackControls(self.playback, 'run')
        super().__init__(model, controls)
        self.session.start(self.playback)
        self.curves = controls._plot._plot

    def show_time(self, time):
        """Show another time; return the data of the plot, and the index of the line."""
        self.playback.seek(time)
        self.session.advance(0.0)
        self.show()
        data = self.curves.data
        return data, int(data[3].argmax())

    @property
    def joint(self):
        """Return the number of the joint that is plotted."""
        (menu,) = self.control('joint')
        return self.session.state.model.joint_names.index(menu.value)


@pytest.fixture
def played():
    played = Played()
    yield played
    played.server.stop()


def test_the_curves_are_those_of_the_library(played):
    (t, measured, model, _), _ = played.show_time(0.0)
    assert POINTS < len(t) <= POINTS + 3
    assert t[-1] == played.playback.duration
    j = played.joint
    large = np.abs(model) > 0.3 * np.abs(model).max()
    np.testing.assert_allclose(measured[large] / model[large], 1.2, rtol=0.02)
    # The joint with the largest torques is shown at first.
    assert played.session.state.model.joint_names[j] == 'panda_joint2'


@pytest.mark.parametrize('time', [0.0, 0.2, 2.0, None])
def test_a_zoomed_plot_follows_the_time(played, time):
    (menu,) = played.control('zoom')
    duration = played.playback.duration
    played.set(menu, '1 s')
    (t, *_, line), at = played.show_time(duration if time is None else time)
    present = played.playback.time
    sample = 1.5 / 200
    start = min(max(present - 0.5, 0.0), duration - 1.0)
    assert (t[0], t[-1]) == pytest.approx((start, start + 1.0), abs=sample)
    assert t[at] == pytest.approx(present)
    assert_vertical(line, at)
    # All samples of the part, and the point of the line three times
    np.testing.assert_allclose(np.diff(np.delete(t, [at - 1, at, at + 1])), 1 / 200, rtol=1e-6)


def test_the_legend_has_the_values_of_the_bars(played):
    for time in (0.0, 1.5):
        played.show_time(time)
        legend = played.page._controls._plot._legend.content
        bar = played.session.scene()[1].bars[played.joint]
        residual = ('meas. − model', bar.measured - bar.motor)
        for name, value in (('τ meas.', bar.measured), ('τ model', bar.motor), residual):
            (shown,) = re.findall(rf'>(?:━ )?{name}</span> (−?[\d.]+) N m</span>', legend)
            assert float(shown.replace('−', '-')) == pytest.approx(value, abs=0.006)
        assert f'│ {time:.2f} s' in legend
        assert '--' not in legend


def test_a_long_recording_is_zoomed_at_first():
    model = load_urdf('planar_2r')
    t, q, qd, qdd = lively(model, duration=LONG + 2.0, rate=50.0)
    tau = torque(model, q, qd, qdd)
    playback = Playback(by_joint(samples(model.joint_names, t, q, qd, tau), model.joint_names))
    shown = ShownPage(model, PlaybackControls(playback, 'run'))
    try:
        assert shown.control('zoom')[0].value == '10 s'
    finally:
        shown.server.stop()


def test_the_line_is_at_the_torques_of_the_bars_under_the_present_load(played):
    load = lambda state: state.with_payload('panda_link8', 2.0, [0.0, 0.0, 0.1])  # noqa: E731
    force = lambda state: state.with_force('panda_link5', [5.0, -20.0, 10.0])  # noqa: E731
    for change in (lambda state: state, load, force):
        played.session.update(change)
        (t, measured, model, line), at = played.show_time(2.0)
        state = played.session.state
        j = played.joint
        size = np.abs(model).max()
        # Samples are 5 ms apart, and points 10 ms.
        assert t[at - 1] == t[at] == t[at + 1] == pytest.approx(2.0)
        assert model[at] == pytest.approx(
            torques(played.session.arm, state).motor[j], abs=0.01 * size
        )
        assert measured[at] == pytest.approx(state.measured[j], abs=0.01 * size)
        assert_vertical(line, at)


def assert_vertical(line, at):
    """Check that a line crosses its scale, 0 to 1, at one place, and is outside elsewhere."""
    assert line[at] > 1
    assert np.all(np.delete(line, at) < 0)


def test_the_line_has_a_scale_of_its_own(played):
    played.show_time(1.0)
    assert played.curves.series[3]['scale'] == MARKED
    assert played.curves.scales[MARKED] == {'range': (0.0, 1.0)}
    # The curves share the axis of the torques.
    assert all('scale' not in curve for curve in played.curves.series[1:3])


def test_another_joint_can_be_chosen(played):
    played.show_time(1.0)
    (menu,) = played.control('joint')
    for value in ('panda_joint4', 'none'):  # a value that is not offered changes nothing
        played.set(menu, value)
    assert "joint is 'none'; expected panda_joint1," in played.error
    (_, measured, _, _), at = played.show_time(1.0)
    assert measured[at] == pytest.approx(played.session.state.measured[3], abs=0.5)
    assert played.curves.series[1]['label'] == 'τ meas. [N m]'


@pytest.mark.parametrize('time', [0.0, 0.25, 1.0])
def test_a_line_at_a_sample_or_between_keeps_the_times_in_order(time):
    t, curves = np.array([0.0, 0.5, 1.0]), np.array([[1.0, 3.0, 2.0], [0.0, 0.0, 4.0]])
    data = marked(t, curves, time)
    assert np.all(np.diff(data[0]) >= 0)
    for x, curve in zip(data[1:3], curves, strict=True):
        np.testing.assert_allclose(x, np.interp(data[0], t, curve))
    peak = int(data[3].argmax())
    assert data[0][peak - 1 : peak + 2].tolist() == [time] * 3
    assert_vertical(data[3], peak)


def test_a_time_is_typed_while_another_is_shown(played):
    """The browser sends 1 and then 1.4, before the page has shown 1."""
    played.show_time(2.0)
    (slider,) = played.control('time [s]')
    played.receive(slider, 1.0)
    played.call(slider)
    played.receive(slider, 1.4)
    played.show()
    played.call(slider)
    assert slider.value == played.playback.time == 1.4


def test_a_rejected_time_is_replaced_by_the_present_one(played):
    played.show_time(2.0)
    (slider,) = played.control('time [s]')
    for wrong in (99.0, -1.0, float('nan')):
        played.set(slider, wrong)
        assert 'time [s] is' in played.error
        assert slider.value == 2.0
    played.set(slider, 1.0)
    assert (played.error, slider.value) == ('', 1.0)
