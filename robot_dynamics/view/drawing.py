# SPDX-License-Identifier: Apache-2.0
"""The scene as nodes of viser.

Nodes are created once; `draw` moves them. Shapes are children of the frame of their body, so a
posture is one pose per body, whatever the number of shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robot_dynamics.common.spatial import Array, quaternion, quaternion_rotation
from robot_dynamics.core.model.coordinates import driven_body
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.visualization.marker_shapes import (
    Ellipsoid,
    inertia_ellipsoid,
)
from robot_dynamics.view.bars import COLOURS, MOTOR
from robot_dynamics.view.link_shapes import GREY, BodyShape, Mesh
from robot_dynamics.view.scene import (
    ARROW_FACES,
    ARROW_VERTICES,
    ARROWS,
    EXTERNAL,
    TERMS,
    VISIBLE,
    Proportions,
    Scene,
    ring,
)
from robot_dynamics.view.state import ViewState

# What can be shown, in the order of the page, and whether it is at first
LAYERS = {
    'meshes': True,
    'skeleton': False,
    'inertia ellipsoids': False,
    'centres of mass': False,
    'joint axes': True,
    'frames': False,
    'torque: sum': False,
    **{f'torque: {term}': True for term in TERMS},
    'gravity direction': True,
    'manipulability at the tip': False,
    'apparent inertia at the tip': False,
}
HEAD_LENGTH = 0.05  # of the reach, of a straight arrow
BETWEEN = 1.5  # height of such a picture to its width
FLAT = 1e-4  # of the reach: half-axis of a flat ellipsoid
Rgb = tuple[int, int, int]
ELLIPSOID: Rgb = (96, 125, 170)
COM: Rgb = (245, 196, 0)
PAYLOAD: Rgb = (200, 80, 190)
GRAVITY: Rgb = (120, 124, 134)
LINES: Rgb = (128, 132, 140)
MANIPULABILITY: Rgb = (40, 170, 190)
TIP_INERTIA: Rgb = (225, 120, 60)


def rgb(colour: str) -> Rgb:
    """Return the numbers of a colour '#rrggbb'."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return red, green, blue


