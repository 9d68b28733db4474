# SPDX-License-Identifier: Apache-2.0
"""Simulation of arms under given torques with a fixed step, without ROS.

Input: a `Dynamics`, models of joints and sensors, torques. Output: motions, and recordings
as a real arm would give them. Other wings use `Simulator` (simulator), `JointModels`
(joint_models.selection) and `Sensing` (sensors).

`simulator` holds the state of one arm; `run` returns a motion as arrays, `run_figures` draws it;
`joint_models` are friction, stops, elasticity and drives; `steps` are integrators and contact.
Torques known in advance are faster in `Dynamics.simulate` and `rollout`. `ensembles` simulates
batches of arms, `closed_chains` mechanisms with kinematic loops. `environment` has planes and
spheres to touch, `prescribed_base_motion` moves the base of one arm, whose motion an
`inertial_sensor` measures; batches and mechanisms have a fixed base. `plant` is a simulated arm
with brakes, and its inputs; `scheduling` and `run_control` step it by a clock and by requests.
"""

from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.simulation.closed_chains.closed_loop_simulator import ClosedLoopSimulator
from robot_dynamics.simulation.ensembles.batch import BatchRun, PerStep, simulate_batch
from robot_dynamics.simulation.ensembles.perturbations import Perturbations, payload_parameters
from robot_dynamics.simulation.environment import (
    Environment,
    Material,
    Plane,
    Sphere,
    TouchPoint,
    load_environment,
)
from robot_dynamics.simulation.errors import NotFinite, SimulationDiverged
from robot_dynamics.simulation.hardware import HardwareProfile, ProfileError, load_profile
from robot_dynamics.simulation.inertial_sensor import (
    InertialMeasurement,
    InertialSensing,
    InertialSensor,
)
from robot_dynamics.simulation.joint_models.actuators import Actuators
from robot_dynamics.simulation.joint_models.selection import FRICTION_LAWS, Elasticity, JointModels
from robot_dynamics.simulation.joint_models.servo import Servo, ServoCommand
from robot_dynamics.simulation.joint_models.stops import InelasticStop, SpringDamperStop
from robot_dynamics.simulation.prescribed_base_motion import (
    MotionComponent,
    PrescribedBaseMotion,
    Ramp,
    Sine,
    load_base_motion,
)
from robot_dynamics.simulation.recordings import (
    ServoRecording,
    SimulatedRecording,
    record_motion,
    record_servo,
    record_tracking,
)
from robot_dynamics.simulation.run import Run, simulate
from robot_dynamics.simulation.run_figures import animate_run, plot_run
from robot_dynamics.simulation.sensors import Sensors, encoder_resolution
from robot_dynamics.simulation.simulator import Simulator, Snapshot
from robot_dynamics.simulation.steps.adaptive import Adaptive
from robot_dynamics.simulation.steps.integrators import INTEGRATORS

__all__ = [
    'FRICTION_LAWS',
    'INTEGRATORS',
    'Actuators',
    'Adaptive',
    'BatchRun',
    'ClosedLoopSimulator',
    'Elasticity',
    'Environment',
    'FrictionSettings',
    'HardwareProfile',
    'InelasticStop',
    'InertialMeasurement',
    'InertialSensing',
    'InertialSensor',
    'JointModels',
    'Material',
    'MotionComponent',
    'NotFinite',
    'PerStep',
    'Perturbations',
    'Plane',
    'PrescribedBaseMotion',
    'ProfileError',
    'Ramp',
    'Run',
    'Sensors',
    'Servo',
    'ServoCommand',
    'ServoRecording',
    'SimulatedRecording',
    'SimulationDiverged',
    'Simulator',
    'Sine',
    'Snapshot',
    'Sphere',
    'SpringDamperStop',
    'TouchPoint',
    'animate_run',
    'encoder_resolution',
    'load_base_motion',
    'load_environment',
    'load_profile',
    'payload_parameters',
    'plot_run',
    'record_motion',
    'record_servo',
    'record_tracking',
    'simulate',
    'simulate_batch',
]
