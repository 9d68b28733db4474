# SPDX-License-Identifier: Apache-2.0
"""The web server of the view.

A page of any site that is open in a browser may send requests to this machine. So a request is
served only if its Origin is this page, and its Host a name or an address of this machine: another
name may be one that its owner lets resolve to this machine (DNS rebinding). viser can publish a
page through a tunnel, when any client requests it; here it cannot.
"""

from __future__ import annotations

import contextlib
import errno
import io
import logging
import socket
import sys
from collections.abc import Collection, Iterator
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.extras import needed
from robot_dynamics.view.page_head import with_head


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
    _report_in_one_line()
    machine = socket.gethostname()
    names = {name.lower() for name in ('localhost', host, machine, f'{machine}.local')}
    # viser prints its address to the standard output; the caller does.
    with contextlib.redirect_stdout(io.StringIO()), _serving_only(names):
        server = viser.ViserServer(host=host, port=port, label=label, verbose=False)
    server._websock_server.unregister_handler(viser._messages.ShareUrlRequest)
    if port not in (0, server.get_port()):
        server.stop()
        raise ServerError(_taken(host, port))
    return server


def url(server: Any) -> str:
    """Return the address of the page."""
    host = server.get_host()
    shown = 'localhost' if host in ('0.0.0.0', '::', '127.0.0.1') else host
    return f'http://{f"[{shown}]" if ":" in shown else shown}:{server.get_port()}'


def refusal(headers: Any, names: Collection[str]) -> str | None:
    """Return why a request with these headers is rejected, or None.

    Args:
        headers: of the request, `websockets.Headers`.
        names: of this machine, in lower case; an IP address needs none.
    """
    hosts, origins = headers.get_all('Host'), headers.get_all('Origin')
    host = hosts[0].lower() if len(hosts) == 1 else ''
    if not _is_of_this_machine(host, names):
        return (
            f'Host is {", ".join(hosts)!r}; expected an IP address or {", ".join(sorted(names))}: '
            'name another one by --host'
        )
    # A browser sends the Origin of the page with every opening of a web socket (RFC 6455, 4.1).
    if any(origin.lower() not in (f'http://{host}', f'https://{host}') for origin in origins):
        return f'Origin is {", ".join(origins)!r}; expected http://{host}'
    return None


def _is_of_this_machine(host: str, names: Collection[str]) -> bool:
    """Return whether a Host header is one of these names, or an address, with or without port."""
    try:
        name = urlsplit(f'//{host}').hostname or ''
        return name in names or bool(ip_address(name))
    except ValueError:
        return False


@contextlib.contextmanager
def _serving_only(names: Collection[str]) -> Iterator[None]:
    """Let the server that is started reject requests, see `refusal`; viser has no option for it.

    Raises:
        ServerError: viser has not started its server through `websockets`.
    """
    from websockets.asyncio import server as sockets

    serve, checked = sockets.serve, []

    def serve_checked(*arguments: Any, process_request: Any, **options: Any) -> Any:
        def process(connection: Any, request: Any) -> Any:
            reason = refusal(request.headers, names)
            if reason is None:
                return _with_head(process_request(connection, request))
            return connection.respond(HTTPStatus.FORBIDDEN, f'{reason}\n')

        checked.append(process)
        return serve(*arguments, process_request=process, **options)

    sockets.serve = serve_checked  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        sockets.serve = serve  # type: ignore[misc]
    if not checked:
        raise ServerError('this viser serves its page in another way; expected viser>=1.1,<1.2')


def _with_head(response: Any) -> Any:
    """Return a response of viser, its page with the head of `page_head`; None for a web socket."""
    if response is not None and response.headers.get('Content-Type', '').startswith('text/html'):
        compressed = response.headers.get('Content-Encoding') == 'gzip'
        response.body = with_head(response.body, compressed)
        del response.headers['Content-Length']
        response.headers['Content-Length'] = str(len(response.body))
    return response


class _OneLine(logging.Handler):
    """Prints a record, and the error in it, as one line without control characters."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record on the standard error."""
        error = record.exc_info[1] if record.exc_info else None
        text = ' '.join(f'{record.getMessage()}: {error!r}'.split())
        shown = ''.join(c if c.isprintable() else '?' for c in text)
        print(f'robot-dynamics: {shown:.300}', file=sys.stderr, flush=True)


def _report_in_one_line() -> None:
    """Report malformed messages of clients, which viser raises as errors, without tracebacks."""
    for name in ('websockets.server', 'asyncio'):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [_OneLine()], False


def _viser() -> Any:
    with needed('view', 'the view needs viser', ServerError):
        import rich
        import viser
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
            except OSError as error:
                raise ServerError(_obstacle(error, host, port)) from error


def _obstacle(error: OSError, host: str, port: int) -> str:
    """Return why a port cannot be opened."""
    if isinstance(error, PermissionError):
        return f'--port is {port}: {error.strerror}; expected 1024 or more'
    if error.errno == errno.EADDRINUSE:
        return _taken(host, port)
    return f'--host is {host!r}; expected an address of this machine: {error.strerror}'


def _taken(host: str, port: int) -> str:
    return (
        f'--port is {port}: another program uses it on {host}; expected a free port, or 0 to have '
        'one chosen'
    )