class Drawing:
    """Nodes of one robot in the scene of a server."""

    def __init__(self, server: Any, model: RobotModel, sizes: Proportions) -> None:
        self._server, self._scene, self._model, self._sizes = server, server.scene, model, sizes
        self._shown = dict(LAYERS)
        self._previous: dict[str, Any] = {}
        self._has_payload = self._has_force = False
        self._set_up_surroundings()
        self._bodies = [self._frame(f'/robot/{i}') for i in range(model.nb)]
        self._base = self._frame('/robot/base')
        self._tip_frame = self._frame('/tip/frame')
        self._meshes: list[Any] = []
        self._ellipsoids = self._add_inertia_ellipsoids()
        self._coms = self._add_coms()
        self._rings = self._add_rings()
        self._skeleton = self._lines('/skeleton', np.zeros((1, 2, 3)), LINES, 0.012)
        self._torques = [self._add_arrows(j) for j in range(model.n)]
        self._gravity = self._arrows('/gravity', np.zeros((1, 2, 3)), GRAVITY, 0.007)
        self._gravity_label = self._scene.add_label('/gravity/label', 'gravity')
        self._force = self._arrows(
            '/force/arrow', np.zeros((1, 2, 3)), rgb(COLOURS['external']), 0.01
        )
        self._external = [
            self._arrows(f'/external/{name}', np.zeros((1, 2, 3)), rgb(COLOURS[name]), 0.01)
            for name in EXTERNAL
        ]
        self._handle = self._add_handle('/force/handle', turns=False)
        self._tip_handle = self._add_handle('/tip/handle', turns=model.n >= 6)
        self._dragging = self._dragging_tip = False
        self._payload = self._scene.add_icosphere(
            '/payload', radius=0.04 * sizes.reach, color=PAYLOAD
        )
        self._tip = {
            'manipulability at the tip': self._ellipsoid('/tip/velocity', MANIPULABILITY),
            'apparent inertia at the tip': self._ellipsoid('/tip/inertia', TIP_INERTIA),
        }
        for layer in LAYERS:
            self.show(layer, LAYERS[layer])

    # -- shapes --------------------------------------------------------------------------------

    def add_shape(self, placed: BodyShape, mesh: Mesh | None) -> None:
        """Add a shape of a link; `mesh` belongs to a shape of the kind 'mesh'."""
        body, shape = placed
        scene, name = self._scene, f'{self._parent(body)}/shape_{len(self._meshes)}'
        red, green, blue, opacity = shape.colour or GREY
        look: dict[str, Any] = {
            'color': (int(255 * red), int(255 * green), int(255 * blue)),
            'opacity': None if opacity == 1 else opacity,
        }
        place: dict[str, Any] = {
            'position': shape.pose[:3, 3],
            'wxyz': wxyz(shape.pose[:3, :3]),
            'visible': self._shown['meshes'],
        }
        if shape.kind == 'box':
            node = scene.add_box(name, dimensions=shape.size, **look, **place)
        elif shape.kind == 'cylinder':
            radius, height = shape.size
            node = scene.add_cylinder(name, radius=radius, height=height, **look, **place)
        elif shape.kind == 'capsule':
            radius, height = shape.size
            node = scene.add_cylinder(name, radius=radius, height=height, **look, **place)
            for end in (-height / 2, height / 2):
                at = {**place, 'position': shape.pose[:3, 3] + end * shape.pose[:3, 2]}
                ball = scene.add_icosphere(f'{name}_{end:g}', radius=radius, **look, **at)
                self._meshes.append(ball)
        elif shape.kind == 'sphere':
            node = scene.add_icosphere(name, radius=shape.size[0], **look, **place)
        elif mesh is None:
            return
        elif mesh.glb is not None:
            node = scene.add_glb(name, mesh.glb, **place)
        else:
            node = scene.add_mesh_simple(
                name, mesh.vertices, mesh.faces, side='double', **look, **place
            )
        self._meshes.append(node)

    def _add_inertia_ellipsoids(self) -> list[Any]:
        nodes = []
        for i in range(self._model.nb):
            found = inertia_ellipsoid(self._model.inertial(i), np.eye(4))
            if found is not None:
                node = self._ellipsoid(f'{self._parent(i)}/inertia', ELLIPSOID)
                self._place_ellipsoid(node, found)
                nodes.append(node)
        return nodes

    def _add_coms(self) -> list[Any]:
        radii = _com_radii(self._model, self._sizes.reach)
        return [
            self._scene.add_icosphere(f'/com/{i}', radius=float(radius), color=COM)
            for i, radius in enumerate(radii)
        ]

    def _add_rings(self) -> list[Any]:
        """Add the rings around the axes of the joints that have a coordinate."""
        model = self._model
        return [
            self._lines(f'/robot/{i}/ring', ring(model, i, self._sizes), (150, 156, 166), 0.004)
            for i in sorted({driven_body(model, k) for k in range(model.n)})
        ]

    # -- visibility ----------------------------------------------------------------------------

    def show(self, layer: str, visible: bool) -> None:
        """Show or hide one of `LAYERS`."""
        self._shown[layer] = visible
        if layer == 'frames':
            for node in (*self._bodies, self._base, self._tip_frame):
                node.show_axes = visible
        for node in self._nodes(layer):
            node.visible = visible

    def _nodes(self, layer: str) -> list[Any]:
        if layer.startswith('torque: ') or layer == 'frames':
            return []  # `draw` does, or the axes are parts of a node
        if layer in self._tip:
            return [self._tip[layer]]
        return {
            'meshes': self._meshes,
            'skeleton': [self._skeleton],
            'inertia ellipsoids': self._ellipsoids,
            'centres of mass': self._coms,
            'joint axes': self._rings,
            'gravity direction': [self._gravity, self._gravity_label],
        }[layer]

    def show_force_handle(self, visible: bool) -> None:
        """Show or hide the handle at the end of the external force."""
        self._handle.visible = visible

    def on_force_drag(self, callback: Callable[[Array], None]) -> None:
        """Call back with the position (3,) of the handle while it is dragged."""

        def dragged(event: Any) -> None:
            if event.phase != 'update':
                self._dragging = event.phase == 'start'
                self._previous.pop('force handle', None)
            callback(np.array(event.target.position))

        self._handle.on_update(dragged)

    def show_tip_handle(self, visible: bool) -> None:
        """Show or hide the handle that drags the tip."""
        self._tip_handle.visible = visible

    def on_tip_drag(self, callback: Callable[[Any, Any], None]) -> None:
        """Call back with position (3) and quaternion (w, x, y, z) of the handle of the tip."""

        def dragged(event: Any) -> None:
            self._dragging_tip = event.phase != 'end'
            if event.phase == 'end':
                self._previous.pop('tip handle', None)
            callback(event.target.position, event.target.wxyz)

        self._tip_handle.on_update(dragged)

    # -- one state -----------------------------------------------------------------------------

    def draw(self, state: ViewState, scene: Scene) -> None:
        """Move all nodes to a scene; what has not moved is not sent again."""
        for i, node in enumerate(self._bodies):
            self._move(node, f'body {i}', scene.poses[i])
        self._move(self._tip_frame, 'tip', scene.tip)
        if not self._dragging_tip:
            self._move(self._tip_handle, 'tip handle', scene.tip)
        if self._shown['centres of mass']:
            for i, node in enumerate(self._coms):
                self._put(node, f'com {i}', scene.coms[i])
        if self._shown['skeleton']:
            self._set_points(self._skeleton, 'skeleton', scene.skeleton)
        self._draw_torques(scene.arrows)
        self._set_arrow(self._gravity, 'gravity', scene.gravity)
        start, end = scene.gravity
        self._put(self._gravity_label, 'gravity label', start - 0.25 * (end - start))
        self._draw_load(state, scene)
        for layer, ellipsoid in (
            ('manipulability at the tip', scene.manipulability),
            ('apparent inertia at the tip', scene.tip_inertia),
        ):
            if self._shown[layer] and ellipsoid is not None:
                self._place_ellipsoid(self._tip[layer], ellipsoid)

    def _draw_torques(self, arrows: Array) -> None:
        vertices = arrows.astype(np.float32)
        for j, nodes in enumerate(self._torques):
            for k, (term, node) in enumerate(nodes.items()):
                layer = f'torque: {"external" if term in EXTERNAL else term}'
                node.visible = self._shown[layer] and bool(vertices[j, k].any())
                if node.visible and self._is_new(f'torque {j} {term}', vertices[j, k]):
                    node.vertices = vertices[j, k]

    def _add_arrows(self, joint: int) -> dict[str, Any]:
        parent = self._parent(driven_body(self._model, joint))
        return {
            term: self._scene.add_mesh_simple(
                f'{parent}/torque_{joint}_{term}',
                np.zeros((ARROW_VERTICES, 3), np.float32),
                ARROW_FACES,
                color=rgb(COLOURS.get(term, MOTOR)),
                flat_shading=True,
                side='double',
                cast_shadow=False,
                receive_shadow=False,
                visible=False,
            )
            for term in ARROWS
        }

    def _draw_load(self, state: ViewState, scene: Scene) -> None:
        self._payload.visible = state.load.mass > 0
        length = np.linalg.norm(scene.force[1] - scene.force[0])
        self._force.visible = bool(length > VISIBLE * self._sizes.reach)
        if self._payload.visible:
            self._put(self._payload, 'payload', scene.payload)
        if not self._dragging:
            self._put(self._handle, 'force handle', scene.force[1])
        if self._force.visible:
            self._set_arrow(self._force, 'force', scene.force)
        for name, node, arrow in zip(EXTERNAL, self._external, scene.external, strict=True):
            node.visible = arrow is not None
            if arrow is not None:
                self._set_arrow(node, name, arrow)

    # -- nodes ---------------------------------------------------------------------------------

    def _set_up_surroundings(self) -> None:
        scene, reach = self._scene, self._sizes.reach
        scene.world_axes.visible = False
        scene.add_grid(
            '/ground',
            cell_size=0.1 * reach,
            section_size=0.5 * reach,
            infinite_grid=True,
            fade_distance=6 * reach,
            fade_strength=1.5,
            # Thin lines are transparent: of this grey, they suit a light and a dark page.
            cell_color=LINES,
            section_color=LINES,
            cell_thickness=0.45,
            section_thickness=0.8,
            shadow_opacity=0.18,
        )
        camera = self._server.initial_camera
        camera.look_at = self._sizes.box.mean(axis=0)
        # The ball fills the picture between the panels of a wide window
        distance = BETWEEN * self._sizes.radius / np.sin(camera.fov / 2)
        camera.position = camera.look_at + distance * self._sizes.view

    def _parent(self, body: int) -> str:
        return f'/robot/{body}' if body >= 0 else '/robot/base'

    def _frame(self, name: str) -> Any:
        reach = self._sizes.reach
        return self._scene.add_frame(
            name, show_axes=False, axes_length=0.12 * reach, axes_radius=0.005 * reach
        )

    def _lines(self, name: str, points: Array, colour: Rgb, thickness: float) -> Any:
        return self._scene.add_line_segments(
            name, points, colour, thickness=thickness * self._sizes.reach
        )

    def _arrows(self, name: str, points: Array, colour: Rgb, shaft: float) -> Any:
        reach = self._sizes.reach
        return self._scene.add_arrows(
            name,
            points,
            colour,
            shaft_radius=shaft * reach,
            head_radius=max(2.2 * shaft, 0.02) * reach,
            head_length=HEAD_LENGTH * reach,
        )

    def _add_handle(self, name: str, turns: bool) -> Any:
        # Without the test of depth, the meshes of a hand do not hide its handle.
        return self._scene.add_transform_controls(
            name,
            scale=0.3 * self._sizes.reach,
            disable_rotations=not turns,
            depth_test=False,
            visible=False,
        )

    def _ellipsoid(self, name: str, colour: Rgb) -> Any:
        return self._scene.add_icosphere(
            name, radius=1.0, color=colour, opacity=0.45, cast_shadow=False, receive_shadow=False
        )

    def _place_ellipsoid(self, node: Any, ellipsoid: Ellipsoid) -> None:
        half = np.maximum(ellipsoid.half_axes, FLAT * self._sizes.reach)
        node.scale = tuple(half.tolist())
        node.position = ellipsoid.pose[:3, 3]
        node.wxyz = wxyz(ellipsoid.pose[:3, :3])

    def _move(self, node: Any, key: str, T: Array) -> None:
        if self._is_new(key, T):
            node.position = T[:3, 3]
            node.wxyz = wxyz(T[:3, :3])

    def _put(self, node: Any, key: str, point: Array) -> None:
        if self._is_new(key, point):
            node.position = point

    def _set_points(self, node: Any, key: str, points: Array) -> None:
        points = points.astype(np.float32)
        if self._is_new(key, points):
            node.points = points

    def _set_arrow(self, node: Any, key: str, arrow: Array) -> None:
        """Move a straight arrow (2, 3); its head takes at most half of it."""
        points = arrow[None].astype(np.float32)
        if self._is_new(key, points):
            length = float(np.linalg.norm(arrow[1] - arrow[0]))
            node.points, node.head_length = (
                points,
                min(HEAD_LENGTH * self._sizes.reach, length / 2),
            )

    def _is_new(self, key: str, value: Array) -> bool:
        old = self._previous.get(key)
        if old is not None and np.array_equal(old, value):
            return False
        self._previous[key] = value
        return True


def wxyz(R: Array) -> Array:
    """Return the quaternion (w, x, y, z) of a rotation."""
    return np.roll(quaternion(R), 1)


def rotation(wxyz: Array) -> Array:
    """Return the rotation matrix of a quaternion (w, x, y, z): the inverse of `wxyz`."""
    return quaternion_rotation(np.roll(wxyz, -1))


def _com_radii(model: RobotModel, reach: float) -> Array:
    """Return the radius of each centre of mass (nb,), m: its cube is proportional to the mass."""
    share = model.mass / max(float(model.mass.max()), 1e-12)
    return np.asarray(reach * (0.006 + 0.016 * np.cbrt(share)))
