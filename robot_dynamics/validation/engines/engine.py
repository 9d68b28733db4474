"""Another engine with the same robot: its torques in our coordinates, and whether it is the same.

An engine orders joints its own way, gives mimicking joints coordinates of their own, and knows
nothing of locked ones. All of that is one linear map from our coordinates to its own,

    q_e = A q + b,      tau = A^T tau_e,      M = A^T M_e A.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from robot_dynamics.model.inertia import Inertial, inconsistency
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.model.states import States
from robot_dynamics.spatial import Array
from robot_dynamics.urdf.physics_only import bare_urdf, inertials, still_positions
from robot_dynamics.validation.engines.available import title
from robot_dynamics.validation.engines.process import EngineProcess, EngineRefused

# Relative differences of inertias above this may excuse another torque. PyBullet diagonalizes
# tensors, and stops when they are diagonal to about 1e-6.
SAME = 1e-6


class Answers(NamedTuple):
    """What an engine, or we, find for k states."""

    tau: Array  # (k, n) inverse dynamics
    M: Array  # (k, n, n)
    g: Array  # (k, n)
    coriolis: Array  # (k, n) C qd


class Judge:
    """An engine in its own process, holding the robot of a URDF; a context manager.

    Attributes:
        version: the engine's name and version.
        differences: links of which the engine holds other inertias than the URDF says, and how.
    """

    def __init__(
        self,
        engine: str,
        urdf: str | bytes,
        model: RobotModel,
        *,
        locked_joints: Mapping[str, float] | None = None,
        timeout: float = 60.0,
    ):
        """Start the engine and load the robot.

        Args:
            engine: one of `engines.ENGINES`.
            urdf: the text that `model` was made from.
            model: the robot as this package sees it; its gravity and coordinates are used.
            locked_joints: positions of joints that are none of its coordinates, 0 if omitted.
            timeout: s, for each answer of the engine.

        Raises:
            EngineError: the engine is missing, refuses the robot, or crashes.
        """
        self.model = model
        self._title = title(engine)
        bare = bare_urdf(urdf)
        self._process = EngineProcess(engine, timeout=timeout)
        try:
            reply = self._process.request(
                {'engine': engine, 'urdf': bare, 'gravity': model.gravity.tolist()}
            )
            self.version: str = reply['version']
            still = still_positions(urdf, locked_joints or {})
            self._A, self._b = _coordinates(model, reply['joints'], still)
        except BaseException:
            self.close()
            raise
        held = {
            link: Inertial(mass, np.array(com), np.array(tensor))
            for link, (mass, com, tensor) in reply['inertials'].items()
            if self._moves(link)
        }
        self.differences = _differences(self._title, inertials(bare), held)

    def _moves(self, link: str) -> bool:
        """Say whether a link can matter: what is fixed to the base has no effect on torques."""
        if link not in self.model.frame_names:
            return True
        return bool(self.model.frame_body[self.model.frame_index(link)] >= 0)

    @property
    def pid(self) -> int:
        """Process id of the engine's worker."""
        return self._process.pid

    def answers(self, states: States) -> Answers:
        """Return the engine's torques, mass matrices and gravity torques in our coordinates.

        Raises:
            EngineCrashed: the engine died over it; start another judge.
            EngineRefused: it found no finite numbers.
        """
        A, rotors = self._A, self.model.reflected_inertia
        reply = self._process.request(
            {
                'q': (states.q @ A.T + self._b).tolist(),
                'qd': (states.qd @ A.T).tolist(),
                'qdd': (states.qdd @ A.T).tolist(),
            }
        )
        tau, M, g, h = (np.array(reply[key]) for key in ('tau', 'M', 'g', 'h'))
        if not all(np.isfinite(array).all() for array in (tau, M, g, h)):
            raise EngineRefused(f'{self._title} gave numbers that are not finite')
        # A URDF knows no rotors: theirs is r^2 B_m on the diagonal.
        return Answers(
            tau @ A + rotors * states.qdd, A.T @ M @ A + np.diag(rotors), g @ A, (h - g) @ A
        )

    def close(self) -> None:
        """End the engine's process."""
        self._process.close()

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _coordinates(
    model: RobotModel, joints: list[tuple[str, str]], still: Mapping[str, float]
) -> tuple[Array, Array]:
    """Return A (m, n) and b (m,) of the m joints of an engine; each moves one link."""
    A, b = np.zeros((len(joints), model.n)), np.zeros(len(joints))
    links = [link for _, link in joints]
    for k, (joint, link) in enumerate(joints):
        if link in model.body_names:
            i = model.body_names.index(link)
            A[k], b[k] = model.S[i], model.s0[i]
        else:
            b[k] = still[joint]
    missing = [link for link in model.body_names if link not in links]
    if missing:
        raise EngineRefused(f'it has no joint that moves {", ".join(missing)}')
    return A, b


def _differences(
    who: str, written: Mapping[str, Inertial], held: Mapping[str, Inertial]
) -> tuple[str, ...]:
    """Return a sentence for each link of which an engine holds what is not written."""
    largest = max((body.mass for body in written.values()), default=0.0)
    sentences = []
    for link, body in held.items():
        true = written.get(link, Inertial())
        size = np.abs(true.inertia_com).max()
        if abs(body.mass - true.mass) > SAME * largest:
            what = f'mass {body.mass:g} kg, written {true.mass:g} kg'
        elif true.mass > 0 and np.abs(body.com - true.com).max() > SAME:
            what = f'centre of mass {body.com.tolist()}, written {true.com.tolist()}'
        elif np.abs(body.inertia_com - true.inertia_com).max() > SAME * size:
            diagonal, meant = (_shown(np.diag(x.inertia_com)) for x in (body, true))
            what = f'inertia with the diagonal ({diagonal}), written ({meant}) kg m^2'
            impossible = inconsistency(true)
            if impossible is not None:
                what += f', which no body can have: {impossible}'
        else:
            continue
        sentences.append(f'{who} holds another link {link!r}: {what}')
    return tuple(sentences)


def _shown(values: Array) -> str:
    return ', '.join(f'{value:.3g}' for value in values)
