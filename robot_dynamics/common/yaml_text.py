# SPDX-License-Identifier: Apache-2.0
"""YAML of users, read within bounds; and YAML that every reader understands alike.

PyYAML reads numbers as in YAML 1.1 (`1:30` is 90), recurses in C, so that brackets overflow the
stack, and expands aliases without a bound. Here the events of its parser, which does not recurse,
become values: null, booleans and numbers are those of YAML 1.2, other plain text is a string.
Aliases and tags are rejected, depth and size are bounded.

Source: YAML 1.2.2, section 10.3.2, core schema.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from robot_dynamics.common.errors import RobotDynamicsError

MAX_BYTES = 100_000_000
MAX_DEPTH = 64

# The parser in C is ten times as fast; PyYAML may be built without it.
LOADER = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
# Plain scalars of the core schema; integers of more digits become floating-point numbers.
SCALARS: list[tuple[re.Pattern[str], Callable[[str], Any]]] = [
    (re.compile(r'[-+]?[0-9]{1,18}'), int),
    (re.compile(r'[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?'), float),
    (
        re.compile(r'[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)'),
        lambda text: float(text.replace('.', '')),
    ),
    (re.compile(r'0o[0-7]{1,20}|0x[0-9a-fA-F]{1,15}'), lambda text: int(text, 0)),
    (re.compile(r'true|True|TRUE|false|False|FALSE'), lambda text: text[0] in 'tT'),
    (re.compile(r'(null|Null|NULL|~)?'), lambda _: None),
]

# Such as 010: 8 to readers of YAML 1.1, that of ROS among them, and 10 to those of YAML 1.2.
AMBIGUOUS = re.compile(r'[-+]?0[0-9]+')

# Words that no reader of YAML 1.1 or 1.2, nor that of ROS, takes for something else than text.
PLAIN = re.compile(
    r'(?!(y|n|yes|no|on|off|true|false|null|nan|inf|infinity)$)[a-z_/][\w./*-]*', re.ASCII | re.I
)


class YamlError(RobotDynamicsError, ValueError):
    """A text that is not YAML, or exceeds the bounds."""


# -- reading ------------------------------------------------------------------------------------


def read_yaml(file: str | Path) -> Any:
    """Return the first document of a file, None if there is none.

    Raises:
        OSError: the file cannot be read.
        YamlError: as `parse_yaml`.
    """
    with Path(file).open('rb') as stream:
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise YamlError(f'the file has more than {MAX_BYTES} bytes; expected at most that')
    return parse_yaml(content)


def parse_yaml(text: str | bytes) -> Any:
    """Return the first document of a text as lists, dicts, strings, numbers, booleans and None.

    Raises:
        YamlError: the text is not YAML, is nested too deeply, has aliases, tags, a key twice or an
            integer with leading zeros.
    """
    try:
        decoded = text if isinstance(text, str) else text.decode('utf-8-sig')
        return _document(yaml.parse(decoded, LOADER))
    except (yaml.YAMLError, UnicodeError) as error:
        raise YamlError(f'is not YAML: {error}') from error


def _document(events: Iterable[Any]) -> Any:
    """Return the first document. Collections that are not complete are lists of their values."""
    stack: list[list[Any]] = [[]]
    for event in events:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentEndEvent):
            break
        if isinstance(event, yaml.AliasEvent):
            raise YamlError(f'line {line}: alias *{event.anchor}; expected YAML without aliases')
        if isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent)) and event.tag:
            raise YamlError(f'line {line}: tag {event.tag}; expected YAML without tags')
        if isinstance(event, yaml.ScalarEvent):
            stack[-1].append(_scalar(event.value, line) if event.implicit[0] else event.value)
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(stack) > MAX_DEPTH:
                raise YamlError(f'line {line}: nested more than {MAX_DEPTH} levels deep')
            stack.append([])
        elif isinstance(event, yaml.SequenceEndEvent):
            items = stack.pop()
            stack[-1].append(items)
        elif isinstance(event, yaml.MappingEndEvent):
            items = stack.pop()
            stack[-1].append(_mapping(items, line))
    return stack[0][0] if stack[0] else None


def _mapping(items: list[Any], line: int) -> dict[Any, Any]:
    """Return the mapping of alternating keys and values that ends in a line."""
    result: dict[Any, Any] = {}
    for key, value in zip(items[::2], items[1::2], strict=True):
        if isinstance(key, (list, dict)) or key in result:
            raise YamlError(
                f'the mapping that ends in line {line} has the key {reprlib.repr(key)}; expected '
                'texts, each once'
            )
        result[key] = value
    return result


def _scalar(text: str, line: int) -> Any:
    """Return the value of a plain scalar in a line."""
    if AMBIGUOUS.fullmatch(text):
        raise YamlError(
            f'line {line}: {text}, which is octal to some readers and decimal to others; expected '
            'a number without leading zeros, or text in quotes'
        )
    return next((value(text) for form, value in SCALARS if form.fullmatch(text)), text)


def is_number(value: Any) -> bool:
    """Return whether a value is a number; booleans are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def require_known(name: str, entry: Any, known: Collection[str]) -> None:
    """Raise YamlError unless an entry is a mapping whose keys are all known."""
    if not isinstance(entry, Mapping):
        raise YamlError(f'{name} is {entry!r}; expected entries {", ".join(known)}')
    if unknown := [key for key in entry if key not in known]:
        raise YamlError(
            f'{name} has no entry {unknown[0]!r}, the nearest is {nearest(unknown[0], known)}; '
            f'expected {", ".join(known)}'
        )


def nearest(name: Any, known: Collection[str], least: float = 0.0) -> str:
    """Return the known name that is most similar to another one.

    Args:
        name: the other one.
        known: names.
        least: similarity from 0 to 1 below which there is none, ''.
    """
    found = get_close_matches(str(name), sorted(known), n=1, cutoff=least)
    return found[0] if found else ''


# -- writing ------------------------------------------------------------------------------------


class _Dumper(yaml.SafeDumper):
    """Quotes every text that some reader may take for something else."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        'tag:yaml.org,2002:str', text, style=None if PLAIN.fullmatch(text) else '"'
    ),
)


def yaml_text(content: Any) -> str:
    """Return dicts, lists, strings and numbers as YAML."""
    return str(
        yaml.dump(content, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=99)
    )


def parameters_text(parameters: Mapping[str, Any], node: str = '/**') -> str:
    """Return the parameters of a node, by default of every node, as a parameter file of ROS."""
    return yaml_text({node: {'ros__parameters': dict(parameters)}})


def quoted(text: str) -> str:
    """Return a text as in YAML, quoted where it is no word: in a comment it is one line."""
    if PLAIN.fullmatch(text):
        return text
    return str(yaml.dump(text, Dumper=_Dumper, width=2**31)).rstrip('\n')
