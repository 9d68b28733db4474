# SPDX-License-Identifier: Apache-2.0
"""Causes that explain a residual without those that are fitted but not reported.

The torque of a cause may depend on the opposite torque of another one: two links that are wrong by
nearly the same amount, of which one is too small or too doubtful to be reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from robot_dynamics.common.spatial import Array

WORSE = 1.25  # times the residual of a joint without causes: more contradicts them


def sufficient(
    rms_without: Callable[[Array], Array],
    reported: Mapping[int, Array],
    small: Mapping[int, Array],
) -> list[int]:
    """Return causes that together make no joint's residual worse.

    Where they do, a cause that is only small is added if it restores the joint; otherwise the one
    that worsens the joint most is removed.

    Args:
        rms_without: returns the residual (n,) of each joint less a torque (R, n), relative to
            its residual without causes; 0 for joints without measured efforts.
        reported: torques (R, n) of valid causes, by their number.
        small: the same of valid causes that are too small to be reported for themselves.
    """
    reported, small = dict(reported), dict(small)
    while reported:
        torque = np.sum(list(reported.values()), axis=0)
        worse = rms_without(torque)
        j = int(np.argmax(worse))
        if worse[j] <= WORSE:
            break
        with_one = {g: rms_without(torque + one)[j] for g, one in small.items()}
        best = min(with_one, key=with_one.__getitem__, default=-1)
        if best >= 0 and with_one[best] <= WORSE:
            reported[best] = small.pop(best)
            continue
        without = {
            g: rms_without(torque - one)[j] for g, one in reported.items() if one[:, j].any()
        }
        del reported[min(without, key=without.__getitem__)]
    return list(reported)
