# SPDX-License-Identifier: Apache-2.0
"""HTML of the torques: the numbers of the library, safe text, bars of the right length."""

import math
import re

import pytest

from robot_dynamics.view.bars import bars_html
from robot_dynamics.view.scene import TERMS, Bar

BAR = Bar('j1', 'N m', 10.0, 10.0, (2.0, -1.0, 0.5, 0.25, 20.0), -12.5, None)


def numbers(html):
    """Return {(joint, term): number}."""
    found = {}
    for joint, block in re.findall(r'data-joint="([^"]*)">(.*?)(?=data-joint|$)', html, re.DOTALL):
        for term, text in re.findall(r'data-term="([^"]*)">([^<]*)<', block):
            found[joint, term] = float(text.replace('−', '-'))
    return found


def test_every_term_has_its_number():
    found = numbers(bars_html([BAR, BAR._replace(joint='j2', measured=3.0)]))
    for term, value in zip(TERMS, BAR.terms, strict=True):
        assert found['j1', term] == value
    assert found['j1', 'motor'] == -12.5
    assert ('j1', 'measured') not in found
    assert found['j2', 'measured'] == 3.0


def test_bars_begin_in_the_middle_and_end_at_the_limit():
    html = bars_html([BAR])
    assert 'left:50.0%;width:10.0%' in html  # 2 of 10 N m
    assert 'left:45.0%;width:5.0%' in html  # -1
    assert 'left:50.0%;width:50.0%' in html  # 20, beyond the limit
    assert 'left:0.0%;width:50.0%' in html  # -12.5


def test_a_torque_above_the_limit_is_marked_and_units_are_stated():
    html = bars_html([BAR])
    assert '<div class="h over"><span>j1</span><span>−12.50 / 10 N m</span>' in html
    free = bars_html([BAR._replace(limit=math.inf, unit='N')])
    assert '<div class="h"><span>j1</span><span>−12.50 N</span>' in free
    # with every number
    assert html.count('</span> N m<') == 6
    assert free.count('</span> N<') == 6


def test_names_are_escaped():
    html = bars_html([BAR._replace(joint='<script>"&')])
    assert '<script' not in html
    assert '&lt;script&gt;&quot;&amp;' in html


@pytest.mark.parametrize('value', [math.nan, math.inf, -0.0, -1e-9])
def test_unusual_numbers_are_written_without_failing(value):
    html = bars_html([BAR._replace(terms=(value,) * 5, motor=value)])
    assert '−0.000' not in html
