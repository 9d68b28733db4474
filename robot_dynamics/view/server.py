"""The web server of the view."""

from __future__ import annotations

import contextlib
import io
import socket
from typing import Any

from robot_dynamics.errors import RobotDynamicsError


class ServerError(RobotDynamicsError):
    """The page cannot be served: the address is taken or invalid, or viser is missing."""


def open_server(host: str, port: int, label: str) -> Any:
    """Return a running `viser.ViserServer`.

    Args:
        host: name or address of a network interface of this machine.
        port: TCP port; 0 for a free one.
        label: title of the page.

    Raises:
        ServerError: viser is not installed, the port is taken, or this machine has no such
            interface.
    """
    viser = _viser()
    _check_address(host, port)
    # viser prints its address to the standard output; the caller does.
    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=host, port=port, label=label, verbose=False)
    if port not in (0, server.get_port()):
        server.stop()
        raise ServerError(_taken(host, port))
    return server


def url(server: Any) -> str:
    """Return the address of the page."""
    host = server.get_host()
    shown = 'localhost' if host in ('0.0.0.0', '::', '127.0.0.1') else host
    return f'http://{f"[{shown}]" if ":" in shown else shown}:{server.get_port()}'


def _viser() -> Any:
    try:
        import rich
        import viser
    except ImportError as error:
        raise ServerError(
            f'the view needs viser, which cannot be imported ({error}): pip install '
            "'viser>=1.1,<1.2', or in a checkout pip install '.[view]'"
        ) from error
    # Messages of the server on connections and at its end
    rich.get_console().quiet = True
    return viser


def _check_address(host: str, port: int) -> None:
    """Raise ServerError unless the port can be opened; viser itself would try other ports."""
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ServerError(
            f'--host is {host!r}; expected an address of this machine: {error}'
        ) from error
    for family, kind, protocol, _, address in infos:
        with socket.socket(family, kind, protocol) as attempt:
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                attempt.bind(address)
            except PermissionError as error:
                raise ServerError(
                    f'--port is {port}: {error.strerror}; expected 1024 or more'
                ) from error
            except OSError as error:
                if error.errno == 98:
                    raise ServerError(_taken(host, port)) from error
                raise ServerError(
                    f'--host is {host!r}; expected an address of this machine: {error.strerror}'
                ) from error


def _taken(host: str, port: int) -> str:
    return (
        f'--port is {port}: another program uses it on {host}; expected a free port, or 0 to have '
        'one chosen'
    )
