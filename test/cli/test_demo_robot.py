# SPDX-License-Identifier: Apache-2.0
"""Robots of the demo: joints that cannot be simulated are locked and named."""

import pytest

from robot_dynamics.cli.demo import demo_robot
from robot_dynamics.common.errors import ModelError

CASTER = """
<robot name="cart">
  <link name="base"/>
  <link name="arm"><inertial><mass value="{mass}"/>
    <inertia ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
  <link name="wheel"/>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="arm"/>
    <axis xyz="0 1 0"/></joint>
  <joint name="caster" type="revolute"><parent link="arm"/><child link="wheel"/>
    <axis xyz="0 0 1"/><limit lower="0.5" upper="1" effort="1" velocity="1"/></joint>
</robot>
"""


def test_joints_without_inertia_are_locked_and_named(tmp_path):
    file = tmp_path / 'cart.urdf'
    file.write_text(CASTER.format(mass=1, inertia=0.1))
    robot = demo_robot(file)
    assert robot.arm.model.joint_names == ('shoulder',)
    assert robot.locked == {'caster': 0.5}
    assert robot.arm.forward_dynamics([0.0], [0.0], [1.0]).shape == (1,)


def test_a_robot_of_massless_joints_is_rejected(tmp_path):
    file = tmp_path / 'ghost.urdf'
    file.write_text(CASTER.format(mass=0, inertia=0))
    with pytest.raises(ModelError, match='no joint moves a mass'):
        demo_robot(file)


def test_warnings_of_the_description_are_printed(tmp_path, capsys):
    file = tmp_path / 'cart.urdf'
    file.write_text(CASTER.format(mass=1, inertia=0.1).replace('ixx="0.1"', 'ixx="0.9"'))
    demo_robot(file)
    assert "'arm'" in capsys.readouterr().err
