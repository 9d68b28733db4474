# SPDX-License-Identifier: Apache-2.0
"""Batches of states, and a linear model about a posture from exact derivatives.

python examples/batches_and_derivatives.py
"""

import numpy as np

import robot_dynamics as rd


def main() -> None:
    """Print results of a batch and of the derivatives."""
    arm = rd.Dynamics(rd.load_urdf('panda'))
    n = arm.model.n
    rng = np.random.default_rng(0)

    # Leading axes broadcast as in NumPy: 100 postures with 50 velocities each.
    q = rng.uniform(-1, 1, (100, 1, n))
    qd = rng.uniform(-1, 1, (50, n))
    tau = arm.inverse_dynamics(q, qd, np.zeros(n))
    print(
        'torques', tau.shape, '- the largest of each joint:', np.abs(tau).max(axis=(0, 1)).round(1)
    )

    # out= fills an existing array, without allocation.
    M = np.empty((100, n, n))
    arm.mass_matrix(q[:, 0], out=M)
    conditions = np.linalg.cond(M)
    print(f'condition number of M: {conditions.min():.0f} to {conditions.max():.0f}')

    # Linearization of tau(q, qd, qdd) at rest, with tau_0 = g(q_0):
    #     qdd = A_q dq + A_qd dqd + B dtau
    q_0, rest = rng.uniform(-1, 1, n), np.zeros(n)
    dtau_dq, dtau_dqd, M_0 = arm.inverse_dynamics_derivatives(q_0, rest, rest)
    B = np.linalg.inv(M_0)
    A_q, A_qd = -B @ dtau_dq, -B @ dtau_dqd

    # Comparison with forward dynamics at a small displacement.
    dq = 1e-4 * rng.normal(size=n)
    exact = arm.forward_dynamics(q_0 + dq, rest, arm.gravity_torque(q_0))
    print(
        'relative error of the linear model',
        f'{np.abs(A_q @ dq - exact).max() / np.abs(exact).max():.1e}',
    )
    assert not A_qd.any()  # Coriolis torques are quadratic in qd: no linear part at rest


if __name__ == '__main__':
    main()
