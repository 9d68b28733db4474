# SPDX-License-Identifier: Apache-2.0
"""Base parameters are determined if their standard errors hardly change the efforts."""

from dataclasses import replace

import numpy as np
import pytest
from arms_to_identify import recorded, wrong

from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification.estimation.base_fit import PREDICTED
from robot_dynamics.identification.estimation.estimation import identify
from robot_dynamics.identification.estimation.identification_report import as_json, text
from robot_dynamics.urdf.loading import load_urdf

ELBOW = load_urdf(share_file('urdf/planar_2r.urdf'))
ARM = Dynamics(ELBOW)


@pytest.mark.parametrize('noise', [0.01, 2.0])
def test_determined_parameters_change_the_efforts_by_little(noise):
    one = recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3), duration=16.0, rate=200.0)
    rng = np.random.default_rng(0)
    disturbed = one.effort + noise * one.effort.std(axis=0) * rng.normal(size=one.effort.shape)
    found = identify(ARM, replace(one, effort=disturbed), friction='coulomb', cutoff=8.0)
    base, effort = found.inertia.base, found.fit.terms.effort
    qdd = np.gradient(one.qd, one.t, axis=0)
    Y = np.concatenate([ARM.regressor(one.q, one.qd, qdd), qdd[:, :, None] * np.eye(2)], axis=2)
    at = [base.all_names.index(name) for name in base.names]
    change = (Y[:, :, at] * base.error).std(axis=0) / effort.std(axis=0)[:, None]
    np.testing.assert_allclose(base.effect, change.max(axis=0), rtol=0.15)
    assert base.determined.tolist() == (base.effect < PREDICTED).tolist()
    assert base.determined.all() == (noise < 1)
    number = base.determined.sum()
    assert f'{number} of {len(base.value)} base parameters determined' in text(found)
    assert as_json(found)['excitation']['determined'] == number


def test_a_parameter_of_a_joint_at_rest_is_not_determined():
    one = recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3), duration=16.0, rate=200.0)
    still = replace(one, q=one.q * [1.0, 0.0], qd=one.qd * [1.0, 0.0])
    found = identify(ARM, still, friction='coulomb', cutoff=8.0)
    base = found.inertia.base
    unseen = ~np.isfinite(base.error)
    assert unseen.any()
    assert not base.determined[unseen].any()
