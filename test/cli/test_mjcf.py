# SPDX-License-Identifier: Apache-2.0
"""Verbs with the robot of an MJCF file."""

import runpy
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from arms_to_identify import recorded, wrong
from mjcf_text import ARM, world

from robot_dynamics import Dynamics, cli, load_mjcf

FORM = """
  <!-- link {0} -->
  <body name="{0}" pos="0 0 {1}">
    <inertial pos="0.02 0.01 0.2" mass="2" diaginertia="0.03 0.03 0.005"/>
    <joint name="{0}_joint" axis="{2}" class="drive"/>{3}
  </body>"""
INNER = f'<mujocoinclude>{FORM.format("lower", 0.4, "0 1 0", "")}</mujocoinclude>'
MAIN = world(
    FORM.format('upper', 0, '0 1 0', '<include file="lower.xml"/>'),
    '<default><default class="drive"><joint armature="0.1" damping="0.5"/></default></default>'
    '<actuator><motor joint="upper_joint" gear="10" armature="0.0005" ctrlrange="-8 8"/>'
    '</actuator>',
)


@pytest.fixture
def run(capsys):
    """Return (exit code, standard output, standard error) of a verb."""

    def run(*words):
        try:
            code = cli.main([str(word) for word in words])
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def arm(tmp_path):
    (tmp_path / 'lower.xml').write_text(INNER)
    (tmp_path / 'robot.xml').write_text(MAIN)
    return tmp_path / 'robot.xml'


def test_terms_have_the_rotors_of_the_file(run, tmp_path):
    file = tmp_path / 'arm.xml'
    file.write_text(ARM)
    code, shown, said = run('terms', file, '--gravity', '1', '2', '-9')
    assert code == 0
    assert 'the gravity of the file' in said
    M = Dynamics(load_mjcf(file)).mass_matrix(np.zeros(2))
    assert f'{M[1, 1]:.6f}' in shown


def test_check_takes_the_file_and_repairs_its_urdf(run, arm, tmp_path):
    code, shown, _ = run('check', arm, '--fix', tmp_path / 'fixed.urdf')
    assert code == 0
    assert 'of the URDF that the xacro or MJCF file becomes' in shown
    assert '<robot name="robot">' in (tmp_path / 'fixed.urdf').read_text()


def test_arguments_choose_the_robot(run, arm):
    assert run('check', arm, 'root:=lower')[1].count('lower_joint') >= 1
    code, _, said = run('check', arm, 'side:=left')
    assert (code, 'an MJCF file takes root and free_base' in said) == (2, True)


@pytest.mark.slow
def test_what_identify_finds_is_written_into_the_file(run, arm, tmp_path):
    pytest.importorskip('cvxpy')
    model = load_mjcf(arm)
    true = wrong(model, viscous=0.4, coulomb=0.3).with_actuation(rotor_inertia=[0.2, 0.05])
    one, csv = recorded(true, 1, duration=12.0, rate=200.0), tmp_path / 'run.csv'
    heads = [f'{name} {kind}' for kind in ('q', 'qd', 'torque') for name in model.joint_names]
    rows = np.column_stack([one.t, one.q, one.qd, one.effort])
    np.savetxt(csv, rows, delimiter=',', header=','.join(['t', *heads]), comments='')
    found, lab = tmp_path / 'found.xml', tmp_path / 'lab.py'
    words = ['identify', csv, '--robot', arm, '--isaaclab', lab, '--force']
    code, shown, said = run(*words, '--output', found)
    assert code in (0, 3), said
    assert f'written: {found}, {tmp_path / "found_lower.xml"}' in shown
    new = load_mjcf(found)
    # The rotor of the actuator is included.
    np.testing.assert_allclose(new.viscous, true.viscous, rtol=0.1)
    np.testing.assert_allclose(new.coulomb, true.coulomb, rtol=0.1)
    np.testing.assert_allclose(new.reflected_inertia[0], 0.2, rtol=0.3)
    q = np.random.default_rng(0).uniform(-2, 2, (20, 2))
    g, g_true = Dynamics(new).gravity_torque(q), Dynamics(true).gravity_torque(q)
    assert np.abs(g - g_true).max() < 0.03 * np.abs(g_true).max()
    assert found.read_text().count('<!--') == 1
    assert (tmp_path / 'lower.xml').read_text() == INNER
    assert_is_of_isaaclab(lab, new)
    # The same file is no output of another robot, or in another folder.
    assert 'expected a name that ends in .urdf or .xml' in run(*words, '--output', 'x.txt')[2]
    code, _, said = run(*words, '--output', tmp_path.parent / 'found.xml')
    assert (code, 'expected a file beside' in said) == (2, True)


def assert_is_of_isaaclab(file, model):
    """Assert that the file makes an actuator with the values of a model."""
    made = ModuleType('isaaclab.actuators')
    made.ImplicitActuatorCfg = SimpleNamespace
    sys.modules.update({'isaaclab': ModuleType('isaaclab'), 'isaaclab.actuators': made})
    try:
        actuators = runpy.run_path(str(file))['ACTUATORS']
    finally:
        del sys.modules['isaaclab.actuators'], sys.modules['isaaclab']
    assert actuators.joint_names_expr == list(model.joint_names)
    assert actuators.stiffness is actuators.damping is actuators.joint_velocity_limit is None
    assert actuators.joint_effort_limit == {'upper_joint': 80.0}
    for field, values in (
        ('armature', model.reflected_inertia),
        ('friction', model.coulomb),
        ('dynamic_friction', model.coulomb),
        ('viscous_friction', model.viscous),
    ):
        written = getattr(actuators, field)
        assert written == pytest.approx(dict(zip(model.joint_names, values, strict=True)))
