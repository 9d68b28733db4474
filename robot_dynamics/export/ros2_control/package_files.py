# SPDX-License-Identifier: Apache-2.0
"""The files of a package for ros2_control: templates, the exported C, gains, a description.

Marks of the templates, such as `@package@`, are replaced once each, so that text of a model is
never read as a mark. Text of a model is filtered where it is written: `plain` in comments and XML,
`c_string` in C++, `parameters_text` in YAML, `quoteattr` in the description.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from importlib import resources
from typing import Any
from xml.sax.saxutils import quoteattr

from robot_dynamics.common.yaml_text import parameters_text
from robot_dynamics.control import Gains, pd_gains
from robot_dynamics.control.control_laws import obstacle_of_impedance
from robot_dynamics.control.start_posture import start_posture
from robot_dynamics.core.algorithms.momentum_observer import SETTLED
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coulomb import COULOMB_SPEED
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.states import random_postures
from robot_dynamics.export.c_header import c_files, identifier
from robot_dynamics.export.functions import ExportError, Function, c_string, functions, plain
from robot_dynamics.export.ros2_control.library_cases import cases_header, numbers

RATE = 1000  # Hz, of the controller manager, for which gains are written
CONTROLLER, TRAJECTORIES = 'dynamics', 'arm_controller'  # names of the controllers
REFERENCES = ['position', 'velocity', 'acceleration']
DIGITS = 4  # significant, of the gains

# Files that are written, each from its template; that of a launch file ends in `.in`, as it is no
# module here.
TEMPLATES = (
    *('package.xml', 'CMakeLists.txt', 'README.md', 'controller.xml'),
    *('include/model.hpp', 'include/law.hpp', 'include/contact.hpp'),
    *('include/parameters.hpp', 'include/controller.hpp'),
    *('src/parameters.cpp', 'src/controller.cpp'),
    *('launch/controller.launch.py', 'test/test_law.cpp'),
)
SIMULATION = (
    *('hardware.xml', 'include/arm.hpp', 'src/simulated_arm.cpp'),
    *('launch/demo.launch.py', 'test/test_arm.cpp'),
)


def ros2_control_files(
    arm: Dynamics, name: str, link: str, *, urdf: str | bytes | None, version: str
) -> dict[str, str]:
    """Return the texts of a package of a robot, by the paths of their files.

    Args:
        arm: the robot.
        name: of the header; that of the package is NAME_dynamics_controller.
        link: that carries payloads.
        urdf: the description, for a simulated arm; None for none.
        version: of this package.

    Raises:
        ExportError: the robot has no joint impedance, or the name is no identifier.
        FrameNotFound: the robot has no such link.
        ModelError: the link does not move, or a joint moves no mass.
    """
    if obstacle := obstacle_of_impedance(arm):
        raise ExportError(f'{obstacle}: keep the joints of one arm, such as with --tip-link')
    gains = _gains(arm)
    package = f'{identifier(name)}_dynamics_controller'
    header = c_files(arm, _functions(arm, link), name, 'double', version=version, self_test=False)[
        f'{name}.h'
    ]
    marks = {'package': package, 'PACKAGE': package.upper(), 'name': name, 'NAME': name.upper()}
    cases = _filled(cases_header(arm, link, gains), marks)
    marks |= _marks(arm, link, version) | _marks_of_simulation(package, urdf is not None)
    include = f'include/{package}'
    files = {f'{include}/{name}.h': header, 'test/cases.hpp': cases}
    files['config/controllers.yaml'] = _controllers(arm.model, package, gains, urdf is not None)
    for file in TEMPLATES if urdf is None else TEMPLATES + SIMULATION:
        files[file.replace('include', include)] = _filled(_template(file), marks)
    if urdf is not None:
        files['urdf/arm.urdf'] = _description(arm, urdf, package)
    return files


def _template(file: str) -> str:
    name = f'{file}.in' if file.endswith('.py') else file
    return resources.files(__package__).joinpath('templates', *name.split('/')).read_text('utf-8')


def _filled(text: str, marks: Mapping[str, str]) -> str:
    """Return a template with its marks replaced; others stay."""
    return re.sub(r'@(\w+)@', lambda found: marks.get(found[1], found[0]), text)


def _functions(arm: Dynamics, link: str) -> list[Function]:
    """Return what the C++ calls, with the same inputs for every robot."""
    varied = ['inverse_dynamics', 'gravity_torque', 'joint_impedance', 'momentum_observer']
    return [
        *functions(arm, varied, None, ('gravity', 'payload'), link, unused=True),
        *functions(arm, ['coriolis_torque', 'mass_matrix'], None, ('payload',), link, unused=True),
        *functions(arm, ['friction_torque']),
    ]


def _gains(arm: Dynamics) -> Gains:
    """Return gains for RATE, with a few digits."""
    exact = pd_gains(arm, random_postures(arm.model), 1 / RATE)
    kp, kd = ([float(f'{x:.{DIGITS}g}') for x in row] for row in (exact.kp, exact.kd))
    return Gains(kp, kd)  # type: ignore[arg-type]  # it becomes arrays


def _marks(arm: Dynamics, link: str, version: str) -> dict[str, str]:
    """Return what the templates have of the model."""
    model = arm.model
    bodies = zip(model.body_names, model.mass.tolist(), strict=True)
    return {
        'robot': plain(model.name),
        'version': plain(version),
        'fingerprint': model.fingerprint(),
        'joints': ', '.join(map(plain, model.joint_names)),
        'payload': plain(link),
        'payload_link': c_string(link),
        'gravity': numbers(model.gravity),
        'start': numbers(start_posture(arm)),
        'body_count': str(model.nb),
        'bodies': ', '.join(f'{{{c_string(body)}, {mass!r}}}' for body, mass in bodies),
        'rate': str(RATE),
        'settled': repr(SETTLED),
        'sliding': repr(COULOMB_SPEED),
    }


def _marks_of_simulation(package: str, simulated: bool) -> dict[str, str]:
    """Return what the templates have with a simulated arm alone."""
    if not simulated:
        return {
            'sources': 'src/controller.cpp src/parameters.cpp',
            'hardware': '',
            'folders': 'config launch',
            'tests': 'test_law',
            'with_simulation': '',
            'demo': '',
            'arm_row': '',
        }
    return {
        'sources': 'src/controller.cpp src/parameters.cpp src/simulated_arm.cpp',
        'hardware': 'pluginlib_export_plugin_description_file(hardware_interface hardware.xml)\n',
        'folders': 'config launch urdf',
        'tests': 'test_law test_arm',
        'with_simulation': ', and a simulated arm as its hardware',
        'demo': f'    ros2 launch {package} demo.launch.py\n',
        'arm_row': f'| `include/{package}/arm.hpp`, `src/simulated_arm.cpp` | simulated arm |\n',
    }


def _controllers(model: RobotModel, package: str, gains: Gains, simulated: bool) -> str:
    """Return the parameters of the controller manager and of its controllers."""
    joints = list(model.joint_names)
    types = {
        'joint_state_broadcaster': 'joint_state_broadcaster/JointStateBroadcaster',
        CONTROLLER: f'{package}/DynamicsController',
        TRAJECTORIES: 'joint_trajectory_controller/JointTrajectoryController',
    }
    parameters: dict[str, dict[str, Any]] = {
        'controller_manager': {
            'update_rate': RATE,
            **{name: {'type': kind} for name, kind in types.items()},
        },
        # The spawner reads the type here where it starts controllers in another manager.
        CONTROLLER: {
            'type': types[CONTROLLER],
            'control_law': 'feedforward',
            'reference_interfaces': list(REFERENCES),
            'kp': gains.kp.tolist(),
            'kd': gains.kd.tolist(),
            'observer': {'enabled': simulated},
        },
        TRAJECTORIES: {
            'type': types[TRAJECTORIES],
            'joints': joints,
            'command_joints': [f'{CONTROLLER}/{joint}' for joint in joints],
            'command_interfaces': list(REFERENCES),  # a list of its own: YAML has no alias
            'state_interfaces': ['position', 'velocity'],
        },
    }
    texts = [parameters_text(own, f'/**/{node}') for node, own in parameters.items()]
    title = f'# {plain(model.name)}: gains for {RATE} Hz, by robot-dynamics gains.\n'
    return ''.join([title, *texts])


SYSTEM = """\
<ros2_control name="arm" type="system">
  <hardware><plugin>{package}/SimulatedArm</plugin></hardware>
  {joints}
</ros2_control>
"""
JOINT = """\
<joint name={name}>
  <limits enable="false"/>
  <command_interface name="effort"/>
  <state_interface name="position"><param name="initial_value">{start!r}</param></state_interface>
  <state_interface name="velocity"/>
  <state_interface name="effort"/>
</joint>
"""


def _description(arm: Dynamics, urdf: str | bytes, package: str) -> str:
    """Return a description with the simulated arm as its hardware."""
    joints = ''.join(
        JOINT.format(name=quoteattr(name), start=start)
        for name, start in zip(arm.model.joint_names, start_posture(arm).tolist(), strict=True)
    )
    root = ElementTree.fromstring(urdf)
    for other in root.findall('ros2_control'):
        root.remove(other)
    root.append(ElementTree.fromstring(SYSTEM.format(package=package, joints=joints)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding='unicode') + '\n'
