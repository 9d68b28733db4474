# SPDX-License-Identifier: Apache-2.0
"""The verb `monte-carlo`: arms with random payloads."""

from __future__ import annotations

import argparse
import time

from robot_dynamics.cli.options import (
    add_gravity,
    add_robot,
    count,
    gravity_in_base,
    new_picture,
    number,
    positive,
    seed,
)
from robot_dynamics.cli.output import read_robot
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.simulation.ensembles.batch import Workers
from robot_dynamics.simulation.ensembles.monte_carlo import (
    CONTROLLERS,
    TIME_STEP,
    local_cluster,
    plot,
    study,
    table,
)
from robot_dynamics.simulation.ensembles.progress import progress_bar


def add_monte_carlo_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `monte_carlo`."""
    add_robot(parser)
    add_gravity(parser)
    add = parser.add_argument
    add('--payload', type=positive, default=2.0, help='nominal payload, kg (2)')
    add(
        '--spread',
        type=number(above=0.0, high=1.0),
        default=0.5,
        help='relative spread of the payload (0.5)',
    )
    add('--samples', type=count(), default=1000, help='number of arms (1000)')
    add(
        '--duration',
        type=number(TIME_STEP, 1000.0),
        default=4.0,
        help='duration of the motion, s (4)',
    )
    add('--seed', type=seed, default=0, help='seed of the random numbers (0)')
    add('--processes', type=count(1024), help='number of processes of a local Dask cluster (none)')
    add('--picture', type=new_picture, help='figure file; needs matplotlib')


def monte_carlo(options: argparse.Namespace) -> int:
    """Simulate arms with random payloads; compare tracking errors with and without their model."""
    arm = Dynamics(read_robot(options, limited=True, gravity=gravity_in_base(options)))
    chosen = {k: getattr(options, k) for k in ('payload', 'spread', 'samples', 'duration', 'seed')}
    began = time.perf_counter()
    with progress_bar(f'{options.samples} arms') as progress:
        if options.processes is None:
            result = study(arm, progress=progress, **chosen)
        else:
            with local_cluster(options.processes) as executor:
                # The cost of Python per step does not depend on the number of arms.
                workers = Workers(executor, options.processes)
                result = study(arm, progress=progress, workers=workers, **chosen)
    elapsed = time.perf_counter() - began
    steps = len(CONTROLLERS) * options.samples * round(options.duration / TIME_STEP)
    print(f'{steps:.3g} steps of an arm in {elapsed:.1f} s, {steps / elapsed:.3g} per second')
    print(table(result))
    if options.picture is not None:
        plot(arm.model.name, *result, file=options.picture)
    return 0
