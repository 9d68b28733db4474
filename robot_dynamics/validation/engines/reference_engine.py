"""Adapter from an external physics engine to our joint coordinates.

Engines have their own joint order, separate coordinates for mimic joints, and coordinates for
joints that the model has locked. One linear map converts our coordinates to the engine's,

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
from robot_dynamics.validation.engines import title
from robot_dynamics.validation.engines.process import EngineProcess, EngineRejected

# Relative difference of inertias above which a robot counts as changed. PyBullet diagonalizes
# tensors, and stops when they are diagonal to about 1e-6.
SAME = 1e-6


class Results(NamedTuple):
    """Dynamics of k states."""

    tau: Array  # (k, n) inverse dynamics
    M: Array  # (k, n, n)
    g: Array  # (k, n)
    coriolis: Array  # (k, n) C qd


class ReferenceEngine:
    """An engine in its own process with the robot of a URDF loaded; a context manager.

    Attributes:
        version: name and version of the engine.
        differences: one sentence per link whose inertia in the engine differs from the URDF.
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
            urdf: the text from which `model` was made.
            model: the robot in this package; its gravity and coordinates are used.
            locked_joints: positions of joints that are not among its coordinates, 0 if omitted.
            timeout: s, for each reply of the engine.

        Raises:
            EngineError: the engine is missing, rejects the robot, or crashes.
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
        loaded = {link: body for link, body in reply['inertials'].items() if self._moves(link)}
        self.differences = _differences(self._title, inertials(bare), loaded)

    def _moves(self, link: str) -> bool:
        """Return whether a link can move: one that is fixed to the base has no effect."""
        if link not in self.model.frame_names:
            return True
        return bool(self.model.frame_body[self.model.frame_index(link)] >= 0)

    @property
    def pid(self) -> int:
        """Process id of the engine's worker."""
        return self._process.pid

    def results(self, states: States) -> Results:
        """Return torques, mass matrices and gravity torques in our coordinates.

        Raises:
            EngineCrashed: the engine ended; start another one.
            EngineRejected: a result is not finite.
        """
        A, rotors = self._A, self.model.reflected_inertia
        reply = self._process.request(
            {'q': states.q @ A.T + self._b, 'qd': states.qd @ A.T, 'qdd': states.qdd @ A.T}
        )
        tau, M, g, h = (reply[key] for key in ('tau', 'M', 'g', 'h'))
        if not all(np.isfinite(array).all() for array in (tau, M, g, h)):
            raise EngineRejected(f'{self._title} returned numbers that are not finite')
        # A URDF has no rotors; their inertia r^2 B_m is added on the diagonal.
        return Results(
            tau @ A + rotors * states.qdd, A.T @ M @ A + np.diag(rotors), g @ A, (h - g) @ A
        )

    def close(self) -> None:
        """End the engine's process."""
        self._process.close()

    def __enter__(self) -> ReferenceEngine:
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
        raise EngineRejected(f'the engine has no joint that moves {", ".join(missing)}')
    return A, b


def _differences(
    engine: str, urdf: Mapping[str, Inertial], loaded: Mapping[str, Inertial]
) -> tuple[str, ...]:
    """Return a sentence for each link whose inertia in the engine differs from the URDF."""
    largest = max((body.mass for body in urdf.values()), default=0.0)
    sentences = []
    for link, body in loaded.items():
        true = urdf.get(link, Inertial())
        size = np.abs(true.inertia_com).max()
        if abs(body.mass - true.mass) > SAME * largest:
            change = f'mass {body.mass:g} kg, in the URDF {true.mass:g} kg'
        elif true.mass > 0 and np.abs(body.com - true.com).max() > SAME:
            change = f'centre of mass {body.com.tolist()}, in the URDF {true.com.tolist()}'
        elif np.abs(body.inertia_com - true.inertia_com).max() > SAME * size:
            diagonal, written = (_shown(np.diag(x.inertia_com)) for x in (body, true))
            change = f'inertia with the diagonal ({diagonal}), in the URDF ({written}) kg m^2'
            impossible = inconsistency(true)
            if impossible is not None:
                change += f', which is physically inconsistent: {impossible}'
        else:
            continue
        sentences.append(f'{engine} changes link {link!r}: {change}')
    return tuple(sentences)


def _shown(values: Array) -> str:
    return ', '.join(f'{value:.3g}' for value in values)
