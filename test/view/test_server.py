"""The server: its address, and the reasons why it cannot start."""

import builtins
import socket
import urllib.request

import pytest

from robot_dynamics import cli
from robot_dynamics.view.server import ServerError, open_server, url

pytest.importorskip('viser')


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
        ('nothing', 'the bundled robots are'),
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
        (['--payload', 'nowhere', '1'], "no frame 'nowhere'"),
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
