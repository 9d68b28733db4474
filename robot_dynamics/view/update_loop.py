# SPDX-License-Identifier: Apache-2.0
"""The loop that moves the robot and updates the page."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.urdf.geometry.meshes import MeshError
from robot_dynamics.view.drawing import Drawing
from robot_dynamics.view.link_shapes import BodyShape, displayed_mesh
from robot_dynamics.view.page import Page
from robot_dynamics.view.session import Session

PERIOD = 1 / 30  # s
IDLE = 1.0  # s


def run(session: Session, page: Page, ended: threading.Event) -> None:
    """Update the page at most once per period, until `ended` is set.

    A motion that is paused is continued by `Session.touch`.
    """
    last = following = time.monotonic()
    while not ended.is_set():
        due = session.wait(IDLE)
        began = time.monotonic()
        try:
            session.advance(began - last)
            if due or page.is_behind:
                page.show(*session.scene())
        except RobotDynamicsError as error:
            page.report(str(error))
        page.end_report()
        last = began
        # A late update does not delay those after it, and none is made up for.
        following = max(following + PERIOD, began)
        ended.wait(max(0.0, following - time.monotonic()))


def add_shapes(
    drawing: Drawing,
    page: Page,
    shapes: Sequence[BodyShape],
    folders: Sequence[Path],
    ended: threading.Event,
) -> None:
    """Draw the shapes of a robot, primitives first, and report meshes that are missing.

    Without any shape, the inertia ellipsoids and the lines between the joints are shown.
    """
    drawn, missing = 0, []
    for placed in sorted(shapes, key=lambda placed: placed.shape.kind == 'mesh'):
        if ended.is_set():
            return
        try:
            is_mesh = placed.shape.kind == 'mesh'
            drawing.add_shape(placed, displayed_mesh(placed.shape, folders) if is_mesh else None)
            drawn += 1
        except MeshError as error:
            missing.append(str(error))
    if missing:
        more = f'; {len(missing) - 1} more meshes are missing' if len(missing) > 1 else ''
        page.report(f'{missing[0]}{more}')
    if not drawn:
        page.show_layers('skeleton', 'inertia ellipsoids')
