"""The balance of momentum over a step of semi-implicit Euler."""

from __future__ import annotations

from robot_dynamics.simulation.steps.body import Body
from robot_dynamics.spatial import Array

# Largest h omega of springs that a step resolves: their torques may be those of its start.
RESOLVED = 1.0


def end_momentum(body: Body, y: Array, yd: Array, force: Array, h: float) -> tuple[Array, Array]:
    """Return H (m, m) and b (m,) with H v' = b for the velocities v' at the end of a step.

    Friction and stops are left out; springs are in H where they are too fast for the step.
    """
    M, C, g = body.terms(y, yd)
    # M v' = M v + h (f - C v - g - h K v' - D v')
    H, b = M, M @ yd + h * (force - C @ yd - g)
    if body.springs is not None:
        H = H + h * body.springs.D
        if h * body.fastest > RESOLVED:
            H = H + h**2 * body.springs.K
    return H, b
