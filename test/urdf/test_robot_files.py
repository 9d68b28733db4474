# SPDX-License-Identifier: Apache-2.0
"""Robots by name: bundled ones, and those of other packages on the disk."""

import re
import shutil

import pytest
import robots

from robot_dynamics import load_urdf
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.resources import bundled_robots
from robot_dynamics.urdf import robot_files
from robot_dynamics.urdf.robot_files import robot_file

DATA = robots.example_robot_data()


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """Return the folder of a cache without robots, and nothing installed elsewhere."""
    monkeypatch.setenv('ROBOT_DESCRIPTIONS_CACHE', str(tmp_path / 'cache'))
    monkeypatch.setattr(robot_files.sysconfig, 'get_path', lambda _: str(tmp_path))
    monkeypatch.setattr(robot_files.sys, 'prefix', str(tmp_path))
    monkeypatch.setenv('AMENT_PREFIX_PATH', '')
    return tmp_path / 'cache'


def test_the_robots_of_an_installed_package_are_found_by_name():
    assert robot_file('ur10').samefile(DATA / 'ur_description/urdf/ur10_robot.urdf')
    assert robot_file('talos').samefile(DATA / 'talos_data/robots/talos_reduced.urdf')
    assert robot_file('so101_description').samefile(DATA / 'so_arm_description/urdf/so101.urdf')
    of_file = load_urdf(DATA / 'z1_description/urdf/z1.urdf')
    assert load_urdf('z1').joint_names == of_file.joint_names


def test_a_bundled_robot_comes_before_another_of_its_name():
    assert (DATA / 'panda_description/urdf/panda.urdf').is_file()
    assert robot_file('panda') == bundled_robots()['panda']


def test_a_robot_in_the_cache_is_found_by_name(cache):
    with pytest.raises(ModelError, match=r'panda.*pip install example-robot-data'):
        robot_file('z1')
    file = cache / 'owner' / 'arms' / 'z1.urdf'
    file.parent.mkdir(parents=True)
    shutil.copy(DATA / 'z1_description/urdf/z1.urdf', file)
    assert robot_file('z1') == file


def test_a_name_that_is_not_unique_lists_the_robots():
    with pytest.raises(ModelError, match=r'expected one of .*anymal_b.*, .*anymal_c'):
        robot_file('anymal')
    with pytest.raises(ModelError, match=re.escape('expected one of talos_full_v2, ')):
        robot_file('talos_full')


def test_a_path_is_never_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert robot_file('ur10.urdf').name == 'ur10.urdf'
    assert robot_file('./a/ur10').as_posix() == 'a/ur10'
    (tmp_path / 'ur10').write_text('<robot name="mine"/>')
    assert robot_file('ur10').read_text() == '<robot name="mine"/>'
