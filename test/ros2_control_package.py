# SPDX-License-Identifier: Apache-2.0
"""Packages of `export --language ros2_control`, compiled on a fake of the classes of ROS."""

import subprocess
from pathlib import Path

from c_compilers import KINDS

from robot_dynamics import Dynamics
from robot_dynamics.common.resources import share_file
from robot_dynamics.export.ros2_control.package_files import ros2_control_files
from robot_dynamics.urdf.loading import parse_urdf

FOLDER = Path(__file__).parent / 'export' / 'ros2_control'
FAKE = FOLDER / 'fake'
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Werror']

# An arm whose gripper has a finger that follows the other one.
GRIPPER = """\
<robot name="gripper">
  <link name="base"/>
  <link name="arm"><inertial><origin xyz="0.2 0.01 0.05"/><mass value="3"/>
    <inertia ixx="0.02" ixy="0" ixz="0.001" iyy="0.05" iyz="0" izz="0.06"/></inertial></link>
  <link name="left"><inertial><origin xyz="0.02 0.01 0.03"/><mass value="0.3"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.0005"/></inertial></link>
  <link name="right"><inertial><origin xyz="0.02 -0.01 0.03"/><mass value="0.2"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.0005"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/>
    <origin rpy="0.3 0.2 0"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" effort="60" velocity="2"/>
    <dynamics damping="0.4" friction="0.3"/></joint>
  <joint name="finger" type="prismatic"><parent link="arm"/><child link="left"/>
    <origin xyz="0.5 0.02 0"/><axis xyz="0 0.8 0.6"/>
    <limit lower="0" upper="0.2" effort="20" velocity="1"/></joint>
  <joint name="other" type="prismatic"><parent link="arm"/><child link="right"/>
    <origin xyz="0.5 -0.02 0"/><axis xyz="0 -0.8 0.6"/><mimic joint="finger" multiplier="0.5"/>
    <limit lower="0" upper="0.1" effort="20" velocity="1"/></joint>
</robot>
"""

# Three axes of a portal: no torque depends on velocities.
PORTAL = '<robot name="portal"><link name="l0"/>' + ''.join(
    f'<link name="l{k + 1}"><inertial><mass value="{3 - k}"/><inertia ixx="0.1" ixy="0" ixz="0" '
    f'iyy="0.1" iyz="0" izz="0.1"/></inertial></link><joint name="j{k}" type="prismatic"><parent '
    f'link="l{k}"/><child link="l{k + 1}"/><axis xyz="{axis}"/><limit lower="-1" upper="1" '
    'effort="100" velocity="1"/></joint>'
    for k, axis in enumerate(('1 0 0', '0 1 0', '0 0 1'))
)
TEXTS = {
    'gripper': GRIPPER,
    # Without a limit of its effort
    'short_finger': GRIPPER.replace('upper="0.2" effort="20"', 'upper="0.04" effort="0"'),
    'portal': f'{PORTAL}</robot>',
}


def description(robot):
    """Return the URDF text of a robot by its name here, or of this package."""
    return TEXTS.get(robot) or share_file(f'urdf/{robot}.urdf').read_text()


class Package:
    """A package of a robot in a folder, with its tests."""

    def __init__(self, folder, robot):
        self.folder, urdf = folder, description(robot)
        arm = Dynamics(parse_urdf(urdf))
        link = arm.model.moving_links[-1]
        self.files = ros2_control_files(arm, robot, link, urdf=urdf, version='0')
        self.name = f'{robot}_dynamics_controller'
        for file, text in self.files.items():
            self.write(file, text)
        text = (FOLDER / 'controller_test.cpp').read_text()
        self.write('test/controller_test.cpp', text.replace('@package@', self.name))

    def write(self, file, text):
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def compiled(self, kind, target, sources, *flags):
        """Compile sources, of this package or of the fake; return the program."""
        known = [self.folder / x if (self.folder / x).exists() else FAKE / x for x in sources]
        folders = [f'-I{FAKE}', *(f'-I{self.folder / x}' for x in ('include', 'test', 'src'))]
        command = [KINDS[kind], '-std=c++17', *WARNINGS, *flags, *folders, *map(str, known)]
        done = subprocess.run(
            [*command, '-o', str(self.folder / target)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return self.folder / target

    def law_test(self, kind, *flags):
        """Compile and run the test of the law."""
        program = self.compiled(kind, 'law', ['test/test_law.cpp', 'gtest_main.cpp'], *flags)
        return run(program)

    def arm_test(self, kind, *flags):
        """Compile and run the test of the simulated arm."""
        program = self.compiled(kind, 'arm', ['test/test_arm.cpp', 'gtest_main.cpp'], *flags)
        return run(program)

    def controller_test(self, kind, *flags):
        """Compile and run the test of the controller and of the hardware behind the fake."""
        own = ['test/controller_test.cpp', 'src/controller.cpp', 'src/parameters.cpp']
        return run(self.compiled(kind, 'controller', [*own, 'counted_new.cpp'], *flags))


def run(program):
    """Run a program of tests; return its exit code and what it printed."""
    done = subprocess.run([str(program)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr
