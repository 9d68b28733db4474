"""Motions of the viewed robot: free fall with friction and stops."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.simulation import InelasticStop, JointModels, Simulator
from robot_dynamics.view.state import Load, ViewState

TIME_STEP = 1e-3  # s
ROUNDING = 1e-6  # of a step
LONGEST = 0.1  # s simulated at a time: a loop that was interrupted does not catch up


class Fall:
    """Motion without motor torques from the present state: gravity, friction, stops, a force."""

    def __init__(self) -> None:
        self._simulator: Simulator | None = None
        self._load: Load | None = None
        self._rest = 0.0  # s, not yet simulated

    def advance(self, arm: Dynamics, state: ViewState, seconds: float) -> ViewState:
        """Return the state some seconds later.

        The acceleration is that of the last step.

        Raises:
            ModelError: a joint moves no inertia.
            SimulationDiverged: the motion is too fast for the time step.
        """
        simulator = self._simulator
        if simulator is None or state.load != self._load:
            # The arm of the state carries its payload: payloads of the simulator are not needed.
            simulator = self._simulator = Simulator(
                arm,
                q=state.q,
                qd=state.qd,
                time_step=TIME_STEP,
                integrator='semi_implicit_euler',
                joint_models=JointModels(stops=InelasticStop()),
            )
            self._load = state.load
        wrench = (
            {state.force_link: np.concatenate([np.zeros(3), state.force])}
            if state.force.any()
            else None
        )
        self._rest = min(self._rest + seconds, LONGEST)
        steps = math.floor(self._rest / TIME_STEP + ROUNDING)
        self._rest -= steps * TIME_STEP
        qdd = state.qdd
        for _ in range(steps):
            before = simulator.qd
            simulator.step(np.zeros(arm.model.n), wrenches=wrench)
            qdd = (simulator.qd - before) / TIME_STEP
        return replace(state, q=simulator.q, qd=simulator.qd, qdd=qdd)
