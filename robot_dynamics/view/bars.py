# SPDX-License-Identifier: Apache-2.0
"""Torques of the joints as HTML: a bar and a number for each term, against the effort limit.

Also the contact that a momentum observer finds, in words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from robot_dynamics.common.spatial import Array, rpy
from robot_dynamics.view.scene import TERMS, Bar
from robot_dynamics.view.state import External, ViewState

# Contrast at least 4.5 on white, and on a dark page under the filter of `page_head`
COLOURS = {
    'gravity': '#1f6fb5',
    'Coriolis': '#b85a00',
    'inertia': '#2a7d43',
    'friction': '#7d5fae',
    'external': '#c8344f',
    'estimated': '#c2189b',
    'true': '#6b7280',
}
SYMBOLS = ('g', 'C q̇', 'M q̈', 'friction', 'JᵀF')
MEANINGS = (  # symbol, formula, meaning, and the functions of Dynamics that compute it
    ('g', 'g(q)', 'holds the robot at rest', '{gravity_torque}'),
    ('C q̇', 'C(q, q̇) q̇', 'Coriolis and centrifugal torque', '{coriolis_torque}'),
    ('M q̈', 'M(q) q̈', 'accelerates links and rotors', '{mass_matrix} times q̈'),
    ('friction', 'friction(q̇)', 'of the motor against friction', '{friction_torque}'),
    ('JᵀF', 'J(q)ᵀ F', 'of the external force F on the robot', '{wrench_torque}'),
    (
        'τ model',
        'M q̈ + C q̇ + g + friction − JᵀF',
        'of the motors: thick',
        '{motor_torque} − {wrench_torque}',
    ),
)
LONGEST = 14  # characters of a name beside a slider
SMALL = 5e-4  # N m or N: shown as zero
STYLE = (
    '<style>'
    '.rd{font:12px system-ui,sans-serif;padding:2px 12px 6px;line-height:1.25;'
    'font-variant-numeric:tabular-nums}'
    '.rd .h{display:flex;gap:8px;margin:5px 0 1px;white-space:nowrap}'
    '.rd .h :first-child{flex:1;overflow:hidden;text-overflow:ellipsis}'
    '.rd .over{color:#d62246}'
    '.rd .r{display:grid;grid-template-columns:60px 1fr 82px;align-items:center;height:15px;'
    'white-space:nowrap}'
    '.rd .n{text-align:right}'
    '.rd .t{position:relative;height:5px;background:rgba(128,128,128,.18);border-radius:2px;'
    'overflow:hidden}'
    '.rd [data-term=motor]{font-weight:600}'
    '.rd .s .t{height:10px}'
    '.rd .k :first-child{color:inherit!important}'
    '.rd .t i{position:absolute;top:0;bottom:0;border-radius:1px}'
    '.rd .t b{position:absolute;top:0;bottom:0;left:50%;width:1px;background:rgba(128,128,128,.8)}'
    '.rd.l{display:grid;grid:15px 15px/56% 42%;gap:2px 6px;white-space:nowrap}'
    '.rd a{color:inherit;text-decoration:underline dotted}'
    '.rd summary{cursor:pointer;margin:3px 0}'
    '.rd dt{font-weight:600;margin-top:4px}'
    '.rd dd{margin:0 0 0 10px}'
    '</style>'
)
CONTACT = 'font:13px system-ui,sans-serif;padding:0 12px 10px;line-height:1.4'
MOTOR = '#566580'
MEASURED = '#8a6d00'


def legend_html() -> str:
    """Return the equation of the bars, whose terms link to what they are below it."""
    colours = dict(zip(SYMBOLS, COLOURS.values(), strict=False))
    linked = {
        symbol: f'<a style="color:{colours.get(symbol, MOTOR)}" href="#term-{k}">{symbol}</a>'
        for k, (symbol, *_) in enumerate(MEANINGS)
    }
    g, coriolis, inertia, friction, external, motor = linked.values()
    items = ''.join(
        f'<dt id="term-{k}">{formula}</dt><dd>{meaning}; {_coded(functions)}</dd>'
        for k, (_, formula, meaning, functions) in enumerate(MEANINGS)
    )
    return (
        f'{STYLE}<div class="rd"><div>{motor} = {inertia} + {coriolis} + {g} + {friction} − '
        f'{external}</div><details><summary>terms; full bars: ±effort limit</summary>'
        f'<dl style="margin:0">{items}</dl><div style="margin-top:6px">A term that is zero at '
        'all joints has no row. Without an effort limit a bar is full at the largest gravity '
        'torque. Derivations: docs/concepts/equation.md, docs/textbook/formulations.md.</div>'
        '</details></div>'
    )


def _coded(functions: str) -> str:
    return re.sub(r'{(\w+)}', r'<code>Dynamics.\1</code>', functions)


def bars_html(bars: Sequence[Bar], falling: bool = False) -> str:
    """Return the bars of all joints; attributes data-joint and data-term name each number.

    Terms that are zero at all joints have no row, and a joint without torque only a line.

    Args:
        bars: of the joints.
        falling: the motors have no torque; the sum of the terms of a joint at rest is the torque
            of its stop or its friction.
    """
    moving = [any(not _is_small(bar.terms[k]) for bar in bars) for k in range(len(TERMS))]
    names = short_names([bar.joint for bar in bars])
    rows = ''.join(
        _joint(bar, name, moving, falling) for bar, name in zip(bars, names, strict=True)
    )
    return f'{STYLE}<div class="rd">{rows}</div>'


def short_names(names: Sequence[str], length: int = LONGEST) -> list[str]:
    """Return names without words that all share, at the end and then at the beginning.

    Words are dropped while a name is longer than `length`; what still is ends after an ellipsis.
    """
    words = [name.split('_') for name in names]
    for end in (-1, 0):
        while (
            max(len('_'.join(parts)) for parts in words) > length
            and min(map(len, words)) > 1
            and len({parts[end] for parts in words}) == 1
        ):
            words = [parts[:-1] if end else parts[1:] for parts in words]
    shortened = ['_'.join(parts) for parts in words]
    return [name if len(name) <= length else f'…{name[1 - length :]}' for name in shortened]


def tip_html(name: str, T: Array) -> str:
    """Return the pose (4, 4) of the tip in the base as text."""
    place = ' · '.join(f'{axis} {_signed(x)}' for axis, x in zip('xyz', T[:3, 3], strict=True))
    degrees = np.degrees(rpy(T[:3, :3])).round(1) + 0.0  # no negative zero
    angles = ' · '.join(f'{x:.1f}'.replace('-', '−') for x in degrees)
    return (
        f'{STYLE}<div class="rd" data-tip><div class="h"><span title="{escape(name, quote=True)}">'
        f'tip {escape(name)}</span></div><div>{place} m</div>'
        f'<div>roll, pitch, yaw &nbsp;{angles}°</div></div>'
    )


def contact_html(state: ViewState) -> str:
    """Return the estimated contact and force, and the true ones, in words; '' without them."""
    known = {'estimated': state.estimated, 'true': state.true}
    lines = [
        f'<div style="color:{COLOURS[name]}"><b>{name}: {escape(one.text)}</b><br>{_wrench(one)}'
        '</div>'
        for name, one in known.items()
        if one is not None
    ]
    return f'<div style="{CONTACT}" data-contact>{"".join(lines)}</div>' if lines else ''


def plot_legend_html(
    time: float, mark: str, values: Mapping[str, tuple[str, float]], unit: str
) -> str:
    """Return the legend of a plot: the present time [s] in the colour `mark`, and the values then.

    Args:
        time: s.
        mark: colour of the line at the present time.
        values: at most three: colour and value, by name.
        unit: of the values.
    """
    curves = ''.join(
        f'<span><span style="color:{colour}">{name}</span> {_signed(value)} {unit}</span>'
        for name, (colour, value) in values.items()
    )
    return (
        f'{STYLE}<div class="rd l" data-legend>{curves}'
        f'<span style="color:{mark}">│ {time:.2f} s</span></div>'
    )


def _wrench(one: External) -> str:
    moment, force = (float(np.linalg.norm(part)) for part in (one.wrench[:3], one.wrench[3:]))
    return f'{force:.1f} N and {moment:.1f} N m at {escape(one.frame)}'


def _joint(bar: Bar, short: str, shown: Sequence[bool], falling: bool) -> str:
    over = not falling and abs(bar.motor) > bar.limit
    share = (
        f'{100 * abs(bar.motor) / bar.limit:.0f} % of {bar.limit:g}'
        if math.isfinite(bar.limit) and not falling
        else _signed(bar.motor)
    )
    name = escape(bar.joint, quote=True)
    head = (
        f'<div class="h{" over" if over else ""}"><span title="{name}">{escape(short)}</span>'
        f'<span>{share} {bar.unit}</span></div>'
    )
    values = [bar.motor, *bar.terms]
    rows = [
        (term, symbol, COLOURS[term], value)
        for term, symbol, value, visible in zip(TERMS, SYMBOLS, bar.terms, shown, strict=True)
        if visible and not all(map(_is_small, values))
    ]
    total = ('stop' if bar.at_stop else 'sum') if falling else 'τ model'
    sums = [_row(bar, 'motor', total, MOTOR, bar.motor, ' s k')]
    if bar.measured is not None:
        sums.append(_row(bar, 'measured', 'τ meas.', MEASURED, bar.measured, ' s'))
    others = (
        ('estimated', 'ext. est.', COLOURS['estimated'], bar.estimated),
        ('true', 'ext. true', COLOURS['true'], bar.true),
    )
    rows += [
        (term, symbol, colour, value)
        for term, symbol, colour, value in others
        if value is not None
    ]
    shows_sums = rows or bar.measured is not None
    lines = ''.join([*(sums if shows_sums else ()), *(_row(bar, *row) for row in rows)])
    return f'<div data-joint="{name}">{head}{lines}</div>'


def _is_small(value: float) -> bool:
    return abs(value) < SMALL  # not NaN


def _row(bar: Bar, term: str, symbol: str, colour: str, value: float, look: str = '') -> str:
    share = min(abs(value) / bar.full, 1.0) if math.isfinite(value) else 0.0
    left = 50.0 if value >= 0 else 50.0 * (1 - share)
    return (
        f'<div class="r{look}"><span style="color:{colour}">{symbol}</span><span class="t">'
        f'<i style="left:{left:.1f}%;width:{50 * share:.1f}%;background:{colour}"></i><b></b>'
        f'</span><span class="n"><span data-term="{term}">{_signed(value)}</span> {bar.unit}'
        '</span></div>'
    )


def _signed(value: float) -> str:
    """Return a number with three decimals below 10, and fewer above; no negative zero."""
    decimals = 3 if abs(value) < 10 else 2 if abs(value) < 100 else 1
    text = f'{value:.{decimals}f}'
    return text.removeprefix('-') if float(text) == 0 else text.replace('-', '−')
