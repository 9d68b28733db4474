# SPDX-License-Identifier: Apache-2.0
"""The server: its address, and the reasons why it cannot start."""

import builtins
import http.client
import socket
import threading
import urllib.request

import pytest
from waiting import wait_until

from robot_dynamics import cli
from robot_dynamics.urdf.loading import load_urdf
from robot_dynamics.view.server import ServerError, open_server, url

viser = pytest.importorskip('viser')
msgpack = pytest.importorskip('msgspec').msgpack


@pytest.fixture
def server():
    server = open_server('localhost', 0, 'arm')
    yield server
    server.stop()


def opening(port, host, *origins):
    """Return the status of an attempt to open the web socket, 101 if it succeeds, and the text."""
    connection = http.client.HTTPConnection('localhost', port, timeout=30)
    connection.putrequest('GET', '/', skip_host=True)
    for name, value in (
        ('Host', host),
        *(('Origin', origin) for origin in origins),
        ('Upgrade', 'websocket'),
        ('Connection', 'Upgrade'),
        ('Sec-WebSocket-Version', '13'),
        ('Sec-WebSocket-Key', 'AAAAAAAAAAAAAAAAAAAAAA=='),
        ('Sec-WebSocket-Protocol', f'viser-v{viser.__version__}'),
    ):
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    try:
        return answer.status, answer.read().decode() if answer.status != 101 else ''
    finally:
        connection.close()


def socket_of(server):
    """Open the web socket of the page as its browser does."""
    from websockets.sync.client import connect

    return connect(
        f'ws://localhost:{server.get_port()}',
        origin=f'http://localhost:{server.get_port()}',
        subprotocols=[f'viser-v{viser.__version__}'],
        compression=None,
    )


@pytest.mark.parametrize(
    ('host', 'origin'),
    [
        ('localhost:{port}', 'http://localhost:{port}'),
        ('127.0.0.1:{port}', 'http://127.0.0.1:{port}'),
        ('[::1]:{port}', 'http://[::1]:{port}'),
        ('LOCALHOST:{port}', 'http://localhost:{port}'),
        # a port that ssh forwards, and a proxy that adds TLS
        ('localhost:9999', 'http://localhost:9999'),
        ('192.168.0.7', 'https://192.168.0.7'),
        (socket.gethostname(), f'http://{socket.gethostname().lower()}'),
    ],
)
def test_the_page_itself_opens_the_socket(server, host, origin):
    port = server.get_port()
    assert opening(port, host.format(port=port), origin.format(port=port)) == (101, '')


@pytest.mark.parametrize(
    ('host', 'origins'),
    [
        ('localhost:{port}', ['https://evil.example']),
        ('localhost:{port}', ['http://localhost']),
        ('localhost:{port}', ['http://localhost:1']),
        ('localhost:{port}', ['http://127.0.0.1:{port}']),
        ('localhost:{port}', ['http://localhost:{port}.evil.example']),
        ('localhost:{port}', ['http://localhost:{port}@evil.example']),
        ('localhost:{port}', ['null']),
        ('localhost:{port}', ['']),
        ('localhost:{port}', ['http://localhost:{port}', 'https://evil.example']),
        # a name that its owner lets resolve to this machine
        ('evil.example:{port}', ['http://evil.example:{port}']),
        ('localhost.evil.example', ['http://localhost.evil.example']),
        ('127.0.0.1.evil.example', ['http://127.0.0.1.evil.example']),
        ('[', ['http://[']),
        ('', ['http://']),
    ],
)
def test_the_page_of_another_site_does_not_open_the_socket(server, host, origins):
    port = server.get_port()
    origins = [origin.format(port=port) for origin in origins]
    status, reason = opening(port, host.format(port=port), *origins)
    assert status == 403
    assert '; expected ' in reason
    # Nothing of the page is served under another name either.
    if 'localhost:' not in host:
        connection = http.client.HTTPConnection('localhost', port, timeout=30)
        connection.request('GET', '/', headers={'Host': host.format(port=port)})
        assert connection.getresponse().status == 403
        connection.close()


def test_the_name_of_the_option_host_is_a_name_of_this_machine(monkeypatch):
    real = socket.getaddrinfo

    def resolve(host, *arguments, **named):
        return real('127.0.0.1' if host == 'robot.lab' else host, *arguments, **named)

    monkeypatch.setattr(socket, 'getaddrinfo', resolve)
    server = open_server('robot.lab', 0, 'arm')
    try:
        assert opening(server.get_port(), 'robot.lab:80', 'http://robot.lab:80') == (101, '')
    finally:
        server.stop()


def test_no_client_can_publish_the_page(server):
    published = []
    server.request_share_url = lambda *_, **__: published.append(True)
    pressed = threading.Event()
    button = server.gui.add_button('button')
    button.on_click(lambda _: pressed.set())
    with socket_of(server) as client:
        client.send(msgpack.encode({'type': 'ShareUrlRequest'}))
        press = {'type': 'GuiUpdateMessage', 'uuid': button._impl.uuid, 'updates': {'value': True}}
        camera = {'wxyz': [1.0, 0, 0, 0], 'position': [1.0, 1, 1], 'fov': 1.0, 'near': 0.1}
        camera |= {'look_at': [0.0, 0, 0], 'up_direction': [0.0, 0, 1], 'far': 9.0}
        camera |= {'image_height': 9, 'image_width': 9, 'type': 'ViewerCameraMessage'}
        client.send(msgpack.encode(camera))  # counts as a client from now on
        while not pressed.wait(0.1):
            client.send(msgpack.encode(press))
        # Messages are processed in their order: that of the tunnel was the first.
        server._thread_executor.shutdown(wait=True)
    assert published == []


