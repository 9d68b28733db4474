# SPDX-License-Identifier: Apache-2.0
"""HTML of the torques: the numbers of the library, safe text, bars of the right length."""

import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from contrast import contrast

from robot_dynamics.common.spatial import pose, rotation_rpy
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.view.bars import (
    COLOURS,
    MEASURED,
    MOTOR,
    bars_html,
    contact_html,
    legend_html,
    short_names,
    tip_html,
)
from robot_dynamics.view.page_head import BRIGHT
from robot_dynamics.view.scene import TERMS, Bar, torques
from robot_dynamics.view.state import External, ViewState

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
    head = '<div class="h over"><span title="j1">j1</span><span>125 % of 10 N m</span>'
    assert head in html
    free = bars_html([BAR._replace(limit=math.inf, unit='N')])
    assert '<div class="h"><span title="j1">j1</span><span>−12.50 N</span>' in free
    # with every number
    assert html.count('</span> N m<') == 6
    assert free.count('</span> N<') == 6


def test_terms_that_are_zero_in_all_joints_are_folded():
    at_rest = BAR._replace(terms=(2.0, 0.0, 1e-9, 0.0, 0.0), motor=2.0)
    still = BAR._replace(joint='j2', terms=(-4e-4, 0.0, 0.0, 0.0, 0.0), motor=0.0)
    found = numbers(bars_html([at_rest, still]))
    assert found == {('j1', 'gravity'): 2.0, ('j1', 'motor'): 2.0}
    # A small term of one joint has a row if it is large in another: the rows keep their order.
    found = numbers(bars_html([at_rest, BAR._replace(joint='j2', terms=(0.0, 1.0, 0, 0, 0))]))
    assert found['j1', 'Coriolis'] == found['j2', 'gravity'] == 0.0
    assert ('j1', 'inertia') not in found
    measured = numbers(bars_html([still._replace(measured=0.0)]))
    assert measured['j2', 'measured'] == 0.0


def test_every_text_of_the_bars_has_at_least_12_pixels():
    html = legend_html() + bars_html([BAR]) + tip_html('tool', np.eye(4))
    sizes = [float(x) for x in re.findall(r'font(?:-size)?:\s*([\d.]+)px', html)]
    assert sizes
    assert min(sizes) >= 12


def test_every_term_links_to_its_equation():
    html = legend_html()
    links = re.findall(r'href="#([^"]+)">([^<]+)<', html)
    assert {symbol for _, symbol in links} == {'τ model', 'M q̈', 'C q̇', 'g', 'friction', 'JᵀF'}
    for anchor, _ in links:
        assert html.count(f'id="{anchor}"') == 1
    for function in re.findall(r'<code>Dynamics\.(\w+)</code>', html):
        assert callable(getattr(Dynamics, function))


def test_the_functions_of_the_terms_give_the_torque_of_the_model():
    arm, state = Dynamics(planar_2r()), ViewState.initial(planar_2r())
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-1, 1, (3, 2))
    state = replace(state, q=q, qd=qd, qdd=qdd).with_force(state.tip, [3.0, -2.0, 1.0])
    wrench = [0, 0, 0, *state.force]
    expected = arm.motor_torque(q, qd, qdd) - arm.wrench_torque(q, wrench, state.tip)
    np.testing.assert_allclose(torques(arm, state).motor, expected, rtol=1e-12, atol=1e-12)
    code = '<code>Dynamics.{}</code>'.format
    assert f'{code("motor_torque")} − {code("wrench_torque")}' in legend_html()
    assert f'{code("mass_matrix")} times q̈' in legend_html()


def test_the_colours_of_text_have_enough_contrast_on_white_and_on_dark():
    for colour in (*COLOURS.values(), MOTOR, MEASURED):
        shown = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
        assert contrast(shown, [1.0] * 3) >= 4.5, colour
        assert contrast(np.minimum(BRIGHT * shown, 1.0), [0x24 / 255] * 3) >= 4.5, colour


def test_the_pose_of_the_tip_is_stated_in_metres_and_degrees():
    R = rotation_rpy(0.1, -0.2, 0.3)
    html = tip_html('<tool>', pose(R, np.array([0.25, -1.5, 12.0])))
    assert 'x 0.250 · y −1.500 · z 12.00 m' in html
    assert '5.7 · −11.5 · 17.2°' in html
    assert 'tip &lt;tool&gt;' in html


@pytest.mark.parametrize(
    ('names', 'expected'),
    [
        (['panda_joint1', 'panda_joint2'], ['panda_joint1', 'panda_joint2']),
        (['shoulder_lift_joint', 'elbow_joint'], ['shoulder_lift', 'elbow']),
        (
            ['left_hand_part_1_rotation_joint', 'left_hand_part_2_rotation_joint'],
            ['hand_part_1', 'hand_part_2'],
        ),
        (['a' * 30, 'b'], ['…' + 'a' * 13, 'b']),
        (['only_a_very_long_joint'], ['only_a_very']),
        (['x_joint', 'joint'], ['x_joint', 'joint']),
    ],
)
def test_long_names_lose_the_words_that_all_share(names, expected):
    assert short_names(names) == expected
    # The whole name is shown while the pointer is on it.
    html = bars_html([BAR._replace(joint=name) for name in names])
    for name in names:
        assert f'title="{name}"' in html


def test_names_are_escaped():
    html = bars_html([BAR._replace(joint='<script>"&')])
    assert '<script' not in html
    assert '&lt;script&gt;&quot;&amp;' in html
    wrench = External(np.zeros(2), '<script>"&', np.ones(6), '<script>')
    state = SimpleNamespace(estimated=wrench, true=wrench)
    for html in (tip_html('<script>"&', np.eye(4)), contact_html(state)):
        assert '<script' not in html


@pytest.mark.parametrize('value', [math.nan, math.inf, -0.0, -1e-9])
def test_unusual_numbers_are_written_without_failing(value):
    html = bars_html([BAR._replace(terms=(value,) * 5, motor=value)])
    assert '−0.000' not in html


def test_estimated_and_true_torques_have_rows_of_their_own():
    found = numbers(bars_html([BAR, BAR._replace(joint='j2', estimated=-1.5, true=-1.25)]))
    assert (found['j2', 'estimated'], found['j2', 'true']) == (-1.5, -1.25)
    assert not {('j1', 'estimated'), ('j1', 'true')} & set(found)


def test_the_contact_is_stated_in_words():
    state = ViewState.initial(planar_2r())
    assert contact_html(state) == ''
    one = External(np.zeros(2), '<tool>', np.array([0.0, 0.3, 0.4, 3.0, 0.0, -4.0]), 'a & b')
    html = contact_html(replace(state, estimated=one))
    assert 'estimated: a &amp; b' in html
    assert '5.0 N and 0.5 N m at &lt;tool&gt;' in html
    assert 'true' not in html
    both = contact_html(replace(state, estimated=one, true=replace(one, text='push')))
    assert 'true: push' in both
    assert html.removesuffix('</div>') in both
