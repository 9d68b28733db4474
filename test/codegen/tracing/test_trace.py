# SPDX-License-Identifier: Apache-2.0
"""The recorder: what it folds, what it shares, what it refuses."""

import math

import numpy as np
import pytest

from robot_dynamics.codegen.tracing.trace import Scalar, TraceError, trace
from robot_dynamics.common.errors import RobotDynamicsError


def counts(function, **inputs):
    return trace(function, inputs or {'x': 1, 'y': 1}).operation_counts()


@pytest.mark.parametrize(
    'function',
    [
        lambda x, y: [x[0] * 0.0],
        lambda x, y: [0 + x[0]],
        lambda x, y: [1.0 * x[0]],
        lambda x, y: [x[0] - x[0]],
        lambda x, y: [-(0.0 - x[0])],
        lambda x, y: [x[0] ** 1],
        lambda x, y: [x[0] ** 0],
        lambda x, y: [(x[0] * 0 + 2.0).sin() + (x[0] * 0 + 4.0).sqrt()],
        lambda x, y: [0.0 / x[0]],
        lambda x, y: [x[0].minimum(x[0]), (x[0] * 0 - 1.0).maximum(abs(y[0] * 0 - 2.0))],
    ],
)
def test_operations_without_effect_are_not_recorded(function):
    assert counts(function) == {}


@pytest.mark.parametrize(
    ('function', 'expected'),
    [
        (lambda x, y: [x[0] * y[0], y[0] * x[0]], {'mul': 1}),
        (lambda x, y: [x[0] + y[0], y[0] + x[0]], {'add': 1}),
        (lambda x, y: [(x[0] * 2.0) * 3.0], {'mul': 1}),
        (lambda x, y: [(x[0] + 2.0) - 3.0], {'add': 1}),
        (lambda x, y: [x[0] + -y[0]], {'sub': 1}),
        (lambda x, y: [x[0] - -y[0]], {'add': 1}),
        (lambda x, y: [(-x[0]) * (-y[0])], {'mul': 1}),
        (lambda x, y: [y[0] + (-x[0]) * 3.0], {'mul': 1, 'sub': 1}),
        (lambda x, y: [(-x[0]).sin() + y[0]], {'sin': 1, 'sub': 1}),
        (lambda x, y: [(-x[0]).cos(), x[0].cos()], {'cos': 1}),
        (lambda x, y: [x[0] / 4.0], {'mul': 1}),
        (lambda x, y: [x[0] ** 3], {'mul': 2}),
        (lambda x, y: [x[0] ** -1], {'div': 1}),
        (lambda x, y: [x[0] ** 0.5], {'sqrt': 1}),
        (lambda x, y: [x[0] + x[0]], {'mul': 1}),
        (lambda x, y: [abs(-x[0]), abs(abs(x[0]))], {'fabs': 1}),
        (lambda x, y: [x[0].minimum(y[0]), y[0].minimum(x[0])], {'minimum': 1}),
        (lambda x, y: [x[0].maximum(2.0), (y[0] * 0 + 2.0).maximum(x[0])], {'maximum': 1}),
    ],
)
def test_folding_and_sharing(function, expected):
    assert counts(function) == expected


def test_operations_without_effect_on_a_result_are_dropped():
    def function(x):
        _ = (x[0].sin() + 3.0) * x[1]
        return [x[0] + x[1]]

    assert counts(function, x=2) == {'add': 1}


def test_signature_names_inputs_and_shapes(pendulum):
    program = trace(*pendulum, name='pendulum', outputs=('tau', 'energy', 'R'))
    assert program.signature.inputs == (('q', 1), ('qd', 1), ('length', 1))
    assert program.signature.outputs == (('tau', (1,)), ('energy', ()), ('R', (2, 2)))
    assert program.signature.output_sizes == [1, 1, 4]


def test_operands_precede_their_use(pendulum):
    program = trace(*pendulum)
    for index, node in enumerate(program.nodes):
        if node[0] not in ('input', 'constant'):
            assert all(i < index for i in node[1:])


def test_numpy_object_arrays_record():
    def function(x, y):
        A = np.array([x, y, [y[1], 2.0 * x[0], x[2]]], dtype=object)
        v, w = np.array(x, dtype=object), np.array(y, dtype=object)
        return np.sin(A) @ v + np.float64(2.0) * np.cross(v, w)

    assert trace(function, {'x': 3, 'y': 3}).signature.outputs == (('out', (3,)),)


def test_digest_sees_every_change_and_nothing_else():
    def digest(factor, name='program'):
        return trace(lambda x: [factor * x[0]], {'x': 1}, name=name).digest()

    assert digest(2.0) == digest(2.0)
    assert len({digest(2.0), digest(np.nextafter(2.0, 3.0)), digest(2.0, 'other')}) == 3


@pytest.mark.parametrize(
    'function',
    [
        lambda x: [1.0 if x[0] > 0 else 2.0],
        lambda x: [x[0] if x[0] else 1.0],
        lambda x: [1.0 if x[0] == 0.0 else 2.0],
        lambda x: [math.sin(x[0])],
        lambda x: [float(x[0])],
        lambda x: np.array([x[0]], dtype=float),
        lambda x: [x[0] ** x[1]],
        lambda x: [x[0] ** 1.5],
        lambda x: [x[0] / 0.0],
        lambda x: [x[0] * math.inf],
        lambda x: [x[0] * math.nan],
        lambda x: [(x[0] * 0 - 1.0).sqrt()],
        lambda x: [[x[0]], [x[0], x[1]]],
        lambda x: ['text'],
        lambda x: [1j],
        lambda x: (),
    ],
)
def test_what_cannot_be_recorded_is_rejected(function):
    with pytest.raises(TraceError):
        trace(function, {'x': 2})


def test_unsupported_operands_are_left_to_python():
    with pytest.raises(TypeError):
        trace(lambda x: [x[0] + 'a'], {'x': 1})
    with pytest.raises(TypeError):
        trace(lambda x: [x[0] * 1j], {'x': 1})


def test_recordings_do_not_mix():
    kept: list[Scalar] = []
    trace(lambda x: [kept.append(x[0]) or x[0]], {'x': 1})
    with pytest.raises(TraceError, match='two different recordings'):
        trace(lambda x: [x[0] + kept[0]], {'x': 1})


@pytest.mark.parametrize('name', ['sin', 'lambda', '2q', 'out', ''])
def test_unusable_names_are_rejected(name):
    with pytest.raises(RobotDynamicsError, match='cannot name'):
        trace(lambda x: [x[0]], {name: 1})


def test_number_of_names_must_match_the_outputs():
    with pytest.raises(TraceError, match='2 outputs'):
        trace(lambda x: (x, x), {'x': 1}, outputs=('a',))
