# SPDX-License-Identifier: Apache-2.0
"""Settings of the tests of the benchmarks."""

import pytest


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv('ROBOT_DYNAMICS_CACHE_DIR', str(tmp_path_factory.getbasetemp() / 'cache'))


# Siblings in an order that Pinocchio, which sorts them, does not keep; one joint is continuous,
# which has two numbers there.
FORK = """
<robot name="fork">
  <link name="base"/>
  <link name="trunk"><inertial><origin xyz="0.1 0 0.2"/><mass value="3"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.001" ixz="0" iyz="0.002"/></inertial></link>
  <link name="right"><inertial><origin xyz="0 0.1 0.1"/><mass value="1.5"/>
    <inertia ixx="0.01" iyy="0.012" izz="0.011" ixy="0" ixz="0.001" iyz="0"/></inertial></link>
  <link name="left"><inertial><origin xyz="0.05 0 0"/><mass value="2"/>
    <inertia ixx="0.011" iyy="0.013" izz="0.012" ixy="0" ixz="0" iyz="0.001"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="trunk"/>
    <origin xyz="0 0 0.3" rpy="0.3 0 0.1"/><axis xyz="0 0 1"/>
    <limit effort="10" velocity="3"/></joint>
  <joint name="z_swing" type="revolute"><parent link="trunk"/><child link="right"/>
    <origin xyz="0.2 0 0" rpy="0 0.4 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="10" velocity="3"/></joint>
  <joint name="a_slide" type="prismatic"><parent link="trunk"/><child link="left"/>
    <origin xyz="-0.2 0 0.1" rpy="0 0 0.5"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.5" effort="10" velocity="3"/></joint>
</robot>
"""


@pytest.fixture
def fork():
    from benchmarks.robots import Robot

    return Robot('fork', FORK)


@pytest.fixture
def chain():
    from benchmarks.robots import find

    return find('chain3')
