"""Robots for the demonstration's pure parts, and a recording made by hand."""

from array import array

import numpy as np
import pytest
import robots

from robot_dynamics.control import Trajectory
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.urdf import load_urdf
from robot_dynamics.nodes.demo.recording import Piece, Recording
from robot_dynamics.resources import share_file

OURS = ('panda', 'planar_2r', 'scara_rrp', 'puma560')


@pytest.fixture(params=[*(f'ours: {name}' for name in OURS), *robots.NAMES])
def arm(request):
    """Each of our robots and of the real ones, one test after another."""
    name = request.param.removeprefix('ours: ')
    if name != request.param:
        return Dynamics(load_urdf(share_file(f'urdf/{name}.urdf')))
    return Dynamics(robots.load(name))


@pytest.fixture(scope='session')
def panda():
    return Dynamics(load_urdf(share_file('urdf/panda.urdf')))


@pytest.fixture
def recording():
    """One joint that is asked to go from 0 to 1 in a second, and is always 0.25 behind."""
    result = Recording(1)
    result.pieces.append(Piece(0, Trajectory(['j'], [0.0, 1.0], [[0.0], [1.0]])))
    for stamp in range(0, 1_000_000_001, 100_000_000):
        q = stamp / 1e9 - 0.25
        sent = 2 * stamp  # at half of real time
        result.heard_state(stamp, sent, *(array('d', [value]) for value in (q, 1.0, -3.0)))
        result.heard_torque(stamp, sent + 250_000)
        result.heard_answer(result.terms['inertia'], stamp, array('d', [2.0]))
        result.heard_answer(result.residual, stamp, array('d', [3e-9]))
    assert np.allclose(result.error(), -0.25)
    return result
