# SPDX-License-Identifier: Apache-2.0
"""Draws guides/moving_base_tip_over.png: a cart with a Panda brakes, in two postures of the arm.

The zero-moment point is that of cart and arm together. It leaves the area of support in front with
the arm stretched out, and stays within it with the arm drawn in.
"""

from pathlib import Path

import numpy as np
from matplotlib.patches import Circle

import robot_dynamics as rd
from robot_dynamics.common.reporting.figures import save, sheet
from robot_dynamics.core.base_motion import zero_moment_point
from robot_dynamics.simulation import MotionComponent, PrescribedBaseMotion, Ramp

MASS, CENTRE = 30.0, np.array([0.0, 0.0, -0.2])  # of the cart, kg; below the base of the arm, m
FLOOR, WHEEL = -0.4, 0.16  # m: height of the floor, distance of the axles from the base
RADIUS = 0.07  # m, of the wheels
POSTURES = {
    'stretched out': np.array([0.0, 0.9, 0.0, -0.9, 0.0, 1.8, 0.8]),
    'drawn in': np.array([0.0, -0.9, 0.0, -2.6, 0.0, 1.8, 0.8]),
}
COLOURS = {'stretched out': '#d9480f', 'drawn in': '#1971c2'}
BRAKING = Ramp(start=0.5, duration=0.6, velocity=-1.2)  # 2 m/s^2
CART = PrescribedBaseMotion(x=MotionComponent(velocity=1.2, ramps=[BRAKING]))
PICTURED = 0.8  # s


def floor_wrench(arm, q, t):
    """Return the wrenches (k, 6) of the floor on cart and arm, at times (k,)."""
    base, still = CART.motion(t), np.zeros_like(q)
    force = MASS * base.proper_acceleration
    cart = np.concatenate([np.cross(CENTRE, force), force], axis=-1)
    return cart + arm.on_moving_base().base_wrench(q, still, still, base.array())


def draw_side(axes, arm, name):
    """Draw cart, arm and the force of the floor, from the side."""
    q, colour = POSTURES[name], COLOURS[name]
    frames = [f'panda_link{k}' for k in range(9)]
    x, z = np.array([arm.forward_kinematics(q, frame)[[0, 2], 3] for frame in frames]).T
    axes.fill([-0.3, 0.3, 0.3, -0.3], [-0.33, -0.33, 0.0, 0.0], color='#dee2e6')
    axes.axhline(FLOOR, color='#495057', linewidth=1)
    for wheel in (-WHEEL, WHEEL):
        axes.add_artist(Circle((wheel, FLOOR + RADIUS), RADIUS, color='#495057'))
    axes.plot(x, z, 'o-', color=colour, linewidth=6, markersize=9, solid_capstyle='round')
    wrench = floor_wrench(arm, q, np.array([PICTURED]))
    point = zero_moment_point(wrench, FLOOR)[0, 0]
    lean = wrench[0, 3] / wrench[0, 5]
    axes.annotate(
        '',
        (point + 0.55 * lean, FLOOR + 0.55),
        (point, FLOOR),
        arrowprops={'arrowstyle': '->', 'color': 'black', 'linewidth': 1.8},
    )
    axes.plot(point, FLOOR, 'kx', markersize=8, markeredgewidth=2, clip_on=False, zorder=5)
    axes.set(
        title=f'{name}, {PICTURED:g} s',
        xlim=(-0.6, 1.0),
        ylim=(FLOOR - 0.04, 0.85),
        aspect='equal',
        xlabel='x [m]',
    )


def draw_curves(axes, arm):
    """Draw the zero-moment points over time."""
    t = np.linspace(0.0, 1.6, 801)
    for name, q in POSTURES.items():
        points = zero_moment_point(floor_wrench(arm, q, t), FLOOR)[:, 0]
        axes.plot(t, points, color=COLOURS[name], label=name)
    axes.axhspan(-WHEEL, WHEEL, color='#d3f9d8', zorder=0, label='between the axles')
    axes.set(
        title='zero-moment point',
        xlabel='t [s]',
        ylabel='x [m]',
        ylim=(-0.2, 0.25),
        xlim=(0.0, 1.6),
    )
    axes.legend(loc='lower right')


def main():
    """Write the picture."""
    arm = rd.Dynamics(rd.load_urdf('panda'))
    figure = sheet(10.0, 3.2)
    side, other, curves = figure.subplots(1, 3, width_ratios=[1.0, 1.0, 1.3])
    draw_side(side, arm, 'stretched out')
    draw_side(other, arm, 'drawn in')
    side.set_ylabel('z [m]')
    draw_curves(curves, arm)
    save(figure, Path(__file__).parent / 'guides' / 'moving_base_tip_over.png')


if __name__ == '__main__':
    main()
