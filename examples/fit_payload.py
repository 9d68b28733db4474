# SPDX-License-Identifier: Apache-2.0
"""A payload and friction from 100 simulated steps, by gradient through all of them, with JAX.

python examples/fit_payload.py
"""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import least_squares

import robot_dynamics as rd
from robot_dynamics.export.interop.jax import simulation_step

jax.config.update('jax_enable_x64', True)

H, STEPS, LINK = 5e-3, 100, 'panda_link8'
TRUE = {'mass': 1.5, 'height': 0.12, 'viscous': 0.8}  # kg; m along z of the link; N m s/rad


def payload(mass, height):
    """Return the ten parameters of a point mass on the z axis of its link."""
    I = mass * height**2
    return jnp.stack([mass, 0.0, 0.0, mass * height, I, 0.0, 0.0, I, 0.0, 0.0])


def main() -> dict[str, float]:
    """Return what is found."""
    arm = rd.Dynamics(rd.load_urdf('panda')).without_friction()
    start = np.array([0.0, -0.6, 0.2, -1.8, 0.1, 1.6, 0.3])
    tau = 4.0 * np.sin(0.06 * np.outer(np.arange(STEPS), np.arange(1, 8)))
    tau += arm.with_payload(LINK, 1.0).gravity_torque(start)

    # What is measured: an arm with the payload and viscous friction.
    model = arm.model.with_actuation(viscous=TRUE['viscous'])
    true = rd.Dynamics(model.with_payload(LINK, TRUE['mass'], [0.0, 0.0, TRUE['height']]))
    measured = true.rollout(start, np.zeros(7), tau, time_step=H).q[1:]

    step = simulation_step(arm, time_step=H, friction='none', payload=LINK)

    @jax.jit
    def errors(x):
        mass, height, viscous = x
        load = payload(mass, height)

        def advance(state, tau):
            q, qd = state
            # Friction at the start of the step; the simulator takes that at its end.
            state = step(q, qd, tau - viscous * qd, load)
            return state, state[0]

        _, q = jax.lax.scan(advance, (jnp.array(start), jnp.zeros(7)), tau)
        return jnp.ravel(q - measured)

    # The gradient of every error, through all steps: Gauss and Newton.
    found = least_squares(errors, [0.5, 0.0, 0.1], jac=jax.jit(jax.jacfwd(errors))).x
    for (name, true_value), value in zip(TRUE.items(), found, strict=True):
        print(f'{name:8} {value:7.4f}   true {true_value:7.4f}')
    return dict(zip(TRUE, found.tolist(), strict=True))


if __name__ == '__main__':
    main()
