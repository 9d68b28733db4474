# SPDX-License-Identifier: Apache-2.0
"""Friction that depends on the load: the torque that the drive transmits, rotors included."""

from dataclasses import replace

import numpy as np
import pytest
from arms_to_identify import load_memory, recorded, wrong
from tiers import slow, soak

from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification.estimation.estimation import identify
from robot_dynamics.urdf.loading import load_urdf


@pytest.mark.parametrize('sign', [*slow([1.0]), *soak([-1.0])])
def test_the_load_that_identify_takes_includes_the_rotors(sign):
    described = load_urdf(share_file('urdf/panda.urdf'), tip_link='panda_link8')
    n, rotors = described.n, np.full(described.n, 0.5)
    true = wrong(described, rotor_inertia=rotors)
    law = load_memory([0.5] * n, [0.4] * n, [0.2] * n)
    one = recorded(true, 1, duration=16.0, rate=200.0, noise=0.002, friction=law)
    one = replace(one, effort=sign * one.effort)
    found = identify(Dynamics(described), one, friction='load_memory', effort_scale=sign)
    load = found.friction.coefficients[:, found.friction.law.terms.index('load')]
    assert np.abs(load - 0.2).max() < 0.01
    assert np.abs(found.drives.rotor_inertia - rotors).max() < 0.02
