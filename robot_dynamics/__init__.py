# SPDX-License-Identifier: Apache-2.0
"""Rigid-body dynamics of robots: the equation of motion, from a URDF to compiled functions.

    M(q) qdd + C(q, qd) qd + g(q) + friction(qd) = tau + J(q)^T F_ext

======  =========================  ============  ==============================================
symbol  name here                  shape         meaning, unit
======  =========================  ============  ==============================================
q       `q`                        (..., n)      joint positions, rad or m
qd      `qd`                       (..., n)      joint velocities
qdd     `qdd`                      (..., n)      joint accelerations
tau     `inverse_dynamics`         (..., n)      joint torques, N m or N
M       `mass_matrix`              (..., n, n)   symmetric, positive definite
C       `coriolis_matrix`          (..., n, n)   of Christoffel symbols, dM/dt - 2 C is skew
g       `gravity_torque`           (..., n)      torques that hold the robot at rest
J       `jacobian`                 (..., 6, n)   angular part first, world-aligned at the frame
F_ext   `wrench`                   (..., 6)      exerted by the environment, moment first
T       `forward_kinematics`       (..., 4, 4)   pose of a frame in the base
Y, pi   `regressor`                see there     tau = Y pi, linear in the inertial parameters
======  =========================  ============  ==============================================

`Dynamics.inverse_dynamics` and `forward_dynamics` leave friction out, `Dynamics.simulate` and the
control laws include it; docs/guides/simulation.md has a table of all functions. Values are not
checked: NaN and infinity propagate to the results, as in NumPy.

Wings, of which each imports only those to the left of it:

    common < codegen < core < formulations | urdf < control < export < recordings
           < simulation | identification | evaluation | check | validation
           < view | textbook < ros < cli

Reading order: `core.model` (the robot), `formulations` (derivations from the books),
`core.algorithms` (the fast ones), `codegen` (from scalars to machine code), `core.programs` (their
registry), `core.dynamics` (the public class), `control`, `simulation`, `validation`, `ros`.
"""

__version__ = '0.1.0'

__all__ = [
    'AccelerationDerivatives',
    'BaseMotion',
    'ClosedChain',
    'Command',
    'ControlLoop',
    'Derivatives',
    'Dynamics',
    'FrameNotFound',
    'Inertial',
    'InertialWarning',
    'InverseKinematics',
    'LimitsWarning',
    'Linearization',
    'LoopClosure',
    'LoopNotClosed',
    'LoopSettings',
    'ModelError',
    'Momentum',
    'MovingBaseDynamics',
    'OperationalSpace',
    'RobotDynamicsError',
    'RobotModel',
    'ShapeError',
    'SingularityError',
    'State',
    'Terms',
    'TrajectoryError',
    'from_dh',
    'from_screws',
    'inverse_kinematics',
    'load_dh',
    'load_mjcf',
    'load_urdf',
    'parse_urdf',
    'write_mjcf',
    'write_urdf',
]

# Modules are imported when a name of theirs is first used: the command line, for one, starts
# before NumPy is loaded. Type checkers take TYPE_CHECKING as true, without importing typing.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from robot_dynamics.common.errors import (
        FrameNotFound,
        InertialWarning,
        LimitsWarning,
        LoopNotClosed,
        ModelError,
        RobotDynamicsError,
        ShapeError,
        SingularityError,
        TrajectoryError,
    )
    from robot_dynamics.control.control_loop import Command, ControlLoop
    from robot_dynamics.control.loop_settings import LoopSettings
    from robot_dynamics.core.algorithms.coriolis import Terms
    from robot_dynamics.core.algorithms.derivatives import Derivatives
    from robot_dynamics.core.algorithms.forward_dynamics_derivatives import AccelerationDerivatives
    from robot_dynamics.core.algorithms.linearization import Linearization
    from robot_dynamics.core.algorithms.momentum import Momentum
    from robot_dynamics.core.algorithms.operational_space import OperationalSpace
    from robot_dynamics.core.algorithms.simulation_step import State
    from robot_dynamics.core.base_motion import BaseMotion
    from robot_dynamics.core.dynamics import Dynamics
    from robot_dynamics.core.inverse_kinematics import InverseKinematics, inverse_kinematics
    from robot_dynamics.core.model.closures import LoopClosure
    from robot_dynamics.core.model.dh import from_dh, load_dh
    from robot_dynamics.core.model.inertia import Inertial
    from robot_dynamics.core.model.robot_model import RobotModel
    from robot_dynamics.core.model.screws import from_screws
    from robot_dynamics.core.moving_base import MovingBaseDynamics
    from robot_dynamics.simulation.closed_chains.closed_chain import ClosedChain
    from robot_dynamics.urdf.loading import load_urdf, parse_urdf
    from robot_dynamics.urdf.mjcf.loading import load_mjcf
    from robot_dynamics.urdf.mjcf.writing import write_mjcf
    from robot_dynamics.urdf.writing import write_urdf
else:
    _MODULES = {
        'AccelerationDerivatives': 'core.algorithms.forward_dynamics_derivatives',
        'BaseMotion': 'core.base_motion',
        'ClosedChain': 'simulation.closed_chains.closed_chain',
        'Command': 'control.control_loop',
        'ControlLoop': 'control.control_loop',
        'Derivatives': 'core.algorithms.derivatives',
        'Dynamics': 'core.dynamics',
        'Inertial': 'core.model.inertia',
        'InverseKinematics': 'core.inverse_kinematics',
        'Linearization': 'core.algorithms.linearization',
        'LoopClosure': 'core.model.closures',
        'LoopSettings': 'control.loop_settings',
        'Momentum': 'core.algorithms.momentum',
        'MovingBaseDynamics': 'core.moving_base',
        'OperationalSpace': 'core.algorithms.operational_space',
        'RobotModel': 'core.model.robot_model',
        'State': 'core.algorithms.simulation_step',
        'Terms': 'core.algorithms.coriolis',
        'from_dh': 'core.model.dh',
        'from_screws': 'core.model.screws',
        'inverse_kinematics': 'core.inverse_kinematics',
        'load_dh': 'core.model.dh',
        'load_mjcf': 'urdf.mjcf.loading',
        'load_urdf': 'urdf.loading',
        'parse_urdf': 'urdf.loading',
        'write_mjcf': 'urdf.mjcf.writing',
        'write_urdf': 'urdf.writing',
    }

    def __getattr__(name: str) -> object:
        import importlib

        if name == 'textbook':
            return importlib.import_module(f'{__name__}.textbook')
        if name not in __all__:
            raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
        module = importlib.import_module(f'{__name__}.{_MODULES.get(name, "common.errors")}')
        value = globals()[name] = getattr(module, name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
