# SPDX-License-Identifier: Apache-2.0
"""Model predictive control of a seven-joint arm in CasADi, with torques within tight limits.

python examples/mpc_casadi.py

It needs casadi and a C compiler. The accelerations of the next half second are optimized. Inverse
dynamics and the pose of the tip are exported functions with analytic Jacobians, but without second
derivatives: the Hessian is that of Gauss-Newton, J^T J of the residuals of the cost.
"""

import subprocess
import tempfile
import time

import casadi as ca
import numpy as np

import robot_dynamics as rd
from robot_dynamics import cli

N, H = 10, 0.05  # steps of the horizon, and one of them, s
TIP, START = 'panda_link8', np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.8, 0.8])
TARGET = np.array([0.35, 0.45, 0.35])  # of the tip, m
SHARE = 0.6  # of the effort limits
WEIGHTS = 30.0, 0.3, 0.01  # of the tip's distance [1/m], velocities [s/rad], accelerations


def external_functions(folder):
    """Return tau(q, qd, qdd) and the pose (4, 4) of the tip, for CasADi."""
    words = ['export', 'panda', '--language', 'casadi', '--frame', TIP, '--output', folder]
    cli.main([*words, '--functions', 'inverse_dynamics', 'forward_kinematics'])
    source, library = f'{folder}/panda_casadi.c', f'{folder}/panda_casadi.so'
    flags = ['-shared', '-fPIC', '-O2', '-o', library]
    subprocess.run(['cc', source, *flags, '-lm'], check=True)
    names = 'inverse_dynamics', 'forward_kinematics'
    return [ca.external(f'panda_{name}', library) for name in names]


def controller(n, inverse_dynamics, forward_kinematics):
    """Return a solver, for w = (q, qd, qdd) of each step by columns; its parameter is (q, qd)."""
    w, now = ca.MX.sym('w', 3 * n, N + 1), ca.MX.sym('now', 2 * n)
    q, qd, qdd = ca.vertsplit(w, n)
    tips = forward_kinematics.map(N + 1)(q)[:3, 3::4]
    parts = [tips - ca.repmat(TARGET, 1, N + 1), qd, qdd]
    residual = ca.vertcat(*(k * ca.vec(x) for k, x in zip(WEIGHTS, parts, strict=True)))
    # Accelerations are constant within a step.
    a = qdd[:, :-1]
    gaps = [
        ca.vertcat(q[:, 0], qd[:, 0]) - now,
        q[:, 1:] - q[:, :-1] - H * qd[:, :-1] - H**2 / 2 * a,
        qd[:, 1:] - qd[:, :-1] - H * a,
    ]
    tau = inverse_dynamics.map(N + 1)(q, qd, qdd)
    x, g = ca.vec(w), ca.vertcat(*map(ca.vec, (*gaps, tau)))
    J = ca.jacobian(residual, x)
    multipliers = ca.MX.sym('s'), ca.MX.sym('l', g.size1())
    hessian = ca.Function('H', [x, now, *multipliers], [ca.triu(multipliers[0] * J.T @ J)])
    problem = {'x': x, 'p': now, 'f': ca.sumsqr(residual) / 2, 'g': g}
    quiet = {'ipopt.print_level': 0, 'ipopt.sb': 'yes', 'print_time': False}
    return ca.nlpsol('mpc', 'ipopt', problem, {'hess_lag': hessian, **quiet})


def main() -> tuple[float, float]:
    """Return the distance of the tip at the end, m, and the largest share of a torque's limit."""
    arm = rd.Dynamics(rd.load_urdf('panda'))
    with tempfile.TemporaryDirectory() as folder:
        inverse_dynamics, pose = external_functions(folder)
    n, limit = arm.model.n, SHARE * arm.model.effort_limit
    mpc = controller(n, inverse_dynamics, pose)
    bound = np.concatenate([np.zeros(2 * n * (N + 1)), np.tile(limit, N + 1)])
    q, qd, largest = START, np.zeros(n), 0.0
    w = np.tile(np.concatenate([q, qd, qd]), N + 1)
    print('  time  distance of the tip  largest torque of its limit  iterations      solved in')
    for step in range(30):
        begun = time.perf_counter()
        found = mpc(x0=w, p=np.concatenate([q, qd]), lbg=-bound, ubg=bound)
        taken = time.perf_counter() - begun
        w = found['x'].full().ravel()
        tau = arm.inverse_dynamics(*np.split(w[: 3 * n], 3))
        q, qd = arm.simulate(q, qd, tau, steps=50, time_step=H / 50, friction='none')
        away = float(np.linalg.norm(arm.forward_kinematics(q, TIP)[:3, 3] - TARGET))
        share = float(np.abs(tau / limit).max())
        largest = max(largest, share)
        if step % 3 == 2:
            count = mpc.stats()['iter_count']
            print(
                f'{(step + 1) * H:4.2f} s {1e3 * away:17.1f} mm {share:26.0%} '
                f'{count:13d} {1e3 * taken:10.0f} ms'
            )
    return away, largest


if __name__ == '__main__':
    main()
