# SPDX-License-Identifier: Apache-2.0
"""Immutable robot model, independent of joint positions.

The robot is a tree of `nb` rigid bodies, each connected to its parent (or to the base) by one
moving joint; links connected by fixed joints are merged and their frames kept by name. The joint
positions of the bodies follow from the `n` independent coordinates q by the linear map

    q_body = S q + s0,    qd_body = S qd,    tau = S^T tau_body,

which is the identity for most robots and describes mimic joints, remote drives and parallelograms.
Every algorithm takes a RobotModel as its first argument.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import FrameNotFound, ModelError, ShapeError
from robot_dynamics.common.spatial import Array, pose
from robot_dynamics.core.model.inertia import (
    Inertial,
    combined,
    malformation,
    to_parameters,
    transformed,
)
from robot_dynamics.core.model.joint_values import at_least_zero, units_of
from robot_dynamics.core.model.joints import joint_transform

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
# Limits of a coordinate that scale with the ratio of its joint.
RATE_LIMITS = ('velocity_limit', 'acceleration_limit', 'deceleration_limit', 'jerk_limit')
PER_COORDINATE = (
    *('lower', 'upper', *RATE_LIMITS, 'effort_limit'),
    *('viscous', 'coulomb', 'reflected_inertia'),
)

MOST_LISTED = 12  # names in a message


def shortened(joint_names: Sequence[str]) -> str:
    """Return the number of joints and their names, at most four of them, for a repr."""
    names = list(joint_names)
    count = f'{len(names)} joint{"" if len(names) == 1 else "s"}'
    if len(names) > 4:
        names = [*names[:2], '...', names[-1]]
    return f'{count}, {", ".join(names)}' if names else count


@dataclass(frozen=True, eq=False, kw_only=True)
class RobotModel:
    """A tree of rigid bodies. All arrays are read-only; numbers are float64.

    Body i moves relative to its parent p by its joint; body frames are at the joints.
    """

    name: str
    joint_names: tuple[str, ...]  # n independent coordinates
    body_names: tuple[str, ...]  # nb links whose frames are the body frames
    parent: Array  # (nb,) index of the parent body, -1 for the base
    revolute: Array  # (nb,) bool: revolute, else prismatic
    axis: Array  # (nb, 3) unit joint axes, body frame
    placement: Array  # (nb, 4, 4) T_pi at joint position 0
    mass: Array  # (nb,) kg
    com: Array  # (nb, 3) m, body frame
    inertia_com: Array  # (nb, 3, 3) kg m^2, about the centre of mass, body axes
    S: Array  # (nb, n) coordinate map
    s0: Array  # (nb,) its offsets, rad or m
    lower: Array  # (n,) position limits, -inf where there are none
    upper: Array  # (n,)
    velocity_limit: Array  # (n,) rad/s or m/s, inf where unspecified
    acceleration_limit: Array  # (n,) rad/s^2 or m/s^2, inf where unspecified
    deceleration_limit: Array  # (n,) likewise, of motions that slow down
    jerk_limit: Array  # (n,) rad/s^3 or m/s^3, inf where unspecified
    effort_limit: Array  # (n,) N m or N, inf where unspecified
    viscous: Array  # (n,) N m s/rad or N s/m
    coulomb: Array  # (n,) N m or N
    reflected_inertia: Array  # (n,) rotor inertia at the joints, kg m^2 or kg
    gravity: Array = field(default_factory=lambda: np.array(STANDARD_GRAVITY))  # m/s^2, base
    link_names: tuple[str, ...] = ()  # all links of the description, tree order
    frame_names: tuple[str, ...] = ()
    frame_body: Array = field(default_factory=lambda: np.zeros(0, dtype=int))  # -1 for the base
    frame_placement: Array = field(default_factory=lambda: np.zeros((0, 4, 4)))  # in that body
    base: Inertial = field(default_factory=Inertial)  # of the base: no effect on torques
    # Start posture, rad or m by joint; joints that are not in it have none.
    home: Mapping[str, float] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of independent coordinates."""
        return len(self.joint_names)

    @property
    def nb(self) -> int:
        """Number of moving bodies."""
        return len(self.body_names)

    @property
    def angular(self) -> Array:
        """(n,) bool: the coordinate is an angle, in rad; else a length, in m."""
        return np.asarray((self.S[self.revolute] != 0).any(axis=0))

    @property
    def effort_units(self) -> tuple[str, ...]:
        """(n) 'N m' or 'N' of each coordinate."""
        return units_of(self.angular)

    @property
    def moving_links(self) -> tuple[str, ...]:
        """Links that move, in tree order; the last one carries a payload without a named link."""
        names = self.link_names or self.body_names
        return tuple(name for name in names if self.frame_body[self.frame_index(name)] >= 0)

    def __repr__(self) -> str:
        return f'<RobotModel {self.name!r}: {shortened(self.joint_names)}>'

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if item.type == 'Array':
                kind = {'parent': int, 'frame_body': int, 'revolute': bool}.get(item.name, float)
                array: Array = np.array(value, dtype=kind)
                array.setflags(write=False)
                object.__setattr__(self, item.name, array)
        base = self.base
        own = replace(base, com=_own(base.com), inertia_com=_own(base.inertia_com))
        object.__setattr__(self, 'base', own)
        object.__setattr__(self, 'home', dict(self.home))
        _check(self)

    # -- queries ----------------------------------------------------------------------------

    def joint_transform(self, i: int, position: Any) -> tuple[Array, Array]:
        """Return (R_pi, p_pi) of body i at its joint position [rad or m]."""
        return joint_transform(self.placement[i], self.axis[i], bool(self.revolute[i]), position)

    def support(self, i: int) -> list[int]:
        """Return the bodies from the base to body i, i last; [] for -1."""
        chain = []
        while i >= 0:
            chain.append(i)
            i = int(self.parent[i])
        return chain[::-1]

    def frame_index(self, frame: str) -> int:
        """Return the index of a frame. Raises FrameNotFound, which lists the known frames."""
        try:
            return self.frame_names.index(frame)
        except ValueError:
            raise FrameNotFound(frame, self.frame_names) from None

    def listed_frames(self) -> str:
        """Return names of frames for a message, those at the tips first, `MOST_LISTED` at most."""
        pairs = list(zip(self.frame_names, self.frame_body.tolist(), strict=True))[::-1]
        moved = set(self.parent.tolist())  # bodies that carry others, and the base
        names = [name for name, _ in sorted(pairs, key=lambda pair: pair[1] in moved)]
        more = len(names) - MOST_LISTED
        return ', '.join(names[:MOST_LISTED]) + (f' and {more} more' if more > 0 else '')

    def moving_body(self, frame: str) -> int:
        """Return the index of the body that carries a frame.

        Raises:
            FrameNotFound: the frame is unknown.
            ModelError: it is fixed to the base.
        """
        body = int(self.frame_body[self.frame_index(frame)])
        if body < 0:
            raise ModelError(f'link {frame!r} is fixed to the base; expected a link that moves')
        return body

    def inertial(self, i: int) -> Inertial:
        """Return the inertia of body i in its own frame."""
        return Inertial(float(self.mass[i]), self.com[i], self.inertia_com[i])

    def inertial_parameters(self) -> Array:
        """Return pi (10 nb,), ten per body: m, m c, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz.

        Units are kg, kg m and kg m^2; the tensor is about the origin of the body frame, in its
        axes. The product with `Dynamics.regressor` is the torque of inverse dynamics.
        """
        return np.concatenate([to_parameters(self.inertial(i)) for i in range(self.nb)])

    def massless_joints(self) -> list[str]:
        """Return the coordinates that move no inertia in any posture."""
        carries = (self.mass > 0) | self.inertia_com.any(axis=(1, 2))
        for i in reversed(range(self.nb)):
            if self.parent[i] >= 0:
                carries[self.parent[i]] |= carries[i]
        moves = carries @ (self.S != 0)
        return [
            name
            for name, moved, rotor in zip(
                self.joint_names, moves, self.reflected_inertia, strict=True
            )
            if not moved and rotor == 0
        ]

    def fingerprint(self) -> str:
        """Return a hash of all data that the dynamics depend on: the key of compiled programs."""
        digest = hashlib.sha256()
        for item in fields(self):
            if item.type == 'Array':
                array = getattr(self, item.name)
                digest.update(f'{item.name}{array.shape}'.encode())
                digest.update(array.tobytes())
        digest.update(repr((self.joint_names, self.frame_names)).encode())
        return digest.hexdigest()

    # -- modified copies --------------------------------------------------------------------

    def with_gravity(self, gravity: ArrayLike) -> RobotModel:
        """Return the same robot with another gravity vector (3,) [m/s^2], base frame."""
        return replace(self, gravity=np.asarray(gravity, dtype=float))

    def with_payload(
        self,
        link: str,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> RobotModel:
        """Return the same robot with a body rigidly attached to a link.

        Args:
            link: name of a moving link or frame.
            mass: kg, not negative.
            com: (3,) centre of mass in the link's frame, m.
            inertia: (3, 3) tensor about that centre, link axes, kg m^2; a point mass if omitted.

        Raises:
            FrameNotFound: the link is unknown.
            ModelError: a negative or non-finite value, or a link fixed to the base.
        """
        k, i = self.frame_index(link), self.moving_body(link)
        tensor = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, dtype=float)
        payload = Inertial(float(mass), np.asarray(com, dtype=float), tensor)
        if reason := malformation(payload):
            raise ModelError(f'payload on {link!r}: {reason}')
        body = combined([self.inertial(i), transformed(payload, self.frame_placement[k])])
        mass_, com_, tensor_ = self.mass.copy(), self.com.copy(), self.inertia_com.copy()
        mass_[i], com_[i], tensor_[i] = body.mass, body.com, body.inertia_com
        return replace(self, mass=mass_, com=com_, inertia_com=tensor_)

    def with_actuation(
        self,
        *,
        gear_ratio: ArrayLike | None = None,
        rotor_inertia: ArrayLike | None = None,
        viscous: ArrayLike | None = None,
        coulomb: ArrayLike | None = None,
    ) -> RobotModel:
        """Return the same robot with other drives; omitted values are unchanged.

        Spong, Hutchinson and Vidyasagar, example 6.1.

        Args:
            gear_ratio: motor turns per joint turn, 1 if omitted.
            rotor_inertia: kg m^2 at the motor shaft; r^2 times it is added to M's diagonal.
            viscous: friction at the joint, N m s/rad or N s/m.
            coulomb: dry friction at the joint, N m or N.

        Each is a number for all joints or an (n,) array.

        Raises:
            ShapeError: one is neither.
            ModelError: one is negative or not finite.
        """
        names = self.joint_names
        r = at_least_zero('gear_ratio', 1.0 if gear_ratio is None else gear_ratio, names)
        reflected = self.reflected_inertia
        if rotor_inertia is not None:
            # B = r^2 B_m, seen at the joint
            reflected = r**2 * at_least_zero('rotor_inertia', rotor_inertia, names)
        elif gear_ratio is not None:
            raise ModelError(
                'gear_ratio is given without rotor_inertia; expected both, or neither'
            )
        return replace(
            self,
            reflected_inertia=reflected,
            viscous=self.viscous if viscous is None else at_least_zero('viscous', viscous, names),
            coulomb=self.coulomb if coulomb is None else at_least_zero('coulomb', coulomb, names),
        )

    def with_locked(self, joints: Mapping[str, float]) -> RobotModel:
        """Return the same robot with joints that do not move; links keep their mass and frames.

        Mimic joints of a locked one are locked as well.

        Args:
            joints: names and positions [rad or m], as `locked_joints` of `load_urdf`.

        Raises:
            ModelError: a name is unknown, a position is not finite, or no joint is left.
        """
        q, keep = np.zeros(self.n), np.ones(self.n, dtype=bool)
        for name, position in joints.items():
            if name not in self.joint_names:
                known = ', '.join(self.joint_names)
                raise ModelError(f'joint {name!r} is unknown; expected one of {known}')
            if not np.isfinite(position):
                raise ModelError(f'position of joint {name!r} is {position}; expected a number')
            k = self.joint_names.index(name)
            q[k], keep[k] = position, False
        if not keep.any():
            raise ModelError(f'all joints of {self.name!r} are locked; expected one that moves')
        # S q + s0 with the locked q constant
        still = replace(self, s0=self.s0 + self.S @ q)
        return replace(
            self,
            joint_names=tuple(np.array(self.joint_names)[keep].tolist()),
            **{name: getattr(self, name)[keep] for name in PER_COORDINATE},
            **_merged(still, keep),
        )


