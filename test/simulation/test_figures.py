# SPDX-License-Identifier: Apache-2.0
"""Pictures and animations of simulated motions."""

from itertools import pairwise

import numpy as np
import pytest

from robot_dynamics.common.reporting.figures import AnimationFormatError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import cartesian_arm, planar_2r
from robot_dynamics.simulation import Simulator, animate_run, plot_run, simulate
from robot_dynamics.simulation.run_figures import _frames

pytest.importorskip('matplotlib')

ARM = Dynamics(planar_2r((0.7, 0.5), (0.3, 0.25)))
RUN = simulate(
    Simulator(ARM, q=np.array([0.3, 0.2]), time_step=2e-3), lambda t, q, qd: -0.5 * qd, 0.2
)


def test_the_picture_has_the_curves_of_the_motion(tmp_path):
    file = tmp_path / 'run.png'
    figure = plot_run(RUN, ARM, file)
    assert file.read_bytes().startswith(b'\x89PNG')
    panels = figure.axes
    for panel, values in zip(panels, (RUN.q, RUN.qd, RUN.effort), strict=False):
        drawn = np.array([line.get_ydata() for line in panel.lines])
        np.testing.assert_array_equal(drawn.T, values)
    labels = [panel.get_ylabel() for panel in panels]
    assert labels == ['position [rad]', 'velocity [rad/s]', 'effort [N m]', 'energy [J]']


def test_the_energies_of_the_picture():
    kinetic, potential, total = (line.get_ydata() for line in plot_run(RUN, ARM).axes[3].lines)
    np.testing.assert_allclose(kinetic, ARM.kinetic_energy(RUN.q, RUN.qd))
    np.testing.assert_allclose(total, kinetic + potential)
    assert potential[0] == 0.0
    # The damping takes energy away.
    assert total[-1] < total[0]


def test_units_of_slides():
    arm = Dynamics(cartesian_arm())
    run = simulate(Simulator(arm), None, 0.01)
    assert plot_run(run, arm).axes[0].get_ylabel() == 'position [m]'


def test_an_animation_has_the_frames_of_its_duration(tmp_path):
    image = pytest.importorskip('PIL.Image')
    file = tmp_path / 'run.gif'
    animate_run(RUN, ARM, file, frames_per_second=20)
    with image.open(file) as animation:
        assert animation.n_frames == 5  # 0, 0.05, ... 0.2 s
        frames = []
        for k in range(animation.n_frames):
            animation.seek(k)
            frames.append(np.asarray(animation.convert('RGB'), dtype=int))
    # The robot moves, and the axes stay.
    assert all(np.abs(a - b).max() > 100 for a, b in pairwise(frames))
    assert np.mean(np.abs(frames[0] - frames[-1]).max(axis=-1) > 0) < 0.1


def test_frames_are_the_nearest_rows():
    t = np.array([0.0, 0.03, 0.06, 0.09, 0.12])
    assert _frames(t, 20) == [0, 2, 3]
    assert _frames(np.array([0.5]), 20) == [0]


def test_wrong_formats_and_rates(tmp_path):
    with pytest.raises(AnimationFormatError, match=r'expected a name that ends in \.gif'):
        animate_run(RUN, ARM, tmp_path / 'run.webm')
    with pytest.raises(ValueError, match='frames_per_second is 0'):
        animate_run(RUN, ARM, tmp_path / 'run.gif', frames_per_second=0)
    assert not list(tmp_path.iterdir())
