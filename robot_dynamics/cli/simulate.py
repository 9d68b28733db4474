# SPDX-License-Identifier: Apache-2.0
"""The verb `simulate`: free motion, and the energy drift of an integrator."""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from robot_dynamics.cli.options import (
    MAX_COUNT,
    add_gravity,
    add_robot,
    add_state,
    gravity_in_base,
    new_animation,
    new_file,
    new_picture,
    positive,
    state,
)
from robot_dynamics.cli.output import gravity_remark, read_robot
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.reporting.tables import write_curves
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.kinematics import unloaded_by_gravity
from robot_dynamics.core.model.robots import TEXTBOOK_ROBOTS
from robot_dynamics.simulation import (
    INTEGRATORS,
    Run,
    Simulator,
    animate_run,
    load_base_motion,
    plot_run,
    simulate,
)


def add_simulate_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `simulate`."""
    add_robot(parser, further=TEXTBOOK_ROBOTS)
    add_state(parser)
    add_gravity(parser)
    add = parser.add_argument
    add('--duration', type=positive, default=2.0, help='simulated time, s (2)')
    add('--time-step', type=positive, default=1e-3, help='time step, s (0.001)')
    add(
        '--integrator', choices=sorted(INTEGRATORS), default='rk4', help='integration method (rk4)'
    )
    add('--base-motion', help='YAML file of sines and ramps of the base (fixed)')
    add('--csv', type=new_file, help='file for time, positions and velocities')
    add('--picture', type=new_picture, help='figure file; needs matplotlib')
    add(
        '--animate',
        type=new_animation,
        help='animation of the robot in real time, .gif, or .mp4 with ffmpeg; needs matplotlib',
    )


def simulate_robot(options: argparse.Namespace) -> int:
    """Simulate free motion from a state without torque, and print the drift of its energy.

    Friction is omitted, so that only errors of the integrator change the energy. On a moving base,
    weight and inertial forces change it as well, and no drift is printed.
    """
    steps = options.duration / options.time_step
    if not 0.5 < steps <= MAX_COUNT:  # rounded, at least one
        raise ModelError(
            f'--duration {options.duration:g} in steps of --time-step {options.time_step:g} is '
            f'{steps:.3g} steps; expected 1 to {MAX_COUNT}'
        )
    model = read_robot(options, gravity=gravity_in_base(options))
    arm = Dynamics(model).without_friction()
    q, qd = state(arm.model, options)
    base = None if options.base_motion is None else load_base_motion(options.base_motion)
    simulator = Simulator(
        arm,
        q=q,
        qd=qd,
        time_step=options.time_step,
        integrator=options.integrator,
        base_motion=base,
    )
    if base is None and unloaded_by_gravity(model).all() and model.gravity.any():
        print(f'note: {gravity_remark(model)}', file=sys.stderr)
    no_torque = np.zeros(arm.model.n)
    began = time.perf_counter()
    run = simulate(simulator, lambda *_: no_torque, options.duration)
    elapsed = time.perf_counter() - began
    print(
        f'{arm.model.name}: {run.t[-1]:g} s in steps of {options.time_step:g} s with '
        f'{options.integrator}, {run.t[-1] / elapsed:.1f} x real time\n'
        f'largest kinetic energy {_energy(arm, run, moves=base is not None)}'
    )
    if options.csv is not None:
        # Columns of positions have the names of the joints.
        write_curves(options.csv, arm.model.joint_names, run.t, {'': run.q, 'velocity': run.qd})
    if options.picture is not None:
        plot_run(run, arm, options.picture)
    if options.animate is not None:
        animate_run(run, arm, options.animate)
    return 0


def _energy(arm: Dynamics, run: Run, *, moves: bool) -> str:
    """Return the largest kinetic energy, and the drift of the energy if the base is fixed."""
    kinetic = arm.kinetic_energy(run.q, run.qd)
    if moves:
        return f'{kinetic.max():.6g} J relative to the base'
    energy = kinetic + arm.potential_energy(run.q)
    return f'{kinetic.max():.6g} J, energy drift {np.abs(energy - energy[0]).max():.3g} J'
