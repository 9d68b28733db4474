# SPDX-License-Identifier: Apache-2.0
"""Monte Carlo study of the tracking error that a wrong payload causes.

    robot-dynamics monte-carlo panda.urdf --payload 2 --picture study.png

An arm follows a trajectory with a payload that differs from that of its controller. Each sample
has its own payload, friction and start; the same samples are simulated with feed-forward torques
of the controller's model, and with feedback alone. The result is the root mean square distance of
the tip from its desired position.

With `--processes 4` the samples are tasks of a local Dask cluster; a cluster of several machines
runs the same tasks, with the same results to the last bit.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.extras import needed
from robot_dynamics.common.reporting.figures import plain, save, sheet
from robot_dynamics.common.reporting.tables import aligned
from robot_dynamics.common.spatial import Array
from robot_dynamics.control import Switches, Trajectory, pd_gains
from robot_dynamics.control.swing import swing
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.simulation.ensembles.batch import BatchRun, Progress, Workers, simulate_batch
from robot_dynamics.simulation.ensembles.perturbations import Perturbations, payload_parameters
from robot_dynamics.simulation.ensembles.tracking import Tracking

TIME_STEP = 1e-3  # s
RECORD_EVERY = 10  # steps
LEVER = 0.1  # m, from the last link's origin to the payload's centre of mass
START_ERROR = 1e-3  # rad or m, standard deviation
COM_ERROR = 0.01  # m, likewise
FRICTION_ERROR = 0.2  # of the friction, either way
BINS = 20
COLOURS = ('tab:blue', 'tab:orange')

FEEDBACK_ALONE = Switches(gravity=False, coriolis=False, inertia=False, friction=False)
CONTROLLERS = {'feedback and model': Switches(), 'feedback alone': FEEDBACK_ALONE}


class Samples(NamedTuple):
    """Samples of arms."""

    payload_error: Array  # (N,) kg, true mass - mass in the controller's model
    q: Array  # (N, n) rad or m, at the start
    perturbations: Perturbations


class Study(NamedTuple):
    """Result of a study."""

    payload: float  # kg, in the controller's model
    payload_error: Array  # (N,) kg
    tracking_error: dict[str, Array]  # (N,) m, root mean square, by controller


def draw_samples(
    arm: Dynamics, q: Array, payload: float, spread: float, count: int, seed: int
) -> Samples:
    """Return random arms around a nominal one.

    Args:
        arm: the robot without payload.
        q: (n,) where the motion starts.
        payload: nominal mass, kg.
        spread: largest error of the mass, relative.
        count: N, number of arms.
        seed: of the random numbers.
    """
    rng = np.random.default_rng(seed)
    model = arm.model
    error = payload * rng.uniform(-spread, spread, count)
    com = [0.0, 0.0, LEVER] + COM_ERROR * rng.normal(size=(count, 3))
    friction = rng.uniform(1 - FRICTION_ERROR, 1 + FRICTION_ERROR, (2, count, model.n))
    perturbations = Perturbations(
        arm.model.moving_links[-1],
        payload_parameters(payload + error, com),
        model.viscous * friction[0],
        model.coulomb * friction[1],
    )
    return Samples(error, q + START_ERROR * rng.normal(size=(count, model.n)), perturbations)


def study(
    arm: Dynamics,
    *,
    payload: float = 2.0,
    spread: float = 0.5,
    samples: int = 1000,
    duration: float = 4.0,
    seed: int = 0,
    progress: Progress | None = None,
    workers: Workers | None = None,
) -> Study:
    """Return the tracking errors of random arms.

    Args:
        arm: the robot without payload.
        payload: on the last link, in the controller's model, kg.
        spread: largest relative error of that mass.
        samples: number of arms.
        duration: of the motion, s.
        seed: of the random numbers.
        progress: as of `simulate_batch`.
        workers: executor and tasks as of `simulate_batch`; None: this process.

    Raises:
        ModelError: a payload is negative, or the arm has no dynamics.
    """
    link = arm.model.moving_links[-1]
    believed = arm.with_payload(link, payload, [0.0, 0.0, LEVER])
    motion = swing(believed, duration).trajectory(arm.model.joint_names)
    drawn = draw_samples(arm, motion.sample(0.0).q, payload, spread, samples, seed)
    gains, errors = pd_gains(believed, motion.at_waypoints().q, TIME_STEP), {}
    for k, (name, switches) in enumerate(CONTROLLERS.items()):
        run = simulate_batch(
            arm,
            drawn.q,
            np.zeros(arm.model.n),
            Tracking(believed, motion, gains, switches),
            steps=round(duration / TIME_STEP),
            time_step=TIME_STEP,
            perturbations=drawn.perturbations,
            record_every=RECORD_EVERY,
            progress=_part(progress, k, len(CONTROLLERS)),
            **({} if workers is None else workers._asdict()),
        )
        errors[name] = tracking_error(arm, link, motion, run)
    return Study(payload, drawn.payload_error, errors)


def tracking_error(arm: Dynamics, link: str, motion: Trajectory, run: BatchRun) -> Array:
    """Return the root mean square distance (N,) [m] of a link from its desired position."""
    wanted = arm.forward_kinematics(motion.sample(run.t).q, link)[:, :3, 3]
    place = arm.forward_kinematics(run.q, link)[..., :3, 3]
    distance = np.linalg.norm(place - wanted, axis=-1)
    return np.asarray(np.sqrt((distance**2).mean(axis=-1)))


def _part(progress: Progress | None, k: int, parts: int) -> Progress | None:
    """Return the progress callback of part k of the work."""
    if progress is None:
        return None
    return lambda done, total: progress(k * total + done, parts * total)


def table(result: Study) -> str:
    """Return medians and 95th percentiles of the tracking error [mm], by payload error."""
    rows = [
        ['payload error [kg]', *(cell for name in result.tracking_error for cell in (name, ''))],
        ['', *('median [mm]', '95 % [mm]') * len(result.tracking_error)],
    ]
    edges = np.linspace(result.payload_error.min(), result.payload_error.max(), 6)
    for low, high in pairwise(edges):
        inside = (result.payload_error >= low) & (result.payload_error <= high)
        if not inside.any():
            continue
        cells = [
            f'{1e3 * x:.2f}'
            for error in result.tracking_error.values()
            for x in np.percentile(error[inside], (50, 95))
        ]
        rows.append([f'{low:+.2f} to {high:+.2f}', *cells])
    return '\n'.join(aligned(rows, '<>'))


def plot(
    robot: str,
    payload: float,
    payload_error: Array,
    tracking_error: Mapping[str, Array],
    file: Path,
) -> None:
    """Draw tracking errors over payload errors; the suffix of the file selects the format.

    Args:
        robot: its name.
        payload: in the controller's model, kg.
        payload_error: (N,) kg.
        tracking_error: (N,) m, root mean square, by controller.
        file: where to draw.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    figure = sheet(9, 5.5)
    axis = figure.add_subplot()
    for (name, error), colour in zip(tracking_error.items(), COLOURS, strict=True):
        axis.plot(payload_error, 1e3 * error, '.', markersize=3, alpha=0.25, color=colour)
        axis.plot(*_medians(payload_error, 1e3 * error), color=colour, linewidth=2.5, label=name)
    axis.axvline(0.0, color='black', linewidth=0.8, linestyle=':')
    axis.set_yscale('log')
    axis.set_xlabel(f'true payload - believed payload of {payload:g} kg [kg]')
    axis.set_ylabel('error of the tip, root mean square [mm]')
    arms = len(payload_error)
    axis.set_title(f'{plain(robot)}: effect of an error of the payload ({arms} arms each)')
    axis.grid(which='both', alpha=0.25)
    axis.spines[['top', 'right']].set_visible(False)
    axis.margins(x=0.01)
    axis.legend(loc='best')
    save(figure, file)


def _medians(x: Array, y: Array) -> tuple[Array, Array]:
    """Return medians of y in bins of x, at the middles of the bins."""
    edges = np.quantile(x, np.linspace(0, 1, min(BINS, max(1, len(x) // 10)) + 1))
    bins = np.clip(np.searchsorted(edges, x, side='right') - 1, 0, len(edges) - 2)
    used = np.unique(bins)
    return (
        np.array([np.median(x[bins == k]) for k in used]),
        np.array([np.median(y[bins == k]) for k in used]),
    )


@contextmanager
def local_cluster(processes: int) -> Iterator[Executor]:
    """Yield an executor whose tasks run in processes of a Dask cluster on this machine.

    Raises:
        ClusterMissing: Dask is not installed.
    """
    with needed('cluster', "a cluster needs Dask's distributed", ClusterMissing):
        dask: Any = importlib.import_module('distributed')
    with (
        dask.LocalCluster(
            n_workers=processes, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        dask.Client(cluster) as client,
    ):
        yield client.get_executor()


class ClusterMissing(RobotDynamicsError, ImportError):  # noqa: N818  (says what it is)
    """Dask is not installed."""
