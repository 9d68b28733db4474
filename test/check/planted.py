# SPDX-License-Identifier: Apache-2.0
"""Pairs of models that differ in one thing, and pairs that differ in nothing but their writing."""

from dataclasses import replace

import numpy as np

from robot_dynamics.check.correspondence import mirrored
from robot_dynamics.common.spatial import axis_rotation, inverse_pose, pose, rotation_rpy
from robot_dynamics.core.model.inertia import from_parameters, to_parameters, transformed
from robot_dynamics.core.model.robot_model import PER_COORDINATE


def changed(model, name, i, change):
    """Return a model with another entry i of an array."""
    array = np.array(getattr(model, name))
    array[i] = change(array[i])
    return replace(model, **{name: array})


def across(axis):
    """Return a unit vector normal to an axis."""
    v = np.cross(axis, [0.3, 0.5, 0.7])
    return v / np.linalg.norm(v)


def moved(model, i, R=None, p=(0.0, 0.0, 0.0)):
    """Return a model with a joint, and all beyond it, displaced in the joint's frame."""
    T = pose(np.eye(3) if R is None else R, np.array(p))
    return changed(model, 'placement', i, lambda P: P @ T)


def turned(model, i, degrees):
    """Return a model whose joint i has another zero."""
    return moved(model, i, axis_rotation(model.axis[i], np.radians(degrees)))


def reversed_joint(model, i):
    """Return a model whose joint i turns the other way, within the same range."""
    model = changed(model, 'axis', i, lambda axis: -axis)
    lower, upper = model.lower[i], model.upper[i]
    model = changed(model, 'lower', i, lambda _: -upper)
    return changed(model, 'upper', i, lambda _: -lower)


def on_base(model, T):
    """Return a model in another base frame; gravity stays as it is."""
    for i in np.flatnonzero(model.parent < 0):
        model = changed(model, 'placement', i, lambda P: T @ P)
    return model


def planted(model, i):
    """Yield label, model, exit code, and kind and subject of its one finding.

    Args:
        model: with a coordinate for each body.
        i: a revolute joint that gravity, or the rest of the arm, loads.
    """
    joint, body, last = model.joint_names[i], model.body_names[i], model.nb - 1
    axis, other = model.axis[i], across(model.axis[i])
    com = model.com[i] - axis * (axis @ model.com[i])
    tangent = np.cross(axis, com) / max(np.linalg.norm(com), 1e-9)
    rows = {
        'mass': (changed(model, 'mass', i, lambda m: 1.1 * m), 'inertia', body),
        'mass 0': (
            replace(
                model, mass=0 * model.mass, com=0 * model.com, inertia_com=0 * model.inertia_com
            ),
            'inertia',
            None,
        ),
        'centre across': (
            changed(model, 'com', i, lambda c: c + 0.005 * (tangent if com.any() else other)),
            'inertia',
            body,
        ),
        'centre': (changed(model, 'com', i, lambda c: c - 0.005 * other), 'inertia', body),
        'tensor': (changed(model, 'inertia_com', i, lambda I: 1.3 * I), 'inertia', body),
        'missing hand': (
            model.with_payload(model.body_names[last], 0.7, (0.0, 0.02, 0.04)),
            'inertia',
            model.body_names[last],
        ),
        'axis tilted': (
            changed(model, 'axis', i, lambda a: axis_rotation(other, 0.05) @ a),
            'axis',
            joint,
        ),
        'frame tilted': (moved(model, i, axis_rotation(other, 0.05)), 'axis', joint),
        'link longer': (moved(model, i, p=0.02 * other), 'axis', joint),
        'joint along axis': (moved(model, i, p=0.02 * axis), 'axis', joint),
        'zero': (turned(model, i, 5.0), 'zero', joint),
        'zero back': (turned(model, i, -5.0), 'zero', joint),
        'reversed': (reversed_joint(model, i), 'direction', joint),
        'armature': (
            changed(model, 'reflected_inertia', i, lambda x: x + 0.1),
            'armature',
            joint,
        ),
        'effort': (changed(model, 'effort_limit', i, lambda _: 3.0), 'effort', joint),
        'viscous': (changed(model, 'viscous', i, lambda x: x + 0.5), 'friction', joint),
        'dry': (changed(model, 'coulomb', i, lambda x: x + 0.5), 'friction', joint),
        'limit': (changed(model, 'upper', i, lambda _: 0.0123), 'limit', joint),
        'gravity': (model.with_gravity((0.0, 0.0, -1.62)), 'gravity', 'base'),
        'gravity tilted': (model.with_gravity((0.5, 0.0, -9.81)), 'gravity', 'base'),
        'base tilted': (
            on_base(model, pose(rotation_rpy(0.2, 0.0, 0.0), np.zeros(3))),
            'gravity',
            'base',
        ),
        'axis of another robot': (changed(model, 'axis', i, lambda _: other), None, joint),
        'mirrored': (mirrored(model), None, 'mirror image'),
    }
    for label, (other_model, kind, subject) in rows.items():
        yield label, other_model, 3 if kind is None else 1, kind, subject


