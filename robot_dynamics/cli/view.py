"""The verb `view`: the robot and its torques in the browser."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robot_dynamics.cli.options import folder
from robot_dynamics.cli.output import concise_warnings
from robot_dynamics.cli.recording_options import add_chain, chain_of
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.urdf.loading import load_urdf, robot_file, urdf_text
from robot_dynamics.urdf.meshes import mesh_folders

ROBOT = Path('panda')
HOST, PORT = 'localhost', 8080
MAX_PORT = 65535


def add_view_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `view`."""
    add = parser.add_argument
    add(
        'robot',
        type=Path,
        nargs='?',
        default=ROBOT,
        help=f'path of a .urdf or .xacro file, or a bundled robot ({ROBOT})',
    )
    add_chain(parser)
    add(
        '--package-path',
        action='append',
        default=[],
        type=folder,
        metavar='DIR',
        help='folder with packages of meshes, or the folder of one (repeatable)',
    )
    add('--host', default=HOST, help=f'network interface ({HOST}: this machine only)')
    add('--port', type=_port, default=PORT, help=f'({PORT}); 0: any free port')


def view(options: argparse.Namespace) -> int:
    """Show a robot and its torques in the browser; needs viser, in the extra [view].

    The page has sliders for joints, payload and external force. Ctrl-C ends the program.
    """
    from robot_dynamics.view.server import open_server, url

    with concise_warnings():
        model = load_urdf(options.robot, **chain_of(options))
    server = open_server(options.host, options.port, model.name)
    print(f'{model.name}: {url(server)}', flush=True)
    folders = mesh_folders(robot_file(options.robot), options.package_path)
    _serve(server, model, urdf_text(options.robot), folders)
    return 0


def _serve(server: Any, model: RobotModel, urdf: str | bytes, folders: Sequence[Path]) -> None:
    """Show a robot until the program is interrupted."""
    from robot_dynamics.view.drawing import Drawing
    from robot_dynamics.view.geometry import shapes_of
    from robot_dynamics.view.page import Page
    from robot_dynamics.view.run import add_shapes, run
    from robot_dynamics.view.session import Session
    from robot_dynamics.view.state import ViewState

    session = Session(Dynamics(model), ViewState.initial(model))
    drawing = Drawing(server, model, session.sizes)
    page = Page(server, session, drawing)
    ended = threading.Event()
    loading = threading.Thread(
        target=add_shapes, args=(drawing, page, shapes_of(urdf, model), folders, ended)
    )
    loading.start()
    try:
        run(session, page, ended)
    finally:
        ended.set()


def _port(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if not 0 <= value <= MAX_PORT:
        raise argparse.ArgumentTypeError(f'is {text}; expected an integer from 0 to {MAX_PORT}')
    return value