def _merged(model: RobotModel, keep: Array) -> dict[str, Any]:
    """Return the fields of bodies and frames if coordinates stay at 0.

    Args:
        model: the robot with all coordinates.
        keep: (n,) bool: those that move; bodies that none of them moves join their parents.
    """
    moved = np.flatnonzero((model.S[:, keep] != 0).any(axis=1))
    # Of each body and of the base, -1: the body that carries it, and its pose there.
    carrier: dict[int, tuple[int, Array]] = {-1: (-1, np.eye(4))}
    carried: dict[int, list[Inertial]] = {-1: [model.base]}
    parent, placement = [], []
    for i, p in enumerate(map(int, model.parent)):
        k, T = carrier[p]
        if i in moved:
            parent.append(k)
            placement.append(T @ model.placement[i])
            carrier[i] = (len(carried) - 1, np.eye(4))
        else:
            carrier[i] = (k, T @ pose(*model.joint_transform(i, model.s0[i])))
        k, T = carrier[i]
        carried.setdefault(k, []).append(transformed(model.inertial(i), T))
    base, *bodies = map(combined, carried.values())
    frames = [carrier[int(i)] for i in model.frame_body]
    placed = [T @ P for (_, T), P in zip(frames, model.frame_placement, strict=True)]
    return {
        'body_names': tuple(model.body_names[i] for i in moved),
        'parent': np.array(parent),
        'placement': np.array(placement),
        'mass': np.array([body.mass for body in bodies]),
        'com': np.array([body.com for body in bodies]),
        'inertia_com': np.array([body.inertia_com for body in bodies]),
        **{name: getattr(model, name)[moved] for name in ('revolute', 'axis', 's0')},
        'S': model.S[np.ix_(moved, keep)],
        'frame_body': np.array([k for k, _ in frames], dtype=int),
        'frame_placement': np.reshape(placed, (-1, 4, 4)),
        'base': base,
    }