def rewritten(model, rng):
    """Yield label, model and pairs of joints of models that are the same."""
    names = model.joint_names
    yield 'unchanged', model, {}
    yield 'body frames', in_other_frames(model, rng), {}
    others = tuple(f'drive_{name[::-1]}' for name in names)
    yield 'names', replace(model, joint_names=others), dict(zip(names, others, strict=True))
    yield (
        'numbers for names',
        replace(model, joint_names=tuple(f'a{k}' for k in range(model.n))),
        {},
    )
    yield 'order', in_other_order(model), {}
    yield (
        'base turned',
        on_base(model, pose(rotation_rpy(0, 0, 2.0), np.array([0.1, 0.2, 0.3]))),
        {},
    )
    R = rotation_rpy(1.0, 0.5, 2.0)
    yield (
        'base and gravity',
        on_base(model, pose(R, np.ones(3))).with_gravity(R @ model.gravity),
        {},
    )
    yield 'gravity in two digits', model.with_gravity(model.gravity * 0.99966), {}
    yield 'stators', regrouped(model), {}
    yield 'no velocity limits', replace(model, velocity_limit=np.full(model.n, np.inf)), {}


def in_other_frames(model, rng):
    """Return a model in other body frames, at other places of the joint axes."""
    G = [
        pose(
            axis_rotation(axis if revolute else across(axis), rng.uniform(-2, 2)),
            axis * rng.uniform(-0.1, 0.1) if revolute else rng.uniform(-0.1, 0.1, 3),
        )
        for axis, revolute in zip(model.axis, model.revolute, strict=True)
    ]
    of = [*G, np.eye(4)]  # of the base: -1
    bodies = [transformed(model.inertial(i), inverse_pose(T)) for i, T in enumerate(G)]
    return replace(
        model,
        placement=[
            inverse_pose(of[p]) @ P @ T
            for p, P, T in zip(model.parent, model.placement, G, strict=True)
        ],
        axis=[T[:3, :3].T @ axis for T, axis in zip(G, model.axis, strict=True)],
        com=[body.com for body in bodies],
        inertia_com=[body.inertia_com for body in bodies],
        # Tool frames stay where they are; the frames of bodies are other ones of the same name.
        frame_placement=[
            inverse_pose(of[i]) @ P if name not in model.body_names else P
            for name, i, P in zip(
                model.frame_names, model.frame_body, model.frame_placement, strict=True
            )
        ],
    )


def in_other_order(model):
    """Return a model whose coordinates are in the reverse order."""
    back = slice(None, None, -1)
    values = {name: getattr(model, name)[back] for name in PER_COORDINATE}
    return replace(model, S=model.S[:, back], joint_names=model.joint_names[back], **values)


def regrouped(model):
    """Return a model in which a part of a body on its joint's axis belongs to the body before."""
    i = int(np.flatnonzero(model.revolute & (model.parent >= 0))[0])
    p, T = int(model.parent[i]), model.placement[i]
    z = model.axis[i]
    # A thin rod of 0.2 kg along the axis
    rod = np.zeros(10)
    rod[0], rod[1:4] = 0.2, 0.2 * 0.05 * z
    rod[4:] = (0.2 * 0.01 * (np.eye(3) - np.outer(z, z)))[np.triu_indices(3)]
    part = from_parameters(rod)
    pieces = {
        i: from_parameters(to_parameters(model.inertial(i)) + rod),
        p: from_parameters(to_parameters(model.inertial(p)) - to_parameters(transformed(part, T))),
    }
    for k, body in pieces.items():
        for name in ('mass', 'com', 'inertia_com'):
            array = np.array(getattr(model, name))
            array[k] = getattr(body, name)
            model = replace(model, **{name: array})
    return model
