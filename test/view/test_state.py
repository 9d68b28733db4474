"""Values that a page sets: accepted within their range, rejected by name otherwise."""

import math

import numpy as np
import pytest
import urdf_text

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robots import planar_2r
from robot_dynamics.urdf.loading import load_urdf, parse_urdf
from robot_dynamics.view.state import (
    MOTIONS,
    ViewError,
    ViewState,
    bent,
    moving_links,
    ranges,
)


@pytest.fixture(scope='module')
def panda():
    return load_urdf('panda')


def test_the_first_posture_is_within_the_limits_and_bent(panda):
    state = ViewState.initial(panda)
    assert (state.q >= panda.lower).all()
    assert (state.q <= panda.upper).all()
    assert np.all(np.abs(state.q) > 0.05)
    assert not state.qd.any()
    assert state.tip == moving_links(panda)[-1] == 'panda_link8'


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
    assert np.isfinite(bent(free)).all()


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
        (lambda s: s.with_payload('panda_link8', -1.0, (0, 0, 0)), 'mass is -1; expected 0 to'),
        (lambda s: s.with_payload('panda_link8', math.inf, (0, 0, 0)), 'mass is inf'),
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


def test_a_prismatic_joint_without_limits_has_a_range_in_metres():
    text = urdf_text.chain('', kind='prismatic')
    with pytest.warns(UserWarning, match='limits are not specified'):
        model = parse_urdf(text)
    np.testing.assert_array_equal(np.ravel(ranges(model)['position']), [-1.0, 1.0])
