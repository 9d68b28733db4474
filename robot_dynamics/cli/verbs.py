"""The verbs about a robot: what it is, what it weighs, whether others agree."""

from __future__ import annotations

import argparse
import csv
import sys
import time
from pathlib import Path

import numpy as np

from robot_dynamics.cli.options import MOST, state
from robot_dynamics.cli.output import print_table, warnings_in_short
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.simulation import INTEGRATORS, Simulator, simulate
from robot_dynamics.simulation import run_figure as run_plot
from robot_dynamics.spatial import Array
from robot_dynamics.urdf.loading import load_urdf, urdf_text
from robot_dynamics.validation.comparison import validate
from robot_dynamics.validation.engines import ENGINES
from robot_dynamics.validation.formulations import compare, plot


def check(options: argparse.Namespace) -> int:
    """Show what is in a robot description, and warn of what is wrong with it."""
    with warnings_in_short():
        model = load_urdf(options.robot, strict_inertials=options.strict)
    print(f'{model.name}: {model.n} joints, {model.nb} moving bodies of {model.mass.sum():.4g} kg')
    limits = (model.lower, model.upper, model.velocity_limit, model.effort_limit)
    numbers = np.stack([*limits, model.viscous, model.coulomb], axis=1)
    print_table(
        ('joint', 'kind', 'lower', 'upper', 'velocity', 'effort', 'viscous', 'dry friction'),
        [
            (name, kind, *map(_short, row))
            for name, kind, row in zip(model.joint_names, _kinds(model), numbers, strict=True)
        ],
    )
    parents = [model.body_names[parent] if parent >= 0 else 'base' for parent in model.parent]
    bodies = zip(model.body_names, parents, model.mass, model.com, strict=True)
    print_table(
        ('moving body', 'parent', 'mass', 'centre of mass'),
        [(name, at, _short(mass), ' '.join(map(_short, com))) for name, at, mass, com in bodies],
    )
    return 0


def terms(options: argparse.Namespace) -> int:
    """Print the mass matrix, Coriolis matrix and gravity torque of a state."""
    arm = _arm(options.robot)
    q, qd = state(arm.model, options)
    M, C, g = arm.terms(q, qd)
    with np.printoptions(precision=6, suppress=True, linewidth=160, threshold=sys.maxsize):
        for name, value in (
            ('joints', ', '.join(arm.model.joint_names)),
            ('mass matrix M', M),
            ('Coriolis matrix C', C),
            ('Coriolis torque C qd', C @ qd),
            ('gravity torque g', g),
        ):
            print(f'{name}\n{value}\n')
    return 0


def validate_robot(options: argparse.Namespace) -> int:
    """Compare a robot's dynamics with another engine's; exit code 1 if they differ.

    The reference is PyBullet; where it is missing or changes an inertia of the URDF, MuJoCo or
    Pinocchio are used, and the report says so.
    """
    with warnings_in_short():
        model = load_urdf(options.robot)
    report = validate(
        urdf_text(options.robot),
        model=model,
        states=options.states,
        seed=options.seed,
        tolerance=options.tolerance,
        engines=options.engine or ENGINES,
        additional_engines=options.second or (),
    )
    print(report)
    return report.exit_code


def compare_robot(options: argparse.Namespace) -> int:
    """Compute a robot's dynamics by every formulation; exit code 1 if two of them differ."""
    with warnings_in_short():
        model = load_urdf(options.robot)
    comparison = compare(model, states=options.states)
    print(comparison.table())
    if options.picture is not None:
        plot(comparison, options.picture)
    return 0 if comparison.agrees else 1


def simulate_robot(options: argparse.Namespace) -> int:
    """Let the arm fall from a state without any torque, and print how its energy drifts.

    The URDF's friction is left out, so that nothing but the integrator changes the energy.
    """
    steps = options.duration / options.time_step
    if not 0.5 < steps <= MOST:  # rounded, at least one
        raise ModelError(
            f'--duration {options.duration:g} in steps of --time-step {options.time_step:g} is '
            f'{steps:.3g} steps; expected 1 to {MOST}'
        )
    arm = _arm(options.robot).without_friction()
    q, qd = state(arm.model, options)
    simulator = Simulator(
        arm,
        q=q,
        qd=qd,
        time_step=options.time_step,
        integrator=INTEGRATORS[options.integrator],
    )
    no_torque = np.zeros(arm.model.n)
    began = time.perf_counter()
    run = simulate(simulator, lambda *_: no_torque, options.duration)
    elapsed = time.perf_counter() - began
    kinetic = arm.kinetic_energy(run.q, run.qd)
    energy = kinetic + arm.potential_energy(run.q)
    print(
        f'{arm.model.name}: {run.t[-1]:g} s in steps of {options.time_step:g} s with '
        f'{options.integrator}, {run.t[-1] / elapsed:.1f} x real time\n'
        f'largest kinetic energy {kinetic.max():.6g} J, energy drift '
        f'{np.abs(energy - energy[0]).max():.3g} J'
    )
    if options.csv is not None:
        _write_csv(options.csv, arm.model, run.t, run.q, run.qd)
    if options.picture is not None:
        run_plot.plot(run, arm.model, options.picture)
    return 0


def precompile(options: argparse.Namespace) -> int:
    """Compile every program of a robot into the cache, so that no first call waits."""
    arm = _arm(options.robot)
    names = arm.precompilable(options.frame)
    began = time.perf_counter()
    for name in names:
        since = time.perf_counter()
        arm.precompile(name, frames=options.frame)
        print(f'{name:<32} {time.perf_counter() - since:6.2f} s')
    print(f'{len(names)} methods in {time.perf_counter() - began:.2f} s')
    return 0


def _arm(path: Path) -> Dynamics:
    with warnings_in_short():
        model = load_urdf(path)
    return Dynamics(model)


def _kinds(model: RobotModel) -> list[str]:
    """Return what each coordinate is called in a URDF."""
    turns = (model.S[model.revolute] != 0).any(axis=0)
    limited = np.isfinite(model.lower) | np.isfinite(model.upper)
    return [
        'prismatic' if not turn else 'revolute' if limit else 'continuous'
        for turn, limit in zip(turns, limited, strict=True)
    ]


def _short(number: float) -> str:
    return f'{number:.4g}'


def _write_csv(file: Path, model: RobotModel, t: Array, q: Array, qd: Array) -> None:
    with file.open('w', newline='') as stream:
        writer = csv.writer(stream)
        names = model.joint_names
        writer.writerow(['t', *names, *(f'{name} velocity' for name in names)])
        writer.writerows(np.column_stack([t, q, qd]).tolist())
