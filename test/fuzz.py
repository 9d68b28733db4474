# SPDX-License-Identifier: Apache-2.0
"""Bounded fuzzing: random changes of valid files, and the faults of their readers.

A reader returns a value or raises an error of the package. Any other exception is a traceback; a
read that does not end within LONGEST is a hang; a number that a second reader reads differently is
a difference. Files are read in a child process, because a library may crash.
"""

import argparse
import multiprocessing
import os
import re
import resource
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from fuzz_surfaces import SURFACES

from robot_dynamics.common.errors import RobotDynamicsError

LONGEST = 10.0  # s, of one file
MEMORY = 4 * 2**30  # bytes of a child
FAULTS = 'traceback', 'hang', 'crash', 'difference'
WORD = re.compile(rb'[-+.\w]+')
NUMBER = re.compile(rb'[-+]?\.?\d[\d.eE+-]*')
ODD = [
    word.encode()
    for word in (
        *('0', '-0.0', '-1', '1', '1e308', '-1e308', '1e309', '5e-324', '1e-12', 'nan', '-inf'),
        *('inf', '.nan', '.inf', '0x10', '010', '0o10', '1_000', '1e', '1,5', '+.5', '5.', '1:30'),
        *('1E+2', '007.5', '-.5e-3', '\u0661', '\u00bd', '99999999999999999999', '2147483648'),
        *('true', 'null', 'yes', '~', 'pi', '-pi/2', 'pi/0', '__import__', '../x', '$(arg)', '%s'),
        *('{}', '[]', '""', "''", '\u00e9', '\u200b', '\\x00', '', ' ', 'a'),
    )
]


class Outcome(NamedTuple):
    """Outcome of a file."""

    kind: str  # read, compared, rejected, or one of FAULTS
    text: str = ''


# -- changes -------------------------------------------------------------------------------------


def changed(data, rng):
    """Return a file with a change of bytes, words or lines, seldom with two or three."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        data = rng.choice(CHANGES)(data, rng)
    return data


def odd_number(data, rng):
    return _replaced(data, rng, NUMBER, ODD)


def other_number(data, rng):
    size = 10.0 ** rng.integers(-9, 9)
    number = f'{size * rng.normal():.{rng.integers(0, 17)}{rng.choice(list("feg"))}}'
    return _replaced(data, rng, NUMBER, [number.encode()])


def other_word(data, rng):
    return _replaced(data, rng, WORD, WORD.findall(data))


def _replaced(data, rng, form, words):
    found = list(form.finditer(data))
    if not found or not words:
        return data
    one = found[rng.integers(len(found))]
    return data[: one.start()] + words[rng.integers(len(words))] + data[one.end() :]


def other_bytes(data, rng):
    """Overwrite, insert or remove a few bytes."""
    at, length = rng.integers(len(data) + 1), rng.integers(0, 4)
    return data[:at] + rng.bytes(rng.integers(0, 4)) + data[at + length :]


def other_bit(data, rng):
    if not data:
        return data
    at = rng.integers(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.integers(8)]) + data[at + 1 :]


def cut(data, rng):
    """Remove the end, from anywhere."""
    return data[: rng.integers(len(data) + 1)]


def lines_moved(data, rng):
    """Remove, repeat or exchange lines."""
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return data
    i, j = rng.integers(len(lines), size=2)
    lines[i : i + 1] = [[], [lines[i], lines[j]], [lines[j]]][rng.integers(3)]
    return b''.join(lines)


def repeated(data, rng):
    """Repeat a part many times: deep nesting, long names, long lists."""
    at = rng.integers(len(data) + 1)
    return data[:at] + data[at : at + rng.integers(1, 40)] * int(rng.integers(2, 2000)) + data[at:]


CHANGES = [
    *[odd_number, other_number] * 2,
    *[other_word] * 2,
    other_bytes,
    other_bit,
    cut,
    lines_moved,
    repeated,
]


# -- one file ------------------------------------------------------------------------------------


def outcome(surface, path):
    """Return the outcome of a file."""
    try:
        value = surface.read(path)
    except RobotDynamicsError:
        return Outcome('rejected')
    except Exception:  # noqa: BLE001  (any other is a traceback)
        return Outcome('traceback', traceback.format_exc())
    try:
        surface.compare(path, value)
    except AssertionError as error:
        return Outcome('difference', str(error))
    except Exception as error:  # noqa: BLE001  (the other library raises anything)
        return Outcome('read', f'{type(error).__name__}: {error}')
    return Outcome('compared')


def file_of(surface, seed, k):
    """Return file k of a seed."""
    rng = np.random.default_rng([seed, k])
    sources = surface.files()
    return changed(sources[rng.integers(len(sources))], rng)


def work(surface, seed, numbers, path, pipe):
    """Send (k, outcome of file k) for each of some numbers k."""
    warnings.simplefilter('ignore')
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(nothing, descriptor)
    for k in numbers:
        path.write_bytes(file_of(surface, seed, k))
        pipe.send((k, outcome(surface, path)))


# -- all files -----------------------------------------------------------------------------------


def outcomes(surface, seed, number):
    """Yield (k, outcome of file k)."""
    context = multiprocessing.get_context('fork')
    following = 0
    with TemporaryDirectory() as folder:
        while following < number:
            ours, theirs = context.Pipe(duplex=False)
            path = Path(folder, f'changed{surface.suffix}')
            arguments = surface, seed, range(following, number), path, theirs
            child = context.Process(target=work, args=arguments)
            child.start()
            theirs.close()
            kind = 'hang'
            try:
                while following < number and ours.poll(LONGEST):
                    yield ours.recv()
                    following += 1
            except EOFError:
                kind = 'crash'
            child.kill()
            child.join()
            if following < number:
                yield following, Outcome(kind, f'exit code {child.exitcode}')
                following += 1


def fuzz(surface, seed, number, folder):
    """Print a summary of the changed files of a surface; return how many have a fault."""
    tally, begun = Counter(), time.monotonic()
    for k, found in outcomes(surface, seed, number):
        tally[found.kind] += 1
        if found.kind in FAULTS:
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f'{surface.name}-{seed}-{k}{surface.suffix}'
            file.write_bytes(file_of(surface, seed, k))
            print(f'{file}: {found.kind}\n{found.text[-1500:]}')
    faults = sum(tally[kind] for kind in FAULTS)
    print(
        f'{surface.name}, seed {seed}: {number} files in {time.monotonic() - begun:.0f} s, '
        f'{tally["rejected"]} rejected, {tally["compared"]} compared with {surface.other}, '
        f'{tally["read"]} that it does not read; '
        + ', '.join(f'{kind}: {tally[kind]}' for kind in FAULTS)
    )
    return faults


def main():
    parser = argparse.ArgumentParser(prog='./run fuzz', description=__doc__.splitlines()[0])
    names = [*SURFACES]
    parser.add_argument('surface', choices=[*names, 'all'], help='what is read')
    parser.add_argument('--number', type=int, default=5000, help='of files (5000)')
    parser.add_argument('--seed', type=int, default=0, help='of the changes (0)')
    parser.add_argument(
        '--output', type=Path, default=Path('fuzzed'), help='folder of files with faults (fuzzed)'
    )
    options = parser.parse_args()
    chosen = names if options.surface == 'all' else [options.surface]
    faults = [fuzz(SURFACES[n], options.seed, options.number, options.output) for n in chosen]
    return 1 if any(faults) else 0


if __name__ == '__main__':
    sys.exit(main())
