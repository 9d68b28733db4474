# SPDX-License-Identifier: Apache-2.0
"""The same arm with links in frames fixed to those of its joints: equal estimates and causes."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from arms_to_identify import recorded, wrong
from rerooted import rerooted

from robot_dynamics.common.spatial import inverse_pose
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.evaluation import evaluate
from robot_dynamics.identification.estimation.identified_files import (
    estimated_links,
    identified_urdf,
)
from robot_dynamics.identification.payload.payload import estimate_payload
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.urdf.writing import to_urdf

MEANT = 'ignore::UserWarning', 'ignore::robot_dynamics.InertialWarning', 'ignore:invalid value'
pytestmark = [pytest.mark.filterwarnings(one) for one in MEANT]
LINK = 'link3'
# It permutes and reverses axes, so that errors of a vector are those of its components.
TURN = np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
TOOL = """
<link name="tool"><inertial><origin xyz="0.02 -0.05 0.1" rpy="0.4 0.2 -0.3"/><mass value="{}"/>
  <inertia ixx="0.004" ixy="0.0005" ixz="0" iyy="0.005" iyz="0.001" izz="0.003"/></inertial></link>
<joint name="mount" type="fixed"><origin xyz="0.1 0.2 -0.3" rpy="0.5 -0.4 1.2"/>
  <parent link="link3"/><child link="tool"/></joint>
</robot>"""


def described(tool):
    """Return the description of an arm with a tool of a mass [kg], and the same one re-rooted."""
    arm = random_tree(3, np.random.default_rng(8), branching=0.0, prismatic=0.0)
    plain = to_urdf(arm).replace('</robot>', TOOL.format(tool))
    return plain, rerooted(plain, np.random.default_rng(1), TURN).decode()


@pytest.fixture(scope='module')
def models():
    return [parse_urdf(text) for text in described(0.4)]


@pytest.fixture(scope='module')
def place(models):
    """Return the pose of the link of one arm in that of the other."""
    one, other = (model.frame_placement[model.frame_index(LINK)] for model in models)
    return inverse_pose(one) @ other


def test_a_payload_is_the_same_in_either_frame(models, place):
    true = models[0].with_payload(LINK, 0.8, [0.05, -0.1, 0.15], 0.01 * np.eye(3))
    run = recorded(true, duration=8.0, rate=100.0)
    one, other = (
        estimate_payload(Dynamics(model), run, LINK, scale_error=0.1) for model in models
    )
    R, p = place[:3, :3], place[:3, 3]
    assert one.mass == pytest.approx(0.8, abs=5 * one.mass_error)
    assert other.mass == pytest.approx(one.mass, rel=1e-6)
    assert other.mass_error == pytest.approx(one.mass_error, rel=1e-4)
    np.testing.assert_allclose(R @ other.com + p, one.com, atol=1e-6)
    np.testing.assert_allclose(np.abs(R) @ other.com_error, one.com_error, rtol=2e-2)
    np.testing.assert_allclose(R @ other.inertia @ R.T, one.inertia, atol=1e-6)


def test_causes_are_the_same(models):
    heavier = replace(models[0], mass=models[0].mass * [1.0, 1.0, 1.3])
    true = heavier.with_actuation(coulomb=[0.5, 0.0, 0.0])
    run = recorded(true, duration=8.0, rate=100.0)
    one, other = (evaluate(Dynamics(model), run) for model in models)
    np.testing.assert_allclose(other.rms_residual, one.rms_residual, rtol=1e-9)
    assert [cause.kind for cause in one.causes]
    for cause, same in zip(one.causes, other.causes, strict=True):
        assert (same.kind, same.joint) == (cause.kind, cause.joint)
        assert same.place.removesuffix('_frame') == cause.place
        assert same.size == pytest.approx(cause.size, rel=1e-6)


@pytest.mark.parametrize('tool', [0.4, 9.0])
def test_links_of_a_written_description_add_up_to_the_bodies(tool):
    """The heaviest link of a body is estimated, in its own frame; the others keep theirs."""
    kept = []
    for text in described(tool):
        model = parse_urdf(text)
        estimated = estimated_links(model, text)
        kept.append(estimated.kept)
        assert estimated.links == ('link1', 'link2', 'tool' if tool > 1 else LINK)
        true = wrong(model, seed=3)
        found = SimpleNamespace(
            description=model,
            inertia=SimpleNamespace(theta=true.inertial_parameters()),
            fit=SimpleNamespace(estimate=SimpleNamespace(X=np.tile(2 * np.eye(4), (3, 1, 1)))),
            drives=SimpleNamespace(excited=np.ones(3, dtype=bool)),
            coupling=None,
            model=true,
        )
        again = parse_urdf(identified_urdf(found, text.encode(), estimated))
        theta = true.inertial_parameters()
        size = np.abs(theta).max()
        np.testing.assert_allclose(again.inertial_parameters(), theta, atol=1e-7 * size)
    np.testing.assert_allclose(kept[1], kept[0], atol=1e-12 * size)
    assert np.abs(kept[0][2]).max() > 0.1
