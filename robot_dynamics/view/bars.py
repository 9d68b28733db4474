# SPDX-License-Identifier: Apache-2.0
"""Torques of the joints as HTML: a bar and a number for each term, against the effort limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from robot_dynamics.view.scene import TERMS, Bar

COLOURS = {
    'gravity': '#3b82c4',
    'Coriolis': '#e07b1f',
    'inertia': '#3c9d57',
    'friction': '#8d6fb8',
    'external': '#d0405c',
}
SYMBOLS = ('g', 'C q̇', 'M q̈', 'friction', 'JᵀF')
STYLE = (
    '<style>'
    '.rd{font:12px system-ui,sans-serif;padding:2px 16px 8px 10px;line-height:1.25;'
    'font-variant-numeric:tabular-nums}'
    '.rd .h{display:flex;justify-content:space-between;font-weight:600;margin:4px 0 0}'
    '.rd .over{color:#c81e3a}'
    '.rd .r{display:grid;grid-template-columns:46px 1fr 80px;align-items:center;height:11px;'
    'font-size:10px}'
    '.rd .n{text-align:right}'
    '.rd .t{position:relative;height:7px;background:rgba(128,128,128,.16);border-radius:2px;'
    'overflow:hidden}'
    '.rd .t i{position:absolute;top:0;bottom:0;border-radius:1px}'
    '.rd .t b{position:absolute;top:0;bottom:0;left:50%;width:1px;background:rgba(90,90,90,.7)}'
    '.rd .k{margin:2px 0 4px;font-size:11px;opacity:.85}'
    '</style>'
)
MOTOR = '#30343b'
MEASURED = '#b08900'
LEGEND = 'τ = M q̈ + C q̇ + g + friction − JᵀF<br>bars: from −100 % to 100 % of the effort limit'


def bars_html(bars: Sequence[Bar]) -> str:
    """Return the bars of all joints; attributes data-joint and data-term name each number."""
    return (
        f'{STYLE}<div class="rd"><div class="k">{LEGEND}</div>{"".join(map(_joint, bars))}</div>'
    )


def _joint(bar: Bar) -> str:
    over = abs(bar.motor) > bar.limit
    limit = f'/ {bar.limit:g} {bar.unit}' if math.isfinite(bar.limit) else bar.unit
    head = (
        f'<div class="h{" over" if over else ""}"><span>{escape(bar.joint)}</span>'
        f'<span>{_signed(bar.motor)} {limit}</span></div>'
    )
    rows = [
        _row(bar, term, symbol, COLOURS[term], value)
        for term, symbol, value in zip(TERMS, SYMBOLS, bar.terms, strict=True)
    ]
    rows.append(_row(bar, 'motor', 'τ model', MOTOR, bar.motor))
    if bar.measured is not None:
        rows.append(_row(bar, 'measured', 'τ meas.', MEASURED, bar.measured))
    return f'<div data-joint="{escape(bar.joint, quote=True)}">{head}{"".join(rows)}</div>'


def _row(bar: Bar, term: str, symbol: str, colour: str, value: float) -> str:
    share = min(abs(value) / bar.full, 1.0) if math.isfinite(value) else 0.0
    left = 50.0 if value >= 0 else 50.0 * (1 - share)
    return (
        f'<div class="r" style="color:{colour}"><span>{symbol}</span><span class="t">'
        f'<i style="left:{left:.1f}%;width:{50 * share:.1f}%;background:{colour}"></i><b></b>'
        f'</span><span class="n"><span data-term="{term}">{_signed(value)}</span> {bar.unit}'
        '</span></div>'
    )


def _signed(value: float) -> str:
    """Return a number with three decimals below 10, and fewer above; no negative zero."""
    decimals = 3 if abs(value) < 10 else 2 if abs(value) < 100 else 1
    text = f'{value:.{decimals}f}'
    return text.removeprefix('-') if float(text) == 0 else text.replace('-', '−')
