# SPDX-License-Identifier: Apache-2.0
"""Short ways to write URDF text in tests."""

import numpy as np

from robot_dynamics.common.spatial import rpy
from robot_dynamics.core.model.robot_model import RobotModel

INERTIAL = (
    '<inertial><origin xyz="0.1 0 0"/><mass value="2"/>'
    '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'


def robot(*elements: str) -> str:
    return f'<robot name="test">{"".join(elements)}</robot>'


def link(name: str, inside: str = INERTIAL) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, inside: str = LIMIT, kind: str = 'revolute') -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'{inside}</joint>'
    )


def chain(*insides: str, kind: str = 'revolute') -> str:
    """Return links l0, l1, ... joined by joints j1, j2, ..., one for each text given."""
    parts = [link('l0')]
    for k, inside in enumerate(insides, start=1):
        parts += [link(f'l{k}'), joint(f'j{k}', f'l{k - 1}', f'l{k}', inside, kind)]
    return robot(*parts)


def vector(values) -> str:
    return ' '.join(repr(float(value)) for value in values)


def origin(T) -> str:
    """Return the <origin> of a pose (4, 4)."""
    return f'<origin xyz="{vector(T[:3, 3])}" rpy="{vector(rpy(T[:3, :3]))}"/>'


def inertial(mass, com, inertia_com) -> str:
    names = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
    values = inertia_com[np.triu_indices(3)]
    tensor = ' '.join(f'{k}="{float(v)!r}"' for k, v in zip(names, values, strict=True))
    return (
        f'<inertial><origin xyz="{vector(com)}"/><mass value="{float(mass)!r}"/>'
        f'<inertia {tensor}/></inertial>'
    )


def written(model: RobotModel) -> str:
    """Return a tree whose joints are all coordinates of their own, as URDF text."""
    names = ('base', *model.body_names)
    parts = [link('base', '')]
    for i, name in enumerate(model.joint_names):
        parts.append(
            link(names[i + 1], inertial(model.mass[i], model.com[i], model.inertia_com[i]))
        )
        inside = (
            f'{origin(model.placement[i])}<axis xyz="{vector(model.axis[i])}"/>{LIMIT}'
            f'<dynamics damping="{model.viscous[i]}" friction="{model.coulomb[i]}"/>'
        )
        kind = 'revolute' if model.revolute[i] else 'prismatic'
        parts.append(joint(name, names[model.parent[i] + 1], names[i + 1], inside, kind))
    return robot(*parts)
