# SPDX-License-Identifier: Apache-2.0
"""The written description: every link is consistent, whatever the motion excites."""

from dataclasses import replace

import numpy as np
import pytest
from arms_to_identify import recorded, wrong
from definite import is_definite
from tiers import soak

from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.inertia import Inertial, inconsistency
from robot_dynamics.identification.estimation.estimation import identify
from robot_dynamics.identification.estimation.identified_files import (
    estimated_links,
    identified_urdf,
)
from robot_dynamics.urdf.editing import edited, inertial_changes
from robot_dynamics.urdf.elements import link_inertial
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.urdf.reader import read_urdf

URDF = share_file('urdf/panda.urdf').read_bytes()
CHAIN = {'tip_link': 'panda_link8'}


def inertials(urdf):
    return {link.name: link_inertial(link) for link in read_urdf(urdf).links}


@pytest.mark.slow
@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('link', [*soak(['panda_link1', 'panda_link8']), 'panda_link0'])
def test_an_inconsistent_link_is_rewritten_however_little_it_changes(link):
    body = inertials(URDF)[link]
    # 2 % beyond the triangle inequality, on a link that torques hardly show, if at all.
    mass = max(body.mass, 0.2)
    tensor = mass * 0.01 * np.diag([1.0, 1.0, 2.02])
    urdf = edited(URDF, inertial_changes(link, Inertial(mass, body.com, tensor)))
    assert inconsistency(inertials(urdf)[link])
    model = parse_urdf(urdf, **CHAIN)
    estimated = estimated_links(model, urdf)
    true = wrong(parse_urdf(URDF, **CHAIN), viscous=1.0, coulomb=0.6)
    found = identify(Dynamics(model), recorded(true, rate=200.0), kept=estimated.kept)
    still = found.fit.estimate
    unchanged = replace(still, X=np.tile(np.eye(4), (7, 1, 1)))
    for fit in (found.fit, replace(found.fit, estimate=unchanged)):
        written = identified_urdf(replace(found, fit=fit), urdf, estimated)
        assert all(inconsistency(one) is None for one in inertials(written).values())
    # The links of the file add up to the identified bodies; less than 1e-3 is no change.
    again = parse_urdf(identified_urdf(found, urdf, estimated), **CHAIN)
    parts = again.inertial_parameters().reshape(-1, 10)
    expected = found.inertia.theta.reshape(-1, 10)
    assert np.abs(parts - expected).max() < 1e-3 * np.abs(expected).max()
    assert all(is_definite(again.inertial(i)) for i in range(7))
