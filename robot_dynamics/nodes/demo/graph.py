"""The four nodes of the demonstration: the same YAML as the launch files, and what differs here.

Simulated time waits for the torque that answers each state (lock step), as fast as it can, so that
the real-time factor is what this machine manages. The simulator starts paused and is let go from
outside. Nobody needs a /clock: every answer carries the stamp of its question. No ROS here.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any

import yaml

from robot_dynamics.control import Gains
from robot_dynamics.nodes.demo.robot import DemoRobot
from robot_dynamics.nodes.demo.supervisor import NodeProcess
from robot_dynamics.nodes.middleware import quick_discovery
from robot_dynamics.resources import share_file
from robot_dynamics.spatial import Array

SIMULATOR, FEEDFORWARD = 'simulator_node', 'feedforward_node'
DYNAMICS, VALIDATOR = 'dynamics_node', 'pybullet_validator_node'

TIME_STEP = 1e-3  # s, of the simulation
TERMS_RATE = 250.0  # Hz, as much as the picture shows; the processors are needed elsewhere
PATIENCE = 30.0  # s, that simulated time waits for a feed-forward node started again
COMMANDS = 'joint_effort'  # where the feed-forward torque goes: by name, and with its stamp


def isolate() -> None:
    """Give this process and its children a ROS graph of their own, unless one was chosen."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    os.environ.setdefault('ROS_DOMAIN_ID', str(random.SystemRandom().randint(1, 100)))
    os.environ.update(quick_discovery())


def graph(robot: DemoRobot, gains: Gains, home: Array, scratch: Path) -> list[NodeProcess]:
    """Return the four nodes.

    Args:
        robot: what all of them are told about.
        gains: of the feed-forward node.
        home: (n,) where the simulation begins.
        scratch: a folder for the parameter files that are particular to this robot.
    """
    common = {
        'robot_description_file': str(robot.path.resolve()),
        'locked_joints': list(robot.locked) or [''],
        'locked_positions': list(robot.locked.values()) or [0.0],
    }
    particular: dict[str, dict[str, Any]] = {
        SIMULATOR: {
            'lockstep': True,
            'real_time_factor': 0.0,
            'command_timeout': PATIENCE,
            'time_step': TIME_STEP,
            'start_paused': True,
            'initial_positions': home.tolist(),
        },
        FEEDFORWARD: {
            'kp': gains.kp.tolist(),
            'kd': gains.kd.tolist(),
            # The arm is in its brakes until the first torque, which has to carry it at once.
            'ramp_time': 0.0,
            'max_torque_rate': [0.0],
        },
        DYNAMICS: {'publish_rate': TERMS_RATE},
        VALIDATOR: {},
    }
    remapped = {FEEDFORWARD: ['-r', f'~/feedforward_torque:={COMMANDS}']}
    return [
        NodeProcess(
            name,
            [
                *(sys.executable, '-m', f'robot_dynamics.nodes.{name}'),
                '--ros-args',
                *('--log-level', 'warn'),
                *('--params-file', str(share_file(f'config/{name}.yaml'))),
                *('--params-file', str(_parameter_file(scratch, name, common | parameters))),
                *remapped.get(name, []),
            ],
        )
        for name, parameters in particular.items()
    ]


def _parameter_file(folder: Path, name: str, parameters: dict[str, Any]) -> Path:
    file = folder / f'{name}.yaml'
    file.write_text(yaml.safe_dump({'/**': {'ros__parameters': parameters}}))
    return file
