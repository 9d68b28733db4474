# SPDX-License-Identifier: Apache-2.0
"""Single faults in descriptions whose numbers are right are named, and slips repaired exactly."""

from collections import defaultdict
from xml.etree import ElementTree

import clean_robots
import faults
import numpy as np
import pytest
import robots
from tiers import slow, soak

from robot_dynamics.check.examination import examine

NAMED, REPAIRED = 0.95, 0.85
DEGREE = np.pi / 180


def faults_of_links(text, links):
    """Yield one fault per kind and link."""
    for factor in (1e3, 1e-3):
        yield from (faults.scaled_mass(text, link, factor) for link in links)
    for factor in (1e9, 1e7, 1e6):
        yield from (faults.scaled_tensor(text, link, factor) for link in links)
    for fault in (
        faults.com_in_mm,
        faults.tensor_about_origin,
        faults.negated_products,
        faults.swapped,
        faults.removed_inertial,
        faults.duplicated,
    ):
        yield from (fault(text, link) for link in links)
    yield from (faults.scaled_moment(text, link, 'izz', 10) for link in links)
    yield from (faults.scaled_moment(text, link, 'ixx', -1) for link in links)
    if len(links) > 2:
        yield faults.default_inertials(text, links[:3])
        yield faults.default_inertials(text, links[:3], 1.0, 0.01)


def faults_of_joints(text, joints):
    """Yield one fault per kind and joint."""
    limit = faults.limit
    for j in joints:
        yield limit(text, j, 'effort', lambda value: 0.0, ('limit-zero',), repairs=False)
        yield limit(text, j, 'velocity', lambda value: 0.0, ('limit-zero',), repairs=False)
        yield limit(text, j, 'effort', lambda value: 1e3 * value, ('limit-absurd',), repairs=False)
        yield limit(text, j, 'velocity', lambda value: value / DEGREE, ('limit-degrees',))
        yield faults.limits_in_degrees(text, j)
        yield faults.axis(text, j, 0)
        yield faults.axis(text, j, 2)


class Tally:
    """Faults tried, named and repaired, by kind."""

    def __init__(self):
        self.rows = defaultdict(lambda: np.zeros(4, dtype=int))
        self.missed = []

    def add(self, fault, folders, file):
        """Examine the description of a fault."""
        file.write_bytes(fault.text)
        found = [
            finding
            for finding in examine(file, folders).findings
            if finding.element == fault.element and finding.severity != 'info'
        ]
        named = any(finding.kind in fault.kinds for finding in found)
        repaired = any(same(fault.repair, finding.repair) for finding in found)
        slip = bool(fault.repair)
        self.rows[fault.kinds[0]] += (1, named, slip, slip and repaired)
        if not named or (slip and not repaired):
            self.missed.append((fault.kinds[0], fault.element, [f.message for f in found]))

    def check(self):
        """Print the table and compare the totals with what is wanted."""
        print(f'\n{"fault":22} tried named  slips repaired')
        for kind, (tried, named, slips, repaired) in sorted(self.rows.items()):
            print(f'{kind:22} {tried:5} {named:5}  {slips:5} {repaired:8}')
        tried, named, slips, repaired = sum(self.rows.values())
        print(f'{"all":22} {tried:5} {named:5}  {slips:5} {repaired:8}')
        assert tried >= 75
        assert named >= NAMED * tried, self.missed
        assert repaired >= REPAIRED * slips, self.missed


def same(expected, repairs):
    """Return whether repairs restore the attributes, to 1e-6, and change no other."""
    got = {repair.attribute: repair.new for repair in repairs}
    return set(got) == set(expected) and all(
        np.allclose(got[path], value, rtol=1e-6, atol=1e-12) for path, value in expected.items()
    )


@pytest.fixture
def folder(tmp_path):
    result = tmp_path / 'robot'
    result.mkdir()
    return result


@pytest.mark.slow
def test_single_faults_are_named_and_slips_repaired(folder):
    tally = Tally()
    file = folder / 'robot.urdf'
    for seed, source in ((0, 'collision'), (1, 'visual')):
        text = clean_robots.arm(folder, seed, n=3, source=source).encode()
        tried = [
            *faults_of_links(text, [f'part_{i}' for i in range(3)]),
            *faults_of_joints(text, ['hinge_1', 'hinge_2']),
            faults.mass_on_frame(text, 'flange'),
        ]
        for fault in tried:
            tally.add(fault, [folder], file)
    text = clean_robots.two_arms(folder, 5).encode()
    for joint in ('l_hinge0', 'r_hinge1'):
        tally.add(faults.axis(text, joint, -1), [folder], file)
    tally.check()


