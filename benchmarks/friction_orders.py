# SPDX-License-Identifier: Apache-2.0
"""Orders of the simulator under friction and stops: `python -m benchmarks.friction_orders`.

Prints the table of docs/guides/simulation.md: for each case and integrator the slope of the error
of a 2R arm over steps of 4 and 1 ms, and its error at 1 ms (rad and rad/s, the largest). The
reference is rk4 at 1/64 ms. Cases named stick-slip have that law, the others the smooth one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.simulation import FrictionSettings, InelasticStop, JointModels, Simulator

INTEGRATORS = ('rk4', 'implicit_midpoint', 'semi_implicit_euler')
STEPS, FINE = (4e-3, 1e-3), 1e-3 / 64
SECONDS = 0.192

STICKING = JointModels(friction='stick_slip')
STOPS = JointModels(stops=InelasticStop())


class Case(NamedTuple):
    """A motion of the arm from a state, under constant torques."""

    name: str
    model: RobotModel
    q: tuple[float, float]
    qd: tuple[float, float]
    tau: tuple[float, float]
    joint_models: JointModels


def cases() -> list[Case]:
    """Return the cases of the table."""
    arm = planar_2r()
    rubbing = arm.with_actuation(viscous=0.5, coulomb=[0.8, 0.3])
    limited = replace(
        arm.with_gravity((0.0, 0.0, 0.0)), lower=np.array([-0.5, -9.0]), upper=np.full(2, 9.0)
    )
    sliding, smooth = ((0.3, -0.4), (4.0, 3.0), (9.0, 3.0)), JointModels()
    meeting, at_stop = ((-0.3, -0.4), (-5.0, 3.0)), ((-0.5, -0.4), (0.0, -7.0))
    dry = {'viscous': 0.5, 'coulomb': [0.8, 0.3]}
    laws = [
        FrictionSettings('stribeck', stribeck=0.3, **dry),
        FrictionSettings('load', load=0.02, **dry),
        FrictionSettings('coulomb_memory', **dry),
    ]
    return [
        Case('viscous friction', arm.with_actuation(viscous=2.0), *sliding, smooth),
        Case('smooth dry friction, sliding', rubbing, *sliding, smooth),
        Case('smooth dry friction, reversing', rubbing, (0.3, -0.4), (1.0, -1.0), (9, 3), smooth),
        Case('stick-slip, sliding', rubbing, *sliding, STICKING),
        Case('stick-slip, reversing', rubbing, (0.3, -0.4), (1.0, -1.0), (9.0, 3.0), STICKING),
        Case(
            'stick-slip, one joint at rest',
            arm.with_actuation(coulomb=[0.0, 1e3]),
            (0.3, 0.9),
            (0.0, 0.0),
            (0.0, 0.0),
            STICKING,
        ),
        *(Case(f'{x.law}, sliding', arm, *sliding, JointModels(x)) for x in laws),
        Case('inelastic impact, leaving', limited, *meeting, (60.0, 20.0), STOPS),
        Case('inelastic impact, staying', limited, *meeting, (-2.0, 20.0), STOPS),
        Case('inelastic stop, one joint at rest', limited, *at_stop, (-2.0, 20.0), STOPS),
        Case(
            'smooth dry friction, inelastic impact',
            limited.with_actuation(**dry),
            *meeting,
            (60.0, 20.0),
            STOPS,
        ),
    ]


def end(case: Case, h: float, integrator: str) -> Array:
    """Return q and qd after the motion."""
    simulator = Simulator(
        Dynamics(case.model),
        q=case.q,
        qd=case.qd,
        time_step=h,
        integrator=integrator,
        joint_models=case.joint_models,
    )
    for _ in range(round(SECONDS / h)):
        simulator.step(case.tau)
    return np.concatenate([simulator.q, simulator.qd])


def orders(case: Case) -> list[tuple[float, float]]:
    """Return order and error at the shortest step, for each integrator."""
    best = end(case, FINE, 'rk4')
    found = []
    for integrator in INTEGRATORS:
        coarse, fine = (float(np.abs(end(case, h, integrator) - best).max()) for h in STEPS)
        found.append((np.log(coarse / fine) / np.log(STEPS[0] / STEPS[1]), fine))
    return found


def main() -> int:
    """Print the table."""
    print('| 2R arm |', ' | '.join(f'`{name}`' for name in INTEGRATORS), '|')
    print('|---|' + '---|' * len(INTEGRATORS))
    for case in cases():
        cells = (f'{order:.1f}, {error:.0e}' for order, error in orders(case))
        print('|', case.name, '|', ' | '.join(cells), '|')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
