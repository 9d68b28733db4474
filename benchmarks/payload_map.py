# SPDX-License-Identifier: Apache-2.0
"""Largest payloads of a Panda beside a loop over Pinocchio: `python -m benchmarks.payload_map`.

The loop computes the gravity torque without and with 1 kg per posture, as Robotics Toolbox does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np
import pinocchio as pin

from robot_dynamics.common.resources import share_file
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.sizing import largest_payload
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.states import random_postures
from robot_dynamics.urdf.loading import load_urdf

WANTED = 50.0  # times as fast as the loop
POSTURES, ROUNDS = 50_000, 5
FRAME = 'panda_link8'


def main() -> int:
    """Print the times and their ratio; return 1 if it is less than wanted or results differ."""
    file = share_file('urdf/panda.urdf')
    arm = Dynamics(load_urdf(file))
    q = random_postures(arm.model, POSTURES)
    ours, expected = largest_payload(arm, q, FRAME).mass, _loop(file, arm.model.effort_limit, q)
    difference = float(np.max(np.abs(ours / expected - 1)))
    fast = _least(lambda: largest_payload(arm, q, FRAME))
    slow = _least(lambda: _loop(file, arm.model.effort_limit, q))
    met = slow / fast >= WANTED and difference < 1e-6
    print(
        f'{POSTURES} postures: {1e3 * fast:.2f} ms; loop over Pinocchio {1e3 * slow:.0f} ms, '
        f'{slow / fast:.0f} times; largest relative difference {difference:.1e}; wanted: '
        f'{WANTED:g} times: {"met" if met else "MISSED"}'
    )
    return int(not met)


def _least(function: Callable[[], object]) -> float:
    """Return the least time of a call, s."""
    times = []
    for _ in range(ROUNDS):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return min(times)


def _loop(file: object, limit: Array, q: Array) -> Array:
    """Return the largest payloads (k,) by Pinocchio, posture by posture."""
    empty = pin.buildModelFromUrdf(str(file))
    loaded, frame = empty.copy(), empty.frames[empty.getFrameId(FRAME)]
    point = pin.Inertia(1.0, frame.placement.translation, np.zeros((3, 3)))
    loaded.appendBodyToJoint(frame.parentJoint, point, pin.SE3.Identity())
    data = [model.createData() for model in (empty, loaded)]
    masses = []
    for row in q:
        g, g1 = (
            pin.computeGeneralizedGravity(model, one, row).copy()
            for model, one in zip((empty, loaded), data, strict=True)
        )
        with np.errstate(divide='ignore', invalid='ignore'):
            each = (np.copysign(limit, g1 - g) - g) / (g1 - g)
        masses.append(np.nanmin(np.where(np.abs(g1 - g) > 1e-9, each, np.inf)))
    return np.array(masses)


if __name__ == '__main__':
    sys.exit(main())
