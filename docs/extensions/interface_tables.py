# SPDX-License-Identifier: Apache-2.0
"""Tables of the topics and services of each node, from the record that the tests keep.

A page has the line `<!-- interfaces dynamics_node -->` where the tables of a node are to stand.
"""

import re
from pathlib import Path

import yaml

import robot_dynamics

RECORD = Path(robot_dynamics.__file__).parents[1] / 'test' / 'ros' / 'interfaces.yaml'
PLACE = re.compile(r'^<!-- interfaces (\w+) -->$', re.MULTILINE)
MANAGED = 'lifecycle_msgs/'  # services that every node has
ABSOLUTE = {'/diagnostics', '/clock', '/tf', '/tf_static'}


def setup(app):
    """Register the replacement of the places."""
    app.connect('source-read', fill)
    return {'parallel_read_safe': True}


def fill(_app, _page, source):
    """Replace the places of a page by the tables of their nodes."""
    source[0] = PLACE.sub(lambda place: tables(place[1]), source[0])


def tables(node):
    """Return the tables of one node; an installed package without tests has no record."""
    if not RECORD.is_file():
        return 'See the page in the repository.'
    record = yaml.safe_load(RECORD.read_text())[node]
    text = []
    for kind, heading in (('subscribes', 'subscribes to'), ('publishes', 'publishes')):
        text += ['', f'| {heading} | type | quality of service |', '|---|---|---|']
        for endpoint, quality in record[kind].items():
            topic, message = endpoint.split()
            text.append(f'| `{relative(topic, node)}` | `{message}` | {words(quality)} |')
    text += ['', '| service | type |', '|---|---|']
    for endpoint in record['services']:
        service, kind = endpoint.split()
        if not kind.startswith(MANAGED):
            text.append(f'| `{relative(service, node)}` | `{kind}` |')
    return '\n'.join(text)


def relative(name, node):
    """Return a name as in a launch file: ~/mass_matrix, joint_states, /diagnostics."""
    if name.startswith(f'/{node}/'):
        return '~/' + name.removeprefix(f'/{node}/')
    return name if name in ABSOLUTE else name.removeprefix('/')


def words(quality):
    """Return a quality of service in words."""
    reliability, durability, history, depth = quality.lower().split()
    depth = 'all' if history == 'keep_all' else f'depth {depth}'
    latched = ', latched' if durability == 'transient_local' else ''
    return f'{reliability.replace("_", " ")}{latched}, {depth}'
