# SPDX-License-Identifier: Apache-2.0
"""The verb `precompile`: compilation of all programs of a robot in advance."""

from __future__ import annotations

import argparse
import time

from robot_dynamics.cli.options import add_gravity, add_robot, gravity_in_base
from robot_dynamics.cli.output import read_robot
from robot_dynamics.core.dynamics import Dynamics


def add_precompile_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `precompile`."""
    add_robot(parser)
    add_gravity(parser)
    parser.add_argument(
        '--frame', action='append', help='frame of Jacobians and poses; may be repeated'
    )


def precompile(options: argparse.Namespace) -> int:
    """Compile every program of a robot into the cache, so that first calls are fast."""
    arm = Dynamics(read_robot(options, gravity=gravity_in_base(options)))
    names = arm.precompilable(options.frame)
    began = time.perf_counter()
    for name in names:
        since = time.perf_counter()
        arm.precompile(name, frames=options.frame)
        print(f'{name:<32} {time.perf_counter() - since:6.2f} s')
    print(f'{len(names)} methods in {time.perf_counter() - began:.2f} s')
    return 0
