# SPDX-License-Identifier: Apache-2.0
"""Writes the film of the front page, payload_light.svg and payload_dark.svg.

The efforts of a Panda that carries 1.5 kg are simulated, with noise; the model does not know the
payload until its mass is typed. Joint torques are linear in that mass, as is the motion of the
drawn curves: each picture of the film is exact.
"""

from pathlib import Path

import numpy as np

import robot_dynamics as rd

MASS, COM = 1.5, [0.0, 0.0, 0.1]  # kg, m
JOINTS = {'joint 2': 1, 'joint 4': 3}
COLOURS = {
    'light': {'text': '#333', 'grid': '#ddd', 'measured': '#8a8a8a', 'model': '#d9480f'},
    'dark': {'text': '#ddd', 'grid': '#444', 'measured': '#9a9a9a', 'model': '#ff922b'},
}
WIDTH, HEIGHT, LEFT, TOP = 720, 150, 70, 64  # px
TIMES = '0;0.25;0.4;0.9;1'  # of 8 s: 0 kg, then typed, then 1.5 kg, then again


def motion(t):
    """Return q, qd and qdd (N, 7) of a Panda near its home, at times (N,)."""
    w = np.array([0.9, 1.3, 0.7, 1.1, 1.6, 1.9, 1.2])
    home = np.array([0.0, -0.5, 0.0, -1.9, 0.0, 1.6, 0.8])
    phase, size = np.outer(t, w), 0.35
    return (
        home + size * np.sin(phase),
        size * w * np.cos(phase),
        -size * w**2 * np.sin(phase),
    )


def torques():
    """Return times (N,) and torques (N, 7) of a motion: measured, of the model, of it loaded."""
    t = np.linspace(0.0, 6.0, 181)
    q, qd, qdd = motion(t)
    model = rd.load_urdf('panda')
    loaded = model.with_payload('panda_link8', mass=MASS, com=COM)
    empty, full = (rd.Dynamics(m).inverse_dynamics(q, qd, qdd) for m in (model, loaded))
    return t, full + np.random.default_rng(0).normal(0.0, 0.4, full.shape), empty, full


def film(colours):
    """Return the SVG."""
    t, *curves = torques()
    text = f'font-family="sans-serif" font-size="20" fill="{colours["text"]}"'
    key = f'{TOP - 40}"'
    svg = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 400">',
        f'<g {text}><text x="{LEFT}" y="{key} fill="{colours["measured"]}">measured</text>',
        f'<text x="{LEFT + 110}" y="{key} fill="{colours["model"]}">model</text>',
        f'<text x="{WIDTH - 220}" y="{key}>payload, kg:</text>',
        number('0', 'visible;hidden;hidden;hidden;visible', colours, 'hidden'),
        number('1.5', 'hidden;visible;visible;visible;hidden', colours, 'visible'),
    ]
    for row, (name, joint) in enumerate(JOINTS.items()):
        measured, empty, full = (curve[:, joint] for curve in curves)
        top = TOP + row * (HEIGHT + 14)
        low, high = np.min([measured, empty]), np.max([measured, empty])
        scale = HEIGHT / (high - low)

        def path(values, top=top, high=high, scale=scale):
            x = LEFT + (WIDTH - LEFT - 10) * t / t[-1]
            y = top + (high - values) * scale
            return 'M' + ' '.join(f'{a:.0f},{b:.1f}' for a, b in zip(x, y, strict=True))

        values = ';'.join(path(v) for v in (empty, empty, full, full, empty))
        svg += [
            f'<rect x="{LEFT}" y="{top}" width="{WIDTH - LEFT - 10}" height="{HEIGHT}" fill="none"'
            f' stroke="{colours["grid"]}"/>',
            f'<text x="4" y="{top + 20}">{name}</text><text x="4" y="{top + 44}">N m</text>',
            f'<path d="{path(measured)}" fill="none" stroke="{colours["measured"]}"/>',
            f'<path d="{path(full)}" fill="none" stroke="{colours["model"]}" stroke-width="2.5">',
            f'<animate attributeName="d" dur="8s" repeatCount="indefinite" keyTimes="{TIMES}"'
            f' values="{values}"/></path>',
        ]
    return '\n'.join([*svg, '</g></svg>', ''])


def number(shown, visibility, colours, first):
    """Return the mass typed in the field, during its part of the film."""
    return (
        f'<text x="{WIDTH - 90}" y="{TOP - 40}" font-weight="bold" fill="{colours["model"]}"'
        f' visibility="{first}">{shown}<animate attributeName="visibility" dur="8s"'
        f' repeatCount="indefinite" calcMode="discrete" keyTimes="{TIMES}"'
        f' values="{visibility}"/></text>'
    )


if __name__ == '__main__':
    for theme, colours in COLOURS.items():
        Path(__file__).with_name(f'payload_{theme}.svg').write_text(film(colours))
