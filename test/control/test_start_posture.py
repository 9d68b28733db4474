# SPDX-License-Identifier: Apache-2.0
"""The first posture: measured anew, against random postures of the same robot."""

import warnings

import numpy as np
import pytest

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.resources import bundled_robots
from robot_dynamics.control.start_posture import start_posture
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.kinematics import frame_pose, jacobian
from robot_dynamics.core.model.states import position_range, random_postures
from robot_dynamics.urdf.loading import load_urdf
from robot_dynamics.urdf.robot_files import robots_on_disk

NAMED = ['ur10_robot', 'talos_left_arm', 'kinova']
ON_DISK = sorted(name for name, files in robots_on_disk().items() if len(files) == 1)
OTHERS = [pytest.param(name, marks=[] if name in NAMED else pytest.mark.soak) for name in ON_DISK]


def arm_named(name):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        try:
            model = load_urdf(name)
        except RobotDynamicsError as error:
            pytest.skip(f'{name}: {error}')
    if not model.moving_links:
        pytest.skip(f'{name} has no joint')
    return Dynamics(model)


def tip_of(model):
    """Return a point (3,) of the last moving link, in its frame, that is off its joint."""
    link = model.moving_links[-1]
    k = model.frame_index(link)
    body, placement = int(model.frame_body[k]), model.frame_placement[k]
    com = placement[:3, :3].T @ (model.com[body] - placement[:3, 3])
    here = np.linalg.norm(placement[:3, 3]) > np.linalg.norm(model.com[body])
    return link, np.zeros(3) if here else com


def manipulability(model, q, link, offset):
    """Return the product of the singular values that some posture has, lengths in metres."""
    J = jacobian(model, q, link)
    r = frame_pose(model, q, link)[:3, :3] @ offset
    J[3:] += np.cross(J[:3], r, axis=0)
    return np.linalg.svd(J if np.count_nonzero(J.any(axis=0)) > 5 else J[3:], compute_uv=False)


@pytest.mark.parametrize('name', [*bundled_robots(), *OTHERS])
def test_the_tip_is_high_away_from_limits_and_singularities_and_can_be_held(name):
    arm = arm_named(name)
    model = arm.model
    q = start_posture(arm)
    np.testing.assert_array_equal(q, start_posture(arm))
    # Away from the limits
    lower, upper = position_range(model)
    assert (np.minimum(q - lower, upper - q) >= 0.0999 * (upper - lower)).all()
    others = random_postures(model, 60)
    ratios = [
        np.max(np.abs(arm.inverse_dynamics(x, 0 * x, 0 * x)) / model.effort_limit)
        for x in (q, *others)
    ]
    # Held with the efforts, unless no posture is
    if np.isfinite(ratios).all() and min(ratios) <= 1:
        assert ratios[0] <= 1
    body = int(model.frame_body[model.frame_index(model.moving_links[-1])])
    if not model.S[list(model.support(body))].any(axis=0).all():
        return  # a tree: hands, legs, propellers
    # Held with 60 % of the efforts, or less than in most other postures
    if np.isfinite(ratios).all():
        assert ratios[0] < max(0.6, np.quantile(ratios, 0.25))
    link, offset = tip_of(model)
    # Away from singularities
    values = np.array([manipulability(model, x, link, offset) for x in (q, *others)])
    last = np.flatnonzero(values.max(axis=0) > 1e-6)[-1]
    assert values[0, last] > 0.25 * values[:, last].max()
    # The tip above the base
    heights = [(frame_pose(model, x, link) @ np.append(offset, 1))[2] for x in (q, *others)]
    assert heights[0] >= min(0.05, np.quantile(heights, 0.75) - 1e-9)


def test_ur10_has_no_joint_below_its_base():
    if 'ur10_robot' not in ON_DISK:
        pytest.skip('the package example-robot-data is not installed')
    model = arm_named('ur10_robot').model
    q = start_posture(Dynamics(model))
    for link in model.moving_links:
        assert frame_pose(model, q, link)[2, 3] > 0
