# SPDX-License-Identifier: Apache-2.0
"""Settings: one declaration gives description, parameters and the check of values."""

import dataclasses
import math

import numpy as np
import pytest
from extensions.docstrings import with_fields

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.settings import (
    EFFORT,
    RATE,
    checked,
    joint_setting,
    setting,
    settings_of,
)
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.ros.parameters import (
    ParameterError,
    group,
    parameter,
    parameter_of,
    parameter_values,
    snapshot,
    specs,
    values,
)
from robot_dynamics.ros.simulator_parameters import SimulatorParameters
from robot_dynamics.simulation import Actuators, Elasticity, Sensors, Servo, SpringDamperStop


@dataclasses.dataclass(frozen=True)
class Motor:
    stiffness: object = joint_setting(
        5.0, 'Stiffness', 'N m/rad', (0.0, 10.0), positive=True, required=True
    )
    kind: str = setting('fast', 'Kind: fast or slow', choices=('fast', 'slow'))
    delay: float = setting(0.0, 'Delay', 's', (0.0, 1.0))
    bandwidth: object = joint_setting(
        math.inf, 'Bandwidth', 'Hz', RATE, 1e-3, zero='no lag', note='Of the torque.'
    )
    offset: object = joint_setting(0.0, 'Offset', 'N m', (-EFFORT[1], EFFORT[1]))


def test_a_description_has_unit_number_and_zero():
    described = {name: one.description for name, one in settings_of(Motor).items()}
    assert described == {
        'stiffness': 'Stiffness, N m/rad, one value or one per joint.',
        'kind': 'Kind: fast or slow.',
        'delay': 'Delay, s.',
        'bandwidth': 'Bandwidth, Hz, one value or one per joint; 0: no lag. Of the torque.',
        'offset': 'Offset, N m, one value or one per joint.',
    }


def test_values_are_those_of_each_joint():
    given = checked(Motor(stiffness=[1.0, 2.0], bandwidth=[3.0, math.inf], offset=-1.0), 2)
    np.testing.assert_array_equal(given.stiffness, [1, 2])
    np.testing.assert_array_equal(given.bandwidth, [3, math.inf])
    np.testing.assert_array_equal(given.offset, [-1, -1])
    assert (given.kind, given.delay) == ('fast', 0.0)


WRONG = [
    ({'kind': 'none'}, "kind of it is 'none'; it must be one of fast, slow"),
    ({'delay': -1.0}, r'delay of it is -1.0 s; it must be finite and not negative'),
    ({'delay': 2.0}, r'delay of it is 2.0 s; it must be in \[0, 1\]'),
    ({'stiffness': 0.0}, 'stiffness of it is 0.0; it must be positive'),
    ({'stiffness': [1.0, 11.0]}, r'stiffness of it is \[1.0, 11.0\]; it must be in \[0, 10\]'),
    ({'stiffness': [1.0] * 3}, r'stiffness of it has shape \(3,\); it must be one number or \(2,'),
    ({'stiffness': math.inf}, 'stiffness of it is inf; it must be finite'),
    ({'bandwidth': 0.0}, 'bandwidth of it is 0.0; it must be positive'),
    ({'bandwidth': [math.inf, 1e-4]}, r'bandwidth of it is .*; it must be in \[0.001, 1e\+06\]'),
    ({'bandwidth': math.nan}, 'bandwidth of it is nan'),
    ({'offset': math.nan}, 'offset of it is nan; it must be finite'),
    ({'offset': -2e9}, r'offset of it is -2000000000.0; it must be in \[-1e\+09, 1e\+09\]'),
]


@pytest.mark.parametrize(('wrong', 'why'), WRONG)
def test_a_value_out_of_range_is_rejected_with_its_name(wrong, why):
    with pytest.raises(ModelError, match=why):
        checked(Motor(**{'stiffness': 1.0, **wrong}), 2, ' of it')


