# SPDX-License-Identifier: Apache-2.0
"""Cost of the programs of contact in calls of `terms`: `python -m benchmarks.touch`.

One update of the momentum observer with its bank, and one cycle of Cartesian impedance.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from robot_dynamics.common.resources import share_file
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.impedance import Impedance, impedance_program, numbers_of
from robot_dynamics.control.momentum_observer import BANKED, ObserverSettings, observer_program
from robot_dynamics.core.algorithms.momentum_observer import ObserverState
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.urdf.loading import load_urdf

Program = tuple[Callable[..., Any], tuple[Array, ...]]

# Calls of terms at most
WANTED = {'observer': 2.0, 'Cartesian impedance': 20.0}
CALLS, ROUNDS = 2000, 30
FRAME = 'panda_link8'


def main() -> int:
    """Measure in alternation and print the least; return 1 if one costs more than wanted."""
    arm = Dynamics(load_urdf(share_file('urdf/panda.urdf')))
    rng = np.random.default_rng(0)
    q, qd, effort = rng.uniform(-1.0, 1.0, (3, arm.model.n))
    friction = FrictionSettings(law='coulomb_memory').of(arm.model)
    programs = {
        'terms': (arm.terms, (q, qd)),
        'observer': _update(arm, friction, q, qd, effort),
        'Cartesian impedance': _cycle(arm, friction, q, qd),
    }
    rounds = [[_cost(*program) for program in programs.values()] for _ in range(ROUNDS)]
    times = dict(zip(programs, np.array(rounds).T, strict=True))
    print(', '.join(f'{name} {1e6 * np.min(cost):.2f} us' for name, cost in times.items()))
    missed = False
    for name, wanted in WANTED.items():
        ratio = float(np.min(times[name]) / np.min(times['terms']))
        verdict = 'met' if ratio <= wanted else 'MISSED'
        missed |= ratio > wanted
        print(f'{name}: {ratio:.2f} calls of terms; wanted: at most {wanted:g}: {verdict}')
    return int(missed)


def _update(arm: Dynamics, friction: JointFriction, *sample: Array) -> Program:
    """Return an update of the observer, and its arguments."""
    n, settings = arm.model.n, ObserverSettings()
    update, kept = observer_program(arm, friction), len(ObserverState._fields)
    poles = np.array([settings.poles, settings.poles_along_momentum])
    per_joint = (*friction.coefficients.values(), friction.presliding, np.full(n, 7e-6))
    constants = np.array([1e-3]), poles, *(np.array(np.broadcast_to(x, n)) for x in per_joint)
    found = update(*sample, *constants, np.zeros(BANKED * n), *np.zeros((kept, n)))
    return update, (*sample, *constants, found.bank, *tuple(found)[:kept])


def _cycle(arm: Dynamics, friction: JointFriction, q: Array, qd: Array) -> Program:
    """Return a cycle of Cartesian impedance with friction, and its arguments."""
    zero, springs = np.zeros(arm.model.n), Impedance()
    target = arm.forward_kinematics(q + 0.1, FRAME).ravel()
    moving = np.full(6, 0.1)
    posture = q, zero
    stiffness = springs.stiffness, zero + springs.posture_stiffness, springs.damping
    rest = numbers_of(friction, arm.model.n), zero, np.array([1e-3])
    law = impedance_program(arm, FRAME)
    return law, (q, qd, target, moving, moving, np.zeros(6), *posture, *stiffness, *rest)


def _cost(call: Callable[..., Any], arguments: tuple[Array, ...]) -> float:
    began = perf_counter()
    for _ in range(CALLS):
        call(*arguments)
    return (perf_counter() - began) / CALLS


if __name__ == '__main__':
    sys.exit(main())
