"""An arm in motion under given torques, at a fixed step, free of ROS.

Reading order: `algorithms.integrators` and `algorithms.simulation_step` (a step, compiled),
`joint_effects` (what drives and stiff bearings do to a torque), `simulator` (the arm), `run` (a
whole motion as arrays). Torques known beforehand are faster in `Dynamics.simulate` and `rollout`.
"""

from robot_dynamics.algorithms.integrators import (
    INTEGRATORS,
    explicit_euler,
    rk4,
    semi_implicit_euler,
)
from robot_dynamics.simulation.run import Run, simulate
from robot_dynamics.simulation.simulator import NotFinite, SimulationDiverged, Simulator

__all__ = [
    'INTEGRATORS',
    'NotFinite',
    'Run',
    'SimulationDiverged',
    'Simulator',
    'explicit_euler',
    'rk4',
    'semi_implicit_euler',
    'simulate',
]