@pytest.mark.slow
def test_slips_are_repaired_by_the_mirrored_twin_without_geometry(folder):
    tally = Tally()
    for seed in (0, 1, 2):
        root = ElementTree.fromstring(clean_robots.two_arms(folder, seed))
        for link in root.findall('link'):
            for visual in link.findall('visual'):
                link.remove(visual)
        text = ElementTree.tostring(root)
        # The mesh parts have no plane of symmetry: their products of inertia tell.
        (k,) = (i for i in range(3) if (i + seed) % 3 == 0)
        for link in (f'l{k}', f'r{k}'):
            for fault in (
                *(faults.scaled_tensor(text, link, 10.0**n) for n in (9, 7, 6)),
                *(faults.scaled_mass(text, link, factor) for factor in (1e3, 1e-3)),
                *(faults.scaled_moment(text, link, f'i{x}{x}', -1) for x in 'xyz'),
                *(faults.scaled_moment(text, link, f'i{x}{x}', 100) for x in 'xyz'),
                faults.com_in_mm(text, link),
                faults.swapped(text, link),
            ):
                tally.add(fault, [], folder / 'robot.urdf')
    tally.check()


def test_the_twin_tells_a_unit_that_geometry_tells_less_well(tmp_path):
    path = robots.example_robot_data() / 'a1_description/urdf/a1.urdf'
    fault = faults.scaled_tensor(path.read_bytes(), 'RL_calf', 1e6)
    file = tmp_path / 'robot.urdf'
    file.write_bytes(fault.text)
    (found,) = (f for f in examine(file, path.parents).findings if f.severity != 'info')
    assert (found.element, found.kind) == ('RL_calf', 'inertia-unit')
    assert same(fault.repair, found.repair)


@pytest.mark.parametrize('link', ['RR_calf', 'FL_calf'])
def test_two_swapped_moments_are_swapped_back_where_two_are_nearly_equal(tmp_path, link):
    path = robots.example_robot_data() / 'laikago_description/urdf/laikago.urdf'
    fault = faults.swapped(path.read_bytes(), link)
    file = tmp_path / 'robot.urdf'
    file.write_bytes(fault.text)
    (found,) = (f for f in examine(file, path.parents).findings if f.severity != 'info')
    assert (found.element, found.kind) == (link, 'inertia-permuted')
    assert same(fault.repair, found.repair)


@pytest.mark.parametrize('side', [*slow(['left']), *soak(['right'])])
@pytest.mark.parametrize(
    'joint', ['shoulder_pitch', *soak(['shoulder_yaw', 'hip_roll', 'wrist_yaw'])]
)
def test_a_flipped_joint_of_a_real_robot_is_named_and_repaired(tmp_path, side, joint):
    path = robots.example_robot_data() / 'g1_description/urdf/g1_29dof_rev_1_0.urdf'
    fault = faults.axis(path.read_bytes(), f'{side}_{joint}_joint', -1)
    file = tmp_path / 'robot.urdf'
    file.write_bytes(fault.text)
    found = [f for f in examine(file, path.parents).findings if f.kind == 'joint-flipped']
    assert [f.element for f in found] == [fault.element]
    assert same(fault.repair, found[0].repair)


@pytest.mark.parametrize(
    'name',
    soak(['xarm_description/urdf/xarm7.urdf', 'g1_description/urdf/g1_29dof_rev_1_0.urdf']),
)
def test_single_faults_of_real_robots(tmp_path, name):
    """Units, limits, axes and gross tensors: what the meshes of real robots can tell."""
    path = robots.example_robot_data() / name
    text = path.read_bytes()
    robot = examine(path).robot
    moving = [j for j in robot.joints.values() if j.moves and j.effort][:6]
    heavy = [j.child for j in moving if robot.links[j.child].body.mass > 0.1]
    tally = Tally()
    folders = [*path.resolve().parents]
    for link in heavy:
        for fault in (
            *(faults.scaled_mass(text, link, factor) for factor in (1e3, 1e-3)),
            *(faults.scaled_tensor(text, link, factor) for factor in (1e9, 1e6)),
            faults.com_in_mm(text, link),
            faults.tensor_about_origin(text, link),
            faults.scaled_moment(text, link, 'ixx', -1),
            faults.removed_inertial(text, link),
            faults.duplicated(text, link),
        ):
            tally.add(fault, folders, tmp_path / 'robot.urdf')
    for fault in faults_of_joints(text, [joint.name for joint in moving]):
        tally.add(fault, folders, tmp_path / 'robot.urdf')
    tally.check()
