# SPDX-License-Identifier: Apache-2.0
"""A stand-in for `launch` and `launch_ros`, which come with a ROS 2 distribution only.

It visits actions in the order of `launch`, depth first, and records nodes without starting them.
It contains only what our launch files use.

Source: the architecture document of ros2/launch.
"""

import importlib.util
import sys
from types import ModuleType

import yaml

from robot_dynamics.common.resources import share_directory


class Context:
    """The state of a launch: arguments, environment, and the nodes started so far."""

    def __init__(self, arguments):
        self.launch_configurations = dict(arguments)
        self.environment, self.namespace, self.started = {}, '', []
        self.endings = {}  # of our nodes: on_exit, respawn and its delay [s]


def text(context, value):
    """Return the text of a value: a string, a substitution, or a list of them."""
    if isinstance(value, list | tuple):
        return ''.join(text(context, item) for item in value)
    return value if isinstance(value, str) else value.perform(context)


class LaunchConfiguration:
    def __init__(self, name):
        self.name = name

    def perform(self, context):
        return context.launch_configurations[self.name]


class FindPackageShare:
    def __init__(self, package):
        assert package == 'robot_dynamics'

    def perform(self, context):
        return str(share_directory())


class PathJoinSubstitution:
    def __init__(self, parts):
        self.parts = parts

    def perform(self, context):
        return '/'.join(text(context, part) for part in self.parts)


class EqualsSubstitution:
    def __init__(self, left, right):
        self.sides = left, right

    def perform(self, context):
        left, right = (text(context, side) for side in self.sides)
        return str(left == right).lower()


class NotSubstitution:
    def __init__(self, value):
        self.value = value

    def perform(self, context):
        return {'true': 'false', 'false': 'true'}[text(context, self.value)]


class IfCondition:
    def __init__(self, predicate):
        self.predicate = predicate

    def evaluate(self, context):
        return {'true': True, 'false': False}[text(context, self.predicate)]


class ParameterValue:
    def __init__(self, value, value_type):
        self.value, self.value_type = value, value_type

    def evaluate(self, context):
        value = text(context, self.value)
        if self.value_type is str:
            return value
        value = yaml.safe_load(value)
        if not isinstance(value, self.value_type):
            raise ValueError(f'cannot convert {value!r} to {self.value_type.__name__}')
        return value


class Action:
    condition = None

    def visit(self, context):
        if self.condition is None or self.condition.evaluate(context):
            for action in self.execute(context) or ():
                action.visit(context)


class LaunchDescription(Action):
    def __init__(self, entities):
        self.entities = entities

    def execute(self, context):
        return self.entities


class GroupAction(LaunchDescription):
    def visit(self, context):
        before = dict(context.launch_configurations), dict(context.environment), context.namespace
        super().visit(context)
        context.launch_configurations, context.environment, context.namespace = before


class DeclareLaunchArgument(Action):
    def __init__(self, name, *, default_value, description, choices=None):
        self.name, self.default_value, self.choices = name, default_value, choices

    def execute(self, context):
        values = context.launch_configurations
        values.setdefault(self.name, text(context, self.default_value))
        if self.choices and values[self.name] not in self.choices:
            raise RuntimeError(
                f'Argument "{self.name}" provided value "{values[self.name]}" is not valid. '
                f'Valid options are: {self.choices}'
            )


class OpaqueFunction(Action):
    def __init__(self, *, function, args=(), condition=None):
        self.function, self.args, self.condition = function, args, condition

    def execute(self, context):
        return self.function(context, *self.args)


class SetEnvironmentVariable(Action):
    def __init__(self, name, value, condition=None):
        self.name, self.value, self.condition = name, value, condition

    def execute(self, context):
        context.environment[self.name] = text(context, self.value)


class PushRosNamespace(Action):
    def __init__(self, namespace):
        self.namespace = namespace

    def execute(self, context):
        context.namespace = text(context, self.namespace)


class SetParameter(Action):
    def __init__(self, name, value):
        self.value = value

    def execute(self, context):
        self.value.evaluate(context)


class PythonLaunchDescriptionSource:
    def __init__(self, location):
        self.location = location


class IncludeLaunchDescription(Action):
    def __init__(self, source, launch_arguments):
        self.source, self.launch_arguments = source, launch_arguments

    def execute(self, context):
        for name, value in self.launch_arguments:
            context.launch_configurations[name] = text(context, value)
        return [launch_file(text(context, self.source.location))]


class Shutdown(Action):
    def __init__(self, *, reason):
        self.reason = reason


class Node(Action):
    def __init__(
        self,
        *,
        package,
        executable,
        parameters=(),
        arguments=(),
        condition=None,
        on_exit=None,
        respawn=False,
        respawn_delay=None,
        **_,
    ):
        self.package, self.executable, self.condition = package, executable, condition
        self.parameters, self.arguments = parameters, arguments
        self.ending = on_exit, respawn, respawn_delay

    def execute(self, context):
        parameters = {}
        for item in self.parameters:
            if isinstance(item, dict):
                for name, value in item.items():
                    known = isinstance(value, ParameterValue)
                    parameters[name] = value.evaluate(context) if known else value
            else:
                text(context, item)
        arguments = [text(context, item) for item in self.arguments]
        if self.package == 'robot_dynamics':
            context.endings[self.executable] = self.ending
        context.started.append((self.executable, context.namespace, parameters, arguments))


def launch_file(path):
    """Return the launch description of a Python launch file."""
    spec = importlib.util.spec_from_file_location('launched_file', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.generate_launch_description()


def put_in_place(monkeypatch):
    """Let `import launch` and `import launch_ros` find this stand-in."""
    names = {name: value for name, value in globals().items() if isinstance(value, type)}
    for package, parts in {
        'launch': ('actions', 'conditions', 'launch_description_sources', 'substitutions'),
        'launch_ros': ('actions', 'parameter_descriptions', 'substitutions'),
    }.items():
        for name in (package, *(f'{package}.{part}' for part in parts)):
            module = ModuleType(name)
            module.__dict__.update(names)
            monkeypatch.setitem(sys.modules, name, module)


def launched(path, **arguments):
    """Launch a file with arguments; return the context, and the error that ended it or None."""
    context = Context(arguments)
    try:
        launch_file(path).visit(context)
    except Exception as error:  # noqa: BLE001  (launch catches them all)
        return context, error
    return context, None
