# SPDX-License-Identifier: Apache-2.0
"""Clearance: the least distance of all pairs and postures, the floor, and which is missed most."""

import numpy as np
import pytest

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification.excitation.clearance import AT_ONCE, SOFT, Capsule, clearance
from robot_dynamics.urdf.loading import load_urdf

ARM = Dynamics(load_urdf(share_file('urdf/panda.urdf')))
RNG = np.random.default_rng
CAPSULES = [
    Capsule('panda_link0', np.array([[0.0, 0.0, 0.0], [0.1, 0.1, 0.3]]), 0.05),
    Capsule('panda_link4', np.array([[-0.1, 0.0, 0.0], [0.1, 0.05, 0.0]]), 0.04),
    Capsule('panda_link7', np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.2]]), 0.03),
    Capsule('panda_link7', np.array([[0.1, 0.0, 0.1], [0.1, 0.0, 0.1]]), 0.02),  # a sphere
]
# More than are computed at a time, and the same in other order.
POSTURES = RNG(0).uniform(ARM.model.lower, ARM.model.upper, (2 * AT_ONCE + 7, ARM.model.n))


def points(capsule, q, count=101):
    """Return points of a segment in the base frame."""
    start, end = capsule.segment
    inside = start + np.linspace(0, 1, count)[:, None] * (end - start)
    T = ARM.forward_kinematics(q, capsule.link)
    return inside @ T[:3, :3].T + T[:3, 3]


def gap(one, other, q):
    """Return the distance of two capsules in a posture, by points of their segments."""
    a, b = points(one, q), points(other, q)
    return np.linalg.norm(a[:, None] - b, axis=-1).min() - one.radius - other.radius


def kept(**options):
    return clearance(ARM, CAPSULES, **{'distance': 0.02, **options})


def checked(given):
    return [(CAPSULES[a], CAPSULES[b]) for a, b in given.pairs]


def test_only_links_that_more_than_one_joint_separates_are_checked():
    pairs = [(a.link, b.link) for a, b in checked(kept())]
    # Both capsules of link 7, but not with each other.
    assert pairs == [
        ('panda_link0', 'panda_link4'),
        *2 * [('panda_link0', 'panda_link7')],
        *2 * [('panda_link4', 'panda_link7')],
    ]
    neighbours = [CAPSULES[2], CAPSULES[2]._replace(link='panda_link6')]
    assert not len(clearance(ARM, neighbours).pairs)
    assert clearance(ARM, neighbours).nearest(ARM, POSTURES) is None


@pytest.mark.parametrize('order', [slice(None), slice(None, None, -1)])
def test_the_nearest_links_are_those_of_all_postures(order):
    given = kept()
    found, *links = given.nearest(ARM, POSTURES[order])
    gaps = [given.nearest(ARM, q[None]) for q in POSTURES]
    least = min(range(len(gaps)), key=lambda k: gaps[k][0])
    assert (found, *links) == gaps[least]
    for k in (0, 5, AT_ONCE, least):
        wanted = min((gap(a, b, POSTURES[k]), a.link, b.link) for a, b in checked(given))
        assert gaps[k][0] == pytest.approx(wanted[0], abs=2e-3)
        assert gaps[k][1:] == wanted[1:]


@pytest.mark.parametrize('floor', [-2.0, 0.3, 0.9])
def test_the_distance_that_is_missed_most_is_named(floor):
    links = ('panda_link5', 'panda_link7')  # link5 has no capsule: its origin counts
    given = kept(floor=floor, floor_links=links)
    for q in POSTURES[:40]:
        between = min((gap(a, b, q), f'{a.link} and {b.link}') for a, b in checked(given))
        heights = [(ARM.forward_kinematics(q, 'panda_link5')[2, 3], 'panda_link5')]
        heights += [(points(c, q)[:, 2].min() - c.radius, c.link) for c in CAPSULES[2:]]
        low = min(heights)
        # Distances far above the one to be kept are not computed.
        misses = [
            (max(given.distance - between[0], -SOFT), f'the distance of {between[1]}'),
            (floor - low[0], f'the height of {low[1]} above the floor'),
        ]
        lack, what = given.lack(ARM, q[None])
        assert lack == pytest.approx(max(misses)[0], abs=2e-3)
        if abs(misses[0][0] - misses[1][0]) > 5e-3 and max(misses)[0] > -0.9 * SOFT:
            assert what == max(misses)[1]
    # Of several postures the worst.
    alone = [given.lack(ARM, q[None])[0] for q in POSTURES[:40]]
    assert given.lack(ARM, POSTURES[:40])[0] == pytest.approx(max(alone))


def test_a_link_above_the_floor_must_move():
    with pytest.raises(ModelError, match="link 'panda_link0' is fixed to the base"):
        kept(floor=0.0, floor_links=('panda_link0',))


def test_links_that_are_near_in_most_postures_are_not_checked_and_named():
    """A large capsule at the wrist reaches the upper arm in most postures."""
    large = CAPSULES[1]._replace(radius=0.5)
    given = clearance(ARM, [CAPSULES[0], large, CAPSULES[2]])
    assert ('panda_link0', 'panda_link4') in given.unchecked
    assert all((given.links[a], given.links[b]) not in given.unchecked for a, b in given.pairs)


def test_the_penalty_is_that_of_missing_distances_alone():
    given = kept(floor=0.2, floor_links=('panda_link7',))
    values = np.array([given.penalty(ARM, q[None])[0] for q in POSTURES[:60]])
    lacks = np.array([given.lack(ARM, q[None])[0] for q in POSTURES[:60]])
    assert ((values > 0) == (lacks > -SOFT)).all()
    assert 0 < (values > 0).sum() < 60
    total, by_q = given.penalty(ARM, POSTURES[:60])
    assert total == pytest.approx(values.sum())
    assert (by_q.any(axis=1) == (values > 0)).all()