@dataclasses.dataclass(frozen=True)
class Table:
    rate: float = parameter(1.0, 'Rate, Hz.')
    motor: Motor = group(Motor, 'offset', delay=0.5)


def test_parameters_of_a_group_are_those_of_its_settings():
    found = specs(Table)
    assert list(found) == [
        'rate', 'motor.stiffness', 'motor.kind', 'motor.delay', 'motor.bandwidth'
    ]  # fmt: skip
    assert [spec.default for spec in found.values()] == [1.0, [5.0], 'fast', 0.5, [0.0]]
    assert found['motor.bandwidth'].smallest == 1e-3
    assert snapshot(Table, {}) == Table()
    table = snapshot(Table, {'motor.stiffness': [1.0, 2.0], 'rate': 2.0})
    assert table.motor == Motor(delay=0.5, stiffness=(1.0, 2.0), bandwidth=(0.0,))
    assert snapshot(Table, values(table)) == table
    with pytest.raises(ParameterError, match=r'motor.delay is 2.0; it must be a finite number in'):
        snapshot(Table, {'motor.delay': 2.0})


@pytest.mark.parametrize('kind', [Sensors, Actuators, Elasticity, Servo, SpringDamperStop])
def test_what_a_node_accepts_the_library_accepts(kind):
    """The ends of each range, as parameters and as settings."""
    table = dataclasses.make_dataclass(
        'table', [('all', kind, group(kind))], frozen=True, kw_only=True
    )
    required = {name: one.default or 1.0 for name, one in settings_of(kind).items()
                if one.positive}  # fmt: skip
    for name, one in settings_of(kind).items():
        if one.choices:
            continue
        tiny = 1e-9 if one.positive or one.is_limit else 0.0
        for value in (one.smallest or one.bounds[0] or tiny, one.bounds[1]):
            given = [value] if one.per_joint else value
            assert values(snapshot(table, {f'all.{name}': given}))[f'all.{name}'] in (
                value,
                (value,),
            )
            checked(kind(**{**required, name: value}), 3)
        beyond = 1.1 * one.bounds[1]
        with pytest.raises(ModelError, match=f'{name} is {beyond}'):
            checked(kind(**{**required, name: beyond}), 3)
        with pytest.raises(ParameterError, match=f'{name} is {beyond}'):
            snapshot(table, {f'all.{name}': [beyond] if one.per_joint else beyond})


@dataclasses.dataclass(frozen=True)
class DriveTable:
    speed: tuple[float, ...] = parameter_of(FrictionSettings, 'viscous', live=True)


def test_a_negative_parameter_stands_for_none():
    (spec,) = specs(DriveTable).values()
    assert (spec.default, spec.bounds, spec.live) == ([-1.0], (-1e9, 1e9), True)
    assert spec.description == (
        'Viscous friction, N m s/rad or N s/m, one value or one per joint; negative: the '
        "URDF's <dynamics damping>."
    )
    assert DriveTable().speed == (-1.0,)


def test_settings_as_parameters_are_the_same_settings():
    """What a profile gives a node is what the library makes of the profile."""
    sensors = Sensors(effort_noise=[0.1, 0.2], velocity_cutoff=[math.inf, 50.0], latency=1e-3)
    given = parameter_values('sensors', sensors)
    assert (given['sensors.latency'], given['sensors.velocity_cutoff']) == (1e-3, [0.0, 50.0])
    found = snapshot(SimulatorParameters, given).joint_settings('sensors', planar_2r())
    one, other = (vars(checked(each, 2)) for each in (sensors, found))
    for name, value in one.items():
        np.testing.assert_array_equal(other[name], value)
    assert 'friction.viscous' not in parameter_values('friction', FrictionSettings())


def test_the_reference_lists_the_settings_of_a_class():
    lines = with_fields(['Errors of the sensors.'], Sensors)
    assert '    jitter: Random part of that age, uniform from 0 to this, s.' in lines
    for name in settings_of(Sensors):
        assert any(line.startswith(f'    {name}: ') for line in lines)
