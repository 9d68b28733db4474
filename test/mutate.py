# SPDX-License-Identifier: Apache-2.0
"""Mutation testing: changes one expression at a time, and lists the changes that no test finds.

mutmut makes the mutants. Each is written into a copy of the checkout and tested in a process of
its own. `mutmut run` would choose mutants by a variable while the program runs: it leaves out
decorated functions and constants, and programs that this package has compiled, in the process or
in the cache on disk, would be those of the first mutant.
"""

import argparse
import contextlib
import difflib
import functools
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = 'robot_dynamics'


def mirrored_tests(file):
    """Return the tests of a file of the package: the first of these that exist.

    Files or folders of its name in the folder of its package or in one above; tests of its name
    anywhere; tests that import its module; the tests of its package.
    """
    inner, tests = file.relative_to(PACKAGE), Path('test')
    is_package = inner.stem == '__init__'
    name = inner.parent.name if is_package else inner.stem
    for folder in (tests / parent for parent in inner.parents):
        found = [p for p in (folder / f'test_{name}.py', folder / name) if (ROOT / p).exists()]
        if found:
            return found
    found = [path for path in texts_of_tests() if path.name == f'test_{name}.py']
    if not found:
        module = '.'.join(file.with_suffix('').parts)
        imports = f'{module} import', f'{module.rpartition(".")[0]} import {name}\n'
        found = [
            path for path, text in texts_of_tests().items() if any(i in text for i in imports)
        ]
    package = file.parent.parent if is_package else file.parent
    if not found and package != Path(PACKAGE):
        return mirrored_tests(package / '__init__.py')
    return found


@functools.cache
def texts_of_tests():
    """Return the text of each file of tests, by its path in the checkout."""
    paths = sorted((ROOT / 'test').rglob('test_*.py'))
    return {path.relative_to(ROOT): path.read_text() for path in paths}


def copy_checkout(folder):
    """Copy the files of the checkout that git does not ignore."""
    listed = ['git', '-C', ROOT, 'ls-files', '-z', '--cached', '--others', '--exclude-standard']
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split('\0')):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def run_pytest(arguments):
    """Run pytest in this process, which ends with its exit status."""
    os.setsid()  # what the tests start ends with them
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    import pytest

    os._exit(pytest.main(arguments))


def exit_status(arguments, limit):
    """Return the exit status of pytest in a process of its own, None after `limit` seconds."""
    process = multiprocessing.get_context('fork').Process(target=run_pytest, args=(arguments,))
    process.start()
    try:
        process.join(limit)
        return process.exitcode
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.join()


def preload():
    """Import what every test process needs, but nothing of the package."""
    import hypothesis  # noqa: F401
    import llvmlite.binding  # noqa: F401
    import pytest  # noqa: F401
    import scipy.interpolate
    import scipy.optimize
    import scipy.signal  # noqa: F401

    assert PACKAGE not in sys.modules


def main():
    parser = argparse.ArgumentParser(
        prog='./run mutate',
        description='Change one expression of a file at a time and list the changes that its tests'
        ' do not find. The checkout is not touched.',
    )
    parser.add_argument('file', type=Path, help='such as robot_dynamics/control/limits.py')
    parser.add_argument(
        '--tests', nargs='+', type=Path, help='test files; default: the mirrored ones'
    )
    parser.add_argument('--lines', nargs='+', type=int, help='lines of the file; default: all')
    parser.add_argument(
        '--sample', type=int, default=100, help='most mutants, chosen at random; default: 100'
    )
    parser.add_argument('--seed', type=int, default=0, help='of the choice; default: 0')
    parser.add_argument(
        '--minutes', type=float, default=20.0, help='after which no mutant is begun; default: 20'
    )
    options = parser.parse_args()
    file = Path(os.path.relpath(options.file.resolve(), ROOT))
    if file.parts[0] != PACKAGE or file.suffix != '.py' or not (ROOT / file).is_file():
        parser.error(f'{options.file} is not a Python file in {PACKAGE}/')
    tests = options.tests or mirrored_tests(file)
    if not tests:
        parser.error(f'{file} has no tests of its name, and none that imports it: pass --tests')
    # Leaves no copy behind.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix='robot_dynamics_mutants') as folder:
        run(file, [os.path.relpath(p, ROOT) for p in tests], options, Path(folder))


def run(file, tests, options, folder):
    """Test the mutants in a copy of the checkout, and print those that survive."""
    from mutants import mutants

    copy_checkout(folder)
    os.chdir(folder)
    os.environ['PYTHONPATH'] = str(folder)
    sys.path[:0] = [str(folder)]
    # Compiled programs of mutants would displace those of the user.
    os.environ['ROBOT_DYNAMICS_CACHE_DIR'] = str(folder / '.compiled')
    preload()
    arguments = ['-x', '-q', '-m', 'not slow and not soak', '-p', 'no:cacheprovider', *tests]
    print('tests:', *tests, flush=True)
    start = time.monotonic()
    if status := exit_status(arguments, 600.0):
        sys.exit(f'the tests of the unchanged file end with {status}: expected 0')
    start, needed = time.monotonic(), time.monotonic() - start
    source = Path(file).read_text()
    every = [m for m in mutants(source) if not options.lines or m[0] in options.lines]
    chosen = every
    if options.sample < len(every):
        chosen = sorted(random.Random(options.seed).sample(every, options.sample))
    counts = dict.fromkeys(('killed', 'timed out', 'survived'), 0)
    for k, (line, text) in enumerate(chosen):
        if time.monotonic() - start > 60.0 * options.minutes:
            break
        Path(file).write_text(text)
        # Bytecode is found by size and seconds: no two mutants have the same.
        os.utime(file, (k, k))
        status = exit_status(arguments, 10.0 + 4.0 * needed)
        outcome = {None: 'timed out', 0: 'survived'}.get(status, 'killed')
        counts[outcome] += 1
        if outcome == 'survived':
            print(f'\n{file}:{line}')
            print(*changed_lines(source, text), sep='\n', flush=True)
    tried = sum(counts.values())
    print(
        f'\n{file}: {tried} of {len(every)} mutants tried in {time.monotonic() - start:.0f} s:',
        ', '.join(f'{count} {outcome}' for outcome, count in counts.items()),
    )


def changed_lines(source, text):
    """Return the changed lines, the old ones with - and the new ones with +."""
    lines = difflib.unified_diff(source.splitlines(), text.splitlines(), n=0, lineterm='')
    return [line for line in list(lines)[2:] if not line.startswith('@@')]


if __name__ == '__main__':
    main()
