# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments raise the same error in every library: ShapeError, which names the argument."""

import importlib.util

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.common.errors import ShapeError
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.export.interop import differentiable

ARM = rd.Dynamics(planar_2r())
LINK = ARM.model.link_names[-1]
FUNCTIONS = {
    'inverse_dynamics': ({}, 'qdd'),
    'forward_dynamics': ({}, 'tau'),
    'simulation_step': ({'time_step': 1e-3}, 'tau'),
}
# Argument, its value, and a part of the message.
WRONG = {
    'too long': ('q', np.zeros(3), r'q has shape \(3,\)'),
    'too short': ('qd', np.zeros((5, 1)), r'qd has shape \(5, 1\)'),
    'a number': ('qd', np.zeros(()), r'qd has shape \(\)'),
    'payload too long': ('payload', np.zeros(11), r'payload has shape \(11,\)'),
    'payload too short': ('payload', np.zeros((5, 9)), r'payload has shape \(5, 9\)'),
    'payload a number': ('payload', np.zeros(()), r'payload has shape \(\)'),
    'other samples': ('q', np.zeros((4, 2)), r'do not broadcast'),
    'other payloads': ('payload', np.zeros((4, 10)), r'do not broadcast'),
}


@pytest.fixture(autouse=True)
def float64():
    """Switch it on in JAX, where that is installed."""
    if importlib.util.find_spec('jax') is None:
        yield
        return
    config = importlib.import_module('jax').config
    before = config.read('jax_enable_x64')
    config.update('jax_enable_x64', True)
    yield
    config.update('jax_enable_x64', before)


def numpy_function(name, **options):
    return getattr(differentiable, name)(ARM, **options).value, np.asarray


def library_function(name, payload=None, **options):
    if payload is not None:
        pytest.skip('with_payload takes the place of the argument')
    call = (
        ARM.simulation_step('semi_implicit_euler').bind(time_step=[1e-3])
        if options
        else getattr(ARM, name)
    )
    return call, np.asarray


def jax_function(name, **options):
    jax = pytest.importorskip('jax')
    module = importlib.import_module('robot_dynamics.export.interop.jax')
    return getattr(module, name)(ARM, **options), jax.numpy.asarray


def torch_function(name, **options):
    torch = pytest.importorskip('torch')
    module = importlib.import_module('robot_dynamics.export.interop.torch')
    return getattr(module, name)(ARM, **options), torch.from_numpy


BRIDGES = [library_function, numpy_function, jax_function, torch_function]


@pytest.mark.parametrize('wrong', WRONG)
@pytest.mark.parametrize('name', FUNCTIONS)
@pytest.mark.parametrize('bridge', BRIDGES, ids=lambda one: one.__name__)
def test_a_wrong_shape_is_a_shape_error_that_names_the_argument(bridge, name, wrong):
    options, third = FUNCTIONS[name]
    argument, value, message = WRONG[wrong]
    values = dict.fromkeys(('q', 'qd', third), np.zeros((5, 2)))
    if 'payload' in wrong:
        values['payload'], options = np.zeros((5, 10)), options | {'payload': LINK}
    call, converted = bridge(name, **options)
    call(*map(converted, values.values()))
    values[argument] = value
    with pytest.raises(ShapeError, match=message):
        call(*map(converted, values.values()))
