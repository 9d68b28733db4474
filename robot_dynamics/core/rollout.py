# SPDX-License-Identifier: Apache-2.0
"""Simulation by a compiled step that is iterated in machine code, and checks of its arguments."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.codegen.calls.arguments import all_as_vectors, as_vectors
from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.crba import crba
from robot_dynamics.core.algorithms.forward_dynamics import fill_in
from robot_dynamics.core.algorithms.integrators import INTEGRATORS
from robot_dynamics.core.algorithms.simulation_step import State
from robot_dynamics.core.model.canonical import CanonicalTree
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.states import extreme_postures

MARGIN = 1.5  # of rates and frequencies in postures that were not tried

# Joints of the largest robot whose dry friction compiled steps solve: it couples all joints in one
# equation, and to compile that takes a time cubic in their number, here some ten seconds.
MOST_COUPLED = 40

# The most pairs of joints that compiled derivatives of forward dynamics couple, for this reason:
# those of a chain of so many joints.
MOST_PAIRS = MOST_COUPLED * (MOST_COUPLED - 1) // 2

# Values of `friction` in forward dynamics and simulation.
FRICTION = ('none', 'model')


def simulate(
    step: CompiledFunction, q: Any, qd: Any, tau: Any, *, steps: int, time_step: float
) -> State:
    """Return the states (..., n) after some steps under constant torques.

    Args:
        step: the program step(q, qd, tau, time_step) -> State.
        q: (..., n) joint positions, rad or m.
        qd: (..., n) joint velocities, rad/s or m/s.
        tau: (..., n) joint torques, N m or N.
        steps: number of steps, 0 or more.
        time_step: s.

    Raises:
        ShapeError: an argument does not end in n entries.
        ValueError: steps or time_step is out of range.
    """
    count, h = checked_count(steps), checked_time_step(time_step)
    q, qd, tau = all_as_vectors('simulate', step.signature.inputs[:3], (q, qd, tau))
    alone = q.ndim == qd.ndim == tau.ndim == 1
    advance = step.end if alone else step.advance
    result: State = advance(count, q=q, qd=qd, tau=tau, time_step=np.array([h]))
    return result


def rollout(step: CompiledFunction, q: Any, qd: Any, tau: Any, *, time_step: float) -> State:
    """Return the trajectory (steps + 1, n) from one state, under torques tau (steps, n).

    Raises:
        ShapeError: tau is not (steps, n), or q or qd not (n,).
        ValueError: time_step is not positive and finite.
    """
    h, n = checked_time_step(time_step), step.signature.inputs[0][1]
    rows = as_vectors('rollout', 'tau', tau, n)
    if rows.ndim != 2:
        raise ShapeError(f'rollout: tau has shape {rows.shape}, expected (steps, {n})')
    result: State = step.iterate(len(rows), q=q, qd=qd, tau=rows, time_step=[h])
    return result


def checked_count(steps: int) -> int:
    """Return a number of steps. Raises ValueError unless it is an integer, 0 or more."""
    try:
        count = operator.index(steps)
    except TypeError:
        count = -1
    if count < 0 or isinstance(steps, bool | np.bool_):
        raise ValueError(f'steps is {steps!r}; it must be an integer, 0 or more')
    return count


def checked_time_step(time_step: float) -> float:
    """Return a time step [s]. Raises ValueError unless it is a positive, finite number."""
    if not (isinstance(time_step, int | float | np.number) and 0 < time_step < math.inf):
        raise ValueError(f'time_step is {time_step!r} s; it must be positive and finite')
    return float(time_step)


def check_friction(friction: str) -> None:
    """Raise ValueError unless `friction` is one of `FRICTION`."""
    if friction not in FRICTION:
        raise ValueError(f'friction is {friction!r}; it must be one of {", ".join(FRICTION)}')


def check_coupled(joints: int) -> None:
    """Raise ValueError if a robot has too many joints for compiled steps with dry friction."""
    if joints > MOST_COUPLED:
        raise ValueError(
            f'the robot has {joints} joints with dry friction, which compiled steps take of at '
            f"most {MOST_COUPLED}: use simulation.Simulator, friction='none' or "
            'without_dry_friction()'
        )


def too_coupled(tree: CanonicalTree) -> bool:
    """Return whether a robot has too many coupled joints for derivatives of forward dynamics."""
    return sum(map(len, fill_in(tree))) > MOST_PAIRS


def fastest_friction(model: RobotModel, tree: CanonicalTree, viscous: Array) -> tuple[str, float]:
    """Return the joint that viscous friction brakes fastest, and the rate [1/s].

    The rate is that of `extreme_postures`, with a margin for others.

    Args:
        model: the robot.
        tree: the same, with its payloads.
        viscous: (n,) coefficients, N m s/rad or N s/m.
    """
    q = extreme_postures(model)
    rows = [[np.broadcast_to(x, len(q)) for x in row] for row in crba(tree, list(q.T))]
    j, rate = fastest_rate(np.moveaxis(np.array(rows, dtype=float), -1, 0), np.diag(viscous))
    return model.joint_names[j], rate


def fastest_rate(M: Array, D: Array) -> tuple[int, float]:
    """Return the largest eigenvalue of M^-1 D with a margin, and the coordinate it moves most.

    It is the rate of dampers D [1/s], or the square of the frequency of springs D.

    Args:
        M: (k, m, m) mass matrices in k postures.
        D: (m, m) symmetric, positive semidefinite.
    """
    # M = L L^T:  M^-1 D has the eigenvalues of L^-1 D L^-T, and the vectors L^-T y
    L = np.linalg.cholesky(M)
    rates, y = np.linalg.eigh(np.linalg.solve(L, np.swapaxes(np.linalg.solve(L, D), 1, 2)))
    k = int(np.argmax(rates[:, -1]))
    # By the energy that a coordinate dissipates or stores.
    shares = D.diagonal() * np.linalg.solve(L[k].T, y[k, :, -1]) ** 2
    return int(np.argmax(shares)), MARGIN * float(rates[k, -1])


def evaluates_friction(integrator: str) -> bool:
    """Return whether a compiled step evaluates friction at given velocities.

    The step of semi-implicit Euler solves for the friction at the end of the step.
    """
    return integrator != 'semi_implicit_euler'


def require_resolved(fastest: tuple[str, float], integrator: str, time_step: float) -> None:
    """Raise ValueError if viscous friction could reverse a joint within a step.

    Args:
        fastest: name of the joint, and the rate [1/s] at which its friction brakes it.
        integrator: one that `evaluates_friction`: beyond its limit a joint is reversed, farther
            each time.
        time_step: s.
    """
    joint, rate = fastest
    h, limit = checked_time_step(time_step), INTEGRATORS[integrator].damping_limit
    if h * rate > limit:
        raise ValueError(
            f'time_step is {h:g} s, but viscous friction brakes joint {joint!r} at up to '
            f'{rate:.4g} per second; {integrator} needs a step of at most {limit / rate:.2g} s. '
            'semi_implicit_euler takes any step, simulation.Simulator takes stiff friction with '
            'every integrator, and without_friction() leaves it out'
        )
