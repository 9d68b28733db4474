# SPDX-License-Identifier: Apache-2.0
"""Files of a package for ros2_control: what is filled in, and how text of a model is filtered."""

import ast
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
from ros2_control_package import GRIPPER

from robot_dynamics import Dynamics, cli
from robot_dynamics.common.errors import InertialWarning, ModelError
from robot_dynamics.common.yaml_text import parse_yaml
from robot_dynamics.control import LAWS, pd_gains
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.core.model.states import random_postures
from robot_dynamics.export.functions import ExportError
from robot_dynamics.export.ros2_control.library_cases import ORDER
from robot_dynamics.export.ros2_control.package_files import ros2_control_files
from robot_dynamics.urdf.loading import parse_urdf

PACKAGE = 'arm_dynamics_controller'
# It would end comments, strings, elements and lists; marks of templates stay text.
ATTACK = 'a"*/\\\n</description>&]: {@package@} ??/ ${x} \u00e9'


def written(arm, urdf=GRIPPER, link=None):
    link = arm.model.moving_links[-1] if link is None else link
    return ros2_control_files(arm, 'arm', link, urdf=urdf, version='1')


def parameters(files):
    content = parse_yaml(files['config/controllers.yaml'])
    return {name.removeprefix('/**/'): node['ros__parameters'] for name, node in content.items()}


def named(text):
    """Return an arm whose robot, joints and last link have a text in their names."""
    model = planar_2r()
    last = model.frame_names[-1]
    return Dynamics(
        replace(
            model,
            name=text,
            joint_names=tuple(f'{text}{name}' for name in model.joint_names),
            link_names=tuple(text if name == last else name for name in model.link_names),
            body_names=tuple(text if name == last else name for name in model.body_names),
            frame_names=(*model.frame_names[:-1], text),
        )
    )


def without_strings(text):
    """Return C++ without comments and strings."""
    text = re.sub(r'"([^"\\]|\\.)*"', '""', re.sub(r'/\*.*?\*/', ' ', text, flags=re.DOTALL))
    return re.sub(r'//.*', '', text)


def test_every_mark_is_filled_in():
    for urdf in (GRIPPER, None):
        files = written(Dynamics(parse_urdf(GRIPPER)), urdf)
        assert not [file for file, text in files.items() if re.search(r'@\w+@', text)]
        assert ('src/simulated_arm.cpp' in files) == (urdf is not None)
        assert ('simulated' in files['CMakeLists.txt']) == (urdf is not None)
        assert ('demo.launch.py' in files['README.md']) == (urdf is not None)
        assert Dynamics(parse_urdf(GRIPPER)).model.fingerprint() in files['README.md']


def test_names_of_a_model_change_no_code():
    sound, attacked = (written(named(x), link=x) for x in ('arm', ATTACK))
    for file, text in attacked.items():
        if file.endswith(('.cpp', '.hpp', '.h')):
            assert text.isascii()
            assert without_strings(text) == without_strings(sound[file]), file
        if file.endswith('.py'):
            ast.parse(text)
        if file.endswith('.xml'):
            ElementTree.fromstring(text)
    assert attacked['CMakeLists.txt'] == sound['CMakeLists.txt']
    found = parameters(attacked)
    assert found['arm_controller']['joints'] == [f'{ATTACK}joint1', f'{ATTACK}joint2']
    assert found['arm_controller']['command_joints'][0] == f'dynamics/{ATTACK}joint1'
    joints = [x.get('name') for x in ElementTree.fromstring(attacked['urdf/arm.urdf'])[-1][1:]]
    assert joints == [f'{ATTACK}joint1', f'{ATTACK}joint2']


def test_controllers_and_gains():
    arm = Dynamics(planar_2r())
    found = parameters(written(arm))
    manager = found['controller_manager']
    assert manager['update_rate'] == 1000
    assert manager['dynamics'] == {'type': f'{PACKAGE}/DynamicsController'}
    for name in ('dynamics', 'arm_controller'):
        assert found[name]['type'] == manager[name]['type']
    gains = pd_gains(arm, random_postures(arm.model), 1e-3)
    np.testing.assert_allclose(found['dynamics']['kp'], gains.kp, rtol=1e-3)
    np.testing.assert_allclose(found['dynamics']['kd'], gains.kd, rtol=1e-3)
    types = found['dynamics']['reference_interfaces']
    assert types == found['arm_controller']['command_interfaces']
    # A driver may have no efforts, which the observer needs.
    assert found['dynamics']['observer']['enabled'] is True
    assert parameters(written(arm, None))['dynamics']['observer']['enabled'] is False


