# SPDX-License-Identifier: Apache-2.0
"""Masses that are compared with each other, and with the weight on the data sheet."""

import clean_robots
import faults
import pytest

from robot_dynamics.check.examination import examine

MASS = 'inertial/mass/@value'
PARTS = [f'part_{i}' for i in range(4)]


@pytest.fixture
def folder(tmp_path):
    result = tmp_path / 'robot'
    result.mkdir()
    return result


def findings(text, folder, *kinds, **options):
    file = folder / 'robot.urdf'
    file.write_bytes(text)
    return [f for f in examine(file, [folder], **options).findings if f.kind in kinds]


def boxes(folder, density=None):
    """Return four boxes: of one density, or of densities 900 to 3000."""
    text = clean_robots.arm(folder, 1, n=4, shapes=('box',)).encode()
    for part in PARTS if density else ():
        at = faults.Numbers(text, 'link', part)
        sizes = faults.numbers(at.element.find('collision/geometry/box').get('size'))
        mass = density * sizes[0] * sizes[1] * sizes[2]
        text = at.changed({MASS: mass}, ()).text
    return text


@pytest.mark.parametrize(('density', 'material'), [(7850.0, 'steel'), (1000.0, '')])
def test_parts_of_one_solid_density_are_a_remark(folder, density, material):
    (found,) = findings(boxes(folder, density), folder, 'density-uniform')
    assert found.severity == 'info'
    assert f'{density:g} kg/m^3' in found.message
    assert material in found.message
    assert not findings(boxes(folder), folder, 'density-uniform', 'density-contrast')


@pytest.mark.parametrize(
    ('factor', 'seen'), [(7.0, 'more than 6 times'), (1 / 7, 'less than 1/6'), (4.0, '')]
)
def test_a_part_of_another_density_than_its_neighbours_is_a_remark(folder, factor, seen):
    text = faults.scaled_mass(boxes(folder, 1500.0), 'part_1', factor).text
    found = findings(text, folder, 'density-contrast')
    assert [f.element for f in found] == (['part_1'] if seen else [])
    assert all(seen in f.message and f.severity == 'info' and not f.repair for f in found)


def weighed(folder, share, base=''):
    """Return the findings with the data sheet's weight, of which the masses are a share."""
    text = boxes(folder)
    total = sum(faults.Numbers(text, 'link', part).get(MASS) for part in PARTS)
    if base:
        total += 5.0
        text = text.replace(b'<link name="pedestal"/>', base.encode())
    return findings(text, folder, 'weight', weight=total / share)


@pytest.mark.parametrize(('share', 'named'), [(0.5, 1), (0.8, 0), (1.0, 0), (1.2, 1)])
def test_masses_without_a_base_are_compared_with_the_weight(folder, share, named):
    found = weighed(folder, share)
    assert len(found) == named
    assert all('without a base' in f.message and f.severity == 'warning' for f in found)


@pytest.mark.parametrize(('share', 'named'), [(0.8, 1), (1.0, 0), (1.2, 1)])
def test_masses_with_a_base_are_compared_with_the_weight(folder, share, named):
    base = (
        '<link name="pedestal"><inertial><mass value="5"/><inertia ixx="0.1" ixy="0" ixz="0" '
        'iyy="0.1" iyz="0" izz="0.1"/></inertial></link>'
    )
    found = weighed(folder, share, base)
    assert len(found) == named
    assert all(f'{100 * (share - 1):+.0f} %' in f.message for f in found)
