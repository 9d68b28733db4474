# SPDX-License-Identifier: Apache-2.0
"""Xacro files, expanded in a process of their own, within bounds of time and memory.

A .xacro is a program: it evaluates expressions and reads any file. An expression of a few
characters may take hours or all memory; here only the process that expands it ends.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from typing_extensions import override

from robot_dynamics.common.errors import ModelError
from robot_dynamics.urdf.packages import package_folder

# A hundred times what the descriptions listed in docs/guides/xacro.md take, 0.15 s and 23 MB.
MAX_SECONDS = 20.0
MAX_MEMORY = 2 << 30  # bytes of address space
ARGUMENT = re.compile(r'([A-Za-z_][\w.-]*):=(.*)', re.DOTALL)
MACRO, DECLARED = (re.compile(rf'<xacro:{tag}\s[^>]*?name="([^"]*)"') for tag in ('macro', 'arg'))


def xacro_arguments(words: Sequence[str]) -> dict[str, str]:
    """Return the arguments of a xacro file, each given as name:=value.

    Raises:
        ModelError: a word has another form, or a name is given twice.
    """
    arguments: dict[str, str] = {}
    for word in words:
        match = ARGUMENT.fullmatch(word)
        if match is None:
            raise ModelError(f'the xacro argument is {word!r}; expected name:=value')
        name, value = match.groups()
        if name in arguments:
            raise ModelError(f'the xacro argument {name!r} is given twice; expected one value')
        arguments[name] = value
    return arguments


def expanded(
    file: Path, arguments: Mapping[str, str], package_paths: Sequence[str | os.PathLike[str]]
) -> str:
    """Return the URDF text of a xacro file, which is a trusted program.

    Args:
        file: its path.
        arguments: values of its arguments by name.
        package_paths: folders of packages that `$(find ...)` searches first.

    Raises:
        ModelError: the file cannot be expanded, exceeds a bound, or defines no link.

    Warns:
        UserWarning: an argument is not used by the file.
    """
    for name, value in arguments.items():
        if not isinstance(value, str):
            raise ModelError(
                f'the xacro argument {name!r} is {value!r}; expected text, such as {str(value)!r}'
            )
    request = {
        'file': str(file),
        'arguments': dict(arguments),
        'package_paths': [str(Path(path).absolute()) for path in package_paths],
        'seconds': MAX_SECONDS,
        'memory': MAX_MEMORY,
    }
    done = subprocess.run(
        [sys.executable, '-m', __name__],
        input=json.dumps(request),
        stdout=subprocess.PIPE,
        encoding='utf-8',
        check=False,
        # A module in the working folder must not take the place of one of Python or xacro.
        env={
            **os.environ,
            'PYTHONPATH': os.pathsep.join(filter(None, sys.path)),
            'PYTHONSAFEPATH': '1',
        },
    )
    if done.returncode == -signal.SIGALRM:
        raise ModelError(f'xacro takes more than {MAX_SECONDS:g} s; expected a file that ends')
    if done.returncode:
        raise ModelError(
            f'the process of xacro, which may use {_gib(MAX_MEMORY)}, ended with exit code '
            f'{done.returncode}'
        )
    reply = json.loads(done.stdout)
    if 'error' in reply:
        raise ModelError(reply['error'])
    if reply['warning']:
        warnings.warn(reply['warning'], UserWarning, stacklevel=4)
    return str(reply['urdf'])


# -- the process --------------------------------------------------------------------------------


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Return the URDF text and a warning, or the error, of a request."""
    # SIGINT is for the parent, which ends this process; SIGALRM ends it as well.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, request['seconds'])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    bound = request['memory']
    resource.setrlimit(
        resource.RLIMIT_AS, (bound if hard == resource.RLIM_INFINITY else min(bound, hard), hard)
    )
    arguments = _Arguments(request['arguments'], request['file'])
    try:
        document = _document(request, arguments)
    except ImportError as error:
        return {'error': f'a .xacro file needs the xacro package, pip install xacro: {error}'}
    except Exception as error:  # noqa: BLE001  (expressions in the file may raise anything)
        return {'error': _reason(error, request, arguments)}
    root = document.documentElement
    if root.tagName == 'robot' and not any(node.nodeName == 'link' for node in root.childNodes):
        return {'error': _no_link(arguments)}
    unused = sorted(arguments.given - arguments.used)
    warning = f'the file does not use xacro arguments {", ".join(unused)}{arguments.listed()}'
    return {'urdf': document.toxml(), 'warning': warning if unused else ''}