@pytest.mark.parametrize(
    'frame',
    [
        'text',
        b'',
        b'\xff\x00\n\x1b[2J',
        msgpack.encode([1]),
        msgpack.encode({'type': 'Nothing\n\x1b[2J'}),
        msgpack.encode({'type': 'GuiUpdateMessage'}),
        msgpack.encode({'type': 'GuiUpdateMessage', 'uuid': 'slider', 'updates': {'value': 'x'}}),
        msgpack.encode({'type': 'GuiUpdateMessage', 'uuid': 'slider', 'updates': {'none': 1}}),
    ],
)
def test_a_malformed_message_is_one_line(server, frame, capfd):
    slider = server.gui.add_slider('slider', 0.0, 1.0, 0.1, 0.0)
    server.gui._gui_input_handle_from_uuid['slider'] = slider
    with socket_of(server) as client:
        client.send(frame)
        parts = []

        def line():
            parts.append(capfd.readouterr().err)
            return '\n' in parts[-1]

        wait_until(line, 'the line', 60.0)
    server.stop()
    errors = ''.join([*parts, capfd.readouterr().err])
    assert errors.startswith('robot-dynamics: ')
    assert errors.count('\n') == 1
    assert errors[:-1].isprintable()


def test_the_page_is_served_on_this_machine_only():
    server = open_server('localhost', 0, 'arm')
    try:
        with urllib.request.urlopen(url(server), timeout=10) as answer:
            assert b'<html' in answer.read()
        sockets = server._websock_server
        assert sockets._host == 'localhost'
    finally:
        server.stop()


def test_a_taken_port_is_named(capsys):
    with socket.create_server(('127.0.0.1', 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ServerError, match=f'--port is {port}: another program uses it'):
            open_server('127.0.0.1', port, 'arm')
        assert cli.main(['view', '--host', '127.0.0.1', '--port', str(port)]) == 2
    output, errors = capsys.readouterr()
    assert output == ''
    assert errors.count('\n') == 1
    assert f'--port is {port}' in errors


@pytest.mark.parametrize('host', ['192.0.2.1', 'no such host', 'a' * 300, '\udcff'])
def test_an_address_of_another_machine_is_rejected(host):
    with pytest.raises(ServerError, match=r'--host is .*; expected an address of this machine'):
        open_server(host, 0, 'arm')


def test_without_viser_the_command_names_the_package(monkeypatch, capsys):
    real = builtins.__import__

    def without(name, *arguments, **named):
        if name == 'viser':
            raise ImportError('No module named viser')
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, '__import__', without)
    assert cli.main(['view']) == 2
    errors = capsys.readouterr().err
    assert "pip install 'viser>=1.1,<1.2'" in errors
    assert errors.count('\n') == 1


def test_unknown_robots_are_rejected_before_the_server_starts(tmp_path, capsys):
    (tmp_path / 'bad.urdf').write_text('<robot')
    for robot, message in (
        ('nothing.urdf', 'cannot read the file'),
        ('nothing', 'no file and no robot on this disk has this name; expected'),
        (str(tmp_path / 'bad.urdf'), 'not well-formed XML'),
    ):
        assert cli.main(['view', robot]) == 2
        output, errors = capsys.readouterr()
        assert output == ''
        assert message in errors


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['--bag', 'none.mcap'], 'none.mcap: No such file or directory'),
        (['--topic', '/joint_states'], '--topic has an effect with --bag only'),
        (['--namespace', 'left'], '--namespace has an effect with --live only'),
        (['--effort-scale', '2'], '--effort-scale has an effect with --bag or --live only'),
        (['--payload', 'nowhere', '1'], "link 'nowhere' does not move; expected panda_link1"),
        (['--payload', 'panda_link8', '-1'], 'payload: mass [kg] is -1; expected 0 to'),
        (['--payload', 'panda_link8'], '--payload panda_link8: expected LINK MASS'),
        (['--lock', 'j=0'], "'j'"),
    ],
)
def test_wrong_options_end_the_command_in_one_line(arguments, message, capsys):
    pytest.importorskip('rosbags')
    assert cli.main(['view', *arguments]) == 2
    output, errors = capsys.readouterr()
    assert output == ''
    assert message in errors
    assert errors.count('\n') == 1


def test_a_recording_and_a_live_robot_exclude_each_other(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(['view', '--bag', 'run', '--live'])
    assert ended.value.code == 2
    assert 'not allowed with argument' in capsys.readouterr().err


@pytest.mark.parametrize('port', ['-1', '65536', 'x', ''])
def test_a_wrong_port_is_rejected(port, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(['view', f'--port={port}'])
    assert ended.value.code == 2
    assert 'expected an integer from 0 to 65535' in capsys.readouterr().err


@pytest.mark.parametrize('z', ['1.5', '-1.5'])
def test_the_payload_of_the_command_line_is_that_of_the_page(z):
    from robot_dynamics.cli.commands import parser
    from robot_dynamics.cli.options import with_xacro_arguments
    from robot_dynamics.cli.view import _source

    words = ['view', 'panda', '--viscous', '2', '--payload', 'panda_link7', '12', '0', '0', z]
    state = _source(with_xacro_arguments(words, parser().parse_args)).state
    assert (state.load.link, state.load.mass, state.load.com) == (
        'panda_link7',
        12,
        (0, 0, float(z)),
    )
    assert state.payload_range == (12, 1.5)
    # The model itself carries none, which the page would not show.
    assert state.model.mass.sum() == load_urdf('panda').mass.sum()
    assert (state.model.viscous == 2).all()
