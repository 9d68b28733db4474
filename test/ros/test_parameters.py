# SPDX-License-Identifier: Apache-2.0
import math
from dataclasses import dataclass

import numpy as np
import pytest

from robot_dynamics.ros.parameters import (
    ParameterError,
    given,
    joint_order,
    parameter,
    per_joint,
    snapshot,
    specs,
    values,
)


@dataclass(frozen=True)
class Table:
    rate: float = parameter(10.0, 'How often, Hz.', (0.0, 100.0), live=True)
    count: int = parameter(3, 'How many.', (1, math.inf))
    gains: tuple[float, ...] = parameter([0.0], 'How strong.', (0.0, math.inf))
    gravity: tuple[float, ...] = parameter([0.0, 0.0, -9.81], 'Whereto.', size=3)
    mode: str = parameter('fast', 'How.', choices=('fast', 'slow'))
    payload__mass: float = parameter(0.0, 'How heavy.', (0.0, math.inf))
    on: bool = parameter(True, 'Whether.')
    known: tuple[bool, ...] = parameter([True], 'Which.')
    joints: tuple[str, ...] = parameter([''], 'Of whom.')


def test_defaults():
    assert snapshot(Table, {}) == Table()
    assert list(specs(Table)) == [
        'rate', 'count', 'gains', 'gravity', 'mode', 'payload.mass', 'on', 'known', 'joints'
    ]  # fmt: skip
    assert Table().gravity == (0.0, 0.0, -9.81)


def test_values_are_taken_by_their_ros_names():
    table = snapshot(Table, {'payload.mass': 2.5, 'gains': [1.0, 2.0], 'on': False})
    assert table == Table(payload__mass=2.5, gains=(1.0, 2.0), on=False)
    assert snapshot(Table, values(table)) == table


@pytest.mark.parametrize(
    ('name', 'value', 'why'),
    [
        ('rate', 100.1, r'rate is 100.1; it must be a finite number in \[0, 100\]'),
        ('rate', -0.1, 'rate is -0.1'),
        ('rate', float('nan'), 'rate is nan'),
        ('payload.mass', float('inf'), 'payload.mass is inf'),
        ('gains', [0.0, -1.0], 'gains is -1.0'),
        ('gains', [0.0, float('nan')], 'gains is nan'),
        ('gravity', [0.0, -9.81], 'gravity has 2 values; it must have 3'),
        ('mode', 'sideways', "mode is 'sideways'; it must be fast or slow"),
        ('count', 0, 'count is 0'),
        ('speed', 1.0, "no parameter 'speed', the nearest is [a-z.]+; there are rate, count"),
        ('on', 'no', "on is 'no'; it must be true or false"),
        ('on', 0, 'on is 0; it must be true or false'),
        ('rate', 'soon', "rate is 'soon'; it must be a number"),
        ('rate', True, 'rate is True; it must be a number'),
        ('rate', None, 'rate is None; it must be a number'),
        ('rate', [1.0], r'rate is \[1.0\]; it must be a number'),
        ('count', 2.0, 'count is 2.0; it must be an integer'),
        ('count', True, 'count is True; it must be an integer'),
        ('mode', 7, 'mode is 7; it must be a text'),
        ('gains', [0.1, 'x'], r"gains is \[0.1, 'x'\]; it must be a list of numbers"),
        ('gains', [0.1, [2.0]], r'gains is .*; it must be a list of numbers'),
        ('gains', 0.1, 'gains is 0.1; it must be a list of numbers'),
        ('known', [True, 'no'], r"known is .*'no'.*; it must be a list of true or false"),
        ('joints', 7, 'joints is 7; it must be a list of texts'),
        ('joints', 'elbow', "joints is 'elbow'; it must be a list of texts"),
    ],
)
def test_an_invalid_value_is_rejected_with_its_name_and_the_expected_one(name, value, why):
    with pytest.raises(ParameterError, match=why):
        snapshot(Table, {name: value})


def test_per_joint_values():
    order, names = ('b', 'a'), ('a', 'b')
    np.testing.assert_array_equal(per_joint('kp', (3.0,), order, names), [3, 3])
    np.testing.assert_array_equal(per_joint('kp', (1.0, 2.0), order), [1, 2])
    np.testing.assert_array_equal(per_joint('kp', (1.0, 2.0), order, names), [2, 1])
    with pytest.raises(ParameterError, match='kp has 3 values; expected one, or 2 for b, a'):
        per_joint('kp', (1.0, 2.0, 3.0), order, names)


def test_joint_order():
    names = ('a', 'b', 'c')
    assert given(('',)) == ()
    assert joint_order(('',), names) == names
    assert joint_order(('c', 'a', 'b'), names) == ('c', 'a', 'b')
    for wrong in (('a', 'b'), ('a', 'b', 'd'), ('a', 'b', 'c', 'c')):
        with pytest.raises(ParameterError, match='must name each of a, b, c once'):
            joint_order(wrong, names)
