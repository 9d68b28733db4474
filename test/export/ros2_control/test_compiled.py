# SPDX-License-Identifier: Apache-2.0
"""The exported C++ compiled and run: laws, limits, transitions, contact, interfaces, arm.

The statements are in the templates `test_law.cpp` and `test_arm.cpp`, which the package of a user
has as well, and in `controller_test.cpp` beside this file, on a fake of ros2_control.
"""

import re

import pytest
from c_compilers import FOUND, each_compiler, needs_compiler
from ros2_control_package import Package

ROBOTS = ['panda', 'scara_rrp', 'gripper']
SANITIZERS = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-g']


def passed(result):
    code, text = result
    assert code == 0, text
    assert text.count('OK ') > 5
    return text


@needs_compiler
def test_laws_of_a_small_arm(tmp_path):
    """Representative of those below."""
    passed(Package(tmp_path, 'gripper').law_test(FOUND[0], '-O0'))


@pytest.mark.slow
@each_compiler
@pytest.mark.parametrize('robot', ROBOTS)
def test_each_robot(tmp_path, kind, robot):
    package = Package(tmp_path, robot)
    passed(package.law_test(kind, '-O1'))
    passed(package.arm_test(kind, '-O1'))
    text = passed(package.controller_test(kind, '-O1'))
    assert float(re.search(r'largest error: (\S+) N m', text)[1]) < 1e-12


@pytest.mark.slow
@needs_compiler
def test_a_portal_without_coriolis_torque(tmp_path):
    """Functions that do not depend on an input are called in the same way."""
    passed(Package(tmp_path, 'portal').law_test(FOUND[0], '-O0'))


@pytest.mark.slow
@pytest.mark.skipif('gcc' not in FOUND, reason='needs gcc, whose sanitizers come with it')
def test_sanitizers_find_nothing(tmp_path):
    package = Package(tmp_path, 'gripper')
    passed(package.law_test('gcc', '-O1', *SANITIZERS))
    passed(package.arm_test('gcc', '-O1', *SANITIZERS))
    passed(package.controller_test('gcc', '-O1', *SANITIZERS))


@pytest.mark.slow
@needs_compiler
def test_an_arm_whose_finger_has_little_way_and_no_effort_limit(tmp_path):
    """The tests of a package hold for the arms that users have."""
    package = Package(tmp_path, 'short_finger')
    passed(package.arm_test(FOUND[0], '-O0'))
    passed(package.controller_test(FOUND[0], '-O0'))


@needs_compiler
def test_fast_math_is_refused(tmp_path):
    with pytest.raises(AssertionError, match='ffast-math'):
        Package(tmp_path, 'gripper').law_test(FOUND[0], '-O0', '-ffast-math')