class _Arguments(dict[str, str]):
    """Arguments by name, with a record of those that the file uses and those it lacks."""

    def __init__(self, given: Mapping[str, str], file: str) -> None:
        super().__init__(given)
        self.given, self.used, self.missing = set(given), set[str](), list[str]()
        self.text = Path(file).read_text(encoding='utf-8', errors='replace')

    @override
    def __contains__(self, name: object) -> bool:
        self.used.add(str(name))
        return super().__contains__(name)

    @override
    def __getitem__(self, name: str) -> str:
        self.used.add(name)
        return super().__getitem__(name)

    def __missing__(self, name: str) -> NoReturn:
        self.missing.append(name)
        raise KeyError(name)

    def listed(self) -> str:
        """Return the arguments of the file, as the end of a sentence."""
        names = sorted({*DECLARED.findall(self.text), *self.used} - set(self.missing))
        return f'; its arguments, given as name:=value: {", ".join(names)}' if names else ''

    def others(self) -> str:
        """Return the arguments given that are none of the file, as the end of a sentence."""
        names = sorted(self.given - {*DECLARED.findall(self.text), *self.used})
        return f'; given, and not read up to here: {", ".join(names)}' if names else ''


class _PackageMissingError(Exception):
    """A package is in none of the folders that are searched."""


def _document(request: Mapping[str, Any], arguments: _Arguments) -> Any:
    """Return the expanded XML document."""
    import xacro
    from xacro import substitution_args

    def find(name: str) -> str:
        given = [Path(folder) for folder in request['package_paths']]
        folder = package_folder(name, Path(request['file']), given)
        if folder is None:
            raise _PackageMissingError(
                f'$(find {name}): no package.xml has this name; expected it in the ament index, '
                'in a folder of --package-path DIR, or in or beside a folder above the file'
            )
        return str(folder)

    # For $(find ...), and for find() in $(eval ...).
    substitution_args._eval_find = substitution_args._eval_dict['find'] = find
    return xacro.process_file(request['file'], mappings=arguments)


def _reason(error: Exception, request: Mapping[str, Any], arguments: _Arguments) -> str:
    # xacro wraps the errors of expressions.
    chain: list[BaseException] = [error]
    while cause := getattr(chain[-1], 'exc', None) or chain[-1].__cause__ or chain[-1].__context__:
        chain.append(cause)
    for cause in chain:
        if isinstance(cause, _PackageMissingError):
            return str(cause)
        if isinstance(cause, MemoryError):
            return f'xacro takes more than {_gib(request["memory"])} of memory; expected less'
    if arguments.missing:
        name = arguments.missing[-1]
        return (
            f'the xacro argument {name!r} is missing; expected {name}:=VALUE{arguments.listed()}'
            f'{arguments.others()}'
        )
    # A wrong or missing value surfaces as a file that does not exist, or an unknown macro.
    said = error or type(error).__name__
    return f'xacro failed: {said}{arguments.listed()}{arguments.others()}'


def _no_link(arguments: _Arguments) -> str:
    macros = MACRO.findall(arguments.text)
    if not macros:
        return f'the file defines no link; expected a robot{arguments.listed()}'
    return (
        f'the file defines no link, only macros ({", ".join(macros)}); expected the .xacro that '
        'includes it and calls them'
    )


def _gib(memory: int) -> str:
    return f'{memory / 2**30:g} GiB'


if __name__ == '__main__':
    print(json.dumps(main(json.load(sys.stdin))))