def check_vector(model: RobotModel, **vectors: Any) -> None:
    """Raise ShapeError unless every named argument has the shape (n,)."""
    for name, value in vectors.items():
        if np.shape(value) != (model.n,):
            raise ShapeError(
                f'{name} has shape {np.shape(value)}; robot {model.name!r} has '
                f'{model.n} joints, so it must be ({model.n},)'
            )


def _own(values: ArrayLike) -> Array:
    """Return a read-only copy of an array; the array itself if another model has made it so."""
    if isinstance(values, np.ndarray) and values.flags.owndata and not values.flags.writeable:
        return values
    copy: Array = np.array(values, dtype=float)
    copy.setflags(write=False)
    return copy


def _check(model: RobotModel) -> None:
    """Raise ModelError unless shapes are consistent and values finite and physical."""
    if model.nb == 0:
        raise ModelError(f'robot {model.name!r} has no moving joint; expected at least one')
    _check_shapes(model)
    for name in ('gravity', 'S', 's0', 'axis', 'placement', 'mass', 'com', 'inertia_com'):
        if not np.isfinite(getattr(model, name)).all():
            raise ModelError(f'{name} contains an infinite value')
    for body in range(model.nb):
        _check_body(model, body)


def _check_shapes(model: RobotModel) -> None:
    """Raise ModelError unless arrays have the shapes of bodies, joints and frames, without NaN."""
    n, nb, nf = model.n, model.nb, len(model.frame_names)
    shapes: dict[str, tuple[int, ...]] = {
        'gravity': (3,),
        'S': (nb, n),
        'frame_body': (nf,),
        'frame_placement': (nf, 4, 4),
        'axis': (nb, 3),
        'com': (nb, 3),
        'inertia_com': (nb, 3, 3),
        'placement': (nb, 4, 4),
        **dict.fromkeys(('parent', 'revolute', 'mass', 's0'), (nb,)),
        **dict.fromkeys(('lower', 'upper', *RATE_LIMITS, 'effort_limit'), (n,)),
        **dict.fromkeys(('viscous', 'coulomb', 'reflected_inertia'), (n,)),
    }
    for name, shape in shapes.items():
        array = getattr(model, name)
        if array.shape != shape:
            raise ModelError(
                f'{name} has shape {array.shape}; {nb} bodies and {n} joints need {shape}'
            )
        if array.dtype == float and np.isnan(array).any():
            raise ModelError(f'{name} contains NaN')


def _check_body(model: RobotModel, i: int) -> None:
    """Raise ModelError unless parent, mass, axis and placement of body i are physical."""
    body = model.body_names[i]
    if not -1 <= model.parent[i] < i:
        raise ModelError(
            f'parent of body {body!r} is {model.parent[i]}; expected an earlier body, '
            f'-1 ... {i - 1}'
        )
    if model.mass[i] < 0:
        raise ModelError(f'mass of {body!r} is {model.mass[i]} kg; it must not be negative')
    if abs(np.linalg.norm(model.axis[i]) - 1) > 1e-9:
        raise ModelError(f'axis of {body!r} is {model.axis[i]}; it must be a unit vector')
    R = model.placement[i, :3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0:
        raise ModelError(f'placement of {body!r} has R = {R.tolist()}; expected a rotation')
