# SPDX-License-Identifier: Apache-2.0
"""Swing-up of a double pendulum whose elbow alone has a motor, then balance, both by LQR.

python examples/lqr_swing_up.py
"""

import numpy as np

import robot_dynamics as rd
from robot_dynamics.core.model.robots import planar_2r

H, STEPS = 0.02, 200
STEP = {'time_step': H, 'integrator': 'rk4', 'friction': 'none'}
HANGING, UPRIGHT = np.array([[-np.pi / 2, 0.0, 0.0, 0.0], [np.pi / 2, 0.0, 0.0, 0.0]])  # q, qd
END, EFFORT = np.diag([1e3, 1e3, 1e2, 1e2]), 0.1  # weights of the error at the end, of u^2
SHARES = 0.0, 0.03, 0.1, 0.3, 1.0  # of a change, which is exact for a linear motion alone


def follow(arm, x, us, gains, reference):
    """Return states (N + 1, 4) and elbow torques (N), us + gains (x - reference)."""
    states, torques = [x], []
    for u, K, x_ref in zip(us, gains, reference, strict=True):
        torques.append(u + K @ (states[-1] - x_ref))
        q, qd = np.split(states[-1], 2)
        states.append(np.hstack(arm.simulate(q, qd, [0.0, torques[-1]], steps=1, **STEP)))
    return np.array(states), np.array(torques)


def lqr(arm, states, us):
    """Return changes (N) of the torques of a motion that bring it upright, and gains (N, 4)."""
    q, qd = np.split(states[:-1], 2, axis=1)
    A, B = arm.linearize(q, qd, np.outer(us, [0.0, 1.0]), **STEP)
    P, p, found = END, END @ (states[-1] - UPRIGHT), []
    for F, b, u in zip(A[::-1], B[::-1, :, 1], us[::-1], strict=True):
        # min over v of EFFORT h (u + v)^2 / 2 + p . dx' + dx' . P dx' / 2,   dx' = F dx + b v
        weight = EFFORT * H + b @ P @ b
        change, K = -(EFFORT * H * u + b @ p) / weight, -(b @ P @ F) / weight
        P, p = F.T @ P @ (F + np.outer(b, K)), F.T @ (p + P @ b * change)
        found.append((change, K))
    return (np.array(x) for x in zip(*found[::-1], strict=True))


def cost(motion):
    """Return the cost of states and torques."""
    states, us = motion
    error = states[-1] - UPRIGHT
    return error @ END @ error + EFFORT * H * us @ us


def main() -> tuple[float, float]:
    """Return the distances from upright after the swing-up, and after four more seconds."""
    arm, none, rest = rd.Dynamics(planar_2r()), np.zeros((STEPS, 4)), np.zeros(STEPS)
    states, us = follow(arm, HANGING, 0.5 * np.sin(3.0 * H * np.arange(STEPS)), none, none)
    for _ in range(100):
        changes, gains = lqr(arm, states, us)
        tried = [us + share * changes for share in SHARES]
        states, us = min((follow(arm, HANGING, x, gains, states[:-1]) for x in tried), key=cost)
    _, gains = lqr(arm, np.tile(UPRIGHT, (STEPS + 1, 1)), rest)
    kept = np.tile(gains[0], (STEPS, 1)), np.tile(UPRIGHT, (STEPS, 1))
    held, _ = follow(arm, states[-1], rest, *kept)
    swung, balanced = (float(abs(x[-1] - UPRIGHT).max()) for x in (states, held))
    print(f'largest torque of the elbow {abs(us).max():.1f} N m')
    print(f'distance from upright {swung:.1e}, after {STEPS * H:.0f} s of balance {balanced:.1e}')
    return swung, balanced


if __name__ == '__main__':
    main()
