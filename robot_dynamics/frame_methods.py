"""What `Dynamics` can say at a named frame: its pose, its Jacobian, forces there.

The programs of a frame are made when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from robot_dynamics.algorithms.forward_kinematics import forward_kinematics
from robot_dynamics.algorithms.jacobian import jacobian, jacobian_dot
from robot_dynamics.algorithms.operational_space import (
    ALL_DIRECTIONS,
    OperationalSpace,
    operational_space,
)
from robot_dynamics.algorithms.wrench_torque import wrench_torque
from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.errors import SingularityError
from robot_dynamics.programs import Programmed, Robot, Scalars
from robot_dynamics.spatial import Array

# A Jacobian is singular if its smallest singular value is this much smaller than its largest.
SINGULAR = 1e-12

# Algorithm and inputs of each method below.
AT_FRAMES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    'forward_kinematics': (forward_kinematics, ('q',)),
    'jacobian': (jacobian, ('q',)),
    'jacobian_dot': (jacobian_dot, ('q', 'qd')),
    'wrench_torque': (wrench_torque, ('q', 'wrench')),
    'operational_space': (operational_space, ('q', 'qd')),
}


class FrameMethods(Programmed):
    """Methods that take the name of a frame; FrameNotFound, which lists the known, for no name."""

    def forward_kinematics(self, q: Any, frame: str, *, out: Array | None = None) -> Array:
        """Return the pose T (..., 4, 4) of a frame in the base. Raises FrameNotFound."""
        result: Array = self._at(frame, 'forward_kinematics')(q, out=out)
        return result

    def jacobian(self, q: Any, frame: str, *, out: Array | None = None) -> Array:
        """Return J (..., 6, n), world-aligned at the frame's origin. Raises FrameNotFound."""
        result: Array = self._at(frame, 'jacobian')(q, out=out)
        return result

    def jacobian_dot(self, q: Any, qd: Any, frame: str, *, out: Array | None = None) -> Array:
        """Return dJ/dt (..., 6, n). Raises FrameNotFound."""
        result: Array = self._at(frame, 'jacobian_dot')(q, qd, out=out)
        return result

    def wrench_torque(self, q: Any, wrench: Any, frame: str, *, out: Array | None = None) -> Array:
        """Return J^T F (..., n): the torques that a wrench (..., 6) on the robot amounts to.

        The wrench is what the environment exerts, world-aligned at the frame's origin, moment
        first. Raises FrameNotFound.
        """
        result: Array = self._at(frame, 'wrench_torque')(q, wrench, out=out)
        return result

    def operational_space(
        self, q: Any, qd: Any, frame: str, *, directions: Sequence[int] = ALL_DIRECTIONS
    ) -> OperationalSpace:
        """Return OperationalSpace(Lambda, eta, mu, p) of a frame: Lambda Vd + eta = F.

        Args:
            q: (..., n) joint positions.
            qd: (..., n) joint velocities.
            frame: its name.
            directions: the k of the six directions (w, v) to keep, for a robot that cannot move
                in all of them: (3, 4) for an arm in the x-y plane.

        Raises:
            FrameNotFound: no such frame.
            SingularityError: the frame cannot move in one of the directions.
        """
        kept = tuple(directions)
        values = np.linalg.svd(self.jacobian(q, frame)[..., kept, :], compute_uv=False)
        if self.model.n < len(kept) or np.any(values[..., -1] <= SINGULAR * values[..., 0]):
            raise SingularityError(
                f'frame {frame!r} cannot move in all of the directions {kept}: the singular '
                f'values of its Jacobian are {values}'
            )
        call = self._at(frame, 'operational_space', *kept)
        result: OperationalSpace = call(q, qd)
        return result

    def _at(self, frame: str, method: str, *directions: int) -> Callable[..., Any]:
        """Return what computes a method at one frame, made on first use."""
        key = f'{method} {frame} {directions}'
        if key not in self.__dict__:
            self.__dict__[key] = self._program_at(frame, method, *directions).call
        call: Callable[..., Any] = self.__dict__[key]
        return call

    def frame_program(self, method: str, frame: str) -> CompiledFunction:
        """Return the program of one of `AT_FRAMES` at a frame. Raises FrameNotFound."""
        directions = ALL_DIRECTIONS if method == 'operational_space' else ()
        return self._program_at(frame, method, *directions)

    def _program_at(self, frame: str, method: str, *directions: int) -> CompiledFunction:
        self.tree.frame(frame)
        algorithm, inputs = AT_FRAMES[method]

        def at_frame(robot: Robot, *scalars: Scalars) -> Any:
            return algorithm(robot.tree, *scalars, frame, *([directions] if directions else []))

        return self.programs.compiled(
            f'{method} {frame} {directions}',
            at_frame,
            {name: 6 if name == 'wrench' else self.model.n for name in inputs},
            result=OperationalSpace if method == 'operational_space' else None,
        )
