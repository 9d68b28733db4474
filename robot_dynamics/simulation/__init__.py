"""An arm in motion under given torques, at a fixed step, free of ROS.

`simulator` is the arm, `run` a whole motion as arrays; `effects` is what stands between an ideal
torque and an ideal joint, `steps` how a step is made. Torques known beforehand are faster in
`Dynamics.simulate` and `rollout`; many arms at once are in `many`, mechanisms with loops in
`loops`. What is done to an arm from outside is in `plant`, and `replay` does it again.
"""

from robot_dynamics.algorithms.integrators import explicit_euler, rk4, semi_implicit_euler
from robot_dynamics.simulation.closed_chains import ClosedLoopSimulator
from robot_dynamics.simulation.ensembles.batch import BatchRun, PerStep, simulate_batch
from robot_dynamics.simulation.ensembles.perturbations import Perturbations, payload_parameters
from robot_dynamics.simulation.errors import NotFinite, SimulationDiverged
from robot_dynamics.simulation.joint_models.actuators import Actuators
from robot_dynamics.simulation.joint_models.payloads import Payload
from robot_dynamics.simulation.joint_models.settings import FRICTION_LAWS, JointModels
from robot_dynamics.simulation.joint_models.stops import InelasticStop, SpringDamperStop
from robot_dynamics.simulation.run import Run, simulate
from robot_dynamics.simulation.simulator import Simulator, Snapshot
from robot_dynamics.simulation.steps.adaptive import Adaptive
from robot_dynamics.simulation.steps.elastic_arm import Elasticity
from robot_dynamics.simulation.steps.integrators import INTEGRATORS
from robot_dynamics.simulation.steps.midpoint import discrete_gradient, implicit_midpoint

__all__ = [
    'FRICTION_LAWS',
    'INTEGRATORS',
    'Actuators',
    'Adaptive',
    'BatchRun',
    'ClosedLoopSimulator',
    'Elasticity',
    'InelasticStop',
    'JointModels',
    'NotFinite',
    'Payload',
    'PerStep',
    'Perturbations',
    'Run',
    'SimulationDiverged',
    'Simulator',
    'Snapshot',
    'SpringDamperStop',
    'discrete_gradient',
    'explicit_euler',
    'implicit_midpoint',
    'payload_parameters',
    'rk4',
    'semi_implicit_euler',
    'simulate',
    'simulate_batch',
]
