# SPDX-License-Identifier: Apache-2.0
"""A round armature on all joints is a solver's; others are a motor's, or absent."""

import pytest
from mjcf_text import link, world

from robot_dynamics.check.examination import examine


def chain(armatures, efforts):
    """Return the MJCF of an arm with these values of its joints."""
    text = ''
    for k, (armature, effort) in reversed(list(enumerate(zip(armatures, efforts, strict=True)))):
        values = {'armature': armature, 'actuatorfrcrange': effort and f'{-effort} {effort}'}
        words = ' '.join(f'{name}="{value}"' for name, value in values.items() if value)
        joint = f'<joint name="j{k}" axis="0 1 0" range="-90 90" {words}/>'
        text = link(f'l{k}', joint, text, 'pos="0 0 0.3"')
    return world(text)


@pytest.mark.parametrize(
    ('armatures', 'efforts', 'severity'),
    [
        ([0.1, 0.1, 0.1], [80, 80, 12], 'warning'),
        ([0.1, 0.1, 0.1], [80, 80, 80], 'info'),
        ([0.1, 0.1, 0.1], [0, 0, 0], 'info'),
        ([0.1, 0.1, 0.1, 0], [80, 80, 12, 3], 'warning'),
        ([0.1, 0.1], [80, 12], None),
        ([0.1, 0.1, 0.2], [80, 80, 12], None),
        ([0.028, 0.028, 0.028], [80, 80, 12], None),
        ([0, 0, 0], [80, 80, 12], None),
    ],
)
def test_one_round_armature_is_a_finding(tmp_path, armatures, efforts, severity):
    file = tmp_path / 'arm.xml'
    file.write_text(chain(armatures, efforts))
    found = examine(file).findings
    named = [f for f in found if f.kind == 'armature-solver']
    assert [f.severity for f in named] == ([severity] if severity else [])
    if severity:
        # The last joint that has one carries the least.
        count = sum(map(bool, armatures))
        assert named[0].element == f'j{count - 1}'
        assert f'armature is 0.1 on all {count} joints' in named[0].message
    # MJCF has no limits of velocity.
    assert not any(f.kind == 'limit-zero' for f in found)
