# SPDX-License-Identifier: Apache-2.0
"""Limits of a joint that turns the other way: the same findings, with the opposite repairs."""

import re

import numpy as np
import pytest

from robot_dynamics.check.description import read_description
from robot_dynamics.check.joint_rules import limit_findings

LINK = (
    '<link name="{}"><inertial><mass value="1"/><inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" '
    'iyz="0" izz="0.04"/></inertial></link>'
)
JOINT = (
    '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/>'
    '<limit lower="{!r}" upper="{!r}" effort="50" velocity="2"/></joint>'
)
OTHERS = [
    [],
    [(-1.0, 1.0), (-2.0, 2.0), (-1.5, 1.5)],
    [(-1.0, 0.1), (-2.0, 0.3), (-1.5, -0.5)],
]


def found(ends, kind, twin, others):
    """Return the findings about the limits of the first of some joints."""
    rows = [(kind, ends), *(('revolute', row) for row in others)]
    names = [f'part{k}' for k in range(len(rows) + 1)]
    joints = [
        JOINT.format(f'j{k}', kind, names[k], names[k + 1], *row)
        for k, (kind, row) in enumerate(rows)
    ]
    text = f'<robot name="arm">{"".join(map(LINK.format, names))}{"".join(joints)}</robot>'
    twins = {} if twin is None else {'j0': twin}
    robot = read_description(text.encode(), ())
    findings = [f for f in limit_findings(robot, twins) if f.element == 'j0']
    repairs = [{r.attribute: (r.old, r.new) for r in f.repair} for f in findings]
    # Their words, with the sizes of the numbers alone.
    words = [sorted(re.sub('[-,]', '', f.message).split()) for f in findings]
    return [(f.kind, f.severity, f.proved) for f in findings], words, repairs


def opposite(ends):
    return None if ends is None else (-ends[1], -ends[0])


@pytest.mark.parametrize(
    ('ends', 'kinds'),
    [
        ((-170.0, 170.0), ['limit-degrees']),
        ((-90.0, 170.0), ['limit-degrees']),
        ((-1.5, 90.0), ['limit-degrees']),  # one end in radians
        ((-0.1, 90.0), ['limit-degrees']),
        ((1.4, 90.0), ['limit-degrees']),
        ((-30.0, 12.0), ['limit-degrees']),
        ((10.0, 100.25), ['limit-degrees']),
        ((10.0, 100.123), ['limit-degrees']),
        ((-1e5, 10.0), ['limit-absurd']),
        ((0.5, 0.5), ['limit-empty']),
        ((0.0, 0.0), ['limit-empty']),
        ((-2.618, 2.168), ['limit-digits']),
        ((-2.168, 2.618), ['limit-digits']),
        ((-0.281, 0.218), ['limit-digits']),
        ((-12.5, 12.0), []),  # two turns
        ((-0.2, 1.9), []),
    ],
)
@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
def test_opposite_limits_have_the_same_findings_and_the_opposite_repairs(ends, kinds, kind):
    for twin in (None, (-1.0, 0.5), (0.5, 1.7), (-0.5, 0.3)):
        for others in OTHERS:
            what, words, repairs = found(ends, kind, twin, others)
            same, said, changed = found(
                opposite(ends), kind, opposite(twin), [opposite(row) for row in others]
            )
            assert (same, said) == (what, words)
            for repair, other in zip(repairs, changed, strict=True):
                turned = {'limit/@lower': 'limit/@upper', 'limit/@upper': 'limit/@lower'}
                expected = {turned[key]: np.negative(pair) for key, pair in repair.items()}
                assert other.keys() == expected.keys()
                for key, pair in expected.items():
                    np.testing.assert_array_equal(other[key], pair)
            if kind == 'revolute':
                assert [one for one, *_ in what] == kinds
            if ends[0] == ends[1] and twin is not None and ends[0] in twin:
                # The range of the twin
                restored = {key: pair[1] for key, pair in repairs[0].items()}
                given = dict.fromkeys(('limit/@lower', 'limit/@upper'), ends[0])
                assert tuple((given | restored).values()) == twin