def test_the_description_has_the_simulated_arm_alone():
    other = GRIPPER.replace('</robot>', '<ros2_control name="driver" type="system"/></robot>')
    arm = Dynamics(parse_urdf(GRIPPER))
    text = written(arm, other.encode())['urdf/arm.urdf']
    root = ElementTree.fromstring(text)
    (system,) = root.findall('ros2_control')
    assert system.find('hardware/plugin').text == f'{PACKAGE}/SimulatedArm'
    # The finger that follows is no joint of the hardware.
    assert [joint.get('name') for joint in system.findall('joint')] == ['shoulder', 'finger']
    # The arm has its own; a limit of 0, which is none here, would stop its effort there.
    assert [x.get('enable') for x in system.iter('limits')] == ['false', 'false']
    starts = [float(x.text) for x in system.iter('param')]
    assert (arm.model.lower <= starts).all()
    assert (starts <= arm.model.upper).all()
    assert parse_urdf(text).fingerprint() == arm.model.fingerprint()


def test_laws_are_those_of_the_library():
    assert set(ORDER) == set(LAWS)
    code = written(Dynamics(planar_2r()))[f'include/{PACKAGE}/law.hpp']
    names = re.search(r'enum class Law \{([^}]*)\}', code)[1]
    assert tuple(names.replace(' ', '').split(',')) == ORDER


def test_robots_that_have_no_such_package():
    wide = Dynamics(random_tree(15, np.random.default_rng(0)))
    with pytest.raises(ExportError, match='15 joints; joint_impedance has at most 14'):
        written(wide)
    with pytest.raises(ModelError):
        written(Dynamics(parse_urdf(GRIPPER)), link='base')
    massless = GRIPPER.replace('<mass value="0.3"/>', '<mass value="0"/>').replace(
        '<mass value="0.2"/>', '<mass value="0"/>'
    )
    massless = massless.replace('0.001"', '0"').replace('0.0005"', '0"')
    with pytest.warns(InertialWarning), pytest.raises((ModelError, ExportError), match='finger'):
        written(Dynamics(parse_urdf(massless)))


def test_settings_of_an_arm_are_not_overwritten(tmp_path, capsys):
    robot = tmp_path / 'arm.urdf'
    robot.write_text(GRIPPER)
    folder = tmp_path / 'out'
    words = ['export', str(robot), '--language', 'ros2_control', '--output', str(folder)]
    assert cli.main(words) == 0
    assert cli.main(words) == 0  # they are those of the export
    settings, model = folder / 'config/controllers.yaml', folder / 'README.md'
    edited = settings.read_text().replace('kp:', 'compensate_gravity: false\n    kp:')
    settings.write_text(edited)
    model.write_text('other')
    capsys.readouterr()
    assert cli.main(words) == 2
    assert f'{settings} has other settings than this export' in capsys.readouterr().err
    assert settings.read_text() == edited
    assert model.read_text() == 'other'
    settings.rename(folder / 'mine.yaml')
    assert cli.main(words) == 0


def test_command_line(tmp_path, capsys):
    robot = tmp_path / 'arm.urdf'
    robot.write_text(GRIPPER)
    words = ['export', str(robot), '--language', 'ros2_control', '--output', str(tmp_path / 'out')]
    assert cli.main([*words, '--with-simulation']) == 0
    printed = capsys.readouterr().out.split()
    assert str(tmp_path / 'out/src/controller.cpp') in printed
    assert all((tmp_path / file).is_file() for file in printed)
    assert 'link right' in (tmp_path / 'out/README.md').read_text()
    other = [*words[:-1], str(tmp_path / 'other'), '--payload-link', 'left', '--name', 'Elbow']
    assert cli.main(other) == 0
    model = tmp_path / 'other/include/elbow_dynamics_controller/model.hpp'
    assert 'PAYLOAD_LINK[] = "left"' in model.read_text()
    for more, message in (
        (['--functions', 'terms'], '--functions is not supported for --language ros2_control'),
        (['--variable', 'gravity'], '--variable is not supported for --language ros2_control'),
        (['--payload-link', 'hand'], 'hand'),
    ):
        assert cli.main([*words, *more]) == 2
        assert message in capsys.readouterr().err
    words[words.index('ros2_control')] = 'c'
    assert cli.main(words) == 2
    assert '--functions is missing; expected for --language c' in capsys.readouterr().err
    assert cli.main([*words, '--functions', 'terms', '--with-simulation']) == 2
    assert '--with-simulation is not supported for --language c' in capsys.readouterr().err
