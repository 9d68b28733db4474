"""Velocities at the end of a step under the friction of these velocities.

For stiff friction, semi-implicit Euler uses the secant slope S of friction at the velocities v of
the start (`simulation_step`). Here S, of friction(v) = S(v) v, belongs to the velocities v' of the
end, found by a fixed number of iterations:

    (M + h S(v')) v' = M v + h (tau - C v - g).

Source: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), section IV.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from robot_dynamics.algorithms.crba import crba
from robot_dynamics.algorithms.forward_dynamics import factorize, fill_in, solve
from robot_dynamics.algorithms.rnea import bias_torque
from robot_dynamics.algorithms.vectors import Scalar, Vector
from robot_dynamics.model.canonical import CanonicalTree

ROUNDS = 4


class Braked(NamedTuple):
    """Result of the iterations."""

    v: Any  # n, after the last
    before: Any  # n, after the last but one
    lost: Any  # n, the friction that belongs to v, S v


def braked_velocity(
    tree: CanonicalTree,
    slope: Callable[[Vector], Vector],
    q: Vector,
    qd: Vector,
    tau: Vector,
    guess: Vector,
    h: Scalar,
) -> Braked:
    """Return the velocities at the end of a step, after `ROUNDS` iterations from a guess.

    Args:
        tree: the robot.
        slope: S (n) of the friction of its joints as a function of their velocities.
        q: (n) joint positions at the start, rad or m.
        qd: (n) joint velocities there.
        tau: (n) torques of the motors.
        guess: (n) of the velocities at the end.
        h: the step, s.
    """
    M, coupled = crba(tree, q), fill_in(tree)
    driving = [h * (t - x) for t, x in zip(tau, bias_torque(tree, q, qd), strict=True)]
    momentum = [
        p + sum(m * v for m, v in zip(row, qd, strict=True))
        for p, row in zip(driving, M, strict=True)
    ]
    v, before = list(guess), list(guess)
    for _ in range(ROUNDS):
        H = [list(row) for row in M]
        for j, s in enumerate(slope(v)):
            H[j][j] = H[j][j] + h * s
        before, v = v, solve(factorize(H, coupled), momentum)
    return Braked(v, before, [s * x for s, x in zip(slope(v), v, strict=True)])
