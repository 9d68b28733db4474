# SPDX-License-Identifier: Apache-2.0
"""Example linkages: assembly, lengths, mobility."""

from dataclasses import replace

import linkages
import numpy as np
import pytest

from robot_dynamics.common.errors import LoopNotClosed
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.inertia import inconsistency
from robot_dynamics.core.model.robots import five_bar
from robot_dynamics.simulation.closed_chains import ClosedChain

LINKAGES = ['five_bar_linkage', 'four_bar', 'slider_crank', 'spatial_four_bar', 'bennett']


@pytest.mark.parametrize('name', LINKAGES)
def test_every_linkage_is_ready_to_use(name):
    linkage = getattr(linkages, name)()
    model = linkage.tree
    assert model.name == name
    chain = ClosedChain(Dynamics(model), linkage.closures, near=linkage.near)
    assert np.abs(chain.q0 - linkage.near).max() < 0.6  # it is near
    assert chain.conditioning(chain.q0) > 0.01
    assert [inconsistency(model.inertial(i)) for i in range(model.nb)] == [None] * model.nb


def test_the_five_bar_is_that_of_the_samples_cut_open():
    tree, mapped = linkages.five_bar_linkage().tree, five_bar()
    q = np.array([0.3, -0.8])
    M = Dynamics(tree).mass_matrix(mapped.S @ q + mapped.s0)
    assert np.abs(mapped.S.T @ M @ mapped.S - Dynamics(mapped).mass_matrix(q)).max() < 1e-14


def test_the_spatial_couplers_length_is_kept():
    linkage = linkages.spatial_four_bar(coupler=0.95)
    chain = ClosedChain(Dynamics(linkage.tree), linkage.closures, near=linkage.near)
    q = chain.posture(chain.q0 + 0.2)
    ends = [chain.arm.forward_kinematics(q, frame)[:3, 3] for frame in ('cross', 'rocker_end')]
    assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(0.95, abs=1e-12)


def test_bennetts_linkage_moves_only_with_its_own_lengths():
    linkage = linkages.bennett()
    placement = linkage.tree.frame_placement.copy()
    placement[5, 0, 3] *= 1.01  # the base is 1 % too long
    tree = replace(linkage.tree, frame_placement=placement)
    with pytest.raises(LoopNotClosed):
        ClosedChain(Dynamics(tree), linkage.closures, near=linkage.near)
