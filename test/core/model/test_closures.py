# SPDX-License-Identifier: Apache-2.0
"""Loop closures: constrained directions, and rejected input."""

import numpy as np
import pytest

from robot_dynamics.common.errors import FrameNotFound, ModelError
from robot_dynamics.core.model.closures import LoopClosure, check_closures
from robot_dynamics.core.model.robots import five_bar

KINDS = {'rigid': 6, 'pin': 5, 'ball': 3}


@pytest.mark.parametrize('kind', KINDS)
def test_equations_are_three_of_position_and_one_per_pair(kind):
    closure = LoopClosure('a', 'b', kind)
    assert closure.equations == KINDS[kind] == 3 + len(closure.perpendicular)


@pytest.mark.parametrize('axis', [(0, 0, 1), (1, 0, 0), (0.3, -2.0, 0.7), (0, -4, 0)])
def test_a_pin_holds_two_directions_across_its_axis(axis):
    closure = LoopClosure('a', 'b', axis=axis)
    unit = np.array(axis) / np.linalg.norm(axis)
    (x1, y1), (x2, y2) = closure.perpendicular
    frame = np.array([x1, x2, unit])
    assert np.abs(frame @ frame.T - np.eye(3)).max() < 1e-15
    for y in (y1, y2, closure.axis):
        assert np.abs(y - unit).max() < 1e-15


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (('a', 'b', 'slot'), "slot closure 'a' - 'b'.*'rigid', 'pin', 'ball'"),
        (('a', 'a'), 'to itself; expected two different frames'),
        (('a', 'b', 'pin', (0, 0, 0)), 'three finite numbers, not all zero'),
        (('a', 'b', 'pin', (0, 1)), 'three finite numbers'),
        (('a', 'b', 'pin', (0, np.nan, 1)), 'three finite numbers'),
    ],
)
def test_rejections(arguments, message):
    with pytest.raises(ModelError, match=message):
        LoopClosure(*arguments)


def test_closures_must_fit_the_robot():
    model = five_bar()
    good = LoopClosure('end3', 'end4')
    check_closures(model, [good, LoopClosure('end3', 'base', 'ball')])
    with pytest.raises(ModelError, match='no closure is given'):
        check_closures(model, [])
    with pytest.raises(FrameNotFound, match=r"no frame 'end5'; the model has base, .* end4"):
        check_closures(model, [LoopClosure('end3', 'end5')])
    with pytest.raises(
        ModelError, match=r"both frames are fixed to 'link3'; expected frames on two"
    ):
        check_closures(model, [LoopClosure('end3', 'link3')])
    with pytest.raises(ModelError, match='given twice'):
        check_closures(model, [good, good])
