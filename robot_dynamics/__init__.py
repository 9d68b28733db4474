"""Model-based torque for any robot: the equation of motion, from a URDF to compiled functions.

    M(q) qdd + C(q, qd) qd + g(q) + friction(qd) = tau + J(q)^T F_ext

======  =========================  ============  ==============================================
symbol  name here                  shape         meaning, unit
======  =========================  ============  ==============================================
q       `q`                        (..., n)      joint positions, rad or m
qd      `qd`                       (..., n)      joint velocities
qdd     `qdd`                      (..., n)      joint accelerations
tau     `inverse_dynamics`         (..., n)      torques of the motors, N m or N
M       `mass_matrix`              (..., n, n)   symmetric, positive definite
C       `coriolis_matrix`          (..., n, n)   of Christoffel symbols, dM/dt - 2 C is skew
g       `gravity_torque`           (..., n)      what the motors supply to hold the arm
J       `jacobian`                 (..., 6, n)   angular part first, world-aligned at the frame
F_ext   `wrench`                   (..., 6)      what the environment exerts, moment first
T       `forward_kinematics`       (..., 4, 4)   pose of a frame in the base
Y, pi   `regressor`                see there     tau = Y pi, linear in the inertial parameters
======  =========================  ============  ==============================================

To read the package, follow the subject: `spatial`, `model` (what the robot is), `kinematics`,
`formulations` (every derivation, to be read beside its book), `algorithms` (how it is computed
fast), `compiler`, `dynamics` (the front door), `control`, `simulation`, `validation`, `nodes`.
"""

from robot_dynamics.algorithms.derivatives import Derivatives as Derivatives
from robot_dynamics.algorithms.operational_space import OperationalSpace as OperationalSpace
from robot_dynamics.algorithms.simulation_step import State as State
from robot_dynamics.algorithms.terms import Terms as Terms
from robot_dynamics.dynamics import Dynamics as Dynamics
from robot_dynamics.errors import FrameNotFound as FrameNotFound
from robot_dynamics.errors import InertialWarning as InertialWarning
from robot_dynamics.errors import LoopNotClosed as LoopNotClosed
from robot_dynamics.errors import ModelError as ModelError
from robot_dynamics.errors import RobotDynamicsError as RobotDynamicsError
from robot_dynamics.errors import ShapeError as ShapeError
from robot_dynamics.errors import SingularityError as SingularityError
from robot_dynamics.errors import TrajectoryError as TrajectoryError
from robot_dynamics.loops.closed_chain import ClosedChain as ClosedChain
from robot_dynamics.model.closures import LoopClosure as LoopClosure
from robot_dynamics.model.dh import from_dh as from_dh
from robot_dynamics.model.inertia import Inertial as Inertial
from robot_dynamics.model.robot_model import RobotModel as RobotModel
from robot_dynamics.model.screws import from_screws as from_screws
from robot_dynamics.model.urdf import load_urdf as load_urdf
from robot_dynamics.model.urdf import parse_urdf as parse_urdf
