# SPDX-License-Identifier: Apache-2.0
"""Time of a call of the loop without ROS, beside one of inverse dynamics in the same run.

python -m benchmarks.control_loop [CALLS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import robot_dynamics as rd

RATE = 1000  # Hz
PERIOD = 30  # calls between two targets
Q = np.array([0.3, -0.4, 0.2, -1.8, 0.1, 1.6, 0.4])


def median_time(call: Callable[[int], object], calls: int) -> float:
    """Return the median time [us] of calls, which get their number."""
    times = []
    for k in range(calls):
        begin = time.perf_counter_ns()
        call(k)
        times.append(time.perf_counter_ns() - begin)
    return float(np.median(times)) / 1e3


def measured(calls: int) -> dict[str, float]:
    """Return median times [us] on a Panda."""
    arm, still = rd.Dynamics(rd.load_urdf('panda')), np.zeros(7)

    def loop(every: int, counts: Callable[[int], bool]) -> float:
        """Return the median time of those calls that count, with a target every few calls."""
        own, times = rd.ControlLoop(arm, kp=50.0, kd=1.0), []
        for k in range(calls):
            target = Q + 0.02 * np.sin(0.003 * k) if every and k % every == 0 else None
            begin = time.perf_counter_ns()
            own.command(k / RATE, Q, still, target)
            times.append(time.perf_counter_ns() - begin)
        if own.fault:
            raise RuntimeError(own.fault)
        return float(np.median([t for k, t in enumerate(times) if counts(k)])) / 1e3

    states = [Q + 1e-6 * k for k in range(100)]
    return {
        'a state, held': loop(0, lambda k: k > 0),
        'a state in a stream': loop(PERIOD, lambda k: k % PERIOD > 0),
        'a state and a target': loop(PERIOD, lambda k: k % PERIOD == 0),
        'inverse_dynamics': median_time(
            lambda k: arm.inverse_dynamics(states[k % 100], still, still), calls
        ),
    }


def main() -> None:
    """Print the times, and their ratios to inverse dynamics."""
    found = measured(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    for name, value in found.items():
        print(f'{name:22s}{value:8.2f} us{value / found["inverse_dynamics"]:8.0f}')


if __name__ == '__main__':
    main()
