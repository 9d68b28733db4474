# SPDX-License-Identifier: Apache-2.0
"""Packages are found by the name in package.xml: given, installed, or at or beside a file."""

import pytest

from robot_dynamics.urdf.packages import LEVELS, package_folder


@pytest.fixture(autouse=True)
def _without_ros(monkeypatch, tmp_path):
    for name in ('AMENT_PREFIX_PATH', 'ROS_PACKAGE_PATH'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('HOME', str(tmp_path / 'home'))


def package(folder, name='arm'):
    folder.mkdir(parents=True)
    (folder / 'package.xml').write_text(f'<package><name> {name} </name></package>')
    return folder


@pytest.mark.parametrize(
    ('place', 'file'),
    [
        ('arm-main', 'arm-main/urdf/robots/a.xacro'),  # a folder above, of another name
        ('ws/arm', 'ws/cell/urdf/a.xacro'),  # beside one
        ('ws/ros2_arm', 'ws/cell/urdf/a.xacro'),  # of another name
        ('ws/src/arm', 'ws/cell/a.xacro'),
    ],
)
def test_a_package_at_or_beside_the_folders_above_a_file(tmp_path, place, file):
    expected = package(tmp_path / place)
    package(tmp_path / 'ws' / 'other', 'arm_driver')
    assert package_folder('arm', tmp_path / file) == expected
    assert package_folder('leg', tmp_path / file) is None


def test_given_folders_precede_installed_ones_and_these_the_checkout(tmp_path, monkeypatch):
    file = package(tmp_path / 'checkout') / 'a.xacro'
    assert package_folder('arm', file) == file.parent
    installed = package(tmp_path / 'ros' / 'share' / 'arm')
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'ros'))
    assert package_folder('arm', file) == installed
    given = package(tmp_path / 'mine' / 'arm-2')
    assert package_folder('arm', file, [given]) == given
    assert package_folder('arm', file, [given.parent]) == given


def test_the_search_ends_at_the_home_folder_and_after_some_levels(tmp_path):
    package(tmp_path / 'arm')
    assert package_folder('arm', tmp_path / 'home' / 'a.xacro') is None
    deep = tmp_path.joinpath(*map(str, range(LEVELS)))
    assert package_folder('arm', deep / 'a.xacro') is None
    assert package_folder('arm', deep.parent / 'a.xacro') == tmp_path / 'arm'


def test_a_malformed_manifest_is_no_package(tmp_path):
    (package(tmp_path / 'broken') / 'package.xml').write_text('<package><name>arm')
    expected = package(tmp_path / 'sound')
    assert package_folder('arm', tmp_path / 'a.xacro') == expected
