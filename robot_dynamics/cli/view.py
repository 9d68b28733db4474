# SPDX-License-Identifier: Apache-2.0
"""The verb `view`: the robot and its torques in the browser."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robot_dynamics.cli.options import (
    add_graph,
    add_robot,
    integer,
    ros_needed,
)
from robot_dynamics.cli.output import concise_warnings, read_robot, robot_text
from robot_dynamics.cli.recording_options import (
    actuated,
    add_efforts,
    add_robot_changes,
    add_source,
    compensated,
    described_robot,
    effort_scale,
    measured,
    payload_of,
    reading,
    recorded,
    recording_named,
    recording_of,
)
from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.recordings.effort_unit import UNSTATED
from robot_dynamics.recordings.recording import efforts_of, scale_of
from robot_dynamics.urdf.geometry.meshes import mesh_folders
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.urdf.robot_files import robot_file

if TYPE_CHECKING:
    from robot_dynamics.view.page import Controls
    from robot_dynamics.view.state import ViewState
    from robot_dynamics.view.viewed_motion import LiveSource, ViewedMotion

ROBOT = Path('panda')
HOST, PORT = 'localhost', 8080
MAX_PORT = 65535
# Options that belong to a source of motion
NEEDS = {
    'topic': ('bag',),
    'columns': ('bag',),
    'cutoff': ('bag',),
    'effort_scale': ('bag', 'live'),
    'efforts': ('bag',),
    'effort_gravity_compensated': ('bag', 'live'),
    'namespace': ('live',),
    'frame_prefix': ('live',),
}


@dataclass(frozen=True, eq=False)
class ViewSource:
    """What is shown: a robot, its description, what moves it, and the first tab of the page."""

    state: ViewState  # the first one
    urdf: str | bytes
    controls: Controls
    motion: ViewedMotion | None = None
    live: LiveSource | None = None  # of the motion


def add_view_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `view`."""
    add = parser.add_argument
    add_robot(
        parser,
        absent=f'{ROBOT}, or the robot_description of the recording or the topic',
    )
    add('--host', default=HOST, help=f'network interface ({HOST}: this machine only)')
    add(
        '--port',
        type=integer(0, MAX_PORT),
        default=PORT,
        help=f'TCP port ({PORT}); 0: any free port',
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument('--bag', type=Path, metavar='RUN', help='play a recording')
    source.add_argument('--live', action='store_true', help='follow ROS 2 topics')
    add_source(parser, 'with --bag: ')
    add(
        '--frame-prefix',
        default='',
        help='with --live: prefix of link names in messages, such as left/',
    )
    add_graph(parser, 'robot_description', 'with --live: ')
    add_robot_changes(parser)
    add_efforts(parser)


def view(options: argparse.Namespace) -> int:
    """Show a robot and its torques in the browser.

    The page has sliders for joints, payload and external force. Ctrl-C ends the program.
    """
    _check_sources(options)
    source = _source(options)
    server = opened(source, options.host, options.port)
    file = robot_file(options.robot or Path.cwd() / 'robot_description')
    serve(server, source, mesh_folders(file, options.package_path), threading.Event())
    return 0


def opened(source: ViewSource, host: str, port: int) -> Any:
    """Return a server for a robot, and print its address. Raises ServerError."""
    from robot_dynamics.view.server import open_server, url

    name = source.state.model.name
    server = open_server(host, port, name)
    print(f'{name}: open {url(server)} in a browser; Ctrl-C ends', flush=True)
    return server


def serve(
    server: Any, source: ViewSource, folders: Sequence[Path], ended: threading.Event
) -> None:
    """Show a robot until `ended` is set, or the program is interrupted."""
    from robot_dynamics.view.drawing import Drawing
    from robot_dynamics.view.link_shapes import shapes_of
    from robot_dynamics.view.page import Page
    from robot_dynamics.view.session import Session
    from robot_dynamics.view.update_loop import add_shapes, run

    model = source.state.model
    session = Session(Dynamics(model), source.state)
    drawing = Drawing(server, model, session.sizes)
    page = Page(server, session, drawing, source.controls)
    session.start(source.motion)
    if source.live is not None:
        source.live.follow(model, session.touch, page.report)
    shapes = shapes_of(source.urdf, model)
    threading.Thread(
        target=add_shapes, args=(drawing, page, shapes, folders, ended), daemon=True
    ).start()
    try:
        run(session, page, ended)
    finally:
        ended.set()
        if source.live is not None:
            source.live.close()


def _check_sources(options: argparse.Namespace) -> None:
    """Raise RobotDynamicsError if an option has no effect on what is shown."""
    for option, needed in NEEDS.items():
        if getattr(options, option) and not any(getattr(options, source) for source in needed):
            sources = ' or '.join(f'--{source}' for source in needed)
            raise RobotDynamicsError(
                f'--{option.replace("_", "-")} has an effect with {sources} only'
            )


# -- what is shown -----------------------------------------------------------------------------


def _source(options: argparse.Namespace) -> ViewSource:
    if options.bag is not None:
        return _recorded(options)
    if options.live:
        return _live(options)
    from robot_dynamics.view.joint_controls import JointControls

    options.robot = options.robot or ROBOT
    model = read_robot(options, limited=True, **reading(options))
    return ViewSource(_first_state(model, options), robot_text(options), JointControls())


def _first_state(model: RobotModel, options: argparse.Namespace) -> ViewState:
    """Return the first state of a described robot; its payload can be changed in the page."""
    from robot_dynamics.view.state import ViewState

    state = ViewState.initial(actuated(model, options))
    return state if options.payload is None else state.carrying(*payload_of(options.payload))


def _recorded(options: argparse.Namespace) -> ViewSource:
    from robot_dynamics.view.playback_controls import PlaybackControls
    from robot_dynamics.view.viewed_motion import Playback

    bag = recorded(options)
    with concise_warnings():
        state = _first_state(described_robot(options, bag), options)
    model, given = state.model, measured(options, state.model)
    drives = given['drives']
    with recording_named(options.bag, model):
        recording = recording_of(options, bag, model)
        scale = scale_of(model, given['effort_scale'], recording.effort_unit)
        effort = scale * efforts_of(recording) - drives.offset
        recording = drives.aligned(replace(recording, effort=effort))
        playback = Playback(recording, given['cutoff'], given['effort_gravity_compensated'])
    state = replace(state, q=playback.motion(0)[0])  # the camera suits the first posture
    if UNSTATED in recording.notes:
        print(f'note: {UNSTATED}', file=sys.stderr)
    urdf = bag.description if options.robot is None else robot_text(options)
    return ViewSource(state, urdf, PlaybackControls(playback, str(options.bag)), playback)


def _live(options: argparse.Namespace) -> ViewSource:
    from robot_dynamics.view.live_controls import LiveControls
    from robot_dynamics.view.viewed_motion import Follow

    with ros_needed('--live'):
        from robot_dynamics.ros.live_robot import LiveRobot
    live = LiveRobot(options.namespace, options.frame_prefix)
    try:
        if options.robot is None:
            urdf: str | bytes = live.description(options.timeout)
        else:
            urdf = robot_text(options)
        with concise_warnings():
            model = parse_urdf(urdf, **reading(options))
        state = _first_state(model, options)
        scale = scale_of(model, effort_scale(options, model))
    except BaseException:
        live.close()
        raise
    states, description, torques = live.topics
    motion = Follow(live, scale, compensated(options))
    sources = {
        'joint states': states,
        'description': str(options.robot or description),
        'external torques': torques,
    }
    controls = LiveControls(motion, sources)
    return ViewSource(state, urdf, controls, motion, live)
