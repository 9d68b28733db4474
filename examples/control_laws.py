# SPDX-License-Identifier: Apache-2.0
"""Compare control laws on a simulated arm, with an exact model and with an unknown payload.

python examples/control_laws.py
"""

import numpy as np

import robot_dynamics as rd
from robot_dynamics.control.control_laws import LAWS
from robot_dynamics.control.feedforward import Gains
from robot_dynamics.control.gains import pd_gains
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.simulation import Simulator, simulate

TIME_STEP = 1e-3  # s


def main() -> dict[str, list[float]]:
    """Print and return the largest joint error of each law, rad: exact model, unknown payload."""
    model = rd.load_urdf('panda')
    known = rd.Dynamics(model)
    arms = [known, known.with_payload('panda_link8', 1.0, com=[0.0, 0.0, 0.1])]

    start = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.8])
    goal = start + np.array([0.8, 0.5, -0.4, 0.6, 0.5, -0.5, 0.7])
    rest = np.zeros((2, model.n))
    # Accelerations at both ends: a quintic.
    trajectory = Trajectory(model.joint_names, [0.0, 2.0], [start, goal], rest, rest)

    # One gain per joint, from the mass matrix along the motion and the time step.
    gains = pd_gains(known, trajectory.sample(np.linspace(0.0, 2.0, 20)).q, TIME_STEP)
    # Computed torque multiplies feedback by M: gains in 1/s^2 and 1/s, equal for all joints.
    scaled = Gains(kp=np.array(400.0), kd=np.array(40.0))
    # Joint impedance has a damping ratio in place of kd.
    damped = Gains(kp=gains.kp, kd=np.array(0.7))
    feedback = dict.fromkeys(LAWS, gains) | {
        'computed_torque': scaled,
        'joint_impedance': damped,
    }

    def largest_error(arm: rd.Dynamics, name: str) -> float:
        law = LAWS[name]

        def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
            return law(known, trajectory.sample(t), q, qd, gains=feedback[name]).tau

        run = simulate(Simulator(arm, q=start, time_step=TIME_STEP), torque, duration=2.5)
        return float(np.abs(run.q - trajectory.sample(run.t).q).max())

    errors = {name: [largest_error(arm, name) for arm in arms] for name in LAWS}
    print('largest joint error, mrad   exact model   1 kg unknown')
    for name, (exact, loaded) in errors.items():
        print(f'{name:25} {1e3 * exact:13.3f} {1e3 * loaded:14.1f}')
    # gravity_only follows no trajectory: the arm stays in place for hand guiding.
    return errors


if __name__ == '__main__':
    main()
