# SPDX-License-Identifier: Apache-2.0
"""An MJCF file as MuJoCo compiles it.

MuJoCo is the parser: defaults, includes, frames, units and inertias of geometry are its own.
Meshes are needed only where a body has no <inertial>; elsewhere a geom with a mesh is compiled as
a small sphere in its place, so that the files of meshes may be missing. Textures are never read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.errors import ModelError, RobotDynamicsError
from robot_dynamics.common.extras import needed
from robot_dynamics.common.spatial import Array, inverse_pose, pose, quaternion_rotation
from robot_dynamics.urdf.deviations import root_tag
from robot_dynamics.urdf.robot_files import contents_of

UNNAMED = '', 'MuJoCo Model'  # of files that name no model
ALTERED = 1e-6  # relative change of an inertia that is not rounding
STAND_IN = 0.01  # m, radius of the sphere that replaces a mesh


class MujocoMissing(RobotDynamicsError, ImportError):  # noqa: N818  (names what is missing)
    """MuJoCo is not installed."""


class Geom(NamedTuple):
    """A shape of a body, as `urdf.geometry.shapes.Shape` has it."""

    body: int  # its number in MuJoCo
    kind: str  # 'box', 'cylinder', 'capsule', 'sphere' or 'mesh'
    pose: Array  # (4, 4) in the frame of the body
    size: tuple[float, ...]  # of a mesh: its scales
    mesh: str  # path of the file of a mesh, else ''
    colour: tuple[float, ...]  # red, green, blue, opacity
    collides: bool


@dataclass(frozen=True, eq=False)
class Compiled:
    """A compiled file.

    Attributes:
        name: of the model, or of the file.
        model: mjModel.
        bodies: names of its bodies, made where the file gives none.
        joints: names of its joints, likewise.
        geoms: its shapes, without planes, height fields, ellipsoids, and meshes without a file.
        altered: bodies with another inertia than that of their <inertial>.
    """

    name: str
    model: Any
    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    geoms: tuple[Geom, ...]
    altered: frozenset[int]

    @property
    def active(self) -> Array:
        """(neq,) whether equalities act, unless a flag switches all of them off."""
        off = self.is_off('EQUALITY')
        return np.zeros_like(self.model.eq_active0) if off else np.array(self.model.eq_active0)

    def is_off(self, what: str) -> bool:
        """Return whether <flag> switches off, for instance, 'GRAVITY'."""
        flag = int(getattr(engine().mjtDisableBit, f'mjDSBL_{what}'))
        return bool(self.model.opt.disableflags & flag)

    def above(self, body: int) -> Iterator[int]:
        """Yield a body and those that carry it, up to the world, which is 0."""
        while body > 0:
            yield body
            body = int(self.model.body_parentid[body])
        yield 0

    def pose(self, kind: str, i: int) -> Array:
        """Return the pose (4, 4) of 'body', 'geom' or 'site' i in its frame, as compiled."""
        quat, pos = (getattr(self.model, f'{kind}_{name}')[i] for name in ('quat', 'pos'))
        return frame(quat, pos)


def engine() -> Any:
    """Return the module `mujoco`.

    Raises:
        MujocoMissing: it is not installed.
    """
    with needed('mujoco', 'MJCF files need MuJoCo', MujocoMissing):
        import mujoco
    return mujoco


def frame(quat: Array, pos: Array) -> Array:
    """Return the pose (4, 4) of a quaternion (w, x, y, z) and a position."""
    return pose(quaternion_rotation(np.roll(quat, -1)), np.asarray(pos))


def compiled(path: str | os.PathLike[str]) -> Compiled:
    """Return an MJCF file as MuJoCo compiles it.

    Raises:
        MujocoMissing: MuJoCo is not installed.
        ModelError: the file cannot be read, or MuJoCo rejects it.
    """
    file = Path(os.fsdecode(path))
    reject_other_roots(file)
    return compile_spec(lambda mj: mj.MjSpec.from_file(str(file)), file)


def compile_spec(spec_of: Any, file: Path) -> Compiled:
    """Return the compiled form of a specification.

    Args:
        spec_of: returns the mjSpec, given the module `mujoco`.
        file: of the model, beside which meshes are searched.

    Errors are those of `compiled`.
    """
    mj = engine()
    try:
        spec = spec_of(mj)
        meshes = _without_assets(mj, spec)
        model = spec.compile()
        name = file.stem if spec.modelname in UNNAMED else spec.modelname
        model.names.decode()
    except UnicodeDecodeError as error:
        raise ModelError(
            f'a name is not UTF-8 text, as MuJoCo reads any file: {error}; expected UTF-8'
        ) from error
    except (ValueError, mj.FatalError) as error:
        raise ModelError(f'MuJoCo rejects the file: {_one_line(error)}') from error
    folder = file.parent / spec.meshdir
    bodies, joints = _names(mj, model, 'body', model.nbody), _names(mj, model, 'joint', model.njnt)
    geoms = tuple(_geoms(mj, spec, model, meshes, folder))
    return Compiled(name, model, bodies, joints, geoms, frozenset(_altered(spec, model)))


def reject_other_roots(file: Path) -> None:
    """Raise ModelError unless a file can be read and its root element is <mujoco>."""
    if (tag := root_tag(contents_of(file))) != 'mujoco':
        raise ModelError(
            f'the root element is <{tag}>; expected an MJCF file, with the root element <mujoco>'
        )


def _one_line(error: BaseException) -> str:
    return '; '.join(filter(None, map(str.strip, str(error).splitlines())))


def _names(mj: Any, model: Any, kind: str, count: int) -> tuple[str, ...]:
    """Return the names of the bodies or joints; those without a name get their number."""
    code = {'body': mj.mjtObj.mjOBJ_BODY, 'joint': mj.mjtObj.mjOBJ_JOINT}[kind]
    given = [mj.mj_id2name(model, code, i) for i in range(count)]
    taken = {*given}

    def made(i: int) -> str:
        name = f'{kind}{i}'
        while name in taken:
            name += '_'
        return name

    return tuple(name or made(i) for i, name in enumerate(given))


def _altered(spec: Any, model: Any) -> Iterator[int]:
    """Yield the bodies whose <inertial> options of <compiler> change."""
    for body in spec.bodies:
        if not body.explicitinertial:
            continue
        xx, yy, zz, xy, xz, yz = body.fullinertia
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        moments = np.sort(body.inertia) if np.isnan(xx) else np.linalg.eigvalsh(tensor)
        given = np.array([body.mass, *moments])
        used = np.array([model.body_mass[body.id], *np.sort(model.body_inertia[body.id])])
        if not np.allclose(given, used, rtol=ALTERED, atol=ALTERED * moments[2]):
            yield body.id


# -- meshes and shapes ------------------------------------------------------------------------


def _without_assets(mj: Any, spec: Any) -> dict[int, Any]:
    """Replace the meshes that inertias do not need, in place, and all textures.

    Returns:
        The mesh of each geom that is replaced, by the position of the geom in `spec.geoms`.
    """
    meshes = {mesh.name or Path(mesh.file).stem: mesh for mesh in spec.meshes}
    from_geoms = spec.compiler.inertiafromgeom == mj.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    # Both would remove or rename elements without a change of the dynamics.
    spec.compiler.fusestatic, spec.compiler.discardvisual = False, False
    materials = {material.name: np.array(material.rgba) for material in spec.materials}
    replaced: dict[int, Any] = {}
    for position, geom in enumerate(spec.geoms):
        if geom.material in materials and np.allclose(geom.rgba, (0.5, 0.5, 0.5, 1)):
            geom.rgba = materials[geom.material]
        body = geom.parent
        needed = body.name != 'world' and (from_geoms or not body.explicitinertial)
        if (geom.meshname or geom.hfieldname) and not needed:
            replaced[position] = meshes.get(geom.meshname)
            geom.type, geom.meshname, geom.hfieldname = mj.mjtGeom.mjGEOM_SPHERE, '', ''
            geom.size = [STAND_IN, 0.0, 0.0]
    kept = {geom.meshname for geom in spec.geoms}
    _delete(spec, (mesh for name, mesh in meshes.items() if name not in kept))
    fields = {geom.hfieldname for geom in spec.geoms}
    _delete(spec, (one for one in spec.hfields if one.name not in fields))
    for element in (*spec.geoms, *spec.sites, *spec.tendons, *spec.meshes, *spec.flexes):
        element.material = ''
    for elements in (spec.skins, spec.materials, spec.textures):
        _delete(spec, elements)
    return replaced


def _delete(spec: Any, elements: Iterable[Any]) -> None:
    for element in list(elements):
        spec.delete(element)


def _geoms(
    mj: Any, spec: Any, model: Any, replaced: Mapping[int, Any], folder: Path
) -> Iterator[Geom]:
    """Yield the shapes of a compiled specification."""
    kinds = {
        int(mj.mjtGeom.mjGEOM_BOX): 'box',
        int(mj.mjtGeom.mjGEOM_CYLINDER): 'cylinder',
        int(mj.mjtGeom.mjGEOM_CAPSULE): 'capsule',
        int(mj.mjtGeom.mjGEOM_SPHERE): 'sphere',
        int(mj.mjtGeom.mjGEOM_MESH): 'mesh',
    }
    files = {mesh.id: mesh for mesh in spec.meshes}
    for position, geom in enumerate(spec.geoms):
        i = geom.id
        kind = 'mesh' if position in replaced else kinds.get(int(model.geom_type[i]), '')
        mesh = replaced.get(position)
        place = frame(model.geom_quat[i], model.geom_pos[i])
        if kind == 'mesh' and position not in replaced:
            j = int(model.geom_dataid[i])
            mesh = files.get(j)
            # MuJoCo moves a mesh to its centre of mass and principal axes.
            place = place @ inverse_pose(frame(model.mesh_quat[j], model.mesh_pos[j]))
        if not kind or (kind == 'mesh' and not (mesh and mesh.file)):
            continue
        a, b, c = model.geom_size[i].tolist()
        size = {
            'box': (2 * a, 2 * b, 2 * c),
            'sphere': (a,),
            'mesh': tuple(map(float, mesh.scale)) if mesh else (),
        }.get(kind, (a, 2 * b))
        yield Geom(
            body=int(model.geom_bodyid[i]),
            kind=kind,
            pose=place,
            size=size,
            mesh=_file(spec, mesh, folder) if mesh else '',
            colour=tuple(np.clip(model.geom_rgba[i], 0, 1).tolist()),
            collides=bool(model.geom_contype[i] or model.geom_conaffinity[i]),
        )


def _file(spec: Any, mesh: Any, folder: Path) -> str:
    name = Path(mesh.file).name if spec.strippath else mesh.file
    return str((folder / name).absolute())
