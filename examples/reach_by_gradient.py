# SPDX-License-Identifier: Apache-2.0
"""A posture whose tip reaches a pose, by gradient descent on a cost of the pose, with JAX.

python examples/reach_by_gradient.py
"""

import jax
import jax.numpy as jnp
import numpy as np

import robot_dynamics as rd
from robot_dynamics.export.interop.jax import forward_kinematics

jax.config.update('jax_enable_x64', True)

TIP = 'panda_link8'
RATE = 0.5  # rad^2/m^2: a step is this times the gradient; with 2 it diverges
LENGTH = 0.3  # m: an error of 1 rad counts as much as one of 0.3 m
START = np.array([0.0, -0.6, 0.2, -1.8, 0.1, 1.6, 0.3])


def descend(cost, q, rate=RATE, *, below=1e-10, most=5000):
    """Return the posture where a cost is below a bound, and the number of steps.

    Raises:
        RuntimeError: a step made the cost larger, or there were too many.
    """
    with_gradient = jax.jit(jax.value_and_grad(cost))
    value, gradient = with_gradient(q)
    for k in range(most):
        if value < below:
            return q, k
        q = q - rate * gradient
        before = value
        value, gradient = with_gradient(q)
        if not value < before:  # also where it is NaN
            raise RuntimeError(
                f'step {k + 1} diverges: the cost was {before:.3g}, and is {value:.3g}; expected '
                f'a rate below {rate}'
            )
    raise RuntimeError(f'the cost is {value:.3g} after {most} steps; expected below {below}')


def main() -> tuple[float, float]:
    """Return the distance of the tip from its target, m, and the error of its rotation matrix."""
    arm = rd.Dynamics(rd.load_urdf('panda'))
    pose = forward_kinematics(arm, TIP)
    target = arm.forward_kinematics(START + 0.4, TIP)

    def cost(q):
        # |p - p*|^2 + LENGTH^2 |R - R*|^2 / 2, where the second norm is 2 angle^2 of a small angle
        error = pose(q) - target
        return jnp.sum(error[:3, 3] ** 2) + LENGTH**2 * jnp.sum(error[:3, :3] ** 2) / 2

    q, steps = descend(cost, jnp.array(START))
    error = arm.forward_kinematics(q, TIP) - target
    away, turned = np.linalg.norm(error[:3, 3]), np.abs(error[:3, :3]).max()
    print(f'{steps} steps: {away:.1e} m from the target, rotation within {turned:.1e}')
    try:
        descend(cost, jnp.array(START), rate=2.0)
    except RuntimeError as diverged:
        print(f'with a rate of 2: {diverged}')
    return float(away), float(turned)


if __name__ == '__main__':
    main()
