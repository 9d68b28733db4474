# SPDX-License-Identifier: Apache-2.0
"""Swing-up of a double pendulum whose elbow alone has a motor, then balance by LQR.

python examples/lqr_swing_up.py
"""

import numpy as np
from scipy.linalg import solve_discrete_are

import robot_dynamics as rd
from robot_dynamics.model.robots import planar_2r

H, STEPS = 0.02, 200
STEP = {'time_step': H, 'integrator': 'rk4', 'friction': 'none'}
HANGING, UPRIGHT = np.array([[-np.pi / 2, 0.0, 0.0, 0.0], [np.pi / 2, 0.0, 0.0, 0.0]])  # q, qd
END, EFFORT = np.diag([1e3, 1e3, 1e2, 1e2]), 0.1  # weights of the error at the end, of u^2


def follow(arm, x, us, gains, reference):
    """Return states (N + 1, 4) and elbow torques (N), us + gains (x - reference)."""
    states, torques = [x], []
    for u, K, x_ref in zip(us, gains, reference, strict=True):
        torques.append(u + K @ (states[-1] - x_ref))
        q, qd = np.split(states[-1], 2)
        states.append(np.concatenate(arm.simulate(q, qd, [0.0, torques[-1]], steps=1, **STEP)))
    return np.array(states), np.array(torques)


def improvement(arm, states, us):
    """Return changes (N) of the torques and gains (N, 4): LQR along a motion (iLQR)."""
    q, qd = np.split(states[:-1], 2, axis=1)
    A, B = arm.linearize(q, qd, np.stack([0 * us, us], axis=1), **STEP)
    P, p, changes = END, END @ (states[-1] - UPRIGHT), []
    for F, b, u in zip(A[::-1], B[::-1, :, 1], us[::-1], strict=True):
        # min over v of EFFORT h (u + v)^2 / 2 + p . dx' + dx' . P dx' / 2,   dx' = F dx + b v
        weight = EFFORT * H + b @ P @ b
        change, K = -(EFFORT * H * u + b @ p) / weight, -(b @ P @ F) / weight
        P, p = F.T @ P @ (F + np.outer(b, K)), F.T @ (p + P @ b * change)
        changes.append((change, K))
    return (np.array(x) for x in zip(*changes[::-1], strict=True))


def swing_up(arm):
    """Return states and elbow torques from hanging to upright, by 150 improvements at most."""

    def cost(states, us):
        error = states[-1] - UPRIGHT
        return error @ END @ error + EFFORT * H * us @ us

    small = 0.5 * np.sin(3.0 * H * np.arange(STEPS))
    best = follow(arm, HANGING, small, np.zeros((STEPS, 4)), np.zeros((STEPS, 4)))
    for _ in range(150):
        change, gains = improvement(arm, *best)
        for share in 0.5 ** np.arange(12):
            trial = follow(arm, HANGING, best[1] + share * change, gains, best[0][:-1])
            if cost(*trial) < cost(*best):
                break
        gained = 1 - cost(*trial) / cost(*best)
        best = trial if gained > 0 else best
        if gained < 1e-4:
            break
    return best


def balance_gains(arm):
    """Return the gains (4,) of the elbow torque that keep the arm upright."""
    A, B = arm.linearize(*np.split(UPRIGHT, 2), np.zeros(2), **STEP)
    b, R = B[:, 1:], np.eye(1)
    P = solve_discrete_are(A, b, np.eye(4), R)
    return -np.linalg.solve(R + b.T @ P @ b, b.T @ P @ A)[0]


def main() -> tuple[float, float]:
    """Return the distances from upright after the swing-up, and after four more seconds."""
    arm = rd.Dynamics(planar_2r())
    states, us = swing_up(arm)
    gains = np.tile(balance_gains(arm), (STEPS, 1))
    held, _ = follow(arm, states[-1], np.zeros(STEPS), gains, np.tile(UPRIGHT, (STEPS, 1)))
    swung, balanced = (float(np.abs(x[-1] - UPRIGHT).max()) for x in (states, held))
    print(f'largest torque of the elbow {np.abs(us).max():.1f} N m')
    print(f'distance from upright {swung:.1e}, after {STEPS * H:.0f} s of balance {balanced:.1e}')
    return swung, balanced


if __name__ == '__main__':
    main()
