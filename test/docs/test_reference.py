# SPDX-License-Identifier: Apache-2.0
"""docs/reference: every public name has an entry, with shapes where it takes or returns arrays."""

import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

from extensions.generated_pages import PLACE, is_exported, public_names

import robot_dynamics

PAGES = Path(__file__).parents[2] / 'docs' / 'reference' / 'api'
PLACES = [
    name
    for page in sorted(PAGES.glob('*.md'))
    for match in PLACE.finditer(page.read_text())
    for name in match[2].split()
]
ARRAYS = re.compile(r'\b(ArrayLike|Array|ndarray|NDArray)\b')
LENGTH = r'(?:\.\.\.|\d?\s?[A-Za-z]{1,2}|\d+)'  # of an axis: ..., n, 6, 6 n
SHAPE = re.compile(rf'\({LENGTH}(?:, ?{LENGTH})*,?\)|\b(?:scalars?|numbers?|shape)\b')
UNIT = re.compile(r'\b(rad|m|kg|N|J|s|Hz)\b')


def packages_with_all():
    for _, name, is_package in pkgutil.walk_packages(robot_dynamics.__path__, 'robot_dynamics.'):
        if is_package and hasattr(importlib.import_module(name), '__all__'):
            yield name


def test_every_package_with_public_names_has_a_page():
    assert set(packages_with_all()) <= set(PLACES)
    assert {f'robot_dynamics.{name}' for name in robot_dynamics.__all__} <= set(PLACES)


def test_no_name_has_two_entries():
    assert len(PLACES) == len(set(PLACES))


def documented():
    """Return the functions, methods and classes that have an entry, by name."""
    found = {}
    for place in PLACES:
        outer, _, inner = place.rpartition('.')
        if outer == 'robot_dynamics' and inner in robot_dynamics.__all__:
            found[place] = getattr(robot_dynamics, inner)
            continue
        module = importlib.import_module(place)
        for name in public_names(module):
            thing = getattr(module, name)
            if not is_exported(name, thing):
                found[f'{place}.{name}'] = thing
    return found


def functions():
    """Return the functions and methods, each with the docstrings that a reader sees above it."""
    for name, thing in documented().items():
        if not callable(thing):
            continue
        above = inspect.getdoc(sys.modules[thing.__module__])
        if inspect.isfunction(thing):
            yield name, (thing, above)
        elif inspect.isclass(thing):
            fields = getattr(thing, '__dataclass_fields__', {})
            for method in [name for name in vars(thing) if name not in fields]:
                value = inspect.getattr_static(thing, method)
                value = getattr(thing, method) if not isinstance(value, property) else value
                if not method.startswith('_') and inspect.isfunction(value):
                    yield f'{name}.{method}', (value, f'{above}\n{inspect.getdoc(thing)}')


FUNCTIONS = dict(functions())


def test_the_methods_of_dynamics_are_among_the_functions():
    assert 'robot_dynamics.Dynamics.inverse_dynamics' in FUNCTIONS
    assert len(FUNCTIONS) > 300


def has_arrays(function):
    return any(ARRAYS.search(str(annotation)) for annotation in function.__annotations__.values())


def test_entries_state_the_shapes_of_arrays():
    texts = {name: inspect.getdoc(function) for name, (function, _) in FUNCTIONS.items()}
    assert [name for name, text in texts.items() if not text] == []
    assert [
        name
        for name, (function, above) in FUNCTIONS.items()
        if has_arrays(function) and not SHAPE.search(f'{texts[name]}\n{above}')
    ] == []


ROBOTS = ('robot_dynamics.Dynamics.', 'robot_dynamics.ClosedChain.')
COMPILED = [name for name in FUNCTIONS if name.startswith(ROBOTS)]


def test_methods_of_robots_state_arguments_results_and_units():
    for name in COMPILED:
        function, _ = FUNCTIONS[name]
        text = inspect.getdoc(function)
        arguments = [key for key in inspect.signature(function).parameters if key != 'self']
        if has_arrays(function):
            assert SHAPE.search(text), name
            assert UNIT.search(text), name
            assert [key for key in arguments if not re.search(rf'\b{key}\b', text)] == [], name
