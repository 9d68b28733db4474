"""How much does it matter to know the payload? Thousands of simulated arms say.

    robot-dynamics monte-carlo panda.urdf --payload 2 --picture study.png

An arm follows a trajectory with a payload that is not the one its controller believes in. Every
sample has a payload, friction and a start of its own; the same samples are run with feed-forward
torques of the believed model, and with feedback alone. What is measured is how far the tip is from
where it should be, root mean square over the motion.

With `--processes 4` the samples are tasks of a Dask cluster, here one of local processes; a
cluster of many machines takes the same tasks. The figures are the same, to the last bit.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.control import Switches, Trajectory, pd_gains
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.simulation.ensembles.batch import BatchRun, Progress, simulate_batch
from robot_dynamics.simulation.ensembles.perturbations import Perturbations, payload_parameters
from robot_dynamics.simulation.ensembles.tracking import Tracking, there_and_back
from robot_dynamics.spatial import Array

TIME_STEP = 1e-3  # s
RECORD_EVERY = 10  # steps
LEVER = 0.1  # m, from the last link's origin to the payload's centre of mass
START_ERROR = 1e-3  # rad or m, standard deviation
COM_ERROR = 0.01  # m, likewise
FRICTION_ERROR = 0.2  # of the friction, either way

FEEDBACK_ALONE = Switches(gravity=False, coriolis=False, inertia=False, friction=False)
CONTROLLERS = {'feedback and model': Switches(), 'feedback alone': FEEDBACK_ALONE}


class Samples(NamedTuple):
    """Arms that differ."""

    payload_error: Array  # (N,) kg, true mass - believed mass
    q: Array  # (N, n) rad or m, at the start
    perturbations: Perturbations


class Study(NamedTuple):
    """What came out."""

    payload: float  # kg, believed
    payload_error: Array  # (N,) kg
    tracking_error: dict[str, Array]  # (N,) m, root mean square, by controller


def draw_samples(
    arm: Dynamics, q: Array, payload: float, spread: float, count: int, seed: int
) -> Samples:
    """Return random arms about a believed one.

    Args:
        arm: the robot without payload.
        q: (n,) where the motion starts.
        payload: believed mass, kg.
        spread: largest error of the mass, relative.
        count: N, how many arms.
        seed: of the random numbers.
    """
    rng = np.random.default_rng(seed)
    model = arm.model
    error = payload * rng.uniform(-spread, spread, count)
    com = [0.0, 0.0, LEVER] + COM_ERROR * rng.normal(size=(count, 3))
    friction = rng.uniform(1 - FRICTION_ERROR, 1 + FRICTION_ERROR, (2, count, model.n))
    perturbations = Perturbations(
        tip(arm),
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
    executor: Executor | None = None,
    tasks: int = 8,
) -> Study:
    """Return the tracking errors of random arms.

    Args:
        arm: the robot without payload.
        payload: on the last link, as the controller believes, kg.
        spread: how wrong that may be, relative.
        samples: how many arms.
        duration: of the motion, s.
        seed: of the random numbers.
        progress: as of `simulate_batch`.
        executor: likewise.
        tasks: likewise.

    Raises:
        ModelError: a payload is negative, or the arm has no dynamics.
    """
    link = tip(arm)
    believed = arm.with_payload(link, payload, [0.0, 0.0, LEVER])
    motion = there_and_back(believed, duration)
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
            executor=executor,
            tasks=tasks,
        )
        errors[name] = tracking_error(arm, link, motion, run)
    return Study(payload, drawn.payload_error, errors)


def tracking_error(arm: Dynamics, link: str, motion: Trajectory, run: BatchRun) -> Array:
    """Return how far (N,) [m] links are from where they should be, root mean square."""
    wanted = arm.forward_kinematics(motion.sample(run.t).q, link)[:, :3, 3]
    place = arm.forward_kinematics(run.q, link)[..., :3, 3]
    distance = np.linalg.norm(place - wanted, axis=-1)
    return np.asarray(np.sqrt((distance**2).mean(axis=-1)))


def _part(progress: Progress | None, k: int, parts: int) -> Progress | None:
    """Return what tells the progress of part k of a work to whom it may concern."""
    if progress is None:
        return None
    return lambda done, total: progress(k * total + done, parts * total)


def tip(arm: Dynamics) -> str:
    """Return the last link of the description that moves: it carries the payload."""
    return [link for link in arm.model.link_names if arm.tree.frame(link).body >= 0][-1]


def table(result: Study) -> str:
    """Return medians and 95th percentiles of the tracking error [mm], by payload error."""
    lines = [f'{"payload error [kg]":<20}' + ''.join(f'{n:>28}' for n in result.tracking_error)]
    lines.append(f'{"":<20}' + f'{"median":>18}{"95 %":>7} mm' * len(result.tracking_error))
    edges = np.linspace(result.payload_error.min(), result.payload_error.max(), 6)
    for low, high in pairwise(edges):
        inside = (result.payload_error >= low) & (result.payload_error <= high)
        if not inside.any():
            continue
        cells = [
            '{:>18.2f}{:>7.2f}   '.format(*1e3 * np.percentile(error[inside], (50, 95)))
            for error in result.tracking_error.values()
        ]
        lines.append(f'{low:+.2f} to {high:+.2f}'.ljust(20) + ''.join(cells))
    return '\n'.join(lines)


@contextmanager
def local_cluster(processes: int) -> Iterator[Executor]:
    """Yield an executor whose tasks run in processes of a Dask cluster on this machine.

    Raises:
        ClusterMissing: Dask is not installed.
    """
    try:
        dask: Any = importlib.import_module('distributed')
    except ImportError as error:
        raise ClusterMissing(
            f"Dask's distributed cannot be imported ({error}): pip install distributed, or in a "
            "checkout pip install '.[cluster]'"
        ) from error
    with (
        dask.LocalCluster(
            n_workers=processes, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        dask.Client(cluster) as client,
    ):
        yield client.get_executor()


class ClusterMissing(RobotDynamicsError, ImportError):  # noqa: N818  (says what it is)
    """Dask is not there."""
