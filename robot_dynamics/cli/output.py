# SPDX-License-Identifier: Apache-2.0
"""Robots and warnings of the verbs."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from robot_dynamics.cli.options import mounting
from robot_dynamics.common.errors import LimitsWarning, ModelError
from robot_dynamics.core.kinematics import unloaded_by_gravity
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.robots import TEXTBOOK_ROBOTS
from robot_dynamics.urdf.loading import parse_urdf, urdf_text
from robot_dynamics.urdf.robot_files import named


def read_robot(options: argparse.Namespace, *, limited: bool = False, **chosen: Any) -> RobotModel:
    """Return the robot of the options; its warnings are printed.

    Args:
        options: of `add_robot`.
        limited: whether the verb applies limits, so that a warning names those that are missing.
        chosen: as of `parse_urdf`.
    """
    with concise_warnings():
        if not limited:
            warnings.simplefilter('ignore', LimitsWarning)
        return load_robot(options, **chosen)


def load_robot(options: argparse.Namespace, **chosen: Any) -> RobotModel:
    """Return the robot of the options with its warnings. Arguments as `read_robot`."""
    if (name := str(options.robot)) in TEXTBOOK_ROBOTS and not options.robot.exists():
        return _of_textbook(name, options, **chosen)
    text = robot_text(options)
    with named(options.robot):
        return parse_urdf(text, **chosen)


def _of_textbook(name: str, options: argparse.Namespace, **chosen: Any) -> RobotModel:
    """Return a robot of a textbook; its gravity is its own unless the options state another."""
    if any(chosen.get(key) for key in ('tip_link', 'locked_joints')):
        raise ModelError(f'{name} is a model without a URDF, which --tip-link and --lock need')
    model = TEXTBOOK_ROBOTS[name]()
    return model.with_gravity(chosen['gravity']) if mounting(options) else model


def robot_text(options: argparse.Namespace) -> str | bytes:
    """Return the URDF text of the robot of the options, which is read and expanded once."""
    if 'urdf' not in options:
        with concise_warnings(), named(options.robot):
            options.urdf = urdf_text(options.robot, options.xacro_arguments, options.package_path)
    text: str | bytes = options.urdf
    return text


def gravity_remark(model: RobotModel) -> str:
    """Return which joints have g = 0 in every posture by the direction of gravity, '' for none."""
    unloaded = unloaded_by_gravity(model)
    if not (unloaded.any() and model.gravity.any()):
        return ''
    parts = []
    for relation, kind in (('parallel', model.angular), ('perpendicular', ~model.angular)):
        names = [model.joint_names[j] for j in np.flatnonzero(unloaded & kind)]
        if names:
            verb, axes = ('has', 'its axis is') if len(names) == 1 else ('have', 'their axes are')
            parts.append(f'{", ".join(names)} {verb} g = 0: {axes} {relation} to gravity')
    if unloaded.all():
        option = 'for an arm that is mounted otherwise: --base-orientation ROLL PITCH YAW'
        if model.angular.all() and np.count_nonzero(model.gravity) == 1:
            normal = '0 -9.81 0' if model.gravity[2] else '0 0 -9.81'  # to all axes
            option = f'for a vertical plane of motion: --gravity {normal}; {option}'
        parts.append(option)
    return '; '.join(parts)


@contextmanager
def concise_warnings() -> Iterator[None]:
    """Print each warning in one line on the standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        yield
    for warning in caught:
        print(f'warning: {warning.message}', file=sys.stderr)


class Progress:
    """Prints each step with the time since the start on the standard error."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def __call__(self, step: str) -> None:
        """Print a step."""
        print(f'[{time.monotonic() - self._start:5.1f} s] {step}', file=sys.stderr)
