# SPDX-License-Identifier: Apache-2.0
"""Adapter from an external physics engine to our joint coordinates.

Engines have their own joint order, separate coordinates for mimic joints, and coordinates for
joints that the model has locked. One linear map converts our coordinates to the engine's,

    q_e = A q + b,      tau = A^T tau_e,      M = A^T M_e A.

The engine reads the robot's own text (`original_text`). The text as our reader has completed and
written it is given only to an engine that cannot read that one, and a note says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core import kinematics
from robot_dynamics.core.model.inertia import Inertial, inconsistency
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.states import States
from robot_dynamics.urdf.physics_only import bare_urdf, for_engines
from robot_dynamics.validation.engines import title
from robot_dynamics.validation.engines.original_text import OriginalText, original_text
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


class JointFrames(NamedTuple):
    """Joints of the nb moving bodies while every coordinate is 0, in the base frame."""

    axes: Array  # (nb, 3)
    origins: Array  # (nb, 3) m, of the bodies' frames
    masses: Array  # (nb,) kg, moved by each joint


class ReferenceEngine:
    """An engine in its own process with the robot of a URDF loaded; a context manager.

    Attributes:
        version: name and version of the engine.
        body_joints: names of the joints that move the model's bodies, (nb).
        joint_frames: these joints as the engine has them; None if it does not report them.
        notes: a sentence if the engine has not read the original text.
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
        urdf, reason = for_engines(urdf)
        own = f'{self._title} has read the text as this package writes it: {reason}'
        self.notes: tuple[str, ...] = (own,) if reason else ()
        original = original_text(urdf)
        self._process = EngineProcess(engine, timeout=timeout)
        try:
            try:
                reply = self._load(engine, original.urdf, original, locked_joints or {})
            except EngineRejected as error:
                reply = self._load(engine, bare_urdf(urdf), original, locked_joints or {})
                self.notes = (
                    f'{self._title} has read the text as this package writes it, so a mistake of '
                    f'its reader is invisible; of the original text, {error}',
                )
            found = self._process.request({'joint_frames': self._b})
        except BaseException:
            self.close()
            raise
        self.version: str = reply['version']
        # Of the engine's joints, those that move the model's bodies.
        links = [link for _, link in reply['joints']]
        rows = [links.index(link) for link in model.body_names]
        self.body_joints = tuple(reply['joints'][row][0] for row in rows)
        self.joint_frames = (
            JointFrames(*(found[key][rows] for key in ('axes', 'origins', 'masses')))
            if found
            else None
        )
        loaded = {link: body for link, body in reply['inertials'].items() if self._moves(link)}
        self.differences = _differences(self._title, original.inertials, loaded)

    def _load(
        self, engine: str, urdf: str, original: OriginalText, locked: Mapping[str, float]
    ) -> dict[str, Any]:
        """Load a text, and find our coordinates in the engine's; return the engine's reply."""
        model = self.model
        reply = self._process.request(
            {'engine': engine, 'urdf': urdf, 'gravity': model.gravity.tolist()}
        )
        links = [link for _, link in reply['joints']]
        missing = [link for link in model.body_names if link not in links]
        if missing:
            raise EngineRejected(f'the engine has no joint that moves {", ".join(missing)}')
        motions = [
            original.motion(joint, model.joint_names, locked) for joint, _ in reply['joints']
        ]
        self._A, self._b = (np.array(part) for part in zip(*motions, strict=True))
        return reply

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


def our_joint_frames(model: RobotModel) -> JointFrames:
    """Return the joints as the model has them."""
    poses = kinematics.body_poses(model, np.zeros(model.n))
    return JointFrames(
        np.einsum('bij,bj->bi', poses[:, :3, :3], model.axis),
        poses[:, :3, 3],
        np.array([[i in model.support(b) for b in range(model.nb)] for i in range(model.nb)])
        @ model.mass,
    )


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
