# SPDX-License-Identifier: Apache-2.0
"""Errors of friction cover unlike motions; viscous and Coulomb friction closest to another law."""

from dataclasses import replace

import numpy as np
import pytest
from arms_to_identify import load_memory, recorded, wrong

from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coulomb import sliding_direction
from robot_dynamics.core.model.joint_values import rms
from robot_dynamics.identification.estimation.estimation import identify
from robot_dynamics.urdf.loading import load_urdf

ELBOW = load_urdf(share_file('urdf/planar_2r.urdf'))
TRUE = wrong(ELBOW, viscous=0.4, coulomb=0.3)


def friction_at(share, further):
    """Return the friction that is identified at a share of the speed of one path.

    Args:
        share: of the speed.
        further: friction of velocities (k, n) beside viscous and Coulomb friction.
    """
    path = recorded(TRUE, noise=0.0, rate=200.0)
    t, qd = path.t / share, share * path.qd
    one = recorded(TRUE, motion=(t, path.q, qd, np.gradient(qd, t, axis=0)), noise=0.003)
    one = replace(one, effort=one.effort + further(qd))
    return identify(Dynamics(ELBOW), one, friction='coulomb').friction


def differences(further):
    """Return differences (n, terms) of friction at half the speed, and their stated errors."""
    fast, slow = friction_at(1.0, further), friction_at(0.5, further)
    return slow.coefficients - fast.coefficients, np.hypot(slow.error, fast.error)


@pytest.mark.slow
def test_errors_cover_slower_motion_where_viscous_friction_is_no_straight_line():
    # Its slope falls with the speed, as in lubricated gears.
    difference, error = differences(lambda qd: 2.0 * np.arctan(qd))
    assert (difference[:, 0] > 0.3).all()
    assert (np.abs(difference) < 2 * error).all()
    assert (error[:, 0] < 3 * difference[:, 0]).all()


@pytest.mark.slow
def test_errors_are_as_small_as_before_where_the_law_holds():
    difference, error = differences(np.zeros_like)
    assert (np.abs(difference) < 3 * error).all()
    assert (error < 0.1 * np.array([0.4, 0.3])).all()


def test_friction_of_a_urdf_is_the_closest_to_a_law_with_load():
    friction = load_memory([0.4, 0.4], [0.5, 0.5], [0.2, 0.2])
    one = recorded(wrong(ELBOW), duration=10.0, rate=200.0, friction=friction, noise=0.003)
    found = identify(Dynamics(ELBOW), one, friction='load_memory', cutoff=8.0)
    terms = found.fit.terms
    actual = np.einsum('kjt,jt->kj', terms.features, found.fit.estimate.friction)
    speed = terms.features[:, :, 0]

    def left(viscous, coulomb):
        return rms(actual - viscous * speed - coulomb * sliding_direction(speed))

    model, by_term = found.model, found.friction.coefficients.T
    least = left(model.viscous, model.coulomb)
    assert (least < 0.6 * left(*by_term[:2])).all()
    for factor in (0.9, 1.1):
        assert (least < left(factor * model.viscous, model.coulomb) + 0.01 * least).all()
        assert (least < left(model.viscous, factor * model.coulomb)).all()
