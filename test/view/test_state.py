# SPDX-License-Identifier: Apache-2.0
"""Values that a page sets: accepted within their range, rejected by name otherwise."""

import math

import numpy as np
import pytest
import urdf_text

from robot_dynamics.control.start_posture import start_posture
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.urdf.loading import load_urdf, parse_urdf
from robot_dynamics.view.state import (
    MOTIONS,
    ViewError,
    ViewState,
    ranges,
)


@pytest.fixture(scope='module')
def panda():
    return load_urdf('panda')


def test_the_robot_is_at_rest_in_its_start_posture(panda):
    state = ViewState.initial(panda)
    np.testing.assert_array_equal(state.q, start_posture(Dynamics(panda)))
    assert not state.qd.any()
    assert state.tip == panda.moving_links[-1] == 'panda_link8'


def test_ranges_are_the_limits_and_finite_without_limits(panda):
    low, high = ranges(panda)['position']
    np.testing.assert_array_equal((low, high), (panda.lower, panda.upper))
    free = planar_2r()
    assert np.isinf(free.lower).all()
    for quantity in MOTIONS:
        low, high = ranges(free)[quantity]
        assert np.isfinite(low).all()
        assert (low < high).all()
    assert (ranges(free)['position'][1] == math.pi).all()
    assert np.isfinite(ViewState.initial(free).q).all()


@pytest.mark.parametrize('quantity', MOTIONS)
def test_a_joint_is_set_alone(panda, quantity):
    state = ViewState.initial(panda)
    changed = state.with_joint(quantity, 3, -0.5)
    before = dict(zip(MOTIONS, (state.q, state.qd, state.qdd), strict=True))
    after = dict(zip(MOTIONS, (changed.q, changed.qd, changed.qdd), strict=True))
    assert after[quantity][3] == -0.5
    before[quantity] = before[quantity].copy()
    before[quantity][3] = -0.5
    for name in MOTIONS:
        np.testing.assert_array_equal(before[name], after[name])


@pytest.mark.parametrize('value', ['nan', 'inf', math.nan, None, 'abc', 3.0, 1e300, [1.0]])
def test_a_wrong_position_is_rejected_with_joint_value_and_range(panda, value):
    with pytest.raises(ViewError, match=r"joint 'panda_joint4': position is .*; expected"):
        ViewState.initial(panda).with_joint('position', 3, value)


def test_a_posture_is_read_from_text(panda):
    state = ViewState.initial(panda).with_joint('velocity', 0, 1.0)
    changed = state.with_posture('0.1, 0.2 0.3 -0.4 0.5 0.6 0.7')
    np.testing.assert_array_equal(changed.q, [0.1, 0.2, 0.3, -0.4, 0.5, 0.6, 0.7])
    assert not changed.qd.any()
    listed = state.with_posture('[0.1, 0.2, 0.3, -0.4, 0.5, 0.6, 0.7]')
    np.testing.assert_array_equal(listed.q, changed.q)
    with pytest.raises(ViewError, match='2 values; expected 7'):
        state.with_posture('1 2')
    with pytest.raises(ViewError, match=r"joint3.*'x'; expected a number"):
        state.with_posture('0 0 x -1 0 0 0')


def test_loads_change_the_dynamics_as_the_library_does(panda):
    state = ViewState.initial(panda).with_gravity((0.0, 1.0, -9.0))
    state = state.with_payload('panda_link8', 2.0, (0.0, 0.0, 0.1))
    arm = state.load.carried(Dynamics(panda))
    other = Dynamics(
        panda.with_gravity([0.0, 1.0, -9.0]).with_payload('panda_link8', 2.0, [0.0, 0.0, 0.1])
    )
    np.testing.assert_allclose(
        arm.gravity_torque(state.q), other.gravity_torque(state.q), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (
            lambda s: s.with_payload('panda_link8', -1.0, (0, 0, 0)),
            'mass .kg. is -1; expected 0 to 10$',
        ),
        (lambda s: s.with_payload('panda_link8', 100, (0, 0, 0)), 'mass .kg. is 100; expected'),
        (lambda s: s.with_payload('panda_link8', 1.0, (0, 0, 1.5)), 'mass z .m. is 1.5; expected'),
        (lambda s: s.with_payload('panda_link8', 1.0, (-1.5, 0, 0)), 'x .m. is -1.5; expected'),
        (lambda s: s.carrying('panda_link8', -1.0, (0, 0, 0)), 'mass .kg. is -1; expected 0 to'),
        (lambda s: s.carrying('panda_link8', 1.0, (0, math.nan, 0)), 'mass y .m. is nan'),
        (lambda s: s.with_payload('panda_link8', math.inf, (0, 0, 0)), 'mass .kg. is inf'),
        (lambda s: s.with_payload('panda_link8', 1.0, (0, math.nan, 0)), 'mass y .m. is nan'),
        (lambda s: s.with_payload('panda_link0', 1.0, (0, 0, 0)), "'panda_link0' does not move"),
        (lambda s: s.with_payload('nowhere', 1.0, (0, 0, 0)), "'nowhere' does not move"),
        (lambda s: s.with_gravity((0, 0, 1e9)), r'gravity z .m/s\^2. is 1e\+09; expected'),
        (lambda s: s.with_gravity((0, 0)), 'gravity has 2 values; expected three'),
        (lambda s: s.with_force('panda_link8', ('x', 0, 0)), r"force x .N. is 'x'"),
        (lambda s: s.with_force('base', (0, 0, 0)), "'base' does not move"),
        (lambda s: s.with_tip('base'), "'base' does not move"),
    ],
)
def test_wrong_loads_are_rejected_by_name(panda, change, message):
    with pytest.raises(ViewError, match=message):
        change(ViewState.initial(panda))


@pytest.mark.parametrize('com', [(0.0, 0.0, 1.5), (0.0, -1.5, 0.0)])
def test_a_payload_that_is_carried_extends_the_range_of_the_page(panda, com):
    state = ViewState.initial(panda)
    narrow = state.payload_range
    state = state.carrying('panda_link7', 12.5, com)
    assert (state.load.link, state.load.mass, state.load.com) == ('panda_link7', 12.5, com)
    assert state.payload_range == (12.5, 1.5)
    state = state.with_payload('panda_link8', 12.0, (1.4, -1.4, 0.0))
    assert state.load.mass == 12.0
    with pytest.raises(ViewError, match=r'mass \[kg\] is 13; expected 0 to 12.5'):
        state.with_payload('panda_link8', 13.0, com)
    # One within the range leaves it.
    assert ViewState.initial(panda).carrying('panda_link8', 1, (0, 0, 0.1)).payload_range == narrow


@pytest.mark.parametrize('end', [-math.pi, math.pi])
def test_an_end_of_a_range_is_accepted_as_the_page_rounds_it(end):
    state = ViewState.initial(planar_2r()).with_joint('position', 0, round(end, 4))
    assert state.q[0] == end
    with pytest.raises(ViewError, match=r'expected -3\.14159 to 3\.14159'):
        state.with_joint('position', 0, end * 1.0001)


def test_a_prismatic_joint_without_limits_has_a_range_in_metres():
    text = urdf_text.chain('', kind='prismatic')
    with pytest.warns(UserWarning, match='limits are not specified'):
        model = parse_urdf(text)
    np.testing.assert_array_equal(np.ravel(ranges(model)['position']), [-1.0, 1.0])
